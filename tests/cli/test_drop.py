from tests.repo_kit import Repo


def test_what_was_dropped_and_how_it_comes_back(repo: Repo) -> None:
    repo.write("a", "a\n")
    taken = repo.boocode("checkpoint", "--json").json
    done = repo.boocode("drop", "-n", "@")
    assert (done.code, done.out) == (0, f"would drop {taken['id']} ({taken['commit']})\n")
    assert done.err == ""
    done = repo.boocode("drop", "@")
    assert (done.code, done.out) == (0, f"dropped {taken['id']} ({taken['commit']})\n")
    command = f"update-ref {taken['ref']} {taken['commit']}"
    assert f"hint: git {command}\n" in done.err
    assert repo.boocode("drop", "@").code == 1
    repo.git(*command.split())
    answer = repo.boocode("drop", taken["id"], "--json")
    row = {"id": taken["id"], "commit": taken["commit"], "refs": [taken["ref"]]}
    assert answer.json == {"ok": True, "dry_run": False, "dropped": [row]}
    assert answer.err == ""


def test_what_is_needed_is_refused(repo: Repo) -> None:
    repo.write("a", "a\n")
    first = repo.boocode("checkpoint").out.strip()
    repo.write("a", "b\n")
    undo = repo.boocode("restore", first, "--json").json["undo"]
    done = repo.boocode("drop", undo)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"error: checkpoint '{undo}' is needed: ")
    assert "hint: --even-needed " in done.err
    answer = repo.boocode("drop", undo, first, "--json").json
    assert answer["error"]["code"] == "needed"
    assert [row["id"] for row in answer["needed"]] == [undo, first]
    assert repo.boocode("drop", undo, "--even-needed").code == 0


def test_without_a_name(repo: Repo) -> None:
    done = repo.boocode("drop")
    assert done.code == 129
    assert "usage: git boocode drop [<options>] <checkpoint>...\n" in done.err
