"""Old text that begins or ends within a line, and drifted besides."""

from __future__ import annotations

import pytest

from git_boocode.matching import locate_match, replace_text

FILE = (
    "def shutdown(server):\n"
    '    """Stop a running server and wait for its workers."""\n'
    "    server.stop_listening()\n"
    "    for worker in server.workers:\n"
    "        worker.join(timeout=3)\n"
    "    report_shutdown(server, workers=len(server.workers))\n"
)
FIRST_CUT = (
    'wait for its workers."""\n    server.stop_listening()\n    for worker in server.wrokers:\n'
)
LAST_CUT = (
    "    for worker in server.wrokers:\n        worker.join(timeout=3)\n    report_shutdown(server"
)


def test_a_typo_beside_a_first_line_that_is_cut() -> None:
    new = FIRST_CUT.replace("stop_listening()", "close()")
    assert replace_text(FILE, FIRST_CUT, new).content == FILE.replace("stop_listening()", "close()")


def test_a_typo_beside_a_last_line_that_is_cut() -> None:
    new = LAST_CUT.replace("timeout=3", "timeout=9")
    assert replace_text(FILE, LAST_CUT, new).content == FILE.replace("timeout=3", "timeout=9")


def test_spacing_beside_a_line_that_is_cut() -> None:
    old = FIRST_CUT.replace("wrokers", "workers").replace("listening()", "listening( )")
    new = old.replace("for worker in", "for each in")
    assert replace_text(FILE, old, new).content == FILE.replace("for worker in", "for each in")


@pytest.mark.parametrize(
    ("old", "cut"), [(FIRST_CUT, ("its", "tis")), (LAST_CUT, ("shutdown", "shutdwon"))]
)
def test_a_typo_in_the_part_of_a_line(old: str, cut: tuple[str, str]) -> None:
    old = old.replace("wrokers", "workers").replace(*cut)
    new = old.replace("for worker in", "for each in")
    assert replace_text(FILE, old, new).content == FILE.replace("for worker in", "for each in")


def test_a_letter_missing_at_the_very_end_is_a_typo() -> None:
    block = "for worker in server.workers:\n    worker.join(timeout=3)\nreport(server.{})"
    content = "".join(f"    {line}\n" for line in block.format("size").split("\n"))
    done = replace_text(content, block.format("siz"), block.format("length"))
    assert done.content == content.replace("size", "length")


def test_a_part_is_completed_only_beside_the_lines_it_stands_with() -> None:
    old = 'wait for its workers."""\n    another.thing()\n    and_another.one()\n'
    assert locate_match(FILE, old).kind == "not_found"


@pytest.mark.parametrize("ending", ["", "\n"])
def test_a_number_is_not_cut(ending: str) -> None:
    content = "    report_unknown(name)\n    exit_with(1)\n    sleep 15\n"
    old = f"report_unknown(name)\nexit_with(1)\nsleep 1{ending}"
    assert locate_match(content, old).kind == "not_found"
