"""What a page of 1,000 turns costs, beside `git log -p` over as many commits.

In Chromium, where it is installed with its driver and selenium, beside the same page ready-made:
its elements as HTML and its data, with nothing to run.

`python -m tests.benchmarks view [--turns N] [--rounds N]`
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from git_boocode.repo.ids import new_id, timestamp
from tests.benchmarks.measure import machine, print_table, side_by_side

_BEGUN = 1_767_323_045
_EVERY = 60  # seconds from a turn to the next one
_WHO = "b <b@example.com>"


def run(arguments: Sequence[str]) -> None:
    """Make the turns, and measure."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks view")
    parser.add_argument("--turns", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args(arguments)
    print(machine())
    with tempfile.TemporaryDirectory() as directory:
        top = Path(directory)
        subprocess.run(["git", "init", "-q", "-b", "main", top], check=True)
        make_turns(top, options.turns)
        page = top / "page.html"

        def command(*words: str) -> None:
            subprocess.run(words, cwd=top, stdout=subprocess.DEVNULL, check=True)

        times = side_by_side(
            {
                "git log -p": lambda: command("git", "log", "-p", "-M"),
                "view --output": lambda: command(
                    "git-boocode", "view", "--output", str(page), "-n", str(options.turns)
                ),
                "log": lambda: command("git-boocode", "log", "-n", str(options.turns)),
            },
            options.rounds,
        )
        size = page.stat().st_size
        print_table(f"{options.turns:,} turns, a page of {size:,} bytes", times, "git log -p")
        if shutil.which("chromium") and shutil.which("chromedriver"):
            _in_browser(page, options.rounds)


# What the browser has drawn when a frame has passed.
_LOADED = "return performance.getEntriesByType('navigation')[0].domComplete"
_OPENED = """
const begun = performance.now();
arguments[0].click();
const passed = (done) => setTimeout(() => done(performance.now() - begun));
return new Promise((done) => requestAnimationFrame(() => passed(done)));
"""
_READY_MADE = """
const made = document.documentElement.cloneNode(true);
const unwanted = 'script:not([type="application/json"]), meta[http-equiv]';
for (const each of made.querySelectorAll(unwanted)) each.remove();
return "<!doctype html>" + made.outerHTML;
"""
_INSERTED = """
const begun = performance.now();
document.getElementById("turn").innerHTML = arguments[0];
const passed = (done) => setTimeout(() => done(performance.now() - begun));
return new Promise((done) => requestAnimationFrame(() => passed(done)));
"""


def _in_browser(page: Path, rounds: int) -> None:
    """Load the page and open a turn in the middle, in turns with the same ready-made."""
    from tests.browser.kit import browser

    plain = page.with_name("plain.html")
    loads: dict[str, list[float]] = {"ready-made": [], "the page": []}
    opens: dict[str, list[float]] = {"ready-made": [], "the page": []}
    with browser(page.with_name("profile")) as chrome:

        def load(name: str, path: Path) -> None:
            chrome.open(path.as_uri())
            # Without waiting, nothing may have been drawn yet.
            loads[name].append(chrome.until(lambda: chrome.run(_LOADED)) / 1000)

        def measured(name: str, script: str, argument: object) -> None:
            opens[name].append(chrome.driver.execute_script(script, argument) / 1000)

        chrome.open(page.as_uri())
        plain.write_text(chrome.run(_READY_MADE), encoding="utf-8")
        rows = chrome.run("return document.querySelectorAll('.row').length")
        for _ in range(rounds):
            load("ready-made", plain)
            load("the page", page)
            measured(
                "the page", _OPENED, chrome.driver.find_elements("class name", "row")[rows // 2]
            )
            article = chrome.run("return document.getElementById('turn').innerHTML")
            chrome.open(plain.as_uri())
            measured("ready-made", _INSERTED, article)
    print_table(f"loading {rows:,} turns in Chromium", loads, "ready-made")
    print_table("opening one of them", opens, "ready-made")


def make_turns(top: Path, count: int) -> None:
    """Add a commit and a checkpoint of it for each turn; the worktree is as the last one."""
    stream = "".join(_turns(top, count)).encode()
    subprocess.run(["git", "fast-import", "--quiet"], cwd=top, input=stream, check=True)
    subprocess.run(["git", "reset", "-q", "--hard", "main"], cwd=top, check=True)


def _turns(top: Path, count: int) -> Iterator[str]:
    chance = random.Random(1)
    files = {f"src/module_{number}.py": _lines(chance, 120) for number in range(40)}
    for number in range(count + 1):
        when = _BEGUN + number * _EVERY
        changed = list(files) if not number else chance.sample(list(files), 3)
        for path in changed[: len(changed) if number else 0]:
            start = chance.randrange(len(files[path]))
            files[path][start : start + 4] = _lines(chance, chance.randrange(1, 8))
        contents = {path: "\n".join(files[path]) + "\n" for path in changed}
        yield _commit("refs/heads/main", f"change {number}", when, contents, mark=number + 1)
        if number:
            identifier = new_id(when * 10**9)
            values = {
                "boocode": 1,
                "kind": "checkpoint",
                "id": identifier,
                "created_at": timestamp(when),
                "label": f"Turn {number}: make the parser of module {number % 40} faster",
                "agent": ("claude-code", "codex", "cursor")[number // 40 % 3],
                "session": f"session-{number // 40}",
                "worktree": {"name": "main", "path": os.fspath(top)},
                "head": {"ref": "refs/heads/main", "commit": None},
            }
            message = f"boocode checkpoint\n\n{json.dumps(values)}\n"
            ref = f"refs/boocode/checkpoints/{identifier}"
            # The tree of the commit before: a turn ends where the next one begins.
            yield _commit(ref, message, when, {}, from_mark=number)


def _commit(
    ref: str, message: str, when: int, files: dict[str, str], *, mark: int = 0, from_mark: int = 0
) -> str:
    lines = [
        f"commit {ref}",
        *([f"mark :{mark}"] if mark else []),
        f"committer {_WHO} {when} +0000",
    ]
    lines += [f"data {len(message.encode())}", message]
    lines += [f"from :{from_mark}"] if from_mark else []
    for path, content in files.items():
        lines += [f"M 100644 inline {path}", f"data {len(content.encode())}", content]
    return "\n".join([*lines, "", ""])


def _lines(chance: random.Random, count: int) -> list[str]:
    return [
        f"    value_{chance.randrange(100)} = compute({chance.randrange(1000)}, 'some words')"
        for _ in range(count)
    ]
