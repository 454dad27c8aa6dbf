"""Read the worktree and the staging area into a private index and a tree.

`scan` reads the worktree and returns a `snapshot`, which `partial` can limit to some paths.
`indexer` records files, `staging` reads the user's index, `attributes` knows how git converts
files, `pathspecs` resolves the paths that a user names. Start reading in `scan`.
"""
