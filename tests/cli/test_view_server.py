"""`git boocode view --serve` answers its own page alone, and restores as the command line does."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from git_boocode.checkpoints.worktree.scan import WorktreeScan
from git_boocode.checkpoints.worktree.snapshot import Snapshot
from git_boocode.cli.view_server import ViewServer
from git_boocode.repo.repository import Repository
from tests.checkpoints.kit import take
from tests.repo_kit import Repo

pytestmark = pytest.mark.slow


class Reply(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """Sends requests as the page does, unless a test says otherwise."""

    def __init__(self, server: ViewServer) -> None:
        self.server = server
        self.origin = f"http://127.0.0.1:{server.port}"

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        **headers: str | None,
    ) -> Reply:
        given: dict[str, str | None] = {
            "Host": f"127.0.0.1:{self.server.port}",
            "Boocode-Token": self.server.token,
        }
        data = None
        if method == "POST":
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            given |= {
                "Origin": self.origin,
                "Content-Type": "application/json",
                "Content-Length": str(len(data)),
            }
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection = HTTPConnection("127.0.0.1", self.server.port, timeout=20)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in given.items():
            if value is not None:
                connection.putheader(name, value)
        connection.endheaders(data)
        response = connection.getresponse()
        reply = Reply(response.status, dict(response.getheaders()), response.read())
        connection.close()
        return reply

    def get(self, path: str, **headers: str | None) -> Reply:
        return self.ask("GET", path, **headers)

    def post(self, path: str, body: object, **headers: str | None) -> Reply:
        return self.ask("POST", path, body, **headers)


@pytest.fixture
def client(repo: Repo) -> Iterator[Client]:
    """A server of a worktree with two turns."""
    repo.commit(a="one\n")
    take(label="first")
    repo.write("a", "two\n")
    take(label="second")
    repo.write("a", "three\n")
    server = ViewServer(Repository.discover(), 1000, 0, "t" * 43)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield Client(server)
    server.shutdown()
    thread.join()
    server.server_close()


def ids(client: Client) -> list[str]:
    return [turn["id"] for turn in client.get("/data").json["turns"]]


def test_the_page_has_its_turns_and_headers(client: Client) -> None:
    page = client.get(f"/{client.server.token}/", Boocode_Token=None)
    assert page.status == 200
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert b'"label":"second"' in page.body
    for reply in (page, client.get("/data"), client.get("/nowhere"), client.get("/", Host="x")):
        headers = reply.headers
        assert headers["Cache-Control"] == "no-store"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Content-Security-Policy"] == "frame-ancestors 'none'"
        assert not [name for name in headers if name.startswith("Access-Control")]


def test_silent_connections_do_not_keep_the_page_away(client: Client) -> None:
    address = ("127.0.0.1", client.server.port)
    silent = [socket.create_connection(address) for _ in range(40)]
    silent[-1].sendall(b"GET / HTTP/1.1\r\nHost")
    for _ in range(3):
        assert client.get("/data").status == 200
    for each in silent:
        each.close()


FORBIDDEN: list[dict[str, str | None]] = [
    {"Boocode_Token": None},
    {"Boocode_Token": ""},
    {"Boocode_Token": "x" * 43},
    {"Host": None},
    {"Host": "127.0.0.1"},
    {"Host": "example.com"},
    {"Host": "127.0.0.1.example.com:80"},
    {"Origin": "http://example.com"},
    {"Origin": "null"},
]


def test_what_is_not_the_page_is_forbidden_without_a_detail(client: Client) -> None:
    for headers in FORBIDDEN:
        for path in ("/data", "/turn/x", "/nowhere"):
            reply = client.get(path, **headers)
            assert (reply.status, reply.body) == (403, b""), headers
        for path in (
            *("/blame", "/restore", "/parts", "/restore-parts", "/revert"),
            *("/pick", "/undo", "/file", "/compare", "/search", "/nowhere"),
        ):
            reply = client.post(path, {}, **headers)
            assert (reply.status, reply.body) == (403, b""), headers


def test_a_change_needs_the_origin_of_the_page(client: Client) -> None:
    paths = ("/restore", "/restore-parts", "/revert", "/undo", "/blame", "/file")
    for path in (*paths, "/pick", "/compare", "/search"):
        assert client.post(path, {}, Origin=None).status == 403
        other = client.post(path, {}, Origin=client.origin.replace("127.0.0.1", "localhost"))
        assert other.status == 403
        https = client.post(path, {}, Origin=client.origin.replace("http:", "https:"))
        assert https.status == 403
    port = client.server.port
    local = {"Host": f"localhost:{port}", "Origin": f"http://localhost:{port}"}
    assert client.post("/blame", {"path": "a"}, **local).json["ok"]


def test_nothing_else_is_served(client: Client) -> None:
    token = client.server.token
    for path in (
        "/",
        f"/{token}",
        f"/{token}/view.js",
        "/../../etc/passwd",
        "/.git/config",
        "/restore",
    ):
        assert client.get(path).status == 404
        assert client.get(path, Boocode_Token=None).status == 403
    assert client.get(f"/{token[:-1]}x/", Boocode_Token=None).status == 403
    for method in ("PUT", "DELETE", "OPTIONS", "HEAD", "TRACE", "CONNECT"):
        reply = client.ask(method, "/data")
        assert (reply.status, reply.body) == (501, b"")
    assert client.post("/data", {}).status == 404


def test_bodies_are_small_json_objects(client: Client) -> None:
    assert client.post("/blame", b"x" * 65_537).status == 413
    for large in ("9" * 30, "65537"):
        assert client.post("/blame", {}, Content_Length=large).status == 413
    for length in (None, "-1", "+2", "x", ""):
        assert client.post("/blame", {}, Content_Length=length).status == 411
    assert client.post("/blame", {}, Transfer_Encoding="chunked").status == 411
    for body in (b"", b"{", b"[]", b"\xff", b"[" * 60_000):
        assert client.post("/blame", body).status == 400
    assert client.post("/blame", {"path": "a"}, Content_Type="text/plain").status == 415


def test_half_a_surrogate_pair_is_no_text(client: Client) -> None:
    half = "\ud800"
    turn = ids(client)[0]
    part = {"path": "a", "numbers": [1], "version": "x"}
    taken = {"turns": [turn], "paths": ["a"]}
    for path, body in (
        ("/blame", {"path": half}),
        ("/search", {"text": half}),
        ("/file", {"turn": turn, "path": half}),
        ("/compare", {"old": "now", "new": "now", "paths": [half]}),
        ("/parts", {"id": turn, "paths": [half]}),
        ("/restore-parts", {"id": turn, "files": [{**part, "path": half}]}),
        ("/restore-parts", {"id": turn, "files": [{**part, "version": half}]}),
        ("/revert", {**taken, "paths": [half]}),
        ("/pick", {**taken, "hunks": {half: [1]}, "versions": {half: "x"}}),
        ("/revert", {**taken, "hunks": {"a": [1]}, "versions": {"a": half}}),
        ("/revert", {**taken, "versions": {half: "x"}}),
        ("/restore", {"id": half}),
        ("/conversation", {"turn": half}),
    ):
        assert client.post(path, body).json["error"]["code"] == "invalid_input", (path, body)


def test_requests_that_cannot_be_read_get_no_detail(client: Client) -> None:
    for request in (b"\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9\r\n\r\n", b"\xff\x00" * 40_000):
        with socket.create_connection(("127.0.0.1", client.server.port), 20) as connection:
            reply = b""
            # The server may close the connection before it has read everything.
            with suppress(OSError):
                connection.sendall(request)
                connection.shutdown(socket.SHUT_WR)
            with suppress(OSError):
                while piece := connection.recv(1 << 16):
                    reply += piece
        assert b"<" not in reply
    assert client.get("/data").status == 200


def test_two_headers_of_a_kind_are_refused(client: Client) -> None:
    port, token = client.server.port, client.server.token
    for doubled in (f"Host: 127.0.0.1:{port}", f"Boocode-Token: {token}"):
        with socket.create_connection(("127.0.0.1", port), 20) as connection:
            lines = (f"Host: 127.0.0.1:{port}", f"Boocode-Token: {token}", doubled)
            connection.sendall("\r\n".join(("GET /data HTTP/1.1", *lines, "", "")).encode())
            assert b" 403 " in connection.recv(100)


def test_news_come_when_there_are_some(client: Client, repo: Repo) -> None:
    first = client.get("/data").json
    assert [turn["label"] for turn in first["turns"]] == ["second", "first"]
    known = client.get("/data", If_None_Match=first["state"])
    assert (known.status, known.body) == (304, b"")
    take(label="third")
    news = client.get("/data", If_None_Match=first["state"]).json
    assert [turn["label"] for turn in news["turns"]] == ["third", "second", "first"]
    assert "details" not in news


def test_the_worktree_is_read_once_for_news(
    client: Client, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = client.get("/data").json["state"]
    scans: list[WorktreeScan] = []
    finish = WorktreeScan.finish

    def counted(scan: WorktreeScan) -> Snapshot:
        scans.append(scan)
        return finish(scan)

    monkeypatch.setattr(WorktreeScan, "finish", counted)
    assert client.get("/data", If_None_Match=state).status == 304
    repo.write("b", "new\n")
    news = client.get("/data", If_None_Match=state).json
    assert news["turns"][0]["paths"] == ["a", "b"]
    assert len(scans) == 2


def test_details_and_blame_come_on_demand(client: Client, repo: Repo) -> None:
    second, first = ids(client)
    found = client.get(f"/turn/{first}").json
    assert found["files"][0]["diff"] == "@@ -1 +1 @@\n-one\n+two"
    for missing in ("x", "..", "%2e%2e", second[:-1]):
        assert client.get(f"/turn/{missing}").json["error"]["code"] == "not_found"
    blame = client.post("/blame", {"path": "a"}).json
    assert blame["lines"] == ["three"]
    assert blame["ranges"][0]["turn"] == second
    for path in ("/etc/passwd", "../a", "../../etc/passwd", ".git/config", "nowhere", "a/../../x"):
        answer = client.post("/blame", {"path": path}).json
        assert answer["error"]["code"] in ("missing_file", "outside_worktree"), path
    for value in ("", "a\0b", 1, None, ["a"]):
        answer = client.post("/blame", {"path": value}).json
        assert answer["error"]["code"] == "invalid_input"


def test_the_conversation_comes_on_demand(client: Client, repo: Repo, sealed: Path) -> None:
    path = sealed / ".claude/projects/shop/s1.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text('{"type": "assistant", "message": {"role": "assistant", "content": "Done"}}\n')
    anchor = {"path": str(path), "offset": 0, "hash": None}
    taken = take(agent="claude-code", session="s1", prompt="Begin", anchor=anchor)
    answer = client.post("/conversation", {"turn": taken.id}).json["conversation"]
    assert [each["text"] for each in answer["entries"]] == ["Begin", "Done"]
    assert client.post("/conversation", {"turn": "@"}).json["error"]["code"] == "invalid_input"
    unknown = {"turn": f"{taken.id[:-4]}0000"}
    assert client.post("/conversation", unknown).json["error"]["code"] == "not_found"


def test_one_file_comes_with_as_many_lines_as_wanted(client: Client, repo: Repo) -> None:
    lines = [f"{number}\n" for number in range(1, 31)]
    repo.write("a", "".join(lines))
    take(label="third")
    repo.write("a", "".join([*lines[:14], " 15 \n", *lines[15:29], "end\n"]))
    third = ids(client)[0]
    file = client.post("/file", {"turn": third, "path": "a"}).json["file"]
    assert (file["added"], file["diff"].count("@@ ")) == (2, 2)
    file = client.post("/file", {"turn": third, "path": "a", "context": 100}).json["file"]
    assert file["diff"].count("\n 1") == 10
    asked: dict[str, object] = {"turn": third, "path": "a", "ignore_whitespace": True}
    file = client.post("/file", asked).json["file"]
    assert (file["added"], file["removed"], "+ 15 " in file["diff"]) == (1, 1, False)
    for path in ("b", "../a"):
        answer = client.post("/file", {**asked, "path": path}).json
        assert answer["error"]["code"] == "not_found"
    wrongs: list[dict[str, object]] = [{"path": ""}, {"context": -1}, {"context": True}]
    wrongs += [{"context": "3"}, {"turn": 1}, {"turn": "@"}]
    for wrong in wrongs:
        answer = client.post("/file", {**asked, **wrong}).json
        assert answer["error"]["code"] == "invalid_input"


def test_two_states_are_compared(client: Client, repo: Repo) -> None:
    second, first = ids(client)
    repo.write("b", "b\n")
    begun, ended = {"turn": first, "side": "before"}, {"turn": first, "side": "after"}

    def compared(old: object, new: object, **more: object) -> list[tuple[str, str]]:
        answer = client.post("/compare", {"old": old, "new": new, **more}).json
        return [(file["path"], file["diff"]) for file in answer["files"]]

    assert compared(begun, ended) == [("a", "@@ -1 +1 @@\n-one\n+two")]
    both = [("a", "@@ -1 +1 @@\n-one\n+three"), ("b", "@@ -0,0 +1 @@\n+b")]
    assert compared(begun, "now") == both
    assert compared(begun, "now", paths=["b"]) == both[1:]
    assert compared("now", begun, paths=["b"]) == [("b", "@@ -1 +0,0 @@\n-b")]
    assert compared(ended, {"turn": second, "side": "before"}) == []
    assert compared("now", "now") == []
    wrong: list[object] = [None, first, {"turn": first}, {"turn": "@", "side": "after"}]
    for state in wrong:
        answer = client.post("/compare", {"old": state, "new": "now"}).json
        assert answer["error"]["code"] == "invalid_input"
    gone = {"turn": f"{first[:-4]}0000", "side": "after"}
    assert client.post("/compare", {"old": gone, "new": "now"}).json["error"]["code"] == "not_found"


def test_diffs_are_searched_for_a_text(client: Client, repo: Repo) -> None:
    second, first = ids(client)
    repo.write("a", "call(X[0]) + .*\n")
    for text, expected in (
        ("two", [second, first]),
        ("ONE", [first]),
        ("x[0]) + .*", [second]),
        ("call.X", []),
    ):
        answer = client.post("/search", {"text": text}).json
        assert (answer["turns"], answer["complete"]) == (expected, True)
    wrong: list[object] = ["", "a\nb", "a\0", "x" * 201, None, 1]
    for given in wrong:
        assert client.post("/search", {"text": given}).json["error"]["code"] == "invalid_input"


def test_restore_and_undo(client: Client, repo: Repo) -> None:
    _, first = ids(client)
    looked = client.post("/restore", {"id": first, "preview": True}).json
    assert looked["changed"][0]["path"] == "a"
    assert repo.read("a") == b"three\n"
    done = client.post("/restore", {"id": first, "conversation": True}).json
    assert (done["ok"], repo.read("a")) == (True, b"one\n")
    undone = client.post("/undo", {"restored": done["undo"]}).json
    assert (undone["ok"], repo.read("a")) == (True, b"three\n")
    again = client.post("/undo", {"restored": done["undo"]}).json
    assert again["error"]["code"] in ("not_found", "conflict")


def test_what_the_page_did_not_show_is_not_restored(client: Client, repo: Repo) -> None:
    _, first = ids(client)
    looked = client.post("/restore", {"id": first, "preview": True}).json
    repo.write("new", "not shown\n")
    wanted = {"id": first, "expect": looked["version"]}
    refused = client.post("/restore", wanted).json["error"]
    assert (refused["code"], refused["next"][0]["step"]) == ("conflict", "dry_run")
    assert (repo.read("a"), repo.read("new")) == (b"three\n", b"not shown\n")
    again = client.post("/restore", {"id": first, "preview": True}).json
    assert client.post("/restore", {"id": first, "expect": again["version"]}).json["ok"]
    assert repo.read("a") == b"one\n"
    unusable = client.post("/restore", {"id": first, "expect": 1}).json["error"]
    assert unusable["code"] == "invalid_input"


def test_a_restore_moves_head_if_asked(client: Client, repo: Repo) -> None:
    _, first = ids(client)
    before = repo.git("rev-parse", "HEAD")
    repo.git("commit", "-q", "--allow-empty", "-m", "later")
    assert client.post("/restore", {"id": first, "preview": True}).json["head_differs"]
    assert client.post("/restore", {"id": first, "head": True, "preview": True}).json["head_moved"]
    assert client.post("/restore", {"id": first, "head": True}).json["head_moved"]
    assert repo.git("rev-parse", "HEAD") == before


def test_undo_asks_again_if_turns_were_recorded_since(client: Client, repo: Repo) -> None:
    _, first = ids(client)
    done = client.post("/restore", {"id": first}).json
    repo.write("a", "new work\n")
    take(label="newer")
    refused = client.post("/undo", {"restored": done["undo"]}).json
    assert refused["error"]["code"] == "newer_turns"
    assert repo.read("a") == b"new work\n"
    force = next(each for each in refused["error"]["next"] if each["step"] == "force")
    assert client.post("/undo", {"restored": done["undo"], **force["arguments"]}).json["ok"]
    assert repo.read("a") == b"three\n"


def test_undo_asks_again_if_files_changed_since(client: Client, repo: Repo) -> None:
    _, first = ids(client)
    done = client.post("/restore", {"id": first}).json
    repo.write("a", "new work\n")
    refused = client.post("/undo", {"restored": done["undo"]}).json
    assert (refused["error"]["code"], refused["later_changes"]) == ("later_changes", ["a"])
    assert repo.read("a") == b"new work\n"
    force = next(each for each in refused["error"]["next"] if each["step"] == "force")
    assert client.post("/undo", {"restored": done["undo"], **force["arguments"]}).json["ok"]
    assert repo.read("a") == b"three\n"


def test_the_page_undoes_its_own_restore_alone(client: Client, repo: Repo) -> None:
    second, first = ids(client)
    done = client.post("/restore", {"id": first}).json
    repo.boocode("restore", second)
    refused = client.post("/undo", {"restored": done["undo"]}).json
    assert refused["error"]["code"] == "stale"
    assert repo.read("a") == b"two\n"


def test_undo_and_redo_are_offered_for_whatever_was_done_last(client: Client, repo: Repo) -> None:
    def offered() -> list[tuple[str, list[str]] | None]:
        data = client.get("/data").json
        return [
            data[key] and (data[key]["command"], data[key]["turns"]) for key in ("undo", "redo")
        ]

    second, first = ids(client)
    assert offered() == [None, None]
    assert repo.boocode("revert", second).code == 0
    assert repo.boocode("restore", first, "--files-only").code == 0
    assert offered() == [("restore", [first]), None]
    undone = client.get("/data").json["undo"]["id"]
    assert client.post("/undo", {"restored": undone}).json["ok"]
    assert offered() == [("revert", [second]), ("restore", [first])]
    redo = client.get("/data").json["redo"]["id"]
    assert client.post("/redo", {"undone": undone}).json["error"]["code"] == "stale"
    assert repo.read("a") == b"two\n"
    assert client.post("/redo", {"undone": redo}).json["ok"]
    assert repo.read("a") == b"one\n"
    assert offered() == [("restore", [first]), None]


def test_the_page_knows_what_is_proposed(client: Client, repo: Repo) -> None:
    assert client.get("/data").json["proposed"] == []
    edit = {"path": "a", "old_string": "three", "new_string": "four"}
    assert repo.boocode("propose", stdin=json.dumps(edit)).code == 0
    assert client.get("/data").json["proposed"] == ["a"]
    assert repo.boocode("accept").code == 0
    answer = client.get("/data").json
    assert (answer["proposed"], answer["undo"]["command"]) == ([], "accept")


def test_only_ids_are_restored(client: Client, repo: Repo) -> None:
    for name in ("@", "@~1", "label:first", "HEAD", "--force", "", None, 1):
        assert client.post("/restore", {"id": name}).json["error"]["code"] == "invalid_input"
        answer = client.post("/undo", {"restored": name}).json
        assert answer["error"]["code"] == "invalid_input"
    assert repo.read("a") == b"three\n"


def test_other_worktrees_are_not_restored_from_here(client: Client, repo: Repo) -> None:
    repo.git("worktree", "add", "-q", "linked")
    repo.boocode("checkpoint", "-m", "there", cwd="linked")
    newest = ids(client)[0]
    for preview in (True, False):
        answer = client.post("/restore", {"id": newest, "preview": preview}).json
        assert answer["error"]["code"] == "other_worktree"
    assert repo.read("a") == b"three\n"


def test_refusals_are_passed_on_with_their_hints(client: Client, repo: Repo) -> None:
    _, first = ids(client)
    repo.write(".git/index.lock")
    answer = client.post("/restore", {"id": first}).json
    assert (answer["ok"], answer["error"]["code"]) == (False, "locked")
    assert answer["error"]["hint"]
    assert repo.read("a") == b"three\n"


def test_parts_of_files_are_restored(client: Client, repo: Repo) -> None:
    _, first = ids(client)
    repo.write("a", "new\ntwo\n")
    repo.write("b", "mine\n")
    found = client.post("/parts", {"id": first, "paths": ["a"]}).json
    [file] = found["files"]
    assert (file["path"], [part["number"] for part in file["parts"]]) == ("a", [1])
    assert "+one" in file["parts"][0]["diff"]
    wanted = {"path": "a", "numbers": [1], "version": file["version"]}
    repo.write("a", "newer\ntwo\n")
    refused = client.post("/restore-parts", {"id": first, "files": [wanted]}).json
    assert refused["error"]["code"] == "conflict"
    repo.write("a", "new\ntwo\n")
    asked = {"id": first, "files": [wanted]}
    shown = client.post("/restore-parts", {**asked, "preview": True}).json
    assert [each["path"] for each in shown["changed"]] == ["a"]
    assert (shown["undo"], repo.read("a")) == (None, b"new\ntwo\n")
    done = client.post("/restore-parts", asked).json
    assert (done["ok"], repo.read("a"), repo.read("b")) == (True, b"one\n", b"mine\n")
    assert client.post("/undo", {"restored": done["undo"]}).json["ok"]
    assert repo.read("a") == b"new\ntwo\n"


def test_the_state_after_a_turn_is_restored(client: Client, repo: Repo) -> None:
    _, first = ids(client)
    asked = {"id": first, "after": True}
    shown = client.post("/restore", {**asked, "preview": True}).json
    assert (shown["after"], [each["path"] for each in shown["changed"]]) == (True, ["a"])
    [file] = client.post("/parts", {**asked, "paths": ["a"]}).json["files"]
    assert "+two" in file["parts"][0]["diff"]
    wanted = {"path": "a", "numbers": [1], "version": file["version"]}
    done = client.post("/restore-parts", {**asked, "files": [wanted]}).json
    assert (done["ok"], repo.read("a")) == (True, b"two\n")
    assert client.post("/undo", {"restored": done["undo"]}).json["ok"]
    assert client.post("/restore", asked).json["ok"]
    assert repo.read("a") == b"two\n"
    for path in ("/restore", "/parts", "/restore-parts"):
        answer = client.post(path, {**asked, "after": 1, "paths": ["a"], "files": [wanted]}).json
        assert answer["error"]["code"] == "invalid_input"


def test_what_has_no_parts(client: Client, repo: Repo) -> None:
    _, first = ids(client)
    for paths in ([], ["nowhere"], ["../a"]):
        answer = client.post("/parts", {"id": first, "paths": paths}).json
        assert answer["error"]["code"] == "not_found"
    wrong: list[object] = [None, "a", [1], [""], ["a\0b"]]
    for given in wrong:
        answer = client.post("/parts", {"id": first, "paths": given}).json
        assert answer["error"]["code"] == "invalid_input"
    right = {"path": "a", "numbers": [1], "version": "x"}
    wrong = [None, [], [1], {}, [{**right, "version": None}]]
    wrong += [[{**right, "numbers": value}] for value in ([], [True], ["1"], 1, None)]
    wrong += [[{**right, "path": value}] for value in ("", "a\0", 1)]
    for given in wrong:
        answer = client.post("/restore-parts", {"id": first, "files": given}).json
        assert answer["error"]["code"] == "invalid_input"
    assert repo.read("a") == b"three\n"


def test_a_turn_is_taken_back(client: Client, repo: Repo) -> None:
    repo.write("b", "b\n")
    take(label="third")
    repo.write("a", "three\nmine\n")
    third, *_ = ids(client)
    take(label="fourth")
    repo.write("b", "by others\n")
    looked = client.post("/revert", {"turns": [third], "preview": True}).json
    lines = {"added": 0, "removed": 1}
    assert looked["changed"] == [{"path": "a", "action": "modify", "lines": lines}]
    assert repo.read("a") == b"three\nmine\n"
    done = client.post("/revert", {"turns": [third]}).json
    assert (done["turns"], repo.read("a")) == ([third], b"three\n")
    assert repo.read("b") == b"by others\n"
    assert client.post("/undo", {"restored": done["undo"]}).json["ok"]
    assert repo.read("a") == b"three\nmine\n"


def test_parts_of_a_turn_are_taken_back_and_done_again(client: Client, repo: Repo) -> None:
    repo.write("b", "".join(f"{number}\n" for number in range(1, 21)))
    take(label="third")
    repo.write("b", repo.read("b").replace(b"2\n", b"two\n", 1).replace(b"19\n", b"nineteen\n"))
    repo.write("c", "new\n")
    take(label="fourth")
    third = ids(client)[1]
    asked = {"turns": [third], "paths": ["b"], "hunks": {}, "preview": True}
    [file] = client.post("/revert", asked).json["files"]
    assert (file["path"], [part["number"] for part in file["parts"]]) == ("b", [1, 2])
    assert "-nineteen" in file["parts"][1]["diff"]
    wanted = {"turns": [third], "paths": ["b"], "hunks": {"b": [2]}}
    for versions in ({}, {"b": ""}, {"c": file["version"]}):
        answer = client.post("/revert", {**wanted, "versions": versions}).json
        assert answer["error"]["code"] == "invalid_input"
    seen = {**wanted, "versions": {"b": file["version"]}}
    repo.write("b", b"own\n" + repo.read("b"))
    assert client.post("/revert", seen).json["error"]["code"] == "conflict"
    repo.write("b", repo.read("b").removeprefix(b"own\n"))
    assert client.post("/revert", seen).json["ok"]
    assert b"two\n" in repo.read("b")
    assert b"19\n" in repo.read("b")
    [again] = client.post("/pick", asked).json["files"]
    assert [part["number"] for part in again["parts"]] == [1]
    seen = {**wanted, "hunks": {"b": [1]}, "versions": {"b": again["version"]}}
    assert client.post("/pick", seen).json["ok"]
    assert b"nineteen\n" in repo.read("b")
    assert repo.read("c") == b"new\n"


def test_too_many_hunks_to_choose_from_can_be_taken_back_at_once(
    client: Client, repo: Repo
) -> None:
    lines = [f"{number}\n" for number in range(1010)]
    repo.write("b", "".join(lines))
    take(label="third")
    repo.write("b", "".join(f"new {line}" if line[-2] in "05" else line for line in lines))
    third = ids(client)[0]
    asked = {"turns": [third], "paths": ["b"], "preview": True}
    [step] = client.post("/revert", {**asked, "hunks": {}}).json["error"]["next"]
    assert step["command"] == f"git boocode revert -p {third} -- b"
    done = client.post("/revert", asked).json
    assert ([each["path"] for each in done["changed"]], "files" in done) == (["b"], False)


def test_what_conflicts_is_told_beside_the_parts(client: Client) -> None:
    first = ids(client)[1]
    asked = {"turns": [first], "paths": ["a"], "preview": True}
    assert client.post("/revert", asked).json["error"]["code"] == "conflict"
    listed = client.post("/revert", {**asked, "hunks": {}}).json
    assert (listed["files"], listed["conflicts"][0]["path"]) == ([], "a")


def test_a_conflict_names_the_turns_that_wrote_the_lines(client: Client, repo: Repo) -> None:
    second, first = ids(client)
    refused = client.post("/revert", {"turns": [first]}).json
    assert refused["error"]["code"] == "conflict"
    [conflict] = refused["conflicts"]
    assert conflict["by"] == [{"turn": second, "label": "second"}]
    assert repo.read("a") == b"three\n"
    done = client.post("/revert", {"turns": [first, second]}).json
    assert (done["ok"], repo.read("a")) == (True, b"one\n")
    for turns in (None, [], "x", ["@"], [1]):
        answer = client.post("/revert", {"turns": turns}).json
        assert answer["error"]["code"] == "invalid_input"


def test_a_running_turn_keeps_the_page_from_restoring(client: Client, repo: Repo) -> None:
    _, first = ids(client)
    assert repo.boocode("turn", "begin", "-m", "fix").code == 0
    answer = client.post("/restore", {"id": first}).json
    assert (answer["ok"], answer["error"]["code"]) == (False, "locked")
    assert "a turn is running: 'fix'" in answer["error"]["message"]
    assert client.post("/restore", {"id": first, "preview": True}).json["ok"]
    assert repo.read("a") == b"three\n"
    # What works is there as data, and not in the hint again.
    ends, force = answer["error"]["next"]
    assert (ends["command"], answer["error"]["hint"]) == ("git boocode turn end", "")
    wrong: tuple[object, ...] = ("running-turn", [1], [[]], ["shared"])
    for each in wrong:
        refused = client.post("/restore", {"id": first, "force": each}).json
        assert refused["error"]["code"] == "invalid_input"
    assert client.post("/restore", {"id": first, **force["arguments"]}).json["ok"]
    assert repo.read("a") == b"one\n"


def test_requests_are_answered_side_by_side(client: Client) -> None:
    _, first = ids(client)
    with ThreadPoolExecutor(12) as threads:
        work = [threads.submit(client.get, "/data") for _ in range(4)]
        work += [threads.submit(client.get, f"/turn/{first}") for _ in range(4)]
        work += [threads.submit(client.post, "/blame", {"path": "a"}) for _ in range(4)]
        assert all(done.result().json["ok"] for done in work)


def test_slow_clients_hold_up_nobody(client: Client) -> None:
    slow = [socket.create_connection(("127.0.0.1", client.server.port)) for _ in range(10)]
    for connection in slow:
        connection.sendall(b"POST /restore HTTP/1.1\r\n")
    begun = time.monotonic()
    assert client.get("/data").status == 200
    assert time.monotonic() - begun < 5
    for connection in slow:
        connection.close()


def test_the_end_waits_for_requests_and_leaves_nothing_behind(client: Client, repo: Repo) -> None:
    for number in range(300):
        repo.write(f"many/{number}", f"{number}\n")
    with ThreadPoolExecutor(6) as pool:
        running = [pool.submit(client.get, "/data") for _ in range(6)]
        time.sleep(0.1)
        client.server.shutdown()
        client.server.wait_for_requests()
        assert not [*(repo.top / ".git/boocode").glob("tmp-*")]
        for each in running:
            with suppress(OSError):
                each.result()
