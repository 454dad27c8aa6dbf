"""MatchOptions many rewinds give the right bytes, by what became of the file since the edit.

`python -m tests.benchmarks rewind [--repo GITDIR] [--count N] [--seed N] [--show KIND]`

Beside ours stands `git merge-file` alone: the file now, the recorded result as the base, and the
recorded original. A rewind to refuse is perfect when it is refused.
"""

from __future__ import annotations

import argparse
import difflib
import os
import random
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence

from git_boocode.editing.edits import MatchOptions, MissError
from git_boocode.editing.revert import Revert
from git_boocode.editing.textfile import decode
from tests.benchmarks.later import RECOVER, REFUSE, Case, cases
from tests.benchmarks.patching.edits import Edit, drawn

VERDICTS = ("perfect", "wrong", "refused")
Engine = Callable[[Case], bytes | None]
"""Rewinds a case; None if it refuses to."""
Table = dict[str, dict[str, Counter[str]]]
"""The verdicts by kind and engine."""


def run(arguments: Sequence[str]) -> None:
    """Draw edits, let their files change, rewind, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks rewind")
    parser.add_argument("--repo", help="a git directory to draw edits from")
    parser.add_argument("--count", type=int, default=30, help="edits to draw")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--show", metavar="KIND", help="print what went wrong in the kinds so named"
    )
    options = parser.parse_args(arguments)
    edits = drawn(options.count, random.Random(options.seed), options.repo)
    _print_table(measured(edits, options.seed, options.show))


def measured(edits: Sequence[Edit], seed: int, show: str | None = None) -> Table:
    """The verdicts on all kinds."""
    table: Table = {}
    for kind in (*RECOVER, *REFUSE):
        row = table.setdefault(kind, {name: Counter() for name in ENGINES})
        for case in cases(kind, edits, random.Random(f"{seed} {kind}")):
            for name, engine in ENGINES.items():
                result = engine(case)
                verdict = judge(case, result)
                row[name][verdict] += 1
                if show is not None and show in kind and name == "ours" and verdict != "perfect":
                    _show(kind, verdict, case, result)
    return table


def judge(case: Case, result: bytes | None) -> str:
    """One of `VERDICTS`."""
    if result is None:
        return "perfect" if case.expected is None else "refused"
    return "perfect" if result == case.expected else "wrong"


def ours(case: Case) -> bytes | None:
    """What `git boocode rewind` makes of the file."""
    try:
        text = Revert(case.before, case.after).apply(decode(case.now), MatchOptions()).text
    except MissError:
        return None
    return None if text is None else text.encode()


def merge_file(case: Case) -> bytes | None:
    """What `git merge-file` alone makes of it."""
    with tempfile.TemporaryDirectory() as directory:
        names = [os.path.join(directory, name) for name in ("now", "after", "before")]
        for name, data in zip(names, (case.now, case.after, case.before), strict=True):
            with open(name, "wb") as file:
                file.write(data)
        command = ["git", "merge-file", "-p", "-q", *names]
        done = subprocess.run(command, capture_output=True, check=False)
    return done.stdout if done.returncode == 0 else None


ENGINES: dict[str, Engine] = {"ours": ours, "git merge-file": merge_file}


def _show(kind: str, verdict: str, case: Case, result: bytes | None) -> None:
    print(f"=== {kind}: {verdict}")
    _print_diff("edit", case.before, case.after)
    _print_diff("since", case.after, case.now)
    if result is not None:
        _print_diff("expected, result", case.expected or case.now, result)


def _print_diff(title: str, one: bytes, other: bytes) -> None:
    old, new = ([repr(line) for line in text.splitlines(keepends=True)] for text in (one, other))
    print(f"--- {title}", *difflib.unified_diff(old, new, lineterm="", n=2), sep="\n")


def _print_table(table: Table) -> None:
    """As Markdown: how much is perfect and, behind it, how much is wrong."""
    for title, group in (("must be rewound", RECOVER), ("must be refused", REFUSE)):
        rows = {kind: table[kind] for kind in group}
        rows["**all**"] = {
            name: sum((row[name] for row in rows.values()), Counter()) for name in ENGINES
        }
        print(f"\n| {title}: perfect (wrong) | cases | {' | '.join(ENGINES)} |")
        print("|---|---:|" + "---:|" * len(ENGINES))
        for kind, row in rows.items():
            count = sum(row["ours"].values())
            print(f"| {kind} | {count} | {' | '.join(map(_cell, row.values()))} |")


def _cell(counts: Counter[str]) -> str:
    total = sum(counts.values())
    if not total:
        return "–"
    perfect, wrong = (100 * counts[verdict] / total for verdict in VERDICTS[:2])
    return f"{perfect:.1f} ({wrong:.1f})"
