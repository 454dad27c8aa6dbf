"""What decides how git converts a file's bytes on their way into a blob.

An unchanged file is not read again, and the blob made of it stays; but only while the rules that it
was made by are the same: `git add` of a file that is UTF-16 gives another blob once an attribute
says so, although the file has not changed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from zlib import crc32

from git_boocode.repo.config import Config
from git_boocode.repo.git import nul_lines, nul_records
from git_boocode.repo.index import Index
from git_boocode.repo.repository import Repository

ATTRIBUTES = ".gitattributes"
_SECTIONS = ("core", "filter", "attr")
# Names a tree to read attributes from, as the setting `attr.tree` does.
_SOURCE = "GIT_ATTR_SOURCE"
# What `check-attr` answers for a file without a filter driver.
_NO_DRIVER = ("unspecified", "unset", "set")


def conversion_rules(repository: Repository, attributes: Iterable[str]) -> str:
    """A fingerprint of all that the conversions depend on.

    Args:
        repository: whose settings to look at.
        attributes: the `.gitattributes` files of the worktree.
    """
    config = repository.config
    files = [*_outside_attributes(repository), *attributes]
    settings = [config.section(name) for name in _SECTIONS]
    rules = os.fsencode(repr([*settings, repository.git.env.get(_SOURCE)]))
    return f"{crc32(rules):x}-{fingerprint_of_files(repository.worktree, files)}"


def may_convert(repository: Repository, paths: Iterable[str]) -> bool:
    """Whether any settings or attributes may let git convert the bytes of some files.

    Args:
        repository: the repository.
        paths: the files, from the top of the worktree.
    """
    autocrlf = repository.config.setting("core.autocrlf")
    if autocrlf is not None and (autocrlf.value is None or autocrlf.value.lower() != "false"):
        return True
    if repository.config.setting("attr.tree") or repository.git.env.get(_SOURCE):
        return True
    directories = {""}
    for path in paths:
        while (path := os.path.dirname(path)) not in directories:
            directories.add(path)
    inside = (os.path.join(directory, ATTRIBUTES) for directory in directories)
    files = (*_outside_attributes(repository), *inside)
    return any(os.path.lexists(os.path.join(repository.worktree, file)) for file in files)


def _outside_attributes(repository: Repository) -> tuple[str, ...]:
    """The files of attributes outside the worktree; a relative path counts from its top."""
    return (
        users_file(repository.config, "core.attributesFile", "attributes"),
        *_system_attributes(),
        os.path.join(repository.common_dir, "info/attributes"),
    )


def _system_attributes() -> Iterator[str]:
    """The files that git may read for the whole system, which depend on where it is installed."""
    yield "/etc/gitattributes"
    programs = (os.path.join(directory, "git") for directory in os.get_exec_path())
    program = next((path for path in programs if os.access(path, os.X_OK)), None)
    if program is not None:
        for path in {program, os.path.realpath(program)}:
            yield os.path.join(os.path.dirname(os.path.dirname(path)), "etc/gitattributes")


def filtered(index: Index, paths: Iterable[str], *options: str) -> list[str]:
    """The paths with a filter driver.

    Args:
        index: the index whose attributes count where the worktree has none.
        paths: the paths to look at.
        options: for `git check-attr`.
    """
    question = ("check-attr", *options, "-z", "--stdin", "filter")
    answers = nul_records(index.git.run(*question, stdin=nul_lines(paths)))
    drivers = zip(answers[::3], answers[2::3], strict=True)
    return [path for path, driver in drivers if driver not in _NO_DRIVER]


def users_file(config: Config, key: str, name: str) -> str:
    """Where the user keeps a file of rules that holds in every repository.

    Args:
        config: the configuration.
        key: the setting that says where.
        name: what it is called where git looks for it by default.
    """
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return config.path(key) or os.path.join(home, "git", name)


def fingerprint_of_files(top: str, paths: Iterable[str]) -> str:
    """A fingerprint of what some files hold.

    Args:
        top: where git runs; relative paths count from there.
        paths: the files; one that is missing or cannot be read counts as empty, as with git.
    """
    found = ((os.fsencode(path), _content(os.path.join(top, path))) for path in sorted(paths))
    whole = b"\0\0".join(part for pair in found for part in pair)
    return f"{len(whole):x}-{crc32(whole):x}"


def is_attributes(path: str) -> bool:
    """Whether a path is that of a `.gitattributes` file."""
    return path.rpartition("/")[2] == ATTRIBUTES


def _content(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""
