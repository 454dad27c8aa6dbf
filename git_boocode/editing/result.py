"""What a call answers: the files, or why it was refused; both as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from git_boocode.editing.edits import Failure, edit_name
from git_boocode.editing.plan import PlannedFile
from git_boocode.editing.retry import advice, retry_context
from git_boocode.repo.errors import RefusedError


class EditsRefusedError(RefusedError):
    """One or more edits of a call cannot be applied, for the reasons given; nothing was changed.

    `edits` is the number of edits of the call.
    """

    def __init__(self, failures: Sequence[Failure], edits: int) -> None:
        self.failures = tuple(failures)
        self.edits = edits
        self.retry_context = retry_context(failures, edits)
        first, more = failures[0], len(failures) - 1
        super().__init__(
            describe(first, many=edits > 1) + (f" (and {more} more)" if more else ""),
            code=first.code,
            hints=tuple(dict.fromkeys(filter(None, map(advice, failures)))),
            details={
                "applied": False,
                "failures": [_failure_json(failure) for failure in failures],
                "retry_context": self.retry_context,
            },
        )


class Answer(NamedTuple):
    """What a call did, or on a dry run would do; `id` names its record, if there is one."""

    applied: bool
    id: str | None
    files: tuple[PlannedFile, ...]

    def as_json(self) -> dict[str, object]:
        """The JSON answer."""
        return {
            "ok": True,
            "applied": self.applied,
            "id": self.id,
            "files": [_file_json(file) for file in self.files],
        }


def describe(failure: Failure, *, many: bool) -> str:
    """A failure in one sentence, with its file, and its number if the call had many edits."""
    from git_boocode.editing.diff import quoted

    where = [edit_name(failure.number)] if many and failure.number is not None else []
    where += [quoted(failure.path)] if failure.path else []
    return ": ".join((", ".join(where), failure.message)) if where else failure.message


def _failure_json(failure: Failure) -> dict[str, object]:
    return {
        "path": failure.path,
        "index": failure.number,
        "code": failure.code,
        "message": failure.message,
        "lines": list(failure.lines),
        "candidates": [
            {**candidate._asdict(), "differs": list(candidate.differs)}
            for candidate in failure.candidates
        ],
        "edit": failure.given,
    }


def _file_json(file: PlannedFile) -> dict[str, object]:
    return {
        "path": file.path,
        "action": file.action,
        **({"from": file.moved_from} if file.moved_from else {}),
        "edits": [landing.as_json(edit.number) for edit, landing in file.landings],
        "diff": diff_of(file),
    }


def diff_of(file: PlannedFile) -> str:
    """The unified diff of a planned file."""
    from git_boocode.editing.diff import unified_diff

    old = file.source.old if file.source else None
    return unified_diff(file.path, old, file.text, file.moved_from)
