"""Restore files, staging area and conversation: restore, undo, redo.

Reading order: `request` is what is asked, `plan` what is done and recorded in a safety checkpoint,
`result` what is answered. `commands` makes a plan of a request, `transaction` runs it. `file_plan`
decides which paths change, with `user_work` for the files that are the user's own, and `apply`
changes them, with `exact` for the bytes and modes that git does not store. `conversation` is the
host's part.
"""
