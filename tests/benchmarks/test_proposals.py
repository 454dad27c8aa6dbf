"""The benchmark of proposals: its tables come out, and the work is done."""

from __future__ import annotations

import pytest

from tests.benchmarks import proposals
from tests.benchmarks.test_checkpoints import rows


def test_the_tables_of_a_size(capsys: pytest.CaptureFixture[str]) -> None:
    proposals.report(20, 5, rounds=1)
    table = rows(capsys.readouterr().out)
    assert table["git status"][1] == "1.00"
    assert table["git commit of one file"][1] == "1.00"
    for name in ("status --porcelain", "propose one file", "accept it"):
        assert len(table[name]) == 2
