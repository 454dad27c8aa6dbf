"""Whole-file edits, written in every format and in the ways in which models write it wrong."""
