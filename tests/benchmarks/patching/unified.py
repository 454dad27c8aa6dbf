"""Unified diffs: clean, and in the ways in which models write them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from tests.benchmarks.hunks import lines_of, require
from tests.benchmarks.patching import drifts
from tests.benchmarks.patching.cases import Case, Drift, Kinds, Told, as_json, case_of, files
from tests.benchmarks.patching.edits import Edit, Hunk, hunks_of

KINDS = Kinds()
_NO_NEWLINE = "\\ No newline at end of file\n"
Ranges = Callable[[Hunk], str]


def ranges(hunk: Hunk, shift: int = 0, count: int = 0) -> str:
    """The line that opens a hunk, its numbers off by so much and its counts by so many."""
    old, new = len(hunk.old), len(hunk.new)
    first, new_first = hunk.start + bool(old) + shift, hunk.new_start + bool(new) + shift
    return f"@@ -{max(first, 1)},{old + count} +{max(new_first, 1)},{new + count} @@\n"


def bare(hunk: Hunk) -> str:
    """The line that opens a hunk, without numbers."""
    return "@@\n"


def patch(
    path: str,
    hunks: Sequence[Hunk],
    opening: Ranges = ranges,
    prefixes: tuple[str, str] = ("a/", "b/"),
) -> str:
    """A patch of one file."""
    head = f"--- {prefixes[0]}{path}\n+++ {prefixes[1]}{path}\n"
    return head + "".join(opening(hunk) + body(hunk) for hunk in hunks)


def body(hunk: Hunk) -> str:
    """The lines of a hunk; those without a newline are marked."""
    lines = (f"{mark}{line}" for mark, line in hunk.body)
    return "".join(line if line.endswith("\n") else f"{line}\n{_NO_NEWLINE}" for line in lines)


def as_git(path: str, hunks: Sequence[Hunk]) -> str:
    """A patch of one file as git writes it."""
    return f"diff --git a/{path} b/{path}\nindex 83db48f..bf269f4 100644\n{patch(path, hunks)}"


def _plain(told: Told) -> str:
    return patch(told.edit.path, told.hunks)


def _bare(told: Told) -> str:
    return patch(told.edit.path, told.hunks, bare)


def _off(told: Told) -> str:
    """Numbers wrong by as much as a model miscounts, each hunk otherwise."""
    signs = (1, -1, 3, -7, 19, -41)
    return patch(
        told.edit.path, told.hunks, lambda hunk: ranges(hunk, signs[hunk.start % len(signs)])
    )


def _miscounted(told: Told) -> str:
    return patch(
        told.edit.path, told.hunks, lambda hunk: ranges(hunk, 0, (1, -1, 2)[hunk.start % 3])
    )


KINDS.drifts(drifts.LAND, _plain)
KINDS.clean(
    {
        "as git writes it": lambda told: as_git(told.edit.path, told.hunks),
        "no numbers": _bare,
        "numbers wrong": _off,
        "counts wrong": _miscounted,
        "context lines without their mark": lambda told: (
            f"```diff\n{drifts.unmarked(_bare(told))}```\n"
        ),
        "in Markdown, with prose": lambda told: (
            f"Here is the change to `{told.edit.path}`:\n\n```diff\n{_plain(told)}```\n"
            "\nIt is done - really.\n"
        ),
        "CRLF patch, LF file": lambda told: _plain(told).replace("\n", "\r\n"),
    }
)
KINDS.drifts(
    {
        "no numbers, a near-duplicate elsewhere, a typo": drifts.near_twin,
        "no numbers, a typo": drifts.one_typo,
        "no numbers, a structural line left out": drifts.left_out(1),
    },
    _bare,
)
KINDS.drifts({"numbers wrong, indentation dropped": drifts.dedented}, _off)
KINDS.drifts({"a hunk without a change": drifts.among_shown}, _bare)
KINDS.drifts({"two places, the number is right": drifts.twice}, _plain)
KINDS.drifts(
    {
        "two structural lines left out": drifts.left_out(2),
        "an invented context line": drifts.invented(1),
        "two invented context lines": drifts.invented(2),
    },
    _plain,
)


@KINDS.lands("blank context lines without their blank")
def _stripped(edit: Edit, other: Edit, rng: random.Random) -> Case:
    told = drifts.clean(edit, rng)
    sent = _plain(told).replace("\n \n", "\n\n").replace("\n \n", "\n\n")
    require(sent != _plain(told))
    return case_of(told, sent)


def _with_context(count: int, margin: int, opening: Ranges) -> Callable[..., Case]:
    def kind(edit: Edit, other: Edit, rng: random.Random) -> Case:
        require(drifts.at_least(edit, count, margin))
        told = Told(edit, hunks_of(edit, count))
        return case_of(told, patch(edit.path, told.hunks, opening))

    return kind


KINDS.lands("one line of context")(_with_context(1, 1, ranges))
KINDS.lands("one line of context, no numbers")(_with_context(1, 1, bare))
KINDS.lands("one line of context, numbers wrong")(_with_context(1, 1, lambda hunk: ranges(hunk, 4)))


@KINDS.lands("no a/ and b/")
def _no_prefixes(edit: Edit, other: Edit, rng: random.Random) -> Case:
    told = drifts.clean(edit, rng)
    return case_of(told, patch(edit.path, told.hunks, prefixes=("", "")), strip=0)


@KINDS.lands("JSON patch")
def _json(edit: Edit, other: Edit, rng: random.Random) -> Case:
    told = drifts.clean(edit, rng)
    return _in_json(told, {"patch": _plain(told)})


@KINDS.lands("JSON patch of hunks alone")
def _json_hunks(edit: Edit, other: Edit, rng: random.Random) -> Case:
    told = drifts.clean(edit, rng)
    return _in_json(told, {"patch": "".join(lines_of(_plain(told))[2:])})


@KINDS.lands("JSON patch_lines, some with line breaks in them")
def _patch_lines(edit: Edit, other: Edit, rng: random.Random) -> Case:
    told = drifts.clean(edit, rng)
    rest, entries = _plain(told).split("\n")[:-1], []
    while rest:
        size = rng.choice((1, 1, 1, 2, 3))
        entries.append(rng.choice(("\n", "\r\n")).join(rest[:size]))
        rest = rest[size:]
    return _in_json(told, {"patch_lines": entries})


def _in_json(told: Told, how: dict[str, object], *, land: bool = True) -> Case:
    case = case_of(told, as_json({"path": told.edit.path, **how}), land=land)
    return case._replace(patch=None)


def _cut(edit: Edit) -> Edit:
    """The edit in the upper part of its file, which there has no newline at its end."""
    end = edit.changes[-1].stop + 2
    require(end < len(edit.lines) and edit.lines[end - 1].strip())
    return edit._replace(lines=(*edit.lines[: end - 1], edit.lines[end - 1].rstrip("\n")))


@KINDS.lands("no newline at the end")
def _no_newline(edit: Edit, other: Edit, rng: random.Random) -> Case:
    cut = _cut(edit)
    return case_of(Told(cut, ()), patch(cut.path, hunks_of(cut)))


@KINDS.lands("no newline at the end, not said")
def _unsaid(edit: Edit, other: Edit, rng: random.Random) -> Case:
    cut = _cut(edit)
    return case_of(Told(cut, ()), patch(cut.path, hunks_of(cut)).replace(_NO_NEWLINE, ""))


@KINDS.lands("newline at the end taken away")
def _newline_away(edit: Edit, other: Edit, rng: random.Random) -> Case:
    last = len(edit.lines) - 1
    require(edit.changes[-1].stop <= last - 3)
    bare_end = edit.lines[last].rstrip("\n")
    changes = (*edit.changes, edit.changes[0]._replace(start=last, stop=last + 1, new=(bare_end,)))
    edit = edit._replace(changes=changes)
    return case_of(Told(edit, ()), patch(edit.path, hunks_of(edit)))


def _created(path: str, lines: Sequence[str], count: int = 0) -> str:
    body_lines = "".join(f"+{line}" for line in lines)
    return f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{len(lines) + count} @@\n{body_lines}"


def _removed(path: str, lines: Sequence[str]) -> str:
    body_lines = "".join(f"-{line}" for line in lines)
    return f"--- a/{path}\n+++ /dev/null\n@@ -1,{len(lines)} +0,0 @@\n{body_lines}"


def _creating(head: str, count: int = 0) -> Callable[..., Case]:
    def kind(edit: Edit, other: Edit, rng: random.Random) -> Case:
        path, lines = "fresh/new_file.py", edit.lines[:30]
        sent = (head + _created(path, lines, count)).encode()
        kept = (other.path, other.before)
        return Case(files(kept), files(kept, (path, "".join(lines))), sent, sent)

    return kind


_NEW = "diff --git a/fresh/new_file.py b/fresh/new_file.py\nnew file mode 100644\n"
KINDS.lands("a new file")(_creating(_NEW))
KINDS.lands("a new file, bare headers")(_creating(""))
KINDS.lands("a new file, counts wrong")(_creating("", -2))


def _short(edit: Edit) -> Edit:
    """A short file, with no changes."""
    return Edit(edit.path, edit.lines[:40], ())


@KINDS.lands("a deleted file")
def _deleted(edit: Edit, other: Edit, rng: random.Random) -> Case:
    short, kept = _short(edit), (other.path, other.before)
    head = f"diff --git a/{edit.path} b/{edit.path}\ndeleted file mode 100644\n"
    sent = (head + _removed(edit.path, short.lines)).encode()
    return Case(files((short.path, short.before), kept), files(kept), sent, sent)


@KINDS.lands("a deleted file, bare headers")
def _deleted_bare(edit: Edit, other: Edit, rng: random.Random) -> Case:
    short, kept = _short(edit), (other.path, other.before)
    sent = _removed(edit.path, short.lines).encode()
    return Case(files((short.path, short.before), kept), files(kept), sent, sent)


def _renaming(edit: Edit, to: str, hunks: Sequence[Hunk]) -> str:
    head = (
        f"diff --git a/{edit.path} b/{to}\nsimilarity index 90%\n"
        f"rename from {edit.path}\nrename to {to}\n"
    )
    if not hunks:
        return head
    lines = lines_of(patch(edit.path, hunks))
    return f"{head}{lines[0]}+++ b/{to}\n{''.join(lines[2:])}"


@KINDS.lands("a renamed file")
def _renamed(edit: Edit, other: Edit, rng: random.Random) -> Case:
    to = f"moved/{edit.path}"
    sent = _renaming(edit, to, ()).encode()
    return Case(files((edit.path, edit.before)), files((to, edit.before)), sent, sent)


@KINDS.lands("a renamed and changed file, numbers wrong")
def _renamed_changed(edit: Edit, other: Edit, rng: random.Random) -> Case:
    to, hunks = f"moved/{edit.path}", hunks_of(edit)
    moved = [hunk._replace(start=hunk.start + 2, new_start=hunk.new_start + 2) for hunk in hunks]
    sent = _renaming(edit, to, moved).encode()
    return Case(files((edit.path, edit.before)), files((to, edit.after)), sent, sent)


@KINDS.lands("several files")
def _several(edit: Edit, other: Edit, rng: random.Random) -> Case:
    sent = "".join(
        (
            as_git(edit.path, hunks_of(edit)),
            _NEW + _created("fresh/new_file.py", edit.lines[:9]),
            patch(other.path, hunks_of(other)),
        )
    ).encode()
    before = files((edit.path, edit.before), (other.path, other.before))
    fresh = ("fresh/new_file.py", "".join(edit.lines[:9]))
    after = files((edit.path, edit.after), (other.path, other.after), fresh)
    return Case(before, after, sent, sent)


KINDS.drifts(drifts.REFUSE, _plain, land=False)
KINDS.drifts(
    {
        "two places, no numbers": drifts.twice,
        "two places at other indentations, no numbers": drifts.twice_indented,
        "applied already, no numbers": drifts.applied_already,
        "hunks out of order, no numbers": drifts.out_of_order,
    },
    _bare,
    land=False,
)


def _between(drift: Drift) -> Callable[..., Case]:
    """Two places, and a number halfway between them."""

    def kind(edit: Edit, other: Edit, rng: random.Random) -> Case:
        told = drift(edit, rng)
        shift = (len(edit.lines) + 2 - told.hunks[0].start) // 2
        sent = patch(edit.path, told.hunks, lambda hunk: ranges(hunk, shift))
        return case_of(told, sent, land=False)

    return kind


KINDS.refused("two places, the number wrong")(_between(drifts.twice))
KINDS.refused("two places at other indentations, number wrong")(_between(drifts.twice_indented))


KINDS.elsewhere(_plain)
KINDS.clean(
    {
        "@@ with a function that is not there": lambda told: patch(
            told.edit.path, told.hunks, lambda _: "@@ def nowhere_to_be_found(here): @@\n"
        ),
    },
    land=False,
)


def _insertion_at(edit: Edit, number: int | None) -> Case:
    opening = "@@\n" if number is None else f"@@ -{number},0 +{number + 1},1 @@\n"
    sent = f"--- a/{edit.path}\n+++ b/{edit.path}\n{opening}+inserted = somewhere()\n"
    return case_of(Told(edit, ()), sent, land=False)


@KINDS.refused("an insertion without context, number wrong")
def _blind(edit: Edit, other: Edit, rng: random.Random) -> Case:
    return _insertion_at(edit, rng.randrange(1, len(edit.lines)))


@KINDS.refused("an insertion without context, beyond the end")
def _beyond(edit: Edit, other: Edit, rng: random.Random) -> Case:
    return _insertion_at(edit, len(edit.lines) + rng.randrange(2, 90))


@KINDS.refused("an insertion without context or number")
def _nowhere(edit: Edit, other: Edit, rng: random.Random) -> Case:
    return _insertion_at(edit, None)


@KINDS.refused("one bad file among good ones")
def _bad_file(edit: Edit, other: Edit, rng: random.Random) -> Case:
    told = drifts.deleted_since(other, rng)
    sent = (patch(edit.path, hunks_of(edit)) + _plain(told)).encode()
    before = files((edit.path, edit.before), (other.path, told.edit.before))
    return Case(before, None, sent, sent)


@KINDS.refused("a new file that exists")
def _exists(edit: Edit, other: Edit, rng: random.Random) -> Case:
    return case_of(Told(edit, ()), _created(edit.path, other.lines[:20]), land=False)


@KINDS.refused("a deleted file that was changed since")
def _deleted_changed(edit: Edit, other: Edit, rng: random.Random) -> Case:
    short = _short(edit)
    now = short.with_inserted(20, ["something = new()\n"])
    return case_of(Told(now, ()), _removed(edit.path, short.lines), land=False)


@KINDS.refused("renamed onto another file")
def _onto(edit: Edit, other: Edit, rng: random.Random) -> Case:
    sent = _renaming(edit, other.path, ()).encode()
    return Case(files((edit.path, edit.before), (other.path, other.before)), None, sent, sent)


@KINDS.refused("a stale base")
def _stale(edit: Edit, other: Edit, rng: random.Random) -> Case:
    told = drifts.clean(edit, rng)
    return _in_json(told, {"patch": _plain(told), "base": "0123456789" * 4}, land=False)
