"""Restore files, staging area and conversation: restore, undo, redo.

Reading order: `operation` defines an operation and its record in a safety checkpoint, `commands`
turns restore, undo and redo into an operation, `transaction` runs it. `file_plan` decides which
paths change, with `ignore_rules` for the user's ignored files, and `apply` changes them, with
`exact` for the bytes and modes that git does not store.
"""
