"""Blocks of `<<<<<<< SEARCH` in prose."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from tests.benchmarks.patching import drifts
from tests.benchmarks.patching.cases import Case, Kinds, Told, case_of, files
from tests.benchmarks.patching.edits import Edit, Hunk, hunks_of

KINDS = Kinds()
_DECORATIONS = {
    "bold": "**{}**",
    "in backquotes": "`{}`",
    "a heading": "### {}",
    "a heading in backquotes": "## `{}`",
    "with a colon": "{}:",
    "bold, in backquotes, with a colon": "**`{}`**:",
    "after `File:`": "File: {}",
    "a list item": "- `{}`",
    "a numbered heading": "1. `{}`:",
    "a comment": "# {}",
}


def block(old: str, new: str, marks: tuple[str, str, str] = ("<" * 7, "=" * 7, ">" * 7)) -> str:
    """One block."""
    return f"{marks[0]} SEARCH\n{old}{marks[1]}\n{new}{marks[2]} REPLACE\n"


def blocks(path: str, hunks: Sequence[Hunk]) -> str:
    """A block a hunk, each below the name of the file and fenced."""
    return "\n".join(f"{path}\n```python\n{_block(hunk)}```\n" for hunk in hunks)


def _block(hunk: Hunk) -> str:
    return block("".join(hunk.old), "".join(hunk.new))


def _fenced(told: Told) -> str:
    return blocks(told.edit.path, told.hunks)


KINDS.drifts(drifts.LAND_AS_TEXTS, _fenced)


def _decorated(decoration: str) -> Callable[..., Case]:
    def kind(edit: Edit, other: Edit, rng: random.Random) -> Case:
        name = decoration.format(edit.path)
        sent = f"I change this:\n\n{name}\n" + "\n".join(map(_block, hunks_of(edit)))
        return case_of(Told(edit, ()), sent + "\nThat is all.\n")

    return kind


for _name, _decoration in _DECORATIONS.items():
    KINDS.lands(f"file name {_name}")(_decorated(_decoration))


@KINDS.lands("file name inside the fence")
def _inside(edit: Edit, other: Edit, rng: random.Random) -> Case:
    sent = "".join(f"```python\n{edit.path}\n{_block(hunk)}```\n\n" for hunk in hunks_of(edit))
    return case_of(Told(edit, ()), sent)


@KINDS.lands("file name behind the fence's language")
def _behind(edit: Edit, other: Edit, rng: random.Random) -> Case:
    sent = "".join(f"```python {edit.path}\n{_block(hunk)}```\n\n" for hunk in hunks_of(edit))
    return case_of(Told(edit, ()), sent)


@KINDS.lands("file name once, prose between the blocks")
def _once(edit: Edit, other: Edit, rng: random.Random) -> Case:
    told = "\nThen this place:\n\n".join(f"```\n{_block(hunk)}```\n" for hunk in hunks_of(edit))
    return case_of(Told(edit, ()), f"First:\n\n{edit.path}\n{told}\nDone.\n")


@KINDS.lands("long fences")
def _long_fence(edit: Edit, other: Edit, rng: random.Random) -> Case:
    sent = "".join(f"{edit.path}\n`````python\n{_block(hunk)}`````\n\n" for hunk in hunks_of(edit))
    return case_of(Told(edit, ()), sent)


@KINDS.lands("no fence")
def _no_fence(edit: Edit, other: Edit, rng: random.Random) -> Case:
    return case_of(
        Told(edit, ()), "".join(f"{edit.path}\n{_block(hunk)}\n" for hunk in hunks_of(edit))
    )


@KINDS.lands("marks of other lengths")
def _lengths(edit: Edit, other: Edit, rng: random.Random) -> Case:
    marks = rng.choice((("<" * 5, "=" * 5, ">" * 5), ("<" * 9, "=" * 9, ">" * 9)))
    told = (block("".join(hunk.old), "".join(hunk.new), marks) for hunk in hunks_of(edit))
    return case_of(Told(edit, ()), "\n".join(f"{edit.path}\n{text}" for text in told))


@KINDS.lands("a heading of ======= inside the code")
def _divider_in_old(edit: Edit, other: Edit, rng: random.Random) -> Case:
    """The file has the line in the context, so that it stands in both halves."""
    first = edit.changes[0]
    at = max(first.start - 1, 0)
    ruled = edit.with_inserted(at, ["Heading of it\n", "=======\n"])
    return case_of(Told(ruled, ()), blocks(ruled.path, hunks_of(ruled)))


@KINDS.lands("======= added to the code")
def _divider_in_new(edit: Edit, other: Edit, rng: random.Random) -> Case:
    """Text with a ruled heading; the true divider is told by the file, which has but one half."""
    told = drifts.one_hunk(edit, rng)
    change = told.edit.changes[0]
    new = (*change.new, "Heading of it\n", "=======\n", "its text\n")
    ruled = told.edit._replace(changes=(change._replace(new=new), *told.edit.changes[1:]))
    return case_of(Told(ruled, ()), blocks(ruled.path, hunks_of(ruled)))


@KINDS.lands("lines deleted, nothing in their place")
def _emptied(edit: Edit, other: Edit, rng: random.Random) -> Case:
    hunk = hunks_of(edit)[0]
    change = edit.changes[0]._replace(start=hunk.start, stop=hunk.stop, new=())
    gone = edit._replace(changes=(change,))
    return case_of(Told(gone, ()), f"{edit.path}\n{block(''.join(hunk.old), '')}")


@KINDS.lands("a new file, SEARCH empty")
def _new(edit: Edit, other: Edit, rng: random.Random) -> Case:
    path, text = "fresh/new_file.py", "".join(edit.lines[:30])
    kept = (other.path, other.before)
    sent = f"{path}\n```python\n{block('', text)}```\n".encode()
    return Case(files(kept), files(kept, (path, text)), sent)


@KINDS.lands("several files")
def _several(edit: Edit, other: Edit, rng: random.Random) -> Case:
    sent = f"{blocks(edit.path, hunks_of(edit))}\nAnd:\n\n{blocks(other.path, hunks_of(other))}"
    before = files((edit.path, edit.before), (other.path, other.before))
    return Case(before, files((edit.path, edit.after), (other.path, other.after)), sent.encode())


KINDS.drifts(drifts.REFUSE, _fenced, land=False)
KINDS.drifts(
    {"two places": drifts.twice, "two places at other indentations": drifts.twice_indented},
    _fenced,
    land=False,
)


@KINDS.refused("another file's")
def _others(edit: Edit, other: Edit, rng: random.Random) -> Case:
    return case_of(Told(other, ()), blocks(other.path, hunks_of(edit)), land=False)


@KINDS.refused("a missing file")
def _missing(edit: Edit, other: Edit, rng: random.Random) -> Case:
    return case_of(Told(other, ()), blocks(edit.path, hunks_of(edit)), land=False)


@KINDS.refused("SEARCH empty, the file exists")
def _exists(edit: Edit, other: Edit, rng: random.Random) -> Case:
    return case_of(Told(edit, ()), f"{edit.path}\n{block('', 'value = 1')}", land=False)


@KINDS.refused("cut off inside the last block")
def _cut_off(edit: Edit, other: Edit, rng: random.Random) -> Case:
    sent = blocks(edit.path, hunks_of(edit))
    return case_of(Told(edit, ()), sent[: sent.rindex(">>>>>>>")], land=False)


@KINDS.refused("no file name")
def _nameless(edit: Edit, other: Edit, rng: random.Random) -> Case:
    sent = "Here it is:\n\n" + "\n".join(map(_block, hunks_of(edit)))
    return case_of(Told(edit, ()), sent, land=False)


@KINDS.refused("one bad file among good ones")
def _bad_file(edit: Edit, other: Edit, rng: random.Random) -> Case:
    told = drifts.deleted_since(other, rng)
    sent = f"{blocks(edit.path, hunks_of(edit))}\n{_fenced(told)}".encode()
    return Case(files((edit.path, edit.before), (other.path, told.edit.before)), None, sent)
