"""The messages of JSON-RPC 2.0."""

from __future__ import annotations

import json
import os
import re
import select
import threading
from collections.abc import Iterator
from contextlib import suppress
from math import isinf
from typing import Any, NamedTuple, TypeGuard

from git_boocode.repo.process import starter_of_git

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
BUSY = -32000  # our own
RESOURCE_NOT_FOUND = -32002  # of MCP until 2025-11-25
UNSUPPORTED_VERSION = -32022  # of MCP since 2026-07-28

_HALF = re.compile("[\ud800-\udfff]")
# A value takes up to 70 bytes of memory, however short it is. So what is outside of strings has at
# most this many bytes, or this part of a line.
_MOST_STRUCTURE, _STRUCTURE_PART = 1 << 20, 16

JsonObject = dict[str, Any]
RequestId = str | int | float


class RpcError(Exception):
    """A request that fails: `code` is one of JSON-RPC or of MCP, `data` is any JSON."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class RpcRequest(NamedTuple):
    """A request; without an `id` it is a notification, which has no answer.

    `size` is its length in bytes.
    """

    id: RequestId | None
    method: str
    params: JsonObject
    size: int


class Response(NamedTuple):
    """The client's answer to our request; `error` is None if it succeeded."""

    id: object
    result: object
    error: object


class Malformed(NamedTuple):
    """A message that is neither; the error answers it."""

    id: RequestId | None
    error: RpcError


Message = RpcRequest | Response | Malformed


def read_message(line: bytes) -> Message:
    """The message of a line; a batch, which the protocol no longer has, is malformed."""
    if _is_too_dense(line):
        return Malformed(None, RpcError(INVALID_REQUEST, "the message has too many values"))
    try:
        # Python also reads NaN and Infinity, which are no JSON.
        value = json.loads(line, parse_constant=_refuse_constant, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        return Malformed(None, RpcError(PARSE_ERROR, f"not JSON: {_reason(error)}"))
    if isinstance(value, list):
        return Malformed(None, RpcError(INVALID_REQUEST, "batches are not supported"))
    return _read(value, len(line))


def _is_too_dense(line: bytes) -> bool:
    """Whether the values of a line could take many times its own memory."""
    left = max(_MOST_STRUCTURE, len(line) // _STRUCTURE_PART)
    if len(line) <= left:
        return False
    # Without escapes, every quote begins or ends a string.
    text = line.replace(b"\\\\", b"").replace(b'\\"', b"")
    end = 0
    while left >= 0 and (start := text.find(b'"', end)) >= 0:
        left -= start - end + 1
        # What has no end is no JSON.
        end = text.find(b'"', start + 1) + 1 or len(text)
    return left < len(text) - end


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start + 1} is not UTF-8"
    if isinstance(error, json.JSONDecodeError) or "digits" not in str(error):
        return str(error)
    return "a number has too many digits"


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON value")


def _finite(text: str) -> float:
    """A number that can be written as JSON again."""
    value = float(text)
    if isinf(value):
        raise ValueError(f"{text} is too large a number")
    return value


def _read(value: object, size: int) -> Message:
    if not isinstance(value, dict):
        return Malformed(None, RpcError(INVALID_REQUEST, "a message is an object"))
    found = value.get("id")
    identifier = found if is_id(found) else None
    if value.get("jsonrpc") != "2.0":
        return Malformed(identifier, RpcError(INVALID_REQUEST, '"jsonrpc" is not "2.0"'))
    if "method" not in value and ("result" in value or "error" in value):
        return Response(found, value.get("result"), value.get("error"))
    method, params = value.get("method"), value.get("params")
    if not isinstance(method, str):
        return Malformed(identifier, RpcError(INVALID_REQUEST, '"method" is not a string'))
    if "id" in value and identifier is None:
        wrong = RpcError(INVALID_REQUEST, '"id" is neither a string nor a number')
        return Malformed(None, wrong)
    if not isinstance(params, dict):
        # A notification is never answered.
        if params is None or "id" not in value:
            return RpcRequest(identifier, method, {}, size)
        return Malformed(identifier, RpcError(INVALID_PARAMS, '"params" is not an object'))
    return RpcRequest(identifier, method, params, size)


def is_id(value: object) -> TypeGuard[RequestId]:
    """Whether a value can be the id of a request."""
    return isinstance(value, (str, int, float)) and not isinstance(value, bool)


def result_message(identifier: RequestId | None, result: JsonObject) -> JsonObject:
    """The answer to a request."""
    return {"jsonrpc": "2.0", "id": identifier, "result": result}


def error_message(identifier: RequestId | None, error: RpcError) -> JsonObject:
    """The answer to a request that failed, or that could not be read."""
    details = {} if error.data is None else {"data": error.data}
    body = {"code": error.code, "message": error.message, **details}
    return {"jsonrpc": "2.0", "id": identifier, "error": body}


def request_message(identifier: RequestId | None, method: str, params: JsonObject) -> JsonObject:
    """A request to the client, or without an id a notification."""
    own = {} if identifier is None else {"id": identifier}
    return {"jsonrpc": "2.0", **own, "method": method, "params": params}


def encode(message: object, *, exact: bool) -> bytes:
    r"""A message as a line; whatever is not ASCII appears as `\uXXXX`.

    A byte that is not UTF-8, of a path or of a file, is half a surrogate pair in our answers. If
    `exact`, it is `\udcXX` as in `--json`; otherwise U+FFFD, because many parsers of JSON refuse
    the message.
    """
    text = json.dumps(message, separators=(",", ":"))
    if not exact and "\\udc" in text:
        readable = _HALF.sub("\ufffd", json.dumps(message, ensure_ascii=False))
        text = json.dumps(json.loads(readable), separators=(",", ":"))
    return text.encode("ascii") + b"\n"


MAX_LINE = 256 * 1024 * 1024
"""Maximum length of a message in bytes: edits have 64 MiB at most, and buffers come on top."""
_PIECE = 1 << 16
_ATOMIC = select.PIPE_BUF
"""What a pipe takes without blocking once it is writable, in bytes."""
_ORPHAN_CHECK = 5.0
"""Seconds after which an idle server looks whether the program that started it still runs."""


class TooLong(bytes):
    """The place of a line that exceeds `MAX_LINE`."""


class Connection:
    """The client: its lines as they come, and messages to it.

    Creating it takes standard input and output away from the rest of the process: reading standard
    input then finds its end, and what is written to standard output goes to standard error.
    """

    def __init__(self) -> None:
        self._input, self._output = os.dup(0), os.dup(1)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)
        self._woken, self._waker = os.pipe()
        self._lock = threading.Lock()
        self._parent = os.getppid()
        self._starter_of_git = starter_of_git(self._parent)
        self.is_closed = False

    def lines(self) -> Iterator[bytes]:
        """The lines that the client sends, until it closes the connection, ends, or `close`."""
        held: list[bytes] = []
        size = 0
        while piece := self._read():
            *ends, rest = piece.split(b"\n")
            for end in ends:
                size += len(end)
                line = TooLong() if size > MAX_LINE else b"".join((*held, end))
                held, size = [], 0
                if line.strip() or isinstance(line, TooLong):
                    yield line
            size += len(rest)
            # Only the length of a line that is too long counts.
            held = [*held, rest] if size <= MAX_LINE else []
        if size > MAX_LINE:
            yield TooLong()
        elif line := b"".join(held).strip():
            yield line

    def _read(self) -> bytes:
        """The next bytes; empty at the end."""
        while not self.is_closed:
            ready, _, _ = select.select([self._input, self._woken], [], [], _ORPHAN_CHECK)
            if self._input in ready:
                with suppress(OSError):
                    return os.read(self._input, _PIECE)
                return b""
            # A sibling that inherited the pipe can keep it open.
            if self._woken in ready or self._is_orphan:
                return b""
        return b""

    @property
    def _is_orphan(self) -> bool:
        if os.getppid() != self._parent:
            return True
        now = None if self._starter_of_git is None else starter_of_git(self._parent)
        # A failed look says nothing.
        return now is not None and now != self._starter_of_git

    @property
    def has_reader(self) -> bool:
        """Whether the client can still read answers."""
        if self.is_closed or self._is_orphan:
            return False
        poll = select.poll()
        poll.register(self._output, 0)
        return not poll.poll(0)

    def send(self, message: object, *, exact: bool) -> None:
        """Send a message, as `encode` writes it; nothing happens once the client has gone."""
        data = memoryview(encode(message, exact=exact))
        with self._lock:
            try:
                while data and not self.is_closed:
                    # A client that does not read must not keep us from ending.
                    _, writable, _ = select.select([self._woken], [self._output], [])
                    if writable:
                        data = data[os.write(self._output, data[:_ATOMIC]) :]
            except OSError:
                self.close()

    def close(self) -> None:
        """End `lines`, and send nothing more; signal handlers may call it."""
        self.is_closed = True
        with suppress(OSError):
            os.write(self._waker, b"x")


def as_object(value: object) -> JsonObject:
    """An object of JSON; an empty one for anything else."""
    return value if isinstance(value, dict) else {}
