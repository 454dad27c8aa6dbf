"""Keep our refs out of the decorations of `git log`, where git would show them.

Git 2.38 and newer decorate with branches, tags and the like alone, unless one of
`log.initialDecorationSet` and `log.excludeDecoration` is set. Setting the latter there would show
the refs of others. It is added to the repository's own configuration in marked lines, which are
removed byte for byte.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from git_boocode.agents.file_edits import FileEdit, read_file
from git_boocode.agents.git_install import git_version
from git_boocode.repo.config import configured
from git_boocode.repo.layout import ALL_REFS
from git_boocode.repo.repository import Repository

SETTING = "log.excludeDecoration"
_TITLE = f"{SETTING} in the configuration"
# The first version of git that decorates with some refs only.
_SOME_SINCE = (2, 38)
_PATTERNS = frozenset((ALL_REFS, ALL_REFS.rstrip("/"), f"{ALL_REFS}*", f"{ALL_REFS}**"))
_BEGIN = b"# >>> git-boocode >>>\n"
_SECTION = b"[log]\n"
_LINE = b"\texcludeDecoration = %s\n" % ALL_REFS.encode()
_END = b"# <<< git-boocode <<<\n"
_PART = _BEGIN + _SECTION + _LINE + _END
_BOM = b"\xef\xbb\xbf"


def shows_our_refs(repository: Repository) -> bool:
    """Whether `git log` decorates commits with our refs here."""
    excluded = configured(repository.git, SETTING)
    if not _PATTERNS.isdisjoint(excluded):
        return False
    initial = repository.config.text("log.initialDecorationSet")
    return bool(excluded) or initial == "all" or git_version(repository) < _SOME_SINCE


def with_decoration(
    repository: Repository, edits: Sequence[FileEdit], *, excluded: bool
) -> list[FileEdit]:
    """The edits, with the one that adds our setting, or removes it if it is there."""
    path = os.path.join(repository.common_dir, "config")
    # Git's hooks may be added to the same file.
    first = next((edit for edit in edits if edit.path == path), None)
    data = (read_file(path) if first is None else first.after) or b""
    after = _added(data) if excluded else _removed(data)
    if after == data:
        return list(edits)
    if first is None:
        return [*edits, FileEdit(path, data, after, None, _TITLE)]
    both = first._replace(after=after, title=f"{first.title}; {SETTING}")
    return [both if edit is first else edit for edit in edits]


def _added(data: bytes) -> bytes:
    if _BEGIN + _SECTION in data:
        return data
    # At the top: git keeps an emptied section, such as that of a hook, if a comment follows it.
    mark, rest = (_BOM, data.removeprefix(_BOM)) if data.startswith(_BOM) else (b"", data)
    return mark + _PART + rest


def _removed(data: bytes) -> bytes:
    if _PART in data:
        return data.replace(_PART, b"", 1)
    # Git has added other settings of that section between our lines.
    begin, end = data.find(_BEGIN + _SECTION), data.find(_END)
    if begin < 0 or end < begin:
        return data
    between = data[begin + len(_BEGIN) : end].replace(_LINE, b"", 1)
    return data[:begin] + between + data[end + len(_END) :]
