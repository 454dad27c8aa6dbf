"""Install, remove and show the hooks of an agent."""

from __future__ import annotations

import math
import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple, Protocol

from git_boocode.agents import config_program, config_settings
from git_boocode.agents.baselines import UNKNOWN, Baseline, digest, load, saved
from git_boocode.agents.config_files import JSON, PROGRAM, TOML, ConfigFile, Locations, Wanted
from git_boocode.agents.config_program import installed_command
from git_boocode.agents.file_edits import FileEdit, apply, read_file, sweep
from git_boocode.agents.hook_log import last_calls
from git_boocode.agents.own_hooks import is_own_program
from git_boocode.agents.registry import AGENTS, USER, Agent, Program
from git_boocode.agents.serve import hook_timeout
from git_boocode.agents.trust import untrusted_events
from git_boocode.repo.config import Config
from git_boocode.repo.errors import BoocodeError, RefusedError
from git_boocode.repo.files import missing_directories, remove_directories, with_executable

_GRACE = 5
"""Seconds that an agent waits beyond the time limit of the hook."""
_EXECUTABLE = 0o755

NOT_INSTALLED, INSTALLED, PARTLY = "not_installed", "installed", "partly"
OTHER_COMMAND, UNUSABLE = "other_command", "unusable"


class _Format(Protocol):
    """What each format of a configuration file can do; see `config_settings`."""

    def install(
        self, file: ConfigFile, data: bytes | None, wanted: Wanted, /
    ) -> tuple[bytes, frozenset[str]]: ...
    def uninstall(self, file: ConfigFile, data: bytes, baseline: Baseline, /) -> bytes | None: ...
    def installed(self, file: ConfigFile, data: bytes, wanted: Wanted, /) -> dict[str, bool]: ...


_FORMATS: dict[str, _Format] = {
    JSON: config_settings,
    TOML: config_settings,
    PROGRAM: config_program,
}


class PlannedChange(NamedTuple):
    """The change of one file and of its record; None for no change.

    `directories` are removed afterwards if they are empty, outermost first.
    """

    file: ConfigFile
    edit: FileEdit | None = None
    record: FileEdit | None = None
    directories: tuple[str, ...] = ()


class State(NamedTuple):
    """The installation for an agent in one scope.

    `state` is `installed`, `partly` (some events are missing), `other_command`, `not_installed`, or
    `unusable` (a file cannot be read; see `message`). `paths` are the files for our hooks; `extra`
    are installed events that are not configured. `trusted` says whether the agent runs the hooks,
    None if that is not known; `untrusted` are the events whose hooks it does not run yet.
    `last_call` is when it last called a hook in this worktree, in the format of the metadata, or
    None.
    """

    agent: str
    title: str
    scope: str
    state: str
    paths: tuple[str, ...]
    events: tuple[str, ...]
    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    message: str = ""
    trusted: bool | None = None
    untrusted: tuple[str, ...] = ()
    last_call: str | None = None


def wanted_hooks(agent: Agent, config: Config) -> Wanted:
    """The hooks to install for an agent; FatalError (`bad_config`) if a setting is invalid."""
    per_tool = config.boolean("boocode.perTool", default=False)
    events = agent.events(per_tool=per_tool or agent.tool_begins)
    commands = {event: installed_command("hook", agent.name, event) for event in events}
    if isinstance(agent.config, Program) and "{event}" not in agent.config.places[USER]:
        commands = {"": installed_command("hook", agent.name)}
    return Wanted(commands, math.ceil(hook_timeout(config)) + _GRACE, per_tool)


def plan_install(
    locations: Locations, agent: Agent, scope: str, wanted: Wanted
) -> list[PlannedChange]:
    """The changes that install the hooks of an agent; RefusedError if that is impossible."""
    changes = []
    files = locations.files(agent, scope)
    for file in files:
        locations.check(file)
        chosen = _is_chosen(file, files) and (not file.event or file.event in wanted.commands)
        changes.append(_install(file, wanted) if chosen else _uninstall(file))
    return changes


def plan_uninstall(locations: Locations, agent: Agent, scope: str) -> list[PlannedChange]:
    """The changes that remove all our hooks from the files of an agent.

    Raises RefusedError if a file that may contain our hooks cannot be changed.
    """
    files = []
    for file in locations.files(agent, scope):
        with suppress(RefusedError):
            # We never write through a link that points outside the worktree.
            locations.check(file)
            files.append(file)
    return [_uninstall(file) for file in files]


def makes_file(change: PlannedChange) -> bool:
    """Whether a change creates its file, or an earlier installation did."""
    if change.edit is not None:
        return change.edit.before is None
    baseline = load(change.file.record)
    return baseline is not None and baseline.created and os.path.isfile(change.file.path)


def carry_out(changes: Iterable[PlannedChange], more: Iterable[FileEdit] = ()) -> None:
    """Apply changes and further edits, all or none; raises the errors of `apply`."""
    planned, further = list(changes), list(more)
    paths = [path for change in planned for path in (change.file.path, change.file.record)]
    for path in (*paths, *(edit.path for edit in further)):
        sweep(path)
    records = [change.record for change in planned if change.record is not None]
    edits = [change.edit for change in planned if change.edit is not None]
    # Save the original before, and delete it after, so that it can always be restored.
    remembered = [record for record in records if record.after is not None]
    apply([*remembered, *edits, *further, *(each for each in records if each not in remembered)])
    for change in planned:
        remove_directories(reversed(change.directories))


def state_of(locations: Locations, agent: Agent, scope: str, wanted: Wanted) -> State:
    """Compare the installed hooks of an agent in one scope with the expected ones."""
    files = locations.files(agent, scope)
    paths = tuple(file.path for file in files)
    state = State(agent.name, agent.title, scope, NOT_INSTALLED, paths[:1], ())
    try:
        read = ((file, _read(file)) for file in files)
        found = [
            (file, _FORMATS[file.kind].installed(file, data, wanted))
            for file, data in read
            if data is not None
        ]
    except BoocodeError as error:
        message = error.message.removesuffix("; nothing was changed")
        return state._replace(state=UNUSABLE, message=message)
    events = {event: same for _, there in found for event, same in there.items()}
    if not events:
        return state
    expected = list(wanted.commands)
    if "" in expected:
        expected = agent.events(per_tool=wanted.per_tool)
    missing = tuple(event for event in expected if event not in events)
    same = all(events[event] for event in expected if event in events)
    reviewed = [untrusted_events(locations, file) for file, there in found if there]
    untrusted = tuple(event for each in reviewed for event in each or ())
    return state._replace(
        state=PARTLY if missing else INSTALLED if same else OTHER_COMMAND,
        paths=tuple(file.path for file, there in found if there),
        events=tuple(events),
        missing=missing,
        extra=tuple(event for event in events if event not in expected),
        trusted=None if None in reviewed else not untrusted,
        untrusted=untrusted,
    )


def states_here(locations: Locations, config: Config, *, every: bool = False) -> list[State]:
    """The state of each scope of the agents that are used here, or have our hooks, or of all."""
    repository = locations.repository
    calls = last_calls(repository) if repository else {}
    states: list[State] = []
    for agent in AGENTS.values():
        wanted = wanted_hooks(agent, config)
        found = [state_of(locations, agent, scope, wanted) for scope in locations.scopes(agent)]
        if (
            every
            or any(state.state != NOT_INSTALLED for state in found)
            or locations.is_used(agent)
        ):
            states += (state._replace(last_call=calls.get(agent.name)) for state in found)
    return states


def _is_chosen(file: ConfigFile, files: list[ConfigFile]) -> bool:
    """Whether this file, among the possible ones, should contain our hooks."""
    tables = next((each for each in files if each.kind == TOML), None)
    if tables is None:
        return True
    data = read_file(tables.path)
    in_tables = data is not None and config_settings.lists_hooks(tables, data)
    return in_tables is (file.kind == TOML)


def _install(file: ConfigFile, wanted: Wanted) -> PlannedChange:
    before, baseline = read_file(file.path), load(file.record)
    after, made = _FORMATS[file.kind].install(file, before, wanted)
    if file.kind == PROGRAM and after != before:
        _refuse_changed(file, before, baseline)
    mode = _mode(file, before)
    if after == before and mode is None:
        return PlannedChange(file)
    edit = FileEdit(file.path, before, after, mode, file.title)
    kept = _before_us(file, before, baseline)
    new = kept._replace(
        written=digest(after),
        made=None if kept.made is None else kept.made | made,
        directories=(*kept.directories, *missing_directories([os.path.realpath(file.path)])),
    )
    return PlannedChange(file, edit, saved(file.record, new))


def _before_us(file: ConfigFile, data: bytes | None, baseline: Baseline | None) -> Baseline:
    """The original content of the file, if known."""
    if baseline is not None and baseline.is_of(data):
        return baseline
    if data is None:
        return Baseline(None, "", frozenset())
    without = _FORMATS[file.kind].uninstall(file, data, baseline or UNKNOWN)
    if without == data:
        # The saved content is of another file, which was deleted.
        return Baseline(data, "", frozenset())
    return (baseline or UNKNOWN)._replace(before=without)


def _uninstall(file: ConfigFile) -> PlannedChange:
    before, baseline = _read(file), load(file.record)
    forget = saved(file.record, None) if baseline is not None else None
    if before is None:
        return PlannedChange(file, None, forget)
    if baseline is not None and baseline.is_of(before):
        after = baseline.before
    else:
        if file.kind == PROGRAM and is_own_program(before):
            _refuse_changed(file, before, baseline)
        by_name = UNKNOWN._replace(before=None if "boocode" in os.path.basename(file.path) else b"")
        after = _FORMATS[file.kind].uninstall(file, before, baseline or by_name)
    if after == before:
        return PlannedChange(file, None, forget)
    edit = FileEdit(file.path, before, after, None, file.title)
    made = baseline.directories if after is None and baseline is not None else ()
    return PlannedChange(file, edit, forget, made)


def _read(file: ConfigFile) -> bytes | None:
    """The content of a file; None if it cannot contain our hooks."""
    try:
        return read_file(file.path)
    except RefusedError:
        # A directory, a file where a directory should be, and so on: `install` refuses them.
        return None


def _refuse_changed(file: ConfigFile, data: bytes | None, baseline: Baseline | None) -> None:
    """Refuse to discard the user's changes of our file."""
    if data is not None and baseline is not None and not baseline.is_of(data):
        raise RefusedError(
            f"'{file.path}' has been changed since it was installed; nothing was changed",
            code="changed",
            hints=("keep what you need of it, delete it, and try again",),
        )


def _mode(file: ConfigFile, before: bytes | None) -> int | None:
    """The required mode of our program; None if its mode is sufficient."""
    config = file.agent.config
    if not isinstance(config, Program) or not config.executable:
        return None
    if before is None:
        return _EXECUTABLE
    mode = stat.S_IMODE(os.stat(file.path).st_mode)
    return None if mode & 0o100 else with_executable(mode, executable=True)
