"""Replace old text by new text in a content; the entry point of the matcher."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from git_boocode.matching.ladder import LadderAnswer, LadderRun, found_match, to_match
from git_boocode.matching.rungs import profile_named
from git_boocode.matching.search import Query
from git_boocode.matching.text import Text, lines_of, spliced
from git_boocode.matching.types import Match, MatchError, Occurrence, Replacement

if TYPE_CHECKING:
    from git_boocode.matching.refit import Patch

_DOTS_OR_WORDS = re.compile(
    r"\.{3}|…|\b(?:rest|remainder|existing|previous|original|remaining|remains?|unchanged|current"
    r"|old|omitted|elided|snip|snipped|same|before|changes?|truncated|code|lines|everything)\b",
    re.IGNORECASE,
)
"""A fast check for possible placeholders, before the precise one."""
_WORD = re.compile(r"\w+", re.ASCII)
_NAME = re.compile(r"[\w.]+", re.ASCII)
_SEQUENCE = re.compile(
    r"(?:\\(?:[A-Za-z]|[0-7]{3}|x[\da-fA-F]{2}|u[\da-fA-F]{4})(?:\[[\d;]*[A-Za-z])?"
    r"|%(?:\(\w+\))?[-+#.*\d]*[hlz]{0,2}[A-Za-z])\Z"
)
"""The end of a sequence in a string: an escape, a terminal's color or a printf conversion."""
_NUMBER, _UNIT = re.compile(r"(?<!\w)\d{1,20}\Z"), re.compile(r"(?![xX])[A-Za-z]+(?!\w)")
_BESIDE = 40  # characters beside a place that show what ends or begins there
_LOOKED_UP = 20  # new lines that are looked up in the file before all are compared
_REACH = 10  # how many times longer new text may be with the file's indentation
MAX_PLACES = 100_000  # each place costs memory and time
_LISTED = 5  # maximum number of line numbers in a message


def replace_text(
    content: str,
    old: str,
    new: str,
    replace_all: bool = False,
    profile: str = "default",
    verbatim: bool = False,
    *,
    start_line: int | None = None,
    expected: int | None = None,
    whole_lines: bool = False,
    most: int | None = None,
    versions: Iterable[str] = (),
) -> Replacement:
    """Replace ``old`` by ``new`` in ``content``.

    If ``old`` occurs exactly (ignoring line endings), ``new`` is pasted unchanged. If a tolerant
    rung finds ``old``, the difference between ``old`` and ``new`` is applied to the file's own
    lines, unless ``verbatim``. Line endings are always the file's.

    ``replace_all`` replaces all places; ``expected`` is the required number of places, all of which
    are replaced. ``start_line`` (1-based) is a hint that only decides between places that are
    equally good. With ``whole_lines``, places that begin or end within a line do not count; a final
    newline that ``old`` has and the file lacks is not added. ``most`` is the maximum length of the
    new content in characters; None for no limit.

    ``versions`` are older versions of the content, newest first, read lazily. If only such a
    version contains ``old``, ignoring whitespace, the edit is made in it and merged three-way (rung
    ``merged``; ``version`` is its index). Only the profile ``default`` uses them.

    Raises MatchError with code ``not_found`` (also if an end of ``old`` is within a word or number
    that the edit would change only in part), ``ambiguous`` (also if the number of places is not
    the expected one, or if the change can mean different things for the file's own lines),
    ``stale`` (an older version contains ``old``, but the merge conflicts),
    ``already_applied`` (the content already has ``new`` where ``old`` belongs) or
    ``invalid_input`` (an empty ``old``, nothing to change, ``expected`` below 1, a content longer
    than ``most``, more than ``MAX_PLACES`` places), and ValueError for an unknown profile.
    """
    ladder = profile_named(profile)
    query = Query(content, old, new, whole_lines=whole_lines)
    _check_input(query, expected)

    def edited(answer: LadderAnswer) -> Replacement:
        _check_count(len(answer.found.places))
        if answer.rung is None:
            raise _not_found(answer)
        if not (ladder.placeholders or verbatim):
            _check_placeholders(answer)
        chosen = _chosen(answer, replace_all, expected)
        places = [answer.found.places[index] for index in chosen]
        if ladder.strict:
            _check_applied(answer, places)
            _check_cuts(answer, places)
        writer = _Replacer(answer, Text(new) if verbatim else None)
        return writer.replacement(places, found_match(answer, chosen[0]), most)

    search = LadderRun(query, ladder, start_line)
    answer = search.try_strict()
    if answer.rung is None and ladder.strict:
        from git_boocode.matching.three_way import rebase_edit

        strict = ladder.steps[: ladder.strict]
        if merged := rebase_edit(query, strict, versions, start_line, edited):
            return merged
        answer = search.try_loose()
    return edited(answer)


def _check_input(query: Query, expected: int | None) -> None:
    """Refuse invalid arguments, and old text with too many occurrences to list them."""
    old = query.needle.lf
    if not old:
        raise MatchError("invalid_input", "the old text is empty")
    if query.new is not None and old == query.new.lf:
        raise MatchError("invalid_input", "old and new text are the same, nothing to change")
    if expected is not None and expected < 1:
        raise MatchError("invalid_input", f"cannot expect {expected} replacements")
    if not query.whole_lines and len(query.text.lf) > MAX_PLACES * len(old):
        _check_count(query.text.lf.count(old))


def _check_count(count: int) -> None:
    if count > MAX_PLACES:
        message = f"old text occurs more than {MAX_PLACES} times, the maximum for one edit"
        raise MatchError("invalid_input", message)


def _check_placeholders(answer: LadderAnswer) -> None:
    query, new = answer.query, answer.query.new or Text("")
    if not _DOTS_OR_WORDS.search(new.lf):
        return
    from git_boocode.matching.placeholders import unmatched_placeholder

    index = unmatched_placeholder(query.text, query.needle, new)
    if index is not None:
        line = new.stripped[index]
        where = f"line {index + 1} of the new text, '{line}'"
        message = f"{where}, looks like a placeholder for omitted code"
        raise MatchError("invalid_input", message, to_match(answer))


def _check_applied(answer: LadderAnswer, places: Sequence[Occurrence]) -> None:
    """Refuse an edit whose new text is already there, around every place of the old text."""
    query, fresh = answer.query, answer.query.fresh
    # A fast check before the import: usually an added line is not near an exact place.
    longest = len(query.new.raw) if query.new else 0
    reach = _REACH * (longest + 1) if answer.rung == "exact" else len(query.text.raw)
    near = query.text.raw[max(0, places[-1].start - reach) : places[-1].end + reach]
    if not fresh or not all(line in near for line in sorted(fresh)[:_LOOKED_UP]):
        return
    from git_boocode.matching import already_applied

    if answer.rung != "exact" and (elsewhere := already_applied.applied_elsewhere(query, places)):
        already_applied.refuse_applied(query.text, *elsewhere)
    spans = query.text.spans(place.ends for place in places)
    pairs = zip(places, spans, strict=True)
    rows = [already_applied.applied_rows_around(query, place, span) for place, span in pairs]
    if found := [*filter(None, rows)]:
        missing = [span.start_line for span, there in zip(spans, rows, strict=True) if not there]
        if not missing:
            already_applied.refuse_applied(query.text, *found[0])
        lines = listed_lines([first + 1 for first, _ in found])
        message = f"{already_applied.THERE} at {lines}, but not at {listed_lines(missing)}"
        raise MatchError("ambiguous", message, to_match(answer._replace(chosen=None)))


def _check_cuts(answer: LadderAnswer, places: Sequence[Occurrence]) -> None:
    """Refuse old text that has only a part of a number or a word at one of its ends.

    At its end, only if that changes, because a model may stop within a word; at the start of a line
    only if there are no others. A part of a name alone, or in several places, may be meant, and so
    may a number without its unit, and text beside an escape or format sequence.
    """
    query, raw = answer.query, answer.query.text.raw
    old, new = query.needle.lf, query.new.lf if query.new else ""
    is_name = len(places) > 1 or _NAME.fullmatch(old) is not None
    end, fresh = (_WORD.match(text[::-1]) for text in (old, new))
    starts, ends = "\n" not in old, end is not None and (fresh is None or end[0] != fresh[0])
    backwards = old[::-1]
    for place in places:
        before, behind = raw[max(place.start - 2, 0) : place.start], raw[place.end : place.end + 2]
        head = starts and _cuts(old, before[::-1], is_name=is_name)
        tail = ends and _cuts(backwards, behind, is_name=is_name)
        if (head and not _is_apart(raw, place.start)) or (tail and not _is_apart(raw, place.end)):
            row = raw.count("\n", 0, place.start)
            message = f"old text has only a part of a word, at line {row + 1}"
            raise MatchError("not_found", message, to_match(answer._replace(chosen=None)))


def _cuts(old: str, beside: str, *, is_name: bool) -> bool:
    """Whether the word at the start of a text goes on beside it, as if read backwards there."""
    if old[0].isdigit() and re.match(r"\.?\d", beside):
        return beside[0].isdigit() or not is_name
    word = _WORD.match(old) and _WORD.match(beside)
    return word is not None and not (is_name or old[0] == "_")


def _is_apart(raw: str, at: int) -> bool:
    """Whether a sequence in a string ends there, or a unit follows its number."""
    before, behind = raw[max(at - _BESIDE, 0) : at], raw[at : at + _BESIDE]
    has_unit = _NUMBER.search(before) and _UNIT.match(behind)
    return bool(has_unit or _SEQUENCE.search(before))


def _chosen(answer: LadderAnswer, replace_all: bool, expected: int | None) -> list[int]:
    """The indexes of the places to replace, ascending and disjoint."""
    everywhere = (replace_all or expected is not None) and answer.found.equal
    if answer.chosen is None and not everywhere:
        raise _ambiguous(answer)
    chosen = _disjoint(answer.found.places) if everywhere else [answer.chosen or 0]
    if expected is not None and len(chosen) != expected:
        several = answer._replace(chosen=None) if len(chosen) > 1 else answer
        raise _ambiguous(several, f"{_times(len(chosen))}, not {expected}")
    return chosen


def _disjoint(places: Sequence[Occurrence]) -> list[int]:
    chosen, end = [], 0
    for index, place in enumerate(places):
        if place.start >= end:
            chosen.append(index)
            end = place.end
    return chosen


def _not_found(answer: LadderAnswer) -> MatchError:
    from git_boocode.matching.already_applied import applied_rows, refuse_applied

    match = to_match(answer)
    near = next(iter(match.candidates), None)
    rows = applied_rows(answer.query)
    if rows is not None:
        refuse_applied(answer.query.text, *rows)
    message = "old text not found"
    if match.reason:
        message += f": {match.reason}"
    if near is not None:
        where = lines_of(near.start_line, near.end_line)
        message += f"; nearest is {where}, {near.similarity:.0%} similar"
    return MatchError("not_found", message, match)


def _ambiguous(answer: LadderAnswer, occurs: str | None = None) -> MatchError:
    match = to_match(answer)
    if occurs is None and match.similarity == 1:
        occurs = _times(match.count)
    found = f"occurs {occurs}" if occurs else f"is similar to {match.count} places"
    lines = listed_lines(list(dict.fromkeys(span.start_line for span in match.spans)))
    return MatchError("ambiguous", f"old text {found}, at {lines}", match)


def _times(count: int) -> str:
    return f"{count} time{'s' if count > 1 else ''}"


def listed_lines(lines: Sequence[int]) -> str:
    """Line numbers in words, the first few if there are many."""
    *shown, last = map(str, lines[:_LISTED])
    if len(lines) > _LISTED:
        shown, last = [*shown, last], f"{len(lines) - _LISTED} more"
    return f"lines {', '.join(shown)} and {last}" if shown else f"line {last}"


def splice_for(answer: LadderAnswer, place: Occurrence, row: int) -> tuple[Splice, tuple[str, ...]]:
    """The replacement of one place, which begins on ``row``, and the notes (MatchError)."""
    writer = _Replacer(answer, None)
    return writer.splice(place, row), writer.notes()


class Splice(NamedTuple):
    """Replace the characters ``start`` to ``end`` (exclusive) by ``text``."""

    start: int
    end: int
    text: str


class _Replacer:
    """Replaces places that one rung found by one new text.

    ``pasted`` is text to paste unchanged; without it, the answer's new text is adapted to the file.
    """

    def __init__(self, answer: LadderAnswer, pasted: Text | None) -> None:
        self.answer = answer
        self.text, self.old = answer.query.text, answer.query.needle
        self.new = pasted or answer.query.new or Text("")
        self.exact = answer.rung in ("exact", "rewritten")
        self.verbatim = pasted is not None
        self.done: Counter[str] = Counter()
        # Places with equal text share a patch, because there may be thousands.
        self.patches: dict[tuple[str, bool], Patch] = {}

    def replacement(
        self, places: Sequence[Occurrence], match: Match, most: int | None
    ) -> Replacement:
        """The content with every place replaced."""
        rows = [span.start_line - 1 for span in self.text.spans(place.ends for place in places)]
        raw, edits, size = self.text.raw, list[Splice](), len(self.text.raw)
        for place, row in zip(places, rows, strict=True):
            edit = self.splice(place, row)
            edits.append(edit)
            size += edit.start - edit.end + len(edit.text)
            if most is not None and size > most:
                message = f"the file would have more than {most} characters, the maximum"
                raise MatchError("invalid_input", message)
        spans = self.text.spans((edit.start, edit.end) for edit in edits)
        start, end = self.text.ends(spans[0])
        match = match._replace(span=spans[0], start=start, end=end)
        content = spliced(raw, edits)
        if not self.exact and content == raw:
            from git_boocode.matching.already_applied import refuse_unchanged

            refuse_unchanged(self.answer.query, spans[0])
        return Replacement(content, match, self.notes(), len(edits), spans)

    def notes(self) -> tuple[str, ...]:
        if not self.done:
            return self.answer.notes
        from git_boocode.matching.refit import notes

        return (*self.answer.notes, *notes(self.done))

    def splice(self, place: Occurrence, row: int) -> Splice:
        place = self._with_rest(place, row)
        text, (start, end) = self.text, place.ends
        if place.rows is None:
            pasted = self._replace_part(place, row)
            # Whole lines may be the last ones of a text without a final newline.
            if self.exact and self.old.closed and text.raw[end - 1] != "\n":
                pasted = pasted.removesuffix("\n").removesuffix("\r")
            return Splice(start, end, pasted)
        first, stop = place.rows
        start, end = text.start_of(first), text.start_of(stop)
        fresh = self._patched(text.raw[start:end], place, row)
        # If a deleted block has a blank line on both sides, one of them is deleted, too.
        deleted = place.lines is not None and not (self.verbatim or fresh)
        around = text.stripped[first - 1 : first] + text.stripped[stop : stop + 1]
        if deleted and around == ["", ""]:
            end = text.start_of(stop + 1)
        return Splice(start, end, fresh)

    def _with_rest(self, place: Occurrence, row: int) -> Occurrence:
        """An exact part of lines, as whole lines if the change depends on the rest of the lines.

        So it is if new has several lines and old lacks the indentation of the first or the end of
        the statement, or if new adds a comment.
        """
        text, (start, end), old, new = self.text, place.ends, self.old.lf, self.new.lf
        if not self.exact or self.verbatim or place.rows is not None:
            return place
        before = text.raw[text.raw.rfind("\n", 0, start) + 1 : start].removeprefix(text.mark)
        stop = text.raw.find("\n", end)
        behind = "" if self.old.closed else text.raw[end : stop if stop >= 0 else None].rstrip("\r")
        depends = "\n" in new.rstrip("\n") and (
            (before != "" and not before.strip()) or (behind != "" and not behind.strip(",;"))
        )
        if behind.strip() and not depends:
            from git_boocode.matching.merge import added_comment

            depends = added_comment(old, new) != ""
        rows = row, row + len(self.old.lines)
        return place._replace(rows=rows, partial=behind != "") if depends else place

    def _replace_part(self, place: Occurrence, row: int) -> str:
        if not (self.exact or self.verbatim) or self.text.mixed:
            return self._patched(self.text.raw[place.start : place.end], place, row)
        new = self.new.lf
        if not self.verbatim and not self.text.is_whole(place.start, place.end):
            from git_boocode.matching.merge import fit_to_line

            new = fit_to_line(self.text, place.ends, (self.old.lf, new))
        return new.replace("\n", "\r\n") if self.text.has_crlf else new

    def _patched(self, mine: str, place: Occurrence, row: int) -> str:
        key = mine, place.partial
        if key not in self.patches:
            self.patches[key] = self._make_patch(mine, place, row)
        patch = self.patches[key]
        if patch.ambiguity is not None:
            match = to_match(self.answer._replace(chosen=None))
            raise MatchError("ambiguous", patch.ambiguity, match)
        self.done.update(patch.done)
        return patch.text

    def _make_patch(self, mine: str, place: Occurrence, row: int) -> Patch:
        """The patch for a place with the text ``mine``, which begins on ``row``."""
        from git_boocode.matching.ambiguity import PlacedRows
        from git_boocode.matching.refit import Refit, refit_change

        if place.rows is not None and not self.verbatim:
            hunks = self.answer.query.hints.script if place.lines is None else ()
            return refit_change(self.text, (self.old, self.new), self._new_lines(), place, hunks)
        # Paste the text unchanged except for line endings.
        there, ending = Text(mine), ""
        old, segments, new = (text.lf.split("\n") for text in (self.old, there, self.new))
        if place.rows is not None:
            segments, new, ending = there.lines, self.new.lines, there.ending(len(there.lines) - 1)
        # If the place has a different number of lines than the old text, replace it as a whole.
        if self.exact or self.verbatim or len(old) != len(segments):
            old = segments
        matched = [(index, index + 1) for index in range(len(segments))]
        rows = PlacedRows(row, segments, ending, matched)
        return Refit(self.text, (old, new), rows).candidate(within="")

    def _new_lines(self) -> list[str]:
        """The lines of new that replace the lines of old.

        If old ends within a line, a final line feed of new starts another line, as if pasted. If
        both end with the same line, it is ignored as a mistake.
        """
        old, new = self.old.stripped, self.new.stripped
        same_end = old != new and old[-1:] == new[-1:] != [""]
        if self.old.closed or same_end:
            return self.new.lines
        pieces = self.new.pieces
        # A removed line is removed with its ending, unless a blank line of old is left over.
        blank = not (old[0] and old[-1])
        return [] if pieces == [""] and not blank else pieces
