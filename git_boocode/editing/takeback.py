"""The action of a rewind: undo what a recorded edit did to one file."""

from __future__ import annotations

from typing import NamedTuple

from git_boocode.editing.edits import How, Landing, MissError, Outcome
from git_boocode.editing.lines import Range, changed_ranges
from git_boocode.editing.refind import ALREADY, BY_HAND, Found, Refinder, listed
from git_boocode.editing.textfile import RAW, Text, decode, line_count, split_lines

_UTF_8 = ("utf-8", "utf-8-bom", RAW)
_MARK = "\ufeff"


class TakeBack(NamedTuple):
    """Bring the bytes of before an edit back.

    Attributes:
        before: the bytes before the edit, None if there was no file.
        after: the bytes after it, None if there was no file any more.
        moves: whether the file gets its old name back, too.
        executable: whether it was executable before, None if the edit left that alone.
    """

    before: bytes | None
    after: bytes | None
    moves: bool = False
    executable: bool | None = None

    @property
    def anchors(self) -> str:
        """No other action of the call is for the same file."""
        return ""

    def apply(self, text: Text | None, how: How) -> Outcome:
        """Put the old text where the edit's is; all of it if the file has not changed since."""
        del how
        outcome = self._outcome(text)
        if self.moves and outcome.landing.rung == ALREADY:
            outcome = outcome._replace(landing=_landing("rename", (1, _height(text))))
        if self.executable is None or outcome.text is None:
            return outcome
        if outcome.landing.rung == ALREADY:
            outcome = outcome._replace(landing=_landing("mode", (1, _height(text))))
        return outcome._replace(executable=self.executable)

    def _outcome(self, text: Text | None) -> Outcome:
        now = None if text is None else text.encode()
        if now == self.before:
            return Outcome(text, already())
        if now == self.after:
            return Outcome(None if self.before is None else decode(self.before), self._exactly())
        if self.before is None or self.after is None or text is None:
            raise self._unlike(text)
        return _in_part(decode(self.before), decode(self.after), text)

    def _exactly(self) -> Landing:
        if self.before is None:
            return _landing("delete", (1, _height(decode(self.after or b""))))
        if self.after is None:
            return _landing("create", (1, 0))
        ranges = _ranges(decode(self.before).text, decode(self.after).text)
        first = ranges[0] if ranges else Range(0, 0, 0, 0)
        return _landing("exact", (first.new_start + 1, first.new_end), max(len(ranges), 1))

    def _unlike(self, text: Text | None) -> MissError:
        if text is None:
            return MissError("missing_file", "there is no such file")
        if self.after is None:
            return MissError(
                "exists",
                "the edit deleted it, and something else is there now",
                hint="move what is there out of the way, then rewind again",
            )
        lines = [found.new_start + 1 for found in _ranges(decode(self.after).text, text.text)]
        where = f", at {listed(lines)}" if lines else ""
        return MissError(
            "conflict",
            f"the edit created it, and it has changed since{where}",
            lines=tuple(lines),
            hint="what was added since would be lost; delete the file yourself if it may go",
        )


def already() -> Landing:
    """The landing in a file that is as it was before the edit."""
    return Landing("exact", ALREADY, 1.0, 0, 1, 0, ("already rewound",))


def _height(text: Text | None) -> int:
    return 0 if text is None else line_count(text.text)


def _landing(rung: str, lines: tuple[int, int], places: int = 1) -> Landing:
    return Landing("exact", rung, 1.0, places, *lines)


def _ranges(old: str, new: str) -> list[Range]:
    return changed_ranges(split_lines(old), split_lines(new))


def _in_part(before: Text, after: Text, now: Text) -> Outcome:
    """Take the changed ranges back one after the other, from the last to the first."""
    texts = before, after, now
    if not _comparable(texts):
        raise MissError(
            "conflict",
            "its encoding has changed, so it can be rewound only where nothing else has",
            hint=BY_HAND,
        )
    old, recorded, present = (split_lines(_characters(text)) for text in texts)
    finder = Refinder(recorded, present, exact_only=any(text.is_raw for text in texts))
    ranges = changed_ranges(old, recorded)
    tried = finder.take_back_all(ranges, old)
    if misses := [result for result in tried if isinstance(result, MissError)]:
        raise _joined(misses, len(ranges))
    done = [result for result in tried if isinstance(result, Found)]
    return Outcome(_with_codec("".join(finder.now), now), _told(done))


def _comparable(texts: tuple[Text, ...]) -> bool:
    return all(text.codec in _UTF_8 for text in texts) or len({text.codec for text in texts}) == 1


def _characters(text: Text) -> str:
    # As text that can be of one kind in one version of a file and of another one in the next.
    return _MARK + text.text if text.codec == "utf-8-bom" else text.text


def _with_codec(characters: str, now: Text) -> Text:
    if now.codec in _UTF_8:
        return decode(characters.encode("utf-8", "surrogateescape"))
    return Text(characters, now.codec)


def _told(done: list[Found]) -> Landing:
    fresh = [found for found in done if found.rung != ALREADY]
    if not fresh:
        return already()
    worst = min(fresh, key=lambda found: (found.rung == "exact", found.similarity))
    # What it kept is what it should keep: only what it did to the old lines is worth telling.
    notes = [note for found in fresh for note in found.notes if not note.startswith("kept ")]
    if len(fresh) < len(done):
        notes.append(f"{len(done) - len(fresh)} of {len(done)} places already rewound")
    return Landing(
        "exact" if worst.rung == "exact" else "fuzzy",
        worst.rung,
        worst.similarity,
        len(fresh),
        *fresh[0].lines,
        tuple(dict.fromkeys(notes)),
    )


def _joined(misses: list[MissError], count: int) -> MissError:
    """One refusal for all ranges of a file that cannot be taken back."""
    if len(misses) == 1:
        return misses[0]
    # What was not looked for has no lines.
    told = sorted(misses, key=lambda miss: not miss.lines)
    said = "; ".join(dict.fromkeys(miss.message for miss in told))
    codes = {miss.code for miss in misses}
    return MissError(
        "conflict" if "conflict" in codes else misses[0].code,
        f"{len(misses)} of {count} places cannot be taken back: {said}",
        lines=tuple(sorted({line for miss in misses for line in miss.lines})),
        candidates=tuple(candidate for miss in misses for candidate in miss.candidates),
        hint=misses[0].hint,
    )
