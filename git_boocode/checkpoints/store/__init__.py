"""Checkpoints as commits and refs.

`commit` writes one, `catalog` lists and finds them, `retention` deletes old ones, `sharing` pushes
and fetches them. Start reading in `catalog`.
"""
