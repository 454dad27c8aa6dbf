"""What happens in a worktree: a list of events, of which everyone's changes are known.

A script is plain data. Any part of one is a script as well, because `played` leaves out what makes
no sense; so a failing one is reduced by leaving out events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from tests.interleavings.agents import AFTER, BEFORE, BEGIN, NAMING, SHELL, Call, Turn

KILL, DO, HAND, ADD, COMMIT = "kill", "do", "hand", "add", "commit"
REPLACE, INSERT, DELETE, APPEND, INDENT = "replace", "insert", "delete", "append", "indent"
CREATE, REMOVE, MOVE, GIT_MOVE, CHMOD = "create", "remove", "move", "git mv", "chmod"
LINE_OPS = (REPLACE, INSERT, DELETE, APPEND, INDENT)
FILE_OPS = (CREATE, REMOVE, MOVE, GIT_MOVE, CHMOD)


class Op(NamedTuple):
    """A change: of `line`, which a file has once, or of a whole file.

    INSERT puts `text` behind `line`, or at the top if that is empty. CREATE writes the lines of
    `text`, and MOVE moves a file `to` another place.
    """

    kind: str
    path: str
    line: str = ""
    text: str = ""
    to: str = ""

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths that it changes."""
        return (self.path, self.to) if self.to else (self.path,)


class Event(NamedTuple):
    """Something that happens, in a `session` unless the user does it.

    BEGIN, BEFORE, AFTER and END are reported by the agent's hooks; BEFORE names a `tool` and
    perhaps a `path`. KILL ends the agent without a word. DO is an `op` of the running tool call,
    HAND one of the user.
    """

    kind: str
    session: int = -1
    tool: str = ""
    path: str = ""
    op: Op | None = None


class File(NamedTuple):
    """A text file, whose lines differ from each other."""

    lines: tuple[str, ...]
    is_executable: bool = False

    @property
    def data(self) -> bytes:
        """Its bytes."""
        return "".join(f"{line}\n" for line in self.lines).encode()


Files = Mapping[str, File]
Script = Sequence[Event]


def apply(files: Files, op: Op) -> Files | None:
    """The files after a change; None if it does not find what it changes."""
    file = files.get(op.path)
    if op.kind == CREATE:
        if not is_free(files, op.path):
            return None
        return {**files, op.path: File(tuple(op.text.split("\n")))}
    if file is None:
        return None
    if op.kind in (REMOVE, MOVE, GIT_MOVE):
        rest = {path: each for path, each in files.items() if path != op.path}
        if op.kind == REMOVE:
            return rest
        return {**rest, op.to: file} if is_free(files, op.to) else None
    if op.kind == CHMOD:
        return {**files, op.path: file._replace(is_executable=not file.is_executable)}
    lines = _changed(file.lines, op)
    return None if lines is None else {**files, op.path: file._replace(lines=lines)}


def is_free(files: Files, path: str) -> bool:
    """Whether a file can be created: nothing is there, and no file is in its way."""
    return not any(
        path == other or path.startswith(f"{other}/") or other.startswith(f"{path}/")
        for other in files
    )


def _changed(lines: tuple[str, ...], op: Op) -> tuple[str, ...] | None:
    """The lines of a file after a change; None if it does not find its line."""
    if op.kind == APPEND:
        return (*lines, op.text)
    if op.kind == INSERT and not op.line:
        return (op.text, *lines)
    if op.line not in lines:
        return None
    at = lines.index(op.line)
    new = {
        REPLACE: (op.text,),
        INSERT: (op.line, op.text),
        DELETE: (),
        INDENT: (f"    {op.line}",),
    }[op.kind]
    return (*lines[:at], *new, *lines[at + 1 :])


class Played(NamedTuple):
    """An event that takes place: the turn and call of its session, and the files after it.

    `owner` is the turn whose change it is, None for the user. `candidates` are all turns of which a
    tool may have made a change, as far as hooks can see, if there are several.
    """

    event: Event
    turn: Turn | None
    call: Call | None
    files: Files
    owner: Turn | None = None
    candidates: frozenset[Turn] = frozenset()


class _Session:
    """A session while a script is played."""

    def __init__(self) -> None:
        self.turns = 0
        self.is_open = False  # its latest turn was not ended, or the agent was killed
        self.is_killed = False
        self.call: Call | None = None


class Play:
    """Plays a script in memory: decides which events make sense, and whose each change is."""

    def __init__(self, files: Files) -> None:
        self.files = files
        self.sessions: dict[int, _Session] = {}
        self._calls = 0

    def take(self, event: Event) -> Played | None:
        """Let an event happen; None if it makes no sense now."""
        if event.kind in (ADD, COMMIT):
            return Played(event, None, None, self.files)
        if event.kind == HAND:
            return self._change_by_hand(event)
        session = self.sessions.setdefault(event.session, _Session())
        if event.kind == BEGIN:
            return self._begin(event, session)
        if not session.is_open or session.is_killed:
            return None
        steps = {DO: self._change, BEFORE: self._call, KILL: self._kill}
        return steps.get(event.kind, self._end)(event, session)

    def _begin(self, event: Event, session: _Session) -> Played | None:
        if session.call is not None and not session.is_killed:
            return None
        session.turns += 1
        session.is_open, session.is_killed, session.call = True, False, None
        return self._played(event, session)

    def _call(self, event: Event, session: _Session) -> Played | None:
        if session.call is not None:
            return None
        self._calls += 1
        is_alone = len(self._open()) == 1
        session.call = Call(self._calls, event.tool, event.path, is_alone)
        return self._played(event, session)

    def _end(self, event: Event, session: _Session) -> Played | None:
        """The end of a call, or of a turn without one."""
        if (event.kind == AFTER) != (session.call is not None):
            return None
        # The call that ends is reported with the event.
        played = self._played(event, session)
        session.call = None
        session.is_open = event.kind == AFTER
        return played

    def _kill(self, event: Event, session: _Session) -> Played | None:
        if session.call is not None and session.call.is_alone:
            return None
        session.is_killed = True
        return self._played(event, session)

    def _change(self, event: Event, session: _Session) -> Played | None:
        op, call = event.op, session.call
        assert op is not None
        if call is None or (call.tool in NAMING and {*op.paths} != {call.path}):
            return None
        running = [each for each in self._open() if each.call and each is not session]
        naming = [each for each in running if each.call and each.call.path in op.paths]
        if call.tool == SHELL and naming:
            return None
        shells = [each for each in running if each.call and each.call.tool == SHELL]
        others = shells if call.tool == SHELL else naming
        return self._changed(event, session, others)

    def _change_by_hand(self, event: Event) -> Played | None:
        """A change by the user, which cannot be told from the work of the only open turn."""
        opened = self._open()
        if len(opened) > 1 and any(each.is_killed for each in opened):
            # Hooks cannot know which of them are open.
            return None
        if any(each.call for each in opened):
            return None
        return self._changed(event, opened[0] if len(opened) == 1 else None, [])

    def _changed(
        self, event: Event, owner: _Session | None, others: list[_Session]
    ) -> Played | None:
        assert event.op is not None
        after = apply(self.files, event.op)
        if after is None:
            return None
        self.files = after
        turns = [self._turn(each) for each in (owner, *others) if others]
        candidates = frozenset(turn for turn in turns if turn)
        played = self._played(event, owner)
        return played._replace(owner=played.turn, candidates=candidates)

    def _open(self) -> list[_Session]:
        return [session for session in self.sessions.values() if session.is_open]

    def _turn(self, session: _Session | None) -> Turn | None:
        numbers = (n for n, each in self.sessions.items() if each is session)
        return None if session is None else Turn(next(numbers), session.turns)

    def _played(self, event: Event, session: _Session | None) -> Played:
        call = session.call if session else None
        return Played(event, self._turn(session), call, self.files)


def played(files: Files, script: Script) -> list[Played]:
    """The events of a script that make sense."""
    play = Play(files)
    return [each for event in script if (each := play.take(event)) is not None]


def turns_of(events: Iterable[Played]) -> list[Turn]:
    """The turns that changed something, oldest first."""
    return list(dict.fromkeys(each.owner for each in events if each.owner is not None))


def reduced(script: Script, fails: Callable[[Script], bool]) -> Script:
    """A script that fails as well, of which no single event can be left out."""
    size = max(len(script) // 2, 1)
    while True:
        at = 0
        while at < len(script):
            shorter = [*script[:at], *script[at + size :]]
            if fails(shorter):
                script = shorter
            else:
                at += size
        if size == 1:
            return script
        size //= 2
