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


def _decorated(decoration: str) -> Callable[[Told], str]:
    def send(told: Told) -> str:
        name = decoration.format(told.edit.path)
        text = "\n".join(map(_block, told.hunks))
        return f"I change this:\n\n{name}\n{text}\nThat is all.\n"

    return send


def _each(template: str) -> Callable[[Told], str]:
    """Every block in a template of its file's name and its text."""
    return lambda told: "".join(
        template.format(name=told.edit.path, block=_block(hunk)) for hunk in told.hunks
    )


def _once(told: Told) -> str:
    text = "\nThen this place:\n\n".join(f"```\n{_block(hunk)}```\n" for hunk in told.hunks)
    return f"First:\n\n{told.edit.path}\n{text}\nDone.\n"


KINDS.clean({f"file name {name}": _decorated(how) for name, how in _DECORATIONS.items()})
KINDS.clean(
    {
        "file name inside the fence": _each("```python\n{name}\n{block}```\n\n"),
        "file name behind the fence's language": _each("```python {name}\n{block}```\n\n"),
        "file name once, prose between the blocks": _once,
        "long fences": _each("{name}\n`````python\n{block}`````\n\n"),
        "no fence": _each("{name}\n{block}\n"),
    }
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


KINDS.elsewhere(_fenced)
KINDS.clean(
    {
        "SEARCH empty, the file exists": lambda told: f"{told.edit.path}\n{block('', 'value = 1')}",
        "cut off inside the last block": lambda told: _fenced(told).rpartition(">>>>>>>")[0],
        "no file name": lambda told: "Here it is:\n\n" + "\n".join(map(_block, told.hunks)),
    },
    land=False,
)


@KINDS.refused("one bad file among good ones")
def _bad_file(edit: Edit, other: Edit, rng: random.Random) -> Case:
    told = drifts.deleted_since(other, rng)
    sent = f"{blocks(edit.path, hunks_of(edit))}\n{_fenced(told)}".encode()
    return Case(files((edit.path, edit.before), (other.path, told.edit.before)), None, sent)
