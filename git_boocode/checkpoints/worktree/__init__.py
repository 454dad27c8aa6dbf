"""Read the worktree and the staging area into a private index and a tree."""
