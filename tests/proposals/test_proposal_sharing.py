"""Proposals over real remotes: they go and come beside checkpoints, and never become a state."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from git_boocode.repo.entries import Metadata
from git_boocode.repo.ids import new_id
from git_boocode.repo.layout import PROPOSALS, REMOTE_PROPOSALS
from tests.repo_kit import Repo, Result

pytestmark = pytest.mark.slow

BELOW = f"{REMOTE_PROPOSALS}origin/"


@pytest.fixture
def remote(repo: Repo, tmp_path: Path) -> Repo:
    """The bare remote `origin` of the repository."""
    repo.commit(a="one\n")
    repo.git("init", "-q", "--bare", str(tmp_path / "remote.git"))
    repo.git("remote", "add", "origin", str(tmp_path / "remote.git"))
    repo.git("push", "-q", "origin", "main")
    return Repo(tmp_path / "remote.git")


@pytest.fixture
def clone(remote: Repo, tmp_path: Path) -> Repo:
    """Another clone of the remote."""
    remote.git("clone", "-q", "-b", "main", str(remote.top), str(tmp_path / "clone"))
    return Repo(tmp_path / "clone")


def propose(repo: Repo, old: str = "one", new: str = "two") -> str:
    """Propose a change of `a`; returns the proposal's id."""
    edit = {"path": "a", "old_string": old, "new_string": new}
    done = repo.boocode("propose", "--json", stdin=json.dumps(edit))
    assert done.code == 0, done
    return str(done.json["id"])


def take(repo: Repo) -> str:
    """Take a checkpoint; returns its id."""
    done = repo.boocode("checkpoint", "--json")
    assert done.code == 0, done
    return str(done.json["id"])


def below(repo: Repo, *prefixes: str) -> dict[str, str]:
    """The commits below some prefixes, by the names of the refs."""
    listing = repo.git("for-each-ref", "--format=%(refname) %(objectname)", *prefixes)
    return dict(line.split(" ") for line in listing.splitlines())


def forged(repo: Repo, name: str = "", **values: Any) -> tuple[str, str]:
    """A proposal of no git-boocode: its id and its commit."""
    name = name or new_id()
    defaults = {"boocode": 1, "kind": "proposal", "id": name, "worktree": {"name": "main"}}
    message = Metadata({**defaults, "files": [], **values}).message()
    tree = repo.git("mktree").strip()
    return name, repo.git("commit-tree", tree, stdin=message).strip()


def good(done: Result) -> Any:
    """The JSON answer of a command that succeeded."""
    assert (done.code, done.err) == (0, ""), done
    return done.json


def test_push_and_fetch(repo: Repo, remote: Repo, clone: Repo) -> None:
    one = propose(repo)
    taken = take(repo)
    two = propose(repo, "two", "three")
    dry = good(repo.boocode("push", "-n", "--json"))
    assert (dry["pushed"], {*dry["proposals"]}) == ([taken], {one, two})
    assert below(remote, "refs/boocode") == {}
    answer = good(repo.boocode("push", "--json"))
    assert (answer["pushed"], {*answer["proposals"]}) == ([taken], {one, two})
    assert below(remote, PROPOSALS) == below(repo, PROPOSALS)
    again = good(repo.boocode("push", "--json"))
    assert (again["pushed"], again["proposals"]) == ([], [])
    fetched = good(clone.boocode("fetch", "--json"))
    assert (fetched["fetched"], fetched["proposals"]) == ([taken], [one, two])
    found = below(clone, REMOTE_PROPOSALS)
    assert found == {BELOW + name: below(repo, PROPOSALS)[PROPOSALS + name] for name in (one, two)}
    assert "-one\n+three" in clone.git("show", BELOW + two)
    clone.git("fsck")
    nothing = good(clone.boocode("fetch", "--json"))
    assert (nothing["fetched"], nothing["proposals"]) == ([], [])


@pytest.mark.usefixtures("remote")
def test_a_path_that_git_cannot_judge_withholds_only_its_own_proposal(repo: Repo) -> None:
    made = {}
    for path in ("new", "d/x"):
        edit = json.dumps({"path": path, "old_string": "", "new_string": "x\n"})
        made[path] = good(repo.boocode("propose", "--json", stdin=edit))["id"]
    (repo.top / "d").symlink_to(".git")
    assert good(repo.boocode("push", "--json"))["proposals"] == [made["new"]]


def test_what_is_printed(repo: Repo, remote: Repo, clone: Repo) -> None:
    one = propose(repo)
    pushed = repo.boocode("push")
    assert pushed.out.splitlines() == [f" * {one} (proposal)", "pushed 1 proposal to origin"]
    # Whoever pushes for the first time learns who can read it.
    assert "whoever can read that remote" in pushed.err
    taken, two = take(repo), propose(repo, "two", "three")
    assert repo.boocode("push").out.splitlines() == [
        *(f" * {taken}", f" * {two} (proposal)", "pushed 1 checkpoint and 1 proposal to origin")
    ]
    assert "has them all" in repo.boocode("push").out
    assert clone.boocode("fetch").out.splitlines() == [
        *(f" * {taken}", f" * {one} (proposal)", f" * {two} (proposal)"),
        "fetched 1 checkpoint and 2 proposals from origin",
    ]
    remote.git("update-ref", "-d", PROPOSALS + one)
    assert clone.boocode("fetch", "--prune").out.splitlines() == [
        *(f" - {one} (proposal)", "pruned 1 proposal of origin")
    ]
    assert set(below(clone, REMOTE_PROPOSALS)) == {BELOW + two}


def test_fetched_ones_never_become_the_state(repo: Repo, remote: Repo, clone: Repo) -> None:
    propose(repo)
    repo.boocode("push")
    clone.boocode("fetch")
    assert clone.boocode("status", "--porcelain").out == ""
    assert clone.boocode("accept").code == 1
    counts = good(clone.boocode("status", "--json"))["checkpoints"]
    assert {key: counts[key] for key in counts if key != "newest"} == dict.fromkeys(
        ("count", "safety", "archived", "fetched"), 0
    )
    # Nor do they follow the log, the retention or a push.
    assert clone.boocode("log", "--remotes").out == ""
    assert good(clone.boocode("prune", "--keep", "1", "--all", "--json"))["pruned"] == []
    assert good(clone.boocode("push", "--all", "--json"))["proposals"] == []
    assert good(clone.boocode("doctor", "--json"))["findings"] == []
    # An id that only a remote has cannot be retried.
    (name,) = below(clone, REMOTE_PROPOSALS)
    edit = json.dumps({"path": "a", "old_string": "one", "new_string": "x"})
    start = name.removeprefix(BELOW)[:13]
    assert clone.boocode("propose", "--retry-of", start, stdin=edit).code == 1
    mine = propose(clone)
    assert mine in clone.boocode("push", "-n", "--json").json["proposals"]


def test_names_are_of_checkpoints_only(repo: Repo, remote: Repo, clone: Repo) -> None:
    taken, one = take(repo), propose(repo)
    assert repo.boocode("push", "origin", one).code == 1
    assert good(repo.boocode("push", "origin", taken, "--json"))["proposals"] == []
    repo.boocode("push")
    assert clone.boocode("fetch", "origin", one).code == 1
    assert good(clone.boocode("fetch", "origin", taken, "--json"))["proposals"] == []


def test_only_this_worktrees_are_pushed(repo: Repo, remote: Repo, tmp_path: Path) -> None:
    repo.git("worktree", "add", "-q", "--detach", str(tmp_path / "other"))
    mine, other = propose(repo), propose(Repo(tmp_path / "other"))
    assert good(repo.boocode("push", "--json"))["proposals"] == [mine]
    assert good(repo.boocode("push", "--all", "--json"))["proposals"] == [other]


def test_another_commit_is_never_overwritten(repo: Repo, remote: Repo, clone: Repo) -> None:
    one, two = propose(repo), propose(repo, "two", "three")
    remote.git("update-ref", PROPOSALS + one, "main")
    done = repo.boocode("push", "--json")
    reason = "the remote has another commit under this id"
    assert (done.code, done.json["proposals"]) == (128, [two])
    assert done.json["rejected_proposals"] == [{"id": one, "reason": reason}]
    assert (done.json["error"]["code"], done.json["rejected"]) == ("rejected", [])
    done = repo.boocode("push")
    assert (done.code, done.err.splitlines()[0]) == (
        *(1, "error: 'origin' did not take 1 proposal"),
    )
    # A remote that has changed one is followed under its own name only.
    clone.boocode("fetch")
    name, commit = forged(remote, two)
    remote.git("update-ref", PROPOSALS + two, commit)
    assert good(clone.boocode("fetch", "--json"))["proposals"] == [name]
    assert below(clone, BELOW + two) == {BELOW + two: commit}


def test_what_is_no_proposal_is_rejected(repo: Repo, remote: Repo, clone: Repo) -> None:
    commits = {
        "its ref does not point to a commit": (new_id(), remote.git("mktree").strip()),
        "its message contains no JSON object": (new_id(), remote.git("rev-parse", "main").strip()),
        "its message has another kind": forged(remote, kind="checkpoint"),
        "its message has another id": forged(remote, id=new_id()),
        "its name is not a proposal id": ("x/y", forged(remote)[1]),
    }
    for name, commit in commits.values():
        remote.git("update-ref", PROPOSALS + name, commit)
    # A proposal among the checkpoints is not one of them.
    name, commit = forged(remote)
    remote.git("update-ref", f"refs/boocode/checkpoints/{name}", commit)
    fine = propose(repo)
    repo.boocode("push")
    answer = clone.boocode("fetch", "--json").json
    assert answer["proposals"] == [fine]
    reasons = {row["reason"]: row["name"] for row in answer["rejected_proposals"]}
    assert reasons == {reason: name for reason, (name, _) in commits.items()}
    assert answer["rejected"] == [{"name": name, "reason": "its message has another kind"}]
    assert set(below(clone, "refs/boocode")) == {BELOW + fine}
    done = clone.boocode("fetch")
    assert "skipped 1 checkpoint and 5 proposals of 'origin'" in done.err


def test_sizes_and_objects_are_checked(repo: Repo, remote: Repo, clone: Repo) -> None:
    large, commit = forged(remote, edits=["x" * (17 << 20)])
    remote.git("update-ref", PROPOSALS + large, commit)
    blob = remote.git("hash-object", "-w", "--stdin", stdin="x").strip()
    tree = remote.git(
        *("hash-object", "-t", "tree", "-w", "--literally", "--stdin"),
        stdin=b"100644 .git\0" + bytes.fromhex(blob),
    )
    name = new_id()
    message = Metadata({"boocode": 1, "kind": "proposal", "id": name}).message()
    bad = remote.git("commit-tree", tree.strip(), stdin=message).strip()
    remote.git("update-ref", PROPOSALS + name, bad)
    rejected = clone.boocode("fetch", "--json").json["rejected_proposals"]
    assert {row["name"] for row in rejected} == {large, name}
    assert below(clone, "refs/boocode") == {}


def test_a_clone_without_proposals(repo: Repo, remote: Repo, clone: Repo) -> None:
    """The objects come whole: the context is there without the history of the other clone."""
    repo.write("a", "mine\n")
    one = propose(repo, "mine", "theirs")
    repo.boocode("push")
    clone.boocode("fetch")
    assert clone.git("cat-file", "-p", f"{BELOW}{one}:a") == "theirs\n"
    assert clone.git("cat-file", "-p", f"{BELOW}{one}^:a") == "mine\n"
