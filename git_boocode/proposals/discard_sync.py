"""What a user does with a proposal beside accepting it: discard it, or sync its context."""

from __future__ import annotations

from collections.abc import Sequence

from git_boocode.editing.text_changes import SHOWN_PLACES
from git_boocode.editing.workspace import Workspace
from git_boocode.proposals.local_files import OTHER, file_statuses, is_below, tree_path
from git_boocode.proposals.proposal import AnyVersion, Changes, ContextFile, NewVersion
from git_boocode.proposals.review import (
    ChosenPart,
    ComparedFile,
    Review,
    ReviewedFile,
    ReviewResult,
    irregular,
    retry_moved,
)
from git_boocode.repo.errors import NextStep, RefusedError, first_few

DISCARD, SYNC = "discard", "sync"
_EVERYTHING = ChosenPart()


@retry_moved
def discard(
    workspace: Workspace, chosen: ChosenPart = _EVERYTHING, *, force: bool = False
) -> ReviewResult:
    """Drop what is proposed for some files, or some hunks of it; no file is changed.

    RefusedError if nothing is proposed for a path (`not_found`), another proposal was looked at
    (`stale`), or a turn is running (`locked`), unless forced.
    """
    review = Review(workspace, forced=force)
    files = review.chosen(chosen, DISCARD)
    changes = dict[str, tuple[AnyVersion | None, AnyVersion | None]]()
    for file in files:
        for path in file.paths:
            context = review.state.at(path).context
            changes[path] = (context, context)
        if (numbers := chosen.hunks.get(file.path)) is not None:
            left = review.check_hunks(file, numbers).difference(numbers)
            if left and file.output is not None:
                part = NewVersion(file.output.mode, review.part_of(file, left).encode())
                changes[file.path] = (file.context, part)
    return _store(review, DISCARD, files, changes)


@retry_moved
def sync(workspace: Workspace, paths: Sequence[str] = (), *, force: bool = False) -> ReviewResult:
    """Make files as they are now the context of what is proposed; no file is changed.

    `paths` are files, or directories with files of the proposal; other files join it. Without
    paths, all its files are synced. A proposed change is merged with the user's; where they
    conflict, the proposed lines stay, and a warning names the user's lines that accepting replaces.
    RefusedError if a path names nothing (`not_found`), or a turn is running (`locked`), unless
    forced.
    """
    review = Review(workspace, forced=force)
    files = _to_sync(review, paths)
    review.read_ahead([file for file in files if file.is_pending])
    changes = dict[str, tuple[AnyVersion | None, AnyVersion | None]]()
    warnings = []
    for file in files:
        seen = review.compare(file)
        local = {path: _current(path, seen) for path in file.paths}
        changes |= {path: (version, version) for path, version in local.items()}
        if file.is_pending:
            output, warning = _synced_output(review, seen)
            changes |= {path: (local[path], None) for path in file.paths}
            changes[file.path] = (local[file.path], output)
            warnings += [warning] if warning else []
    return _store(review, SYNC, files, changes)._replace(warnings=tuple(warnings))


def _current(path: str, seen: ComparedFile) -> AnyVersion | None:
    """The user's version at a path of a file, which git may not have stored."""
    local, file = seen.locals[path], seen.file
    if local.version == OTHER:
        raise irregular(path)
    if local.state is None or local.version is None or local.version in (file.context, file.output):
        return local.version
    return NewVersion(local.version.mode, local.state.data)


def _synced_output(review: Review, seen: ComparedFile) -> tuple[AnyVersion | None, str]:
    """The output of a file with the user's changes, and a warning if accepting it loses some.

    Conflicting lines are those of the output.
    """
    file, output = seen.file, seen.file.output
    if seen.letters in ("~", file.change):
        # Either the user has changed nothing, or there is nothing else to accept.
        return output, ""
    warning = f"accepting '{file.path}' now replaces your changes"
    merged = "" if "!" in seen.letters else review.merge(seen, favour_theirs=True)
    if isinstance(merged, str) or output is None:
        return output, warning
    where = f"{warning}: {first_few(merged.places, SHOWN_PLACES)}" if merged.conflicts else ""
    if merged.text == review.sides(file)[1]:
        return output._replace(mode=seen.merged_mode), where
    return NewVersion(seen.merged_mode, merged.text.encode()), where


def _to_sync(review: Review, paths: Sequence[str]) -> list[ContextFile]:
    known = review.state.files()
    if not paths:
        if not known:
            raise RefusedError(
                "there is nothing to sync: no file is part of a proposal",
                code="not_found",
                hints=(
                    NextStep(
                        "{} adds files to the context",
                        "paths",
                        typed="'git boocode sync <path>...'",
                    ),
                ),
            )
        return known
    chosen = dict[str, ContextFile]()
    for path in paths:
        name = tree_path(review.workspace, path)
        found = [file for file in known if is_below(file, name)]
        if not found:
            local = review.local(name)
            if local.version == OTHER:
                raise irregular(path)
            if local.state is None:
                raise RefusedError(
                    f"'{path}' is neither a file nor part of a proposal",
                    code="not_found",
                    hints=(
                        NextStep(
                            "{} lists the files of the proposal",
                            "status",
                            typed="'git boocode status'",
                        ),
                    ),
                )
            found = [ContextFile(name, "", None, None)]
        chosen |= {file.path: file for file in found}
    return [*chosen.values()]


def _store(
    review: Review, action: str, files: Sequence[ContextFile], changes: Changes
) -> ReviewResult:
    """Store a change that writes no file; the result has the letters after it."""
    with review.undoable(action, files) as undo:
        stored = review.store(action, changes)
    paths = {path for file in files for path in file.paths}
    found = file_statuses(review.workspace)
    there = {each.file.path: each.letters for each in found if {*each.file.paths} & paths}
    # A file that has left the proposal has no letters.
    names = sorted({file.path for file in files} | there.keys())
    reviewed = tuple(ReviewedFile(path, there.get(path, "")) for path in names)
    return ReviewResult(applied=True, files=reviewed, proposal=stored.id, id=stored.id, undo=undo)
