"""What needs both checkpoints and edits: a restore that applies the edits of a callback.

`restore_with_edits` has restore, undo and redo for the command line and for hosts; `host_files`
changes the host's own files, wherever they are, so that the restore can take it back.
"""
