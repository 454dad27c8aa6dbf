"""Parts of what turns did: the hunks of merged files, and a merge of only some of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType

from git_boocode.checkpoints.restore.request import WantedFile
from git_boocode.checkpoints.worktree.snapshot import Snapshot
from git_boocode.repo.errors import NextStep, RefusedError
from git_boocode.repo.repository import Repository
from git_boocode.workflows.disk_form import DiskFile
from git_boocode.workflows.restore_parts import ChangedFile
from git_boocode.workflows.turn_files import File, TurnFiles
from git_boocode.workflows.turn_merge import Merged

_REGULAR = "100644"


def changed_files(
    repository: Repository, snapshot: Snapshot, merged: Merged, command: str
) -> Iterator[ChangedFile]:
    """The files and buffers that a merge changes, in the order of their paths."""
    files = TurnFiles(repository, snapshot)
    wanted = {file.path: file for file in merged.wanted.files}
    current = files.current({*wanted, *merged.texts})
    for path, file in current.items():
        now, then = merged.texts.get(path, (None, None))
        if path in wanted:
            before, after = _on_disk(files, file, wanted[path], (now, then))
            yield ChangedFile(path, before, after, wanted[path].raw, command)
        else:
            mode = file.mode if file else _REGULAR
            before, after = (
                None if text is None else DiskFile(mode, "", text) for text in (now, then)
            )
            yield ChangedFile(path, before, after, "", command)


def _on_disk(
    files: TurnFiles,
    file: File | None,
    wanted: WantedFile,
    texts: tuple[bytes | None, bytes | None],
) -> tuple[DiskFile | None, DiskFile | None]:
    """A file as it is, and as it is to be; `texts` are its contents, as far as they are known."""
    new = File(wanted.mode, wanted.id) if wanted.mode else None
    now, then = (
        side and DiskFile(*side, files.read(wanted.path, side) if text is None else text)
        for side, text in zip((file, new), texts, strict=True)
    )
    return now, then


def with_hunks_only(
    repository: Repository,
    snapshot: Snapshot,
    merged: Merged,
    files: Collection[ChangedFile],
    hunks: Mapping[str, Collection[int]],
    versions: Mapping[str, str] = MappingProxyType({}),
) -> Merged:
    """What only some hunks of its changed files make of them, by path; other paths stay.

    `versions` are the `ChangedFile.version` of files when their hunks were looked at. RefusedError:
    a path does not change or has no such hunk (`not_found`), it has none at all (`invalid_input`),
    or it is not what was looked at (`conflict`).
    """
    by_path = {file.path: file for file in files}
    wanted = {file.path: file for file in merged.wanted.files}
    chosen, staged, texts = [], {}, {}
    for path, numbers in hunks.items():
        if (file := by_path.get(path)) is None:
            raise RefusedError(
                f"'{path}' would not change",
                code="not_found",
                hints=(
                    NextStep(
                        "{} shows what would", "dry_run", given={"dry_run": True, "hunk": None}
                    ),
                ),
            )
        file.check_version(versions.get(path, ""))
        file.check(numbers)
        is_whole = {*file.numbers}.issubset(numbers)
        if path not in wanted:
            texts[path] = merged.texts[path][0], file.with_parts(numbers)
        elif is_whole:
            chosen.append(wanted[path])
        else:
            chosen.append(file.wanted(repository, snapshot, numbers))
        if is_whole and path in merged.wanted.staged:
            staged[path] = merged.wanted.staged[path]
    return Merged(
        merged.wanted._replace(files=chosen, staged=staged),
        # No hunk is of lines that conflict.
        () if hunks else merged.conflicts,
        texts,
    )
