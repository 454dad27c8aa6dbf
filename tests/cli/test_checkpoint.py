from __future__ import annotations

import json

import pytest

from git_boocode.repo.atomic_write import fingerprint
from git_boocode.repo.ids import ID
from git_boocode.repo.lock import worktree_lock
from git_boocode.repo.repository import Repository
from tests.repo_kit import Repo

EDIT_NOTE = ".git/boocode/edit-in-progress"


def test_it_prints_the_id(repo: Repo) -> None:
    repo.write("a", "a\n")
    done = repo.boocode("checkpoint")
    assert (done.code, done.err) == (0, "")
    assert ID.fullmatch(done.out.removesuffix("\n"))
    assert repo.git("show", f"refs/boocode/checkpoints/{done.out.strip()}:a") == "a\n"


def test_the_json_answer(repo: Repo) -> None:
    repo.commit(a="a\n")
    repo.git("config", "boocode.maxFileSize", "2")
    repo.write("large\udcff", "large")
    done = repo.boocode("checkpoint", "--json")
    answer = done.json
    assert (done.code, done.err) == (0, "")
    assert list(answer) == ["ok", "id", "commit", "ref", "tree", "changed", "skipped"]
    assert answer["ok"] is True
    assert answer["changed"] is True
    assert answer["ref"] == f"refs/boocode/checkpoints/{answer['id']}"
    assert answer["commit"] == repo.git("rev-parse", answer["ref"]).strip()
    assert answer["tree"] == repo.git("rev-parse", f"{answer['ref']}^{{tree}}").strip()
    reason = "larger than boocode.maxFileSize (2 bytes)"
    assert answer["skipped"] == [{"path": "large\udcff", "reason": reason}]
    assert "\\udcff" in done.out


def test_skipped_files_are_reported(repo: Repo) -> None:
    repo.git("config", "boocode.maxFileSize", "2")
    repo.write("large\n\x1b[31m", "large")
    done = repo.boocode("checkpoint")
    assert done.code == 0
    assert done.err == (
        'warning: not recorded: "large\\n\\033[31m": larger than boocode.maxFileSize (2 bytes)\n'
    )


def test_every_option_is_recorded(repo: Repo) -> None:
    told = {"--label": "l", "--session": "s", "--chat": "c", "--message": "m", "--agent": "g",
            "--trigger": "t"}  # fmt: skip
    flags = [part for pair in told.items() for part in pair]
    assert repo.boocode("checkpoint", *flags, "--meta", "k=v=w", "--meta", "x=").code == 0
    shown = repo.boocode("show", "--json").json["checkpoint"]
    assert {key: shown[key.removeprefix("--")] for key in told} == told
    assert shown["meta"] == {"k": "v=w", "x": ""}


def told(repo: Repo, *options: str, **env: str) -> tuple[object, object, object]:
    """Session, agent and anchor of a checkpoint that is taken so."""
    done = repo.boocode("checkpoint", "--json", *options, env=env)
    shown = repo.git("log", "-1", "--format=%b", done.json["ref"])
    values = json.loads(shown)
    return values["session"], values["agent"], values["anchor"]


def test_the_session_of_claude_code_is_recorded(repo: Repo) -> None:
    env = {"CLAUDE_CODE_SESSION_ID": "s1"}
    anchor = {"agent": "claude-code", "session": "s1"}
    assert told(repo, **env) == ("s1", "claude-code", anchor)
    assert told(repo, "--agent", "claude-code", **env) == ("s1", "claude-code", anchor)
    assert told(repo, "--agent", "other", **env) == (None, "other", {"agent": "other"})
    assert told(repo, "--session", "s2", **env) == ("s2", None, {"session": "s2"})
    assert told(repo, CLAUDE_CODE_SESSION_ID="") == (None, None, {})


def test_only_if_changed(repo: Repo) -> None:
    repo.commit(a="a\n")
    first = repo.boocode("checkpoint", "--if-changed")
    again = repo.boocode("checkpoint", "--if-changed", "--json").json
    assert (again["id"], again["changed"]) == (first.out.strip(), False)
    assert repo.boocode("checkpoint", "--json").json["id"] != again["id"]


def test_usage_errors(repo: Repo) -> None:
    for args in (("--meta", "novalue"), ("--meta", "=v"), ("--nonsense",), ("-m",)):
        done = repo.boocode("checkpoint", *args)
        assert (done.code, done.out) == (129, "")
        assert done.err.startswith("error: ")
        assert "usage: git boocode checkpoint [<options>]" in done.err
        as_json = repo.boocode("checkpoint", "--json", *args)
        assert (as_json.code, as_json.json["error"]["code"], as_json.err) == (129, "usage", "")
        assert repo.git("for-each-ref") == ""


def test_a_closed_standard_output(repo: Repo) -> None:
    repo.write("a")
    assert repo.without_reader("checkpoint") == (0, b"")


def test_only_some_paths(repo: Repo) -> None:
    repo.commit(**{"a": "a\n", "sub/b": "b\n", "sub/c": "c\n", ".gitignore": "*.log\n"})
    first = repo.boocode("checkpoint").out.strip()
    for path in ("a", "sub/b", "sub/c", "sub/new", "sub/x.log"):
        repo.write(path, "changed\n")
    paths = ("b", "new", "x.log", "gone")
    done = repo.boocode("checkpoint", "--json", "--ignore-unmatch", *paths, cwd="sub")
    changed = repo.git("diff", "--name-only", f"refs/boocode/checkpoints/{first}", done.json["ref"])
    assert changed.split() == ["sub/b", "sub/new"]
    assert done.json["skipped"] == [{"path": "sub/x.log", "reason": "ignored"}]
    told = repo.boocode("show", "--json").json["checkpoint"]["partial"]
    assert told == {"base": first, "prefix": "sub/", "paths": ["b", "new", "x.log", "gone"]}


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize(
    ("words", "named", "is_label"),
    [
        (("before the refactoring",), "before the refactoring", True),
        (("before", "the", "refactoring"), "before the refactoring", True),
        (("a", "gone"), "gone", False),
        (("src/gone",), "src/gone", False),
    ],
)
@pytest.mark.variants
def test_words_that_match_no_file(
    repo: Repo, first: bool, words: tuple[str, ...], named: str, is_label: bool
) -> None:
    repo.commit(a="a\n")
    if not first:
        repo.boocode("checkpoint")
    before = repo.git("for-each-ref")
    done = repo.boocode("checkpoint", *words)
    assert (done.code, done.out) == (1, "")
    lines = [
        f"error: no file matches '{named}'",
        "hint: did you mean: git boocode checkpoint -m 'before the refactoring'",
        "hint: --ignore-unmatch allows paths that do not exist yet",
    ]
    assert done.err.splitlines() == (lines if is_label else [lines[0], lines[2]])
    assert repo.git("for-each-ref") == before
    assert repo.boocode("checkpoint", "--ignore-unmatch", *words).code == 0


def test_best_effort_only_warns(repo: Repo, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    done = repo.boocode("checkpoint", "--best-effort", cwd=elsewhere)
    assert (done.code, done.out) == (0, "")
    assert "not a git repository" in done.err
    answer = repo.boocode("checkpoint", "--best-effort", "--json", cwd=elsewhere)
    assert (answer.code, answer.json["ok"]) == (0, False)
    assert answer.json["error"]["code"] == "not_a_repository"


def test_best_effort_forgives_no_wrong_usage(repo: Repo) -> None:
    assert repo.boocode("checkpoint", "--best-effort", "--nonsense").code == 129


def test_the_home_directory_is_refused_unless_asked(repo: Repo) -> None:
    repo.write("a", "a\n")
    env = {"HOME": str(repo.top)}
    done = repo.boocode("checkpoint", "--json", env=env)
    assert (done.code, done.json["error"]["code"]) == (1, "home_worktree")
    assert repo.git("for-each-ref") == ""
    assert repo.boocode("checkpoint", "--allow-home", env=env).code == 0
    repo.git("config", "boocode.allowHome", "true")
    assert repo.boocode("checkpoint", env=env).code == 0


def edit_killed_after(repo: Repo, written: str) -> None:
    """Leave what an edit of two files leaves that was killed when it had written one or both."""
    hashes = {"before": fingerprint(b"old\n"), "after": fingerprint(b"new\n")}
    files = [{"path": path, "real": path, "beside": f".{path}", **hashes} for path in ("a", "b")]
    repo.write(EDIT_NOTE, json.dumps({"record": None, "files": files}))
    for path in ("a", "b"):
        repo.write(path, "new\n" if path in written else "old\n")


@pytest.mark.parametrize(
    ("written", "remedy"), [("a", "takes the files back"), ("ab", "removes what it left behind")]
)
def test_an_interrupted_edit_is_reported(repo: Repo, written: str, remedy: str) -> None:
    edit_killed_after(repo, written)
    done = repo.boocode("checkpoint")
    assert (done.code, repo.read("a"), len(done.out.splitlines())) == (0, b"new\n", 1)
    assert done.err == (
        f"warning: an edit was killed while writing: {len(written)} of 2 files have the new "
        f"content\nhint: 'git boocode doctor --fix' {remedy}{done.err.partition(remedy)[2]}"
    )
    assert repo.boocode("log").err == done.err
    (repo.top / EDIT_NOTE).unlink()
    assert repo.boocode("checkpoint").err == ""


def test_a_running_edit_is_not_reported(repo: Repo) -> None:
    edit_killed_after(repo, "a")
    repository = Repository.discover()
    with worktree_lock(repository.state_dir, shared=False, patience=0):
        assert "warning" not in repo.boocode("log").err
    assert repo.boocode("log").err.startswith("warning: an edit was killed")


def test_an_unreadable_journal_of_an_edit_is_reported(repo: Repo) -> None:
    repo.write("a", "a\n")
    repo.write(EDIT_NOTE, "no note")
    done = repo.boocode("checkpoint", "--json")
    assert (done.code, done.json["ok"]) == (0, True)
    assert done.err.startswith("warning: the journal of an interrupted edit is damaged")


@pytest.mark.parametrize("earlier", [0, 1])
def test_an_ignored_path_is_named_as_such(repo: Repo, earlier: int) -> None:
    repo.commit(**{".gitignore": ".env\nbuild/\n", "a": "a\n"})
    repo.write(".env", "TOKEN=1\n")
    repo.write("build/it's", "x\n")
    for _ in range(earlier):
        repo.boocode("checkpoint")
    named = [(".env", "", ".env"), ("build", "", "build"), ("../.env", "build", "../.env")]
    for path, cwd, quoted in (*named, ("it's", "build", """'it'"'"'s'""")):
        code, out, err = repo.boocode("checkpoint", path, cwd=cwd)
        error, hint = err.splitlines()
        assert (code, out) == (1, "")
        assert error == f"error: '{path}' is ignored, so no checkpoint records it"
        assert hint == f"hint: 'git check-ignore -v -- {quoted}' names the rule"
    assert "did you mean" in repo.boocode("checkpoint", "fix").err
    repo.git("add", "-f", ".env")
    assert repo.boocode("checkpoint", ".env").code == 0
