"""What `boocode.exclude` names is never recorded, and nothing touches it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from git_boocode.checkpoints.capture import Request, capture
from git_boocode.checkpoints.store.catalog import EXCLUDED
from git_boocode.repo.entries import Metadata
from git_boocode.repo.errors import FatalError
from git_boocode.repo.path_rule import REASON
from git_boocode.repo.repository import Repository
from tests.checkpoints.kit import back, take, undone
from tests.repo_kit import Repo

SECRET = "not for anyone\n"


@pytest.fixture
def work(repo: Repo) -> Repo:
    """A repository that excludes `data` and all `*.key`, of which it tracks some."""
    repo.commit(**{"a": "a\n", "data/tracked": "committed\n", "my.key": "committed\n"})
    for spec in ("data", "*.key"):
        repo.git("config", "--add", "boocode.exclude", spec)
    return repo


def held(repo: Repo, commit: str) -> dict[str, str]:
    paths = repo.git("ls-tree", "-r", "--name-only", commit).split()
    return {path: repo.git("show", f"{commit}:{path}") for path in paths}


def text(repo: Repo, path: str) -> str:
    return (repo.top / path).read_text()


def blobs(repo: Repo) -> str:
    return repo.git("cat-file", "--batch-all-objects", "--batch", "--unordered")


def test_nothing_of_it_is_recorded(work: Repo) -> None:
    committed = {"a": "a\n", "data/tracked": "committed\n", "my.key": "committed\n"}
    work.write("data/tracked", SECRET)
    work.write("data/deep/new", SECRET)
    work.write("sub/other.key", SECRET)
    (work.top / "my.key").unlink()
    for number in range(3):
        # From the user's index, and from that of the last capture.
        work.write("new", f"{number}\n")
        taken = take()
        assert held(work, taken.commit.id) == {**committed, "new": f"{number}\n"}
        assert taken.meta.values[EXCLUDED] == ["data", "*.key"]
    assert SECRET not in blobs(work)
    # Nor is what was committed since then, as it is on disk.
    work.git("add", "a", "new")
    work.git("commit", "-qm", "new")
    work.write("data/tracked", SECRET * 2)
    assert held(work, take().commit.id) == {**committed, "new": "2\n"}
    assert SECRET not in blobs(work)


def test_nothing_staged_is_recorded(work: Repo) -> None:
    before = take()
    work.write("data/tracked", SECRET)
    work.write("data/added", SECRET)
    work.write("b", "b\n")
    work.git("add", "-A")
    taken = take()
    commit = taken.meta.part("index", "commit") or taken.commit.id
    assert held(work, commit).keys() == {"a", "b", "data/tracked", "my.key"}
    assert work.git("show", f"{commit}:data/tracked") == "committed\n"
    reachable = work.git("rev-list", "--objects", taken.commit.id)
    assert work.git("rev-parse", ":data/tracked").strip() not in reachable
    # A restore leaves what is staged there.
    back(before.id)
    assert work.git("diff", "--cached", "--name-only").split() == ["data/added", "data/tracked"]
    undone()
    assert work.git("diff", "--cached", "--name-only").split() == [
        "b",
        "data/added",
        "data/tracked",
    ]


def test_a_part_of_the_worktree(work: Repo) -> None:
    take()
    work.write("a", "changed\n")
    work.write("data/new", SECRET)
    part = take(paths=("a", "data"))
    assert held(work, part.commit.id)["a"] == "changed\n"
    rows = [{"path": path, "reason": REASON} for path in ("data/new", "data/tracked")]
    assert part.meta.values["skipped"] == rows
    assert SECRET not in blobs(work)


def test_a_part_of_the_worktree_does_not_take_over_what_was_recorded_before(work: Repo) -> None:
    work.git("config", "--unset-all", "boocode.exclude")
    work.write("a", "changed\n")
    work.write("new", "new\n")
    take()
    work.git("config", "boocode.exclude", ":/new")
    work.git("config", "--add", "boocode.exclude", "a")
    work.write("b", "b\n")
    part = take(paths=("b",))
    assert work.git("diff", "--name-status", "HEAD", part.commit.id) == "A\tb\n"


@pytest.mark.slow
def test_a_rule_of_a_remote_that_makes_no_sense(work: Repo) -> None:
    work.git("config", "--unset-all", "boocode.exclude")
    specs = [":(nonsense)x", "a\0b", "\ud800", "x" * 5000, *map(str, range(1000))]
    before = take()
    message = Metadata({**before.meta.values, EXCLUDED: specs}).message()
    odd = work.git("commit-tree", before.tree, "-p", "HEAD", stdin=message).strip()
    work.git("update-ref", before.ref, odd)
    work.write("a", "changed\n")
    back(before.id)
    assert text(work, "a") == "a\n"


def test_nothing_new_without_another_change(work: Repo) -> None:
    first = take()
    work.write("data/tracked", SECRET)
    work.write("data/added", SECRET)
    work.git("add", "data/added")
    again = capture(Repository.discover(), Request(only_if_changed=True))
    assert again.checkpoint.id == first.id


def test_restore_leaves_it_alone(work: Repo) -> None:
    work.git("config", "--unset-all", "boocode.exclude")
    work.write("data/new", "recorded\n")
    before = take()
    work.git("config", "boocode.exclude", "data")
    work.write("data/tracked", SECRET)
    work.write("data/new", SECRET)
    work.write("a", "changed\n")
    during = take()
    result = back(before.id)
    assert text(work, "a") == "a\n"
    assert text(work, "data/new") == text(work, "data/tracked") == SECRET
    assert ("data/new", "excluded by boocode.exclude") in result.kept
    undone()
    assert text(work, "a") == "changed\n"
    assert text(work, "data/new") == SECRET
    # Nor does one to a checkpoint that excluded it, once it is recorded again.
    work.git("config", "--unset-all", "boocode.exclude")
    work.write("data/newer", "newer\n")
    take()
    back(during.id)
    assert {"data/new", "data/newer"} < work.files().keys()
    assert text(work, "data/tracked") == SECRET


def test_restore_names_what_is_gone(work: Repo) -> None:
    work.write("sub/b", "b\n")
    take()
    for path in ("a", "data/tracked", "my.key"):
        (work.top / path).unlink()
    why = "(was not recorded: excluded by boocode.exclude)"
    named = [f"warning: not brought back: {path} {why}" for path in ("data/tracked", "my.key")]
    done = work.boocode("restore", "@", "-n", cwd="sub")
    assert (done.out.splitlines()[0], sorted(done.err.splitlines())) == (" A a", named)
    assert work.boocode("restore", "@", "--", "data").err.splitlines() == named[:1]
    assert work.boocode("restore", "@", "--", "a").code == 0
    assert text(work, "a") == "a\n"
    assert not (work.top / "my.key").exists()


def test_a_file_of_a_checkpoint_in_place_of_an_excluded_directory(work: Repo) -> None:
    work.git("config", "--unset-all", "boocode.exclude")
    work.write("place", "a file\n")
    before = take()
    (work.top / "place").unlink()
    work.write("place/secret", SECRET)
    work.git("config", "boocode.exclude", "place/secret")
    result = back(before.id, force=frozenset({"ignored"}))
    assert text(work, "place/secret") == SECRET
    assert [each.path for each in result.kept] == ["place"]
    assert SECRET not in blobs(work)


def test_a_fork_has_it_as_committed(work: Repo, tmp_path: Path) -> None:
    work.write("data/tracked", SECRET)
    work.write("new", "new\n")
    take()
    fork = Repo(tmp_path / "fork")
    assert work.boocode("fork", "@", str(fork.top)).code == 0
    assert fork.files().keys() == {"a", "data/tracked", "my.key", "new"}
    assert text(fork, "data/tracked") == "committed\n"
    assert fork.git("status", "--short") == "?? new\n"


def test_revert_leaves_it_alone(work: Repo) -> None:
    take()
    work.write("a", "changed\n")
    work.write("data/tracked", SECRET)
    take()
    assert work.boocode("revert", "@~1").code == 0
    assert (text(work, "a"), text(work, "data/tracked")) == ("a\n", SECRET)


@pytest.mark.slow
def test_a_conflict_in_it_stays(work: Repo) -> None:
    work.git("checkout", "-q", "-b", "other")
    work.commit(**{"data/tracked": "theirs\n", "a": "theirs\n"})
    work.git("checkout", "-q", "main")
    work.commit(**{"data/tracked": "ours\n", "a": "ours\n"})
    work.git("merge", "other", check=False)
    taken = take()
    assert work.git("show", f"{taken.commit.id}:data/tracked") == "ours\n"
    work.write("a", "resolved\n")
    work.git("add", "a")
    back(taken.id)
    assert work.git("status", "--short") == "UU a\nUU data/tracked\n"
    undone()
    assert work.git("status", "--short") == "M  a\nUU data/tracked\n"


def test_a_proposal_for_it_is_not_accepted(work: Repo) -> None:
    work.write("data/tracked", SECRET)
    edit = json.dumps({"path": "data/tracked", "content": "proposed\n"})
    assert work.boocode("propose", stdin=edit).code == 0
    refused = work.boocode("accept")
    assert (refused.code, text(work, "data/tracked")) == (1, SECRET)
    assert "'data/tracked' cannot be replaced" in refused.err


def test_no_version_of_it_is_kept(work: Repo) -> None:
    work.write("data/new", SECRET)
    done = work.boocode("read", "data/new")
    assert "boocode.exclude names it" in done.err
    assert SECRET not in blobs(work)


def test_status_show_and_log_name_it(work: Repo) -> None:
    taken = take()
    assert "excluded    data '*.key'\n" in work.boocode("show", taken.id).out
    [row] = work.boocode("log", "--json").json["checkpoints"]
    assert row["excluded"] == ["data", "*.key"]
    assert "excluded:\n  data (boocode.exclude)\n" in work.boocode("status").out


def test_a_value_that_git_rejects(work: Repo) -> None:
    work.git("config", "--add", "boocode.exclude", ":(nonsense)x")
    with pytest.raises(FatalError, match="not accept") as caught:
        take()
    assert caught.value.code == "bad_config"
