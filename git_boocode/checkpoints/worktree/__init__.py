"""Read the worktree and the staging area into a private index and a tree.

`scan` reads the worktree and returns a `snapshot`, which `pathspecs` can limit to some paths.
`indexer` records files and knows how git converts them, `staging` reads the user's index,
`pathspecs` resolves the paths that a user names. Start reading in `scan`.
"""
