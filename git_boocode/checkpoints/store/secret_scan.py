"""Look for secrets in what a push would send: files, and the messages of commits.

Git lists the objects that the remote lacks, and one git reads them. Large files are read in
windows, so that neither memory nor time depends on more than the size of what is pushed.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import IO, NamedTuple

from git_boocode.repo.entries import Metadata, MetadataError
from git_boocode.repo.git import Git, GitError, Running, id_lines, lines_of
from git_boocode.repo.masking import Masker
from git_boocode.repo.repository import Repository

_WINDOW = 1 << 20  # bytes
# A secret that begins in one window and ends behind it is found if it is not longer than this, and
# what precedes it decides whether it is one.
_OVERLAP = 1 << 15
_BEFORE = 64
_AT_ONCE = 32  # ids that are sent at once; see `repo.store`
_MOST_IN_FILE = 20
_MOST = 1000
# As git decides whether a file is binary.
_FIRST = 8000
_UTF_16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


class FoundSecret(NamedTuple):
    """A secret: in a line of a file, or in the message of a commit."""

    kind: str  # such as `GitHub token`
    of: str  # the id of the blob, or of the commit
    path: str = ""  # of the file; empty if it is in a message
    line: int = 0  # from 1; 0 if it is in a message or in a binary file
    # The id of the checkpoint or proposal with the message, or of the commit with a note.
    entry: str = ""
    key: str = ""  # the key of the metadata that has it, such as `prompt`; `note` for a note

    def __str__(self) -> str:
        if self.path:
            place = f"{self.path}:{self.line}" if self.line else f"{self.path} (binary)"
        else:
            place = f"{self.entry or f'commit {self.of[:12]}'} ({self.key or 'message'})"
        return f"{place}: {self.kind}"

    def of_note(self) -> FoundSecret:
        """A finding in a tree of notes, as one in the note of a commit, whose id is its path."""
        commit = self.path.replace("/", "")
        return self._replace(path="", line=0, entry=commit, key="note") if self.path else self

    def as_json(self) -> dict[str, object]:
        """The JSON object, without what it does not have."""
        optional = {"path": self.path, "line": self.line, "id": self.entry, "key": self.key}
        return {
            "kind": self.kind,
            "of": self.of,
            **{key: value for key, value in optional.items() if value},
        }


class Outgoing(NamedTuple):
    """What a push would send: what some commits lead to, without what others lead to.

    `present` are the commits that the remote has. `edges` are those of them whose files are
    compared: all files of thousands of tags would take too long. With `promised`, the remote has
    what a partial clone got from it or lacks.
    """

    targets: Sequence[str]
    present: Collection[str] = ()
    edges: Sequence[str] = ()
    promised: bool = False

    def request(self, git: Git) -> bytes:
        """The input of `git rev-list` for its objects."""
        wanted = [*self.targets, *(f"^{each}" for each in self.present)]
        options = ("--boundary", *self._options)
        listed = git.pieces("rev-list", *options, "--stdin", stdin=id_lines(wanted))
        boundary = {line[1:] for line in _text_lines(listed) if line.startswith("-")}
        return id_lines(
            [*self.targets, *(f"^{each}" for each in sorted(boundary.union(self.edges)))]
        )

    def commits(self, git: Git) -> Iterator[str]:
        """The ids of the commits, each after its parents."""
        options = ("--topo-order", "--reverse", *self._options)
        return _text_lines(git.pieces("rev-list", *options, "--stdin", stdin=self.request(git)))

    def objects(self, git: Git) -> Iterator[tuple[str, str]]:
        """The ids of the objects, and for a file one of its paths; commits first, newest first."""
        options = ("--objects-edge-aggressive", "--topo-order", *self._options)
        for line in _text_lines(
            git.pieces("rev-list", *options, "--stdin", stdin=self.request(git))
        ):
            identifier, _, path = line.partition(" ")
            if not identifier.startswith("-"):
                yield identifier, path

    @property
    def _options(self) -> tuple[str, ...]:
        return ("--exclude-promisor-objects",) if self.promised else ()


def outgoing(
    repository: Repository,
    targets: Sequence[str],
    tips: Iterable[str],
    edges: Sequence[str],
    *,
    promised: bool = False,
) -> Outgoing:
    """What a push of some commits sends to a remote with these tips, as far as they are here."""
    if not targets:
        return Outgoing(())
    wanted = [*dict.fromkeys((*edges, *tips))]
    infos = zip(wanted, repository.store.lookup(wanted), strict=True)
    here = {name for name, info in infos if info and info.kind in ("commit", "tag")}
    return Outgoing(targets, here, [each for each in edges if each in here], promised)


def find_secrets(
    git: Git, objects: Iterable[tuple[str, str]], mask: Masker
) -> Iterator[FoundSecret]:
    """The secrets in some objects, given with the paths of files, at most `_MOST`."""
    left = _MOST
    for identifier, kind, path, body in read_objects(git, objects):
        for each in _in_object(identifier, kind, path, body, mask):
            yield each
            left -= 1
            if not left:
                return


def _in_object(
    identifier: str, kind: str, path: str, body: Iterator[bytes], mask: Masker
) -> Iterator[FoundSecret]:
    if kind == "blob":
        for secret, line in _in_file(body, mask):
            yield FoundSecret(secret, identifier, path, line)
    elif kind != "tree":
        yield from _in_message(identifier, body, mask)


def read_objects(
    git: Git, objects: Iterable[tuple[str, str]]
) -> Iterator[tuple[str, str, str, Iterator[bytes]]]:
    """Objects with their ids, types and paths, given with the latter; and their bytes in pieces.

    The caller need not use the pieces. GitError if an object cannot be read.
    """
    process = git.converse("cat-file", "--batch")
    stdin, stdout = process.stdin, process.stdout
    assert stdin is not None
    assert stdout is not None
    try:
        remaining = iter(git.counted("looking for secrets: {} objects", objects))
        while some := list(islice(remaining, _AT_ONCE)):
            stdin.write(id_lines(identifier for identifier, _ in some))
            stdin.flush()
            for identifier, path in some:
                fields = stdout.readline().split()
                if len(fields) != 3:
                    raise GitError(("cat-file",), 128, f"cannot read object {identifier}")
                pieces = _pieces(stdout, int(fields[2]))
                yield identifier, fields[1].decode(), path, pieces
                for _ in pieces:
                    # What the caller did not use.
                    pass
                stdout.read(1)
    finally:
        Running(process).stop()


def _pieces(stream: IO[bytes], size: int) -> Iterator[bytes]:
    while size and (piece := stream.read(min(size, _WINDOW))):
        yield piece
        size -= len(piece)


def _in_file(pieces: Iterator[bytes], mask: Masker) -> Iterator[tuple[str, int]]:
    """The kinds and lines of the secrets in a file; the line of a binary file is 0."""
    before, newlines, count, is_binary = b"", 0, 0, None
    pieces = _as_utf_8(pieces)
    seen: set[tuple[str, int]] = set()
    piece = next(pieces, b"")
    while piece:
        following = next(pieces, b"")
        if is_binary is None:
            is_binary = b"\0" in piece[:_FIRST]
        window = before + piece
        # What begins in the overlap is found in the next window.
        end = len(window) if not following else max(len(window) - _OVERLAP, 0)
        begin = min(_BEFORE, len(before))
        if count < _MOST_IN_FILE and mask.may_have_secrets(window):
            text = window.decode("utf-8", "surrogateescape")
            limits = [len(window[:at].decode("utf-8", "surrogateescape")) for at in (begin, end)]
            for secret in mask.find(text):
                if limits[0] <= secret.start < limits[1]:
                    line = 0 if is_binary else 1 + newlines + text.count("\n", 0, secret.start)
                    if (secret.kind, line) not in seen and count < _MOST_IN_FILE:
                        seen.add((secret.kind, line))
                        count += 1
                        yield secret.kind, line
        cut = max(end - _BEFORE, 0)
        newlines += window.count(b"\n", 0, cut)
        before, piece = window[cut:], following


def utf_16_of(body: bytes) -> str:
    """The encoding of a file that begins with the mark of UTF-16; empty for any other."""
    return _UTF_16.get(body[:2], "")


def _as_utf_8(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The pieces of a file, in UTF-8 instead of UTF-16."""
    first = next(pieces, b"")
    every = chain([first], pieces)
    if not (encoding := utf_16_of(first)):
        return every
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    return (decoder.decode(piece).encode() for piece in every)


def _in_message(identifier: str, body: Iterator[bytes], mask: Masker) -> list[FoundSecret]:
    """The secrets in a commit or tag."""
    raw = b"".join(body)
    if not mask.may_have_secrets(raw):
        return []
    _, _, message = raw.decode("utf-8", "surrogateescape").partition("\n\n")
    try:
        values = Metadata.parse(message).values
    except MetadataError:
        return [FoundSecret(each.kind, identifier) for each in mask.find(message)]
    entry = str(values.get("id") or "")
    # As text, a secret with line ends in it can be recognized, too.
    parts = {key: _text(value) for key, value in values.items()}
    return [
        FoundSecret(each.kind, identifier, entry=entry, key=key)
        for key, text in parts.items()
        for each in mask.find(text)
    ]


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _text_lines(pieces: Iterable[bytes]) -> Iterator[str]:
    return (line.decode("utf-8", "surrogateescape") for line in lines_of(pieces))
