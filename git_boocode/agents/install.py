"""Install, remove and show the hooks of an agent, and our server in its list of servers."""

from __future__ import annotations

import math
import os
import stat
from collections.abc import Collection, Iterable
from collections.abc import Set as AbstractSet
from contextlib import suppress
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

from git_boocode.agents import config_package, config_program, config_server, config_settings
from git_boocode.agents.agent import (
    HOOKS,
    PARTS,
    SERVER,
    USER,
    Agent,
    Package,
    Program,
    Settings,
    transcript_directories,
)
from git_boocode.agents.config_files import (
    PROGRAM,
    UNKNOWN,
    Baseline,
    ConfigFile,
    Locations,
    Wanted,
    digest,
    load,
    refusal,
    saved,
    sort_paths,
)
from git_boocode.agents.config_program import installed_command, installed_program
from git_boocode.agents.config_server import WantedServer
from git_boocode.agents.file_edits import FileEdit, apply, read_file, sweep
from git_boocode.agents.hook_call import hook_timeout, per_tool
from git_boocode.agents.hook_state import last_calls
from git_boocode.agents.own_hooks import is_own_program
from git_boocode.agents.registry import AGENTS, ALL_AGENTS, SERVER_AGENTS
from git_boocode.repo.config import Config
from git_boocode.repo.errors import BoocodeError, RefusedError
from git_boocode.repo.files import missing_directories, remove_directories, with_executable
from git_boocode.repo.ids import timestamp
from git_boocode.repo.reported_turn import NEVER

_GRACE = 5
"""Seconds that an agent waits beyond the time limit of the hook."""
_EXECUTABLE = 0o755
# Of an agent, and of each in bytes.
_MOST_TRANSCRIPTS, _BEGINNING = 20, 1 << 16

NOT_INSTALLED, INSTALLED, PARTLY = "not_installed", "installed", "partly"
OTHER_COMMAND, UNUSABLE = "other_command", "unusable"
OTHER_SERVER = "other_server"
PRESENT = (INSTALLED, PARTLY, OTHER_COMMAND)
"""The states in which our hooks or server are there, and are renewed there."""


# Each format has its own: `Wanted`, or `WantedServer`.
_AnyWanted: TypeAlias = Any


class _Format(Protocol):
    """What each format of a configuration file can do; see `config_settings`."""

    def install(
        self, file: ConfigFile, data: bytes | None, wanted: _AnyWanted, /
    ) -> tuple[bytes, frozenset[str]]: ...
    def uninstall(self, file: ConfigFile, data: bytes, baseline: Baseline, /) -> bytes | None: ...
    def installed(
        self, file: ConfigFile, data: bytes, wanted: _AnyWanted, /
    ) -> dict[str, bool]: ...


_NO_HOOKS, _NO_SERVER = Wanted({}, 0, per_tool=False), WantedServer(())
"""Whatever is installed is not as these want it."""


def _format(file: ConfigFile, part: str) -> _Format:
    if part == SERVER:
        return config_server
    if file.kind == PROGRAM:
        return config_program
    return config_package if isinstance(file.agent.config, Package) else config_settings


class PlannedChange(NamedTuple):
    """The change of one file and of its record; None for no change.

    `directories` are removed afterwards if they are empty, outermost first. `stays` says that the
    file still holds another of our parts.
    """

    file: ConfigFile
    edit: FileEdit | None = None
    record: FileEdit | None = None
    directories: tuple[str, ...] = ()
    stays: bool = False


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


class ServerState(NamedTuple):
    """Our server in one scope of an agent.

    `state` is `installed`, `other_command` (it starts our server, but not as we would today),
    `other_server` (the entry with our server's name starts another program), `not_installed`, or
    `unusable` (the file cannot be read; see `message`). `path` is the file, and `command` the words
    of the command in it.
    """

    agent: str
    title: str
    scope: str
    state: str
    path: str
    command: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    message: str = ""


_State = TypeVar("_State", State, ServerState)


def wanted_server(*options: str, tracked: bool = False) -> WantedServer:
    """Our server as an agent has to start it.

    A `tracked` file, which other machines get, has no path of this one.
    """
    program = ("git", "boocode") if tracked else installed_program()
    return WantedServer((*program, "serve"), options)


def wanted_hooks(agent: Agent, config: Config) -> Wanted:
    """The hooks to install for an agent; FatalError (`bad_config`) if a setting is invalid."""
    with_tools = per_tool(config) != NEVER
    events = agent.events(per_tool=with_tools or agent.tool_begins)
    commands = {event: installed_command("hook", agent.name, event) for event in events}
    places = (place for each in agent.config.places.values() for place in each)
    is_one = not isinstance(agent.config, Settings) and not any("{event}" in p for p in places)
    if is_one:
        commands = {"": installed_command("hook", agent.name)}
    return Wanted(commands, math.ceil(hook_timeout(config)) + _GRACE, with_tools)


def plan_install(
    locations: Locations, agent: Agent, scope: str, wanted: Wanted | WantedServer
) -> list[PlannedChange]:
    """The changes that install what is wanted for an agent; RefusedError if that is impossible."""
    part = SERVER if isinstance(wanted, WantedServer) else HOOKS
    files = locations.files(agent, scope, part)
    for file in files:
        locations.check(file)
    if isinstance(wanted, WantedServer):
        lists = [file for file in files if _has(file, SERVER, _read(file))]
        exist = [file for file in files if os.path.lexists(file.path)]
        return [_install((lists or exist or files)[0], SERVER, wanted)]
    changes = []
    for file in files:
        chosen = _is_chosen(file, files) and (not file.event or file.event in wanted.commands)
        changes.append(_install(file, HOOKS, wanted) if chosen else _uninstall(file, {HOOKS}))
    return changes


def plan_uninstall(
    locations: Locations, files: Iterable[ConfigFile], parts: Collection[str] = PARTS
) -> list[PlannedChange]:
    """The changes that remove our hooks and server, or only some parts, from files.

    Raises RefusedError if a file that may contain them cannot be changed. One to which a link leads
    out of the worktree is left alone.
    """
    usable = []
    for file in files:
        with suppress(RefusedError):
            locations.check(file)
            usable.append(file)
    return [_uninstall(file, file.parts.intersection(parts)) for file in usable]


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
    emptied = set[str]()
    for change in planned:
        emptied.update(change.directories)
        if change.file.scope == USER and change.record is not None and change.record.after is None:
            directory = os.path.dirname(change.record.path)
            emptied |= {directory, os.path.dirname(directory)}
    # Inner ones first: one directory can have had several of the files.
    remove_directories(sorted(emptied, key=len, reverse=True))


def state_of(locations: Locations, agent: Agent, scope: str, wanted: Wanted) -> State:
    """Compare the installed hooks of an agent in one scope with the expected ones."""
    files = locations.files(agent, scope, HOOKS)
    paths = tuple(file.path for file in files)
    state = State(agent.name, agent.title, scope, NOT_INSTALLED, paths[:1], ())
    try:
        read = ((file, _read(file)) for file in files)
        found = [
            (file, _format(file, HOOKS).installed(file, data, wanted))
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
    reviewed = [config_settings.untrusted_events(locations, file) for file, there in found if there]
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
    calls = last_calls(locations.repository) if locations.repository else {}
    states: list[State] = []
    for agent in AGENTS.values():
        wanted, call = wanted_hooks(agent, config), calls.get(agent.name)
        found = [state_of(locations, agent, s, wanted) for s in locations.scopes(agent, HOOKS)]
        if not any(state.events and not state.untrusted for state in found):
            found = [_believed(state, call) for state in found]
        states += (state._replace(last_call=call) for state in found)
    return _relevant(locations, states, every=every)


def _believed(state: State, last_call: str | None) -> State:
    """The state as a call shows it: an agent that has called a hook trusts it, whatever it records.

    The file must not have changed since, because a changed hook has to be trusted again. What the
    agent records is believed if it trusts some of the hooks.
    """
    turns = [event for event in AGENTS[state.agent].turn_events if event in state.events]
    if last_call is None or not state.untrusted or not set(turns) <= set(state.untrusted):
        return state
    changed = max(timestamp(os.stat(path).st_mtime) for path in state.paths)
    return state._replace(trusted=True, untrusted=()) if changed < last_call else state


def has_worked_since_installed(state: State, worktree: str) -> bool:
    """Whether the agent has written a transcript of a session in a worktree since its hooks were.

    Looks for the path of the worktree at the beginning of the newest transcripts.
    """
    agent = AGENTS[state.agent]
    if "" in agent.transcripts:
        # It may keep them anywhere in its home.
        return False
    since = max(os.stat(path).st_mtime for path in state.paths)
    found: list[tuple[float, str]] = []
    for top in transcript_directories(agent):
        for directory, _, names in os.walk(top):
            paths = (os.path.join(directory, name) for name in names)
            found += ((os.lstat(path).st_mtime, path) for path in paths if os.path.isfile(path))
    newest = [
        path for when, path in sorted(found, reverse=True)[:_MOST_TRANSCRIPTS] if when > since
    ]
    return any(os.fsencode(worktree) in _beginning(path) for path in newest)


def _beginning(path: str) -> bytes:
    with suppress(OSError), open(path, "rb") as file:
        return file.read(_BEGINNING)
    return b""


def server_state(
    locations: Locations, agent: Agent, scope: str, tracked: Collection[str]
) -> ServerState:
    """Compare our server in an agent's list with the expected one; `tracked` holds paths."""
    files = locations.files(agent, scope, SERVER)
    state = ServerState(agent.name, agent.title, scope, NOT_INSTALLED, files[0].path)
    for file in files:
        try:
            data = _read(file)
            found = None if data is None else config_server.find(file, data)
        except BoocodeError as error:
            message = error.message.removesuffix("; nothing was changed")
            return state._replace(state=UNUSABLE, path=file.path, message=message)
        if found is None:
            continue
        state = state._replace(path=file.path, command=tuple(found.words))
        if found.options is None:
            return state._replace(state=OTHER_SERVER)
        expected = wanted_server(*found.options, tracked=file.path in tracked).words
        word = INSTALLED if found.words == expected else OTHER_COMMAND
        return state._replace(state=word, options=tuple(found.options))
    return state


def servers_here(locations: Locations, *, every: bool = False) -> list[ServerState]:
    """Our server in each scope of the agents that are used here, or list it, or of all."""
    tracked = tracked_server_files(locations)
    states = [
        server_state(locations, agent, scope, tracked)
        for agent in SERVER_AGENTS.values()
        for scope in locations.scopes(agent, SERVER)
    ]
    return _relevant(locations, states, every=every)


def _relevant(locations: Locations, states: list[_State], *, every: bool) -> list[_State]:
    """The states of agents that are used here, or have our hooks or server, or of all."""
    there = {state.agent for state in states if state.state != NOT_INSTALLED}
    for agent in ALL_AGENTS.values():
        if every or locations.is_used(agent):
            there.add(agent.name)
    return [state for state in states if state.agent in there]


def tracked_server_files(locations: Locations) -> set[str]:
    """The paths of the files in the worktree that may list our server and that git tracks."""
    if locations.repository is None:
        return set()
    files = {path for a in SERVER_AGENTS.values() for _, path in a.worktree_paths(SERVER)}
    top = locations.repository.worktree
    return {os.path.join(top, path) for path in sort_paths(locations.repository, files).tracked}


def _is_chosen(file: ConfigFile, files: list[ConfigFile]) -> bool:
    """Whether this file, among the possible ones, should contain our hooks."""
    if isinstance(file.agent.config, Package):
        lists = [each for each in files if each.kind != PROGRAM]
        ours = [each for each in lists if _has(each, HOOKS, _read(each))]
        exist = [each for each in lists if os.path.lexists(each.path)]
        return file == (ours or exist or lists)[0]
    if file.kind == PROGRAM or len(files) == 1:
        return True
    first, second = files
    data = None
    if not (file.settings.hides and os.path.lexists(first.path)):
        data = read_file(second.path)
    in_second = data is not None and config_settings.lists_hooks(second, data)
    return in_second is (file == second)


def _install(file: ConfigFile, part: str, wanted: Wanted | WantedServer) -> PlannedChange:
    before, baseline = read_file(file.path), load(file.record)
    after, made = _format(file, part).install(file, before, wanted)
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
    without = _without(file, file.parts, data, baseline or UNKNOWN)
    if without == data:
        # The saved content is of another file, which was deleted.
        return Baseline(data, "", frozenset())
    return (baseline or UNKNOWN)._replace(before=without)


def _uninstall(file: ConfigFile, parts: AbstractSet[str]) -> PlannedChange:
    before, baseline = _read(file), load(file.record)
    forget = saved(file.record, None) if baseline is not None else None
    if before is None:
        return PlannedChange(file, None, forget)
    stays = any(_has(file, part, before) for part in file.parts - parts)
    if baseline is not None and baseline.is_of(before) and not stays:
        after = baseline.before
    else:
        if file.kind == PROGRAM and is_own_program(before):
            _refuse_changed(file, before, baseline)
        by_name = UNKNOWN._replace(before=None if "boocode" in os.path.basename(file.path) else b"")
        after = _without(file, parts, before, baseline or by_name)
    if stays:
        # What the file was before both is needed for the part that stays.
        forget = None
        if baseline is not None and baseline.is_of(before) and after is not None:
            forget = saved(file.record, baseline._replace(written=digest(after)))
    if after == before:
        return PlannedChange(file, None, forget, stays=stays)
    edit = FileEdit(file.path, before, after, None, file.title)
    made = baseline.directories if after is None and baseline is not None else ()
    return PlannedChange(file, edit, forget, made, stays)


def _without(
    file: ConfigFile, parts: Collection[str], data: bytes, baseline: Baseline
) -> bytes | None:
    """The content of a file without some of our parts; None if it is to be removed."""
    left: bytes | None = data
    for part in sorted(parts):
        left = left if left is None else _format(file, part).uninstall(file, left, baseline)
    return left


def _has(file: ConfigFile, part: str, data: bytes | None) -> bool:
    """Whether a file holds one of our parts; RefusedError if it cannot be read."""
    if data is None or b"boocode" not in data:
        return False
    wanted = _NO_SERVER if part == SERVER else _NO_HOOKS
    return bool(_format(file, part).installed(file, data, wanted))


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
        message = f"'{file.path}' has been changed since it was installed"
        raise refusal(message, "keep what you need of it, delete it, and try again", code="changed")


def _mode(file: ConfigFile, before: bytes | None) -> int | None:
    """The required mode of our program; None if its mode is sufficient."""
    config = file.agent.config
    if file.kind != PROGRAM or not (isinstance(config, Program) and config.executable):
        return None
    if before is None:
        return _EXECUTABLE
    mode = stat.S_IMODE(os.stat(file.path).st_mode)
    return None if mode & 0o100 else with_executable(mode, executable=True)
