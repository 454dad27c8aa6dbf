"""What the tests of editing share."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from git_boocode.editing.answer import Answer, EditsRefusedError
from git_boocode.editing.edits import Action, Edit
from git_boocode.editing.inputs import Inputs, Source, read_inputs
from git_boocode.editing.service import Options, apply_edits, apply_inputs
from git_boocode.editing.workspace import Workspace
from tests.repo_kit import Repo


def apply(
    edits: object, *, index: bool = True, from_here: bool = False, options: Options | None = None
) -> Answer:
    """Apply edits in the current directory, in this process."""
    data = edits if isinstance(edits, bytes) else json.dumps(edits).encode()
    workspace = Workspace.find(index=index, from_here=from_here)
    return apply_edits([Source("input", data)], workspace, options or Options())


def read(value: object) -> Inputs:
    """What the text of a patch, or else JSON of a value, asks for."""
    data = value.encode() if isinstance(value, str) else json.dumps(value).encode()
    return read_inputs([Source("input", data)])


def edits_of(value: object) -> list[Edit]:
    """The edits that it asks for, all of which can be understood."""
    inputs = read(value)
    assert not inputs.failures
    return inputs.edits


def act(*actions: tuple[str, Action] | tuple[str, Action, str]) -> Inputs:
    """The inputs that ask for actions: path, action and, for a rename, the new path."""
    edits = [
        Edit(number, path, action, None, "test", {"action": repr(action)}, *to)
        for number, (path, action, *to) in enumerate(actions)
    ]
    return Inputs(edits, [])


def carry_out(inputs: Inputs, *, index: bool = True, options: Options | None = None) -> Answer:
    """Apply inputs in the current directory, in this process."""
    return apply_inputs(inputs, Workspace.find(index=index), options or Options())


def refused(edits: object, **how: object) -> EditsRefusedError:
    """The refusal of edits, which must not have changed a file."""
    before = snapshot(Path())
    try:
        if isinstance(edits, Inputs):
            carry_out(edits, **how)  # type: ignore[arg-type]
        else:
            apply(edits, **how)  # type: ignore[arg-type]
    except EditsRefusedError as error:
        assert snapshot(Path()) == before
        return error
    raise AssertionError("the edits were applied")


def codes(edits: object, **how: object) -> list[tuple[int | None, str]]:
    """Number and code of each failure."""
    return [(failure.number, failure.code) for failure in refused(edits, **how).failures]


def replace(path: str, old: str, new: str, **more: object) -> dict[str, object]:
    """A string edit."""
    return {"path": path, "old_string": old, "new_string": new, **more}


def snapshot(top: Path) -> dict[str, object]:
    """Mode, inode and bytes of all files below a directory, temporary ones included."""
    found: dict[str, object] = {}
    for directory, names, files in os.walk(top):
        if ".git" in names:
            names.remove(".git")
        for name in files:
            path = Path(directory, name)
            status = path.lstat()
            regular = path.is_file() and not path.is_symlink()
            found[str(path)] = (status.st_mode, path.read_bytes() if regular else None)
        found.update({str(Path(directory, name)): None for name in names})
    return found


def records(repo: Repo) -> list[str]:
    """The refs of all records."""
    return repo.git("for-each-ref", "--format=%(refname)", "refs/boocode/edits/").split()


def leftovers(top: Path) -> Sequence[str]:
    """Temporary files that were left behind."""
    return [str(path) for path in top.rglob("*.tmp") if ".git" not in path.parts]
