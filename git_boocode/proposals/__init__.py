"""Model output that is stored outside the worktree until it is accepted."""
