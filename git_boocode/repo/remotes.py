"""The remotes of a repository, and what goes to them and comes from them.

The user's own git does it, with its credentials, ssh and proxies.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from git_boocode.repo.errors import FatalError, RefusedError
from git_boocode.repo.git import Completed, Git
from git_boocode.repo.ids import ID_PART
from git_boocode.repo.messages import RefAnswer, bad_object, push_answers, remote_reason
from git_boocode.repo.repository import Repository

Show = Callable[[str], None]
"""Takes what git says of its progress."""

# Set for what our push starts, so that a `pre-push` hook that pushes checkpoints ends.
INSIDE_PUSH = "GIT_BOOCODE_PUSH"

# What git takes for a remote where nothing says which one.
_USUAL = "origin"
_WHO = re.compile(r"://[^/@]*@")

# Objects come and nothing else happens, whatever the user has configured for `git fetch`: no ref is
# written, none is pruned, no tag and no submodule comes along.
_FETCH = (
    *("fetch", "--refmap=", "--no-tags", "--no-prune", "--no-prune-tags", "--no-write-fetch-head"),
    *("--no-recurse-submodules", "--no-auto-maintenance", "--stdin"),
)
_CHECKED = ("fetch.fsckObjects=true", "fetch.writeCommitGraph=false")
_PUSH = ("push", "--porcelain", "--no-follow-tags", "--no-signed", "--recurse-submodules=no")
# Which ref names the listing of a remote may hold is for the caller to judge.
_LISTED = re.compile(rb"^([0-9a-f]+)\t([^\n]+)", re.MULTILINE)


class Remote(NamedTuple):
    """A remote: its address for git, and its name, which is empty for a mere URL or path."""

    name: str
    address: str

    @property
    def shown(self) -> str:
        """The address for people; a URL may hold a password."""
        return _WHO.sub("://", self.address)


class ObjectsError(FatalError):
    """A remote did not give some of the objects asked for, or they are not sound."""


def find_remote(repository: Repository, given: str | None, *, pushing: bool) -> Remote:
    """The remote of a name, a URL or a path; of None, the one that git itself would take.

    RefusedError (`no_remote`) if there is none, or it is not clear which one is meant.
    """
    known = [name for name in repository.git.line("remote").split("\n") if name]
    wanted = _default(repository, known, pushing=pushing) if given is None else given
    if wanted in known:
        # Whoever edits the configuration can give a remote any name.
        if repository.git.attempt("check-ref-format", f"refs/boocode/remotes/{wanted}/x").status:
            hint = "git remote rename gives it another name"
            raise _no_remote(f"no ref can be named after the remote '{wanted}'", hint)
        return Remote(wanted, wanted)
    if given is None and not known and wanted == _USUAL:
        raise _no_remote("this repository has no remote", "name one: git remote add origin <url>")
    here = os.path.join(repository.worktree, repository.prefix)
    if {"/", ":"} & {*wanted} or (wanted and os.path.exists(os.path.join(here, wanted))):
        return Remote("", wanted)
    names = f"the remotes are: {', '.join(known)}"
    hints = [names if known else "name one: git remote add <name> <url>"]
    if wanted.startswith("@") or ID_PART.fullmatch(wanted):
        hints.append("the remote comes first, and then the checkpoints")
    raise _no_remote(f"there is no remote '{wanted}'", *hints)


def _no_remote(message: str, *hints: str) -> RefusedError:
    return RefusedError(message, code="no_remote", hints=hints)


def named_remote(repository: Repository, given: str | None) -> Remote:
    """The remote to fetch from, which must have a name; see `find_remote`.

    RefusedError if there is none (`no_remote`), or it is a URL or a path (`unnamed_remote`).
    """
    remote = find_remote(repository, given, pushing=False)
    if remote.name:
        return remote
    raise RefusedError(
        f"'{remote.shown}' is not the name of a remote, and fetched checkpoints are kept under one",
        code="unnamed_remote",
        hints=(f"git remote add <name> {remote.shown}, then git boocode fetch <name>",),
    )


def push_addresses(repository: Repository, remote: Remote) -> list[str]:
    """What to look at before a push: the remote itself, or the other places that it pushes to."""
    if not remote.name:
        return [remote.address]
    urls = repository.git.line("remote", "get-url", "--push", "--all", remote.address).split("\n")
    usual = repository.git.line("remote", "get-url", remote.address)
    return [remote.address] if urls == [usual] else urls


def _default(repository: Repository, known: list[str], *, pushing: bool) -> str:
    """The remote that git takes where none is named; see `branch.<name>.remote` in git-config."""
    head = repository.git.attempt("symbolic-ref", "-q", "HEAD")
    branch = os.fsdecode(head.stdout).strip().removeprefix("refs/heads/")
    keys = [f"branch.{branch}.remote"] if branch else []
    if pushing:
        keys = [f"branch.{branch}.pushRemote", "remote.pushDefault", *keys]
    for key in keys:
        # A branch may follow another one of the same repository, which "." stands for.
        if (value := repository.config.text(key)) and value != ".":
            return value
    return known[0] if len(known) == 1 else _USUAL


class Transport:
    """A connection to a remote, made anew for everything that is asked of it.

    Where nobody watches, `show` is None, and then git asks for no password either. FatalError if
    the remote cannot be reached, read or written.
    """

    def __init__(self, repository: Repository, remote: Remote, show: Show | None = None) -> None:
        self._repository = repository
        self._remote = remote
        self._show = show
        self._progress = "--no-progress" if show is None else "--progress"

    def listing(self, below: str, address: str | None = None) -> dict[str, str]:
        """What the remote, or another address, has below a prefix that ends in `/`.

        Object ids by the rest of the ref's name, which may be anything. FatalError
        (`object_format`) if the remote uses another hash.
        """
        asked = address or self._remote.address
        done = self._run(self._git(), "ls-remote", "--refs", "--", asked, f"{below}*")
        if done.status:
            raise self._failure("cannot read from", done)
        found = {
            os.fsdecode(name[len(below) :]): identifier.decode()
            for identifier, name in _LISTED.findall(done.stdout)
            if name.startswith(below.encode())
        }
        if any(len(each) != len(self._repository.zero_id) for each in found.values()):
            own = self._repository.object_format
            raise FatalError(
                f"'{self._remote.shown}' uses another hash than this repository, which uses {own}",
                code="object_format",
                hints=("git has no way to share objects between the two",),
            )
        return found

    def fetch(self, ids: Sequence[str], into: Git) -> None:
        """Get objects and all that they consist of, to where `into` puts objects.

        They are checked, and no ref is written. ObjectsError if the remote lacks some of them, or
        they are not sound; none is here then.
        """
        git = self._git(into).bind(*_CHECKED)
        asked = "".join(f"{identifier}\n" for identifier in ids).encode()
        done = self._run(git, *_FETCH, self._progress, "--", self._remote.address, stdin=asked)
        if done.status == 0:
            return
        if flaw := bad_object(os.fsdecode(done.stderr)):
            raise ObjectsError(flaw, code="malformed")
        raise self._failure("cannot fetch from", done)

    def push(self, refspecs: Sequence[str], *, verify: bool) -> list[RefAnswer]:
        """Push refs, none of them by force, and report what became of each.

        With `verify`, the user's `pre-push` hook runs; RefusedError (`refused`) if it said no.
        """
        # The user's hook runs with what we set for git, so that is nearly nothing.
        git = self._git()
        mirror = f"remote.{self._remote.name}.mirror"
        # `git push` takes no refspec for what is configured as a mirror.
        plain = (f"{mirror}=false",) if self._repository.config.setting(mirror) else ()
        git = Git(git.cwd, {**git.env, INSIDE_PUSH: "1"}, plain)
        options = [self._progress, "--verify" if verify else "--no-verify"]
        done = self._run(git, *_PUSH, *options, "--", self._remote.address, *refspecs)
        answers = push_answers(os.fsdecode(done.stdout))
        if not done.status or any(answer.flag == "!" for answer in answers):
            return answers
        if done.status == 1:
            raise RefusedError(
                f"the push was refused here: {remote_reason(os.fsdecode(done.stderr))}",
                code="refused",
                hints=("nothing was pushed; --no-verify goes without the pre-push hook",),
            )
        raise self._failure("cannot push to", done)

    def _git(self, git: Git | None = None) -> Git:
        git = git or self._repository.git
        here = os.path.join(self._repository.worktree, self._repository.prefix)
        env = dict(git.env)
        if self._show is not None:
            env.pop("GIT_TERMINAL_PROMPT", None)
            if "GIT_TERMINAL_PROMPT" in os.environ:
                env["GIT_TERMINAL_PROMPT"] = os.environ["GIT_TERMINAL_PROMPT"]
        elif not {"SSH_ASKPASS", "SSH_ASKPASS_REQUIRE", "GIT_ASKPASS"} & env.keys():
            # ssh turns to the terminal of whoever started all this, even out of a hook.
            env.update(SSH_ASKPASS="false", SSH_ASKPASS_REQUIRE="force")
        return Git(here if os.path.isdir(here) else git.cwd, env, git.overrides)

    def _run(self, git: Git, *arguments: str, stdin: bytes = b"") -> Completed:
        return git.run_relayed(*arguments, stdin=stdin, show=self._show)

    def _failure(self, what: str, done: Completed) -> FatalError:
        return FatalError(
            f"{what} '{self._remote.shown}': {remote_reason(os.fsdecode(done.stderr))}",
            code="remote",
            hints=(f"'git ls-remote {self._remote.shown}' tests whether it can be reached",),
        )
