"""Install our hooks for an agent, take them out again, and say what is installed."""

from __future__ import annotations

import math
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from git_boocode.agents import json_config, program_file, toml_config
from git_boocode.agents.baselines import Record, digest, load, saved
from git_boocode.agents.config_files import JSON, PROGRAM, TOML, Place, Where
from git_boocode.agents.edits import Edit, apply, read_file, sweep
from git_boocode.agents.entries import Baseline, Wanted, leaf
from git_boocode.agents.program import installed_command
from git_boocode.agents.registry import Agent, Program, Settings
from git_boocode.agents.serve import hook_timeout
from git_boocode.repo.config import Config
from git_boocode.repo.errors import BoocodeError, RefusedError
from git_boocode.repo.files import missing_directories, remove_directories, with_executable

_GRACE = 5
"""Seconds that an agent waits longer than a hook may take by itself."""
_EXECUTABLE = 0o755

NOT_INSTALLED, INSTALLED, PARTLY = "not_installed", "installed", "partly"
OTHER_COMMAND, UNUSABLE = "other_command", "unusable"


class Change(NamedTuple):
    """What is done to one file.

    Attributes:
        place: the file.
        edit: how it changes; None if it does not.
        record: how that is remembered; None if it need not be.
        directories: those to remove afterwards if they are empty, outermost first.
    """

    place: Place
    edit: Edit | None = None
    record: Edit | None = None
    directories: tuple[str, ...] = ()


class State(NamedTuple):
    """What is installed for an agent in one scope.

    Attributes:
        agent: its name.
        title: what people call it.
        scope: the scope.
        state: `installed`, `partly` (some events are missing), `other_command`, `not_installed`, or
            `unusable` (a file cannot be read).
        paths: the files that hold our hooks, or would.
        events: those that are installed.
        missing: those that are not, although they should be.
        extra: those that are installed, although they should not be.
        message: what else there is to say; empty for nothing.
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


def wanted_hooks(agent: Agent, config: Config) -> Wanted:
    """What is to be installed for an agent, as things are configured.

    Raises:
        FatalError: a setting makes no sense.
    """
    per_tool = config.boolean("boocode.perTool", default=False)
    events = [agent.turn, agent.tool] if per_tool or agent.tool_begins else [agent.turn]
    if isinstance(agent.config, Program) and not _by_event(agent.config):
        events = [""]
    commands = {event: installed_command(*_words(agent, event)) for event in events}
    return Wanted(commands, math.ceil(hook_timeout(config)) + _GRACE, per_tool)


def plan_install(where: Where, agent: Agent, scope: str, wanted: Wanted) -> list[Change]:
    """What there is to do for the hooks of an agent to be as they are wanted.

    Args:
        where: for whom.
        agent: the agent.
        scope: the scope, one that it has.
        wanted: the hooks.

    Raises:
        RefusedError: a file cannot take them.
        FatalError: a file cannot be read.
    """
    changes = []
    for place in where.places(agent, scope):
        where.check(place)
        if _is_chosen(where, place) and (not place.event or place.event in wanted.commands):
            changes.append(_install(place, wanted))
        else:
            changes.append(_uninstall(place))
    return changes


def plan_uninstall(where: Where, agent: Agent, scope: str) -> list[Change]:
    """What there is to do for no hook of ours to be left in the files of an agent.

    Args:
        where: for whom.
        agent: the agent.
        scope: the scope, one that it has.

    Raises:
        RefusedError: a file cannot be read, and something of ours may be in it.
        FatalError: a file cannot be read.
    """
    changes = []
    for place in where.places(agent, scope):
        with suppress(RefusedError):
            # Through a link that leads out nothing of ours was ever written.
            where.check(place)
            changes.append(place)
    return [_uninstall(place) for place in changes]


def carry_out(changes: Iterable[Change], more: Iterable[Edit] = ()) -> None:
    """Make changes, all of them or none.

    Args:
        changes: what was planned.
        more: further edits, made after them.

    Raises:
        RefusedError: a file is not what it was when this was planned, or is read-only.
        FatalError: one cannot be written.
    """
    planned, further = list(changes), list(more)
    paths = [path for change in planned for path in (change.place.path, change.place.record)]
    for path in (*paths, *(edit.path for edit in further)):
        sweep(path)
    records = [change.record for change in planned if change.record is not None]
    edits = [change.edit for change in planned if change.edit is not None]
    # Remembered before, forgotten after: without that no file could be given back as it was.
    remembered = [record for record in records if record.after is not None]
    forgotten = [record for record in records if record.after is None]
    apply([*remembered, *edits, *further, *forgotten])
    for change in planned:
        remove_directories(reversed(change.directories))


def state_of(where: Where, agent: Agent, scope: str, wanted: Wanted) -> State:
    """What is installed for an agent in one scope.

    Args:
        where: for whom.
        agent: the agent.
        scope: the scope, one that it has.
        wanted: what should be installed, if anything is.
    """
    places = where.places(agent, scope)
    paths = tuple(place.path for place in places)
    state = State(agent.name, agent.title, scope, NOT_INSTALLED, paths[:1], ())
    try:
        found = [(place, _installed(place, wanted)) for place in places]
    except BoocodeError as error:
        message = error.message.removesuffix("; nothing was changed")
        return state._replace(state=UNUSABLE, message=message)
    events = {event: same for _, there in found for event, same in there.items()}
    if not events:
        return state
    expected = _expected_events(agent, wanted)
    missing = tuple(event for event in expected if event not in events)
    same = all(events[event] for event in expected if event in events)
    return state._replace(
        state=PARTLY if missing else INSTALLED if same else OTHER_COMMAND,
        paths=tuple(place.path for place, there in found if there),
        events=tuple(events),
        missing=missing,
        extra=tuple(event for event in events if event not in expected),
    )


def _expected_events(agent: Agent, wanted: Wanted) -> list[str]:
    if "" not in wanted.commands:
        return list(wanted.commands)
    return [agent.turn, agent.tool] if wanted.per_tool else [agent.turn]


def _by_event(config: Program) -> bool:
    return any("{event}" in place for place in config.places.values())


def _words(agent: Agent, event: str) -> Iterator[str]:
    yield from ("hook", agent.name)
    if event:
        yield event


def _is_chosen(where: Where, place: Place) -> bool:
    """Whether this file of those that would do is the one to hold our hooks."""
    if place.kind == PROGRAM:
        return True
    tables = next((p for p in where.places(place.agent, place.scope) if p.kind == TOML), None)
    if tables is None:
        return True
    data = read_file(tables.path)
    in_tables = data is not None and toml_config.lists_hooks(tables.path, data)
    return in_tables is (place.kind == TOML)


def _install(place: Place, wanted: Wanted) -> Change:
    before, record = read_file(place.path), load(place.record)
    after, made = _with_hooks(place, before, record, wanted)
    mode = _mode(place, before)
    if after == before and mode is None:
        return Change(place)
    title = f"{place.agent.title} ({place.scope})"
    edit = Edit(place.path, before, after, mode, title)
    kept = _remembered(place, before, record)
    new = Record(
        kept.before,
        digest(after),
        None if kept.made is None else kept.made | made,
        (*kept.directories, *missing_directories([os.path.realpath(place.path)])),
    )
    return Change(place, edit, saved(place.record, new))


def _with_hooks(
    place: Place, before: bytes | None, record: Record | None, wanted: Wanted
) -> tuple[bytes, frozenset[str]]:
    agent = place.agent
    if place.kind == JSON:
        return json_config.install(agent, place.path, before, wanted)
    if place.kind == TOML:
        return toml_config.install(agent, place.path, before or b"", wanted), frozenset()
    program_file.check_foreign(agent, place.path, place.event, before)
    after = program_file.render(agent, place.event, wanted)
    if after != before:
        _check_own(place, before, record)
    return after, frozenset()


def _remembered(place: Place, before: bytes | None, record: Record | None) -> Record:
    """What the file was before us, as far as that is known."""
    if record is not None and record.is_of(before):
        return record
    if before is None:
        return Record(None, "", frozenset())
    without = _without_hooks(place, before, record.baseline if record else Baseline())
    if without == before:
        # Whatever is remembered is of another file, which has gone.
        return Record(before, "", frozenset())
    if record is None:
        return Record(without, "", None)
    return record._replace(before=without)


def _uninstall(place: Place) -> Change:
    before, record = _read(place), load(place.record)
    forget = saved(place.record, None) if record is not None else None
    if before is None:
        return Change(place, None, forget)
    directories: tuple[str, ...] = ()
    if record is not None and record.is_of(before):
        after = record.before
    else:
        if place.kind == PROGRAM and program_file.is_ours(before):
            _check_own(place, before, record)
        by_name = "boocode" in os.path.basename(place.path)
        baseline = record.baseline if record is not None else Baseline(None, by_name)
        after = _without_hooks(place, before, baseline)
    if after is None and record is not None:
        directories = record.directories
    if after == before:
        return Change(place, None, forget)
    title = f"{place.agent.title} ({place.scope})"
    return Change(place, Edit(place.path, before, after, None, title), forget, directories)


def _read(place: Place) -> bytes | None:
    """What a file holds; None where there is nothing that can hold hooks of ours."""
    try:
        return read_file(place.path)
    except RefusedError:
        # A directory, a file where a directory should be, and so on: `install` refuses them.
        return None


def _without_hooks(place: Place, data: bytes, baseline: Baseline) -> bytes | None:
    if place.kind == JSON:
        return json_config.uninstall(place.agent, place.path, data, baseline)
    if place.kind == TOML:
        return toml_config.uninstall(place.agent, place.path, data)
    return None if program_file.is_ours(data) else data


def _check_own(place: Place, data: bytes | None, record: Record | None) -> None:
    """Refuse to throw away what someone has made of a file of ours."""
    if data is not None and record is not None and not record.is_of(data):
        raise RefusedError(
            f"'{place.path}' has been changed since it was installed; nothing was changed",
            code="changed",
            hints=("keep what you need of it and delete it, then run the command again",),
        )


def _mode(place: Place, before: bytes | None) -> int | None:
    """The mode that a file of ours has to get; None if that it has will do."""
    config = place.agent.config
    if not isinstance(config, Program) or not config.executable:
        return None
    if before is None:
        return _EXECUTABLE
    mode = stat.S_IMODE(os.stat(place.path).st_mode)
    return None if mode & 0o100 else with_executable(mode, executable=True)


def _installed(place: Place, wanted: Wanted) -> dict[str, bool]:
    """The events that are installed in a file, and whether each is as it is wanted."""
    data = _read(place)
    if data is None:
        return {}
    if place.kind == PROGRAM:
        return _installed_program(place, data, wanted)
    reader = json_config if place.kind == JSON else toml_config
    found = reader.installed(place.agent, place.path, data)
    return {event: _same(place.agent, event, ours, wanted) for event, ours in found.items()}


def _same(agent: Agent, event: str, found: list[dict[str, Any]], wanted: Wanted) -> bool:
    assert isinstance(agent.config, Settings)
    if event not in wanted.commands:
        return True
    expected = leaf(wanted.entry(agent.config, event))
    return len(found) == 1 and all(found[0].get(key) == expected[key] for key in expected)


def _installed_program(place: Place, data: bytes, wanted: Wanted) -> dict[str, bool]:
    if not program_file.is_ours(data):
        return {}
    agent = place.agent
    if place.event:
        commands = {place.event: installed_command(*_words(agent, place.event))}
        expected = program_file.render(agent, place.event, wanted._replace(commands=commands))
        return {place.event: data == expected}
    other = wanted._replace(per_tool=not wanted.per_tool)
    as_wanted = data == program_file.render(agent, "", wanted)
    as_other = data == program_file.render(agent, "", other)
    per_tool = other.per_tool if as_other else wanted.per_tool
    events = (agent.turn, agent.tool) if per_tool else (agent.turn,)
    return dict.fromkeys(events, as_wanted or as_other)
