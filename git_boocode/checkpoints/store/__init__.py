"""Checkpoints as commits and refs: write, list, prune, share."""
