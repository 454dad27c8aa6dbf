"""The tests run where a distribution lacks pytest-git."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

RUN = "import sys; sys.modules['pytest_git'] = None; import pytest; sys.exit(pytest.main())"


@pytest.mark.slow
def test_git_itself_makes_their_repository() -> None:
    words = [sys.executable, "-c", RUN, "-q", "-n", "0", "-p", "no:cacheprovider"]
    words += ["-p", "xdist.plugin", "-p", "_hypothesis_pytestplugin"]
    done = subprocess.run(
        [*words, "tests/repo/test_repository.py"],
        cwd=Path(__file__).parents[1],
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout
