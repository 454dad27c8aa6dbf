"""Where the files of agents are: a user's own, and those of a worktree."""

from __future__ import annotations

import hashlib
import os
from typing import NamedTuple

from git_boocode.agents.registry import AGENTS, LOCAL, PROJECT, SCOPES, USER, Agent, Program
from git_boocode.repo.durable import refuse_blocked
from git_boocode.repo.errors import FatalError, RefusedError
from git_boocode.repo.files import inside_worktree
from git_boocode.repo.repository import Repository

JSON, TOML, PROGRAM = "json", "toml", "program"


class Place(NamedTuple):
    """A file of an agent's that may hold our hooks.

    Attributes:
        agent: whose it is.
        scope: whether it is the user's, the project's, or the user's in this worktree.
        kind: `json`, `toml` or `program`.
        path: the file, absolute.
        record: where it is remembered what it was before us.
        event: of a file that serves one event alone; else empty.
    """

    agent: Agent
    scope: str
    kind: str
    path: str
    record: str
    event: str = ""


class Where(NamedTuple):
    """For whom hooks are installed.

    Attributes:
        repository: the repository; None outside any.
        home: the user's home directory, absolute.
    """

    repository: Repository | None
    home: str

    @classmethod
    def here(cls) -> Where:
        """The current directory and the user that we run for.

        Raises:
            FatalError: there is something wrong with the repository.
        """
        home = os.path.expanduser("~")
        try:
            return cls(Repository.discover(), home)
        except FatalError as error:
            if error.code not in ("not_a_repository", "no_worktree"):
                raise
            return cls(None, home)

    def home_of(self, agent: Agent) -> str:
        """Where an agent keeps what is the user's own."""
        return _home(agent, self.home)

    def is_marked(self, agent: Agent) -> bool:
        """Whether the worktree shows that someone works in it with an agent."""
        top = self.repository.worktree if self.repository else None
        return top is not None and any(os.path.lexists(os.path.join(top, m)) for m in agent.marks)

    def is_here(self, agent: Agent) -> bool:
        """Whether an agent is used in the worktree or on this machine."""
        return self.is_marked(agent) or os.path.isdir(self.home_of(agent))

    def agents(self) -> list[Agent]:
        """The agents that are used here."""
        return [agent for agent in AGENTS.values() if self.is_here(agent)]

    def scopes(self, agent: Agent) -> list[str]:
        """The scopes of an agent that there are here, the narrowest first."""
        known = [scope for scope in SCOPES if scope in agent.config.places]
        return known if self.repository else [scope for scope in known if scope == USER]

    def places(self, agent: Agent, scope: str) -> list[Place]:
        """All files of an agent and a scope that may hold our hooks."""
        config = agent.config
        given = config.places[scope]
        if isinstance(config, Program):
            events = (agent.turn, agent.tool) if "{event}" in given else ("",)
            paths = ((event, given.replace("{event}", event)) for event in events)
            return [self._place(agent, scope, PROGRAM, path, event) for event, path in paths]
        found = [self._place(agent, scope, JSON, given)]
        if scope in config.toml:
            found.append(self._place(agent, scope, TOML, config.toml[scope]))
        return found

    def _place(self, agent: Agent, scope: str, kind: str, relative: str, event: str = "") -> Place:
        if scope == USER:
            path = os.path.join(self.home_of(agent), relative)
            state = os.path.join(_state_home(self.home), "git-boocode", "hooks")
            return Place(agent, scope, kind, path, _record(state, agent, path), event)
        repository = self.repository
        if repository is None:
            raise FatalError(
                "not in the worktree of a git repository",
                code="not_a_repository",
                hints=("--user is for the files in your home directory, which hold everywhere",),
            )
        path = os.path.join(repository.worktree, relative)
        refuse_blocked(repository.common_state_dir)
        state = os.path.join(repository.common_state_dir, "hooks")
        # By the name that a worktree has for git, so that it may be moved.
        below = os.path.relpath(repository.git_dir, repository.common_dir)
        record = _record(state, agent, os.path.join(below, relative))
        return Place(agent, scope, kind, path, record, event)

    def check(self, place: Place) -> None:
        """Refuse a file of a worktree that a symlink leads out of it.

        A clone can bring such links along. What they lead to may be the user's own file, and what
        is meant for one repository would be installed for all.

        Raises:
            RefusedError: it does (`outside_worktree`).
        """
        if place.scope == USER or self.repository is None:
            return
        top = self.repository.worktree
        try:
            inside_worktree(top, os.path.relpath(place.path, top))
        except RefusedError as error:
            hints = ("--user changes the file in your home directory",)
            raise RefusedError(error.message, code=error.code, hints=hints) from None


def default_scope(agent: Agent) -> str:
    """The scope in which an agent's hooks are for this worktree alone."""
    return LOCAL if LOCAL in agent.config.places else PROJECT


def _home(agent: Agent, users: str) -> str:
    if agent.home_variable and os.environ.get(agent.home_variable):
        return os.path.abspath(os.path.expanduser(os.environ[agent.home_variable]))
    first, _, rest = agent.home.partition("/")
    if first == ".config" and os.path.isabs(os.environ.get("XDG_CONFIG_HOME", "")):
        return os.path.join(os.environ["XDG_CONFIG_HOME"], rest)
    return os.path.join(users, agent.home)


def _state_home(users: str) -> str:
    given = os.environ.get("XDG_STATE_HOME", "")
    return given if os.path.isabs(given) else os.path.join(users, ".local", "state")


def _record(state: str, agent: Agent, name: str) -> str:
    short = hashlib.sha256(os.fsencode(name)).hexdigest()[:16]
    return os.path.join(state, f"{agent.name}-{short}.json")
