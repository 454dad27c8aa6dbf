"""Hostile input: whatever it is, a command ends, and nothing of the user's is lost."""
