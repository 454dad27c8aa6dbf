"""Checkpoints and their diffs as resources."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.repo_kit import Repo
from tests.server.conftest import Serve
from tests.server.kit import Client

MISSING, PARAMS = -32002, -32602
CHANGING = ["turns", "proposals"]


def uri_of(identifier: str, *, diff: bool = False) -> str:
    return f"boocode://checkpoints/{identifier}{'/diff' if diff else ''}"


def read(client: Client, uri: str) -> dict[str, Any]:
    [content] = client.ask("resources/read", uri=uri)["contents"]
    assert content["uri"] == uri
    return dict(content)


def pages(client: Client, between: Any = None) -> list[list[str]]:
    """The URIs of all pages."""
    found: list[list[str]] = []
    params: dict[str, str] = {}
    while True:
        page = client.ask("resources/list", **params)
        rows = page["resources"]
        found.append([row["uri"] for row in rows if row["name"] not in CHANGING])
        if "nextCursor" not in page:
            return found
        params = {"cursor": page["nextCursor"]}
        if between is not None:
            between()


def test_what_there_is_of_a_checkpoint(client: Client, work: Repo) -> None:
    assert [row["name"] for row in client.ask("resources/list")["resources"]] == CHANGING
    work.write("a", "changed ä\n")
    taken = client.succeed("checkpoint", label="the label", agent="x")["id"]
    rows = client.ask("resources/list")["resources"][: -len(CHANGING)]
    assert [row["uri"] for row in rows] == [uri_of(taken), uri_of(taken, diff=True)]
    assert [row["name"] for row in rows] == ["the label", "the label (diff)"]
    assert [row["mimeType"] for row in rows] == ["application/json", "text/x-diff"]
    assert rows[0]["description"].endswith(", x")
    work.write("a", "changed since\n")
    content = read(client, uri_of(taken))
    assert content["mimeType"] == "application/json"
    assert json.loads(content["text"]) == client.succeed("show", name=taken)
    content = read(client, uri_of(taken, diff=True))
    assert content["mimeType"] == "text/x-diff"
    assert "-changed ä\n+changed since\n" in content["text"]
    [shown, diff] = client.ask("resources/templates/list")["resourceTemplates"]
    assert shown["uriTemplate"].replace("{id}", taken) == uri_of(taken)
    assert diff["uriTemplate"].replace("{id}", taken) == uri_of(taken, diff=True)


def test_what_is_not_there(client: Client) -> None:
    client.succeed("checkpoint", label="x")
    uris = [
        *("", "boocode://checkpoints/", "boocode://checkpoints/@", "boocode://checkpoints/@~1"),
        *("boocode://checkpoints/HEAD", "boocode://checkpoints/../../a", "file:///etc/passwd"),
        *("boocode://checkpoints/label:x", "http://[", "boocode://checkpoints/{id}", "\ud800"),
        "boocode://checkpoints/01a20055-7241-78ae-91d5-8b35fb252aab",
        "boocode://checkpoints/01a20055-7241-78ae-91d5-8b35fb252aab/other",
        "boocode://checkpoints/01a20055-7241-78ae-91d5-8b35fb252aab/diff\n",
        "boocode://checkpoints/01a20055-7241-78ae-91d5-8b35fb252aab\0",
    ]
    for uri in uris:
        error = client.fail("resources/read", uri=uri)
        assert (error["code"], error["data"]) == (MISSING, {"uri": uri})


def test_wrong_params(client: Client) -> None:
    uris: list[object] = [None, 7, [], {}]
    for uri in uris:
        assert client.fail("resources/read", uri=uri)["code"] == PARAMS
    assert client.fail("resources/read")["code"] == PARAMS
    cursors: list[object] = [7, [], "", "x", "0", "0/x", "/", "-1/x", "99999999999/x", "\ud800"]
    for cursor in cursors:
        assert client.fail("resources/list", cursor=cursor)["code"] == PARAMS
    first = client.succeed("checkpoint")["id"]
    for cursor in (f"7/{first}", f"0123abcd/{first}"):
        assert client.fail("resources/list", cursor=cursor)["code"] == PARAMS
    assert client.fail("resources/subscribe", uri=uri_of(first))["code"] == PARAMS


def take(repo: Repo, count: int) -> list[str]:
    """Checkpoints, newest first; all but the first are made by git, which is faster."""
    first = repo.boocode("checkpoint", "--json").json
    commit = repo.git("cat-file", "commit", first["commit"])
    ids, refs = [first["id"]], []
    for number in range(1, count):
        # It differs in the last digits of the time.
        head, rest = first["id"][:9], first["id"][13:]
        identifier = f"{head}{(int(first['id'][9:13], 16) + number) & 0xFFFF:04x}{rest}"
        text = commit.replace(first["id"], identifier)
        made = repo.git("hash-object", "-t", "commit", "-w", "--stdin", stdin=text).strip()
        refs.append(f"create refs/boocode/checkpoints/{identifier} {made}\n")
        ids.append(identifier)
    repo.git("update-ref", "--stdin", stdin="".join(refs))
    return sorted(ids, reverse=True)


@pytest.mark.slow
def test_pages(client: Client, work: Repo) -> None:
    ids = take(work, 120)
    found = pages(client)
    assert [len(page) for page in found] == [100, 100, 40]
    assert [uri for page in found for uri in page][::2] == [*map(uri_of, ids)]


@pytest.mark.slow
def test_pages_of_several_roots(work: Repo, tmp_path: Path, rooted: Serve) -> None:
    work.git("clone", "-q", ".", str(tmp_path / "other"))
    other = Repo(tmp_path / "other")
    ids = [*take(work, 60), *take(other, 60)]
    (tmp_path / "none").mkdir()
    client = rooted(tmp_path / "none", work.top, other.top, work.top / "sub", tmp_path / "x")
    assert client.ask("resources/list")["resources"]
    assert [uri for page in pages(client) for uri in page][::2] == [*map(uri_of, ids)]
    for identifier in (ids[0], ids[-1]):
        assert (
            json.loads(read(client, uri_of(identifier))["text"])["checkpoint"]["id"] == identifier
        )
    client.roots = [other.top]
    client.notify("notifications/roots/list_changed")
    assert client.answer(client.request("resources/read", uri=uri_of(ids[0])))["error"]
    assert [uri for page in pages(client) for uri in page][::2] == [*map(uri_of, ids[60:])]


@pytest.mark.slow
def test_a_cursor_whose_checkpoint_was_dropped(client: Client, work: Repo) -> None:
    ids = take(work, 120)

    def drop() -> None:
        work.git("update-ref", "-d", f"refs/boocode/checkpoints/{ids[49]}")

    found = pages(client, drop)
    assert [uri for page in found for uri in page][::2] == [*map(uri_of, ids)]


def test_a_dropped_checkpoint_is_gone(client: Client, work: Repo) -> None:
    taken = client.succeed("checkpoint")["id"]
    assert read(client, uri_of(taken))
    work.boocode("drop", taken)
    assert pages(client) == [[]]
    assert client.fail("resources/read", uri=uri_of(taken))["code"] == MISSING


def test_a_damaged_checkpoint_disables_only_itself(client: Client, work: Repo) -> None:
    taken = client.succeed("checkpoint")["id"]
    broken = "01a20055-7241-78ae-91d5-8b35fb252aab"
    work.git("update-ref", f"refs/boocode/checkpoints/{broken}", "HEAD")
    assert pages(client) == [[uri_of(taken), uri_of(taken, diff=True)]]
    assert client.fail("resources/read", uri=uri_of(broken))["code"] == MISSING


def test_a_worktree_lists_its_own(client: Client, work: Repo, serve: Serve) -> None:
    client.succeed("checkpoint")
    work.git("worktree", "add", "-q", "--detach", ".git/other")
    other = serve(cwd=".git/other")
    other.begin()
    assert pages(other) == [[]]
    taken = other.succeed("checkpoint")["id"]
    shown, *_ = other.ask("resources/list")["resources"]
    assert shown["uri"] == uri_of(taken)
    assert [len(page) for page in pages(client)] == [2]


def test_bytes_that_are_not_utf8(client: Client, work: Repo) -> None:
    client.succeed("checkpoint")
    work.write("a", b"\xff\xe9\n")
    taken = client.succeed("checkpoint")["id"]
    work.write("a", b"\xff\n")
    assert "-\udcff\udce9\n+\udcff\n" in read(client, uri_of(taken, diff=True))["text"]


def test_a_worktree_below_a_root(tmp_path: Path, rooted: Serve) -> None:
    inner = Repo(tmp_path / "root" / "inner")
    subprocess.run(["git", "init", "-q", inner.top], check=True)
    inner.commit("Begin", a="one\n")
    client = rooted(tmp_path / "root")
    assert pages(client) == [[]]
    error = client.refuse("checkpoint")
    assert (error["code"], error["hint"][:10]) == ("not_a_repository", "give 'cwd'")
    taken = client.succeed("checkpoint", cwd="inner")
    uri = f"boocode://checkpoints/{taken['id']}"
    assert uri in [each["uri"] for each in client.ask("resources/list")["resources"]]
    assert client.ask("resources/read", uri=uri)["contents"][0]["uri"] == uri
