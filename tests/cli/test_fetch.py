from __future__ import annotations

from pathlib import Path

import pytest

from git_boocode.repo.layout import CHECKPOINTS
from tests.checkpoints.kit import take
from tests.hostile.test_metadata import BYTES, EVIL, STEERING, evil_everywhere, rewrite
from tests.repo_kit import Repo

pytestmark = pytest.mark.slow


@pytest.fixture
def clone(repo: Repo, tmp_path: Path) -> Repo:
    """A clone of the repository that the test runs in, which is its remote."""
    repo.commit(a="a\n")
    repo.git("clone", "-q", str(repo.top), str(tmp_path / "clone"))
    return Repo(tmp_path / "clone")


def test_the_text(repo: Repo, clone: Repo) -> None:
    taken = take()
    assert clone.boocode("fetch", "-n") == (
        0, f" * {taken.id}\nwould fetch 1 checkpoint from origin\n", ""
    )  # fmt: skip
    assert clone.boocode("fetch") == (
        0, f" * {taken.id}\nfetched 1 checkpoint from origin\n",
        "hint: 'git boocode log --remote origin' shows them\n",
    )  # fmt: skip
    assert clone.boocode("fetch") == (0, "nothing to fetch: what origin has is here\n", "")
    repo.git("update-ref", "-d", taken.ref)
    assert clone.boocode("fetch", "-p", "-n").out == (
        f" - {taken.id}\nwould prune 1 checkpoint of origin\n"
    )
    second = take()
    assert clone.boocode("fetch", "--prune").out == (
        f" * {second.id}\n - {taken.id}\n"
        "fetched 1 checkpoint from origin; pruned 1 checkpoint of origin\n"
    )


def test_the_json_answer(repo: Repo, clone: Repo) -> None:
    taken = take()
    repo.git("update-ref", f"{CHECKPOINTS}x", "HEAD")
    done = clone.boocode("fetch", "--json")
    assert (done.code, done.err) == (0, "")
    assert done.json == {
        "ok": True, "remote": "origin", "fetched": [taken.id], "moved": [], "pruned": [],
        "differing": [], "dry_run": False,
        "rejected": [{"name": "x", "reason": "its name is not a checkpoint id"}],
        "proposals": [], "pruned_proposals": [], "rejected_proposals": [],
        "turn_ends": [], "rejected_turn_ends": [],
    }  # fmt: skip


def test_oddities_are_reported(repo: Repo, clone: Repo) -> None:
    taken = take()
    repo.git("update-ref", f"{CHECKPOINTS}x\u202e", "HEAD")
    mine = clone.boocode("checkpoint").out.strip()
    commit = rewrite(repo, taken, {"id": mine}, mine)
    done = clone.boocode("fetch")
    assert done.code == 0
    assert done.err.splitlines() == [
        f"warning: {mine} is another checkpoint here than on 'origin'; ours is untouched",
        "warning: skipped 1 checkpoint of 'origin' that cannot be used",
        " ! x?: its name is not a checkpoint id",
        "hint: 'git boocode log --remote origin' shows them",
    ]
    rewrite(repo, taken, {"label": "moved"})
    done = clone.boocode("fetch")
    assert done.out == f" + {taken.id}\nfetched 1 checkpoint from origin\n"
    assert done.err.splitlines()[0] == "warning: 'origin' has other commits now for 1 checkpoint"
    assert clone.boocode("show", mine, "--json").json["checkpoint"]["commit"] != commit


def test_the_log_of_what_was_fetched(repo: Repo, clone: Repo, tmp_path: Path) -> None:
    clone.git("remote", "add", "team/alice", str(repo.top))
    taken = take(label="theirs")
    clone.boocode("fetch", "origin")
    clone.boocode("fetch", "team/alice")
    mine = clone.boocode("checkpoint").out.strip()
    assert [row["id"] for row in clone.boocode("log", "--all", "--json").json["checkpoints"]] == [
        mine
    ]
    (row,) = clone.boocode("log", "--remote", "team/alice", "--json").json["checkpoints"]
    assert (row["id"], row["remote"], row["label"]) == (taken.id, "team/alice", "theirs")
    rows = clone.boocode("log", "--remotes", "--json").json["checkpoints"]
    assert sorted(row["remote"] for row in rows) == ["origin", "team/alice"]
    above, line = clone.boocode("log", "--remotes", "-n", "1").out.splitlines()
    assert line.startswith(taken.id[:13])
    assert above in ("by hand on main, remote origin", "by hand on main, remote team/alice")
    for name in ("nix", "", "*"):
        refused = clone.boocode("log", "--remote", name)
        assert (refused.code, refused.err.splitlines()[0]) == (
            1, f"error: unknown remote '{name}'"
        )  # fmt: skip
    assert clone.boocode("log", "--remotes", "--edits").code == 129
    clone.git("remote", "remove", "team/alice")
    assert clone.boocode("log", "--remote", "team/alice").out.startswith(
        f"by hand on main, remote team/alice\n{taken.id[:13]} "
    )


def test_newest_first_over_all_remotes(repo: Repo, clone: Repo) -> None:
    clone.git("remote", "add", "z", str(repo.top))
    made = []
    for number, remote in enumerate(("origin", "z", "origin")):
        made.append(take(label=str(number)).id)
        clone.boocode("fetch", remote, made[-1])
    rows = clone.boocode("log", "--remotes", "--json").json["checkpoints"]
    assert [row["id"] for row in rows] == made[::-1]


@pytest.mark.parametrize("evil", [EVIL, BYTES], ids=["characters", "bytes"])
def test_nothing_that_was_fetched_steers_a_terminal(repo: Repo, clone: Repo, evil: str) -> None:
    taken = take()
    values = evil_everywhere(evil)
    head = {**taken.meta.values["head"], "ref": f"refs/heads/{evil}"}
    rewrite(repo, taken, {**values, "head": head, "worktree": {"name": "main", "path": evil}})
    clone.write("b", "b\n")
    for command in (
        "fetch -n", "fetch", "log --remotes", "log --remotes --json", f"show {taken.id}",
        f"show --json {taken.id}", f"diff {taken.id}",
        f"restore -n --force other-repository {taken.id}",
        f"restore --force other-repository {taken.id}", "undo",
    ):  # fmt: skip
        done = clone.boocode(*command.split())
        assert done.code == 0, (command, done)
        assert not STEERING.search((done.out + done.err).replace("\t", "")), command


def test_what_was_fetched_names_no_program(repo: Repo, clone: Repo) -> None:
    touched = clone.top / ".git/touched"
    program = clone.write(".git/program", f"#!/bin/sh\ntouch {touched}\n", 0o755)
    taken = take()
    named = dict.fromkeys(("callback", "program", "editor", "pager", "hook"), str(program))
    rewrite(repo, taken, {**named, "meta": named, "boocode.callback": str(program)})
    clone.boocode("fetch")
    clone.write("b", "b\n")
    for command in ("log --remotes", f"show {taken.id}", f"diff {taken.id}",
                    f"restore --force other-repository {taken.id}", "undo"):  # fmt: skip
        assert clone.boocode(*command.split()).code == 0
    assert not touched.exists()
