"""The extension for VS Code in `git boocode hooks install` and `uninstall`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from git_boocode.agents.editors import (
    chosen_editors,
    editors_with_extension,
    extension_file,
    install_extension,
    remove_extension,
)
from git_boocode.cli.framework import Decorator, option, refuse_together
from git_boocode.cli.output import print_feedback, print_json, wants_json

EDITORS = ("vscode",)


_OTHERS = {"git": "--git", "names": "--agent", "exclude": "--exclude", "scope": "the scope"}


def or_extension(*, removes: bool) -> Decorator:
    """A decorator by which a command changes the extension instead, if an editor is named."""

    def decorate(command: Callable[..., int]) -> Callable[..., int]:
        @wraps(command)
        def changed(editor: str | None, program: str | None, **given: Any) -> int:  # noqa: ANN401 - click's
            if editor is None and program is not None:
                raise click.UsageError("option '--program' needs '--editor'")
            if editor is None:
                return command(**given)
            for name, shown in _OTHERS.items():
                refuse_together(("--editor", True), (shown, bool(given.get(name))))
            return _change(program or "", removes=removes, dry_run=given["dry_run"])

        text = "The extension for this editor: vscode, and all that are made from it."
        only = "With --editor, only this one of the editors on the PATH."
        with_program = option("--program <program>", only)(changed)
        return option("--editor <name>", text, type=click.Choice(EDITORS))(with_program)

    return decorate


def _change(program: str, *, removes: bool, dry_run: bool) -> int:
    """Install or remove the extension in the editors that are there."""
    editors = chosen_editors(program, to_remove=removes)
    if not dry_run and removes:
        for editor in editors:
            remove_extension(editor)
    elif not dry_run:
        with extension_file() as file:
            for editor in editors:
                install_extension(editor, file)
    if wants_json():
        rows = [each.as_json() for each in editors]
        print_json({"ok": True, "dry_run": dry_run, "hooks": [], "notes": [], "editors": rows})
        return 0
    for editor in editors:
        verb = "remove" if removes else "renew" if editor.version else "install"
        done = f"would {verb}" if dry_run else f"{verb.removesuffix('e')}ed"
        print_feedback(f"{done} the extension {'from' if removes else 'in'} {editor.program}")
    if not editors:
        print_feedback("no editor has the extension")
    return 0


def extension_lines() -> list[str]:
    """What `hooks status` says about the extension."""
    return [f"extension in {name}: version {version}" for name, version in editors_with_extension()]


def extension_rows() -> list[dict[str, str | None]]:
    """The same as data."""
    return [each.as_json() for each in editors_with_extension()]
