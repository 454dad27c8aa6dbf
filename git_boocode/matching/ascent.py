"""How a ladder goes on when its strict steps did not find the text as given.

Other readings of the text climb the strict steps first. Only then come the looser ones, and only
for the reading that the file speaks for: a tolerant rung would find a text in spite of its escapes,
and carry them into the file with the new lines.
"""

from __future__ import annotations

from collections.abc import Sequence

from git_boocode.matching.escapes import sequences_in
from git_boocode.matching.guards import too_bare
from git_boocode.matching.ladder import Answer, ascend
from git_boocode.matching.profiles import Profile, Step
from git_boocode.matching.rewrites import Reading, likeliest, readings
from git_boocode.matching.rungs import Found, Query

REWRITTEN = "rewritten"
"""The rung of a text that is there as it is once it has been read back."""

_PROOF = Step("exact", evidence=8)
"""What a text that was read back must hold to prove a place on part of a line."""
_PROOF_OF_LINES = Step("exact", evidence=2)
"""What it must hold to prove whole lines, as on the rung `whitespace`."""


def climb_on(missed: Answer, profile: Profile, start_line: int | None) -> Answer:
    """The answer of the profile's other readings and looser steps.

    ``missed`` is what the text as given got from the strict steps.
    """
    given = missed.query
    strict, loose = profile.steps[: profile.strict], profile.steps[profile.strict :]
    new = given.new.lf if given.new else ""
    others: list[Reading] = []
    # Old text that stands for whole lines is not completed by the rest of one.
    names = [name for name in profile.rewrites if not (given.whole_lines and name == "completed")]
    for reading in readings(given.needle.lf, new, given.text, names):
        others.append(reading)
        answer = _strictly(given.reread(reading.old, reading.new), strict, start_line, reading)
        if answer.rung is not None:
            return answer
    return _loosely(missed, loose, start_line, others)


def _strictly(
    query: Query, steps: Sequence[Step], start_line: int | None, reading: Reading
) -> Answer:
    answer = ascend(query, steps, start_line)
    if answer.rung == "exact" and not _proves(answer):
        # Text read back is short of proof where the text as given would have been exact.
        answer = ascend(query, [step for step in steps if step.rung != "exact"], start_line)
    answer = _told(answer, reading)
    return answer._replace(rung=REWRITTEN) if answer.rung == "exact" else answer


def _proves(answer: Answer) -> bool:
    needle = answer.query.needle
    if not too_bare(needle, _PROOF):
        return True
    return not too_bare(needle, _PROOF_OF_LINES) and _of_whole_lines(answer)


def _of_whole_lines(answer: Answer) -> bool:
    text = answer.query.text
    return all(text.is_whole(place.start, place.end) for place in answer.found.places)


def _told(answer: Answer, reading: Reading) -> Answer:
    """The answer with the reading's notes and, between equal places, the line it claims."""
    answer = answer._replace(notes=reading.notes)
    if answer.chosen is not None or not answer.found.equal or reading.first_line is None:
        return answer
    text = answer.query.text
    starts = [span.start_line for span in text.spans(place[:2] for place in answer.found.places)]
    claimed = [index for index, line in enumerate(starts) if line == reading.first_line]
    return answer._replace(chosen=claimed[0]) if len(claimed) == 1 else answer


def _loosely(
    missed: Answer, steps: Sequence[Step], start_line: int | None, others: Sequence[Reading]
) -> Answer:
    given = missed.query
    own = Reading(given.needle.lf, given.new.lf if given.new else "")
    chosen = likeliest(given.text, [own, *others]) if others else [own]
    answers = []
    for reading in chosen:
        query = given if reading is own else given.reread(reading.old, reading.new)
        answer = _told(ascend(query, steps, start_line), reading)
        if reading is own:
            answers.append(_without_strange_escapes(answer))
        elif not _holds_escapes(answer, own, reading):
            answers.append(answer)
        elif own not in chosen:
            answers.append(_without_strange_escapes(ascend(given, steps, start_line)))
    return _best(missed, answers or [missed])


def _holds_escapes(answer: Answer, own: Reading, reading: Reading) -> bool:
    """Whether the file really has, in the place found, sequences that a reading took back.

    What stands there beside them is not proof that the model escaped its text.
    """
    taken = sequences_in(own.old) - sequences_in(reading.old)
    if not taken or answer.rung is None:
        return False
    return bool(taken & (sequences_in(_there(answer)) - sequences_in(reading.old)))


def _there(answer: Answer) -> str:
    """The file's text in the places found."""
    raw = answer.query.text.raw
    return "\n".join(raw[place.start : place.end] for place in answer.found.places)


def _without_strange_escapes(answer: Answer) -> Answer:
    """The answer, unless the text as given has escape sequences that the place has not.

    The new text would bring more of them into the file.
    """
    found = answer.found
    told = sequences_in(answer.query.needle.lf) if found.places else None
    if told and told - sequences_in(_there(answer)):
        return answer._replace(rung=None, found=Found(reason=_STRANGE), chosen=None)
    return answer


_STRANGE = "it has escape sequences that the file does not have there"


def _best(missed: Answer, answers: Sequence[Answer]) -> Answer:
    """The answer whose place is most similar; of equal ones the first."""
    found = [answer for answer in answers if answer.rung is not None]
    if not found:
        last = answers[-1]
        return last._replace(found=Found(reason=missed.found.reason or last.found.reason))
    return max(found, key=lambda answer: answer.found.places[0].similarity)
