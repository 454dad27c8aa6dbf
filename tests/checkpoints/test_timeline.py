"""Whose the time between two states is, from nothing but their order."""

from __future__ import annotations

from itertools import count

import pytest

from git_boocode.checkpoints.timeline import (
    AFTER,
    BEFORE,
    BEGIN,
    END,
    MINE,
    NO_SESSION,
    OTHERS,
    RESTORE,
    UNCLEAR,
    RecordedState,
    Sign,
    Timeline,
)

_KINDS = {"+": BEGIN, "-": END, "<": BEFORE, ">": AFTER}


def timeline(words: str) -> Timeline:
    """States in order: `A+` and `A-` begin and end a turn of session A, `A<1:f` and `A>1:f` are
    around its call 1, of a tool that changes the file f alone; `A*f` is an edit, `R` a restore,
    `+` a checkpoint by hand. A second turn of a session is `A+2`.
    """
    states, signs = [], []
    for number, word in zip(count(), words.split()):
        name, session = f"{number:03}", ("agent", word[0])
        if word == "R":
            states.append(RecordedState(name, RESTORE))
        elif word == "+":
            states.append(RecordedState(name, BEGIN, NO_SESSION, "hand"))
        elif word[1] == "*":
            signs.append(Sign(name, session, (word[2:],)))
        elif word[1] in "+-":
            states.append(RecordedState(name, _KINDS[word[1]], session, word[0] + word[2:]))
        else:
            call, _, file = word[2:].partition(":")
            files = (file,) if file else ()
            kind = _KINDS[word[1]]
            states.append(RecordedState(name, kind, session, word[0], call, files=files))
    return Timeline(states, signs)


def owners(words: str, path: str = "f", turns: str = "ABC") -> list[str]:
    """Per interval, the turns that changed a path; `?` if that is unclear, `*` for an edit."""
    found, line = [], timeline(words)
    for at in range(len(line.states)):
        names = ""
        for turn in turns:
            span = line.spans.get(turn)
            if span and span.first <= at < span.last:
                share = line.share(turn, at)
                edited = any(path in edit.paths for edit in share.edits)
                owner = "*" if edited else {MINE: "", OTHERS: None, UNCLEAR: "?"}[share.owner(path)]
                names += "" if owner is None else turn + owner
        found.append(names or ".")
    return found


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        # One turn alone, and what comes after it.
        ("A+ A-", "A ."),
        # One after the other, with and without recorded ends.
        ("A+ A- B+ B-", "A . B ."),
        ("A+ B+ C+", "A B C"),
        # By hand: no turn of its own beside a session's.
        ("A+ + A-", "A A ."),
        # Two at once: only what happens in calls.
        ("A+ B+ A<1 A>1 B<1 B>1 A- B-", "A . A . B . B ."),
        # The other one began during a call, and ended during one.
        ("A+ B+ A>1 B<1 B>1 A- B-", "A A . B . B ."),
        ("A+ B+ A<1 B- A>1 A-", "A . A A A ."),
        # A call that is still running.
        ("A+ B+ A<1", "A . A"),
        # A call whose end was not reported: until the next one, or the end of the turn.
        ("A+ B+ A<1 A<2 A>2 A- B-", "A . A A . B ."),
        ("A+ B+ A<1 A- B-", "A . A B ."),
        # But it may have been interrupted: what comes after the next state is not clear.
        ("A+ B+ A<1 B<1 B>1 A- B-", "A . A A?B? A? B ."),
        # Calls that overlap.
        ("A+ B+ A<1 B<1 A>1 B>1 A- B-", "A . A A?B? B . B ."),
        ("A+ B+ C+ A<1 B<1 C<1 A>1 B>1 C>1 A- B- C-", "A . . A A?B? A?B?C? B?C? C . . C ."),
        # Two calls of one turn are no overlap.
        ("A+ B+ A<1 A<2 A>1 A>2 A- B-", "A . A A A . B ."),
        # A killed agent without any sign ends with the next checkpoint.
        ("A+ B+ B<1 B>1 C+ B- C-", "A B B B . C ."),
        # A tool call, an edit shows that it was alive.
        ("A+ B+ A<1 A>1 C+ B- C-", "A . A . . C ."),
        ("A+ B+ A*g B- C+", "A A?B? A C"),
        # The end of a turn that comes before its last call: something went on in the background.
        ("A+ B+ A- A<1 A>1 B-", "A . . A B ."),
        # A restore ends what has no recorded end, and else divides it.
        ("A+ R B+", "A . B"),
        ("A+ R A-", "A A ."),
    ],
)
def test_whose_an_interval_is(words: str, wanted: str) -> None:
    assert owners(words) == wanted.split()


def test_a_tool_that_names_its_file_owns_it() -> None:
    words = "A+ B+ A<1:f B<1 A>1:f B>1 A- B-"
    assert owners(words) == ["A", ".", "A", "A", "B", ".", "B", "."]
    # What the other one does beside it is clear.
    assert owners(words, "g") == ["A", ".", "A", "B", "B", ".", "B", "."]
    both = "A+ B+ A<1:f B<1:f A>1:f B>1:f A- B-"
    assert owners(both)[3] == "A?B?"
    two = "A+ B+ A<1:f B<1:g A>1:f B>1:g A- B-"
    assert (owners(two)[3], owners(two, "g")[3], owners(two, "h")[3]) == ("A", "B", "A?B?")


def test_a_call_that_was_not_seen_to_end_owns_no_more_than_it_names() -> None:
    words = "A+ B+ B<1 B>1 A<1:f A- B-"
    assert (owners(words)[4], owners(words, "hand")[4]) == ("A", ".")


def test_edits_count_for_the_turn_of_their_session() -> None:
    words = "A+ B+ A<1 A>1 B<1 B>1 A*f A- B-"
    assert owners(words) == ["A", ".", "A", ".", "B", "A*", "B", "."]
    # Also beside a call of another turn, which did the rest.
    words = "A+ B+ A<1 A>1 B<1 A*f B>1 A- B-"
    assert (owners(words)[4], owners(words, "g")[4]) == ("A*", "B")


def test_a_call_whose_end_was_not_reported_is_not_taken_for_the_next_one() -> None:
    """The agent has no ids for calls: it was killed in one, and goes on with another."""
    words = "A+ B+ A<:f B<1 A+2 A<:g A>:g B>1 A- B-"
    assert owners(words)[3] == "A"
    assert owners(words, "g")[5] == "A"


def test_a_whole_turn_within_a_call_of_which_only_the_end_is_recorded() -> None:
    words = "A+ B+ B<1 B>1 B- A>1 A-"
    assert owners(words)[1:5] == ["A", "A?B?", "A", "A"]
    # Turns that were over when the call began are not beside it.
    words = "A+ B+ A<1 A>1 B- B+2 A>2 B-2 A-"
    assert owners(words)[3:6] == [".", "A", "A"]


def test_a_turn_whose_agent_reports_no_tools_may_have_done_anything() -> None:
    line = Timeline(
        [
            RecordedState("0", BEGIN, ("bot", "A"), "A"),
            RecordedState("1", BEGIN, ("other", "B"), "B"),
            RecordedState("2", BEFORE, ("bot", "A"), "A"),
            RecordedState("3", AFTER, ("bot", "A"), "A"),
            RecordedState("4", END, ("bot", "A"), "A"),
            RecordedState("5", END, ("other", "B"), "B"),
        ]
    )
    assert [line.share("B", at).rest for at in range(1, 5)] == [UNCLEAR, UNCLEAR, UNCLEAR, MINE]
    assert line.share("B", 2).beside == ("A",)
    now = Timeline(line.states[:-1], reports=["other"])
    assert [now.share("B", at).rest for at in range(1, 4)] == [OTHERS] * 3
    assert [line.share("A", at).rest for at in range(4)] == [MINE, OTHERS, MINE, OTHERS]


def test_a_host_that_records_its_edits_did_nothing_else_while_a_tool_of_another_ran() -> None:
    states = [
        RecordedState("0", BEGIN, ("host", "H"), "H"),
        RecordedState("1", BEGIN, ("bot", "A"), "A"),
        RecordedState("3", BEFORE, ("bot", "A"), "A"),
        RecordedState("4", AFTER, ("bot", "A"), "A"),
        RecordedState("5", END, ("host", "H"), "H"),
    ]
    line = Timeline(states, [Sign("2", ("host", "H"), ("f",))])
    assert [line.share("H", at).owner("f") for at in (2, 3)] == [OTHERS, UNCLEAR]
    assert Timeline(states).share("H", 2).owner("f") == UNCLEAR


def test_the_call_of_a_subagent_counts_instead_of_that_which_started_it() -> None:
    states = [
        RecordedState("0", BEGIN, ("bot", "A"), "A"),
        RecordedState("1", BEGIN, ("bot", "B"), "B"),
        RecordedState("2", BEFORE, ("bot", "A"), "A", "1", "Task"),
        RecordedState("3", BEFORE, ("bot", "A"), "A", "2", "Bash"),
        RecordedState("4", AFTER, ("bot", "A"), "A", "2", "Bash"),
        RecordedState("5", AFTER, ("bot", "A"), "A", "1", "Task"),
    ]
    assert [Timeline(states).share("A", at).rest for at in (2, 3, 4)] == [OTHERS, MINE, OTHERS]
    # If its calls are not reported, all of it counts.
    assert [Timeline(states[:3] + states[5:]).share("A", at).rest for at in (2,)] == [MINE]


def test_a_turn_that_hooks_know_to_be_open_is_open() -> None:
    states = [
        RecordedState("0", BEGIN, ("bot", "A"), "0"),
        RecordedState("1", BEGIN, ("bot", "B"), "1", beside=("0",)),
        RecordedState("2", BEFORE, ("bot", "B"), "1"),
        RecordedState("3", AFTER, ("bot", "B"), "1"),
        RecordedState("4", BEGIN, ("bot", "C"), "4"),
    ]
    line = Timeline(states)
    assert (line.spans["0"].last, line.spans["1"].last) == (4, 4)
    assert [line.share("1", at).rest for at in (1, 2, 3)] == [OTHERS, MINE, OTHERS]
    # Also if its checkpoint is gone, with the states around its tool calls.
    line = Timeline(states[1:])
    assert [line.share("1", at).rest for at in (0, 1, 2)] == [UNCLEAR] * 3
    assert line.share("1", 0).beside == ("0",)


def test_what_is_gone_of_a_turn_that_began_meanwhile_is_unclear() -> None:
    line = Timeline(
        [
            RecordedState("1", BEGIN, ("bot", "A"), "A"),
            RecordedState("2", BEGIN, NO_SESSION, "hand"),
            RecordedState("4", BEFORE, ("bot", "A"), "A"),
            RecordedState("5", AFTER, ("bot", "A"), "A"),
            RecordedState("6", END, ("bot", "A"), "A", beside=("3",)),
        ]
    )
    assert [line.share("A", at).rest for at in range(4)] == [MINE, UNCLEAR, UNCLEAR, UNCLEAR]
    assert line.share("A", 1).beside == ("3",)


def test_only_files_that_a_tool_names_are_clear_beside_a_turn_that_is_gone() -> None:
    line = Timeline(
        [
            RecordedState("1", BEGIN, ("bot", "A"), "A"),
            RecordedState("3", BEFORE, ("bot", "A"), "A", "1", "Edit", ("f",), beside=("2",)),
            RecordedState("4", AFTER, ("bot", "A"), "A", "1", "Edit", ("f",), beside=("2",)),
            RecordedState("5", BEGIN, ("bot", "C"), "C"),
        ]
    )
    assert [line.share("A", 1).owner(path) for path in "fg"] == [MINE, UNCLEAR]
    assert line.share("A", 2).beside == ("2",)


def test_calls_without_ids_are_matched_by_tool_and_files() -> None:
    words = "A+ B+ A<:f A<:g A>:f A>:g B- A-"
    assert owners(words) == ["A", ".", "A", "A", "A", ".", "A", "."]


def test_a_writer_is_the_one_turn_whose_change_it_is() -> None:
    line = timeline("A+ B+ A<1:f B<1 A>1:f B>1 B<2 C+ C<1 B>2 C>1")
    wrote = [line.writer(at, "f") for at in range(len(line.states))]
    assert wrote == ["A", "", "A", "A", "B", "", "B", "B", "", "C", ""]
