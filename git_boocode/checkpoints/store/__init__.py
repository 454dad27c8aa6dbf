"""Checkpoints as commits and refs.

`commit` writes one, `catalog` lists them and finds the one that a user means, `retention` says how
long they are kept, `sharing` moves them to and from remotes. Start reading in `catalog`.
"""
