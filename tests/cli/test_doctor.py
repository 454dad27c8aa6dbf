import json
from pathlib import Path

from tests.checkpoints.test_checkup import aside
from tests.repo_kit import Repo


def test_a_repository_without_problems(repo: Repo) -> None:
    done = repo.boocode("doctor")
    assert (done.code, done.out, done.err) == (0, "no problems found\n", "")
    assert repo.boocode("doctor", "--fix", "--json").json == {"ok": True, "findings": []}


def test_an_interrupted_restore_is_reported(repo: Repo) -> None:
    repo.commit(a="one\n")
    first = repo.boocode("checkpoint").out.strip()
    repo.write("a", "two\n")
    undo = repo.boocode("restore", first, "--json").json["undo"]
    # What a restore leaves that was killed after its safety checkpoint.
    Path(".git/boocode/restore-in-progress").write_text(json.dumps({"safety": undo}))
    done = repo.boocode("doctor", "--json")
    assert (done.code, done.json["ok"]) == (1, False)
    assert done.json["error"]["code"] == "interrupted_restore"
    assert undo in done.json["error"]["message"]
    assert repo.boocode("undo").code == 0
    assert repo.boocode("doctor").code == 0


def test_a_record_that_lacks_an_object_is_reported(repo: Repo) -> None:
    repo.write("a", "old\n")
    done = repo.boocode("apply-edit", "--path", "a", "--old", "old", "--new", "new", "--json")
    blob = repo.git("rev-parse", f"refs/boocode/edits/{done.json['id']}:before/a").strip()
    Path(f".git/objects/{blob[:2]}/{blob[2:]}").unlink()
    found = repo.boocode("doctor", "--json")
    assert (found.code, found.json["error"]["code"]) == (1, "broken_record")
    assert done.json["id"] in found.json["error"]["message"]
    fixed = repo.boocode("doctor", "--fix", "--json")
    assert (fixed.code, fixed.json["findings"][0]["fixed"]) == (0, True)
    assert f"refs/boocode/edits/{done.json['id']}" in fixed.json["findings"][0]["remedy"]
    assert repo.git("for-each-ref", "refs/boocode/") == ""
    repo.git("gc", "-q", "--prune=now")


def test_other_problems_are_reported_if_the_rollback_fails(repo: Repo) -> None:
    repo.commit(a="one\n")
    first = repo.boocode("checkpoint").out.strip()
    repo.write("a", "two\n")
    undo = repo.boocode("restore", first, "--json").json["undo"]
    repo.write(".git/boocode/restore-in-progress", json.dumps({"safety": undo}))
    lock = aside(repo.write(".git/packed-refs.lock"))
    repo.git("config", "core.packedRefsTimeout", "1")
    blob = repo.git("rev-parse", f"refs/boocode/safety/{undo}:a").strip()
    Path(f".git/objects/{blob[:2]}/{blob[2:]}").unlink()
    done = repo.boocode("doctor", "--fix", "--json")
    assert (done.code, done.json["ok"]) == (128, False)
    assert done.json["error"]["code"] == "git"
    kinds = [(found["kind"], found["fixed"]) for found in done.json["findings"]]
    assert kinds == [
        ("interrupted_restore", False), ("leftover_lock", False), ("missing_objects", False)
    ]  # fmt: skip
    told = repo.boocode("doctor", "--fix")
    assert told.code == 128
    assert all(word in told.out for word in (undo, str(lock), blob))
    assert told.err.startswith("fatal: git could not write the files")
    assert "hint: 'git boocode doctor' lists what is missing\n" in told.err
    assert repo.read("a") == b"one\n"


def test_private_files_of_another_user_are_named(repo: Repo) -> None:
    repo.boocode("checkpoint")
    names = sorted(path for path in (repo.top / ".git/boocode").iterdir() if path.is_file())
    for path in names:
        path.chmod(0)
    done = repo.unprivileged("doctor", "--fix", "--json")
    (finding,) = done.json["findings"]
    assert (done.code, finding["kind"], finding["fixed"]) == (1, "unusable_files", False)
    assert finding["paths"] == [*map(str, names)]


def test_damaged_notes_are_removed(repo: Repo) -> None:
    repo.boocode("checkpoint")
    repo.write(".git/boocode/edit-in-progress", "no note")
    repo.write(".git/boocode/restore-in-progress", "no note")
    for options, code in (([], 1), (["--fix"], 0)):
        done = repo.boocode("doctor", *options)
        assert done.code == code
        assert "the journal of an interrupted edit is damaged" in done.out
        assert "the note of an interrupted restore cannot be read" in done.out
    assert not (repo.top / ".git/boocode/edit-in-progress").exists()
    assert repo.boocode("doctor").code == 0
