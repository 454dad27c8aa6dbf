"""Take files, staging area and conversation back: restore, undo, redo."""
