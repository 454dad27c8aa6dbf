from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from git_boocode.checkpoints.capture import capture_turn_end
from git_boocode.repo.repository import Repository
from tests.checkpoints.kit import back, take
from tests.repo_kit import Repo

pytestmark = pytest.mark.slow


def test_the_newest_by_default(repo: Repo) -> None:
    head = repo.commit(a="a\n")
    take()
    repo.write("a", "x\n")
    repo.git("config", "boocode.maxFileSize", "5")
    repo.write("large\n", "too large")
    taken = take(label="l", agent="g", session="s", chat="c", message="m", meta={"k": "v"})
    done = repo.boocode("show", "--head")
    assert (done.code, done.err) == (0, "")
    header, _, diff = done.out.partition("\n\n")
    lines = header.split("\n")
    assert re.fullmatch(r"date        [0-9]{4}-[-0-9]+ [:0-9]+ [+-][0-9]{4}", lines.pop(2))
    assert lines == [
        f"checkpoint {taken.id}",
        f"commit      {taken.commit.id}",
        "changes     since HEAD",
        "agent       g",
        "session     s",
        "chat        c",
        "message     m",
        "trigger     manual",
        "label       l",
        f"head        refs/heads/main {head}",
        'meta        {"k": "v"}',
        'not kept    "large\\n" (larger than boocode.maxFileSize (5 bytes))',
    ]
    assert diff == repo.git("diff", head, taken.commit.id)


def test_the_json_answer(repo: Repo) -> None:
    repo.commit(a="a\n", b="b\n")
    repo.write("a", "x\n")
    repo.write("c", "x\n")
    (repo.top / "b").unlink()
    taken = take(label="l")
    answer = repo.boocode("show", taken.id[:-2], "--head", "--json").json
    assert list(answer) == ["ok", "checkpoint", "end", "before", "after", "files"]
    shown = answer["checkpoint"]
    extra = {"commit": taken.commit.id, "tree": taken.tree}
    assert shown == {**taken.meta.values, **extra}
    assert answer["files"] == [
        {"path": "a", "action": "modify"},
        {"path": "b", "action": "delete"},
        {"path": "c", "action": "create"},
    ]


def test_what_a_turn_changed(repo: Repo) -> None:
    head = repo.commit(a="a\n", b="b\n")
    repo.write("b", "before the turn\n")
    first = take(label="first")
    repo.write("a", "in the turn\n")
    capture_turn_end(Repository.discover(), first.id, "Stop")
    repo.write("b", "by hand\n")
    second = take(label="second")
    repo.write("b", "now\n")
    done = repo.boocode("show", "@~1")
    assert (done.code, done.err) == (0, "")
    assert "\nchanges     1 file +1 −1, until its recorded end\n" in done.out
    assert "-a\n+in the turn\n" in done.out
    assert "b/b" not in done.out
    newest = repo.boocode("show").out
    assert "\nchanges     1 file +1 −1, until now\n" in newest
    assert "-by hand\n+now\n" in newest
    assert "until the next checkpoint" not in newest
    answers = [repo.boocode("show", name, "--json").json for name in ("@", "@~1")]
    assert [(each["end"], each["files"]) for each in answers] == [
        ("now", [{"path": "b", "action": "modify"}]),
        ("recorded", [{"path": "a", "action": "modify"}]),
    ]
    assert answers[0]["after"] is None
    sides = [repo.git("show", f"{answers[1][side]}:a") for side in ("before", "after")]
    assert sides == ["a\n", "in the turn\n"]
    against_head = repo.boocode("show", "@", "--head").out
    assert against_head.endswith(repo.git("diff", head, second.commit.id))
    assert repo.boocode("show", "@", "--head", "--json").json["end"] is None


def test_the_patch_is_the_default(repo: Repo) -> None:
    repo.write("a", "a\n")
    repo.boocode("checkpoint")
    repo.write("a", "b\n")
    assert repo.boocode("show", "-p").out == repo.boocode("show").out
    both = repo.boocode("show", "-p", "--stat").out
    assert (" a | 2 +-\n" in both, "\n-a\n+b\n" in both) == (True, True)


def test_a_safety_checkpoint_is_compared_with_head(repo: Repo) -> None:
    repo.commit(a="a\n")
    take()
    repo.write("a", "b\n")
    undo = back().undo
    assert undo is not None
    done = repo.boocode("show", undo)
    assert "\nchanges     since HEAD, as it began no turn\n" in done.out
    assert "-a\n+b\n" in done.out


def test_a_file_as_it_was(repo: Repo) -> None:
    repo.commit(**{"sub/a": "old\n", "b": "\xff\n"})
    repo.write("raw", b"\xff\r\n")
    take()
    repo.write("sub/a", "new\n")
    taken = take()
    assert repo.boocode("show", "@~1:sub/a") == (0, "old\n", "")
    assert repo.boocode("show", f"{taken.id[:13]}:sub/a") == (0, "new\n", "")
    assert repo.boocode("show", "@:./a", cwd="sub") == (0, "new\n", "")
    assert repo.boocode("show", "@:../sub/a", cwd="sub") == (0, "new\n", "")
    answer = repo.boocode("show", "@:raw", "--json").json
    assert answer == {
        "ok": True, "checkpoint_id": taken.id, "path": "raw", "content": "\udcff\r\n"
    }  # fmt: skip
    assert repo.boocode("show", "@:", "--json").json["entries"] == ["b", "raw", "sub"]
    assert "a\n" in repo.boocode("show", "@:sub").out


def test_a_file_that_is_not_in_the_checkpoint(repo: Repo) -> None:
    repo.commit(**{"sub/a": "a\n"})
    take()
    for name, hint in (
        ("@:sub/aa", ":sub/a'?"),
        ("@:a", ":sub/a'?"),
        ("@:/sub/a", ":sub/a'?"),
        ("@:../b", ""),
    ):
        done = repo.boocode("show", name, cwd="sub")
        assert (done.code, done.out) == (1, "")
        assert "is not in checkpoint" in done.err
        assert hint in done.err
        answer = repo.boocode("show", name, "--json", cwd="sub")
        assert answer.json["error"]["code"] == "missing_file"


def test_on_an_unborn_branch_and_detached(repo: Repo) -> None:
    repo.write("a", "a\n")
    take()
    assert "head        refs/heads/main (unborn)\n" in repo.boocode("show").out
    commit = repo.commit()
    repo.git("checkout", "-q", "--detach")
    take()
    assert f"head        detached {commit}\n" in repo.boocode("show").out


@pytest.mark.parametrize("name", ["nonsense", "@~5", "ffffffff", "label:none"])
def test_there_is_no_such_checkpoint(repo: Repo, name: str) -> None:
    take()
    done = repo.boocode("show", name)
    assert (done.code, done.out) == (1, "")
    error, hint = done.err.splitlines()
    assert error.startswith("error: ")
    assert hint == "hint: 'git boocode log' lists the checkpoints"
    answer = repo.boocode("show", name, "--json")
    assert (answer.code, answer.json["error"]["code"]) == (1, "not_found")
    repo.git("config", "advice.boocode", "false")
    assert "hint" not in repo.boocode("show", name).err


def test_usage_errors(repo: Repo) -> None:
    assert repo.boocode("show", "@", "@").code == 129
    assert repo.boocode("show", "@:a", "--stat").code == 129
    assert repo.boocode("show", "--json", "@", "@").json["error"]["code"] == "usage"
    assert repo.boocode("show", "-h").code == 129


def edited(repo: Repo) -> str:
    """Apply edits to two files and return the id of their record."""
    edits = [
        {"path": "a\tb", "old_string": "  x  = 1", "new_string": "  x = 2"},
        {"path": "sub/n", "content": "n\n"},
    ]
    identifier: str = repo.boocode("apply-edit", "--json", stdin=json.dumps(edits)).json["id"]
    return identifier


def test_an_edit(repo: Repo) -> None:
    repo.write("a\tb", "def f():\n    x = 1\n")
    identifier = edited(repo)
    done = repo.boocode("show", identifier)
    assert (done.code, done.err) == (0, "")
    header, _, diff = done.out.partition("\n\n")
    lines = header.split("\n")
    ref = f"refs/boocode/edits/{identifier}"
    assert lines[:2] == [f"edit {identifier}", f"commit      {repo.git('rev-parse', ref).strip()}"]
    assert lines[2].startswith("date        ")
    assert lines[3:6] == [
        "worktree    main", 'file        "a\\tb": modify', "file        sub/n: create"
    ]  # fmt: skip
    assert lines[6].startswith('edit        "a\\tb": fuzzy (')
    assert ", line 2" in lines[6]
    assert lines[7] == "edit        sub/n: exact (write), at the top"
    assert "-    x = 1\n+    x = 2\n" in diff
    assert diff.startswith('diff --git "a/a\\tb" "b/a\\tb"\n')
    assert "new file mode 100644" in diff
    assert " 2 files changed" in repo.boocode("show", "--stat", identifier).out
    repo.boocode("rewind")
    assert "\nstate       rewound\n" in repo.boocode("show", identifier).out
    newest = repo.git("for-each-ref", "--format=%(refname)", "refs/boocode/edits/").split()[-1]
    rewind = repo.boocode("show", newest.rpartition("/")[2]).out
    assert f"\nrewinds     {identifier}\n" in rewind
    assert "deleted file" in rewind


def test_an_edit_as_json(repo: Repo) -> None:
    repo.write("a\tb", "x = 1\n")
    identifier = edited(repo)
    answer = repo.boocode("show", identifier[:-1], "--json").json
    assert list(answer) == ["ok", "edit", "files", "diff"]
    assert answer["edit"]["id"] == identifier
    assert (answer["edit"]["kind"], answer["edit"]["rewound"]) == ("edit", False)
    assert len(answer["edit"]["edits"]) == 2
    assert answer["files"] == [
        {"path": "a\tb", "action": "modify"}, {"path": "sub/n", "action": "create"}
    ]  # fmt: skip
    assert "+n\n" in answer["diff"]


def test_an_edit_in_the_users_colours(repo: Repo) -> None:
    repo.write("a\tb", "x = 1\n")
    identifier = edited(repo)
    repo.git("config", "color.ui", "always")
    repo.git("config", "color.diff.old", "magenta")
    assert "\x1b[35m-x = 1" in repo.boocode("show", identifier).out


def test_the_beginning_of_a_checkpoint_and_of_an_edit(repo: Repo) -> None:
    repo.write("a\tb", "x = 1\n")
    taken = take()
    identifier = edited(repo)
    # Both were made within a minute: the first digits are those of the time.
    done = repo.boocode("show", identifier[:6], "--json")
    assert (done.code, done.json["error"]["code"]) == (1, "ambiguous")
    assert done.json["error"]["message"] == (
        f"'{identifier[:6]}' is ambiguous: it matches a checkpoint and an edit record"
    )
    assert taken.id in done.json["error"]["hint"]
    assert identifier in done.json["error"]["hint"]
    take()
    assert repo.boocode("show", identifier[:6], "--json").json["error"]["code"] == "ambiguous"
    assert "edit" in repo.boocode("show", identifier, "--json").json
    assert "checkpoint" in repo.boocode("show", taken.id, "--json").json


def test_an_edit_that_cannot_be_used(repo: Repo) -> None:
    tree = repo.git("mktree").strip()
    commit = repo.git("commit-tree", tree, stdin='s\n\n{"boocode": 2}').strip()
    repo.git("update-ref", "refs/boocode/edits/0190aaaa-0000-7000-8000-000000000000", commit)
    done = repo.boocode("show", "0190aaaa", "--json")
    assert (done.code, done.json["error"]["code"]) == (1, "newer")


@pytest.mark.parametrize("kind", ["edit", "checkpoint"])
def test_the_reader_closes_the_pipe(repo: Repo, kind: str) -> None:
    repo.commit(a="a\n")
    content = "a line that is changed\n" * 20_000
    if kind == "edit":
        done = repo.boocode(
            "apply-edit", "--json", stdin=json.dumps({"path": "a", "content": content})
        )
        name = done.json["id"]
    else:
        name = take().id
        repo.write("a", content)
    assert repo.reader_that_leaves("git", "boocode", "show", name) == (141, b"")


def test_a_rename_is_shown_whatever_is_configured(repo: Repo) -> None:
    repo.write("a", "".join(f"line {number}\n" for number in range(20)))
    patch = "*** Begin Patch\n*** Update File: a\n*** Move to: b\n@@\n-line 3\n+three\n"
    done = repo.boocode("apply-edit", "--json", stdin=f"{patch}*** End Patch\n")
    repo.git("config", "diff.renames", "false")
    shown = repo.boocode("show", done.json["id"]).out
    assert "rename from a\nrename to b\n" in shown
    assert (
        "rename from a\nrename to b\n"
        in repo.boocode("show", done.json["id"], "--json").json["diff"]
    )


def test_the_conversation(repo: Repo, sealed: Path) -> None:
    repo.commit(a="a\n")
    path = sealed / ".claude/projects/shop/s1.jsonl"
    path.parent.mkdir(parents=True)
    anchor = {"path": str(path), "offset": 0, "hash": None}
    taken = take(agent="claude-code", session="s1", prompt="Do it,\nplease", anchor=anchor)
    call = {"type": "tool_use", "id": "c", "name": "Bash", "input": {"command": "make\x1b[2J"}}
    result = {"type": "tool_result", "tool_use_id": "c", "content": "\nbuilt\nall\nfiles"}
    said = [
        ("user", "Do it,\nplease"),
        ("assistant", [{"type": "text", "text": "I *build* it.\x1b[31m\u202e"}, call]),
        ("user", [result]),
        ("assistant", f"Done: ghp_{'a1B2' * 9}"),
    ]
    rows = ({"type": role, "message": {"role": role, "content": what}} for role, what in said)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    done = repo.boocode("show", "--conversation", taken.id[:-2])
    assert (done.code, done.err) == (0, "")
    head, _, body = done.out.partition("\n\n")
    assert head.split("\n")[:3] == [
        f"checkpoint {taken.id}",
        "agent       claude-code",
        "session     s1",
    ]
    assert (
        body
        == """\
you
    Do it,
    please

claude-code
    I *build* it.?[31m?

  Bash make?[2J
    built (and 2 more lines)

    Done: ⟨masked: GitHub token⟩

(1 secret masked)
"""
    )
    answer = repo.boocode("show", "--conversation", "--json").json
    assert list(answer) == ["ok", "conversation"]
    assert answer["conversation"]["masked"] == 1
    assert [each["role"] for each in answer["conversation"]["entries"]] == [
        *("user", "assistant", "tool", "assistant")
    ]
    path.unlink()
    assert repo.boocode("show", "--conversation").out.endswith(
        f"(the conversation is not here: its transcript '{path}' does not exist)\n"
    )


@pytest.mark.parametrize("words", [["--stat"], ["--head"], ["@:a"]])
def test_the_conversation_excludes(words: list[str], repo: Repo) -> None:
    repo.commit(a="a\n")
    take()
    done = repo.boocode("show", "--conversation", *words)
    assert done.code == 129
    assert "cannot be used together" in done.err


def test_a_renamed_file_is_one_file(repo: Repo) -> None:
    repo.commit(menu="".join(f"{number}\n" for number in range(50)), other="o\n")
    take(label="rename it")
    repo.git("mv", "menu", "carte")
    repo.write("new", "x\n")
    files = repo.boocode("show", "--json").json["files"]
    renamed = {"path": "carte", "action": "rename", "from": "menu"}
    assert files == [renamed, {"path": "new", "action": "create"}]
    assert repo.boocode("log", "--json").json["checkpoints"][0]["files"] == len(files)
    repo.git("config", "diff.renames", "false")
    actions = [file["action"] for file in repo.boocode("show", "--json").json["files"]]
    assert actions == ["create", "delete", "create"]
