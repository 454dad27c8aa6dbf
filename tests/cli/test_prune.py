import os
from pathlib import Path

from git_boocode.repo.disk import human_size
from git_boocode.repo.ids import new_id
from tests.checkpoints.kit import take
from tests.checkpoints.test_retention import forged
from tests.repo_kit import Repo


def size(repo: Repo) -> int:
    """The bytes of all loose objects."""
    found = (path for path in (repo.top / ".git/objects").rglob("*") if path.is_file())
    return sum(path.stat().st_size for path in found)


def test_what_would_go_and_what_it_holds(repo: Repo) -> None:
    repo.commit(a="a\n")
    # Random bytes do not become smaller: what is counted is known.
    repo.write("large", os.urandom(2_000_000))
    first = take(label="the large one")
    repo.write("large", "small\n")
    take()
    repo.write("large", os.urandom(1000))
    last = take()
    done = repo.boocode("prune", "-n", "--keep", "1")
    assert done.code == 0
    *listed, summary = done.out.splitlines()
    assert len(listed) == 2
    assert listed[1] == (f"{first.id}  checkpoint (the large one): beyond the number to keep")
    assert summary.startswith("would prune 2 checkpoints: 1.91 MiB on disk")
    before = size(repo)
    answer = repo.boocode("prune", "--keep", "1", "--json").json
    assert (answer["ok"], answer["dry_run"]) == (True, False)
    row = answer["pruned"][1]
    assert row == {
        "id": first.id, "kind": "checkpoint", "ref": first.ref, "commit": first.commit.id,
        "label": "the large one", "reason": "too_many",
    }  # fmt: skip
    repo.git("prune", "--expire=now")
    assert before - size(repo) == answer["bytes"]
    assert repo.git("for-each-ref", "--format=%(refname)", "refs/boocode") == f"{last.ref}\n"
    done = repo.boocode("prune")
    assert (done.code, done.out, done.err) == (0, "nothing to prune\n", "")


def test_what_others_hold_as_well_is_not_counted(repo: Repo, tmp_path: Path) -> None:
    repo.write("large", os.urandom(100_000))
    repo.write("staged", os.urandom(100_000))
    repo.git("add", "staged")
    take()
    repo.write("b", "b\n")
    take()
    repo.git("add", "large")
    repo.git("commit", "-q", "-m", "x")
    answer = repo.boocode("prune", "-n", "--keep", "1", "--json").json
    assert 0 < answer["bytes"] < 2000
    # Nor what only a detached HEAD of another worktree, or a reflog, holds.
    repo.git("checkout", "-q", "--detach")
    repo.git("worktree", "add", "-q", "--detach", str(tmp_path / "other"))
    repo.git("checkout", "-q", "--orphan", "empty")
    repo.git("rm", "-rqf", ".")
    repo.git("branch", "-q", "-D", "main")
    assert repo.boocode("prune", "-n", "--keep", "1", "--json").json["bytes"] == answer["bytes"]


def test_missing_objects_hinder_nothing(repo: Repo) -> None:
    repo.commit(a="a\n")
    old = take()
    take()
    (repo.top / ".git/objects" / old.commit.id[:2] / old.commit.id[2:]).unlink()
    forged(repo, new_id(0))
    done = repo.boocode("prune", "--all", "--json")
    assert [row["reason"] for row in done.json["pruned"]] == ["too_old"]
    assert done.json["bytes"] > 0


def test_ages_and_worktrees(repo: Repo) -> None:
    mine = [take() for _ in range(3)]
    theirs = forged(repo, new_id(0), worktree={"name": "gone"})
    assert repo.boocode("prune", "--json", "--older-than", "1h").json["pruned"] == []
    repo.git("config", "boocode.maxAge", "now")
    assert repo.boocode("prune", "--json", "--older-than", "never").json["pruned"] == []
    done = repo.boocode("prune", "--json", "--older-than=now").json["pruned"]
    assert [row["id"] for row in done] == [mine[1].id, mine[0].id]
    done = repo.boocode("prune", "--json", "--all").json["pruned"]
    assert [row["id"] for row in done] == [theirs]


def test_records_of_edits_go_too(repo: Repo) -> None:
    repo.write("a", "a\n")
    repo.boocode("apply-edit", "--path", "a", "--old", "a", "--new", "b")
    repo.git("config", "boocode.editsMaxAge", "now")
    done = repo.boocode("prune", "-n")
    assert "would prune 1 edit record: " in done.out
    assert repo.boocode("prune", "--json").json["pruned"][0]["kind"] == "edit"
    assert repo.git("for-each-ref", "refs/boocode") == ""


def test_old_versions_that_were_read_go_too(repo: Repo) -> None:
    blob = repo.git("hash-object", "-w", "--stdin", stdin="read\n").strip()
    ref = f"refs/boocode/reads/2020-01-02/{blob}"
    repo.git("update-ref", ref, blob)
    done = repo.boocode("prune", "-n", "--json").json
    assert done["bytes"] > 0
    row = {"id": blob, "kind": "read", "ref": ref, "commit": blob, "label": None}
    assert done["pruned"] == [{**row, "reason": "too_old"}]
    assert "pruned 1 version that was read: " in repo.boocode("prune").out
    assert repo.git("for-each-ref", "refs/boocode") == ""


def test_what_makes_no_sense(repo: Repo) -> None:
    for options in (
        ("--keep", "0"),
        ("--keep", "few"),
        ("--older-than", "3m"),
        ("--older-than", ""),
    ):
        done = repo.boocode("prune", *options)
        assert done.code == 129
        assert f"invalid value for '{options[0]}'" in done.err
        if options[0] == "--keep":
            assert f"'{options[1]}' is not a whole number of at least 1\n" in done.err


def test_an_invalid_setting_is_reported_before_anything_is_deleted(repo: Repo) -> None:
    forged(repo, new_id(0))
    take()
    repo.git("config", "boocode.editsMaxAge", "soon")
    done = repo.boocode("prune", "--json")
    assert (done.code, done.json["error"]["code"]) == (128, "bad_config")
    assert len(repo.git("for-each-ref", "refs/boocode").splitlines()) == 2


def test_checkpoint_does_not_fail_because_pruning_does(repo: Repo) -> None:
    repo.commit(a="a\n")
    repo.git("config", "boocode.keep", "plenty")
    forged(repo, new_id(0))
    done = repo.boocode("checkpoint")
    assert (done.code, done.err) == (0, "")
    told = repo.boocode("doctor")
    assert told.code == 1
    assert "old checkpoints could not be pruned: bad value 'plenty' for 'boocode.keep'" in told.out
    assert repo.boocode("doctor", "--fix").code == 1
    assert repo.boocode("prune", "--all").code == 128
    repo.git("config", "boocode.keep", "5")
    done = repo.boocode("doctor", "--fix")
    assert (done.code, "fixed: they were pruned\n" in done.out) == (0, True)
    assert repo.boocode("doctor").out == "no problems found\n"


def test_sizes() -> None:
    for size, shown in (
        (0, "0 bytes"),
        (1, "1 byte"),
        (1023, "1023 bytes"),
        (1024, "1.00 KiB"),
        (1_269_000, "1.21 MiB"),
        (5 << 30, "5.00 GiB"),
    ):
        assert human_size(size) == shown
