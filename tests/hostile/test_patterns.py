"""No regular expression of the program can be made to run for long, whatever text it is given."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import git_boocode
from tests.hostile.backtracking import trouble

pytestmark = pytest.mark.quick

TOP = Path(git_boocode.__file__).parents[1]
FILES = sorted([*TOP.glob("git_boocode/**/*.py"), *TOP.glob("hooks/**/*.py")])
METHODS = frozenset(("search", "match", "fullmatch", "sub", "split", "findall", "finditer"))

DYNAMIC = {
    "git_boocode/repo/masking.py": "they make a constant",
    "git_boocode/repo/user_patterns.py": "a process of its own runs the user's, for seconds",
}
"""The files that make patterns while they run, and why none of these can run for long."""


class Use(NamedTuple):
    """A pattern, and the methods of it that are called."""

    where: str
    pattern: Any
    flags: int
    methods: frozenset[str]


def attributes(tree: ast.AST) -> dict[str, set[str]]:
    """The methods of patterns that are called of anything that has a name, by that name."""
    found: dict[str, set[str]] = defaultdict(set)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found[node.value.id].add(node.attr)
    return found


def named(
    module: Any, everywhere: Iterable[dict[str, set[str]]], here: dict[str, set[str]]
) -> Iterator[Use]:
    """The patterns to which a module gives names; those with a private one are used here only."""
    for name, value in vars(module).items():
        patterns = list(compiled_in(value))
        if not patterns:
            continue
        users = [here] if name.startswith("_") else everywhere
        methods = frozenset().union(*(found.get(name, ()) for found in users)) & METHODS
        for pattern in patterns:
            # One that is passed on may be used in any way.
            yield Use(name, pattern.pattern, pattern.flags, methods or METHODS)


def compiled_in(value: object) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict):
        yield from compiled_in([*value.values()])
    elif isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        for item in value:
            yield from compiled_in(item)


def calls(tree: ast.AST) -> Iterator[ast.Call]:
    """The calls of functions of `re` that take a pattern."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = node.func.value
            if isinstance(owner, ast.Name) and owner.id == "re" and node.func.attr != "escape":
                yield node


def constant(where: str, given: ast.expr) -> str | bytes | None:
    """A pattern as text, if it is written there or in a constant of a module of ours."""
    found = getattr(given, "value", None)
    if isinstance(given, ast.Name) and where.startswith("git_boocode/"):
        found = getattr(import_module(where.replace("/", ".")), given.id, None)
    return found if isinstance(found, (str, bytes)) else None


@cache
def tree_of(file: Path) -> ast.Module:
    return ast.parse(file.read_text())


@cache
def static() -> list[Use]:
    return list(_static())


def _static() -> Iterator[Use]:
    trees = {file: tree_of(file) for file in FILES}
    methods_by_file = {file: attributes(tree) for file, tree in trees.items()}
    everywhere = methods_by_file.values()
    for file, tree in trees.items():
        where = file.relative_to(TOP).with_suffix("").as_posix()
        if where.startswith("git_boocode/"):
            name = where.replace("/", ".").removesuffix(".__init__")
            for use in named(import_module(name), everywhere, methods_by_file[file]):
                yield use._replace(where=f"{where}:{use.where}")
        for call in calls(tree):
            function = call.func.attr if isinstance(call.func, ast.Attribute) else ""
            given = constant(where, call.args[0])
            if given is not None:
                methods = METHODS if function == "compile" else frozenset((function,))
                if function != "compile" or not where.startswith("git_boocode/"):
                    flags = [arg for arg in call.args[1:] if isinstance(arg, ast.Attribute)]
                    bits = sum(getattr(re, flag.attr, 0) for flag in flags)
                    yield Use(f"{where}:{call.lineno}", given, bits, methods)


@pytest.mark.slow
def test_no_pattern_backtracks_without_bound() -> None:
    problems = {}
    for use in static():
        flags = use.flags & ~re.UNICODE if isinstance(use.pattern, str) else use.flags
        if problem := trouble(use.pattern, flags, sorted(use.methods)):
            problems[use.where] = (problem, use.pattern)
    assert problems == {}


@pytest.mark.slow
def test_patterns_are_constants() -> None:
    found = set()
    for file in FILES:
        where = file.relative_to(TOP).with_suffix("").as_posix()
        inside = [node for node in ast.walk(tree_of(file)) if isinstance(node, ast.FunctionDef)]
        for function in inside:
            found |= {
                file.relative_to(TOP).as_posix()
                for call in calls(function)
                if constant(where, call.args[0]) is None
            }
    assert found == set(DYNAMIC)


@pytest.mark.parametrize(
    ("pattern", "method", "found"),
    [
        (r"(a+)+b", "match", "exponential"),
        (r"(a|a)*b", "match", "exponential"),
        (r"(?: (?:is|as|is))*x", "match", "exponential"),
        (r"(x+x+)+y", "fullmatch", "exponential"),
        (r"a*a*b", "match", "quadratic"),
        (r"\s+$", "sub", "quadratic"),
        (r"\d+-\d+", "search", "quadratic"),
        (r'"(?:[^"\\]|\\.)*"', "findall", "quadratic"),
        (r"/\*.*?\*/", "search", "quadratic"),
        (r"\s*(.*?)\s*x", "fullmatch", "quadratic"),
        (r"\w+", "findall", None),
        (r"^[ \t]*x", "search", None),
        (r"[ \t]*x", "match", None),
        (r'"(?:[^"\\]|\\.)*"', "match", None),
        (r"(?:[ \n]+|//[^\n]*|/\*.*?\*/)*", "match", None),
        (r"x{1,500}y", "search", None),
    ],
)
def test_backtracking_is_detected(pattern: str, method: str, found: str | None) -> None:
    said = trouble(pattern, 0, [method])
    assert said.startswith(found) if said and found else said is found
