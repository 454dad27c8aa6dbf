"""The English phrases that we recognise in git's messages, and functions that parse them.

Git runs with untranslated messages (see `clean_environment`). A test provokes each phrase, except
those that require a broken disk or remote. The patterns are compiled on use, because they are
rarely needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

NO_ROOM = (
    *("No space left on device", "Out of diskspace", "Disk quota exceeded", "File too large"),
)
# A write failed; git does not always add the reason.
UNWRITTEN = (
    *("unable to write", "Unable to write", "couldn't write", "write error", "unable to stream"),
)
OUT_OF_MEMORY = ("ut of memory", "Memory exhausted", "Cannot allocate memory")
# The wording of 2.35.2, and of newer versions.
DUBIOUS_OWNERSHIP = ("unsafe repository", "dubious ownership")
NO_REPOSITORY = ("not a git repository (or any",)
# read-tree refuses after it has checked everything, and before it changes anything.
CHANGED_MEANWHILE = ("not uptodate", "would be overwritten", "would lose", "would be removed")
# The content of a file that read-tree or checkout-index should write is gone.
MISSING_CONTENT = ("unable to read sha1 file",)
REF_CHANGED = ("reference already exists", "but expected", "unable to resolve")
REF_LOCKED = (".lock': File exists", "cannot lock references")
_BROKEN_REF = "warning: ignoring broken ref "
BAD_PATHSPEC = "pathspec"
OUTSIDE_REPOSITORY = "is outside repository"
UNMATCHED_PATHSPEC = "did not match any file(s) known to git"
# A file shrank while it was read.
SHORT_READ = b"short read"
# Git skips names that mean `.git` on some file system, such as `git~1`.
IGNORED_PATH = "Ignoring path "
# The system refused to open a path.
REFUSED_BY_SYSTEM = r'(?s)(?:open|lstat|readlink|opendir)\(".*"\): (.*)'
# Git lists the untracked files that it can, with a warning about unreadable directories.
UNREADABLE_DIRECTORY = r"(?m)^warning: could not open directory '(.*)/': (.*)"
# The remote did not send an object, or git rejected it.
_BAD_OBJECTS = (
    *("fsck error", "not our ref", "unadvertised object", "bad pack header"),
    *("did not send all necessary objects", "unresolved deltas", "bad object"),
)
# Lines that a command for remotes adds to every failure.
_REMOTE_ADVICE = (
    *("hint:", "fatal: Could not read from remote", "Please make sure you have"),
    *("and the repository exists.", "error: failed to push some refs to"),
)
_FAILED = r"^(fatal|error): "
_SEVERITY = r"^(fatal|error|remote|warning): *"
# A refused ref, as `git push --porcelain` reports it.
_REFUSED = r"\[[^]]*\] \((.*)\)"


class RefAnswer(NamedTuple):
    """The result of pushing one ref.

    `flag` is `*` for new, a space for fast-forwarded, `=` for unchanged, and `!` for rejected, with
    a reason.
    """

    ref: str
    flag: str
    reason: str


def says(stderr: str, phrases: Iterable[str]) -> bool:
    """Whether git's error output contains one of some phrases."""
    return any(phrase in stderr for phrase in phrases)


def is_disk_full(stderr: str) -> bool:
    """Whether git reports a full disk."""
    return says(stderr, NO_ROOM)


def failure_reason(stderr: str) -> str:
    """The error output of a failed git command, without the leading severity."""
    return re.sub(_FAILED, "", stderr.strip())


def complaints(stderr: str) -> list[str]:
    """The lines with errors, without their severity."""
    return [re.sub(_FAILED, "", line) for line in stderr.splitlines() if re.match(_FAILED, line)]


def broken_refs(stderr: str) -> list[str]:
    """The broken refs, according to the warnings of `git for-each-ref`."""
    lines = (line for line in stderr.split("\n") if line.startswith(_BROKEN_REF))
    return [line.removeprefix(_BROKEN_REF) for line in lines]


def remote_reason(stderr: str) -> str:
    """Why a command for a remote failed, in one line and without git's advice."""
    lines = (line for line in stderr.split("\n") if not line.startswith(_REMOTE_ADVICE))
    bare = (re.sub(_SEVERITY, "", line).rstrip() for line in lines)
    return "; ".join(filter(None, bare)) or "no reason given"


def bad_object(stderr: str) -> str | None:
    """The error about an object requested from a remote; None if something else failed."""
    if not says(stderr, _BAD_OBJECTS):
        return None
    bare = (re.sub(_SEVERITY, "", line).rstrip() for line in stderr.split("\n"))
    return next(filter(None, bare), stderr)


def push_answers(stdout: str) -> list[RefAnswer]:
    """Parse the results in the output of `git push --porcelain`."""
    rows = (line.split("\t") for line in stdout.split("\n"))
    answers = []
    for flag, refs, summary in (row for row in rows if len(row) == 3 and len(row[0]) == 1):
        refused = re.fullmatch(_REFUSED, summary)
        name = refs.rpartition(":")[2]
        answers.append(RefAnswer(name, flag, refused[1] if refused else summary))
    return answers


def unused_files(stderr: str) -> list[str]:
    """The paths that `git count-objects -v` warns about, as git writes them."""
    return re.findall(r"(?m)^warning: (?:garbage found|no corresponding \.\w+): (.*)$", stderr)
