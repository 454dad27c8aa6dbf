"""Workflows that need several services, such as a restore with a callback's edits.

`restore_with_edits` contains restore, undo and redo for the command line and for hosts, and what a
kill has left half-way. `show_target` finds what a name shows, and `view_data` is what the page of
`git boocode view` shows.
"""
