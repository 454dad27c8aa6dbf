"""Checkpoints of the worktree: take, list, restore, share and prune them.

`capture` takes one: `worktree/` reads files and staging area into a private index and a tree, and
`store/` keeps them as a commit and a ref. `restore/` goes back, with the host's `callback` and the
files that it asks to edit (`conversation_files`). `checkup` finds and repairs what went wrong.
Start reading in `capture`, then in `restore/`.
"""
