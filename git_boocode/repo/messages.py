"""What git says: the English that we look for in its messages, by name.

Git runs with untranslated messages (see `clean_environment`), and a test makes it say each of
these, but for those that take a broken disk or remote. The patterns are compiled where they are
needed, which is hardly ever.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

NO_ROOM = (
    *("No space left on device", "Out of diskspace", "Disk quota exceeded", "File too large"),
)
# A write failed; the reason need not follow.
UNWRITTEN = (
    *("unable to write", "Unable to write", "couldn't write", "write error", "unable to stream"),
)
# As 2.35.2 said it, and newer ones say it.
DUBIOUS_OWNERSHIP = ("unsafe repository", "dubious ownership")
# What read-tree says when it has looked at everything, touched nothing and refuses.
CHANGED_MEANWHILE = ("not uptodate", "would be overwritten", "would lose", "would be removed")
REF_CHANGED = ("reference already exists", "but expected", "unable to resolve")
REF_LOCKED = (".lock': File exists", "cannot lock references")
_BROKEN_REF = "warning: ignoring broken ref "
BAD_PATHSPEC = "pathspec"
OUTSIDE_REPOSITORY = "is outside repository"
UNMATCHED_PATHSPEC = "did not match any file(s) known to git"
# A file shrank while it was read.
SHORT_READ = b"short read"
# Names that lead into a git directory on some file system, such as `git~1`, are passed over.
IGNORED_PATH = "Ignoring path "
# The system refused to open a path.
REFUSED_BY_SYSTEM = r'(?s)(?:open|lstat|readlink|opendir)\(".*"\): (.*)'
# Untracked files are listed as far as possible, with a warning of what cannot be looked into.
UNREADABLE_DIRECTORY = r"(?m)^warning: could not open directory '(.*)/': (.*)"
# An object was not given, or not taken.
_BAD_OBJECTS = (
    *("fsck error", "not our ref", "unadvertised object", "bad pack header"),
    *("did not send all necessary objects", "unresolved deltas", "bad object"),
)
# Lines that a command for remotes adds, whatever the cause of its failure.
_REMOTE_ADVICE = (
    *("hint:", "fatal: Could not read from remote", "Please make sure you have"),
    *("and the repository exists.", "error: failed to push some refs to"),
)
_FAILED = r"^(fatal|error): "
_SEVERITY = r"^(fatal|error|remote|warning): *"
# A refused ref, as `git push --porcelain` reports it.
_REFUSED = r"\[[^]]*\] \((.*)\)"


class RefAnswer(NamedTuple):
    """What became of one ref of a push.

    `flag` is `*` for new, a space for moved on, `=` for unchanged, `!` for refused, with a reason.
    """

    ref: str
    flag: str
    reason: str


def says(stderr: str, phrases: Iterable[str]) -> bool:
    """Whether git said any of some phrases."""
    return any(phrase in stderr for phrase in phrases)


def is_disk_full(stderr: str) -> bool:
    """Whether git's complaint is that there is no room to write to."""
    return says(stderr, NO_ROOM)


def failure_reason(stderr: str) -> str:
    """What a git command that failed said, without the severity in front."""
    return re.sub(_FAILED, "", stderr.strip())


def complaints(stderr: str) -> list[str]:
    """The lines in which git says what is wrong, without their severity."""
    return [re.sub(_FAILED, "", line) for line in stderr.splitlines() if re.match(_FAILED, line)]


def broken_refs(stderr: str) -> list[str]:
    """The refs that name nothing, as `git for-each-ref` warns of them."""
    lines = (line for line in stderr.split("\n") if line.startswith(_BROKEN_REF))
    return [line.removeprefix(_BROKEN_REF) for line in lines]


def remote_reason(stderr: str) -> str:
    """Why a command for a remote failed, on one line and without git's advice."""
    lines = (line for line in stderr.split("\n") if not line.startswith(_REMOTE_ADVICE))
    bare = (re.sub(_SEVERITY, "", line).rstrip() for line in lines)
    return "; ".join(filter(None, bare)) or "it gave no reason"


def bad_object(stderr: str) -> str | None:
    """What is wrong with an object that a remote was asked for; None if something else failed."""
    if not says(stderr, _BAD_OBJECTS):
        return None
    bare = (re.sub(_SEVERITY, "", line).rstrip() for line in stderr.split("\n"))
    return next(filter(None, bare), stderr)


def push_answers(stdout: str) -> list[RefAnswer]:
    """What `git push --porcelain` prints about refs."""
    rows = (line.split("\t") for line in stdout.split("\n"))
    answers = []
    for flag, refs, summary in (row for row in rows if len(row) == 3 and len(row[0]) == 1):
        refused = re.fullmatch(_REFUSED, summary)
        name = refs.rpartition(":")[2]
        answers.append(RefAnswer(name, flag, refused[1] if refused else summary))
    return answers
