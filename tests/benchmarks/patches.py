"""How many whole-file edits land byte for byte, format by format and kind by kind.

`python -m tests.benchmarks patches [--repo GITDIR] [--count N] [--seed N] [--format NAME]…
[--show KIND]`
"""

from __future__ import annotations

import argparse
import difflib
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module

from tests.benchmarks.hunks import Unfit
from tests.benchmarks.patching.cases import Case, Files, Kinds
from tests.benchmarks.patching.edits import Edit, drawn
from tests.benchmarks.patching.engines import VERDICTS, Engine, Outcome, installed, judge, ours

FORMATS = {
    "unified": "unified",
    "apply-patch": "apply_patch",
    "search-replace": "search_replace",
    "region": "region",
    "string": "string",  # and `multi`
    "lines": "lines",
}
READ_BY_PROGRAMS = ("unified",)
Row = dict[str, Counter[str]]
"""The verdicts on a kind, by engine."""


def run(arguments: Sequence[str]) -> None:
    """Draw edits, write them in every format, print a table per format."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks patches")
    parser.add_argument("--repo", help="a git directory to draw edits from")
    parser.add_argument("--count", type=int, default=30, help="edits to draw")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--format", action="append", choices=list(FORMATS))
    parser.add_argument(
        "--show", metavar="KIND", help="print what went wrong in the kinds so named"
    )
    options = parser.parse_args(arguments)
    edits = drawn(options.count, random.Random(options.seed), options.repo)
    programs, missing = installed()
    for name in missing:
        print(f"not installed here: {name}")
    for name in options.format or FORMATS:
        table = measured(name, edits, options.seed, programs, options.show)
        _print_table(name, kinds_of(name), table)
    print("\n| bytes that a model writes for the same edits | × string |")
    print("|---|---:|")
    for name, size in sizes(edits).items():
        print(f"| {name} | {size:.2f} |")


def sizes(edits: Sequence[Edit]) -> dict[str, float]:
    """What edits take in each format; those are left out that one of them cannot express."""
    sizes: Counter[str] = Counter()
    kinds = {name: kinds_of(name).recover["clean"] for name in FORMATS}
    for edit in edits:
        with suppress(Unfit):
            cases = {name: kind(edit, edit, random.Random(1)) for name, kind in kinds.items()}
            sizes.update({name: len(case.sent) for name, case in cases.items()})
            sizes["write"] += len(edit.after.encode())
    return {name: size / sizes["string"] for name, size in sizes.items()}


def kinds_of(name: str) -> Kinds:
    """The kinds of cases of a format."""
    kinds: Kinds = import_module(f"tests.benchmarks.patching.{FORMATS[name]}").KINDS
    return kinds


def measured(
    name: str, edits: list[Edit], seed: int, programs: Mapping[str, Engine], show: str | None = None
) -> dict[str, Row]:
    """The verdicts on all kinds of a format."""
    kinds = kinds_of(name)
    programs = programs if name in READ_BY_PROGRAMS else {}
    return {
        kind: _row(kind, kinds.cases(kind, edits, random.Random(f"{seed} {kind}")), programs, show)
        for kind in (*kinds.recover, *kinds.refuse, *kinds.slips)
    }


def _row(kind: str, cases: list[Case], programs: Mapping[str, Engine], show: str | None) -> Row:
    row: Row = {"ours": Counter()}
    for case in cases:
        outcome = judge(case, ours)
        row["ours"][outcome.verdict] += 1
        if show is not None and show in kind and outcome.verdict != "perfect":
            _show(kind, case, outcome)
        for name, engine in programs.items():
            if case.patch is not None:
                row.setdefault(name, Counter())[judge(case, engine).verdict] += 1
    return row


def _show(kind: str, case: Case, outcome: Outcome) -> None:
    print(f"=== {kind}: {outcome.verdict}\n{outcome.reason or ''}\n--- sent")
    print(case.sent.decode())
    print("--- from the files as they must be to the files as they are")
    print(_difference(case.before if case.expected is None else case.expected, outcome.after))


def _difference(expected: Files, found: Files) -> str:
    lines: list[str] = []
    for path in sorted({*expected, *found}):
        one, other = (
            [repr(line) for line in files.get(path, b"").splitlines(keepends=True)]
            for files in (expected, found)
        )
        lines += difflib.unified_diff(one, other, path, path, lineterm="", n=1)
    return "\n".join(lines)


def _print_table(name: str, kinds: Kinds, table: dict[str, Row]) -> None:
    """As Markdown: how much is perfect and, behind it, how much is wrong and half-written."""
    engines = list(dict.fromkeys(engine for row in table.values() for engine in row))
    groups = {"must land": kinds.recover, "must be refused": kinds.refuse, "slips": kinds.slips}
    for title, group in groups.items():
        if not group:
            continue
        rows = {kind: table[kind] for kind in group}
        rows["**all**"] = _total(rows, engines)
        print(
            f"\n| {name}, {title}: perfect (wrong, half-written) | cases | {' | '.join(engines)} |"
        )
        print("|---|---:|" + "---:|" * len(engines))
        for kind, row in rows.items():
            cells = " | ".join(_cell(row.get(engine, Counter())) for engine in engines)
            print(f"| {kind} | {sum(row['ours'].values())} | {cells} |")


def _cell(counts: Counter[str]) -> str:
    cases = sum(counts.values())
    if not cases:
        return "–"
    perfect, wrong, _, half = (100 * counts[verdict] / cases for verdict in VERDICTS)
    return f"{perfect:.1f} ({wrong:.1f}, {half:.1f})"


def _total(rows: Mapping[str, Row], engines: Sequence[str]) -> Row:
    return {
        engine: sum((row.get(engine, Counter()) for row in rows.values()), Counter())
        for engine in engines
    }
