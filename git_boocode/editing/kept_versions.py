"""Versions of files that a model has read: their names, and refs that keep them for later edits.

The ref of a version is `refs/boocode/reads/<day, UTC>/<blob id>` and names the blob itself. So
reading a file again on the same day writes nothing, and days are deleted as a whole.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from git_boocode.repo.errors import BoocodeError, from_os
from git_boocode.repo.gc import pack_many_refs, protect_from_gc, publish
from git_boocode.repo.git import nul_lines, nul_records
from git_boocode.repo.layout import READS
from git_boocode.repo.location import Location
from git_boocode.repo.lock import scratch_directory
from git_boocode.repo.object_writer import Quarantine, object_id
from git_boocode.repo.path_rule import EXCLUDE, PathRule
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import Ref, RefChange, retry_conflicts

if TYPE_CHECKING:
    from git_boocode.editing.edits import EditedFile, Failure
    from git_boocode.editing.workspace import Workspace
    from git_boocode.repo.atomic_write import Target
    from git_boocode.repo.files import FileState

_DIGITS = 12
_DAY = "%Y-%m-%d"


def version_of(data: bytes, repository: Location | None) -> str:
    """The version of a file's bytes: the abbreviated id of their blob, without any filter."""
    return abbreviated(_blob_id(data, repository))


def keep_versions(repository: Repository, files: Mapping[str, bytes]) -> list[str]:
    """Keep the bytes of files, by path in git's trees, so that edits can name them as `base`.

    They are kept for `boocode.editsMaxAge`. Nothing is stored if HEAD has these bytes at that path,
    or if git ignores the file, which may hold secrets, or `boocode.exclude` names it; returns the
    paths of such files.
    BoocodeError or OSError if it fails.
    """

    def keep() -> list[str]:
        day = f"{READS}{time.strftime(_DAY, time.gmtime())}/"
        ids = {path: _blob_id(data, repository) for path, data in files.items()}
        # In a partial clone, git stops at a blob of HEAD that is not here.
        names = [f"{day}{blob}" for blob in ids.values()]
        for tree in ("HEAD", ":0"):
            names += (f"{tree}:{path}" for path in ids)
        found = repository.store.lookup(names)
        staged = found[-len(ids) :]
        kept = {info.id for info in found[: -len(ids)] if info is not None}
        new = {path: files[path] for path, blob in ids.items() if blob not in kept}
        # Git ignores no file that the index has.
        tracked = {path for path, info in zip(ids, staged, strict=True) if info is not None}
        ignored = _ignored(repository, [path for path in new if path not in tracked])
        rule = PathRule.read(repository, EXCLUDE)
        if rule.specs:
            with scratch_directory(repository.state_dir) as scratch:
                ignored += rule.matching(repository, scratch, new.keys() - {*ignored})
        for path in ignored:
            new.pop(path, None)
        if not new:
            return ignored
        # With a reftable or packed refs, this is so more often, which does no harm.
        is_first = not os.path.isdir(os.path.join(repository.common_dir, day))
        protect_from_gc(partial(_publish, repository, day, new))
        if is_first:
            # The version is kept; an error here must not make the caller fail.
            with suppress(BoocodeError, OSError):
                prune_reads(repository)
                pack_many_refs(repository)
        return ignored

    return retry_conflicts(keep, ("conflict", "locked"))


def abbreviated(blob: str) -> str:
    """The version whose bytes a blob has."""
    return blob[:_DIGITS]


def with_versions(files: Iterable[EditedFile], repository: Repository | None) -> list[EditedFile]:
    """The files of an answer with their new versions."""
    return [
        file
        if file.text is None
        else file._replace(version=version_of(file.text.encode(), repository))
        for file in files
    ]


def keep_new(workspace: Workspace, files: Iterable[EditedFile]) -> None:
    """Keep the new versions of files if possible, for a call that must not fail because of them."""
    new = {file.path: file.text.encode() for file in files if file.text is not None}
    keep_if_possible(workspace, {os.path.join(workspace.top, path): new[path] for path in new})


def failures_with_versions(
    workspace: Workspace,
    failures: Sequence[Failure],
    states: Mapping[Target, FileState | None],
    held: Collection[str] = (),
    *,
    keep: bool = True,
) -> list[Failure]:
    """Failures with the versions of their files, which are kept if possible, unless `held`."""
    paths = {failure.path for failure in failures}
    found = [
        (target, state.data)
        for target, state in states.items()
        if state is not None and target.path in paths
    ]
    versions = {target.path: version_of(data, workspace.repository) for target, data in found}
    if keep:
        new = {target.real: data for target, data in found if versions[target.path] not in held}
        keep_if_possible(workspace, new)
    return [failure._replace(version=versions.get(failure.path or "")) for failure in failures]


def keep_if_possible(workspace: Workspace, contents: Mapping[str, bytes]) -> str:
    """Keep versions of files, by absolute path; returns why some are not kept, if so."""
    if workspace.repository is None or not contents:
        return ""
    files = {workspace.tree_path(os.path.realpath(path)): contents[path] for path in contents}
    try:
        ignored = keep_versions(workspace.repository, files)
    except (BoocodeError, OSError) as error:
        return (from_os(error) if isinstance(error, OSError) else error).message
    return "git ignores the file, or boocode.exclude names it" if ignored else ""


def prune_reads(
    repository: Repository, *, dry_run: bool = False, now: float | None = None
) -> list[Ref]:
    """Delete the refs of days that are older than `boocode.editsMaxAge`; returns them.

    ``now`` is in seconds since 1970. FatalError (`bad_config`), or RefusedError (`conflict`) if
    other processes keep changing the same refs.
    """
    from git_boocode.editing.records import DEFAULTS

    max_age = repository.config.age("boocode.editsMaxAge", default=DEFAULTS.max_age)
    if max_age is None:
        return []
    # What was read late on that day is not older.
    first = time.strftime(_DAY, time.gmtime((time.time() if now is None else now) - max_age))

    def prune() -> list[Ref]:
        refs = repository.store.refs(READS)
        old = [ref for ref in refs if ref.name.removeprefix(READS).partition("/")[0] < first]
        if not dry_run:
            repository.store.update_refs([RefChange(ref.name, None, ref.target) for ref in old])
        return old

    return retry_conflicts(prune)


def _blob_id(data: bytes, repository: Location | None) -> str:
    return object_id(repository.object_format if repository else "sha1", b"blob", data)


def _ignored(repository: Repository, paths: list[str]) -> list[str]:
    """The paths that git ignores; all of them if git cannot decide."""
    if not paths:
        return []
    command = ("check-ignore", "-z", "--stdin")
    done = repository.git.attempt(*command, stdin=nul_lines(paths))
    if done.status > 1:
        # Some are in submodules, which git refuses because of its index.
        done = repository.git.attempt(*command, "--no-index", stdin=nul_lines(paths))
    return nul_records(done.stdout) if done.status <= 1 else paths


def _publish(repository: Repository, day: str, files: Mapping[str, bytes]) -> None:
    with scratch_directory(repository.state_dir) as scratch:
        quarantine = Quarantine(repository, scratch)
        blobs = {quarantine.store(b"blob", data).decode("ascii"): None for data in files.values()}
        changes = [RefChange(f"{day}{blob}", blob, None) for blob in blobs]
        publish(repository, quarantine, changes, blobs=[*blobs])
