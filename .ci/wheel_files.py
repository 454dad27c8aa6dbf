"""What the wheel has beside the files of the source: a hook of hatchling, which builds us.

`git help boocode-restore` looks for `gitboocode-restore`, as no program is called
`git-boocode-restore`. Each alias is a page of one line that leads to the real one. The extension
for VS Code is packed. All is made here, in a directory of the build.
"""

from __future__ import annotations

import runpy
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class WheelFiles(BuildHookInterface):
    """Adds the alias pages to the manual, and the extension to the shipped hooks."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """See `BuildHookInterface.initialize`."""
        self._directory = Path(tempfile.mkdtemp())
        top = Path(self.root)
        pages = self._directory / "man1"
        pages.mkdir()
        for page in sorted(top.glob("man/man[17]/git-boocode-*")):
            alias = pages / f"gitboocode-{page.stem.removeprefix('git-boocode-')}.1"
            alias.write_text(f".so {page.parent.name}/{page.name}\n", encoding="utf-8")
        build_data["shared_data"][str(pages)] = "share/man/man1"
        pack = runpy.run_path(str(top / "git_boocode/agents/vsix.py"))["packed"]
        extension = self._directory / "git-boocode.vsix"
        extension.write_bytes(pack(top / "hooks/editors/vscode", top / "LICENSE"))
        build_data["force_include"][str(extension)] = f"git_boocode/shipped_hooks/{extension.name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """See `BuildHookInterface.finalize`."""
        shutil.rmtree(self._directory)
