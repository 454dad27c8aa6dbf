"""Take files, staging area and conversation back: restore, undo, redo.

Reading order: `operation` says what is asked and what safety checkpoints record, `commands` turns
restore, undo and redo into an operation, `transaction` carries it out. `file_plan` decides which
paths change, with `ignore_rules` for what is the user's own, and `apply` changes them, with `exact`
for what git's form of a file loses.
"""
