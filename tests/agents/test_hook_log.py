"""What went wrong in hooks is kept in a small log, which doctor shows."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from git_boocode.agents.hook_state import entries, log, log_path, newest
from tests.agents.kit import fire, turn
from tests.repo_kit import Repo


def write(state: Path, message: str = "it failed", what: str = "bug") -> None:
    """Log something."""
    log(str(state), "codex", "UserPromptSubmit", "/somewhere", what, message)


def test_an_entry_comes_back(tmp_path: Path) -> None:
    write(tmp_path, "a\nb \udcff\x1b[0m “x”")
    (entry,) = entries(str(tmp_path), since=0)
    assert entry[1:] == ("codex", "UserPromptSubmit", "/somewhere", "bug", "a\nb \udcff\x1b[0m “x”")
    path = Path(log_path(str(tmp_path)))
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.read_bytes().count(b"\n") == 1
    assert entries(str(tmp_path), since=time.time() + 60) == []


def test_it_stays_small(tmp_path: Path) -> None:
    for number in range(1000):
        write(tmp_path, f"{number} " + "x" * 2000)
    sizes = [path.stat().st_size for path in tmp_path.glob("hooks.log*")]
    assert max(sizes) <= 64 << 10
    assert sum(sizes) > 64 << 10
    found = [int(entry.message.split()[0]) for entry in entries(str(tmp_path), since=0)]
    assert found == list(range(found[0], 1000))
    assert {path.name for path in tmp_path.iterdir()} == {
        "hooks.log",
        "hooks.log.1",
    }


def test_many_may_write_at_once(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda number: write(tmp_path, f"{number} {'x' * 300}"), range(250)))
    found = sorted(int(entry.message.split()[0]) for entry in entries(str(tmp_path), since=0))
    # No line is lost or torn, and the log was rotated once.
    assert found == list(range(250))
    assert (tmp_path / "hooks.log.1").stat().st_size > 60_000


def test_half_an_entry_costs_no_other_one(tmp_path: Path) -> None:
    """As it is left where the disk became full."""
    write(tmp_path, "one")
    with open(log_path(str(tmp_path)), "ab") as file:
        file.write(b'{"time": "20')
    write(tmp_path, "two")
    assert [entry.message for entry in entries(str(tmp_path), since=0)] == ["one", "two"]


def test_lines_that_cannot_be_read_are_left_out(tmp_path: Path) -> None:
    write(tmp_path, "one")
    with open(log_path(str(tmp_path)), "ab") as file:
        file.write(b'garbage\n\xff\n[1]\n{"time": 1}\n{"time": "2999", "agent": null}\n{"half')
        file.write(b"\n")
    write(tmp_path, "two")
    found = entries(str(tmp_path), since=0)
    assert [entry.message for entry in found] == ["one", "", "two"]


def test_where_nothing_can_be_written_nothing_is(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    write(tmp_path / "file")
    assert entries(str(tmp_path / "file"), since=0) == []


def test_the_newest_are_counted(tmp_path: Path) -> None:
    for message in ("a", "b", "a", "c", "a"):
        write(tmp_path, message)
    found = newest(entries(str(tmp_path), since=0), 2)
    assert [(entry.message, count) for entry, count in found] == [("a", 3), ("c", 1)]


def test_doctor_shows_it_and_is_content(repo: Repo) -> None:
    assert repo.boocode("doctor").out == "no problems found\n"
    fire(repo, "claude-code", "Nothing", payload=b"{}")
    fire(repo, "claude-code", "Nothing", payload=b"{}")
    fire(repo, "nobody\x1b[0m", "UserPromptSubmit", payload=b"{}")
    old = {"time": "2020-01-01T00:00:00.000Z", "message": "long ago"}
    log_file = repo.top / ".git/boocode/hooks.log"
    log_file.write_text(json.dumps(old) + "\n" + log_file.read_text())
    done = repo.boocode("doctor")
    assert (done.code, done.err) == (0, "")
    first, newest_line, other, where = done.out.splitlines()
    assert first == "hooks reported 3 problems in the last 7 days"
    assert "nobody?[0m" in newest_line
    assert "claude-code Nothing" in other
    assert other.endswith(" (2 times)")
    assert where == f"  log: the whole log is '{log_file}'"
    answer = repo.boocode("doctor", "--json")
    assert (answer.code, answer.json["ok"]) == (0, True)
    (finding,) = answer.json["findings"]
    assert (finding["kind"], finding["past"], finding["fixed"]) == ("hooks", True, False)
    assert finding["paths"] == [str(log_file)]
    assert len(finding["lines"]) == 2


def test_what_is_amiss_besides_still_counts(repo: Repo) -> None:
    turn(repo, transcript_path="nowhere")
    repo.write(".git/index.lock")
    done = repo.boocode("doctor", "--json")
    assert done.code == 1
    assert [finding["past"] for finding in done.json["findings"]] == [False, True]
