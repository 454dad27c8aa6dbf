"""Serve a call of a hook: a checkpoint in each repository that the agent works in."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from git_boocode.agents.context import Scene
from git_boocode.agents.event import Told, label_of, understand
from git_boocode.agents.payload import Payload, parse_payload, read_input
from git_boocode.agents.timeout import hook_timeout
from git_boocode.repo.errors import FatalError
from git_boocode.repo.repository import Repository
from git_boocode.repo.scratch import inside_restore
from git_boocode.repo.time_limit import TimeLimit

if TYPE_CHECKING:
    from git_boocode.agents.agent import Agent
    from git_boocode.agents.dedupe import Turn, Turns
    from git_boocode.agents.transcript_position import Position

_MOST_REPOSITORIES = 8


class Service:
    """One call of a hook.

    Args:
        scene: who is served.
        limit: the time that there is.
    """

    def __init__(self, scene: Scene, limit: TimeLimit) -> None:
        self._scene = scene
        self._limit = limit
        self._has_limit = False

    def serve_agent(self, agent: Agent, event: str) -> None:
        """Do what an agent's hook is for.

        Args:
            agent: whose.
            event: what it was called for; empty if only the payload tells.

        Raises:
            BoocodeError: the payload does not tell what for.
        """
        _forget_the_callers_repository()
        told = understand(agent, event, self._payload())
        self._scene.agent, self._scene.event = told.agent.name, told.event
        for directory, repository in self._repositories(told.directories):
            with _Noting(self, directory):
                self._scene.enter(repository)
                self._serve(repository, told)
        self._scene.leave()

    def serve_git(self, event: str, arguments: Sequence[str]) -> None:
        """Do what a git hook is for.

        Args:
            event: its name.
            arguments: what git gives to it.

        Raises:
            BoocodeError: it failed.
        """
        if not event:
            raise FatalError("nothing tells which hook of git it is", code="unknown_event")
        repository = Repository.discover()
        self._scene.enter(repository)
        if not inside_restore(repository.state_dir):
            self._apply_limit(repository)
            from git_boocode.agents.git_hooks import run_git_hook

            run_git_hook(event, arguments, repository)

    def note(self, error: BaseException, directory: str = "") -> None:
        """Write down what went wrong.

        Args:
            error: it.
            directory: where.
        """
        self._scene.note(error, seconds=self._limit.seconds, directory=directory)

    def _payload(self) -> Payload:
        """What the agent sent; if nobody can read it, there is still a turn that begins here."""
        try:
            return parse_payload(read_input())
        except FatalError as error:
            self.note(error)
            return Payload({})

    def _repositories(self, directories: Sequence[str]) -> Iterator[tuple[str, Repository]]:
        seen: set[str] = set()
        for directory in directories:
            if len(seen) == _MOST_REPOSITORIES:
                return
            self._scene.leave()
            if not os.path.isdir(directory):
                said = f"the agent works in '{directory}', which is no directory here"
                self.note(FatalError(said, code="no_such_directory"))
                continue
            with _Noting(self, directory):
                repository = Repository.discover(directory)
                if repository.worktree not in seen:
                    seen.add(repository.worktree)
                    yield directory, repository

    def _serve(self, repository: Repository, told: Told) -> None:
        if inside_restore(repository.state_dir):
            return
        self._apply_limit(repository)
        per_tool = not told.is_turn and self._boolean(repository, "boocode.perTool", default=False)
        if not (told.is_turn or told.begins_by_tools or per_tool):
            return
        self._take(repository, told, per_tool=per_tool)
        from git_boocode.checkpoints.store.daily import prune_now_and_then

        prune_now_and_then(repository)

    def _take(self, repository: Repository, told: Told, *, per_tool: bool) -> None:
        from git_boocode.agents.dedupe import one_at_a_time, turn_of

        # Before others are waited for: the transcript may grow meanwhile.
        position = self._position(told) if told.is_turn else None
        offset = position.offset if position else None
        turn = turn_of(told.agent.name, told.session, told.turn, told.prompt, offset)
        with one_at_a_time(repository.state_dir, patience=self._limit.seconds) as turns:
            if _begins(told, turn, turns):
                position = position if told.is_turn else self._position(told)
                self._take_turn(repository, told, position, turn, turns)
            elif per_tool:
                _take_files(repository, told, self._position(told))

    def _take_turn(
        self,
        repository: Repository,
        told: Told,
        position: Position | None,
        turn: Turn,
        turns: Turns,
    ) -> None:
        from git_boocode.checkpoints.capture import Request, capture

        # Who set it to something else than a boolean wants something else than the default.
        wanted = self._boolean(repository, "boocode.promptLabels", default=True, instead=False)
        request = Request(
            label=label_of(told.prompt) if wanted else "",
            session=told.session,
            message=told.turn,
            agent=told.agent.name,
            trigger=told.event,
            only_if_changed=turns.has_told(turn),
            anchor=_anchor(position),
        )
        capture(repository, request)
        turns.note(turn)

    def _position(self, told: Told) -> Position | None:
        if not told.transcript:
            return None
        from git_boocode.agents.transcript_position import transcript_position

        try:
            return transcript_position(told.transcript)
        except FatalError as error:
            self.note(error)
            return None

    def _boolean(
        self, repository: Repository, key: str, *, default: bool, instead: bool | None = None
    ) -> bool:
        """A setting; one that is no boolean counts as the default, or as what is to be instead."""
        try:
            return repository.config.boolean(key, default=default)
        except FatalError as error:
            self.note(error)
            return default if instead is None else instead

    def _apply_limit(self, repository: Repository) -> None:
        """Have the time that is configured in the first repository."""
        if self._has_limit:
            return
        self._has_limit = True
        try:
            seconds = hook_timeout(repository.config)
        except FatalError as error:
            self.note(error)
        else:
            self._limit.change(seconds)


class _Noting:
    """Write down what fails, so that what comes next is done all the same."""

    def __init__(self, service: Service, directory: str) -> None:
        self._service = service
        self._directory = directory

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> bool:
        if not isinstance(error, Exception):
            return False
        self._service.note(error, self._directory)
        return True


def _forget_the_callers_repository() -> None:
    # An agent that a git hook has started is told of a repository that it need not work in; who
    # means it for all commands names the worktree, too.
    if "GIT_WORK_TREE" not in os.environ:
        for name in ("GIT_DIR", "GIT_COMMON_DIR", "GIT_INDEX_FILE"):
            os.environ.pop(name, None)


def _begins(told: Told, turn: Turn, turns: Turns) -> bool:
    """Whether the turn has not been seen yet."""
    if told.is_turn or turn.turn:
        return not turns.knows(turn)
    return told.begins_by_tools and not turns.knows_session(turn)


def _anchor(position: Position | None) -> Mapping[str, Any]:
    return position._asdict() if position else {}


def _take_files(repository: Repository, told: Told, position: Position | None) -> None:
    from git_boocode.agents.dedupe import tools_of, turn_of
    from git_boocode.agents.tool_files import named_files, pathspecs, reads_only

    fields = told.agent.fields
    if reads_only(told.payload.text(fields.tool)):
        return
    # Where there are several directories, tools run in the first one.
    names = named_files(told.payload, fields)
    paths = pathspecs(repository.worktree, told.directories[0], names)
    if not paths:
        return
    from git_boocode.checkpoints.capture import Request, capture

    what = "\0".join((told.payload.text(fields.call), *paths))
    offset = position.offset if position else None
    tool = turn_of(told.agent.name, told.session, told.turn, what, offset)
    tools = tools_of(repository.state_dir)
    request = Request(
        session=told.session,
        message=told.turn,
        agent=told.agent.name,
        trigger=told.event,
        paths=paths,
        only_if_changed=tools.has_told(tool),
        anchor=_anchor(position),
    )
    capture(repository, request)
    tools.note(tool)
