"""Model output held beside the worktree until it is accepted."""
