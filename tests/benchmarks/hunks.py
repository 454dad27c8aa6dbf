"""Edits to measure with: hunks of a history, or made ones on sources that every machine has."""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple, TypeVar

T = TypeVar("T")
_MAX_BYTES = 120_000
_MAX_HUNK = 40
TEXT = (
    ".py",
    ".js",
    ".ts",
    ".c",
    ".h",
    ".go",
    ".rs",
    ".java",
    ".rb",
    ".sh",
    ".md",
    ".toml",
    ".yml",
)


class Unfit(Exception):  # noqa: N818 - no error: most sources lend themselves to few drifts
    """Raised by a drift where there is nothing that could drift so."""


def require(fits: object) -> None:
    """Go on only if a source lends itself to a drift (Unfit)."""
    if not fits:
        raise Unfit


def picked(places: Sequence[T], rng: random.Random) -> T:
    """One of the places where something can drift (Unfit)."""
    require(places)
    return rng.choice(places)


class Hunk(NamedTuple):
    """One edit of one file.

    Attributes:
        path: where it is from, for people.
        before: the file before it.
        old: whole lines of it, the ones around the change included.
        new: what shall stand there instead.
    """

    path: str
    before: str
    old: str
    new: str

    @property
    def after(self) -> str:
        """The file after it."""
        return self.before.replace(self.old, self.new, 1)


def from_history(git_dir: str, count: int, rng: random.Random) -> list[Hunk]:
    """Hunks out of a history, one a changed file, each with a text that occurs once."""
    found: list[Hunk] = []
    commits = git(git_dir, "rev-list", "--no-merges", "--max-count=4000", "HEAD").decode().split()
    rng.shuffle(commits)
    # Few of each commit, so that many kinds of work are drawn; more where there are few commits.
    share = max(3, 2 * count // max(len(commits) - 1, 1))
    for commit in commits:
        if len(found) >= count:
            break
        hunks = _of_commit(git_dir, commit, rng)
        found += rng.sample(hunks, min(share, len(hunks)))
    return found[:count]


def _of_commit(git_dir: str, commit: str, rng: random.Random) -> list[Hunk]:
    listing = git(git_dir, "diff-tree", "-r", "-z", "--diff-filter=M", "--no-commit-id", commit)
    fields = listing.decode("utf-8", "replace").split("\0")
    found = []
    for head, path in zip(fields[::2], fields[1::2], strict=False):
        if path.endswith(TEXT):
            _, _, old, new, _ = head.split(" ")
            texts = [
                text_of(git(git_dir, "cat-file", "blob", identifier)) for identifier in (old, new)
            ]
            if all(texts):
                found += _one_hunk(path, texts[0], texts[1], rng)
    return found


def text_of(data: bytes) -> str:
    """A blob as text; nothing where it is too long, no text, or of foreign line endings."""
    if len(data) > _MAX_BYTES or b"\0" in data or b"\r" in data:
        return ""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return ""


def _one_hunk(path: str, before: str, after: str, rng: random.Random) -> list[Hunk]:
    old_lines, new_lines = lines_of(before), lines_of(after)
    groups = list(
        SequenceMatcher(None, old_lines, new_lines, autojunk=False).get_grouped_opcodes(3)
    )
    if not groups:
        return []
    group = rng.choice(groups)
    (_, first, _, start, _), (_, _, last, _, stop) = group[0], group[-1]
    old, new = "".join(old_lines[first:last]), "".join(new_lines[start:stop])
    fits = 2 < last - first < _MAX_HUNK and before.count(old) == 1 and old.endswith("\n")
    return [Hunk(path, before, old, new)] if fits and new.endswith("\n") else []


def lines_of(text: str) -> list[str]:
    """The lines of a text with their newlines; a form feed does not end one."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def made(files: Iterable[tuple[str, str]], count: int, rng: random.Random) -> list[Hunk]:
    """Made-up edits of the named texts: lines changed, added, deleted, moved."""
    found: list[Hunk] = []
    for name, text in files:
        found += [hunk for hunk in _make(name, text, rng) if text]
        if len(found) >= count:
            break
    return found


def _make(path: str, text: str, rng: random.Random) -> Iterator[Hunk]:
    lines = lines_of(text)
    size = rng.randint(4, 14)
    if len(lines) < size + 1:
        return
    at = rng.randrange(len(lines) - size)
    old = lines[at : at + size]
    new = _edited(old, rng)
    text_old = "".join(old)
    # The same lines at another depth would be another place.
    places = "".join(text.split()).count("".join(text_old.split()))
    if sum(map(str.isalnum, text_old)) > 40 and places == 1 and new != old:
        yield Hunk(path, text, text_old, "".join(new))


def _edited(old: list[str], rng: random.Random) -> list[str]:
    new = list(old)
    rows = range(1, len(old) - 1)
    at = rng.choice([row for row in rows if old[row].strip()] or rows)
    kind = rng.choice(("change", "insert", "delete", "move"))
    indent = old[at][: len(old[at]) - len(old[at].lstrip())]
    if kind == "change":
        words = old[at].split()
        new[at] = f"{indent}{' '.join(words[:-1])} updated_value\n" if words else f"{indent}pass\n"
    elif kind == "insert":
        new[at:at] = [
            f"{indent}first_step = prepare(value)\n",
            f"{indent}second_step(first_step)\n",
        ]
    elif kind == "delete":
        del new[at]
    else:
        new.insert(rng.randrange(1, len(new) - 1), new.pop(at))
    return new


def git(git_dir: str, *arguments: str) -> bytes:
    """What git answers."""
    command = ["git", f"--git-dir={git_dir}", *arguments]
    return subprocess.run(command, capture_output=True, check=True).stdout
