"""Every cell of context, file and output: its letter, and what each command makes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import pytest

from git_boocode.proposals.acceptance import AcceptRefusedError
from git_boocode.repo.errors import RefusedError
from tests.proposals import kit
from tests.proposals.kit import ProposedFile, Version, found_at, letters, put
from tests.repo_kit import Repo

REFUSED = Version(b"refused", "")
NOTHING = Version(b"nothing to accept", "")

BASE = Version(b"1\n2\n3\n4\n5\n")
MODEL = Version(b"1\nmodel\n3\n4\n5\n")
USER = Version(b"1\n2\n3\n4\nuser\n")
CLASH = Version(b"1\nuser\n3\n4\n5\n")
BOTH = Version(b"1\nmodel\n3\n4\nuser\n")
MARKED = Version(b"1\n<<<<<<< local\nuser\n=======\nmodel\n>>>>>>> proposal\n3\n4\n5\n")
ADDED_MARKED = Version(
    b"<<<<<<< local\n" + CLASH.data + b"=======\n" + MODEL.data + b">>>>>>> proposal\n"
)
BINARY = Version(b"\0\1\n2\n")
BINARY_MODEL = Version(b"\0\1\nmodel\n")
BINARY_USER = Version(b"\0\1\nuser\n")
LINK = Version(b"elsewhere", "120000")
DIRECTORY = Version(b"the user's\n", "040000")


def executable(version: Version) -> Version:
    return version._replace(mode="100755")


class Cell(NamedTuple):
    """A cell: the three versions, the letter, and the file after each command.

    REFUSED: the command is refused; NOTHING: there is nothing to accept. `synced` is the letter
    after `sync`, and `warns` whether that warns.
    """

    context: Version | None
    local: Version | None
    output: Version | None
    letters: str
    accepted: Version | None
    merged: Version | None
    marked: Version | None
    overwritten: Version | None
    synced: str = ""
    warns: bool = False


def same(
    context: Version | None, local: Version | None, output: Version | None, letter: str,
    result: Version | None, synced: str = "", *, warns: bool = False,
) -> Cell:  # fmt: skip
    """A cell that every way of accepting treats alike."""
    return Cell(context, local, output, letter, result, result, result, result, synced, warns)


X_BASE, X_MODEL, X_USER = executable(BASE), executable(MODEL), executable(USER)

# Of text; the same in every encoding and with every line ending.
TEXT = {
    "unchanged": same(BASE, BASE, BASE, "", NOTHING),
    "only the user": same(BASE, USER, BASE, "~", NOTHING),
    "only the user deleted": same(BASE, None, BASE, "~", NOTHING),
    "modified": same(BASE, BASE, MODEL, "M", MODEL, "M"),
    "modified alike": same(BASE, MODEL, MODEL, "~", MODEL),
    "both": Cell(BASE, USER, MODEL, "~M", REFUSED, BOTH, BOTH, MODEL, "M"),
    "both, and the same": Cell(BASE, BOTH, MODEL, "~M", REFUSED, BOTH, BOTH, MODEL),
    "clash": Cell(BASE, CLASH, MODEL, "~M", REFUSED, REFUSED, MARKED, MODEL, "M", warns=True),
    "user deleted": Cell(
        BASE, None, MODEL, "~M", REFUSED, REFUSED, REFUSED, MODEL, "A", warns=True
    ),
    "added": same(None, None, MODEL, "A", MODEL, "A"),
    "added alike": same(None, MODEL, MODEL, "~", MODEL),
    "added, there": Cell(
        None, CLASH, MODEL, "!A", REFUSED, REFUSED, ADDED_MARKED, MODEL, "M", warns=True
    ),
    "deleted": same(BASE, BASE, None, "D", None, "D"),
    "deleted alike": same(BASE, None, None, "~", None),
    "deleted, changed": Cell(
        BASE, USER, None, "~D", REFUSED, REFUSED, REFUSED, None, "D", warns=True
    ),
}

# Of modes and kinds of files.
KINDS = {
    "mode": same(BASE, BASE, X_BASE, "M", X_BASE, "M"),
    "mode cleared": same(X_BASE, X_BASE, BASE, "M", BASE, "M"),
    "mode alike": same(BASE, X_BASE, X_BASE, "~", X_BASE),
    "mode of the user": Cell(BASE, X_BASE, MODEL, "~M", REFUSED, X_MODEL, X_MODEL, MODEL, "M"),
    "mode of the user only": same(BASE, X_BASE, BASE, "~", NOTHING),
    "mode and text": Cell(BASE, USER, X_BASE, "~M", REFUSED, X_USER, X_USER, X_BASE, "M"),
    "mode with text": same(BASE, BASE, X_MODEL, "M", X_MODEL, "M"),
    "mode deleted": same(X_BASE, X_BASE, None, "D", None, "D"),
    "mode added": same(None, None, X_MODEL, "A", X_MODEL, "A"),
    "binary": same(BINARY, BINARY, BINARY_MODEL, "M", BINARY_MODEL, "M"),
    "binary alike": same(BINARY, BINARY_MODEL, BINARY_MODEL, "~", BINARY_MODEL),
    "binary clash": Cell(
        BINARY, BINARY_USER, BINARY_MODEL, "~M", REFUSED, REFUSED, REFUSED, BINARY_MODEL, "M",
        warns=True,
    ),
    "binary, mode of the user": Cell(
        BINARY, executable(BINARY), BINARY_MODEL, "~M", REFUSED,
        executable(BINARY_MODEL), executable(BINARY_MODEL), BINARY_MODEL, "M",
    ),
    "binary of the user": Cell(
        BASE, BINARY_USER, MODEL, "~M", REFUSED, REFUSED, REFUSED, MODEL, "M", warns=True
    ),
    "binary, mode proposed": Cell(
        BINARY, BINARY_USER, executable(BINARY), "~M", REFUSED,
        executable(BINARY_USER), executable(BINARY_USER), executable(BINARY), "M",
    ),
    "binary added": same(None, None, BINARY, "A", BINARY, "A"),
    "binary added, there": Cell(
        None, BINARY_USER, BINARY, "!A", REFUSED, REFUSED, REFUSED, BINARY, "M", warns=True
    ),
    "binary deleted": same(BINARY, BINARY, None, "D", None, "D"),
    "link in its place": Cell(
        BASE, LINK, MODEL, "~M", REFUSED, REFUSED, REFUSED, MODEL, "M", warns=True
    ),
    "link with the same text": Cell(
        Version(b"elsewhere"), LINK, MODEL, "~M", REFUSED, REFUSED, REFUSED, MODEL, "M", warns=True
    ),
    "link where one is added": Cell(
        None, LINK, MODEL, "!A", REFUSED, REFUSED, REFUSED, MODEL, "M", warns=True
    ),
    "link deleted": Cell(BASE, LINK, None, "~D", REFUSED, REFUSED, REFUSED, None, "D", warns=True),
    "directory in its place": same(BASE, DIRECTORY, MODEL, "~M", REFUSED, "refused"),
    "directory where one is added": same(None, DIRECTORY, MODEL, "!A", REFUSED, "refused"),
    "directory deleted": same(BASE, DIRECTORY, None, "~D", REFUSED, "refused"),
    "directory, nothing proposed": same(BASE, DIRECTORY, BASE, "~", NOTHING, "refused"),
    "no final newline": same(
        Version(b"1\n2"), Version(b"1\n2"), Version(b"1\ntwo"), "M", Version(b"1\ntwo"), "M"
    ),
    "empty": same(BASE, BASE, Version(b""), "M", Version(b""), "M"),
    "emptied by the user": Cell(
        BASE, Version(b""), MODEL, "~M", REFUSED, REFUSED,
        Version(b"<<<<<<< local\n=======\n1\nmodel\n3\n4\n5\n>>>>>>> proposal\n"),
        MODEL, "M", warns=True,
    ),
    "mixed endings": Cell(
        Version(b"1\r\n2\n3\r\n4\n5\n"), Version(b"1\r\n2\n3\r\n4\nuser\n"),
        Version(b"1\r\nmodel\n3\r\n4\n5\n"), "~M", REFUSED,
        Version(b"1\r\nmodel\n3\r\n4\nuser\n"), Version(b"1\r\nmodel\n3\r\n4\nuser\n"),
        Version(b"1\r\nmodel\n3\r\n4\n5\n"), "M",
    ),
    "ending proposed": same(
        Version(b"1\n2\n"), Version(b"1\n2\n"), Version(b"1\r\n2\r\n"), "M",
        Version(b"1\r\n2\r\n"), "M",
    ),
    "endings of the user": Cell(
        BASE, Version(BASE.data.replace(b"\n", b"\r\n")), MODEL, "~M", REFUSED,
        Version(MODEL.data.replace(b"\n", b"\r\n")), Version(MODEL.data.replace(b"\n", b"\r\n")),
        MODEL, "M",
    ),
}  # fmt: skip


def crlf(version: Version | None) -> Version | None:
    return version and version._replace(data=version.data.replace(b"\n", b"\r\n"))


def utf16(version: Version | None) -> Version | None:
    return version and version._replace(data=version.data.decode().encode("utf-16"))


def smudged(version: Version | None) -> Version | None:
    """As the smudge filter writes it."""
    return version and version._replace(data=version.data.translate(SMUDGE))


def plain(version: Version | None) -> Version | None:
    return version


VARIANTS: dict[str, Callable[[Version | None], Version | None]] = {
    "plain": plain,
    "new directory/with space": plain,
    "line\nbreak": plain,
    "latin\udce9": plain,
    "ignored": plain,
    "crlf": crlf,
    "eol crlf": crlf,
    "utf16": utf16,
    "filtered": smudged,
}
ATTRIBUTES = """
eol?crlf/** text eol=crlf
utf16/** working-tree-encoding=UTF-16
filtered/** filter=digits
"""
SMUDGE = bytes.maketrans(b"12345", b"ABCDE")


def encoded(cell: Cell, how: Callable[[Version | None], Version | None]) -> Cell:
    """A cell in another encoding."""

    def side(version: Version | None) -> Version | None:
        return version if version in (REFUSED, NOTHING) else how(version)

    return Cell(*(side(each) if isinstance(each, Version) else each for each in cell))  # type: ignore[arg-type]


ALL = {f"plain/{name}": cell for name, cell in KINDS.items()} | {
    f"{directory}/{name}": encoded(cell, how)
    for directory, how in VARIANTS.items()
    for name, cell in TEXT.items()
}
WAYS: dict[str, dict[str, Any]] = {
    "accepted": {},
    "merged": {"merge": True},
    "marked": {"merge": True, "markers": True},
    "overwritten": {"overwrite": True},
}


@pytest.fixture
def cells(repo: Repo) -> Repo:
    """All cells in one proposal."""
    return set_up(repo, ALL)


def set_up(repo: Repo, chosen: dict[str, Cell]) -> Repo:
    repo.git("config", "filter.digits.clean", "tr ABCDE 12345")
    repo.git("config", "filter.digits.smudge", "tr 12345 ABCDE")
    repo.commit(**{".gitattributes": ATTRIBUTES, ".gitignore": "ignored/\n"})
    kit.store_state(ProposedFile(path, cell.context, cell.output) for path, cell in chosen.items())
    for path, cell in chosen.items():
        put(repo, path, cell.local)
    return repo


def versions(repo: Repo, paths: Iterable[str]) -> dict[str, Version | None]:
    return {path: found_at(repo.top, path) for path in paths}


def locals_of(chosen: dict[str, Cell]) -> dict[str, Version | None]:
    return {path: cell.local for path, cell in chosen.items()}


def letters_of(chosen: dict[str, Cell]) -> dict[str, str]:
    return {path: cell.letters for path, cell in chosen.items()}


def test_letters(cells: Repo) -> None:
    before = kit.everything(cells)
    assert letters() == letters_of(ALL)
    # The second time, git only stats the files.
    assert letters() == letters_of(ALL)
    assert kit.everything(cells) == before


@pytest.mark.parametrize("way", [*WAYS])
@pytest.mark.slow
def test_accept(cells: Repo, way: str) -> None:
    results = {path: getattr(cell, way) for path, cell in ALL.items()}
    before = kit.everything(cells)
    if refused := {path for path, result in results.items() if result == REFUSED}:
        with pytest.raises(AcceptRefusedError) as error:
            kit.accept(**WAYS[way])
        assert {row["path"] for row in error.value.details["conflicts"]} == refused  # type: ignore[attr-defined]
        assert kit.everything(cells) == before
    nothing = [path for path, result in results.items() if result == NOTHING]
    with pytest.raises(RefusedError, match="no change of"):
        kit.accept(nothing[0], **WAYS[way])
    changed = {path: result for path, result in results.items() if path not in refused}
    changed = {path: result for path, result in changed.items() if result != NOTHING}
    assert kit.accept(*changed, dry_run=True, **WAYS[way]).id is None
    assert kit.everything(cells) == before
    done = kit.accept(*changed, **WAYS[way])
    assert {file.path: file.letters for file in done.files} == {
        path: ALL[path].letters for path in changed
    }
    after = locals_of(ALL) | changed
    # What is accepted is the context now, and a file that was deleted is no part of it.
    clean = {path: "" for path, result in changed.items() if result is not None}
    rest = {path: letter for path, letter in letters_of(ALL).items() if path not in changed}
    goes_back_and_forth(cells, locals_of(ALL), letters_of(ALL), after, rest | clean)


def goes_back_and_forth(
    repo: Repo,
    before: dict[str, Version | None],
    letters_before: dict[str, str],
    after: dict[str, Version | None],
    letters_after: dict[str, str],
) -> None:
    """What was done is there, and `undo` and `redo` lead back and forth."""
    assert versions(repo, after) == after
    assert letters() == letters_after
    kit.undo()
    assert versions(repo, before) == before
    assert letters() == letters_before
    kit.redo()
    assert versions(repo, after) == after
    assert letters() == letters_after
    kit.undo()
    assert versions(repo, before) == before
    assert letters() == letters_before


@pytest.mark.slow
def test_discard(cells: Repo) -> None:
    kit.discard()
    left = {
        path: "" if cell.local == cell.context else "~"
        for path, cell in ALL.items()
        if cell.context is not None
    }
    goes_back_and_forth(cells, locals_of(ALL), letters_of(ALL), locals_of(ALL), left)


@pytest.mark.slow
def test_sync(cells: Repo) -> None:
    blocked = [path for path, cell in ALL.items() if cell.synced == "refused"]
    for path in blocked:
        with pytest.raises(RefusedError, match="is not a regular file"):
            kit.sync(path)
    chosen = {path: cell for path, cell in ALL.items() if path not in blocked}
    done = kit.sync(*chosen)
    warned = {path for path in chosen if any(f"'{path}'" in each for each in done.warnings)}
    assert warned == {path for path, cell in chosen.items() if cell.warns}
    assert len(done.warnings) == len(warned)
    after = {path: letter for path, letter in letters_of(ALL).items() if path in blocked} | {
        path: cell.synced
        for path, cell in chosen.items()
        if cell.local is not None or cell.synced == "A"
    }
    goes_back_and_forth(cells, locals_of(ALL), letters_of(ALL), locals_of(ALL), after)
