"""Old and new text as JSON: one edit an object, or several edits of a file."""

from __future__ import annotations

import random

from tests.benchmarks.hunks import require
from tests.benchmarks.patching import drifts
from tests.benchmarks.patching.cases import Case, Kinds, Told, as_json, case_of, files
from tests.benchmarks.patching.edits import Edit, Hunk, hunks_of

KINDS = Kinds()
_SPELLINGS = (
    ("file_path", "old_string", "new_string"),
    ("filePath", "oldString", "newString"),
    ("path", "old_str", "new_str"),
    ("path", "search", "replace"),
)


def pair(hunk: Hunk) -> dict[str, object]:
    """The two texts of a hunk."""
    return {"old_string": "".join(hunk.old), "new_string": "".join(hunk.new)}


def multi(told: Told) -> str:
    """All hunks as edits of one file."""
    return as_json({"path": told.edit.path, "edits": list(map(pair, told.hunks))})


def _array(told: Told) -> str:
    return as_json([{"path": told.edit.path, **pair(hunk)} for hunk in told.hunks])


KINDS.drifts(drifts.LAND_AS_TEXTS, multi)
KINDS.clean({"an array of edits": _array})


@KINDS.lands("in today's spellings")
def _spelled(edit: Edit, other: Edit, rng: random.Random) -> Case:
    path, old, new = rng.choice(_SPELLINGS)
    sent = [
        {path: edit.path, old: "".join(hunk.old), new: "".join(hunk.new)} for hunk in hunks_of(edit)
    ]
    return case_of(Told(edit, ()), as_json(sent))


@KINDS.lands("in the envelope of a tool call")
def _enveloped(edit: Edit, other: Edit, rng: random.Random) -> Case:
    told = drifts.one_hunk(edit, rng)
    call = {"tool_name": "Edit", "tool_input": {"file_path": edit.path, **pair(told.hunks[0])}}
    return case_of(told, as_json(call))


@KINDS.lands("later edits see earlier ones")
def _sequential(edit: Edit, other: Edit, rng: random.Random) -> Case:
    told = drifts.one_hunk(edit, rng)
    new, between = "".join(told.hunks[0].new), "between_the_two = steps()\n"
    edits = [
        {"old_string": "".join(told.hunks[0].old), "new_string": between + new},
        {"old_string": between, "new_string": ""},
    ]
    return case_of(told, as_json({"path": edit.path, "edits": edits}))


@KINDS.lands("in another order")
def _shuffled(edit: Edit, other: Edit, rng: random.Random) -> Case:
    hunks = hunks_of(edit)
    require(len(hunks) > 1)
    return case_of(Told(edit, ()), multi(Told(edit, hunks[::-1])))


@KINDS.lands("every place, replace_all")
def _everywhere(edit: Edit, other: Edit, rng: random.Random) -> Case:
    told = drifts.one_hunk(edit, rng)
    old, new = "".join(told.hunks[0].old), "".join(told.hunks[0].new)
    before = f"{edit.before}# again\n{old}# again\n{old}"
    sent = as_json({"path": edit.path, "old_string": old, "new_string": new, "replace_all": True})
    after = files((edit.path, before.replace(old, new)))
    return Case(files((edit.path, before)), after, sent.encode())


@KINDS.lands("several files")
def _several(edit: Edit, other: Edit, rng: random.Random) -> Case:
    sent = [{"path": each.path, **pair(hunk)} for each in (edit, other) for hunk in hunks_of(each)]
    before = files((edit.path, edit.before), (other.path, other.before))
    after = files((edit.path, edit.after), (other.path, other.after))
    return Case(before, after, as_json(sent).encode())


KINDS.drifts(drifts.REFUSE, multi, land=False)
KINDS.drifts(
    {"two places": drifts.twice, "two places at other indentations": drifts.twice_indented},
    multi,
    land=False,
)


KINDS.elsewhere(multi)


@KINDS.refused("one bad file among good ones")
def _bad_file(edit: Edit, other: Edit, rng: random.Random) -> Case:
    told = drifts.deleted_since(other, rng)
    sent = f"[{multi(Told(edit, hunks_of(edit)))}, {multi(told)}]".encode()
    return Case(files((edit.path, edit.before), (other.path, told.edit.before)), None, sent)


def _stale(told: Told) -> str:
    edits = list(map(pair, told.hunks))
    return as_json({"path": told.edit.path, "edits": edits, "base": "0123456789" * 4})


def _expecting(told: Told) -> str:
    sent = {"path": told.edit.path, **pair(told.hunks[0]), "replace_all": True}
    return as_json({**sent, "expected_replacements": 2})


def _mixed(told: Told) -> str:
    rewrite = {"path": told.edit.path, "content": "value = 1\n"}
    return as_json([*({"path": told.edit.path, **pair(hunk)} for hunk in told.hunks), rewrite])


KINDS.clean(
    {
        "a stale base": _stale,
        "another number of places than expected": _expecting,
        "a full rewrite among the edits": _mixed,
    },
    land=False,
)
