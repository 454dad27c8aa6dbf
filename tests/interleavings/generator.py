"""Makes days up: any number gives the same one again."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import NamedTuple

from tests.interleavings.agents import (
    AFTER,
    AGENTS,
    BEFORE,
    BEGIN,
    EDIT,
    END,
    SHELL,
    WRITE,
    SimulatedAgent,
    Turn,
    session_id,
)
from tests.interleavings.scripts import (
    ADD,
    APPEND,
    CHMOD,
    COMMIT,
    CREATE,
    DELETE,
    DO,
    GIT_MOVE,
    HAND,
    INDENT,
    INSERT,
    KILL,
    MOVE,
    REMOVE,
    REPLACE,
    Event,
    File,
    Files,
    Op,
    Play,
    Played,
    Script,
    is_free,
    turns_of,
)
from tests.interleavings.truth import Selection

_SESSIONS = (2, 2, 2, 2, 3, 3, 4, 5, 8)
_CHANGES = (4, 5, 6, 7, 8, 10)
_NAMES = ("a.txt", "src/b.py", "src/c.py", "doc/d.md", "e")
_NEW_NAMES = ("new.txt", "src/new.py", "more/of/it", "src/b.py", "a.txt", "f")
_LINE_WEIGHTS = {REPLACE: 8, INSERT: 8, DELETE: 3, APPEND: 2, INDENT: 2}
_FILE_WEIGHTS = {CREATE: 6, REMOVE: 2, MOVE: 2, GIT_MOVE: 2, CHMOD: 2}
_WORDS = (
    *("amber", "basil", "cedar", "delta", "ember", "flint", "grove", "hazel", "inlet", "jetty"),
    *("knoll", "larch", "maple", "north", "ocean", "petal", "quartz", "ridge", "slate", "thorn"),
    *("umber", "vale", "willow", "xenon", "yarrow", "zephyr"),
)
ONE_BY_ONE, AT_ONCE, CALLS_AT_ONCE = "one by one", "at once", "calls at once"
_STYLES = (ONE_BY_ONE, AT_ONCE, AT_ONCE, CALLS_AT_ONCE)


class Day(NamedTuple):
    """The first files, the agents of the sessions in turn, and what happens."""

    files: Files
    agents: tuple[SimulatedAgent, ...]
    script: Script

    def agent(self, session: int) -> SimulatedAgent:
        """The agent of a session."""
        return self.agents[session % len(self.agents)]


def make_day(number: int) -> Day:
    """A day by its number."""
    return _Maker(random.Random(number)).make()


class Choice(NamedTuple):
    """What to take back, and how a user says so: by an `option`, or else by the ids of turns."""

    selection: Selection
    option: tuple[str, ...] = ()


def choose(number: int, day: Day, events: list[Played]) -> Choice | None:
    """What to take back of a day; None if no turn has changed anything."""
    dice = random.Random(-number)
    turns = turns_of(events)
    if not turns:
        return None
    one = dice.choice(turns)
    every = {each.turn for each in events if each.turn}
    how = dice.choices(("one", "several", "session", "agent", "paths"), (10, 2, 2, 1, 2))[0]
    if how == "several":
        return Choice(
            Selection(frozenset(dice.sample(turns, min(len(turns), dice.choice((2, 3))))))
        )
    if how == "session":
        chosen = frozenset(turn for turn in every if turn.session == one.session)
        return Choice(Selection(chosen), ("--session", session_id(one.session)))
    if how == "agent":
        agent = day.agent(one.session)
        chosen = frozenset(turn for turn in every if day.agent(turn.session) is agent)
        return Choice(Selection(chosen), ("--agent", agent.name))
    if how == "paths":
        return Choice(Selection(frozenset((one,)), _some_paths(dice, events, one)))
    return Choice(Selection(frozenset((one,))))


def _some_paths(dice: random.Random, events: list[Played], turn: Turn) -> frozenset[str]:
    """Some of the paths that a turn changed; both of a file that it moved."""
    ops = [each.event.op for each in events if each.owner == turn and each.event.op]
    paths = {dice.choice(ops).path}
    while more := {p for op in ops if not paths.isdisjoint(op.paths) for p in op.paths} - paths:
        paths |= more
    return frozenset(paths)


class _Maker:
    def __init__(self, dice: random.Random) -> None:
        self._dice = dice
        self._is_alike = dice.random() < 0.5
        self._texts = 0
        self._style = dice.choice(_STYLES)
        self._count = dice.choice(_SESSIONS)

    def make(self) -> Day:
        dice = self._dice
        names = dice.sample(_NAMES, dice.choice((1, 2, 3)))
        files = {name: File(tuple(self._text(name) for _ in range(dice.randint(8, 16))))
                 for name in names}  # fmt: skip
        agents = tuple(dice.sample(AGENTS, min(self._count, len(AGENTS))))
        play, script = Play(files), []
        changes = dice.choice(_CHANGES)
        while changes > 0:
            for event in self._events(play):
                if play.take(event) is not None:
                    script.append(event)
                    changes -= event.op is not None
        for number, session in play.sessions.items():
            if session.is_open and not session.is_killed:
                # Of a call that began alone, nothing is known before its end.
                script += [Event(AFTER, number)] if session.call else []
                script += [Event(END, number)] if dice.random() < 0.8 else []
        return Day(files, agents, script)

    def _events(self, play: Play) -> Iterator[Event]:
        """What may happen next."""
        dice = self._dice
        if dice.random() < 0.12:
            yield self._by_hand(play)
            return
        opened = [n for n, each in play.sessions.items() if each.is_open and not each.is_killed]
        running = [number for number in opened if play.sessions[number].call]
        if running and (self._style != CALLS_AT_ONCE or dice.random() < 0.6):
            number = dice.choice(running)
            yield from self._in_call(play, number)
            return
        closed = [number for number in range(self._count) if number not in opened]
        most = 1 if self._style == ONE_BY_ONE else self._count
        if closed and len(opened) < most and (not opened or dice.random() < 0.4):
            yield Event(BEGIN, dice.choice(closed))
            return
        if idle := [number for number in opened if number not in running]:
            number = dice.choice(idle)
            luck = dice.random()
            if luck < 0.2:
                yield Event(END, number)
            elif luck < 0.22:
                yield Event(KILL, number)
            else:
                yield self._call(play, number)

    def _call(self, play: Play, number: int) -> Event:
        dice = self._dice
        tool = dice.choice((EDIT, EDIT, WRITE, SHELL, SHELL))
        if tool == SHELL or (tool == EDIT and not play.files):
            return Event(BEFORE, number, SHELL)
        path = dice.choice(_NEW_NAMES)
        if tool == EDIT or (play.files and dice.random() < 0.3):
            path = dice.choice([*play.files])
        return Event(BEFORE, number, tool, path)

    def _in_call(self, play: Play, number: int) -> Iterator[Event]:
        """One or more changes, and usually the end of the call."""
        dice = self._dice
        call = play.sessions[number].call
        assert call is not None
        for _ in range(dice.choice((1, 1, 2, 3))):
            yield Event(DO, number, op=self._op(play.files, call.path))
            if self._style == CALLS_AT_ONCE and dice.random() < 0.5:
                return
        if dice.random() < 0.03:
            yield Event(KILL, number)
        else:
            yield Event(AFTER, number)

    def _by_hand(self, play: Play) -> Event:
        luck = self._dice.random()
        if luck < 0.15:
            return Event(COMMIT)
        if luck < 0.3 and play.files:
            return Event(ADD, path=self._dice.choice([*play.files]))
        return Event(HAND, op=self._op(play.files, ""))

    def _op(self, files: Files, path: str) -> Op:
        """A change of a path, or of any."""
        dice = self._dice
        if path and path not in files:
            return self._new_file(path)
        if not files or (not path and dice.random() < 0.3):
            return self._file_op(files)
        path = path or dice.choice([*files])
        kind = self._pick(_LINE_WEIGHTS)
        lines = files[path].lines
        line = dice.choice(["", *lines] if kind == INSERT else [*lines, ""])
        return Op(kind, path, "" if kind == APPEND else line, self._text(path))

    def _file_op(self, files: Files) -> Op:
        kind = self._pick(_FILE_WEIGHTS)
        free = [name for name in _NEW_NAMES if is_free(files, name)]
        if not files or (kind == CREATE and free):
            return self._new_file(self._dice.choice(free))
        path = self._dice.choice([*files])
        if kind in (MOVE, GIT_MOVE) and free:
            return Op(kind, path, to=self._dice.choice(free))
        return Op(REMOVE if kind == REMOVE else CHMOD, path)

    def _new_file(self, path: str) -> Op:
        lines = (self._text(path) for _ in range(self._dice.randint(1, 5)))
        return Op(CREATE, path, text="\n".join(lines))

    def _pick(self, weights: dict[str, int]) -> str:
        return self._dice.choices([*weights], [*weights.values()])[0]

    def _text(self, path: str) -> str:
        """A line that no file has; as like others as lines of code, or not."""
        self._texts += 1
        if self._is_alike:
            return f"line {self._texts} of {path}"
        return " ".join((*self._dice.sample(_WORDS, 3), str(self._texts)))
