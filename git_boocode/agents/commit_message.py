"""Prepare the message of a commit: which turns wrote what is staged, as comments or trailers.

`boocode.commitMessage` asks for it. A message is only prepared, never checked, and what goes wrong
leaves it as it is.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence

from git_boocode.checkpoints.attribution import Attribution, Attributor
from git_boocode.checkpoints.store.catalog import Checkpoint
from git_boocode.repo.config import FALLBACK_IDENTITY, Config
from git_boocode.repo.lock import scratch_directory
from git_boocode.repo.object_writer import temporary_objects
from git_boocode.repo.repository import Repository

_TRAILER = "Agent-Turn"
# With any other, git would keep our comments.
_STRIPPING = ("", "default", "strip", "scissors")
_LONGEST = 72
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


def prepare_message(
    repository: Repository, arguments: Sequence[str], *, with_trailers: bool
) -> None:
    """Add what turns staged to a message; the arguments are those of git's `prepare-commit-msg`.

    Without trailers, it gets comments, if it is about to be edited and has not come from elsewhere.
    """
    path, source = (*arguments, "", "")[:2]
    is_new = source in ("", "template") and os.environ.get("GIT_EDITOR") != ":"
    mark = _comment_mark(repository.config)
    if not path or not (with_trailers or (is_new and mark)):
        return
    # As git names a commit that is amended.
    found = _attribution(repository, amended=[*arguments[1:3]] == ["commit", "HEAD"])
    if not found.files:
        return
    path = os.path.join(repository.worktree, path)
    if with_trailers:
        trailers = [f"--trailer={_TRAILER}: {turn.id}" for turn in found.turns]
        options = ("--in-place", "--if-exists=addIfDifferent", *trailers)
        repository.git.run("interpret-trailers", *options, "--", path)
    else:
        _add_comments(path, mark, found)


def _attribution(repository: Repository, *, amended: bool) -> Attribution:
    """Which turns wrote what is about to be committed."""
    given = os.environ.get("GIT_INDEX_FILE", "")
    index = (
        os.path.join(repository.worktree, given)
        if given
        else os.path.join(repository.git_dir, "index")
    )
    with (
        temporary_objects(repository),
        scratch_directory(repository.state_dir, read_only=True) as scratch,
    ):
        # Git may hold the lock of the index itself.
        copy = os.path.join(scratch, "index")
        with open(index, "rb") as source, open(copy, "wb") as target:
            target.write(source.read())
        git = repository.git.bind("core.splitIndex=false", GIT_INDEX_FILE=copy)
        tree = git.line("write-tree")
        head = repository.store.commit("HEAD")
        parents = (head.parents if amended else (head.id,)) if head else ()
        store, by = repository.store, FALLBACK_IDENTITY
        commit = store.write_commit(tree, parents, "staged", by, time.time())
        return Attributor(repository).attribute(commit, is_next=True)


def _comment_mark(config: Config) -> bytes:
    """What begins a comment in a message; empty if it is unknown, or comments are kept."""
    mark = config.text("core.commentString") or config.text("core.commentChar") or "#"
    is_kept = (config.text("commit.cleanup") or "").lower() not in _STRIPPING
    return b"" if is_kept or mark == "auto" else os.fsencode(mark)


def _add_comments(path: str, mark: bytes, found: Attribution) -> None:
    """Add comments before those of git, or at the end."""
    with open(path, "rb") as file:
        lines = file.read().splitlines(keepends=True)
    at = next((n for n, line in enumerate(lines) if line.startswith(mark)), len(lines))
    made = [b"%s %s\n" % (mark, line.encode()) if line else mark + b"\n" for line in _about(found)]
    if at == len(lines) and lines and not lines[-1].endswith(b"\n"):
        lines[-1] += b"\n"
    aside = f"{path}.boocode"
    with open(aside, "wb") as file:
        file.writelines((*lines[:at], *([] if lines[:at] else [b"\n"]), *made, *lines[at:]))
    os.replace(aside, path)


def _about(found: Attribution) -> list[str]:
    lines = ["Staged lines that turns of agents wrote:"]
    for turn in found.turns:
        lines.append(f"  {_title(turn)}")
        for path, ranges in found.files.items():
            count = sum(each.last - each.first + 1 for each in ranges if each.turn.id == turn.id)
            if count:
                shown = _CONTROL.sub("?", path).encode("utf-8", "replace").decode()
                lines.append(f"    {shown}: {count} line{'s' * (count > 1)}")
    return [*lines, ""]


def _title(turn: Checkpoint) -> str:
    """The agent of a turn and the first line of its prompt."""
    asked = turn.meta.text("prompt").strip().partition("\n")[0] or turn.meta.text("label")
    text = _CONTROL.sub(" ", f"{turn.meta.text('agent') or 'agent'}: {asked}")
    text = text.encode("utf-8", "replace").decode()
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
