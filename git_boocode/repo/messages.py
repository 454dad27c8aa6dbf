"""What git says: the English that we look for in its messages, by name.

Git runs with untranslated messages (see `clean_environment`), and a test makes it say each of
these, but for those that take a broken disk or remote.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

NO_ROOM = (
    *("No space left on device", "Out of diskspace", "Disk quota exceeded", "File too large"),
)
# A write failed; the reason need not follow.
UNWRITTEN = ("unable to write", "Unable to write", "couldn't write", "write error")
# As 2.35.2 said it, and newer ones say it.
DUBIOUS_OWNERSHIP = ("unsafe repository", "dubious ownership")
# What read-tree says when it has looked at everything, touched nothing and refuses.
CHANGED_MEANWHILE = ("not uptodate", "would be overwritten", "would lose", "would be removed")
REF_CHANGED = ("reference already exists", "but expected", "unable to resolve")
REF_LOCKED = (".lock': File exists", "cannot lock references")
BROKEN_REF = "warning: ignoring broken ref "
BAD_PATHSPEC = "pathspec"
OUTSIDE_REPOSITORY = "is outside repository"
UNMATCHED_PATHSPEC = "did not match any file(s) known to git"
# A file shrank while it was read.
SHORT_READ = b"short read"
# Names that lead into a git directory on some file system, such as `git~1`, are passed over.
IGNORED_PATH = "Ignoring path "
# The system refused to open a path.
REFUSED_BY_SYSTEM = re.compile(r'(?:open|lstat|readlink|opendir)\(".*"\): (.*)', re.DOTALL)
# Untracked files are listed as far as possible, with a warning of what cannot be looked into.
UNREADABLE_DIRECTORY = re.compile(r"^warning: could not open directory '(.*)/': (.*)", re.MULTILINE)
# An object was not given, or not taken.
BAD_OBJECTS = (
    *("fsck error", "not our ref", "unadvertised object", "bad pack header"),
    *("did not send all necessary objects", "unresolved deltas", "bad object"),
)
# Lines that a command for remotes adds, whatever the cause of its failure.
REMOTE_ADVICE = (
    *("hint:", "fatal: Could not read from remote", "Please make sure you have"),
    *("and the repository exists.", "error: failed to push some refs to"),
)
SEVERITY = re.compile(r"^(fatal|error|remote|warning): *")


def says(stderr: str, phrases: Iterable[str]) -> bool:
    """Whether git said any of some phrases."""
    return any(phrase in stderr for phrase in phrases)


def is_disk_full(stderr: str) -> bool:
    """Whether git's complaint is that there is no room to write to."""
    return says(stderr, NO_ROOM)


def complaints(stderr: str) -> list[str]:
    """The lines in which git says what is wrong, without their severity."""
    lines = (line for line in stderr.splitlines() if line.startswith(("error: ", "fatal: ")))
    return [line.partition(": ")[2] for line in lines]
