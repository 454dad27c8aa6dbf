"""The manual pages that `git help boocode-restore` looks for: a hook of hatchling, which builds us.

git looks for `gitboocode-restore`, as no program is called `git-boocode-restore`. Each alias is a
page of one line that leads to the real one; all are made here, in the directory of the build.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class AliasPages(BuildHookInterface):
    """Adds the alias pages to the manual in the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """See `BuildHookInterface.initialize`."""
        self._directory = Path(tempfile.mkdtemp())
        for page in sorted(Path(self.root, "man").glob("man[17]/git-boocode-*")):
            alias = self._directory / f"gitboocode-{page.stem.removeprefix('git-boocode-')}.1"
            alias.write_text(f".so {page.parent.name}/{page.name}\n", encoding="utf-8")
        build_data["shared_data"][str(self._directory)] = "share/man/man1"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """See `BuildHookInterface.finalize`."""
        shutil.rmtree(self._directory)
