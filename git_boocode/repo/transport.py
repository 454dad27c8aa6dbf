"""What goes to a remote and comes from it, by the user's own git: its credentials, ssh, proxies."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from git_boocode.repo.errors import FatalError, RefusedError
from git_boocode.repo.foreground import run_relayed
from git_boocode.repo.git import Completed, Git
from git_boocode.repo.ids import OBJECT_ID
from git_boocode.repo.remotes import Remote
from git_boocode.repo.repository import Repository

Show = Callable[[str], None]

# Set for what a push of ours starts, so that a `pre-push` hook that pushes checkpoints ends.
INSIDE_PUSH = "GIT_BOOCODE_PUSH"

# Objects come and nothing else happens, whatever the user has configured for `git fetch`: no ref is
# written, none is pruned, no tag and no submodule comes along.
_FETCH = (
    *("fetch", "--refmap=", "--no-tags", "--no-prune", "--no-prune-tags", "--no-write-fetch-head"),
    *("--no-recurse-submodules", "--no-auto-maintenance", "--stdin"),
)
_CHECKED = ("fetch.fsckObjects=true", "fetch.writeCommitGraph=false")
_PUSH = ("push", "--porcelain", "--no-follow-tags", "--no-signed", "--recurse-submodules=no")
# What git says where it is one of the objects that it does not take, or does not get.
_OBJECTS_FAULT = (
    *("fsck error", "not our ref", "unadvertised object", "bad pack header"),
    *("did not send all necessary objects", "unresolved deltas", "bad object"),
)
# What it says beside that, on lines of their own, whatever the cause.
_ADVICE = (
    *("hint:", "fatal: Could not read from remote", "Please make sure you have"),
    *("and the repository exists.", "error: failed to push some refs to"),
)
_NOISE = re.compile(r"^(fatal|error|remote|warning): *")
# Which ref names the listing of a remote may hold is for the caller to judge.
_LISTED = re.compile(rb"^([0-9a-f]+)\t([^\n]+)", re.MULTILINE)


class Answer(NamedTuple):
    """What became of one ref of a push.

    Attributes:
        ref: its whole name at the remote.
        flag: `*` new, ` ` moved on, `=` as it was, `!` refused.
        reason: why it was refused.
    """

    ref: str
    flag: str
    reason: str


class ObjectsError(FatalError):
    """A remote did not give some of the objects asked for, or they are not sound."""


class Transport:
    """A connection to a remote, made anew for everything that is asked of it.

    Args:
        repository: the repository.
        remote: the remote.
        show: takes what git says of its progress; None where nobody watches, and then git asks
            for no password either.
    """

    def __init__(self, repository: Repository, remote: Remote, show: Show | None = None) -> None:
        self._repository = repository
        self._remote = remote
        self._show = show

    def listing(self, below: str, address: str | None = None) -> dict[str, str]:
        """What the remote has: object ids by the rest of the ref's name, which may be anything.

        Args:
            below: the beginning of the names, which ends in `/`.
            address: where to look instead of at the remote itself.

        Raises:
            FatalError: the remote cannot be read.
        """
        asked = address or self._remote.address
        done = self._run(self._git(), "ls-remote", "--refs", "--", asked, f"{below}*")
        if done.status:
            raise self._failure("cannot read from", done)
        found = {}
        for identifier, name in _LISTED.findall(done.stdout):
            if name.startswith(below.encode()):
                found[os.fsdecode(name[len(below) :])] = identifier.decode()
        self._check_format(found.values())
        return found

    def fetch(self, ids: Sequence[str], into: Git) -> None:
        """Get objects and all that they are made of; they are checked, and no ref is written.

        Args:
            ids: of the objects.
            into: git for our own work, which says where they go.

        Raises:
            ObjectsError: the remote lacks some of them, or they are not sound; none is here.
            FatalError: the remote cannot be read.
        """
        git = self._here(into, *_CHECKED)
        asked = "".join(f"{identifier}\n" for identifier in ids).encode()
        done = self._run(git, *_FETCH, self._progress(), "--", self._remote.address, stdin=asked)
        if done.status == 0:
            return
        said = os.fsdecode(done.stderr)
        if any(phrase in said for phrase in _OBJECTS_FAULT):
            raise ObjectsError(_first_line(said), code="malformed")
        raise self._failure("cannot fetch from", done)

    def push(self, refspecs: Sequence[str], *, verify: bool) -> list[Answer]:
        """Push refs, and tell what became of each.

        Args:
            refspecs: what to push, none of it by force.
            verify: whether the user's `pre-push` hook runs.

        Raises:
            RefusedError: the hook said no (`refused`).
            FatalError: the remote cannot be written.
        """
        git = self._pushing_git()
        options = [self._progress(), "--verify" if verify else "--no-verify"]
        done = self._run(git, *_PUSH, *options, "--", self._remote.address, *refspecs)
        answers = [answer for line in _lines(done.stdout) if (answer := _answer(line))]
        if done.status and not any(answer.flag == "!" for answer in answers):
            if done.status == 1:
                raise RefusedError(
                    f"the push was refused here: {_whole(done.stderr)}",
                    code="refused",
                    hints=("nothing was pushed; --no-verify goes without the pre-push hook",),
                )
            raise self._failure("cannot push to", done)
        return answers

    def _git(self) -> Git:
        return self._here(self._repository.git)

    def _here(self, git: Git, *overrides: str) -> Git:
        here = os.path.join(self._repository.worktree, self._repository.prefix)
        cwd = here if os.path.isdir(here) else git.cwd
        return Git(cwd, self._environment(git.env), (*git.overrides, *overrides))

    def _pushing_git(self) -> Git:
        # The hook of the user's runs with what we set for git, so that is nearly nothing.
        git = self._git().bind(**{INSIDE_PUSH: "1"})
        mirror = f"remote.{self._remote.name}.mirror"
        # `git push` takes no refspec for what is configured as a mirror.
        plain = (f"{mirror}=false",) if self._repository.config.setting(mirror) else ()
        return Git(git.cwd, git.env, plain)

    def _environment(self, env: dict[str, str]) -> dict[str, str]:
        env = dict(env)
        if self._show is not None:
            env.pop("GIT_TERMINAL_PROMPT", None)
            if "GIT_TERMINAL_PROMPT" in os.environ:
                env["GIT_TERMINAL_PROMPT"] = os.environ["GIT_TERMINAL_PROMPT"]
        elif not {"SSH_ASKPASS", "SSH_ASKPASS_REQUIRE", "GIT_ASKPASS"} & env.keys():
            # ssh turns to the terminal of whoever started all this, even out of a hook.
            env.update(SSH_ASKPASS="false", SSH_ASKPASS_REQUIRE="force")
        return env

    def _progress(self) -> str:
        return "--no-progress" if self._show is None else "--progress"

    def _run(self, git: Git, *arguments: str, stdin: bytes = b"") -> Completed:
        return run_relayed(git, *arguments, stdin=stdin, show=self._show)

    def _failure(self, what: str, done: Completed) -> FatalError:
        return FatalError(
            f"{what} '{self._remote.shown}': {_whole(done.stderr)}",
            code="remote",
            hints=(f"'git ls-remote {self._remote.shown}' tells whether it can be reached",),
        )

    def _check_format(self, ids: Iterable[str]) -> None:
        length = len(self._repository.zero_id)
        if any(len(each) != length or not OBJECT_ID.fullmatch(each) for each in ids):
            raise FatalError(
                f"'{self._remote.shown}' names its objects otherwise than this repository, "
                f"by another hash than {self._repository.object_format}",
                code="object_format",
                hints=("git has no way to share objects between the two",),
            )


def _lines(output: bytes) -> list[str]:
    return os.fsdecode(output).split("\n")


def _answer(line: str) -> Answer | None:
    """Read a line of `git push --porcelain` that tells of a ref; None for any other."""
    parts = line.split("\t")
    if len(parts) != 3 or len(parts[0]) != 1:
        return None
    flag, refs, summary = parts
    # A refusal is written `[rejected] (reason)`.
    head, bracket, reason = summary.rpartition("] (")
    refused = bracket and head.startswith("[") and reason.endswith(")")
    return Answer(refs.rpartition(":")[2], flag, reason[:-1] if refused else summary)


def _whole(stderr: bytes) -> str:
    """What git said, its advice left out, as one line."""
    lines = (line for line in _lines(stderr) if not line.startswith(_ADVICE))
    return "; ".join(filter(None, map(_bare, lines))) or "it gave no reason"


def _first_line(said: str) -> str:
    return next(filter(None, map(_bare, said.split("\n"))), said)


def _bare(line: str) -> str:
    return _NOISE.sub("", line).rstrip()
