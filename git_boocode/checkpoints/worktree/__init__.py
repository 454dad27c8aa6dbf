"""Read the worktree and the staging area into a private index and a tree.

`scan` reads all of it, `partial` some paths; the result is a `snapshot`. `indexer` records files,
`staging` is the user's index, `index_cache` what one capture leaves to the next, `pathspecs` how a
user names paths. Start reading in `scan`.
"""
