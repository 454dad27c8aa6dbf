"""One command sets the version everywhere."""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
from pathlib import Path
from typing import Any

from git_boocode import __version__

TOP = Path(__file__).parents[2]
VERSION: dict[str, Any] = runpy.run_path(str(TOP / ".ci/version.py"))
PLACES: dict[str, int] = VERSION["PLACES"]


def test_every_file_has_the_version() -> None:
    found = VERSION["versions"](TOP)
    assert found == {name: [__version__] * count for name, count in PLACES.items()}


def test_no_shipped_file_has_it_beside_these() -> None:
    """Except for the files that are generated."""
    quoted = re.compile(rf"""(?<!_VERSION = )["']{re.escape(__version__)}["']""")
    files = [path for folder in ("git_boocode", "hooks") for path in (TOP / folder).rglob("*.*")]
    texts = {
        str(path.relative_to(TOP)): path.read_text(encoding="utf-8")
        for path in files
        if path.suffix in (".js", ".json", ".lua", ".md", ".py", ".ts", ".vim", ".yaml")
        if "node_modules" not in path.parts
    }
    counts = {name: len(quoted.findall(text)) for name, text in texts.items()}
    assert {name: count for name, count in counts.items() if count} == PLACES


def test_the_version_is_set(tmp_path: Path) -> None:
    (tmp_path / ".ci").mkdir()
    shutil.copy(TOP / ".ci/version.py", tmp_path / ".ci")
    for name in PLACES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(TOP / name, tmp_path / name)
    # npm, and so VS Code, spells prereleases in another way than Python.
    for wrong in ("v9", "9.8.7rc1"):
        refused = subprocess.run(
            [tmp_path / ".ci/version.py", wrong], capture_output=True, text=True
        )
        assert (refused.returncode, refused.stderr[:6]) == (1, "usage:")
    assert VERSION["versions"](tmp_path) == VERSION["versions"](TOP)
    subprocess.run([tmp_path / ".ci/version.py", "9.8.7"], check=True)
    assert VERSION["versions"](tmp_path) == {name: ["9.8.7"] * n for name, n in PLACES.items()}
