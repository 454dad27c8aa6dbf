"""No edit takes unbounded work, however its text and the file repeat themselves."""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from git_boocode.editing.edit_plan import EditPlan
from git_boocode.editing.edits import MatchOptions
from git_boocode.editing.inputs import Source, read_inputs
from git_boocode.editing.workspace import Workspace
from git_boocode.matching import PROFILES, MatchError, replace_text
from tests.hostile.fuzz import HANGS
from tests.hostile.targets import SEPARATOR, TARGETS

BLANK = "     \n" * 8
SLASHES = "\\" * 60


def lines(*texts: str, count: int = 20_000) -> str:
    """Lines, each with its number in place of `%`; of several texts, one after the other."""
    return "".join(
        f"{texts[number % len(texts)]}\n".replace("%", str(number)) for number in range(count)
    )


def patch(*hunks: str) -> str:
    return "--- a/f\n+++ b/f\n" + "".join(f"@@ -1 +1 @@\n{hunk}" for hunk in hunks)


def sections(hunk: str, *names: str) -> str:
    heads = "".join(f"@@ {name}\n" for name in names)
    return f"*** Begin Patch\n*** Update File: f\n{heads}{hunk}*** End Patch\n"


def block(old: str, new: str) -> str:
    return f"f.py\n<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n"


def growing(old: str, new: str, count: int) -> str:
    edit = {"old_string": old, "new_string": new, "replace_all": True}
    return json.dumps({"path": "f", "edits": [edit] * count})


PARTS = "".join(f"part_{number}_of_it()\n" for number in range(12))
ELIDED = "".join(f"part_{number}_of_it()\n...\n" for number in range(12)) + "the_last_one()\n"
INDENTED = "".join(f"{' ' * (number % 1500)}value_{number}\n" for number in range(3_000))

# Each is a target and the parts of its input.
CASES: dict[str, tuple[str, ...]] = {
    "backslashes": ("replace", SLASHES, f"{SLASHES}x", "y"),
    "backslashes that are escaped": ("replace", SLASHES * 9, "\\\\" * 60 + "x", "y" + SLASHES),
    "blank lines": ("replace", f"foo\n{BLANK}", "foo\\n" + "\\n" * 8 + "bar\\n", "bar"),
    "blank lines beside escaped quotes": (
        *("replace", f'say("a")\n{" " * 30}\n' * 20, 'say(\\"a\\")\n\n' * 20 + 'x("\\"', "y"),
    ),
    "a state that goes on": ("replace", "a\nb\n", "a", "# the code " + "is " * 30 + "x"),
    "entities": ("replace", "<" * 4000, "&lt;" * 999 + "x", "&lt;"),
    "parts in no order": (
        *("default", "the_last_one()\n" + PARTS * 40, ELIDED, ELIDED.replace("()", "(1)")),
    ),
    "parts far from each other": (
        *("default", ("first_part()\nx\n" * 60) + lines("y") + "second_part()\n" * 60),
        *("first_part()\n...\nsecond_part()\n", "third_part()\n...\nsecond_part()\n"),
    ),
    "blocks between anchors": (
        *("opencode-9", "a_first_line\n" * 900 + lines("x = %") + "the_last_line\n"),
        f"a_first_line\n{lines('y = %')}the_last_line\n",
        "y",
    ),
    "long lines between anchors": (
        *("opencode-9", f"first\n{'ab' * 300_000}\nlast\n", f"first\n{'ba' * 200_000}x\nlast\n"),
        "y",
    ),
    "spaces between words": ("opencode-9", "a " * 200_000 + "c", "a " * 5_000 + "b", "y"),
    "markers": ("default", lines("..."), "...\n" * 9_000 + "name_it()\n", "...\n" * 9_000),
    "changes beside each other": (
        *("default", lines("  keep_%", "  old_%"), lines("keep_%", "old_%")),
        lines("keep_%", "new_%"),
    ),
    "a file with lines in between": (
        *("default", lines("a_name_%", "b_name_%", "c_name_%"), lines("a_name_%", "b_name_%")),
        lines("d_name_%", "e_name_%"),
    ),
    "blank lines in a row": (
        *("default", "first_line()\nlast_line()\n", f"first_line()\n{BLANK * 3_000}last_line()\n"),
        f"first_line()\n{BLANK * 3_000}new_line()\n{BLANK * 3_000}last_line()\n",
    ),
    "marks of comments in quotes": (
        *("default", "# comment\nvalue = 1\n", 'value = "' + " # // -- " * 60_000, "value = 2"),
    ),
    "indentations": ("default", INDENTED, INDENTED.replace(" ", "\t", 1), INDENTED + "x\n"),
    "other indentations": (
        *("default", "".join(f" {line}\n" for line in INDENTED.split("\n"))),
        *(INDENTED, INDENTED.replace("value_1", "name_1")),
    ),
    "words": (
        *("default", lines("a" * 300), "a" * 299 + "b " + " ".join("a" * n for n in range(299))),
        "x",
    ),
    "near-equal lines": ("default", lines("value = %"), lines("value = %", "valu = %"), "y"),
    "one long line": ("default", "ab{};" * 200_000, "ba{};x" * 170_000, "y"),
    "brackets": ("default", "{" * 100_000, "{ ... }" * 20_000, "{ ... }\nx"),
    "numbered lines": ("default", lines("x"), lines("%: x"), lines("%: y")),
    "fences of JSON": ("edits", "```\n{}\n```\n" * 100_000),
    "keys that are there twice": (
        "edits",
        "{" + "".join(f'"{n % 99_999}": 1, ' for n in range(100_000)) + '"x": 1}',
    ),
    "nesting": ("edits", "[" * 100_000),
    "nested objects": ("edits", '{"edits":' * 100_000),
    "envelopes": ("edits", "x\n" * 50_000 + "*** Begin Patch\n*** End Patch\n" * 50_000),
    "ends of envelopes": ("edits", "*** Begin Patch\n" + "  *** End Patch\nEOF\n" * 50_000),
    "open fences": ("edits", "````\n```\n" * 50_000 + patch("-a\n+b\n")),
    "openings of blocks": ("edits", "<<<<<<< SEARCH\n" * 50_000),
    "dividers": ("edits", block("=======\n" * 5_000, "=======\n" * 5_000), "a\n" * 5_000),
    "blocks": ("edits", block("a\n", "b\n") * 4_000, "a\n"),
    "prose above blocks": ("edits", "see a/b.py and c.d " * 50_000 + "\n" + block("a\n", "b\n")),
    "huge counts": ("edits", "--- a/f\n+++ b/f\n@@ -1,999999999 +1,999999999 @@\n-a\n+b\n", "a\n"),
    "hunks": ("edits", patch(*[" same\n-same\n+other\n"] * 4_000), lines("same")),
    "hunks that drifted": ("edits", patch(*[" some\n-name_of_it\n+other\n"] * 500), lines("same")),
    "a hunk of equal lines": ("edits", patch(" same\n" * 9_000 + "-x\n+y\n"), lines("same")),
    "sections that many lines name": ("edits", sections("-aa\n+b\n", *["aa"] * 4), "aa\n" * 50_000),
    "sections that lie in each other": (
        "edits",
        sections("-old\n+new\n", *["aa"] * 4),
        "".join(f"{' ' * depth}aa\n" for depth in range(3_000)) + "  old\n" * 50_000,
    ),
    "sections that never end": (
        "edits",
        sections("-x(1)\n+b\n", "x"),
        lines("x(%)") + "x(1)\n",
    ),
    "sections of many hunks": (
        "edits",
        sections("".join(f"@@ {'a' * (1 + n % 39)}\n b\n-old\n+new\n" for n in range(2_000))),
        lines("a" * 40 + "%", "b", "old"),
    ),
    "headers": ("edits", "--- a/f\n+++ b/f\n" * 50_000),
    "spaces in a header": (
        "edits",
        f"--- a/f{' ' * 200_000}x\n+++ b/f{' ' * 200_000}x\n@@ -1 +1 @@\n-a\n+b\n",
    ),
    "edits that fail": (
        "call",
        json.dumps(
            {
                "path": "f",
                "edits": [
                    {"old_string": f"nowhere {n}", "new_string": f"x {n}"} for n in range(1_500)
                ],
            }
        ),
    ),
    "edits that double the file": ("call", growing("t", "tt", 40)),
    "edits that multiply the file": ("call", growing("t", "t" * 900, 5)),
    "edits that multiply lines": ("call", growing("text  \n", "text\n" * 400, 3)),
    "paths of too many parts": (
        "call",
        json.dumps([{"path": f"d{n}/" + "e/" * 4_000 + "f", "content": "x"} for n in range(300)]),
    ),
    "regions": (
        "edits",
        json.dumps(
            {
                "path": "f",
                "changes": [{"start": ["same"] * 4, "content": ["x"]} for _ in range(500)],
            }
        ),
        lines("same"),
    ),
    "regions with anchors of few lines": (
        "edits",
        json.dumps(
            {
                "path": "f",
                "changes": [
                    {
                        "start": [f"line_{n // 12**at % 12}" for at in range(4)],
                        "end": ["line_0"],
                        "content": ["x"],
                    }
                    for n in range(10_000)
                ],
            }
        ),
        "".join(f"line_{n * n // 7 % 12}\n" for n in range(100_000)),
    ),
    "a rewind among equal lines": (
        "rewind",
        lines("same"),
        lines("same", "same", "other"),
        lines("same", "other", "same"),
    ),
    "a rewind in one block of equal lines": (
        "rewind",
        "a\n" * 9_000 + "old\n",
        "a\n" * 9_000 + "new\n",
        "a\n" * 20_000 + "b\n",
    ),
    "a rewind of lines that moved": (
        "rewind",
        lines("old_%", "x"),
        lines("new_%", "x"),
        lines("x", "new_%", "y"),
    ),
    "tabs": ("replace", "\t" * 100_000, "\\t" * 999 + "x", "\\t"),
}


# Loading what a case needs takes longer than most cases.
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload([__name__])


@pytest.mark.parametrize("name", CASES)
def test_it_ends(name: str) -> None:
    process = PROCESSES.Process(target=run, args=(name,))
    process.start()
    # Seconds of work, not of waiting for a processor, which other processes may keep busy.
    process.join(HANGS * 30)
    process.kill()
    process.join()
    assert process.exitcode == 0


def run(name: str) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (HANGS, HANGS))
    target, *parts = CASES[name]
    if target in PROFILES:
        with suppress(MatchError):
            replace_text(parts[0], parts[1], parts[2], profile=target)
    elif target == "call":
        _plan(parts[0].encode())
    else:
        TARGETS[target](SEPARATOR.join(part.encode() for part in parts))


def _plan(data: bytes) -> None:
    with TemporaryDirectory() as top:
        Path(top, "f").write_text("text\n")
        workspace = Workspace(os.path.realpath(top), "", None)
        EditPlan(read_inputs([Source("input", data)]), workspace, MatchOptions())
