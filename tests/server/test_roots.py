"""Only the worktrees of the client's roots are served, or the one of `--repo`."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from git_boocode.repo.errors import RefusedError, UsageError
from git_boocode.server.roots import Roots
from tests.repo_kit import Repo
from tests.server.conftest import Serve
from tests.server.kit import Client, edit, structured


def made(top: Path) -> Repo:
    """A repository with a commit and a directory."""
    subprocess.run(["git", "init", "-q", top], check=True)
    repo = Repo(top)
    repo.commit("Begin", **{"a": "one\n", "sub/b": "b\n"})
    return repo


@pytest.fixture
def inside(tmp_path: Path) -> Repo:
    """The repository of the root."""
    return made(tmp_path / "inside")


@pytest.fixture
def outside(tmp_path: Path) -> Repo:
    """A repository beside it."""
    return made(tmp_path / "outside")


def is_refused(client: Client, repo: Repo, cwd: str | Path = "") -> None:
    """Nothing in a repository can be read or changed by a call in a directory."""
    before, refs = repo.files(), repo.git("for-each-ref")
    where = str(cwd or repo.top)
    for name, arguments in (
        *(("log", {}), ("checkpoint", {}), ("locate", {"path": "a", "needle": "one"})),
        *(("apply_edit", edit("a", "one", "1")), ("turn", {"action": "begin"})),
        *(("preview_edit", edit("a", "one", "1")), ("restore", {"checkpoint": "@"})),
    ):
        error = client.refuse(name, **arguments, cwd=where)
        assert error["code"] == "outside_worktree"
        assert "one" not in error["message"].replace("one of", "")
    assert (repo.files(), repo.git("for-each-ref")) == (before, refs)


def serves(client: Client, cwd: str | Path) -> None:
    assert client.succeed("checkpoint", cwd=str(cwd))


def test_the_roots_limit_the_calls(inside: Repo, outside: Repo, rooted: Serve) -> None:
    client = rooted(inside.top)
    serves(client, inside.top)
    serves(client, inside.top / "sub")
    serves(client, "sub")
    is_refused(client, outside)
    is_refused(client, outside, outside.top / "sub")
    is_refused(client, outside, "../outside")
    is_refused(client, outside, f"{inside.top}/../outside")
    (inside.top / "link").symlink_to(outside.top)
    is_refused(client, outside, "link")
    # Nobody learns what there is elsewhere.
    for elsewhere in ("/none/at/all", "/etc", str(outside.top / "none"), str(outside.top / "a")):
        assert client.refuse("log", cwd=elsewhere)["code"] == "outside_worktree"
    is_refused(client, outside, "link/sub")


def test_a_root_inside_a_worktree(inside: Repo, outside: Repo, rooted: Serve) -> None:
    client = rooted(inside.top / "sub")
    serves(client, inside.top)
    assert client.succeed("apply_edit", **edit("b", "b", "c"))
    client.succeed("log", edits=True)  # The edit is recorded now.
    # Another worktree of the same repository is not below the root.
    inside.git("worktree", "add", "-q", "--detach", str(outside.top.parent / "linked"))
    is_refused(client, Repo(outside.top.parent / "linked"))
    is_refused(client, outside)


def test_a_root_above_repositories(inside: Repo, outside: Repo, rooted: Serve) -> None:
    client = rooted(inside.top.parent)
    serves(client, inside.top)
    serves(client, outside.top)


def test_a_name_that_begins_alike(tmp_path: Path, rooted: Serve) -> None:
    first, second = made(tmp_path / "repo"), made(tmp_path / "repo-secret")
    client = rooted(first.top)
    serves(client, first.top)
    is_refused(client, second)


def test_a_worktree_that_is_elsewhere(inside: Repo, outside: Repo, rooted: Serve) -> None:
    client = rooted(inside.top)
    # Files that anybody can put into a worktree, and settings, lead to another.
    (inside.top / "trap").mkdir()
    (inside.top / "trap/.git").write_text(f"gitdir: {outside.top}/.git\n")
    outside.git("config", "core.worktree", str(outside.top))
    is_refused(client, outside, "trap")
    inside.git("config", "core.worktree", str(outside.top))
    assert client.refuse("apply_edit", **edit("a", "one", "1"))
    assert outside.read("a") == b"one\n"


def test_no_root_of_use(inside: Repo, rooted: Serve) -> None:
    found: list[list[Any]] = [
        *([], [{"uri": "https://example.com/"}], [{"uri": "http://["}], [{"uri": "file:relative"}]),
        *([{"uri": "file://host/tmp"}], [{"uri": 7}, 7, None, {}], [{"uri": "file:///a%00b"}]),
        *([{"uri": ""}], [{"uri": "untitled:1"}], [{"uri": "vscode-remote://wsl/tmp"}]),
    ]
    for roots in found:
        client = rooted(*roots)
        assert client.refuse("checkpoint")["code"] == "outside_worktree", roots
        assert client.refuse("log", cwd=str(inside.top))["code"] == "outside_worktree", roots
        assert client.ask("resources/list") == {"resources": []}, roots


@pytest.mark.parametrize("name", ["a b", "ä#b?c", "100%20+", "\udcff"])
def test_characters_of_a_root(tmp_path: Path, rooted: Serve, name: str) -> None:
    repo = made(tmp_path / name)
    client = rooted(repo.top)
    assert client.succeed("checkpoint")
    assert client.succeed("apply_edit", **edit("a", "one", "1"))
    assert repo.read("a") == b"1\n"


def test_uris_of_other_clients(inside: Repo, rooted: Serve) -> None:
    for uri in (f"file://localhost{inside.top}", f"FILE://{inside.top}/", f"file:{inside.top}"):
        client = rooted({"uri": uri, "name": "x"})
        assert client.succeed("checkpoint"), uri


def test_roots_that_are_links(inside: Repo, outside: Repo, rooted: Serve, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(inside.top)
    client = rooted(tmp_path / "link")
    serves(client, inside.top)
    serves(client, tmp_path / "link")
    is_refused(client, outside)


def test_roots_that_change(inside: Repo, outside: Repo, rooted: Serve) -> None:
    client = rooted(inside.top)
    serves(client, inside.top)
    client.roots = [outside.top]
    client.notify("notifications/roots/list_changed")
    serves(client, outside.top)
    is_refused(client, inside)
    client.roots = [inside.top, outside.top]
    client.notify("notifications/roots/list_changed")
    serves(client, outside.top)
    serves(client, inside.top)
    client.roots = []
    client.notify("notifications/roots/list_changed")
    is_refused(client, inside)


def test_only_the_newest_answer_counts(inside: Repo, outside: Repo, serve: Serve) -> None:
    client = serve(roots=[inside.top])
    client.begin()
    client.notify("notifications/roots/list_changed")
    first, second = client.read(), client.read()
    assert first["id"] != second["id"]
    call = client.start("log", cwd=str(inside.top))
    client.roots = [outside.top]
    client.name_roots(second["id"])
    client.roots = [inside.top]
    client.name_roots(first["id"])
    assert structured(client.answer(call))["error"]["code"] == "outside_worktree"


def test_a_client_that_cannot_name_its_roots(inside: Repo, outside: Repo, serve: Serve) -> None:
    client = serve(cwd=inside.top, roots=[])
    answers: list[dict[str, Any]] = [
        *({"error": {"code": -32601, "message": "no"}}, {"result": {}}, {"result": None}),
        *({"result": {"roots": None}}, {"result": []}, {"result": {"roots": "file:///"}}),
    ]
    for answer in answers:
        client.begin()
        client.send({"jsonrpc": "2.0", "id": client.read()["id"], **answer})
        # It is served where it has started the server.
        assert client.succeed("locate", path="a", needle="one"), answer
        assert client.refuse("log", cwd=str(outside.top))["code"] == "outside_worktree", answer
        client.others.clear()


def test_errors_name_the_directory(tmp_path: Path, rooted: Serve) -> None:
    (tmp_path / "plain").mkdir()
    for root, message in (
        (tmp_path / "plain", f"'{tmp_path}/plain', the first root, is not in a worktree"),
        (tmp_path / "none", f"'{tmp_path}/none', the first root, does not exist"),
    ):
        client = rooted(root)
        assert client.refuse("log")["message"] == message
        assert client.refuse("log", cwd="x")["message"] == f"'{root}/x' does not exist"
    damaged = made(tmp_path / "damaged")
    with (damaged.top / ".git/config").open("a") as file:
        file.write("[bad\n")
    client = rooted(damaged.top)
    assert "bad config line" in client.refuse("log")["message"]


@pytest.mark.slow
def test_a_client_that_never_names_its_roots(inside: Repo, serve: Serve) -> None:
    client = serve(cwd=inside.top, roots=[])
    client.begin()
    client.read()
    calls = [client.start("checkpoint") for _ in range(5)]
    # They do not wait one after the other.
    for call in calls:
        assert structured(client.answer(call, 15))["error"]["code"] == "outside_worktree"


def test_without_roots_the_start_counts(inside: Repo, outside: Repo, serve: Serve) -> None:
    client = serve(cwd=inside.top / "sub")
    client.begin()
    serves(client, inside.top)
    is_refused(client, outside)


@pytest.mark.parametrize("where", ["/", "home"])
def test_started_where_everything_is(inside: Repo, serve: Serve, sealed: Path, where: str) -> None:
    repo = made(sealed / "repo")
    client = serve(cwd=sealed if where == "home" else "/")
    client.begin()
    is_refused(client, repo)
    is_refused(client, inside)
    assert client.refuse("log")["code"] == "outside_worktree"


def test_started_in_a_home_that_is_a_repository(sealed: Path, serve: Serve) -> None:
    repo = made(sealed)
    client = serve(cwd=sealed)
    client.begin()
    is_refused(client, repo)
    client = serve("--repo", ".", cwd=sealed)
    client.begin()
    assert client.succeed("apply_edit", **edit("a", "one", "1"))


def test_the_repository_that_is_given(inside: Repo, outside: Repo, serve: Serve) -> None:
    for given in (str(inside.top / "sub"), "../inside"):
        client = serve("--repo", given, cwd=outside.top, roots=[outside.top])
        client.begin()
        serves(client, inside.top)
        assert client.succeed("locate", path="a", needle="one")
        is_refused(client, outside)
        # Neither the client's roots nor its answers matter.
        client.notify("notifications/roots/list_changed")
        client.ask("ping")
        assert client.others == []
        client.send({"jsonrpc": "2.0", "id": "roots-1", "result": {"roots": [{"uri": "file:///"}]}})
        is_refused(client, outside)


def test_a_nested_repository_is_not_the_one_that_is_given(inside: Repo, serve: Serve) -> None:
    nested = made(inside.top / "sub/nested")
    client = serve("--repo", ".", cwd=inside.top)
    client.begin()
    is_refused(client, nested)
    serves(client, inside.top)


@pytest.mark.parametrize("given", ["", "none", "/", "a"])
@pytest.mark.variants
def test_what_cannot_be_served(inside: Repo, given: str) -> None:
    done = inside.installed("serve", "--repo", given, cwd=inside.top.parent if given != "a" else "")
    assert (done.code, done.out) in ((128, ""), (129, ""))
    assert done.err.startswith("fatal: ")


def test_the_environment_of_the_server_does_not_choose(
    inside: Repo, outside: Repo, serve: Serve
) -> None:
    client = serve(
        cwd=inside.top,
        env={"GIT_DIR": str(outside.top / ".git"), "GIT_WORK_TREE": str(outside.top)},
    )
    client.begin()
    taken = client.succeed("checkpoint")
    assert taken["id"] in inside.git("for-each-ref")
    is_refused(client, outside)


def test_directories_of_calls(tmp_path: Path) -> None:
    (tmp_path / "top/.git").mkdir(parents=True)
    (tmp_path / "top/sub").mkdir()
    roots = Roots(None, str(tmp_path / "top"))
    top = os.path.realpath(tmp_path / "top")
    found: list[object] = [None, "", ".", "sub", "sub/..", f"{top}/sub/none", 7, []]
    for cwd in found:
        assert roots.worktree_above(cwd) == top
    for bad in ("a\0b", "\ud800"):
        assert roots.worktree_above(bad) == "/"
        with pytest.raises(UsageError):
            roots.repository(bad)
    assert roots.worktree_above("/") == "/"
    roots.name([])
    with pytest.raises(RefusedError, match="names no root"):
        roots.repository(None)
