"""Payloads of agents' hooks and of git hooks, turned into one checkpoint request each."""
