"""`unified`: a unified diff of one file or many, as git and diff write it and models drift from it.

It comes as text, bare, fenced or with prose around it, or in an object with the file's path, as
`patch`, `diff` or `patch_lines`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

from git_boocode.editing.actions import Create, Delete, Keep
from git_boocode.editing.edits import Action, Edit, Failure, MissError, short
from git_boocode.editing.formats import Context, fields
from git_boocode.editing.formats.diff_names import NOWHERE, agree, read_name, without_prefixes
from git_boocode.editing.formats.diffs import (
    NO_CHANGE,
    Diffs,
    FileDiff,
    headless_hunk,
    skipped_notes,
)
from git_boocode.editing.formats.patches import (
    check_hunks,
    flattened_notes,
    invalid,
    patch_text,
)
from git_boocode.editing.patch import PatchAction

_NAME = "unified"
GIT_MODES = ("100644", "100755")
_MODES = {"100644": False, "100664": False, "100755": True, "100775": True}
"""Whether a file of a mode is executable."""
_SPECIAL = {"120000": "a symbolic link", "160000": "a submodule"}


def edits(item: object, context: Context) -> Iterator[Edit | Failure]:
    """The edits of a text, or of an object with a diff: one for each file."""
    text = patch_text(item) or ""
    base = context.base
    path = context.path
    if isinstance(item, dict):
        path = fields.text(item, fields.PATH, path or "") or None
        base = fields.base(item) or base
    notes = flattened_notes(item)
    diffs = Diffs(text)
    files = _joined(diffs.files)
    if not files and path is not None and (hunk := headless_hunk(text)):
        files = [FileDiff(0)]
        files[0].hunks.append(hunk)
    # A file that is shown without a change is skipped, unless there is nothing else.
    files = [file for file in files if file.hunks or not file.skipped] or files
    if not files:
        raise MissError(
            "invalid_input", "the patch has no hunk; expected a line like '@@ -1,2 +1,3 @@'"
        )
    for file in files:
        portion = "".join(f"{line}\n" for line in diffs.lines[file.first : file.stop])
        given = item if len(files) == 1 else portion
        yield _draft(file, path, Edit(0, path or "", Keep(), base, _NAME, given), notes)


def _joined(files: list[FileDiff]) -> list[FileDiff]:
    """The files, hunks without a header of neighbouring blocks put together."""
    joined: list[FileDiff] = []
    for file in files:
        if joined and file.names is None and joined[-1].names is None and not file.extended:
            joined[-1].hunks += file.hunks
            joined[-1].skipped += file.skipped
            joined[-1].stop = file.stop
        else:
            joined.append(file)
    return joined


def _draft(file: FileDiff, path: str | None, blank: Edit, notes: tuple[str, ...]) -> Edit | Failure:
    shown = path
    try:
        old, new = _names(file, path)
        shown = new if old == NOWHERE else old
        _check_possible(file)
        check_hunks(len(file.hunks))
        action = _action(file, old, new, notes)
    except MissError as miss:
        return Failure.of(miss, None, shown, blank.given)
    to = new if NOWHERE not in (old, new) and old != new else None
    return blank._replace(path=shown, action=action, to=to)


def _names(file: FileDiff, path: str | None) -> tuple[str, str]:
    """The path before and after, `/dev/null` for none."""
    named = _named(file)
    if named is None:
        if path is None:
            _wrong(file, "a hunk of no file; expected '--- a/name' and '+++ b/name' before it")
        return path, path
    old, new = named
    if old == new == NOWHERE:
        _wrong(file, "both names are /dev/null")
    for name in {old, new} - {NOWHERE}:
        if not name:
            _wrong(file, "the name of the file is empty")
    if path is None:
        return old, new
    return _under(file, path, old, new)


def _named(file: FileDiff) -> tuple[str, str] | None:
    extended = file.extended
    if "rename from" in extended and "rename to" in extended:
        return read_name(extended["rename from"]), read_name(extended["rename to"])
    if file.names is None:
        if file.extended or not (file.hunks or file.skipped):
            _wrong(file, "the names cannot be told apart; expected 'diff --git a/name b/name'")
        return None
    old, new = without_prefixes(*file.names)
    if "new file mode" in extended:
        old = NOWHERE
    if "deleted file mode" in extended:
        new = NOWHERE
    return old, new


def _under(file: FileDiff, path: str, old: str, new: str) -> tuple[str, str]:
    """The names of a patch that came with a path, with which they must agree."""
    name = new if old == NOWHERE else old
    if not agree(path, name):
        _wrong(file, f"the patch is for '{name}', but 'path' is '{path}'")
    if old == NOWHERE:
        return old, path
    # The path may begin further up than the names of the patch do.
    above = path[: len(path) - len(old)] if path.endswith(f"/{old}") else ""
    return path, path if new == old else new if new == NOWHERE else above + new


def _check_possible(file: FileDiff) -> None:
    """Refuse what an edit cannot do."""
    extended = file.extended
    if file.binary is not None:
        message = f"line {file.binary + 1} of the patch: a binary patch cannot be applied"
        raise MissError("binary", message, hint="write the file itself, and leave out this part")
    if "copy from" in extended or "copy to" in extended:
        _wrong(file, "a copy cannot be applied", "give the new file with all of its lines instead")
    kinds = ("new file mode", "deleted file mode", "old mode", "new mode")
    modes = [extended.get(key, "") for key in kinds]
    modes.append(extended.get("index", "").rpartition(" ")[2])
    for mode in modes:
        if mode in _SPECIAL:
            _wrong(file, f"{_SPECIAL[mode]} cannot be patched")
    for key in ("new file mode", "new mode"):
        mode = extended.get(key, "100644")
        if mode not in _MODES:
            _wrong(
                file,
                f"a file of mode {short(mode, 20)} cannot be created",
                f"leave out the mode, or write {' or '.join(GIT_MODES)}",
            )


def _executable(file: FileDiff) -> bool | None:
    """Whether to make the file executable; None if its mode does not change."""
    old, new = (file.extended.get(key) for key in ("old mode", "new mode"))
    if new is None or (old is not None and _MODES.get(old) == _MODES[new]):
        return None
    return _MODES[new]


def _action(file: FileDiff, old: str, new: str, notes: tuple[str, ...]) -> Action:
    if old == NOWHERE:
        executable = _MODES[file.extended.get("new file mode", "100644")]
        return Create(_content(file, "+"), executable, _read_notes(file, notes))
    if new == NOWHERE:
        return Delete(_content(file, "-").removeprefix("\ufeff"), _read_notes(file, notes))
    executable_now = _executable(file)
    if file.hunks:
        notes = (*notes, *skipped_notes(len(file.skipped)))
        preimage = file.extended.get("index", "").partition("..")[0] or None
        return PatchAction(tuple(file.hunks), preimage, notes, executable_now)
    if file.skipped:
        invalid(file.skipped[0] + 1, NO_CHANGE)
    if old == new and executable_now is None:
        _wrong(file, "no hunk follows; expected a line like '@@ -1,2 +1,3 @@'")
    return Keep(executable_now)


def _read_notes(file: FileDiff, notes: tuple[str, ...]) -> tuple[str, ...]:
    """The notes of a file that is made or deleted, which needs no places."""
    return (*notes, *dict.fromkeys(note for hunk in file.hunks for note in hunk.notes))


def _content(file: FileDiff, op: str) -> str:
    """All lines of a file that is created or deleted."""
    for hunk in file.hunks:
        for line in hunk.lines:
            if line.op != op and (line.op != " " or line.text.strip()):
                what = "created" if op == "+" else "deleted"
                only = f"has only lines that begin with '{op}', not '{line.op}'"
                invalid(hunk.row, f"a file that is {what} {only}")
    return "".join(line.text for hunk in file.hunks for line in hunk.lines)


def _wrong(file: FileDiff, message: str, hint: str | None = None) -> NoReturn:
    invalid(file.first + 1, message, hint)
