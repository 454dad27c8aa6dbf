"""The benchmark of hooks: its table comes out, and it measures what it says."""

from __future__ import annotations

import pytest

from tests.benchmarks import hooks
from tests.benchmarks.test_checkpoints import rows


def test_the_table_of_a_size(capsys: pytest.CaptureFixture[str]) -> None:
    hooks.report(20, rounds=1)
    table = rows(capsys.readouterr().out)
    assert table[""] == ["median", "ms", "x", "pass", "x", "checkpoint"]
    assert table["python -c pass"][1] == "1.00"
    assert len(table["hook before a turn"]) == 3
