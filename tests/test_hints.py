"""The commands that messages name are commands; `tests.hint_kit` checks those that tests see."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hint_kit import HintError, check_hint, check_hints, commands_in

PACKAGE = Path(__file__).parents[1] / "git_boocode"


def texts_in(tree: ast.AST) -> Iterator[str]:
    """The strings of a module, with `<value>` for the words that are put into them."""
    inner: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            inner.update(node.values)
            parts = (getattr(part, "value", "") for part in node.values)
            yield "".join(part if isinstance(part, str) else "<value>" for part in parts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in inner:
            yield node.value


@pytest.mark.slow
def test_the_commands_in_messages_exist() -> None:
    for path in PACKAGE.rglob("*.py"):
        for text in texts_in(ast.parse(path.read_text(encoding="utf-8"))):
            # What is put behind a word is an option, such as `--user` or `--callback <file>`.
            for line in re.sub(r"( --|(?<=[a-z]))<value>", "", text).split("\n"):
                check_hint(line)


@pytest.mark.parametrize(
    ("hint", "commands"),
    [
        ("'git boocode undo' takes it back", ["undo"]),
        ("look at it first: git boocode show 01a2", ["show 01a2"]),
        ("there: git -C '/a b' boocode restore @ -- x", ["restore @ -- x"]),
        ("""'git boocode restore @ -- 'it'"'"'s'' does""", ["""restore @ -- 'it'"'"'s'"""]),
        ("'git boocode undo' or 'git boocode redo' does", ["undo", "redo"]),
        ("to find it: git boocode locate <path> < needle.txt", ["locate X"]),
        ("git boocode is not installed", []),
    ],
)
def test_commands_are_found(hint: str, commands: list[str]) -> None:
    assert [*commands_in(hint)] == commands


@pytest.mark.parametrize(
    ("argv", "hint"),
    [
        ((), "'git boocode restor @' does it"),
        ((), "'git boocode restore --all @' does it"),
        ((), "'git boocode undo @' does it"),
        ((), "'git boocode hooks remove' does it"),
        (("log", "--", "it's"), "'git boocode log -- it's' lists it"),
        (("undo",), "--head does it anyway"),
        (("restore", "--", "a"), "give one: git boocode restore @~1"),
        (("checkpoint", "a", "b"), "'git boocode checkpoint c' does it"),
    ],
)
def test_a_wrong_hint_is_found(argv: tuple[str, ...], hint: str) -> None:
    with pytest.raises(HintError):
        check_hints(argv, "", f"error: no\nhint: {hint}\n")
