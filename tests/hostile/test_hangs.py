"""No edit takes unbounded work, however its text and the file repeat themselves."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.hostile.fuzz import HANGS
from tests.hostile.targets import SEPARATOR, TARGETS

BLANK = "     \n" * 8
SLASHES = "\\" * 60

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
    "tabs": ("replace", "\t" * 100_000, "\\t" * 999 + "x", "\\t"),
}


@pytest.mark.parametrize("name", CASES)
def test_it_ends(name: str) -> None:
    program = f"from tests.hostile.test_hangs import run; run({name!r})"
    subprocess.run([sys.executable, "-c", program], timeout=HANGS, check=True)


def run(name: str) -> None:
    target, *parts = CASES[name]
    TARGETS[target](SEPARATOR.join(part.encode() for part in parts))
