"""What decides how git converts a file's bytes on their way into a blob."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from zlib import crc32

from git_boocode.checkpoints.worktree.indexer import directories_of
from git_boocode.repo.git import nul_lines, nul_records
from git_boocode.repo.index import Index
from git_boocode.repo.repository import Repository

_NAME = ".gitattributes"
_SECTIONS = ("core", "filter", "attr")
# Names a tree to read attributes from, as the setting `attr.tree` does.
_SOURCE = "GIT_ATTR_SOURCE"
# What `check-attr` answers for a file without a filter driver.
_NO_DRIVER = ("unspecified", "unset", "set")


def conversion_rules(repository: Repository) -> str:
    """A fingerprint of all rules for conversions but the `.gitattributes` files of the worktree.

    `git add` of an unchanged UTF-16 file gives another blob once an attribute says so: what was
    recorded under other rules must be read again.
    """
    found: list[object] = [repository.config.section(name) for name in _SECTIONS]
    found.append(repository.git.env.get(_SOURCE))
    for path in _outside_attributes(repository):
        # What is missing or cannot be read counts as empty, as with git.
        with suppress(OSError), open(path, "rb") as file:
            found.append((path, file.read()))
    rules = repr(found)
    return f"{len(rules):x}-{crc32(os.fsencode(rules)):x}"


def is_attributes(path: str) -> bool:
    """Whether a path is that of a `.gitattributes` file."""
    return path.rpartition("/")[2] == _NAME


def may_convert(repository: Repository, paths: Iterable[str]) -> bool:
    """Whether any settings or attributes may let git convert the bytes of some files."""
    autocrlf = repository.config.setting("core.autocrlf")
    if autocrlf is not None and (autocrlf.value is None or autocrlf.value.lower() != "false"):
        return True
    if repository.config.setting("attr.tree") or repository.git.env.get(_SOURCE):
        return True
    directories = ("", *directories_of(paths))
    inside = (os.path.join(repository.worktree, directory, _NAME) for directory in directories)
    return any(map(os.path.lexists, (*_outside_attributes(repository), *inside)))


def _outside_attributes(repository: Repository) -> Iterator[str]:
    """The files with attributes outside the worktree; they need not exist."""
    config_home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    own = repository.config.path("core.attributesFile")
    yield os.path.join(repository.worktree, own or os.path.join(config_home, "git/attributes"))
    yield os.path.join(repository.common_dir, "info/attributes")
    # Those for the whole system depend on where git is installed.
    yield "/etc/gitattributes"
    programs = (os.path.join(directory, "git") for directory in os.get_exec_path())
    program = next((path for path in programs if os.access(path, os.X_OK)), None)
    for path in dict.fromkeys((program, os.path.realpath(program))) if program else ():
        yield os.path.join(os.path.dirname(os.path.dirname(path)), "etc/gitattributes")


def filtered(index: Index, paths: Iterable[str], *options: str) -> list[str]:
    """The paths with a filter driver, by the attributes of the worktree and of the index.

    Options are for `git check-attr`.
    """
    question = ("check-attr", *options, "-z", "--stdin", "filter")
    answers = nul_records(index.git.run(*question, stdin=nul_lines(paths)))
    drivers = zip(answers[::3], answers[2::3], strict=True)
    return [path for path, driver in drivers if driver not in _NO_DRIVER]
