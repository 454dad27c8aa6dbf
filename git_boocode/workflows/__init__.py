"""Workflows that need both checkpoints and edits: a restore that applies a callback's edits.

`restore_with_edits` contains restore, undo and redo for the command line and for hosts.
`host_files` changes the host's own files, wherever they are, in a way that the restore can revert.
"""
