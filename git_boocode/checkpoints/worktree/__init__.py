"""Read the worktree and the staging area into a private index and a tree.

`scan` reads the whole worktree, `partial` some paths; both return a `snapshot`. `indexer` records
files, `staging` reads the user's index, `index_cache` is the private index shared between captures,
`pathspecs` resolves the paths that a user names. Start reading in `scan`.
"""
