"""How git converts the bytes of files: by settings, and by attributes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from zlib import crc32

from git_boocode.checkpoints.worktree.indexer import directories_of
from git_boocode.repo.git import nul_lines, nul_records
from git_boocode.repo.index import Index
from git_boocode.repo.repository import Repository

_ATTRIBUTES = ".gitattributes"
_SECTIONS = ("core", "filter", "attr")
# The tree to read attributes from, like the setting `attr.tree`.
_SOURCE = "GIT_ATTR_SOURCE"
# The answers of `check-attr` for a file without a filter driver.
_NO_DRIVER = ("unspecified", "unset", "set")


def conversion_rules(repository: Repository) -> str:
    """A fingerprint of all conversion rules except the worktree's `.gitattributes` files.

    With other attributes, `git add` makes another blob of an unchanged file, for example if it is
    UTF-16. If the rules change, all files must be read again.
    """
    found: list[object] = [repository.config.section(name) for name in _SECTIONS]
    found.append(repository.git.env.get(_SOURCE))
    for path in _outside_attributes(repository):
        # A missing or unreadable file counts as empty, as in git.
        with suppress(OSError), open(path, "rb") as file:
            found.append((path, file.read()))
    rules = repr(found)
    return f"{len(rules):x}-{crc32(os.fsencode(rules)):x}"


def is_attributes(path: str) -> bool:
    """Whether a path is that of a `.gitattributes` file."""
    return path.rpartition("/")[2] == _ATTRIBUTES


def may_convert(repository: Repository, paths: Iterable[str]) -> bool:
    """Whether settings or attributes may make git convert the bytes of some files."""
    autocrlf = repository.config.setting("core.autocrlf")
    if autocrlf is not None and (autocrlf.value is None or autocrlf.value.lower() != "false"):
        return True
    if repository.config.setting("attr.tree") or repository.git.env.get(_SOURCE):
        return True
    directories = ("", *directories_of(paths))
    inside = (
        os.path.join(repository.worktree, directory, _ATTRIBUTES) for directory in directories
    )
    return any(map(os.path.lexists, (*_outside_attributes(repository), *inside)))


def _outside_attributes(repository: Repository) -> Iterator[str]:
    """The attribute files outside the worktree; they need not exist."""
    config_home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    own = repository.config.path("core.attributesFile")
    yield os.path.join(repository.worktree, own or os.path.join(config_home, "git/attributes"))
    yield os.path.join(repository.common_dir, "info/attributes")
    # The system's attributes depend on git's installation directory.
    yield "/etc/gitattributes"
    programs = (os.path.join(directory, "git") for directory in os.get_exec_path())
    program = next((path for path in programs if os.access(path, os.X_OK)), None)
    for path in dict.fromkeys((program, os.path.realpath(program))) if program else ():
        yield os.path.join(os.path.dirname(os.path.dirname(path)), "etc/gitattributes")


def paths_with_filter(index: Index, paths: Iterable[str], *options: str) -> list[str]:
    """The paths that have a filter driver; `options` are for `git check-attr`."""
    question = ("check-attr", *options, "-z", "--stdin", "filter")
    answers = nul_records(index.git.run(*question, stdin=nul_lines(paths)))
    drivers = zip(answers[::3], answers[2::3], strict=True)
    return [path for path, driver in drivers if driver not in _NO_DRIVER]
