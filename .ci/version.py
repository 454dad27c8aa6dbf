#!/usr/bin/env python3
"""Set the version in every file that has it: .ci/version.py 0.2.0."""

from __future__ import annotations

import re
import sys
from pathlib import Path

_EDITORS, _PLUGIN = "hooks/editors", "hooks/plugin"
PLACES = {
    "git_boocode/__init__.py": 1,
    "hooks/agents/opencode/package.json": 1,
    f"{_EDITORS}/nvim/lua/boocode/server.lua": 1,
    f"{_EDITORS}/vim/import/boocode/server.vim": 1,
    f"{_EDITORS}/vscode/package.json": 1,
    f"{_EDITORS}/vscode/package-lock.json": 2,
    f"{_EDITORS}/vscode/src/server.js": 1,
    f"{_PLUGIN}/.claude-plugin/plugin.json": 1,
    f"{_PLUGIN}/.codex-plugin/plugin.json": 1,
    f"{_PLUGIN}/portable/gemini-extension.json": 1,
    f"{_PLUGIN}/portable/plugin.json": 1,
}
"""The files, each with the number of times that it has the version, before any other version."""
_VERSION = re.compile(r"""(version(?:__)?"?\s*[:=]\s*["'])(\d[^"']*)""")


def versions(top: Path) -> dict[str, list[str]]:
    """The versions that the files have."""
    texts = {name: (top / name).read_text(encoding="utf-8") for name in PLACES}
    return {
        name: [version for _, version in _VERSION.findall(text)[: PLACES[name]]]
        for name, text in texts.items()
    }


def set_version(top: Path, version: str) -> None:
    """Write the version to the files."""
    for name, count in PLACES.items():
        path = top / name
        text = path.read_text(encoding="utf-8")
        path.write_text(_VERSION.sub(rf"\g<1>{version}", text, count=count), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2 or not re.fullmatch(r"\d+\.\d+\.\d+", sys.argv[1]):
        sys.exit("usage: .ci/version.py <major>.<minor>.<patch>")
    set_version(Path(__file__).resolve().parents[1], sys.argv[1])
