"""Which files a tool names that an agent is about to run."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator

from git_boocode.agents.agent import Fields
from git_boocode.agents.payload import Payload
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.files import inside_worktree

_NAMES = ("file_path", "filePath", "path", "absolute_path", "target_file", "notebook_path")
_LISTS = ("files", "edits")
_PATCHES = ("input", "patch", "patch_text", "patchText", "command", "cmd")
_PATCH = "*** Begin Patch"
_IN_PATCH = re.compile(r"^\*\*\* (?:(?:Update|Add|Delete) File|Move to): (.+)$", re.MULTILINE)
_MOST = 100
_LONGEST = 4096
# As tools are called that change no file, whatever is between the words.
_READING = frozenset(
    (
        *("read", "readfile", "readmanyfiles", "readnotebook", "view", "viewfile", "open", "cat"),
        *("grep", "grepsearch", "search", "searchfiles", "searchfilecontent", "filesearch"),
        *("glob", "ls", "list", "listdir", "listdirectory", "listfiles", "codebasesearch"),
        *("listcodedefinitionnames", "semanticsearch"),
    )
)


def reads_only(tool: str) -> bool:
    """Whether a tool is known to change no file, by its name."""
    return re.sub("[^a-z]", "", tool[:_LONGEST].lower()) in _READING


def named_files(payload: Payload, fields: Fields) -> list[str]:
    """The files that a tool names, as it spells them.

    Args:
        payload: what the agent tells.
        fields: where it tells what.
    """
    found = payload.texts(fields.files)
    for given in payload.values(fields.tool_input):
        found += _in_input(given)
    return list(dict.fromkeys(found))


def _in_input(given: object) -> Iterator[str]:
    if isinstance(given, str):
        decoded = _decoded(given)
        yield from _in_patch(given) if decoded is None else _in_input(decoded)
    elif isinstance(given, dict):
        for key, value in given.items():
            yield from _under(key, value)
    else:
        # The words of a command.
        yield from _in_patch(given)


def _under(key: str, value: object) -> Iterator[str]:
    if key in _NAMES and isinstance(value, str):
        yield value
    elif key in _LISTS and isinstance(value, list):
        for each in value:
            yield from [each] if isinstance(each, str) else _named(each)
    elif key in _PATCHES:
        yield from _in_patch(value)


def _named(given: object) -> Iterator[str]:
    found = [given.get(key) for key in _NAMES] if isinstance(given, dict) else []
    return (value for value in found if isinstance(value, str))


def _decoded(text: str) -> object:
    """The object or list that a text is as JSON; None if it is none."""
    try:
        value = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None


def _in_patch(given: object) -> Iterator[str]:
    for text in given if isinstance(given, list) else [given]:
        if isinstance(text, str) and _PATCH in text:
            yield from (name.strip() for name in _IN_PATCH.findall(text))


def pathspecs(top: str, directory: str, names: Iterable[str]) -> tuple[str, ...]:
    """Pathspecs for just the files in a worktree among some; directories are none.

    Args:
        top: the top of the worktree.
        directory: what relative names count from.
        names: as a tool spells them.
    """
    paths = (_below(top, directory, name) for name in names if len(name) <= _LONGEST)
    found = dict.fromkeys(path for path in paths if path is not None)
    return tuple(f":(top,literal){path}" for path in list(found)[:_MOST])


def _below(top: str, directory: str, name: str) -> str | None:
    try:
        full = os.path.join(directory, os.path.expanduser(name))
        path = inside_worktree(top, full)
        os.fsencode(path)
    except (RefusedError, ValueError, OSError):
        return None
    is_directory = os.path.isdir(full) and not os.path.islink(full)
    return None if is_directory else path
