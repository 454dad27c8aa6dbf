"""The server answers every line as JSON-RPC 2.0 says, whatever the line is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_boocode.server import json_rpc
from git_boocode.server.json_rpc import Malformed, Response, RpcRequest, encode, read_message
from tests.repo_kit import LIMITED, Repo
from tests.server.conftest import Serve
from tests.server.kit import Client, Gate, edit, is_answer, request, tool_call

PARSE, INVALID, UNKNOWN, PARAMS, BUSY = -32700, -32600, -32601, -32602, -32000
PING = b'{"jsonrpc":"2.0","id":%d,"method":"ping"}'


def error_of(client: Client, line: bytes) -> tuple[Any, int]:
    """The id and the code of the error that answers a line."""
    client.raw(line + b"\n")
    answer = client.read()
    assert answer.keys() == {"jsonrpc", "id", "error"}
    assert isinstance(answer["error"]["message"], str)
    return answer["id"], answer["error"]["code"]


def alive(client: Client) -> None:
    """The next answer is that to a ping."""
    assert client.ask("ping") == {}
    assert client.others == []


def test_what_is_no_json(client: Client) -> None:
    lines = [
        *(b"{", b"nonsense", b'"\\', b"{]", b'{"jsonrpc":"2.0","id":1,"method":"ping"', b"[1,"),
        *(b"\xff\xfe", b'{"a":"\xc3\x28"}', b"\0", b"{'a':1}", b'{"a":1}{"b":2}', b"\x1b[31m"),
        *(b'{"jsonrpc":"2.0","id":NaN,"method":"ping"}', b"[Infinity]", b'{"a":-Infinity}'),
        *(b'{"jsonrpc":"2.0","id":1e400,"method":"ping"}', b"-1e999", b'{"a":"\x01"}'),
        *(b"[" * 100_000, b'{"a":' * 50_000, b"[" * 100_000 + b"]" * 100_000),
    ]
    for line in lines:
        assert error_of(client, line) == (None, PARSE), line[:20]
    alive(client)


@LIMITED
def test_a_number_that_python_does_not_read(client: Client) -> None:
    assert error_of(client, b'{"id":' + b"1" * 5000 + b"}") == (None, PARSE)


INVALID_REQUESTS = [
    *("1", '"a"', "null", "true", "{}", "[]", '{"jsonrpc":"2.0"}', '{"jsonrpc":"2.0","id":1}'),
    *('{"id":7,"method":"ping"}', '{"jsonrpc":"1.0","id":7,"method":"ping"}'),
    *('{"jsonrpc":2.0,"id":7,"method":"ping"}', '{"jsonrpc":"2.0","id":7,"method":7}'),
    *('{"jsonrpc":"2.0","id":7,"method":null}', '{"jsonrpc":"2.0","id":7,"method":["ping"]}'),
    *(f'{{"jsonrpc":"2.0","id":{each},"method":"ping"}}' for each in ("null", "true", "[]", "{}")),
    *('{"jsonrpc":"2.0","id":[1],"method":"ping"}', '{"jsonrpc":"2.0","id":false,"method":"x"}'),
]


def test_what_is_no_request() -> None:
    for line in INVALID_REQUESTS:
        found = read_message(line.encode())
        assert isinstance(found, Malformed), line
        assert found.error.code == INVALID
        given = json.loads(line)
        identifier = given.get("id") if isinstance(given, dict) else None
        assert found.id == (identifier if type(identifier) is int else None), line


def test_it_is_answered_and_the_next_request_too(client: Client) -> None:
    client.raw("\n".join(INVALID_REQUESTS).encode() + b"\n")
    answers = [client.read() for _ in INVALID_REQUESTS]
    assert {answer["error"]["code"] for answer in answers} == {INVALID}
    alive(client)


def test_ids_come_back_as_they_are(client: Client) -> None:
    ids: list[object] = [0, -1, "", "a", "\u2028\ud800", 1.5, -0.25, 10**30, "x" * 10_000, 1e300]
    for identifier in ids:
        client.send(request(identifier, "ping"))
        assert client.read() == {"jsonrpc": "2.0", "id": identifier, "result": {}}
        client.send(tool_call(identifier, "turn", action="status"))
        assert client.read()["id"] == identifier


def test_params_that_are_no_object(client: Client) -> None:
    for params in ("[]", "7", '"a"', "true", "[{}]"):
        line = f'{{"jsonrpc":"2.0","id":7,"method":"ping","params":{params}}}'
        assert error_of(client, line.encode()) == (7, PARAMS)
        # Nobody could relate an answer to a notification.
        client.raw(f'{{"jsonrpc":"2.0","method":"notifications/x","params":{params}}}\n'.encode())
        alive(client)


def test_params_may_be_null(client: Client) -> None:
    client.raw(b'{"jsonrpc":"2.0","id":7,"method":"tools/list","params":null}\n')
    assert client.read()["result"]["tools"]


def test_an_unknown_method(client: Client) -> None:
    for method in (
        "nothing",
        "",
        "tools/calls",
        "initialized",
        "rpc.discover",
        "\ud800",
        "x" * 9999,
    ):
        error = client.fail(method)
        assert error["code"] == UNKNOWN
        assert len(error["message"]) < 300
        client.notify(method)
        alive(client)


def test_unknown_keys_are_ignored(client: Client) -> None:
    client.send({**request(7, "ping", future=[1], _meta={"a": {}}), "future": {}})
    assert client.read()["result"] == {}


def test_responses_that_nobody_asked_for(client: Client) -> None:
    others: list[object] = [1, "roots-0", "roots-1", None, [], {"a": 1}, 1.5]
    for identifier in others:
        client.send({"jsonrpc": "2.0", "id": identifier, "result": {"roots": []}})
        client.send({"jsonrpc": "2.0", "id": identifier, "error": {"code": 1, "message": "x"}})
        client.send({"jsonrpc": "2.0", "id": identifier, "result": 7, "error": None})
    client.send({"jsonrpc": "2.0", "result": {}})
    alive(client)
    assert client.succeed("checkpoint")


def test_an_id_of_a_request_in_progress(client: Client) -> None:
    # The roots are missing, so the first one is in progress.
    client.begin()
    asked = client.read()
    client.send(tool_call(7, "checkpoint"), tool_call(7, "checkpoint"))
    refused = client.read()
    assert (refused["id"], refused["error"]["code"]) == (7, INVALID)
    client.name_roots(asked["id"])
    assert client.answer(7)["result"]["structuredContent"]["ok"]
    client.send(tool_call(7, "log"))
    assert len(client.answer(7)["result"]["structuredContent"]["checkpoints"]) == 1


def test_a_batch_is_refused(client: Client) -> None:
    batches: list[list[Any]] = [[request(1, "ping"), request(2, "ping")], [], [[]], [7]]
    for batch in batches:
        client.send(batch)
        answer = client.read()
        assert (answer["id"], answer["error"]["code"]) == (None, INVALID)
    alive(client)


def megabytes(client: Client, field: str) -> float:
    """Memory of the server: `VmRSS` now, `VmHWM` at most so far."""
    with open(f"/proc/{client.pid}/status", encoding="ascii") as file:
        fields = dict(line.split(":", 1) for line in file)
    return int(fields[field].split()[0]) / 1024


@pytest.mark.parametrize("value", [b"0", b'"ab"', b'{"a":[]}', b'"\\\\"'])
@pytest.mark.parametrize(
    "start", [PING[:-1] % 1 + b',"params":{"a":[', pytest.param(b"[", marks=pytest.mark.slow)]
)
@pytest.mark.variants
def test_many_values_take_little_memory(own_client: Client, value: bytes, start: bytes) -> None:
    size = 3 << 20
    own_client.ask("tools/list")  # loads what a thread loads after the start
    before = megabytes(own_client, "VmRSS")
    end = b"]" if start == b"[" else b"]}}"
    line = start + b",".join([value] * (size // (len(value) + 1))) + end
    assert error_of(own_client, line) == (None, INVALID)
    assert megabytes(own_client, "VmHWM") - before < 10 * size / (1 << 20)
    alive(own_client)


def test_long_texts_may_have_any_characters(client: Client, work: Repo) -> None:
    content = 'f("{[,\\"]}", {})\n' * 100_000
    client.succeed("apply_edit", path="dense", content=content)
    assert work.read("dense") == content.encode()
    lines = ["def line(of, some, length): pass"] * 20_000
    client.succeed("apply_edit", path="lines", content="\n".join(lines))
    changes = [{"start": lines[:1], "content": lines}]
    answer = client.call("apply_edit", path="lines", changes=changes)
    # It has been read, whatever comes of it.
    assert answer["ok"] or answer["error"]["code"] == "ambiguous"


@pytest.mark.slow
def test_requests_that_wait_have_limited_bytes(work: Repo, serve: Serve) -> None:
    gate = Gate(work, "held")
    client = serve()
    client.begin()
    held = client.start("checkpoint")
    gate.wait()
    text = "z" * (10 << 20)
    started = [client.start("locate", path="a", needle="x")]
    started += [client.start("apply_edit", **edit("a", "gone", text)) for _ in range(20)]
    refused = 0
    while "error" in (answer := client.read()) or answer["id"] not in started[:1]:
        assert answer["error"]["code"] == BUSY
        refused += 1
    client.ask("ping")
    refused += sum("error" in each for each in client.others)
    client.others.clear()
    assert refused == 20 - 12
    assert megabytes(client, "VmHWM") < 400
    gate.open()
    assert client.answer(held)["result"]["structuredContent"]["ok"]
    for _ in range(12):
        assert client.read()["result"]["isError"]


def test_lines(own_client: Client) -> None:
    own_client.raw(b"\n\r\n  \n\t\n" + PING % 1 + b"\r\n\n" + b" " + PING % 2 + b" \n")
    assert [own_client.read()["id"] for _ in range(2)] == [1, 2]
    for byte in PING % 3 + b"\n":
        own_client.raw(bytes([byte]))
    assert own_client.read()["id"] == 3
    own_client.raw(
        b"\n".join(PING % number for number in range(4, 1004)) + b"\n" + (PING % 1004)[:9]
    )
    assert [own_client.read()["id"] for _ in range(1000)] == [*range(4, 1004)]
    own_client.raw((PING % 1004)[9:])
    # The last line has no newline.
    assert [answer["id"] for answer in own_client.end()] == [1004]


def test_the_last_line_is_incomplete(own_client: Client) -> None:
    own_client.raw(b'{"jsonrpc":"2.0"')
    [answer] = own_client.end()
    assert answer["error"]["code"] == PARSE


def test_a_message_of_some_megabytes(client: Client, work: Repo) -> None:
    content = ("ä" * 1000 + "\n") * 1000
    answer = client.succeed("apply_edit", path="large", content=content)
    assert answer["files"][0]["action"] == "create"
    assert work.read("large") == content.encode()


class _Pipes:
    """The client's side of a connection inside this process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, pieces: list[bytes]) -> None:
        self.connection = json_rpc.Connection.__new__(json_rpc.Connection)
        monkeypatch.setattr(json_rpc, "MAX_LINE", 100)
        monkeypatch.setattr(
            json_rpc.Connection, "_read", lambda _: pieces.pop(0) if pieces else b""
        )

    def lines(self) -> list[bytes | None]:
        """The lines; None for those that are too long."""
        found = self.connection.lines()
        return [None if isinstance(line, json_rpc.TooLong) else line for line in found]


@pytest.mark.parametrize(
    ("pieces", "lines"),
    [
        ([b"a" * 100 + b"\n"], [b"a" * 100]),
        ([b"a" * 101 + b"\nb\n"], [None, b"b"]),
        ([b"a" * 60, b"a" * 60, b"a" * 60, b"\nb", b"c\n\n"], [None, b"bc"]),
        ([b"a" * 60, b"a" * 40, b"\n"], [b"a" * 100]),
        ([b"a" * 60, b"a" * 60], [None]),
        (
            [b"x\n" + b"a" * 60, b"a" * 60 + b"\n" + b"a" * 99, b"b\n"],
            [b"x", None, b"a" * 99 + b"b"],
        ),
        ([b" " * 101 + b"\n", b" " * 99 + b"\n"], [None]),
        ([b"a", b"b"], [b"ab"]),
        ([b"\n", b"\r\n", b" "], []),
    ],
)
def test_lines_that_are_too_long(
    monkeypatch: pytest.MonkeyPatch, pieces: list[bytes], lines: list[bytes | None]
) -> None:
    assert _Pipes(monkeypatch, [*pieces]).lines() == lines


@pytest.mark.slow
def test_a_message_over_the_limit(work: Repo, serve: Serve) -> None:
    client = serve(program=["git-boocode"])
    client.begin()
    piece = b"x" * (1 << 20)
    client.raw(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"')
    for _ in range(json_rpc.MAX_LINE // len(piece)):
        client.raw(piece)
    client.raw(b'"}}\n')
    answer = client.read()
    assert (answer["id"], answer["error"]["code"]) == (None, INVALID)
    alive(client)
    # No more is held than the limit and what copying it takes.
    assert megabytes(client, "VmHWM") < 2.5 * json_rpc.MAX_LINE / (1 << 20)
    assert megabytes(client, "VmRSS") < 0.5 * json_rpc.MAX_LINE / (1 << 20)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)
MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | VALUES,
        "id": VALUES,
        "method": st.sampled_from(["ping", "tools/call"]) | VALUES,
        "params": VALUES,
        "result": VALUES,
        "error": VALUES,
    },
)


@given(st.lists(MESSAGES | VALUES, max_size=3) | MESSAGES | VALUES)
def test_properties_of_any_json(value: object) -> None:
    message = read_message(json.dumps(value).encode())
    assert isinstance(message, RpcRequest | Response | Malformed)
    if isinstance(message, RpcRequest | Malformed):
        # Every id that is answered can be written.
        json.loads(encode(message.id, exact=True), parse_constant=pytest.fail)


@given(st.binary(max_size=200))
def test_properties_of_any_line(line: bytes) -> None:
    assert isinstance(read_message(line), RpcRequest | Response | Malformed)


def test_random_lines_are_answered_or_ignored(client: Client) -> None:
    # A piece of each message, so that nearly all are damaged.
    whole = json.dumps(
        tool_call(1, "apply_edit", path="a", old_string="x", new_string="y")
    ).encode()
    client.raw(b"".join(whole[:length] + b"\n" for length in range(1, len(whole))))
    answers = [client.read() for _ in range(1, len(whole))]
    assert {answer["error"]["code"] for answer in answers} == {PARSE}
    assert not any(is_answer(answer, 1) for answer in answers)
    alive(client)
