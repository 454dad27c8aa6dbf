#!/usr/bin/env python3
"""Assemble the changelog from the fragments in `changes/`.

.ci/changelog.py                 print what the next release has so far
.ci/changelog.py release 0.2.0   move it into CHANGELOG.md, dated today, and delete the fragments
.ci/changelog.py notes 0.2.0     print the section of a release
"""

from __future__ import annotations

import datetime
import re
import sys
import textwrap
from pathlib import Path

KINDS = {
    "breaking": "Breaking",
    "deprecated": "Deprecated",
    "security": "Security",
    "edits": "Edits",
    "proposals": "Proposals",
    "checkpoints": "Checkpoints",
    "agents": "Agents",
    "server": "Server",
    "editors": "Editors",
    "command-line": "Command line",
    "python": "Python",
    "install": "Installation",
}
"""The headings of a release, in order, by the kind in a fragment's name."""
UNRELEASED = "unreleased"
_SECTION = r"^## {version} – .*\n(?:(?!## ).*\n)*"


def fragments(top: Path) -> list[Path]:
    """The fragments, in the order of their names."""
    return sorted(path for path in (top / "changes").glob("*.md") if path.name != "README.md")


def entries(top: Path) -> dict[str, list[str]]:
    """The entries of the next release by heading, in the order of `KINDS`."""
    found: dict[str, list[str]] = {heading: [] for heading in KINDS.values()}
    for path in fragments(top):
        text = " ".join(path.read_text(encoding="utf-8").split())
        wrapped = textwrap.fill(
            text, 120, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False
        )
        found[KINDS[path.name.split(".")[-2]]].append(wrapped)
    return {heading: lines for heading, lines in found.items() if lines}


def assembled(changelog: str, new: dict[str, list[str]], version: str, date: str) -> str:
    """The changelog with the section of a release; what it already has of it comes first."""
    found = re.search(_SECTION.format(version=re.escape(version)), changelog, re.MULTILINE)
    section = found[0] if found else f"## {version} – {UNRELEASED}\n\n"
    if not section.startswith(f"## {version} – {UNRELEASED}\n"):
        sys.exit(f"error: {version} is already released")
    section = section.replace(UNRELEASED, date, 1).rstrip("\n")
    for heading, lines in new.items():
        part = re.search(rf"^### {heading}\n(?:(?!### ).*(?:\n|\Z))*", section, re.MULTILINE)
        added = "\n".join(lines)
        if part:
            old = part[0].rstrip("\n")
            section = section.replace(part[0], f"{old}\n{added}\n\n").rstrip("\n")
        else:
            section += f"\n\n### {heading}\n\n{added}"
    if found:
        return changelog.replace(found[0], f"{section}\n\n").rstrip("\n") + "\n"
    head, mark, rest = changelog.partition("\n## ")
    return f"{head}\n{section}\n{mark}{rest}" if mark else f"{head.rstrip()}\n\n{section}\n"


def notes(changelog: str, version: str) -> str:
    """The section of a version without its heading, for the page of the release."""
    found = re.search(_SECTION.format(version=re.escape(version)), changelog, re.MULTILINE)
    if not found:
        sys.exit(f"error: CHANGELOG.md has no section '{version}'")
    heading, text = found[0].split("\n", 1)
    if heading.endswith(UNRELEASED):
        sys.exit(f"error: {version} is unreleased; run .ci/prepare-release {version}")
    return text.strip("\n") + "\n"


def main(arguments: list[str], top: Path) -> None:
    """Run the command that the arguments name."""
    path = top / "CHANGELOG.md"
    if not arguments:
        for heading, lines in entries(top).items():
            print(f"### {heading}\n", *lines, "", sep="\n")
        return
    command, version = arguments
    changelog = path.read_text(encoding="utf-8")
    if command == "notes":
        print(notes(changelog, version), end="")
    elif command == "release":
        today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
        path.write_text(assembled(changelog, entries(top), version, today), encoding="utf-8")
        for fragment in fragments(top):
            fragment.unlink()
    else:
        sys.exit(f"error: unknown command '{command}'")


if __name__ == "__main__":
    main(sys.argv[1:], Path(__file__).resolve().parents[1])
