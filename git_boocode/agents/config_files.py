"""The configuration files of agents: where they are, and which of their entries are ours.

A record holds what a file was before us, so that it can be given back as it was. Those that git
would add can be excluded: a comment before each of our lines in `info/exclude` marks it, so that
exactly our lines are removed again.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from base64 import b64decode, b64encode
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from git_boocode.agents.agent import (
    HOOKS,
    PARTS,
    SCOPES,
    USER,
    Agent,
    Package,
    Program,
    Servers,
    Settings,
    home_of,
    xdg_directory,
)
from git_boocode.agents.file_edits import FileEdit, read_file
from git_boocode.repo.durable import read_private_json, refuse_blocked
from git_boocode.repo.errors import FatalError, RefusedError
from git_boocode.repo.files import inside_worktree
from git_boocode.repo.git import nul_lines, nul_records
from git_boocode.repo.layout import HOOK_BASELINES
from git_boocode.repo.repository import Repository

JSON, TOML, PROGRAM = "json", "toml", "program"
# Of records; the settings of an agent may hold keys and passwords.
_FORMAT, _MODE, _LARGEST = 1, 0o600, 64 << 20
_MARK = b"# git-boocode: file of an agent, excluded when hooks or the server were installed\n"
_EXCLUDE_TITLE = "git (exclude)"


class ConfigFile(NamedTuple):
    """A file of an agent that may hold `parts`: our HOOKS, our SERVER, or both.

    `kind` is JSON, TOML or PROGRAM; `record` is the file in which its baseline is kept. A program
    is for one `event` only, unless that is empty.
    """

    agent: Agent
    scope: str
    kind: str
    path: str
    record: str
    event: str = ""
    parts: frozenset[str] = frozenset((HOOKS,))

    @property
    def title(self) -> str:
        """What to call it: `Claude Code (local)`."""
        return f"{self.agent.title} ({self.scope})"

    @property
    def settings(self) -> Settings:
        """How the entries of a JSON or TOML file look."""
        assert isinstance(self.agent.config, Settings)
        return self.agent.config

    @property
    def hooks_key(self) -> str:
        """The key that holds the hooks, empty if the whole file does."""
        settings = self.settings
        return "" if os.path.basename(self.path) in settings.bare else settings.key

    @property
    def servers(self) -> Servers:
        """Where it lists servers, and how."""
        assert self.agent.servers is not None
        return self.agent.servers

    def decoded(self, data: bytes) -> str:
        """Its text; RefusedError if it is not UTF-8."""
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise self.unusable(f"it is not UTF-8, in line {line}") from None

    def encoded(self, text: str) -> bytes:
        """The bytes of a text; RefusedError if the path of our program is not UTF-8."""
        try:
            return text.encode("utf-8")
        except UnicodeEncodeError:
            reason = "the path of git-boocode is not UTF-8, as the file is"
            raise self.unusable(reason) from None

    def unusable(self, reason: str, *hints: str) -> RefusedError:
        """The refusal of a file that cannot take hooks as it is."""
        message = f"'{self.path}' cannot be changed: {reason}"
        return refusal(message, *(hints or ("fix the file and try again",)), code="unusable_file")


def refusal(message: str, *hints: str, code: str) -> RefusedError:
    """The refusal of a file in which something is in the way."""
    return RefusedError(f"{message}; nothing was changed", code=code, hints=hints)


class Locations(NamedTuple):
    """Where configuration files are: in the worktree, if there is one, and below the home."""

    repository: Repository | None
    home: str

    @classmethod
    def here(cls) -> Locations:
        """Those of the current directory and user; FatalError if the repository is not usable."""
        try:
            return cls.of(Repository.discover())
        except FatalError as error:
            if error.code not in ("not_a_repository", "no_worktree"):
                raise
            return cls(None, os.path.expanduser("~"))

    @classmethod
    def of(cls, repository: Repository) -> Locations:
        """Those of a worktree, and of the current user."""
        return cls(repository, os.path.expanduser("~"))

    def is_used(self, agent: Agent) -> bool:
        """Whether an agent is used in the worktree or on this machine, or only installed."""
        top = self.repository.worktree if self.repository else None
        if top and any(os.path.lexists(os.path.join(top, mark)) for mark in agent.marks):
            return True
        return os.path.isdir(home_of(agent, self.home)) or any(map(shutil.which, agent.programs))

    def scopes(self, agent: Agent, part: str) -> list[str]:
        """The scopes that exist here in which an agent may have a part, the narrowest first."""
        known = [scope for scope in SCOPES if scope in agent.places(part)]
        return known if self.repository else [scope for scope in known if scope == USER]

    def files(self, agent: Agent, scope: str, part: str) -> list[ConfigFile]:
        """The files for a part and a scope; FatalError if the scope needs a repository."""
        return [
            self._file(agent, scope, place, event)
            for place in agent.places(part)[scope]
            for event in (agent.events() if "{event}" in place else [""])
        ]

    def all_files(self, agent: Agent) -> Iterable[ConfigFile]:
        """All files that exist here in which an agent may have hooks or servers, each once."""
        places = ((scope, part) for part in PARTS for scope in self.scopes(agent, part))
        files = (file for place in places for file in self.files(agent, *place))
        return {file.path: file for file in files}.values()

    def _file(self, agent: Agent, scope: str, place: str, event: str) -> ConfigFile:
        repository, relative = self.repository, place.replace("{event}", event)
        parts = frozenset(part for part in PARTS if place in agent.places(part).get(scope, ()))
        if scope == USER:
            path = name = os.path.join(self._home(agent, relative), relative)
            state = xdg_directory("XDG_STATE_HOME", self.home, ".local/state")
            state = os.path.join(state, "git-boocode")
        elif repository is None:
            raise FatalError(
                "not in the worktree of a git repository",
                code="not_a_repository",
                hints=("--user is for the files in your home directory, which hold everywhere",),
            )
        else:
            path = os.path.join(repository.worktree, relative)
            refuse_blocked(repository.common_state_dir)
            state = repository.common_state_dir
            # Named after the worktree's git directory, so that the worktree may be moved.
            name = os.path.relpath(repository.git_dir, repository.common_dir)
            name = os.path.join(name, relative)
        short = hashlib.sha256(os.fsencode(name)).hexdigest()[:16]
        record = os.path.join(state, HOOK_BASELINES, f"{agent.name}-{short}.json")
        kind = TOML if place.endswith(".toml") else JSON
        is_plugin = isinstance(agent.config, Package) and not place.endswith((".json", ".jsonc"))
        if HOOKS in parts and (is_plugin or isinstance(agent.config, Program)):
            kind = PROGRAM
        return ConfigFile(agent, scope, kind, path, record, event, parts)

    def _home(self, agent: Agent, relative: str) -> str:
        """The directory below which the user's file of an agent is."""
        for part in (agent.servers, agent.config):
            if part is None:
                continue
            is_listed = relative in part.places.get(USER, ())
            if is_listed and part.home and not os.environ.get(agent.home_variable):
                return os.path.normpath(os.path.join(self.home, part.home))
        return home_of(agent, self.home)

    def check(self, file: ConfigFile) -> None:
        """Refuse a file of the worktree that a symlink leads out of it (`outside_worktree`).

        A clone can bring such a link. It may lead to the user's own file, and what is meant for one
        repository would be installed for all.
        """
        if file.scope == USER or self.repository is None:
            return
        top = self.repository.worktree
        try:
            inside_worktree(top, os.path.relpath(file.path, top))
        except RefusedError as error:
            hints = ("--user changes the file in your home directory",)
            raise RefusedError(error.message, code=error.code, hints=hints) from None


class Wanted(NamedTuple):
    """What to install: a command line by event, how long the agent waits, and whether for tools."""

    commands: Mapping[str, str]
    seconds: int
    per_tool: bool

    def entry(self, settings: Settings, event: str) -> dict[str, Any]:
        """What the list of an event has to hold."""
        most = settings.longest.get(event, settings.longest.get("", self.seconds))
        seconds = min(self.seconds, most)
        text = json.dumps(settings.entry).replace("{event}", event)
        text = text.replace('"{timeout}"', str(seconds * settings.seconds))
        entry: dict[str, Any] = json.loads(
            text.replace('"{command}"', json.dumps(self.commands[event]))
        )
        return entry


class Baseline(NamedTuple):
    """What is remembered of a file.

    `before` is its content before us, None for no file; `written` the digest of what we wrote.
    `made` is what we had to add to hold our hooks, such as `hooks` or `hooks.Stop`, and None if
    nobody remembers: then what our hooks leave empty counts as added. `directories` are those that
    we made for the file, outermost first.
    """

    before: bytes | None
    written: str
    made: frozenset[str] | None
    directories: tuple[str, ...] = ()

    @property
    def created(self) -> bool:
        """Whether the whole file is ours, so that it goes when nothing else is left in it."""
        return self.before is None

    def is_of(self, data: bytes | None) -> bool:
        """Whether a file holds just what we wrote."""
        return data is not None and digest(data) == self.written


UNKNOWN = Baseline(b"", "", None)
"""The baseline of a file of which nothing is remembered."""


def digest(data: bytes) -> str:
    """By which a content is recognized."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def load(path: str) -> Baseline | None:
    """What a record holds; None if there is none, or none that makes sense."""
    try:
        stored: Any = read_private_json(path, largest=_LARGEST)
        if stored["boocode"] != _FORMAT or not isinstance(stored["written"], str):
            return None
        before, made = stored["before"], stored["made"]
        return Baseline(
            None if before is None else b64decode(before, validate=True),
            stored["written"],
            None if made is None else frozenset(map(str, made)),
            tuple(os.fsdecode(bytes.fromhex(path)) for path in stored["directories"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        # Without one, what is ours is recognized by its command line.
        return None


def saved(path: str, baseline: Baseline | None) -> FileEdit:
    """The change of a record that remembers a baseline, or forgets it if it is None."""
    try:
        before = read_file(path, replace_link=True)
    except RefusedError as error:
        hint = "delete it; 'git boocode doctor --fix' does so in the git directory"
        hints = (*error.hints, hint)
        raise RefusedError(error.message, code=error.code, hints=hints) from None
    if baseline is None:
        return FileEdit(path, before, None, None, "", replace_link=True)
    stored = {
        "boocode": _FORMAT,
        "before": None if baseline.before is None else b64encode(baseline.before).decode("ascii"),
        "written": baseline.written,
        "made": None if baseline.made is None else sorted(baseline.made),
        "directories": [os.fsencode(path).hex() for path in baseline.directories],
    }
    after = json.dumps(stored, indent=2).encode() + b"\n"
    return FileEdit(path, before, after, _MODE, "", replace_link=True)


class HookPaths(NamedTuple):
    """Paths below the worktree, by what git does with them."""

    tracked: list[str]
    addable: list[str]  # neither tracked nor ignored, so that `git add .` adds them


def sort_paths(repository: Repository, paths: Collection[str]) -> HookPaths:
    """Sort paths below the worktree, which need not exist."""
    git = repository.git
    tracked = nul_records(git.run("ls-files", "-z", "--", *paths)) if paths else []
    listed = git.attempt("check-ignore", "-z", "--stdin", stdin=nul_lines(paths)).stdout
    hidden = {*tracked, *nul_records(listed)}
    return HookPaths(tracked, [path for path in paths if path not in hidden])


def exclude_path(repository: Repository) -> str:
    """The path of `info/exclude`; in linked worktrees and submodules it is not below `.git`."""
    return os.path.join(repository.common_dir, "info", "exclude")


def exclude_paths(repository: Repository, paths: Iterable[str]) -> FileEdit:
    """The change that excludes paths below the worktree."""
    path = exclude_path(repository)
    before = read_file(path)
    text = before or b""
    if text and not text.endswith(b"\n"):
        text += b"\n"
    lines = b"".join(map(_marked, paths))
    return FileEdit(path, before, text + lines, None, _EXCLUDE_TITLE)


def stop_excluding(repository: Repository, paths: Iterable[str]) -> Iterator[FileEdit]:
    """The change that removes our lines for paths below the worktree; none if there are none."""
    path = exclude_path(repository)
    before = after = read_file(path)
    for lines in map(_marked, paths):
        after = after and after.replace(lines, b"")
    if after != before:
        yield FileEdit(path, before, after, None, _EXCLUDE_TITLE)


def _marked(path: str) -> bytes:
    # The paths are those of the registry, which hold no characters that patterns interpret.
    return _MARK + b"/" + os.fsencode(path) + b"\n"
