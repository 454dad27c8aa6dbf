"""What holds for every callback that ships: one readable file that runs as it is."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from git_boocode.checkpoints.callback import SHIPPED
from tests.hooks.kit import callback

TOP = Path(__file__).parents[2]
CALLBACKS = ["claude-code", "http", "sqlite", "trim-jsonl"]


def test_all_are_known() -> None:
    assert sorted(os.listdir(TOP / "hooks/callbacks")) == CALLBACKS


@pytest.mark.parametrize("name", CALLBACKS)
def test_it_runs_as_it_is(name: str) -> None:
    path = Path(callback(name))
    assert path.stat().st_mode & 0o111 == 0o111
    start = path.read_bytes().split(b"\n")[:3]
    assert start[0] == b"#!/bin/sh"
    assert start[1].startswith(b"''''unset PYTHONEXECUTABLE ")
    assert start[2].startswith(b'exec "${BOOCODE_PYTHON:-python3}" -I ')


@pytest.mark.parametrize("name", CALLBACKS)
def test_it_needs_nothing_but_the_standard_library(name: str) -> None:
    tree = ast.parse(Path(callback(name)).read_bytes(), feature_version=(3, 10))
    assert set(imported(tree)) <= sys.stdlib_module_names


def imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").split(".")[0]


def test_they_are_found_by_their_names() -> None:
    assert (*CALLBACKS,) == SHIPPED


@pytest.mark.parametrize("name", CALLBACKS)
def test_it_says_how_to_use_it(name: str) -> None:
    # The first statement is the one that `sh` runs.
    tree = ast.parse(Path(callback(name)).read_bytes())
    head = ast.get_docstring(ast.Module(tree.body[1:], [])) or ""
    assert head.startswith("A callback for git-boocode: ")
    assert f"git config boocode.callback {name}\n" in head
    for event in ("prepare", "trim", "undo", "rollback"):
        assert f"\n    {event} " in head
    manual = (TOP / "man/callback.md").read_text(encoding="utf-8")
    assert f"\n`{name}`\n: " in manual
    for document in ("README.md", "hooks/README.md", "CHANGELOG.md"):
        assert f"`{name}`" in (TOP / document).read_text(encoding="utf-8").replace("callbacks/", "")
