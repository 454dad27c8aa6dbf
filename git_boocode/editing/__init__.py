"""Apply a call's edits to files: all of them, or none.

`inputs` and `formats/` parse a model's input, and `service` carries out the call: `edit_plan`
computes the new texts with the `actions` (and `matching`), `records` stores the old ones in git,
`repo.atomic_write` replaces the files, and `recovery` repairs an interrupted call. `answer` is the
result or the refusal. `rewind_edit` undoes an applied edit. Start reading in `service`.
"""
