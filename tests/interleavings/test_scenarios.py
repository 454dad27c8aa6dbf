"""What one turn did is taken back, and what others did beside it stays byte for byte."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.interleavings.kit import (
    EDIT,
    WRITE,
    Session,
    everything,
    refused,
    replace,
    revert,
    staged,
)
from tests.repo_kit import Repo

LINES = [f"line {number}\n" for number in range(1, 13)]
TEXT = "".join(LINES)


def text(**changes: str) -> str:
    """The first text with other lines, by their numbers after an `n`."""
    return "".join(changes.get(f"n{number}", line) for number, line in enumerate(LINES, 1))


@pytest.fixture
def repo(repo: Repo) -> Repo:
    repo.commit(**{"a": TEXT, "b": TEXT, "c": TEXT, "src/d": TEXT})
    return repo


@pytest.fixture
def one(repo: Repo) -> Session:
    return Session(repo, 1, "claude-code")


@pytest.fixture
def two(repo: Repo) -> Session:
    return Session(repo, 2, "codex")


def undo_leads_back(repo: Repo, before: tuple[object, ...]) -> None:
    """Undo and redo lead to exactly the states around a revert."""
    after = everything(repo)
    assert repo.boocode("undo").code == 0
    undone = everything(repo)
    assert (undone[0], undone[1]) == (before[0], before[1])
    assert repo.boocode("redo").code == 0
    redone = everything(repo)
    assert (redone[0], redone[1]) == (after[0], after[1])


@pytest.mark.slow
def test_the_day_of_two_agents(repo: Repo, one: Session, two: Session) -> None:
    first = one.begin()
    one.edit("a", "line 2\n", "one: 2\n")
    second = two.begin()
    with one.call():
        repo.write("new/by one", "one\n")
        replace(repo, "b", "line 3\n", "one: 3\n")
        (repo.top / "c").unlink()
        (repo.top / "src/d").chmod(0o755)
    two.edit("a", "line 9\n", "two: 9\n")
    # By hand, while both are at work.
    replace(repo, "b", "line 12\n", "mine: 12\n")
    repo.write("mine", "by hand\n")
    with two.call(WRITE, "new/by two"):
        repo.write("new/by two", "two\n")
    one.edit("a", "line 5\n", "line 5\none: more\n")
    replace(repo, "a", "line 12\n", "mine: 12\n")
    one.end()
    with two.call():
        replace(repo, "b", "line 7\n", "two: 7\n")
        replace(repo, "src/d", "line 7\n", "two: 7\n")
    two.end()
    repo.git("add", "a")
    before = everything(repo)
    answer = revert(repo, first)
    assert answer["turns"] == [first]
    assert sorted((each["path"], each["action"]) for each in answer["changed"]) == [
        ("a", "modify"),
        ("b", "modify"),
        ("c", "create"),
        ("new/by one", "delete"),
        ("src/d", "modify"),
    ]
    assert repo.read("a").decode() == text(n9="two: 9\n", n12="mine: 12\n")
    assert repo.read("b").decode() == text(n7="two: 7\n", n12="mine: 12\n")
    assert repo.read("c").decode() == TEXT
    assert repo.read("src/d").decode() == text(n7="two: 7\n")
    assert not os.access(repo.top / "src/d", os.X_OK)
    assert sorted(os.listdir(repo.top / "new")) == ["by two"]
    assert repo.read("mine") == b"by hand\n"
    undo_leads_back(repo, before)
    # And the other one as well.
    revert(repo, second)
    assert repo.read("a").decode() == text(n12="mine: 12\n")
    assert repo.read("b").decode() == text(n12="mine: 12\n")
    assert sorted(repo.files()) == ["a", "b", "c", "mine", "src/d"]
    assert repo.boocode("pick", first, second).code == 0
    assert repo.files() == before[0]


def test_turns_one_after_the_other(repo: Repo, one: Session, two: Session) -> None:
    with one.turn() as first:
        repo.write("a", text(n2="one\n"))
        repo.write("new", "one\n")
    repo.commit("between")
    with two.turn() as second:
        repo.write("a", text(n2="one\n", n6="two\n"))
    repo.write("a", text(n2="one\n", n6="two\n", n10="by hand\n"))
    head = repo.git("rev-parse", "HEAD")
    revert(repo, first)
    assert repo.read("a").decode() == text(n6="two\n", n10="by hand\n")
    assert not (repo.top / "new").exists()
    assert repo.git("rev-parse", "HEAD") == head
    rows = {row["id"]: row for row in repo.boocode("log", "--json").json["checkpoints"]}
    assert [bool(rows[each].get("reverted")) for each in (first, second)] == [True, False]


@pytest.mark.parametrize("mark", ["unborn", "detached"])
@pytest.mark.variants
def test_without_a_branch(mark: str, repo: Repo, one: Session, two: Session) -> None:
    if mark == "unborn":
        repo.git("symbolic-ref", "HEAD", "refs/heads/unborn")
    else:
        repo.git("checkout", "-q", "--detach")
    with one.turn() as first:
        repo.write("a", text(n2="one\n"))
    with two.turn():
        repo.write("a", text(n2="one\n", n6="two\n"))
    before = everything(repo)
    revert(repo, first)
    assert repo.read("a").decode() == text(n6="two\n")
    assert repo.git("rev-parse", "--symbolic-full-name", "HEAD", check=False) == before[3]
    undo_leads_back(repo, before)


@pytest.mark.slow
def test_whole_files(repo: Repo, one: Session) -> None:
    """Renamed, created, deleted, made executable, retargeted, binary: back as they were."""
    repo.write("binary", b"\0\1\2")
    (repo.top / "link").symlink_to("a")
    (repo.top / "gone").symlink_to("b")
    repo.commit()
    there = repo.files()
    with one.turn() as turn:
        repo.git("mv", "a", "moved")
        repo.write("new/deep/er", "new\n", 0o755)
        (repo.top / "b").unlink()
        (repo.top / "c").chmod(0o755)
        repo.write("binary", b"\0\3")
        (repo.top / "link").unlink()
        (repo.top / "link").symlink_to("c")
        (repo.top / "gone").unlink()
        (repo.top / "made").symlink_to("nowhere")
    repo.write("mine", "mine\n")
    before = everything(repo)
    revert(repo, turn)
    assert repo.files() == {**there, "mine": before[0]["mine"]}  # type: ignore[index]
    assert not (repo.top / "new").exists()
    # What the move staged goes back as well.
    assert repo.git("diff", "--cached", "--name-only") == ""
    undo_leads_back(repo, before)


@pytest.mark.slow
def test_a_directory_in_place_of_a_file_and_the_reverse(repo: Repo, one: Session) -> None:
    there = repo.files()
    with one.turn() as turn:
        (repo.top / "a").unlink()
        repo.write("a/now/a directory", "x\n")
        (repo.top / "src/d").unlink()
        (repo.top / "src").rmdir()
        repo.write("src", "now a file\n")
    before = everything(repo)
    revert(repo, turn)
    assert repo.files() == there
    undo_leads_back(repo, before)


def created(repo: Repo) -> None:
    repo.write("new", "made\n")


def deleted(repo: Repo) -> None:
    (repo.top / "a").unlink()


def binary(repo: Repo) -> None:
    repo.write("a", b"\0\1")


def edited(repo: Repo) -> None:
    replace(repo, "a", "line 4\n", "one: 4\n")


def linked(repo: Repo) -> None:
    deleted(repo)
    (repo.top / "a").symlink_to("b")


def write_new(repo: Repo) -> None:
    repo.write("new", "made\nand more\n")


def write_a(repo: Repo) -> None:
    repo.write("a", "something else\n")


def write_binary(repo: Repo) -> None:
    repo.write("a", b"\0\2")


def edit_the_same(repo: Repo) -> None:
    replace(repo, "a", "one: 4\n", "mine: 4\n")


def directory(repo: Repo) -> None:
    (repo.top / "a").unlink(missing_ok=True)
    repo.write("a/b", "a directory now\n")


def relink(repo: Repo) -> None:
    deleted(repo)
    (repo.top / "a").symlink_to("c")


@pytest.mark.parametrize(
    ("deed", "later"),
    [
        (created, write_new),
        pytest.param(deleted, write_a, marks=pytest.mark.slow),
        (deleted, directory),
        (binary, write_binary),
        (edited, edit_the_same),
        pytest.param(edited, deleted, marks=pytest.mark.slow),
        pytest.param(edited, directory, marks=pytest.mark.slow),
        pytest.param(edited, linked, marks=pytest.mark.slow),
        pytest.param(edited, write_binary, marks=pytest.mark.slow),
        pytest.param(linked, relink, marks=pytest.mark.slow),
        pytest.param(linked, directory, marks=pytest.mark.slow),
    ],
)
@pytest.mark.variants
def test_what_was_changed_since_is_refused_as_a_whole(
    deed: object, later: object, repo: Repo, one: Session
) -> None:
    assert callable(deed)
    assert callable(later)
    with one.turn() as turn:
        deed(repo)
        replace(repo, "b", "line 6\n", "one: 6\n")
    later(repo)
    answer = refused(repo, turn)
    assert answer["error"]["code"] == "conflict"
    (conflict,) = answer["conflicts"]
    assert conflict["path"] in ("a", "new")
    assert [each["turn"] for each in conflict["by"]] == [None]
    # The other file alone can be taken back.
    revert(repo, turn, "--", "b")
    assert repo.read("b").decode() == TEXT


def test_edits_of_a_file_that_the_turn_had_moved(repo: Repo, one: Session) -> None:
    with one.turn() as turn:
        repo.git("mv", "a", "moved")
    replace(repo, "moved", "line 4\n", "mine: 4\n")
    before = everything(repo)
    revert(repo, turn)
    assert repo.read("a").decode() == text(n4="mine: 4\n")
    assert not (repo.top / "moved").exists()
    undo_leads_back(repo, before)


def test_a_conflict_names_the_later_turn_and_the_command(
    repo: Repo, one: Session, two: Session
) -> None:
    with one.turn() as first:
        repo.write("a", text(n4="one\n"))
    with two.turn() as second:
        repo.write("a", text(n4="two\n"))
    answer = refused(repo, first)
    (conflict,) = answer["conflicts"]
    assert (conflict["path"], conflict["lines"]) == ("a", [[4, 4]])
    assert [each["turn"] for each in conflict["by"]] == [second]
    # Both together, in any order of their names.
    answer = revert(repo, first, second)
    assert answer["turns"] == [second, first]
    assert repo.read("a").decode() == TEXT


def test_several_turns_are_all_or_nothing(repo: Repo, one: Session, two: Session) -> None:
    with one.turn() as first:
        repo.write("a", text(n4="one\n"))
    with two.turn() as second:
        repo.write("b", text(n4="two\n"))
    repo.write("a", text(n4="by hand\n"))
    assert refused(repo, first, second)["error"]["code"] == "conflict"
    with one.turn():
        repo.write("c", text(n4="one\n"))
    assert refused(repo, "--session", one.id)["error"]["code"] == "conflict"
    revert(repo, "--agent", "codex")
    assert repo.read("b").decode() == TEXT
    assert repo.read("c").decode() == text(n4="one\n")


@pytest.mark.parametrize(
    ("now", "wanted"),
    [
        pytest.param("x\n" + TEXT, "x\n" + TEXT, id="moved down"),
        pytest.param(TEXT + "x\n", TEXT + "x\n", id="appended"),
        pytest.param(TEXT.replace("line 1\n", "  line 1\n"), None, id="indented above"),
        pytest.param(TEXT.replace("line 6\n", "x\nline 6\n"), None, id="beside, not adjoining"),
        pytest.param(TEXT.removesuffix("\n"), TEXT.removesuffix("\n"), id="no newline at the end"),
    ],
)
@pytest.mark.variants
def test_what_others_wrote_beside_it_stays(
    now: str, wanted: str | None, repo: Repo, one: Session
) -> None:
    with one.turn() as turn:
        repo.write("a", text(n4="one: 4\n"))
    repo.write("a", now.replace("line 4\n", "one: 4\n"))
    before = everything(repo)
    revert(repo, turn)
    assert repo.read("a").decode() == (now if wanted is None else wanted)
    undo_leads_back(repo, before)


def test_the_end_of_a_file_without_a_newline(repo: Repo, one: Session) -> None:
    repo.commit(a="one\ntwo\nthree")
    with one.turn() as turn:
        repo.write("a", "one\ntwo\nthree\nfour")
    repo.write("a", "zero\none\ntwo\nthree\nfour")
    revert(repo, turn)
    assert repo.read("a") == b"zero\none\ntwo\nthree"


def test_bytes_that_are_no_utf_8(repo: Repo, one: Session) -> None:
    name = os.fsdecode(b"caf\xe9")
    latin = TEXT.replace("line 8", "caf\udce9").encode("utf-8", "surrogateescape")
    repo.write(name, latin)
    repo.commit()
    with one.turn() as turn:
        repo.write(name, latin.replace(b"line 2\n", b"\xff\n"))
    repo.write(name, latin.replace(b"line 2\n", b"\xff\n") + b"\xfe\n")
    before = everything(repo)
    answer = revert(repo, turn)
    assert [each["path"] for each in answer["changed"]] == [name]
    assert repo.read(name) == latin + b"\xfe\n"
    undo_leads_back(repo, before)


def test_line_endings(repo: Repo, one: Session) -> None:
    dos = TEXT.replace("\n", "\r\n").encode()
    repo.write("a", dos)
    repo.commit()
    with one.turn() as turn:
        repo.write("a", dos.replace(b"line 2\r\n", b"one\r\ntwo\r\n"))
    repo.write("a", dos.replace(b"line 2\r\n", b"one\r\ntwo\r\n").replace(b"line 9\r", b"mine"))
    revert(repo, turn)
    assert repo.read("a") == dos.replace(b"line 9\r", b"mine")


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.variants
def test_line_endings_that_git_converts(ending: str, repo: Repo, one: Session) -> None:
    repo.git("config", "core.autocrlf", "true")
    native = TEXT.replace("\n", ending).encode()
    repo.write("a", native)
    with one.turn() as turn:
        repo.write("a", native.replace(b"line 2", b"one"))
    repo.write("a", native.replace(b"line 2", b"one").replace(b"line 9", b"mine"))
    before = everything(repo)
    revert(repo, turn)
    assert repo.read("a") == native.replace(b"line 9", b"mine")
    undo_leads_back(repo, before)


@pytest.mark.slow
def test_files_behind_a_filter(repo: Repo, one: Session) -> None:
    repo.git("config", "filter.rot.clean", "tr a-y b-z")
    repo.git("config", "filter.rot.smudge", "tr b-z a-y")
    repo.git("config", "filter.rot.required", "true")
    repo.commit(**{".gitattributes": "*.rot filter=rot\n", "x.rot": TEXT})
    with one.turn() as turn:
        repo.write("x.rot", text(n2="one\n"))
        repo.write("new.rot", "one\n")
        (repo.top / "a").unlink()
    repo.write("x.rot", text(n2="one\n", n9="mine\n"))
    before = everything(repo)
    revert(repo, turn)
    assert repo.read("x.rot").decode() == text(n9="mine\n")
    assert not (repo.top / "new.rot").exists()
    undo_leads_back(repo, before)
    assert repo.boocode("pick", turn).code == 0
    assert repo.files() == before[0]


def test_nested_repositories_are_left_alone(repo: Repo, one: Session) -> None:
    inner = Repo(repo.top / "inner")
    subprocess.run(["git", "init", "-q", "inner"], check=True)
    first = inner.commit(x="x\n")
    repo.git("-c", "advice.addEmbeddedRepo=false", "add", "inner")
    repo.commit()
    with one.turn() as turn:
        inner.commit(x="changed\n")
        replace(repo, "a", "line 2\n", "one\n")
        subprocess.run(["git", "init", "-q", "other"], check=True)
        Repo(repo.top / "other").commit(y="y\n")
    answer = revert(repo, turn)
    assert repo.read("a").decode() == TEXT
    assert "inner" in {each["path"].rstrip("/") for each in answer["kept"]}
    assert inner.read("x") == b"changed\n"
    assert inner.git("rev-parse", "HEAD").strip() != first
    assert repo.read("other/y") == b"y\n"


def test_names_that_differ_in_case(repo: Repo, one: Session) -> None:
    repo.git("config", "core.ignoreCase", "true")
    with one.turn() as turn:
        repo.git("mv", "a", "x")
        repo.git("mv", "x", "A")
        repo.write("B2", "one\n")
    replace(repo, "A", "line 9\n", "mine: 9\n")
    before = everything(repo)
    revert(repo, turn)
    assert {path.lower() for path in repo.files()} == {"a", "b", "c", "src/d"}
    assert repo.read("a").decode() == text(n9="mine: 9\n")
    undo_leads_back(repo, before)


def test_ignored_files_are_left_alone(repo: Repo, one: Session) -> None:
    repo.commit(**{".gitignore": "*.log\n"})
    with one.turn() as turn:
        repo.write("a", text(n2="one\n"))
        repo.write("out.log", "one\n")
    revert(repo, turn)
    assert repo.read("out.log") == b"one\n"
    assert repo.read("a").decode() == TEXT


def test_from_a_subdirectory(repo: Repo, one: Session) -> None:
    with one.turn() as turn:
        repo.write("src/d", text(n2="one\n"))
        repo.write("src/new", "one\n")
        repo.write("a", text(n2="one\n"))
    revert(repo, turn, "--", "d", cwd="src")
    assert repo.read("src/d").decode() == TEXT
    assert repo.read("src/new") == b"one\n"
    assert repo.read("a").decode() == text(n2="one\n")
    revert(repo, turn, cwd="src")
    assert repo.read("a").decode() == TEXT
    assert not (repo.top / "src/new").exists()


def test_a_linked_worktree(repo: Repo, one: Session, tmp_path: Path) -> None:
    repo.git("worktree", "add", "-q", str(tmp_path / "linked"))
    linked = Repo(tmp_path / "linked")
    with Session(linked, 5).turn() as turn:
        linked.write("a", text(n2="there\n"))
        linked.write("new", "there\n")
    repo.write("a", text(n9="here\n"))
    assert refused(repo, turn)["error"]["code"] == "other_worktree"
    before = everything(repo)
    done = repo.boocode("pick", turn, "--json")
    assert done.code == 0
    assert repo.read("a").decode() == text(n2="there\n", n9="here\n")
    assert repo.read("new") == b"there\n"
    undo_leads_back(repo, before)
    assert linked.read("a").decode() == text(n2="there\n")
    revert(linked, turn)
    assert linked.read("a").decode() == TEXT


def test_staging(repo: Repo, one: Session) -> None:
    """A path goes back in the index where the index still has what the turn left there."""
    repo.write("b", text(n2="staged before\n"))
    repo.git("add", "b")
    with one.turn() as turn:
        repo.write("a", text(n4="one\n"))
        repo.git("add", "a")
        repo.write("b", text(n2="staged before\n", n8="one\n"))
        repo.git("add", "b")
        repo.write("c", text(n4="one\n"))
        repo.write("new", "one\n")
        repo.git("add", "new")
        repo.write("src/d", text(n4="one\n"))
        repo.git("add", "src/d")
    # Staged since, by hand.
    repo.git("add", "c")
    repo.write("src/d", text(n4="one\n", n10="mine\n"))
    repo.git("add", "src/d")
    before = everything(repo)
    revert(repo, turn)
    assert staged(repo, "a") == TEXT
    assert staged(repo, "b") == text(n2="staged before\n")
    assert staged(repo, "c") == text(n4="one\n")
    assert staged(repo, "new") is None
    assert staged(repo, "src/d") == text(n4="one\n", n10="mine\n")
    assert repo.read("src/d").decode() == text(n10="mine\n")
    undo_leads_back(repo, before)


def test_a_merge_in_progress_stays(repo: Repo, one: Session) -> None:
    repo.git("checkout", "-q", "-b", "side")
    repo.commit(c=text(n4="side\n"))
    repo.git("checkout", "-q", "main")
    repo.commit(c=text(n4="main\n"))
    repo.git("merge", "-q", "side", check=False)
    with one.turn() as turn:
        repo.write("a", text(n2="one\n"))
    before = everything(repo)
    revert(repo, turn)
    assert repo.read("a").decode() == TEXT
    assert repo.git("ls-files", "-u").count("\n") == 3
    assert (repo.top / ".git/MERGE_HEAD").exists()
    undo_leads_back(repo, before)


def test_an_agent_that_was_killed(repo: Repo, one: Session, two: Session) -> None:
    first = one.begin()
    two.begin()
    one.edit("a", "line 2\n", "one: 2\n")
    # Nothing more is heard of it.
    two.edit("a", "line 9\n", "two: 9\n")
    replace(repo, "b", "line 9\n", "mine: 9\n")
    two.edit("b", "line 2\n", "two: 2\n")
    two.end()
    with two.turn():
        replace(repo, "c", "line 9\n", "two: 9\n")
    revert(repo, first)
    assert repo.read("a").decode() == text(n9="two: 9\n")
    assert repo.read("b").decode() == text(n2="two: 2\n", n9="mine: 9\n")
    assert repo.read("c").decode() == text(n9="two: 9\n")


@pytest.mark.slow
def test_calls_at_the_same_time(repo: Repo, one: Session, two: Session) -> None:
    first = one.begin()
    second = two.begin()
    with one.call():
        replace(repo, "a", "line 2\n", "one: 2\n")
        with two.call(EDIT, "b"):
            replace(repo, "b", "line 2\n", "two: 2\n")
            replace(repo, "c", "line 2\n", "one: 2\n")
        replace(repo, "b", "line 9\n", "one: 9\n")
    one.end()
    two.end()
    revert(repo, first)
    assert repo.read("b").decode() == text(n2="two: 2\n")
    assert [repo.read(path).decode() for path in ("a", "c")] == [TEXT, TEXT]
    assert repo.boocode("undo").code == 0
    revert(repo, second)
    assert repo.read("b").decode() == text(n9="one: 9\n")
    assert repo.read("c").decode() == text(n2="one: 2\n")


def test_what_may_be_of_both_is_refused(repo: Repo, one: Session, two: Session) -> None:
    first = one.begin()
    second = two.begin()
    with one.call(), two.call():
        replace(repo, "a", "line 2\n", "one: 2\n")
        replace(repo, "b", "line 2\n", "two: 2\n")
    one.end()
    two.end()
    for turn, other in ((first, second), (second, first)):
        answer = refused(repo, turn)
        assert answer["error"]["code"] == "shared"
        assert {each["path"]: each["turns"] for each in answer["shared"]} == {
            "a": [other],
            "b": [other],
        }
    # All that ran then is taken back together, or by force.
    revert(repo, first, second)
    assert [repo.read(path).decode() for path in ("a", "b")] == [TEXT, TEXT]
    assert repo.boocode("undo").code == 0
    revert(repo, first, "--force", "shared")
    assert [repo.read(path).decode() for path in ("a", "b")] == [TEXT, TEXT]


def test_a_call_that_had_begun_before_the_other_turn(
    repo: Repo, one: Session, two: Session
) -> None:
    first = one.begin()
    with one.call():
        replace(repo, "a", "line 2\n", "one: 2\n")
        second = two.begin()
        replace(repo, "b", "line 2\n", "one: 2\n")
    two.edit("a", "line 9\n", "two: 9\n")
    replace(repo, "a", "line 12\n", "mine: 12\n")
    two.end()
    one.end()
    revert(repo, second)
    assert repo.read("a").decode() == text(n2="one: 2\n", n12="mine: 12\n")
    assert repo.read("b").decode() == text(n2="one: 2\n")
    revert(repo, first)
    assert repo.read("a").decode() == text(n12="mine: 12\n")
    assert repo.read("b").decode() == TEXT


def test_a_whole_turn_within_a_call(repo: Repo, one: Session, two: Session) -> None:
    first = one.begin()
    with one.call():
        replace(repo, "a", "line 2\n", "one: 2\n")
        second = two.begin()
        replace(repo, "b", "line 2\n", "one: 2\n")
        two.edit("c", "line 9\n", "two: 9\n")
        two.end()
    one.end()
    revert(repo, second)
    assert repo.read("c").decode() == TEXT
    assert repo.read("b").decode() == text(n2="one: 2\n")
    assert repo.boocode("undo").code == 0
    revert(repo, first)
    assert [repo.read(path).decode() for path in ("a", "b")] == [TEXT, TEXT]
    assert repo.read("c").decode() == text(n9="two: 9\n")


def test_a_turn_whose_calls_all_were_before_the_other_turn(
    repo: Repo, one: Session, two: Session
) -> None:
    first = one.begin()
    one.edit("a", "line 2\n", "one: 2\n")
    second = two.begin()
    with two.call():
        replace(repo, "a", "line 9\n", "two: 9\n")
        replace(repo, "b", "line 9\n", "two: 9\n")
    replace(repo, "a", "line 12\n", "mine: 12\n")
    two.end()
    one.end()
    revert(repo, first)
    assert repo.read("a").decode() == text(n9="two: 9\n", n12="mine: 12\n")
    revert(repo, second)
    assert repo.read("a").decode() == text(n12="mine: 12\n")


def test_a_turn_that_goes_on_while_the_other_is_taken_back(
    repo: Repo, one: Session, two: Session
) -> None:
    """One writes in a call that began before the other turn, and has not ended."""
    one.begin()
    with one.call(WRITE, "new"):
        second = two.begin()
        repo.write("new", TEXT)
        two.edit("a", "line 9\n", "two: 9\n")
        two.end()
        revert(repo, second)
        assert repo.read("new").decode() == TEXT
        assert repo.read("a").decode() == TEXT


def test_nothing_is_left_to_revert(repo: Repo, one: Session) -> None:
    with one.turn() as turn:
        repo.write("a", text(n2="one\n"))
    revert(repo, turn)
    before = everything(repo)
    answer = revert(repo, turn)
    assert (answer["changed"], answer["undo"]) == ([], None)
    assert everything(repo) == before


def test_reverts_restores_and_undos_in_a_row(repo: Repo, one: Session, two: Session) -> None:
    with one.turn() as first:
        repo.write("a", text(n2="one\n"))
    with two.turn() as second:
        repo.write("a", text(n2="one\n", n9="two\n"))
    states = [everything(repo)[0]]
    for words in (["revert", first], ["pick", first], ["revert", second], ["restore", first]):
        assert repo.boocode(*words).code == 0
        states.append(everything(repo)[0])
    assert repo.read("a").decode() == TEXT
    for state in reversed(states[:-1]):
        assert repo.boocode("undo", "--force", "newer-turns").code == 0
        assert everything(repo)[0] == state
