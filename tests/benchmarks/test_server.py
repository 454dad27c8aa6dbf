"""The benchmark of the server: its tables come out, and the work is done."""

from __future__ import annotations

import pytest

from tests.benchmarks import server


def test_the_tables(capsys: pytest.CaptureFixture[str]) -> None:
    server.report_start(rounds=1)
    server.report_edits(rounds=2)
    server.report_checkpoints(20, rounds=1)
    server.report_memory(200)
    shown = capsys.readouterr().out
    for name in (
        *("start to the first answer", "apply_edit, one after the other", "locate, drifted"),
        *("git boocode apply-edit", "git status", "checkpoint, nothing changed"),
    ):
        assert f"\n{name}" in shown
    assert " ms against python, imports of the first answer\n" in shown
    assert " × git status\n" in shown
    assert "\n200 " in shown
