"""What paths become when turns are taken back, or made again: real turns, and a real restore."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import pytest

from git_boocode.checkpoints.capture import ToolCall, capture_tool_state, capture_turn_end
from git_boocode.checkpoints.restore import commands
from git_boocode.checkpoints.restore.request import RestoreRequest, TurnStep, WantedPaths
from git_boocode.checkpoints.store.catalog import Catalog, Checkpoint
from git_boocode.checkpoints.turn_work import TurnWork, WorkStep, work_of
from git_boocode.checkpoints.turns import Turn
from git_boocode.checkpoints.worktree.snapshot import Snapshot
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.repository import Repository
from git_boocode.workflows.turn_conflicts import BY_HAND
from git_boocode.workflows.turn_hunks import changed_files, with_hunks_only
from git_boocode.workflows.turn_merge import Merged, MergeOptions, merge_turns
from tests.checkpoints.kit import take
from tests.repo_kit import Repo

LINES = "".join(f"line {number}\n" for number in range(1, 11))


def begin(label: str) -> Checkpoint:
    return take(session=label, agent="bot", label=label)


def end(turn: Checkpoint) -> None:
    assert capture_turn_end(Repository.discover(), turn.id, "Stop")


def merged(
    *turns: Checkpoint,
    forwards: bool = False,
    hunks: Mapping[str, set[int]] | None = None,
    **options: Any,
) -> Merged:
    """Merge turns in the order in which they are given, and change the files if none conflicts."""
    repository = Repository.discover()
    catalog = Catalog(repository)
    found: list[Merged] = []
    asked = MergeOptions(forwards=forwards, **options)

    def make(snapshot: Snapshot) -> WantedPaths:
        works = [work_of(catalog, turn, lambda: snapshot.tree) for turn in turns]
        result = merge_turns(repository, snapshot, works, asked)
        if hunks is not None:
            files = [*changed_files(repository, snapshot, result, "revert")]
            result = with_hunks_only(repository, snapshot, result, files, hunks)
        found.append(result)
        marked = options.get("markers") or hunks is not None
        return WantedPaths() if result.conflicts and not marked else result.wanted

    step = TurnStep("pick" if forwards else "revert", tuple(turn.id for turn in turns))
    commands.change_paths(repository, step, make, RestoreRequest())
    return found[0]


def undo() -> None:
    commands.undo(Repository.discover(), RestoreRequest())


def changed(number: int, text: str, old: str = LINES) -> str:
    return old.replace(f"line {number}\n", text)


@pytest.fixture
def repo(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> Repo:
    monkeypatch.chdir(repo.top)
    repo.commit(a=LINES, b=LINES, gone="gone\n")
    return repo


def text(repo: Repo, path: str) -> str | None:
    file = repo.top / path
    return file.read_text() if os.path.lexists(file) else None


def test_one_turn_of_two_in_the_same_files(repo: Repo) -> None:
    first = begin("first")
    repo.write("a", changed(3, "first\n"))
    repo.write("new", "new\n")
    (repo.top / "gone").unlink()
    end(first)
    second = begin("second")
    repo.write("a", changed(3, "first\n", changed(8, "second\n")) + "at the end\n")
    repo.write("b", "second\n")
    end(second)
    repo.write("by-hand", "mine\n")
    result = merged(first)
    assert result.conflicts == ()
    assert text(repo, "a") == changed(8, "second\n") + "at the end\n"
    assert (text(repo, "new"), text(repo, "gone")) == (None, "gone\n")
    assert (text(repo, "b"), text(repo, "by-hand")) == ("second\n", "mine\n")
    undo()
    assert text(repo, "a") == changed(3, "first\n", changed(8, "second\n")) + "at the end\n"
    assert (text(repo, "new"), text(repo, "gone")) == ("new\n", None)


def test_a_conflict_names_the_lines_and_who_wrote_them(repo: Repo) -> None:
    first = begin("first")
    repo.write("a", changed(3, "first\n", changed(8, "first, too\n")))
    end(first)
    second = begin("second")
    repo.write("a", changed(3, "second\n", changed(8, "first, too\n")))
    end(second)
    repo.write("a", changed(3, "second\n", changed(8, "by hand\n")))
    before = text(repo, "a")
    (conflict,) = merged(first).conflicts
    assert text(repo, "a") == before
    assert (conflict.path, conflict.lines) == ("a", ((3, 3), (8, 8)))
    assert set(conflict.by) == {(second.id, "second"), (None, BY_HAND)}


def test_a_conflict_names_who_removed_the_lines(repo: Repo) -> None:
    first = begin("first")
    repo.write("a", changed(3, "first\n"))
    end(first)
    second = begin("second")
    repo.write("a", changed(3, ""))
    end(second)
    third = begin("third")
    repo.write("a", changed(3, "", changed(8, "third\n")))
    end(third)
    repo.write("a", changed(3, "", changed(8, "third\n")) + "by hand\n")
    (conflict,) = merged(first).conflicts
    assert conflict.by == ((second.id, "second"),)


def test_a_place_without_lines_is_a_line_in_an_answer(repo: Repo) -> None:
    turn = begin("turn")
    repo.write("a", changed(1, "turn 1\n", changed(5, "turn 5\n")))
    end(turn)
    repo.write("a", changed(1, "", changed(5, "")))
    (conflict,) = merged(turn).conflicts
    assert conflict.as_json()["lines"] == [[1, 1], [3, 3]]


def test_both_turns_newest_first(repo: Repo) -> None:
    first = begin("first")
    repo.write("a", changed(3, "first\n"))
    end(first)
    second = begin("second")
    repo.write("a", changed(3, "second\n"))
    end(second)
    repo.write("a", changed(3, "second\n") + "by hand\n")
    assert merged(second, first).conflicts == ()
    assert text(repo, "a") == LINES + "by hand\n"
    # Both are taken back already.
    assert merged(second, first).wanted.files == []


def test_what_a_turn_did_is_made_again_elsewhere(repo: Repo) -> None:
    first = begin("first")
    repo.write("a", changed(3, "first\n"))
    repo.write("new", "new\n")
    (repo.top / "gone").unlink()
    end(first)
    repo.git("checkout", "-q", ".")
    repo.git("clean", "-fdq")
    repo.write("a", changed(8, "by hand\n"))
    assert merged(first, forwards=True).conflicts == ()
    assert text(repo, "a") == changed(3, "first\n", changed(8, "by hand\n"))
    assert (text(repo, "new"), text(repo, "gone")) == ("new\n", None)


def test_conflict_markers(repo: Repo) -> None:
    first = begin("first")
    repo.write("a", changed(3, "first\n", changed(8, "first, too\n")))
    end(first)
    repo.write("a", changed(3, "by hand\n", changed(8, "first, too\n")))
    assert merged(first, markers=True).conflicts
    marked = "<<<<<<< now\nby hand\n=======\nline 3\n>>>>>>> reverted\n"
    assert text(repo, "a") == changed(3, marked)


def test_only_some_hunks(repo: Repo) -> None:
    first = begin("first")
    repo.write("a", changed(3, "first\n", changed(8, "first, too\n")))
    repo.write("b", "first\n")
    end(first)
    merged(first, hunks={"a": {2}})
    assert (text(repo, "a"), text(repo, "b")) == (changed(3, "first\n"), "first\n")


@pytest.mark.parametrize("ended", [True, False])
def test_staging_goes_back_where_the_turn_left_it(repo: Repo, *, ended: bool) -> None:
    repo.write("c", "c\n")
    first = begin("first")
    for path in ("a", "b", "new"):
        repo.write(path, "first\n")
    repo.git("add", "a", "b", "new")
    if ended:
        end(first)
        repo.write("b", "by hand\n")
        repo.git("add", "b", "c")
        repo.write("b", "first\n")
    merged(first)
    expected = ["MM b", "A  c"] if ended else ["?? c"]
    assert repo.git("status", "--porcelain", "-uall").splitlines() == expected
    if ended:
        assert repo.git("show", ":b") == "by hand\n"
    undo()
    assert text(repo, "a") == "first\n"
    assert repo.git("show", ":new") == "first\n"


def test_a_conflict_that_the_turn_resolved_is_unmerged_again(repo: Repo) -> None:
    repo.git("checkout", "-qb", "side")
    repo.commit(a="side\n", b="side\n", gone="side\n")
    repo.git("checkout", "-q", "main")
    repo.commit(a="main\n", b="main\n")
    repo.git("rm", "-q", "gone")
    repo.git("commit", "-qm", "without gone")
    repo.git("merge", "-q", "side", check=False)
    unmerged = repo.git("ls-files", "--unmerged")
    turn = begin("turn")
    repo.write("a", "resolved\n")
    repo.write("b", "resolved\n")
    repo.git("add", "a", "b")
    repo.git("rm", "-q", "gone")
    end(turn)
    resolved = repo.git("ls-files", "-s")
    merged(turn)
    assert repo.git("ls-files", "--unmerged") == unmerged
    undo()
    assert repo.git("ls-files", "-s") == resolved
    repo.write("other", "other\n")
    repo.git("add", "other")
    repo.git("update-index", "--cacheinfo", f"100644,{repo.git('rev-parse', ':other').strip()},b")
    merged(turn)
    assert repo.git("status", "--short").splitlines() == ["UU a", "MM b", "DU gone", "A  other"]


def test_a_conflict_that_began_in_the_turn_remains(repo: Repo) -> None:
    repo.git("checkout", "-qb", "side")
    repo.commit(a="side\n")
    repo.git("checkout", "-q", "main")
    repo.commit(a="main\n")
    turn = begin("turn")
    repo.git("merge", "-q", "side", check=False)
    end(turn)
    merged(turn)
    assert text(repo, "a") == "main\n"
    assert repo.git("status", "--short").splitlines() == ["UU a"]


# Renames.


def test_a_file_that_the_turn_intends_to_add_is_no_longer_staged(repo: Repo) -> None:
    turn = begin("turn")
    repo.write("new", "new\n")
    repo.git("rm", "--cached", "-q", "a")
    repo.write("a", changed(3, "turn\n"))
    repo.git("add", "-N", "new", "a")
    end(turn)
    repo.write("other", "mine\n")
    repo.git("add", "-N", "other")
    before = repo.git("ls-files", "-s", "-t")
    merged(turn)
    assert repo.git("status", "--short").splitlines() == [" A other"]
    undo()
    assert repo.git("ls-files", "-s", "-t") == before


def moved(repo: Repo, old: str, new: str) -> None:
    (repo.top / new).parent.mkdir(exist_ok=True)
    (repo.top / old).rename(repo.top / new)


def test_a_file_that_the_turn_renamed_and_others_changed_gets_its_name_back(repo: Repo) -> None:
    first = begin("first")
    moved(repo, "a", "sub/a2")
    repo.write("sub/a2", changed(3, "first\n"))
    end(first)
    repo.write("sub/a2", changed(3, "first\n", changed(8, "by hand\n")))
    assert merged(first).conflicts == ()
    assert (text(repo, "a"), text(repo, "sub/a2")) == (changed(8, "by hand\n"), None)
    merged(first, forwards=True)
    assert text(repo, "sub/a2") == changed(3, "first\n", changed(8, "by hand\n"))
    assert text(repo, "a") is None


def test_a_renamed_file_stays_if_its_old_name_is_taken(repo: Repo) -> None:
    repo.write("sub/old", LINES)
    turn = begin("turn")
    moved(repo, "sub/old", "new")
    end(turn)
    repo.write("new", changed(8, "by hand\n"))
    (repo.top / "sub").rmdir()
    repo.write("sub", "a file\n")
    result = merged(turn)
    assert [each.path for each in result.conflicts] == ["sub/old"]
    assert not result.wanted.files


def test_a_file_that_others_renamed_since_is_found(repo: Repo) -> None:
    first = begin("first")
    repo.write("a", changed(3, "first\n"))
    end(first)
    moved(repo, "a", "sub/a2")
    repo.write("sub/a2", changed(3, "first\n") + "by hand\n")
    assert merged(first).conflicts == ()
    assert (text(repo, "a"), text(repo, "sub/a2")) == (None, LINES + "by hand\n")
    undo()
    assert text(repo, "sub/a2") == changed(3, "first\n") + "by hand\n"


def test_a_new_file_that_others_renamed_is_a_conflict(repo: Repo) -> None:
    first = begin("first")
    repo.write("new", LINES.replace("line", "new line"))
    end(first)
    moved(repo, "new", "sub/new")
    (conflict,) = merged(first).conflicts
    assert (conflict.path, conflict.message) == ("new", "it was renamed to 'sub/new' since")
    assert conflict.by == ((None, BY_HAND),)


# Whole files.


@pytest.mark.parametrize("later", ["changed", "deleted"])
def test_what_others_did_to_a_file_of_the_turn(repo: Repo, later: str) -> None:
    first = begin("first")
    repo.write("new", "new\n")
    repo.write("a", changed(3, "first\n"))
    (repo.top / "gone").unlink()
    end(first)
    second = begin("second")
    if later == "changed":
        repo.write("new", "new\nmore\n")
        repo.write("gone", "another\n")
    else:
        (repo.top / "new").unlink()
        (repo.top / "a").unlink()
    end(second)
    conflicts = {conflict.path: conflict for conflict in merged(first).conflicts}
    assert sorted(conflicts) == (["gone", "new"] if later == "changed" else ["a"])
    assert {each.by for each in conflicts.values()} == {((second.id, "second"),)}
    if later == "changed":
        assert conflicts["new"].lines == ((2, 2),)
        assert all(each.is_whole for each in merged(first, markers=True).conflicts)


def test_links_modes_and_binary_files(repo: Repo) -> None:
    repo.write("tool", "tool\n")
    (repo.top / "link").symlink_to("a")
    (repo.top / "picture").write_bytes(b"\0one\n")
    repo.git("add", ".")
    first = begin("first")
    (repo.top / "tool").chmod(0o755)
    (repo.top / "link").unlink()
    (repo.top / "link").symlink_to("b")
    (repo.top / "picture").write_bytes(b"\0two\n")
    end(first)
    repo.write("tool", "tool\nmore\n")
    assert merged(first).conflicts == ()
    assert (repo.top / "link").readlink().name == "a"
    assert (repo.top / "picture").read_bytes() == b"\0one\n"
    assert not os.access(repo.top / "tool", os.X_OK)
    assert text(repo, "tool") == "tool\nmore\n"
    undo()
    (repo.top / "picture").write_bytes(b"\0three\n")
    (repo.top / "link").unlink()
    repo.write("link", "no link\n")
    conflicts = merged(first).conflicts
    assert [conflict.path for conflict in conflicts] == ["link", "picture"]


def test_a_directory_in_place_of_a_file(repo: Repo) -> None:
    first = begin("first")
    (repo.top / "gone").unlink()
    end(first)
    repo.write("gone/inner", "mine\n")
    (conflict,) = merged(first).conflicts
    assert (conflict.path, conflict.message) == ("gone", "'gone/inner' is in the way")
    assert text(repo, "gone/inner") == "mine\n"


def test_a_file_that_became_a_directory_in_the_turn_is_one_again(repo: Repo) -> None:
    first = begin("first")
    (repo.top / "gone").unlink()
    repo.write("gone/inner", "first\n")
    end(first)
    assert merged(first).conflicts == ()
    assert text(repo, "gone") == "gone\n"
    merged(first, forwards=True)
    assert text(repo, "gone/inner") == "first\n"


def test_a_name_that_differs_only_in_case(repo: Repo) -> None:
    first = begin("first")
    (repo.top / "gone").unlink()
    end(first)
    repo.git("config", "core.ignoreCase", "true")
    repo.write("Gone", "mine\n")
    (conflict,) = merged(first).conflicts
    assert (conflict.path, conflict.message) == ("gone", "'Gone' is in the way")


def test_new_names_that_differ_only_in_case(repo: Repo) -> None:
    first = begin("first")
    for name in ("Foo", "foo", "Dir", "dir/below"):
        repo.write(name, f"{name}\n")
    end(first)
    merged(first)
    repo.git("config", "core.ignoreCase", "true")
    conflicts = merged(first, forwards=True).conflicts
    assert [(each.path, each.message) for each in conflicts] == [
        ("Foo", "'foo' is in the way"),
        ("dir/below", "'Dir' is in the way"),
        ("foo", "'Foo' is in the way"),
    ]


def test_nested_repositories_and_large_files_are_left_alone(repo: Repo) -> None:
    repo.git("config", "boocode.maxFileSize", "1000")
    repo.write("large", "small\n")
    first = begin("first")
    repo.write("a", changed(3, "first\n"))
    repo.write("large", "large\n" * 1000)
    repo.git("init", "-q", "nested")
    end(first)
    result = merged(first)
    assert text(repo, "a") == LINES
    assert [kept.path for kept in result.wanted.kept] == ["large", "nested"]
    assert text(repo, "large") == "large\n" * 1000


def test_files_that_a_state_lacks_only_because_they_are_ignored(repo: Repo) -> None:
    repo.write("logs/app.log", "1\n")
    repo.write("build/.gitignore", "*.tmp\n")
    repo.write("build/left.tmp", "mine\n")
    repo.write("really.log", "deleted\n")
    repo.git("add", "really.log")
    turn = begin("turn")
    repo.write(".gitignore", "*.log\n")
    (repo.top / "build/.gitignore").unlink()
    (repo.top / "really.log").unlink()
    repo.write("a", changed(5, "turn\n"))
    end(turn)
    repo.write("logs/app.log", "1\n2\n")
    result = merged(turn)
    assert {tuple(each) for each in result.wanted.kept} == {
        ("logs/app.log", "ignored since the turn"),
        ("build/left.tmp", "ignored before the turn"),
    }
    assert (text(repo, "logs/app.log"), text(repo, "build/left.tmp")) == ("1\n2\n", "mine\n")
    assert (text(repo, "a"), text(repo, "really.log")) == (LINES, "deleted\n")
    assert (text(repo, ".gitignore"), text(repo, "build/.gitignore")) == (None, "*.tmp\n")


def test_files_that_are_ignored_by_now_are_left_alone(repo: Repo) -> None:
    repo.write("old.o", "1\n")
    turn = begin("turn")
    repo.write("old.o", "1\n2\n")
    repo.write("new.o", "new\n")
    repo.write("a", changed(5, "turn\n"))
    end(turn)
    repo.write(".gitignore", "*.o\n")
    result = merged(turn)
    assert {tuple(each) for each in result.wanted.kept} == {
        ("old.o", "ignored now"),
        ("new.o", "ignored now"),
    }
    assert (text(repo, "old.o"), text(repo, "new.o")) == ("1\n2\n", "new\n")
    assert text(repo, "a") == LINES


def test_pathspecs(repo: Repo) -> None:
    first = begin("first")
    repo.write("a", changed(3, "first\n"))
    repo.write("b", "first\n")
    end(first)
    merged(first, pathspecs=["b"])
    assert (text(repo, "a"), text(repo, "b")) == (changed(3, "first\n"), LINES)


def test_an_editor_has_another_text(repo: Repo) -> None:
    first = begin("first")
    repo.write("a", changed(3, "first\n"))
    end(first)
    buffer = changed(3, "first\n").encode() + b"unsaved\n"
    result = merged(first, buffers={"a": buffer})
    assert text(repo, "a") == changed(3, "first\n")
    assert result.texts == {"a": (buffer, LINES.encode() + b"unsaved\n")}
    # A buffer that has the text already does not change.
    assert merged(first, buffers={"a": LINES.encode() + b"unsaved\n"}).texts == {}


# Conversion by git.


def test_bytes_are_merged_as_they_are_on_disk(repo: Repo) -> None:
    repo.git("config", "filter.upper.smudge", "tr a-z A-Z")
    repo.git("config", "filter.upper.clean", "tr A-Z a-z")
    attributes = (
        "crlf text eol=crlf\nupper filter=upper\nwide text working-tree-encoding=UTF-16LE-BOM\n"
    )
    repo.write(".gitattributes", attributes)
    before = {
        "crlf": LINES.replace("\n", "\r\n").encode(),
        "mixed": LINES.replace("line 3\n", "line 3\r\n").encode(),
        "upper": LINES.upper().encode(),
        "wide": b"\xff\xfe" + LINES.encode("utf-16-le"),
        "bytes": LINES.replace("line 5", "l\xefne 5").encode("latin-1"),
        "marked": b"\xef\xbb\xbf" + LINES.encode(),
        "open": LINES.rstrip("\n").encode(),
    }

    def every(old: str, new: str) -> None:
        for name in before:
            data = (repo.top / name).read_bytes()
            codec = "utf-16-le" if name == "wide" else "ascii"
            pair = [(t.upper() if name == "upper" else t).encode(codec) for t in (old, new)]
            changed = data.replace(pair[0], pair[1])
            assert changed != data
            (repo.top / name).write_bytes(changed)

    for name, data in before.items():
        (repo.top / name).write_bytes(data)
    repo.git("add", ".")
    repo.git("commit", "-qm", "files")
    first = begin("first")
    every("line 3", "first")
    end(first)
    every("line 8", "by hand")
    # An ending that git does not keep.
    crlf = repo.top / "crlf"
    crlf.write_bytes(crlf.read_bytes().replace(b"line 6\r\n", b"line 6\n"))
    there = {name: (repo.top / name).read_bytes() for name in before}
    assert merged(first).conflicts == ()
    for name, data in there.items():
        codec = "utf-16-le" if name == "wide" else "ascii"
        pair = "first", "line 3"
        sides = [(t.upper() if name == "upper" else t).encode(codec) for t in pair]
        assert (repo.top / name).read_bytes() == data.replace(sides[0], sides[1]), name
    undo()
    assert {name: (repo.top / name).read_bytes() for name in before} == there


def test_a_new_file_as_an_edit_record_has_it_is_deleted(repo: Repo) -> None:
    repo.git("config", "core.autocrlf", "true")
    turn, repository = begin("first"), Repository.discover()
    raw = repo.git("hash-object", "-w", "--no-filters", "--stdin", stdin=b"new\r\n").strip()
    tree = repo.git("mktree", stdin=f"100644 blob {raw}\tnew\n").strip()
    (repo.top / "new").write_bytes(b"new\r\n")
    work = TurnWork(Turn(turn), (WorkStep(repository.empty_tree, tree),), {})

    def make(snapshot: Snapshot) -> WantedPaths:
        return merge_turns(repository, snapshot, [work], MergeOptions()).wanted

    commands.change_paths(repository, TurnStep("revert", (turn.id,)), make, RestoreRequest())
    assert text(repo, "new") is None


def test_line_endings_that_git_does_not_store_stay(repo: Repo) -> None:
    repo.git("config", "core.autocrlf", "input")
    mixed = LINES.replace("line 6\n", "line 6\r\n").encode()
    (repo.top / "a").write_bytes(mixed)
    first = begin("first")
    (repo.top / "a").write_bytes(mixed.replace(b"line 3", b"first"))
    end(first)
    merged(first)
    assert (repo.top / "a").read_bytes() == mixed


# Turns at the same time.


def tool(turn: Checkpoint, call: str, *, ended: bool = False) -> None:
    made = ToolCall(turn.id, ended, call, "Bash", ())
    assert capture_tool_state(Repository.discover(), made, "PostToolUse" if ended else "PreToolUse")


def test_what_two_turns_may_have_changed_is_taken_back_only_if_asked_for(repo: Repo) -> None:
    first, second = begin("first"), begin("second")
    tool(first, "1")
    repo.write("a", changed(3, "first\n"))
    tool(second, "2")
    repo.write("a", changed(3, "first\n", changed(8, "either\n")))
    repo.write("new", "either\n")
    tool(first, "1", ended=True)
    tool(second, "2", ended=True)
    repo.write("a", changed(3, "first\n", changed(8, "either\n")) + "by hand\n")
    end(first)
    end(second)
    before = text(repo, "a")
    with pytest.raises(RefusedError) as refused:
        merged(first)
    assert refused.value.code == "shared"
    assert refused.value.hints[0] == (
        f"'git boocode revert {second.id} {first.id}' reverts all of these turns"
    )
    assert refused.value.message == (
        f"'a' was changed while the turns {first.id[:13]} and {second.id[:13]} were open, "
        "and nothing says by which of them (and 1 more file)"
    )
    assert [each.arguments for each in refused.value.next_steps] == [
        {"turns": [second.id, first.id]},
        {"force": ["shared"]},
    ]
    merged(first, force_shared=True)
    assert (text(repo, "a"), text(repo, "new")) == (LINES + "by hand\n", None)
    undo()
    assert text(repo, "a") == before
    # Both at once, because then it does not matter whose it is.
    merged(second, first)
    assert (text(repo, "a"), text(repo, "new")) == (LINES + "by hand\n", None)


@pytest.mark.parametrize("newest_first", [True, False])
@pytest.mark.variants
def test_turns_that_took_turns_in_the_same_lines(repo: Repo, *, newest_first: bool) -> None:
    first, second = begin("first"), begin("second")
    for number, turn in enumerate((first, second, first, second, first)):
        tool(turn, str(number))
        repo.write("a", changed(3, f"version {number}\n", LINES))
        tool(turn, str(number), ended=True)
    end(first)
    end(second)
    repo.write("a", changed(3, "version 4\n", LINES) + "by hand\n")
    assert merged(*((second, first) if newest_first else (first, second))).conflicts == ()
    assert text(repo, "a") == LINES + "by hand\n"
    merged(first, second, forwards=True)
    assert text(repo, "a") == changed(3, "version 4\n", LINES) + "by hand\n"


def test_turns_that_took_turns_in_one_file(repo: Repo) -> None:
    first, second = begin("first"), begin("second")
    now = LINES
    for number, turn in ((2, first), (4, second), (6, first), (8, second)):
        tool(turn, str(number))
        now = changed(number, f"{turn.meta.text('label')}\n", now)
        repo.write("a", now)
        tool(turn, str(number), ended=True)
        now += f"by hand {number}\n"
        repo.write("a", now)
    end(first)
    end(second)
    assert merged(first).conflicts == ()
    now = now.replace("first\n", "line 2\n", 1).replace("first\n", "line 6\n")
    assert text(repo, "a") == now
    undo()
    (conflict,) = [*merged(second, buffers={"a": b"another text\n"}).conflicts]
    assert conflict.path == "a"


# What a turn of somebody else may hold.


def test_paths_that_no_file_may_have_are_never_written(repo: Repo) -> None:
    turn = begin("first")
    repository = Repository.discover()
    blob = repo.git("hash-object", "-w", "--stdin", stdin="evil\n").strip()

    def tree(*entries: tuple[str, str, str]) -> str:
        body = b"".join(
            f"{mode} {name}\0".encode() + bytes.fromhex(identifier)
            for mode, name, identifier in entries
        )
        command = ("hash-object", "-t", "tree", "--literally", "-w", "--stdin")
        return repo.git(*command, stdin=body).strip()

    below = tree(("100644", "config", blob))
    hostile = tree(
        ("40000", "..", below),
        ("40000", ".git", below),
        ("40000", "link", below),
        ("100644", "plain", blob),
    )
    (repo.top / "link").symlink_to(repo.top.parent)
    work = TurnWork(Turn(turn), (WorkStep(repository.empty_tree, hostile),), {})
    found: list[Merged] = []

    def make(snapshot: Snapshot) -> WantedPaths:
        found.append(merge_turns(repository, snapshot, [work], MergeOptions(forwards=True)))
        return found[0].wanted

    config = (repo.top / ".git/config").read_text()
    commands.change_paths(repository, TurnStep("pick", (turn.id,)), make, RestoreRequest())
    (result,) = found
    assert [file.path for file in result.wanted.files] == ["plain"]
    assert [kept.path for kept in result.wanted.kept] == ["../config", ".git/config"]
    assert [(each.path, each.message) for each in result.conflicts] == [
        ("link/config", "'link' is in the way")
    ]
    assert (repo.top / ".git/config").read_text() == config
    assert not (repo.top.parent / "config").exists()
    assert text(repo, "plain") == "evil\n"
