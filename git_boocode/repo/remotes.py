"""Find the remotes of a repository, and list, fetch and push with them.

The user's git does the transfer, with its credentials, ssh and proxies.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from git_boocode.repo.errors import FatalError, RefusedError, shell_command
from git_boocode.repo.git import Completed, Git
from git_boocode.repo.ids import ID_PART
from git_boocode.repo.layout import REMOTES
from git_boocode.repo.messages import RefAnswer, bad_object, push_answers, remote_reason
from git_boocode.repo.repository import Repository

Show = Callable[[str], None]
"""Receives git's progress output."""

# Set in the environment of our push, so that a `pre-push` hook that pushes checkpoints stops.
INSIDE_PUSH = "GIT_BOOCODE_PUSH"

# Git's default remote.
_DEFAULT_REMOTE = "origin"
_CREDENTIALS = re.compile(r"://[^/@]*@")

# Fetch objects only, whatever the user has configured for `git fetch`: write and prune no refs, and
# fetch no tags and no submodules.
_FETCH = (
    *("fetch", "--refmap=", "--no-tags", "--no-prune", "--no-prune-tags", "--no-write-fetch-head"),
    *("--no-recurse-submodules", "--no-auto-maintenance", "--stdin"),
)
_CHECKED = ("fetch.fsckObjects=true", "fetch.writeCommitGraph=false")
_PUSH = ("push", "--porcelain", "--no-follow-tags", "--no-signed", "--recurse-submodules=no")
# The caller validates the ref names.
_LISTED = re.compile(rb"^([0-9a-f]+)\t([^\n]+)", re.MULTILINE)


class Remote(NamedTuple):
    """A remote: its address for git, and its name, which is empty for a URL or a path."""

    name: str
    address: str

    @property
    def shown(self) -> str:
        """The address without credentials, for output."""
        return _CREDENTIALS.sub("://", self.address)

    def is_promisor(self, repository: Repository) -> bool:
        """Whether a partial clone gets what it lacks from it."""
        key = f"remote.{self.name}.promisor"
        return bool(self.name) and repository.config.boolean(key, default=False)


class ObjectsError(FatalError):
    """Some of the requested objects are missing on the remote, or invalid."""


def find_remote(repository: Repository, argument: str | None, *, pushing: bool) -> Remote:
    """The remote with a name, a URL or a path; for None, git's default for the current branch.

    RefusedError (`no_remote`) if it does not exist, or if its name cannot be part of a ref.
    """
    remotes = [name for name in repository.git.line("remote").split("\n") if name]
    name = _default(repository, remotes, pushing=pushing) if argument is None else argument
    if name in remotes:
        # A remote can have any name if the configuration was edited by hand.
        if repository.git.attempt("check-ref-format", f"{REMOTES}{name}/x").status:
            hint = f"rename it: git remote rename '{name}' <new name>"
            raise _no_remote(f"the name of remote '{name}' is not valid in a ref", hint)
        return Remote(name, name)
    if argument is None and not remotes and name == _DEFAULT_REMOTE:
        raise _no_remote("this repository has no remote", "add one: git remote add origin <url>")
    here = os.path.join(repository.worktree, repository.prefix)
    if {"/", ":"} & {*name} or (name and os.path.exists(os.path.join(here, name))):
        return Remote("", name)
    names = f"existing remotes: {', '.join(remotes)}"
    hints = [names if remotes else "add one: git remote add <name> <url>"]
    if name.startswith("@") or ID_PART.fullmatch(name):
        hints.append("the remote comes first, then the checkpoints")
    raise _no_remote(f"unknown remote '{name}'", *hints)


def _no_remote(message: str, *hints: str) -> RefusedError:
    return RefusedError(message, code="no_remote", hints=hints)


def named_remote(repository: Repository, argument: str | None) -> Remote:
    """The remote to fetch from, which must have a name; see `find_remote`.

    RefusedError if it does not exist (`no_remote`), or is a URL or a path (`unnamed_remote`).
    """
    remote = find_remote(repository, argument, pushing=False)
    if remote.name:
        return remote
    raise RefusedError(
        f"cannot fetch from '{remote.shown}', because it is not the name of a remote",
        code="unnamed_remote",
        hints=(
            f"git remote add <name> {shell_command(remote.shown)}, then git boocode fetch <name>",
        ),
    )


def push_addresses(repository: Repository, remote: Remote) -> list[str]:
    """The addresses that a push to a remote goes to."""
    if not remote.name:
        return [remote.address]
    urls = repository.git.line("remote", "get-url", "--push", "--all", remote.address).split("\n")
    fetch_url = repository.git.line("remote", "get-url", remote.address)
    return [remote.address] if urls == [fetch_url] else urls


def _default(repository: Repository, remotes: list[str], *, pushing: bool) -> str:
    """Git's default remote for the current branch; see `branch.<name>.remote` in git-config."""
    head = repository.git.attempt("symbolic-ref", "-q", "HEAD")
    branch = os.fsdecode(head.stdout).strip().removeprefix("refs/heads/")
    keys = [f"branch.{branch}.remote"] if branch else []
    if pushing:
        keys = [f"branch.{branch}.pushRemote", "remote.pushDefault", *keys]
    for key in keys:
        # "." is this repository: a branch may have a local branch as its upstream.
        if (value := repository.config.text(key)) and value != ".":
            return value
    return remotes[0] if len(remotes) == 1 else _DEFAULT_REMOTE


class Transport:
    """Access to a remote; each method makes a new connection.

    Without `show`, nobody watches the output, and git must not ask for a password. FatalError if
    the remote cannot be reached, read or written.
    """

    def __init__(self, repository: Repository, remote: Remote, show: Show | None = None) -> None:
        self._repository = repository
        self._remote = remote
        self._show = show
        self._progress = "--no-progress" if show is None else "--progress"

    def listing(self, *below: str, address: str | None = None) -> dict[str, str]:
        """The refs of the remote, or of another address, below some prefixes that end in `/`.

        Maps the names, which are not validated, to the object ids. FatalError (`object_format`) if
        the remote uses another hash.
        """
        url = address or self._remote.address
        patterns = [f"{prefix}*" for prefix in below]
        done = self._run(self._git(), "ls-remote", "--refs", "--", url, *patterns)
        if done.status:
            raise self._failure("cannot read from", done)
        found = {
            name: identifier.decode()
            for identifier, name in (
                (each, os.fsdecode(name)) for each, name in _LISTED.findall(done.stdout)
            )
            if name.startswith(below)
        }
        if any(len(each) != len(self._repository.zero_id) for each in found.values()):
            own = self._repository.object_format
            raise FatalError(
                f"'{self._remote.shown}' uses another hash than this repository ({own})",
                code="object_format",
                hints=("git cannot transfer objects between the two formats",),
            )
        return found

    def fetch(self, ids: Sequence[str], into: Git, *, unfiltered: bool = False) -> None:
        """Fetch and verify objects, with all that they refer to, using the git `into`.

        A partial clone leaves out what it filters, unless `unfiltered`. No ref is written.
        ObjectsError if objects are missing on the remote or invalid; nothing is fetched then.
        """
        git = self._git(into).bind(*_CHECKED)
        lines = "".join(f"{identifier}\n" for identifier in ids).encode()
        options = [self._progress, *(["--no-filter"] if unfiltered else [])]
        done = self._run(git, *_FETCH, *options, "--", self._remote.address, stdin=lines)
        if done.status == 0:
            return
        if flaw := bad_object(os.fsdecode(done.stderr)):
            raise ObjectsError(flaw, code="malformed")
        raise self._failure("cannot fetch from", done)

    def push(self, refspecs: Sequence[str], *, verify: bool) -> list[RefAnswer]:
        """Push refs without force, and return the result for each.

        With `verify`, the user's `pre-push` hook runs; RefusedError (`refused`) if it fails.
        """
        # No overrides but one, because the user's hook inherits them.
        git = self._git()
        mirror = f"remote.{self._remote.name}.mirror"
        # `git push` accepts no refspecs for a mirror.
        plain = (f"{mirror}=false",) if self._repository.config.setting(mirror) else ()
        git = Git(git.cwd, {**git.env, INSIDE_PUSH: "1"}, plain)
        options = [self._progress, "--verify" if verify else "--no-verify"]
        done = self._run(git, *_PUSH, *options, "--", self._remote.address, *refspecs)
        answers = push_answers(os.fsdecode(done.stdout))
        if not done.status or any(answer.flag == "!" for answer in answers):
            return answers
        if done.status == 1:
            raise RefusedError(
                f"the push was refused locally: {remote_reason(os.fsdecode(done.stderr))}",
                code="refused",
                hints=("nothing was pushed; skip the pre-push hook with --no-verify",),
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
            # Otherwise ssh would prompt on the user's terminal, even from a hook.
            env.update(SSH_ASKPASS="false", SSH_ASKPASS_REQUIRE="force")
        return Git(here if os.path.isdir(here) else git.cwd, env, git.overrides)

    def _run(self, git: Git, *arguments: str, stdin: bytes = b"") -> Completed:
        return git.run_relayed(*arguments, stdin=stdin, show=self._show)

    def _failure(self, what: str, done: Completed) -> FatalError:
        return FatalError(
            f"{what} '{self._remote.shown}': {remote_reason(os.fsdecode(done.stderr))}",
            code="remote",
            hints=(f"test the connection with 'git ls-remote {self._remote.shown}'",),
        )
