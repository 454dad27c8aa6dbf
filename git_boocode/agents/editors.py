"""The extension in VS Code and in the editors made from it, by their own command lines."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from git_boocode.repo.errors import FatalError, RefusedError, shell_command, shortened
from git_boocode.repo.files import find_shipped, shipped_file
from git_boocode.repo.process import run_program

EXTENSION = "git-boocode.git-boocode"
"""The id of the extension: its publisher and its name."""
_PATIENCE = 120  # seconds for an editor to install it
_FAMILY = {
    "code": ".vscode",
    "code-insiders": ".vscode-insiders",
    "codium": ".vscode-oss",
    "cursor": ".cursor",
    "windsurf": ".windsurf",
    "code-server": ".local/share/code-server",
}
"""The programs, and the directory of each below the home directory."""


class Editor(NamedTuple):
    """An editor: its program, and the version of the extension that it has, empty for none."""

    program: str
    version: str = ""

    def as_json(self) -> dict[str, str | None]:
        """The editor in JSON answers."""
        return {"program": self.program, "version": self.version or None}


def editors_with_extension() -> list[Editor]:
    """The editors that have the extension, by their directories; no program is started."""
    found = ((name, _version_of(name)) for name in _FAMILY)
    return [Editor(name, version) for name, version in found if version]


def _version_of(program: str) -> str:
    """The version of the extension that an editor has; empty for none, and for an unknown one."""
    found = (path for top in _directories(program) for path in top.glob(f"{EXTENSION}-*"))
    return max((path.name.removeprefix(f"{EXTENSION}-") for path in found), default="")


def _directories(program: str) -> list[Path]:
    """Where an editor keeps its extensions, also on a machine that it uses from another one."""
    name = os.path.basename(program)
    if name not in _FAMILY:
        return []
    chosen = os.environ.get("VSCODE_EXTENSIONS")
    if chosen and name != "code-server" and (name == "code" or shutil.which(program)):
        return [Path(chosen)]
    own = Path.home() / _FAMILY[name]
    return [own / "extensions", own.with_name(f"{own.name}-server") / "extensions"]


def chosen_editors(program: str, *, to_remove: bool = False) -> list[Editor]:
    """The editors to change: a program, or those on the PATH; RefusedError if there is none.

    To remove the extension, only those that have it.
    """
    names = [program] if program else [*_FAMILY]
    there = [Editor(name, _version_of(name)) for name in names if shutil.which(name)]
    if not there:
        raise RefusedError(
            f"there is no program '{program}'" if program else "VS Code was not found on the PATH",
            code="not_found",
            hints=(
                f"looked for: {', '.join(names)}; name another one with --program",
                "in VS Code, 'Shell Command: Install code command in PATH' of the palette adds it",
            ),
        )
    return [each for each in there if each.version or program] if to_remove else there


@contextmanager
def extension_file() -> Iterator[str]:
    """The `.vsix` of this version; in a checkout, one that is packed now, for as long as needed."""
    if found := find_shipped("git-boocode.vsix"):
        yield found
        return
    from git_boocode.agents.vsix import packed

    source = Path(shipped_file("editors/vscode/package.json")).parent
    with tempfile.TemporaryDirectory(prefix="git-boocode-") as directory:
        path = Path(directory, "git-boocode.vsix")
        path.write_bytes(packed(source, source.parents[2] / "LICENSE"))
        yield str(path)


def install_extension(editor: Editor, file: str) -> None:
    """Have an editor install the extension, or renew it; FatalError if it does not."""
    _run((editor.program, "--install-extension", file, "--force"))


def remove_extension(editor: Editor) -> None:
    """Have an editor remove the extension; FatalError if it does not."""
    _run((editor.program, "--uninstall-extension", EXTENSION))


def _run(command: Sequence[str]) -> None:
    code, said = run_program(command, _PATIENCE)
    if code:
        reason = shortened(said.strip().split("\n")[-1]) or f"exit code {code}"
        raise FatalError(
            f"'{command[0]}' failed: {reason}",
            code="io",
            hints=(f"try it by hand: {shell_command(*command)}",),
        )
