"""How many drifted edits land byte for byte, kind by kind and profile by profile.

`python -m tests.benchmarks accuracy [--only hunks|lines] [--repo GITDIR] [--count N] [--seed N]
[--profile NAME]… [-v]`: whole hunks that drifted (`drifts.py`), and changed lines that drifted
themselves (`changed_lines.py`). `-v` prints what came out wrong.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from git_boocode import MatchError, replace_text
from git_boocode.matching.rungs import PROFILES
from tests.benchmarks import changed_lines
from tests.benchmarks.changed_lines import CHANGES, CONTEXT, DEPTH, LINE, is_there
from tests.benchmarks.drifts import RECOVER, REFUSE, Case, another_file
from tests.benchmarks.hunks import Hunk, Unfit, from_history, made
from tests.benchmarks.sources import installed, library, tracked

Table = dict[str, Counter[str]]
VERDICTS = ("perfect", "falsely applied", "wrong", "refused")
TOTALS = {
    "**hunks to recover**": [*RECOVER],
    "**hunks to refuse**": [*REFUSE, "another file's"],
    "**changed lines to recover**": [*LINE, *DEPTH, *CONTEXT],
    "**of them, written differently**": [*LINE],
    "**of them, at another depth**": [*DEPTH],
    "**changed lines to refuse**": [*changed_lines.REFUSE],
}
KINDS = [
    *RECOVER,
    *REFUSE,
    "another file's",
    *LINE,
    *DEPTH,
    *CONTEXT,
    *changed_lines.REFUSE,
    *CHANGES,
]
_SHOWN = 200  # characters of the file before and after a change


class Trial(NamedTuple):
    """A case, the kinds that it counts for, and what became of it."""

    kinds: tuple[str, ...]
    case: Case
    verdict: str
    got: str


def run(arguments: Sequence[str]) -> None:
    """Draw edits, drift them, print a table per profile."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks accuracy")
    parser.add_argument("--only", choices=("hunks", "lines"), help="only one kind of edits")
    parser.add_argument("--repo", help="a git directory to draw edits from")
    parser.add_argument("--count", type=int, default=60, help="hunks to draw")
    parser.add_argument("--each", type=int, default=2, help="lines for each drift and change")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", default="", help="only kinds with this in their names")
    parser.add_argument("--profile", action="append", choices=sorted(PROFILES))
    parser.add_argument("--show", action="append", choices=VERDICTS, help="print such cases")
    parser.add_argument("-v", action="store_true", help="print the wrong and falsely applied ones")
    parser.add_argument("--svg", help="draw the totals of what is to recover into this file")
    options = parser.parse_args(arguments)
    shown = {*(options.show or ()), *(VERDICTS[1:3] if options.v else ())}
    cases = [
        (kinds, case)
        for kinds, case in _drawn(options)
        if any(options.kind in kind for kind in kinds)
    ]
    drawn = {kind for kinds, _ in cases for kind in kinds}
    tables: dict[str, Table] = {}
    for profile in options.profile or ["default", "boocode", "opencode-9"]:
        table = tables[profile] = {kind: Counter() for kind in KINDS if kind in drawn}
        for trial in trials(cases, profile):
            for kind in trial.kinds:
                table[kind][trial.verdict] += 1
            if trial.verdict in shown:
                print(described(trial))
        _print_table(profile, table)
    _print_side_by_side(tables)
    if options.svg:
        names = [*RECOVER, *LINE, *DEPTH, *CONTEXT]
        _draw(options.svg, {name: _total(table, names) for name, table in tables.items()})


def _drawn(options: argparse.Namespace) -> Iterator[tuple[tuple[str, ...], Case]]:
    if options.only != "lines":
        rng = random.Random(options.seed)
        hunks = (
            from_history(options.repo, options.count, rng)
            if options.repo
            else made(library(rng), options.count, rng)
        )
        yield from (((name,), case) for name, case in cases_of(hunks, rng))
    if options.only != "hunks":
        rng = random.Random(options.seed)
        files = tracked(options.repo, rng) if options.repo else installed(rng)
        yield from changed_lines.cases(files, options.each, rng)


def cases_of(hunks: list[Hunk], rng: random.Random) -> Iterator[tuple[str, Case]]:
    """The names of drifts, and what they make of the hunks."""
    for name, drift in {**RECOVER, **REFUSE}.items():
        for hunk in hunks:
            with suppress(Unfit):
                case = drift(hunk, rng)
                # A case whose answer is not determined proves nothing.
                if case.old != case.new and case.content != case.expected:
                    yield name, case
    for hunk, other in zip(hunks, [*hunks[1:], hunks[0]], strict=True):
        if hunk.path != other.path:
            yield "another file's", another_file(hunk, other)


def trials(cases: Iterable[tuple[tuple[str, ...], Case]], profile: str) -> Iterator[Trial]:
    """What becomes of cases with a profile."""
    for kinds, case in cases:
        yield Trial(kinds, case, *_tried(case, profile))


def judge(case: Case, profile: str) -> str:
    """What became of a case: one of `VERDICTS`; for a case to refuse, `perfect` is a refusal."""
    return _tried(case, profile)[0]


def _tried(case: Case, profile: str) -> tuple[str, str]:
    """The verdict, and the file or the refusal."""
    try:
        content = replace_text(
            case.content, case.old, case.new, profile=profile, versions=case.versions
        ).content
    except MatchError as error:
        got = f"{error.code}: {error.message}"
        if error.code == "already_applied" and not is_there(case.new, case.content):
            return "falsely applied", got
        right = case.expected is None and case.code in (None, error.code)
        return "perfect" if right else "refused", got
    right = case.expected is not None and content in (case.expected, *case.accept)
    return "perfect" if right else "wrong", content


def described(trial: Trial) -> str:
    """A case in full: the texts of the model, and the file around the change."""
    case = trial.case
    changed = trial.got if trial.verdict == "wrong" else case.expected or case.new
    at = _shared(case.content, case.expected or changed)
    excerpt = slice(max(0, at - _SHOWN), at + _SHOWN + len(case.new))
    texts = {
        "file": case.content[excerpt],
        "old": case.old,
        "new": case.new,
        "got": trial.got[excerpt] if trial.verdict == "wrong" else trial.got,
        "want": "a refusal" if case.expected is None else case.expected[excerpt],
        **{f"or {n}": text[excerpt] for n, text in enumerate(case.accept[:3], 2)},
    }
    head = f"\n=== {trial.verdict}: {' × '.join(trial.kinds)}\n"
    return head + "\n".join(f"{name:<5}{text!r}" for name, text in texts.items())


def _shared(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, pair in pairs if pair[0] != pair[1]), min(len(one), len(other)))


def _print_table(profile: str, table: Table) -> None:
    print(f"\nprofile {profile}")
    print(f"{'':<60}{'cases':>7}" + "".join(f"{verdict:>17}" for verdict in VERDICTS))
    for name, row in {**table, **_totals(table)}.items():
        shares = (f"{share:>16.1f}%" for share in _shares(row))
        print(f"{name:<60}{sum(row.values()):>7}" + "".join(shares))


def _print_side_by_side(tables: Mapping[str, Table]) -> None:
    """As Markdown: how much is perfect and, behind it, how much is wrong and falsely applied."""
    print("\n| perfect (wrong, falsely applied) | cases | " + " | ".join(tables) + " |")
    print("|---|---:|" + "---:|" * len(tables))
    first = next(iter(tables.values()))
    for name in (*first, *_totals(first)):
        rows = [{**table, **_totals(table)}[name] for table in tables.values()]
        cells = (f"{perfect:.1f} ({wrong:.1f}, {false:.1f})"
                 for perfect, false, wrong, _ in map(_shares, rows))  # fmt: skip
        print(f"| {name} | {sum(rows[0].values())} | " + " | ".join(cells) + " |")


def _totals(table: Table) -> Table:
    totals = {name: _total(table, kinds) for name, kinds in TOTALS.items()}
    return {name: row for name, row in totals.items() if row}


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
