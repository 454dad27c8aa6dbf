"""What needs both checkpoints and edits."""
