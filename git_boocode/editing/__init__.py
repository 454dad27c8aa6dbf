"""Input formats become edits, edits a plan over files, the plan one safe write."""
