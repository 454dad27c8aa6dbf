"""Checkpoints of the worktree: take, list, restore, share and prune them.

`capture` takes one: `worktree/` reads files and staging area into a private index and a tree, and
`store/` writes them as a commit and a ref. `restore/` restores one, with the host's `callback`.
`checkup` finds and repairs problems. Start reading in `capture`, then in `restore/`.
"""
