"""What one edit passes through: modules and hops from standard input to the answer.

A module counts if one of its functions is called, other than while modules are imported. A hop is a
pair of modules: a function of the first calls one of the second with the edit's text in its
arguments, however deep.
"""

from __future__ import annotations

import inspect
import io
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field, is_dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType, FrameType
from unittest.mock import patch

import git_boocode
from git_boocode.cli.entry import run as run_command

_PACKAGE = os.path.dirname(git_boocode.__file__) + os.sep
_FILE = "".join(f"def part_{number}(value):\n    return value + {number}\n" for number in range(30))
_MARK = "counted_by_the_benchmark"
_EDITS = {
    "exact": ("    return value + 7\n", f"    return {_MARK} + 7\n"),
    "whitespace": ("return value  +  7\n", f"return {_MARK}  +  7\n"),
}
_MAX_DEPTH = 6


@dataclass
class Walk:
    """The calls of one command."""

    calls: int = 0
    changes: int = 0
    modules: dict[str, None] = field(default_factory=dict)
    functions: dict[str, None] = field(default_factory=dict)
    hops: dict[tuple[str, str], str] = field(default_factory=dict)
    last: str = ""

    def see(self, frame: FrameType, event: str, _argument: object) -> None:
        """Note one event of `sys.setprofile`."""
        module = _module(frame.f_code)
        if event != "call" or module is None or _is_importing(frame):
            return
        self.calls += 1
        self.changes += module != self.last
        self.last = module
        self.modules.setdefault(module)
        name = getattr(frame.f_code, "co_qualname", frame.f_code.co_name)
        self.functions.setdefault(f"{module}:{name}")
        hop = (_caller(frame), module)
        if hop[0] not in ("", module) and hop not in self.hops and _carries(frame):
            self.hops[hop] = name


def _module(code: CodeType) -> str | None:
    if not code.co_filename.startswith(_PACKAGE):
        return None
    name = code.co_filename.removeprefix(_PACKAGE).removesuffix(".py").replace(os.sep, ".")
    return name.removesuffix(".__init__")


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if not frame.f_code.co_flags & inspect.CO_NEWLOCALS and _module(frame.f_code):
            return True
        frame = frame.f_back
    return False


def _caller(frame: FrameType) -> str:
    """The module that called a function, past what is not ours; empty if there is none."""
    above = frame.f_back
    while above is not None:
        if (module := _module(above.f_code)) is not None:
            return module
        above = above.f_back
    return ""


def _carries(frame: FrameType) -> bool:
    code = frame.f_code
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return any(_holds(frame.f_locals.get(name), _MAX_DEPTH) for name in names)


def _holds(value: object, depth: int) -> bool:
    if isinstance(value, str):
        return _MARK in value
    if isinstance(value, bytes):
        return _MARK.encode() in value
    return depth > 0 and any(_holds(inner, depth - 1) for inner in _inner(value))


def _inner(value: object) -> Iterator[object]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, (list, tuple)):
        yield from value
    elif is_dataclass(value) or type(value).__module__.startswith("git_boocode"):
        yield from getattr(value, "__dict__", {}).values()
        for name in getattr(type(value), "__slots__", ()):
            yield getattr(value, name, None)


def walk(old: str, new: str) -> Walk:
    """Apply one edit in a repository of its own, and note what it passes through."""
    seen = Walk()
    text = f'{{"path":"a.py","old_string":"{old}","new_string":"{new}"}}'.replace("\n", "\\n")
    with _repository() as top, redirect_stdout(io.TextIOWrapper(io.BytesIO())):
        stream = io.TextIOWrapper(io.BytesIO(text.encode()))
        with patch.object(sys, "stdin", stream), _profiled(seen.see):
            code = run_command(["apply-edit"])
        if code or _MARK not in Path(top, "a.py").read_text():
            raise RuntimeError("the edit was not applied")
    return seen


@contextmanager
def _repository() -> Iterator[str]:
    """A repository with one commit, as the current directory."""
    before = os.getcwd()
    with TemporaryDirectory() as top:
        Path(top, "a.py").write_text(_FILE)
        os.chdir(top)
        try:
            for words in ("init -q", "add a.py", "-c user.name=a -c user.email=a@b commit -qm a"):
                subprocess.run(["git", *words.split()], check=True)
            yield top
        finally:
            os.chdir(before)


@contextmanager
def _profiled(see: Callable[[FrameType, str, object], None]) -> Iterator[None]:
    sys.setprofile(see)
    try:
        yield
    finally:
        sys.setprofile(None)


def run(arguments: list[str]) -> None:
    """Print the counts of each edit, and with `-v` the modules and the first call of each hop."""
    for name, (old, new) in _EDITS.items():
        seen = walk(old, new)
        print(
            f"{name:<12} {len(seen.modules):3} modules {len(seen.hops):3} hops "
            f"{len(seen.functions):4} functions {seen.calls:5} calls {seen.changes:4} changes"
        )
        if "-v" in arguments:
            print("  modules:", *sorted(seen.modules))
            for (caller, module), function in seen.hops.items():
                print(f"  {caller} -> {module}:{function}")
