"""Apply a call's edits to files: all of them, or none.

`inputs` and `formats/` read what a model sent, `service` carries a call out: `plan` makes the new
texts with the `actions` (and `matching` below them), `records` keeps the old ones in git, `write`
replaces the files, and `recovery` repairs what a kill left. `answer` is the result or the refusal.
`rewind_edit` takes an applied edit back. Start reading in `service`.
"""
