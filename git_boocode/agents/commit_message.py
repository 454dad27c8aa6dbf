"""Prepare the message of a commit: which turns wrote what is staged, as comments or trailers.

`boocode.commitMessage` asks for it. What goes wrong leaves the message as it is. One that is empty
until somebody writes it gets no trailers, with which git would not take it for empty any more: they
are comments until it has been written.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence

from git_boocode.checkpoints.attribution import Attribution, Attributor
from git_boocode.checkpoints.store.catalog import Checkpoint
from git_boocode.repo.config import FALLBACK_IDENTITY, Config
from git_boocode.repo.durable import is_regular
from git_boocode.repo.index import Index, copy_index
from git_boocode.repo.lock import scratch_directory
from git_boocode.repo.object_writer import temporary_objects
from git_boocode.repo.repository import Repository

_TRAILER = "Agent-Turn"
# With any other, git keeps comments; with `scissors`, those that are not below its line.
_STRIPPING = ("", "default", "strip")
# As git writes it, behind whatever begins a comment.
_SCISSORS = re.compile(rb"(\S+) -{24} >8 -{24}\n")
_PROPOSAL = f"   {_TRAILER}: "  # in a comment
_SIGN_OFF = b"Signed-off-by: "
_LONGEST = 72
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


def prepare_message(
    repository: Repository, arguments: Sequence[str], *, with_trailers: bool
) -> None:
    """Add what turns staged to a message; the arguments are those of git's `prepare-commit-msg`.

    Without trailers, it gets comments, if it is about to be edited and has not come from elsewhere.
    """
    path, source = (*arguments, "", "")[:2]
    path = os.path.join(repository.worktree, path)
    lines = _lines_of(path)
    mark = _comment_mark(repository.config, lines)
    is_edited = os.environ.get("GIT_EDITOR") != ":"
    text = _text(lines, mark)
    is_new = source in ("", "template") or not text
    if with_trailers and is_new and source == "template" and text != _template(repository, mark):
        # Whether anything is added to the file of `git commit -t` cannot be known later.
        return
    # Where comments are kept, git does not take such a message for empty, either.
    is_kept = is_edited and not mark and not _strips(repository.config)
    is_direct = with_trailers and (is_kept or not is_new)
    if not is_direct and not (is_new and is_edited and mark):
        return
    # As git names a commit that is amended.
    found = _attribution(repository, amended=[*arguments[1:3]] == ["commit", "HEAD"])
    if not found.files:
        return
    if is_direct:
        _add_trailers(repository, path, [turn.id for turn in found.turns])
    else:
        lines = _with_comments(lines, mark, _trailers(found) if with_trailers else _about(found))
        with scratch_directory(repository.state_dir) as scratch:
            new = os.path.join(scratch, "message")
            with open(new, "wb") as file:
                file.writelines(lines)
            os.replace(new, path)


def finish_message(repository: Repository, path: str) -> None:
    """Add the trailers that comments propose to a message that was written; for `commit-msg`."""
    path = os.path.join(repository.worktree, path)
    lines = _lines_of(path)
    mark = _comment_mark(repository.config, lines)
    begin = mark + _PROPOSAL.encode()
    turns = [line[len(begin) :].strip().decode() for line in lines if line.startswith(begin)]
    text = _text(lines, mark)
    if mark and turns and text and text != _template(repository, mark):
        _add_trailers(repository, path, turns)


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
        copy_index(index, copy)
        tree = Index(repository.git.bind("core.splitIndex=false"), copy).write_tree()
        head = repository.store.commit("HEAD")
        parents = (head.parents if amended else (head.id, *_merged(repository))) if head else ()
        store, by = repository.store, FALLBACK_IDENTITY
        commit = store.write_commit(tree, parents, "staged", by, time.time())
        return Attributor(repository).attribute(commit, is_next=True)


def _merged(repository: Repository) -> list[str]:
    """The commits that are being merged."""
    path = os.path.join(repository.git_dir, "MERGE_HEAD")
    return [line.decode().strip() for line in _lines_of(path)] if is_regular(path) else []


def _lines_of(path: str) -> list[bytes]:
    with open(path, "rb") as file:
        return file.read().splitlines(keepends=True)


def _cut_at(lines: Sequence[bytes]) -> int | None:
    """The number of the line below which git ignores everything; None if there is none."""
    return next((n for n, line in enumerate(lines) if _SCISSORS.fullmatch(line)), None)


def _comment_mark(config: Config, lines: Sequence[bytes]) -> bytes:
    """What begins a comment in a message; empty if it is unknown, or comments are kept."""
    cut = _cut_at(lines)
    if cut is not None:
        return lines[cut].split(b" ")[0]
    several = os.fsencode(config.text("core.commentString") or "")
    mark = several or os.fsencode(config.text("core.commentChar") or "#")
    # Git before 2.45 does not know that setting.
    is_known = not several or any(line.startswith(several) for line in lines)
    return mark if is_known and mark != b"auto" and _strips(config) else b""


def _strips(config: Config) -> bool:
    return (config.text("commit.cleanup") or "").lower() in _STRIPPING


def _text(lines: Sequence[bytes], mark: bytes) -> list[bytes]:
    """The lines of a message that git would not take for empty."""
    kept = lines[: _cut_at(lines)]
    comments = (mark, _SIGN_OFF) if mark else (_SIGN_OFF,)
    return [line.rstrip() for line in kept if line.strip() and not line.startswith(comments)]


def _template(repository: Repository, mark: bytes) -> list[bytes] | None:
    """The text of the user's template, with which git takes a message for empty."""
    name = repository.config.text("commit.template")
    path = os.path.join(repository.worktree, os.path.expanduser(name)) if name else ""
    return _text(_lines_of(path), mark) if is_regular(os.path.realpath(path)) else None


def _add_trailers(repository: Repository, path: str, turns: Sequence[str]) -> None:
    trailers = [f"--trailer={_TRAILER}: {turn}" for turn in turns]
    options = ("--in-place", "--no-divider", "--if-exists=addIfDifferent")
    repository.git.run("interpret-trailers", *options, *trailers, "--", path)


def _with_comments(lines: list[bytes], mark: bytes, about: Sequence[str]) -> list[bytes]:
    """Add comments below the line that git cuts at, or before the comments at the end."""
    made = [b"%s %s\n" % (mark, line.encode()) for line in about]
    cut = _cut_at(lines)
    if cut is not None:
        at = cut + 1
        # What git says of that line.
        while lines[at : at + 1] and lines[at].startswith(mark) and lines[at].strip() != mark:
            at += 1
        made = [mark + b"\n", *made]
        if lines[at : at + 1] != [mark + b"\n"]:
            made.append(mark + b"\n")
    else:
        at = len(lines)
        while at and lines[at - 1].startswith(mark):
            at -= 1
        if at == len(lines) and lines and not lines[-1].endswith(b"\n"):
            lines[-1] += b"\n"
        made = [*([] if lines[:at] else [b"\n"]), *made, mark + b"\n"]
    return [*lines[:at], *made, *lines[at:]]


def _trailers(found: Attribution) -> list[str]:
    return [
        "Trailers for the turns of agents that wrote staged lines:",
        *(f"{_PROPOSAL[1:]}{turn.id}" for turn in found.turns),
    ]


def _about(found: Attribution) -> list[str]:
    lines = ["Staged lines that turns of agents wrote:"]
    for turn in found.turns:
        lines.append(f"  {_title(turn)}")
        for path, ranges in found.files.items():
            count = sum(each.last - each.first + 1 for each in ranges if each.turn.id == turn.id)
            if count:
                shown = _CONTROL.sub("?", path).encode("utf-8", "replace").decode()
                lines.append(f"    {shown}: {count} line{'s' * (count > 1)}")
    return lines


def _title(turn: Checkpoint) -> str:
    """The agent of a turn and the first line of its prompt."""
    prompt = turn.meta.shown("prompt").strip().partition("\n")[0] or turn.meta.shown("label")
    text = _CONTROL.sub(" ", f"{turn.meta.text('agent') or 'agent'}: {prompt}")
    text = text.encode("utf-8", "replace").decode()
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
