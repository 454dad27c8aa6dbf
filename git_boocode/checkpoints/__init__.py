"""Checkpoints of the worktree: capture, metadata, list, restore, undo and the host's callback."""
