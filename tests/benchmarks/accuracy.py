"""How many drifted edits land byte for byte, kind by kind and profile by profile.

`python -m tests.benchmarks accuracy [--repo GITDIR] [--count N] [--seed N] [--profile NAME]…`
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Iterator, Sequence

from git_boocode import MatchError, replace_text
from git_boocode.matching.rungs import PROFILES
from tests.benchmarks.drifts import RECOVER, REFUSE, Case, another_file
from tests.benchmarks.hunks import Hunk, from_history, made
from tests.benchmarks.sources import library

Table = dict[str, Counter[str]]
VERDICTS = ("perfect", "pasted", "wrong", "refused")


def run(arguments: Sequence[str]) -> None:
    """Draw hunks, drift them, print a table per profile."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks accuracy")
    parser.add_argument("--repo", help="a git directory to draw hunks from")
    parser.add_argument("--count", type=int, default=60, help="hunks to draw")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--profile", action="append", choices=sorted(PROFILES))
    parser.add_argument("--show", help="print the cases of this verdict")
    parser.add_argument("--svg", help="draw the totals of what is to recover into this file")
    options = parser.parse_args(arguments)
    rng = random.Random(options.seed)
    hunks = (
        from_history(options.repo, options.count, rng)
        if options.repo
        else made(library(rng), options.count, rng)
    )
    cases = list(cases_of(hunks, rng))
    tables = {
        profile: _table(profile, cases, options.show)
        for profile in options.profile or ["default", "boocode", "opencode-9"]
    }
    for profile, table in tables.items():
        _print_table(profile, table)
    _print_side_by_side(tables)
    if options.svg:
        _draw(options.svg, {name: _total(table, list(RECOVER)) for name, table in tables.items()})


def cases_of(hunks: list[Hunk], rng: random.Random) -> Iterator[tuple[str, Case]]:
    """The names of drifts, and what they make of the hunks."""
    for name, drift in {**RECOVER, **REFUSE}.items():
        for hunk in hunks:
            case = drift(hunk, rng)
            # A case whose answer is not determined proves nothing.
            if case is not None and case.old != case.new and case.content != case.expected:
                yield name, case
    for hunk, other in zip(hunks, [*hunks[1:], hunks[0]], strict=True):
        if hunk.path != other.path:
            yield "another file's", another_file(hunk, other)


def judge(case: Case, profile: str) -> str:
    """What became of a case: one of `VERDICTS`; for a case to refuse, `perfect` is a refusal."""
    try:
        content = replace_text(
            case.content, case.old, case.new, profile=profile, versions=case.versions
        ).content
    except MatchError as error:
        right = case.expected is None and case.code in (None, error.code)
        return "perfect" if right else "refused"
    if case.expected is None:
        return "wrong"
    if content == case.expected:
        return "perfect"
    return "pasted" if _bare(content) == _bare(case.expected) else "wrong"


def _bare(text: str) -> str:
    """Letters and digits alone: what is left when drift is taken away."""
    return "".join(filter(str.isalnum, text))


def _table(profile: str, cases: list[tuple[str, Case]], show: str | None) -> Table:
    table: Table = {}
    for name, case in cases:
        verdict = judge(case, profile)
        table.setdefault(name, Counter())[verdict] += 1
        if verdict == show:
            print(f"--- {profile}: {name}\n--- old\n{case.old}--- new\n{case.new}---")
    return table


def _print_table(profile: str, table: Table) -> None:
    print(f"\nprofile {profile}")
    print(f"{'':<40}{'cases':>7}" + "".join(f"{verdict:>9}" for verdict in VERDICTS))
    for name, row in {**table, **_totals(table)}.items():
        shares = (f"{share:>8.1f}%" for share in _shares(row))
        print(f"{name:<40}{sum(row.values()):>7}" + "".join(shares))


def _print_side_by_side(tables: dict[str, Table]) -> None:
    """As Markdown: how much is perfect and, behind it, how much is pasted and wrong."""
    print("\n| perfect (pasted, wrong) | cases | " + " | ".join(tables) + " |")
    print("|---|---:|" + "---:|" * len(tables))
    first = next(iter(tables.values()))
    for name in (*first, *_totals(first)):
        rows = [{**table, **_totals(table)}[name] for table in tables.values()]
        cells = (f"{perfect:.1f} ({pasted:.1f}, {wrong:.1f})"
                 for perfect, pasted, wrong, _ in map(_shares, rows))  # fmt: skip
        print(f"| {name} | {sum(rows[0].values())} | " + " | ".join(cells) + " |")


def _totals(table: Table) -> Table:
    refuse = [*REFUSE, "another file's"]
    return {
        "**all to recover**": _total(table, list(RECOVER)),
        "**all to refuse**": _total(table, refuse),
    }


def _shares(row: Counter[str]) -> list[float]:
    cases = max(sum(row.values()), 1)
    return [100 * row[verdict] / cases for verdict in VERDICTS]


def _total(table: Table, names: list[str]) -> Counter[str]:
    return sum((table.get(name, Counter()) for name in names), Counter())


def _draw(path: str, totals: dict[str, Counter[str]]) -> None:
    from tests.benchmarks.chart import stacked_bars

    rows = {profile: [share / 100 for share in _shares(row)] for profile, row in totals.items()}
    count = sum(next(iter(totals.values())).values())
    note = f"{count:,} drifted edits that ought to land; refused ones were not changed"
    with open(path, "w", encoding="utf-8") as file:
        file.write(stacked_bars("What becomes of a drifted edit", VERDICTS, rows, note))
