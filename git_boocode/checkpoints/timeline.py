"""Whose change is it: the recorded states of a worktree, and the turns that were open between them.

Between two consecutive states lies an interval. What changed in it belongs to the only open turn.
If turns of several sessions are open, it belongs to the one with a running tool call. If several
have one, a tool that names its files owns these, and the rest is unclear. With no call running, it
was changed by hand, except for recorded edits. This module only computes; see `turn_work`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

BEGIN, END, BEFORE, AFTER, RESTORE = "begin", "end", "before", "after", "restore"
RESUME = "resume"
MINE, OTHERS, UNCLEAR = "mine", "others", "unclear"
Session = tuple[str, str]
"""An agent and its session."""
NO_SESSION = ("", "")
# Tools whose calls contain those of a subagent.
_DELEGATING = frozenset(("task", "agent"))


class RecordedState(NamedTuple):
    """A recorded state of a worktree; later states have greater ids.

    `kind` is BEGIN or END of a `turn`, BEFORE or AFTER a tool call in it, RESUME if it goes on
    after an END with the id `call`, which a later one replaces, or RESTORE for the state before a
    restore. `call` and `tool` are those of the agent; `files` the only paths that the tool changes,
    empty if it may change any. As far as hooks knew, `beside` are the other turns
    that were open at a BEGIN, or since then at any other state, and `reports` the agents that had
    reported tools by then.
    """

    id: str
    kind: str
    session: Session = NO_SESSION
    turn: str = ""
    call: str = ""
    tool: str = ""
    files: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    reports: tuple[str, ...] = ()


class Sign(NamedTuple):
    """Something that a session did; an edit has the `paths` whose change was recorded."""

    id: str
    session: Session
    paths: tuple[str, ...] = ()


class TurnSpan(NamedTuple):
    """A turn between two states, by their numbers; `last` is the number of states for now.

    `pauses` are also between two states: the turn had ended, and went on later.
    """

    turn: str
    session: Session
    first: int
    last: int
    pauses: tuple[tuple[int, int], ...] = ()

    def is_open(self, interval: int) -> bool:
        """Whether it was open in the interval after a state, by the state's number."""
        is_paused = any(first <= interval < last for first, last in self.pauses)
        return self.first <= interval < self.last and not is_paused


class _CallSpan(NamedTuple):
    """A tool call between two states, by their numbers."""

    session: Session
    first: int
    last: int
    reported: RecordedState
    is_ended: bool = True

    @property
    def files(self) -> frozenset[str]:
        return frozenset(self.reported.files)

    def runs(self, interval: int) -> bool:
        return self.first <= interval < self.last

    def may_be_over(self, interval: int) -> bool:
        """Whether it may have ended before an interval, without a report: it was interrupted."""
        return not self.is_ended and interval > self.first


class Share(NamedTuple):
    """What one turn changed in an interval, by path.

    `rest` is MINE, OTHERS or UNCLEAR for all paths that are in none of the sets. `beside` are the
    other turns that were open. `edits` are recorded edits of the turn, of paths that are not MINE,
    and `their_edits` those of the others while a call of the turn ran that may change any path.
    """

    rest: str
    mine: frozenset[str] = frozenset()
    theirs: frozenset[str] = frozenset()
    unclear: frozenset[str] = frozenset()
    beside: tuple[str, ...] = ()
    edits: tuple[Sign, ...] = ()
    their_edits: tuple[Sign, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether all paths are MINE."""
        return self.rest == MINE and not self.theirs and not self.unclear

    @property
    def is_none(self) -> bool:
        """Whether no path is MINE or UNCLEAR, and nothing was edited."""
        return self.rest == OTHERS and not (self.mine or self.unclear or self.edits)

    def owner(self, path: str) -> str:
        """MINE, OTHERS or UNCLEAR, for a path that no edit of the turn changed."""
        if path in self.unclear:
            return UNCLEAR
        if path in self.mine:
            return MINE
        return OTHERS if path in self.theirs else self.rest


class Timeline:
    """The recorded states of one worktree, oldest first.

    `reports` are the agents that have reported tool calls by now.
    """

    def __init__(
        self,
        states: Iterable[RecordedState],
        signs: Iterable[Sign] = (),
        reports: Iterable[str] = (),
    ) -> None:
        self.states: Sequence[RecordedState] = sorted(states)
        self._reports = frozenset(reports)
        self._signs = sorted(signs)
        self._ids = [state.id for state in self.states]

    @cached_property
    def spans(self) -> dict[str, TurnSpan]:
        """The turns by their ids."""
        ends = {state.turn: at for at, state in enumerate(self.states) if state.kind == END}
        for at, state in enumerate(self.states):
            # A subagent may go on in the background.
            if state.kind == AFTER and ends.get(state.turn, at) < at:
                ends[state.turn] = at
        begins: dict[Session, list[int]] = defaultdict(list)
        for at, state in enumerate(self.states):
            if state.kind == BEGIN:
                begins[state.session].append(at)
        found = {}
        for session, places in begins.items():
            for at, following in zip(places, [*places[1:], len(self.states)], strict=True):
                turn = self.states[at].turn
                last = ends.get(turn, 0)
                if last <= at:
                    last = self._unrecorded_end(session, at, following)
                found[turn] = TurnSpan(turn, session, at, last, self._pauses.get(turn, ()))
        return found

    @cached_property
    def _pauses(self) -> dict[str, tuple[tuple[int, int], ...]]:
        """By turn, the times between a former end and the state in which it went on."""
        found: dict[str, tuple[tuple[int, int], ...]] = {}
        for at, state in enumerate(self.states):
            if state.kind == RESUME:
                pause = (bisect_right(self._ids, state.call), at)
                found[state.turn] = (*found.get(state.turn, ()), pause)
        return found

    def _unrecorded_end(self, session: Session, at: int, following: int) -> int:
        """The next turn of its session, or an earlier one after the last sign of the session."""
        seen = self._ids[at]
        if session != NO_SESSION:
            calls = [state.id for state in self.states[at:following] if state.session == session]
            beyond = self._ids[following] if following < len(self._ids) else None
            signs = [sign.id for sign in self._signs if sign.session == session]
            turn, later = self.states[at].turn, self.states[at:]
            # A checkpoint by hand ends a turn whose end is unknown, as `log` counts.
            begun = (s for s in later if s.kind == BEGIN and s.session != NO_SESSION)
            signs += [s.id for s in begun if turn in s.beside]
            seen = max([seen, *calls, *(each for each in signs if not beyond or each < beyond)])
        for number in range(bisect_right(self._ids, seen), following):
            if self.states[number].kind in (BEGIN, RESTORE):
                return number
        return following

    def overlaps(self, turn: str) -> bool:
        """Whether turns of other sessions were open during a turn."""
        span = self.spans[turn]
        return any(self._beside(span, at) for at in range(span.first, span.last))

    def share(self, turn: str, interval: int) -> Share:
        """What a turn changed in the interval after a state, by the state's number."""
        span = self.spans[turn]
        if not span.is_open(interval):
            return Share(OTHERS)
        beside = self._beside(span, interval)
        if not beside:
            return Share(MINE)
        if span.session == NO_SESSION:
            return Share(OTHERS)
        sessions = {other.session for other in beside}
        edits = self._edits(interval)
        their_edits = tuple(edit for edit in edits if edit.session in sessions)
        edited = {path for edit in their_edits for path in edit.paths}
        my_edits = tuple(edit for edit in edits if edit.session == span.session)
        mine = [c for c in self._calls if c.session == span.session and c.runs(interval)]
        theirs = [c for c in self._calls if c.session in sessions and c.runs(interval)]
        my_files, their_files = (
            frozenset(path for call in calls for path in call.files) for calls in (mine, theirs)
        )
        their_files |= edited
        rest = _rest(mine, theirs, interval)
        is_known = self._reports_tools(span) or (
            # A host that records its edits runs no tools of its own beside those of others.
            span.session in self._editors and any(not call.files for call in theirs)
        )
        if not is_known or any(map(_is_gone, beside)):
            # The calls of one of them are unknown.
            rest = UNCLEAR
        return Share(
            rest,
            mine=my_files - their_files,
            theirs=their_files - my_files,
            unclear=my_files & their_files,
            beside=tuple(other.turn for other in beside),
            edits=() if rest == MINE else my_edits,
            their_edits=() if all(call.files for call in mine) else their_edits,
        )

    def writer(self, interval: int, path: str) -> str:
        """The turn that changed a path in the interval after a state; empty for none, or unclear.

        Of several turns of a session, the one that began last. Without sessions, one whose end was
        recorded: a checkpoint in it, such as that of a git hook, began no other one.
        """

        def rank(span: TurnSpan) -> tuple[bool, int]:
            return span.session == NO_SESSION and not self._is_ended(span), -span.first

        open_turns = (span for span in self.spans.values() if span.is_open(interval))
        for span in sorted(open_turns, key=rank):
            share = self.share(span.turn, interval)
            edited = any(path in edit.paths for edit in share.edits)
            if edited or share.owner(path) == MINE:
                return span.turn
        return ""

    def _is_ended(self, span: TurnSpan) -> bool:
        """Whether the end of a turn was recorded."""
        return span.last < len(self.states) and self.states[span.last].turn == span.turn

    def _beside(self, span: TurnSpan, interval: int) -> list[TurnSpan]:
        """The turns of other sessions that were open in an interval."""
        return [
            other
            for other in self._of_sessions
            if other.session != span.session and other.is_open(interval)
        ]

    @cached_property
    def _of_sessions(self) -> list[TurnSpan]:
        """The turns of sessions; those whose checkpoints are gone have sessions of their own."""
        found = [span for span in self.spans.values() if span.session != NO_SESSION]
        gone = {(state.turn, turn) for state in self.states for turn in state.beside}
        for beside, turn in sorted(gone):
            span = self.spans.get(beside)
            if span and turn not in self.spans:
                # It was open as long as nothing shows otherwise.
                first = max(span.first, bisect_right(self._ids, turn) - 1)
                found.append(TurnSpan(turn, ("", turn), first, span.last))
        return found

    @cached_property
    def _editors(self) -> frozenset[Session]:
        """The sessions with recorded edits."""
        return frozenset(sign.session for sign in self._signs if sign.paths)

    def _edits(self, interval: int) -> list[Sign]:
        """The edits that were recorded in an interval."""
        first = self._ids[interval]
        last = self._ids[interval + 1] if interval + 1 < len(self._ids) else None
        begin = bisect_right(self._signs, first, key=lambda sign: sign.id)
        end = len(self._signs)
        if last is not None:
            end = bisect_left(self._signs, last, key=lambda sign: sign.id)
        return [sign for sign in self._signs[begin:end] if sign.paths]

    def _reports_tools(self, span: TurnSpan) -> bool:
        """Whether the tool calls of a turn are known: its session or agent reported some."""
        agent, last = span.session[0], span.last + 1
        if last > len(self.states) and agent in self._reports:
            return True
        return any(
            state.session == span.session or (state.session[0] == agent and at < last)
            for at, state in enumerate(self.states)
            if state.kind in (BEFORE, AFTER)
        ) or any(agent in state.reports for state in self.states[:last])

    @cached_property
    def _calls(self) -> list[_CallSpan]:
        found: list[_CallSpan] = []
        waiting: dict[Session, list[int]] = defaultdict(list)
        for at, state in enumerate(self.states):
            if state.kind == BEFORE:
                waiting[state.session].append(at)
            elif state.kind == AFTER:
                first = self._begin_of(at, waiting[state.session])
                if first is None:
                    first = self._overlap_begin(state.session, at)
                else:
                    waiting[state.session].remove(first)
                found.append(_CallSpan(state.session, first, at, state))
        for session, begun in waiting.items():
            for first in begun:
                last = self._next_event(session, first)
                found.append(_CallSpan(session, first, last, self.states[first], is_ended=False))
        return [call for call in found if not self._delegates(call)]

    def _begin_of(self, at: int, waiting: list[int]) -> int | None:
        """The state before the call that ended at a state.

        Agents may have no ids for calls, and those that were killed reported no end of one.
        """
        after = self.states[at]

        def likeness(number: int) -> tuple[bool, bool, bool]:
            before = self.states[number]
            is_same = bool(after.call) and before.call == after.call
            return before.turn == after.turn, is_same, before.files == after.files

        alike = [
            number
            for number in waiting
            if self.states[number].tool == after.tool
            and (self.states[number].call == after.call or likeness(number)[-1])
        ]
        return max(alike, key=likeness, default=None)

    def _overlap_begin(self, session: Session, at: int) -> int:
        """Where others began beside a call of which no beginning was recorded.

        No turn had begun since the last state of its session when it began itself.
        """
        for number in range(at - 1, -1, -1):
            state = self.states[number]
            if state.session == session:
                break
            if state.kind == BEGIN and state.session != NO_SESSION:
                at = number
        return at

    def _next_event(self, session: Session, at: int) -> int:
        """The next state that a session reported, other than the end of a tool call."""
        for number in range(at + 1, len(self.states)):
            state = self.states[number]
            if state.session == session and state.kind != AFTER:
                return number
        return len(self.states)

    def _delegates(self, call: _CallSpan) -> bool:
        """Whether other calls of the session did the work of a call."""
        if call.reported.tool.lower() not in _DELEGATING:
            return False
        inside = self.states[call.first + 1 : call.last]
        return any(s.session == call.session and s.kind in (BEFORE, AFTER) for s in inside)


def _is_gone(span: TurnSpan) -> bool:
    """Whether the checkpoint of a turn is gone, and the states around its tool calls with it."""
    return span.session == ("", span.turn)


def _rest(mine: Sequence[_CallSpan], theirs: Sequence[_CallSpan], interval: int) -> str:
    """Whose change in an interval the paths are that no call names, by the calls that ran."""
    i_may, they_may = (any(not call.files for call in calls) for calls in (mine, theirs))
    if i_may and they_may:
        return UNCLEAR
    if i_may:
        is_over = all(call.may_be_over(interval) for call in mine)
        return UNCLEAR if is_over else MINE
    if they_may or not mine:
        return OTHERS
    if theirs:
        return UNCLEAR
    # A call that names its files and whose end was not reported may have ended at once.
    return MINE if any(call.is_ended for call in mine) else OTHERS
