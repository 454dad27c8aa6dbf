from __future__ import annotations

import json
import shlex
import shutil
import subprocess

import pytest

from git_boocode.checkpoints.restore.request import REFUSALS
from git_boocode.checkpoints.store.catalog import Checkpoint
from tests.checkpoints.kit import Host, seen, take
from tests.repo_kit import Repo
from tests.terminal_kit import Terminal

pytestmark = pytest.mark.slow

KEYS = {
    "ok": bool, "checkpoint_id": str, "commit": str, "undo": str, "worktree_reset": bool,
    "index_reset": bool, "head_moved": bool, "dry_run": bool, "head_differs": bool,
    "messages_deleted": int, "backend_reset": bool, "archived": list, "returned": list,
    "changed": list, "kept": list, "edited": list, "staged": list, "conversation_left": bool,
    "message": str, "resume": type(None), "hooks_lost": list,
}  # fmt: skip


@pytest.fixture
def taken(repo: Repo) -> Checkpoint:
    repo.commit(a="a\n", b="b\n")
    made = take(label="before", chat="c")
    repo.write("a", "mess\n")
    repo.write("new", "mess\n")
    repo.git("add", "new")
    (repo.top / "b").unlink()
    return made


def test_the_json_answer(repo: Repo, taken: Checkpoint) -> None:
    later = take(chat="c")
    host = Host(
        repo, trim='echo \'{"messages_deleted": 3, "backend_reset": true, "message": "bye"}\''
    )
    done = repo.boocode("restore", taken.id, "--json", "--callback", host.path)
    assert (done.code, done.err) == (0, "")
    answer = done.json
    assert {key: type(value) for key, value in answer.items()} == KEYS
    undo = repo.git("for-each-ref", "--format=%(refname:lstrip=3)", "refs/boocode/safety/").strip()
    assert answer == {
        "ok": True,
        "checkpoint_id": taken.id,
        "commit": taken.commit.id,
        "undo": undo,
        "worktree_reset": True,
        "index_reset": True,
        "head_moved": False,
        "dry_run": False,
        "head_differs": False,
        "conversation_left": False,
        "resume": None,
        "hooks_lost": [],
        "messages_deleted": 3,
        "backend_reset": True,
        "archived": [later.id],
        "returned": [],
        "changed": [
            {"path": "a", "action": "modify"},
            {"path": "b", "action": "create"},
            {"path": "new", "action": "delete"},
        ],
        "staged": [{"path": "new", "action": "delete"}],
        "kept": [],
        "edited": [],
        "message": "bye",
    }


def test_what_people_read(repo: Repo, taken: Checkpoint) -> None:
    done = repo.boocode("restore", "@")
    assert done.code == 0
    assert done.out == (
        f" M a\n A b\n D new\nrestored 3 files and the staging area to {taken.id[:13]} (before)\n"
    )
    alone, back = done.err.splitlines()
    command = f"git boocode restore {taken.id} --conversation-only --callback <file>"
    assert alone == (
        f"hint: the conversation was left alone: '{command}' restores it with a callback"
    )
    assert back == "hint: 'git boocode undo' brings back what was here before"
    assert repo.status().count("\0") == 2
    assert repo.read("a") == b"a\n"
    again = repo.boocode("restore", "@")
    assert again == (0, f"nothing to do: the worktree is as at {taken.id[:13]} (before)\n", "")


def test_a_preview(repo: Repo, taken: Checkpoint) -> None:
    before = seen(repo)
    done = repo.boocode("restore", "-n", "@")
    assert done.code == 0
    assert done.out.splitlines()[-1].startswith("would restore 3 files and the staging area to ")
    answer = repo.boocode("restore", "-n", "@", "--json").json
    types = {key: type(value) for key, value in answer.items()}
    assert types == {**KEYS, "undo": type(None), "version": str}
    assert [change["path"] for change in answer["changed"]] == ["a", "b", "new"]
    assert seen(repo) == before


def test_files_left_alone_are_reported(repo: Repo) -> None:
    repo.write(".gitignore", "*.log\n")
    repo.write("x\n.log", "precious\n")
    take()
    (repo.top / ".gitignore").unlink()
    preview = repo.boocode("restore", "@", "-n", "--json").json
    assert preview["kept"] == [{"path": "x\n.log", "reason": "ignored in the checkpoint"}]
    done = repo.boocode("restore", "@")
    assert 'warning: left alone: "x\\n.log": ignored in the checkpoint\n' in done.err


def test_a_moved_head_is_reported(repo: Repo, taken: Checkpoint) -> None:
    repo.git("commit", "-q", "-m", "later")
    done = repo.boocode("restore", "--files-only", taken.id)
    command = f"git boocode restore --head {taken.id} --files-only"
    hint = f"hint: HEAD is not where it was at the checkpoint: '{command}' moves it back\n"
    assert hint in done.err
    assert repo.boocode("restore", "-n", taken.id, "--json").json["head_differs"] is True
    assert "HEAD" not in repo.boocode("restore", taken.id, "--", "a").err
    assert "HEAD" not in repo.boocode(*command.split()[2:]).err
    assert repo.git("rev-parse", "HEAD").strip() == taken.head
    repo.git("switch", "-q", "-c", "other")
    repo.git("commit", "-q", "--allow-empty", "-m", "later")
    left = "hint: HEAD is not where it was at the checkpoint; it was left where it is\n"
    assert left in repo.boocode("restore", taken.id).err


def test_commits_that_leave_the_branch_are_named(repo: Repo, taken: Checkpoint) -> None:
    ids: list[str] = []
    for number in range(4):
        repo.git("commit", "-q", "--allow-empty", "-m", f"later {number}")
        ids.insert(0, repo.git("rev-parse", "HEAD").strip())
    rows = [{"id": each, "subject": f"later {3 - at}"} for at, each in enumerate(ids)]
    command = ("restore", "--head", taken.id)
    assert repo.boocode(*command, "-n", "--json").json["removed_commits"] == rows
    short = [repo.git("rev-parse", "--short", each).strip() for each in ids]
    named = ", ".join(f"{each} later {3 - at}" for at, each in enumerate(short[:3]))
    keep = f"hint: 'git branch <name> {short[0]}' keeps them on another branch"
    preview = repo.boocode(*command, "-n").err.splitlines()
    assert preview[:2] == [f"warning: 4 commits would leave main: {named} and 1 more", keep]
    done = repo.boocode(*command).err.splitlines()
    assert done[:2] == [f"warning: 4 commits left main: {named} and 1 more", keep]
    assert "warning" not in repo.boocode("undo").err
    assert repo.git("rev-parse", "HEAD").strip() == ids[0]
    repo.git("checkout", "-q", "--detach")
    detached = take().id
    repo.git("commit", "-q", "--allow-empty", "-m", "later")
    assert "warning: 1 commit left HEAD: " in repo.boocode("restore", "--head", detached).err


def with_submodule(repo: Repo) -> Checkpoint:
    """A checkpoint, and changes since in a submodule and in a nested repository."""
    library = repo.top.parent / f"{repo.top.name}-library"
    library.mkdir()
    Repo(library).git("init", "-q")
    Repo(library).commit(code="code\n")
    repo.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "sub/lib")
    repo.commit(a="a\n")
    taken = take(label="before")
    assert "left alone" not in repo.boocode("restore", "-n", "@").err
    (repo.top / "sub/lib/code").unlink()
    repo.git("init", "-q", "nested")
    repo.write("nested/work", "work\n")
    return taken


def test_what_the_checkpoint_did_not_record_is_named(repo: Repo) -> None:
    repo.git("config", "boocode.maxFileSize", "5")
    for name in ("gone", "cut", "same"):
        repo.write(f"data/{name}", "large content\n")
    take()
    why = "was not recorded: larger than boocode.maxFileSize (5 bytes)"
    assert repo.boocode("restore", "-n", "@").err == ""
    (repo.top / "data/gone").unlink()
    repo.write("data/cut", "cut\n")
    rows = [
        {"path": "data/cut", "reason": why},
        {"path": "data/gone", "reason": why, "missing": True},
    ]
    assert repo.boocode("restore", "-n", "@", "--json").json["kept"] == rows
    named = [
        f"warning: left alone: data/cut: {why}",
        f"warning: not brought back: data/gone ({why})",
    ]
    done = repo.boocode("restore", "@")
    assert done.err.splitlines() == named
    assert done.out.startswith("nothing to do: everything else is as at ")
    assert repo.boocode("restore", "@", "--", "data/gone").err.splitlines() == named[1:]
    repo.write("data/same", "more large content\n")
    changed = f"warning: left alone: data/same: may have changed, and {why}"
    assert repo.boocode("restore", "@", "data/same").err.splitlines() == [changed]


def test_the_former_name_of_a_file_that_is_deleted_is_named(repo: Repo) -> None:
    repo.commit(**{"sub/old": "text\n" * 20, "new/other": "x\n"})
    taken = take().id
    repo.git("mv", "sub/old", "new/name")
    command = f"git boocode restore {taken} --files-only -- ../sub/old"
    reason = f"renamed to 'new/name', and not named; '{command}' brings it back"
    asked = ("restore", taken, "--files-only", "-n", "--json", "--", "name")
    kept = repo.boocode(*asked, cwd="new").json["kept"]
    assert kept == [{"path": "sub/old", "reason": reason, "missing": True}]
    done = repo.boocode("restore", taken, "--files-only", "--", "name", cwd="new")
    assert done.err.splitlines()[0] == f"warning: not brought back: sub/old ({reason})"
    assert repo.boocode(*command.split()[2:], cwd="new").code == 0
    assert repo.read("sub/old") == b"text\n" * 20
    for _ in range(2):
        repo.boocode("undo")
    assert "warning" not in repo.boocode("restore", taken, "sub", "new/name").err


def test_the_way_back_of_a_submodule_is_named(repo: Repo) -> None:
    with_submodule(repo)
    library = repo.top / "sub/lib"
    command = "git -c protocol.file.allow=always submodule update --init -- sub/lib"
    printed = command.replace("-c protocol.file.allow=always ", "")
    shutil.rmtree(library)
    warned = repo.boocode("restore", "@", "--", "sub").err
    reason = f"submodule: '{printed}' checks out its commit"
    assert warned == f"warning: not brought back: sub/lib ({reason})\n"
    subprocess.run(shlex.split(command), cwd=repo.top, check=True, capture_output=True)
    assert (library / "code").read_text() == "code\n"
    Repo(library).commit(code="changed\n")
    warned = repo.boocode("restore", "@", "--", "sub").err
    assert warned == f"warning: left alone: sub/lib: {reason}\n"
    subprocess.run(shlex.split(command), cwd=repo.top, check=True, capture_output=True)
    assert (library / "code").read_text() == "code\n"


def test_what_no_checkpoint_holds_is_named(repo: Repo) -> None:
    taken = with_submodule(repo)
    names = {"sub/lib": "submodule with uncommitted changes", "nested": "nested repository"}
    rows = [{"path": path, "reason": names[path]} for path in sorted(names)]

    def named(what: str) -> list[str]:
        return [f"warning: {what}: {row['path']}: {row['reason']}" for row in rows]

    done = repo.boocode("restore", "-n", "@")
    assert sorted(done.err.splitlines()) == named("left alone")
    assert done.out.startswith("nothing to do: everything else is as at")
    kept = repo.boocode("restore", "-n", "@", "--json").json["kept"]
    assert sorted(kept, key=lambda row: str(row["path"])) == rows
    some = repo.boocode("restore", "-n", "@", "--", "sub")
    assert some.err.splitlines() == named("left alone")[1:]
    assert "left alone" not in repo.boocode("restore", "-n", "@", "--", "a").err
    log = repo.boocode("log")
    assert (" 0 files " in log.out, log.err.splitlines()) == (True, named("not counted"))
    assert repo.boocode("log", "--json").json["not_counted"] == rows
    assert repo.boocode("log", "--", "a").err == ""
    shown = repo.boocode("status").out
    lines = (f"  {row['path']}: {row['reason']}\n" for row in rows)
    assert f"not recorded:\n{''.join(lines)}" in shown
    assert repo.boocode("status", "--json").json["not_recorded"] == rows
    # Git would run this program of the submodule's own configuration.
    monitor = repo.write(".git/monitor", f"#!/bin/sh\ntouch '{repo.top}/RUN'\n", 0o755)
    repo.git("-C", "sub/lib", "config", "core.fsmonitor", str(monitor))
    assert "sub/lib" in repo.boocode("restore", "-n", "@").err
    assert not (repo.top / "RUN").exists()
    recorded = repo.boocode("checkpoint", "-v").err
    assert [line for line in recorded.splitlines() if "warning" in line] == named("not recorded")
    answer = repo.boocode("checkpoint", "-v", "--json").json
    assert answer["submodules"] == rows[1:]
    repo.git("-C", "sub/lib", "checkout", "-q", "code")
    assert "sub/lib" not in repo.boocode("restore", taken.id).err


def test_an_agent_that_has_not_ended_its_turn_is_named(repo: Repo) -> None:
    repo.commit(a="a\n")

    def hook(event: str) -> None:
        payload = {"session_id": "s", "cwd": str(repo.top), "hook_event_name": event}
        payload |= {"prompt": "break it"}
        done = repo.boocode("hook", "claude-code", stdin=json.dumps(payload))
        assert (done.code, done.err) == (0, "")

    hook("UserPromptSubmit")
    turn = repo.boocode("log", "--json").json["checkpoints"][0]["id"]
    repo.write("a", "b\n")
    take(label="by hand")
    open_turn = "the turn 'break it' of claude-code has not ended yet"
    assert (
        f"warning: {open_turn}; the agent may still write files\n"
        f"hint: 'git boocode turn end {turn[:13]}' ends it, if the agent was killed\n"
    ) in repo.boocode("restore", "-n", turn).err
    assert repo.boocode("restore", "-n", turn, "--json").json["open_turn"] == turn
    assert open_turn in repo.boocode("restore", "--files-only", turn).err
    hook("Stop")
    assert open_turn not in repo.boocode("undo").err
    assert "open_turn" not in repo.boocode("restore", "-n", turn, "--json").json


def hooked(repo: Repo, session: str, event: str, prompt: str = "", agent: str = "codex") -> str:
    """Let a hook report an event; returns the id of the newest checkpoint."""
    payload = {"session_id": session, "cwd": str(repo.top), "hook_event_name": event}
    payload |= {"prompt": prompt} if prompt else {}
    done = repo.boocode("hook", agent, stdin=json.dumps(payload))
    assert (done.code, done.err) == (0, "")
    return str(repo.boocode("log", "--json", "-1").json["checkpoints"][0]["id"])


def two_sessions(repo: Repo) -> tuple[str, str, str]:
    """Turns of one session, another one and the first again, each of which writes its file."""
    repo.commit(a="a\n")
    found = []
    for session, prompt in (("s1", "one"), ("s2", "two"), ("s1", "three")):
        found.append(hooked(repo, session, "UserPromptSubmit", prompt))
        repo.write(prompt, f"{prompt}\n")
        hooked(repo, session, "Stop")
    one, two, three = found
    return one, two, three


def test_the_work_of_other_sessions_is_named_with_the_way_to_keep_it(repo: Repo) -> None:
    one, two, three = two_sessions(repo)
    revert = f"git boocode revert {three} {one}"
    also = "also remove the work of another session: 'two' of codex"
    expected = repo.boocode("restore", "-n", one)
    assert f"warning: this would {also}\n" in expected.err
    assert f"hint: '{revert}' takes back only the turns of its session\n" in expected.err
    answer = repo.boocode("restore", one, "--json").json
    named = [{"id": two, "label": "two", "agent": "codex", "session": "s2"}]
    assert answer["other_turns"] == named
    assert answer["next"][0]["arguments"] == {"turns": [three, one]}
    assert answer["hint"] == (
        f"'{revert}' takes back only the turns of its session, after 'git boocode undo'"
    )
    assert repo.boocode("undo").code == 0
    assert repo.boocode(*revert.split()[2:]).code == 0
    assert {path for path in ("one", "two", "three") if (repo.top / path).exists()} == {"two"}


def test_other_sessions_whose_work_stays_are_not_named(repo: Repo) -> None:
    one, _, three = two_sessions(repo)
    for words in (
        (three,),
        (one, "--", "one"),
        ("@~1", "--conversation-only", "--callback", "sqlite"),
    ):
        done = repo.boocode("restore", "-n", *words)
        assert "another session" not in done.err + done.out
    assert "other_turns" not in repo.boocode("restore", "-n", three, "--json").json


def test_undo_names_the_work_of_other_sessions_since(repo: Repo) -> None:
    one, _, _ = two_sessions(repo)
    repo.boocode("restore", one, "--files-only")
    later = hooked(repo, "s3", "UserPromptSubmit", "four")
    repo.write("two", "four\n")
    hooked(repo, "s3", "Stop")
    own = hooked(repo, "s1", "UserPromptSubmit", "five")
    repo.write("three", "five\n")
    hooked(repo, "s1", "Stop")
    expected = repo.boocode("undo", "-n", "--force", "newer-turns")
    assert "this would also remove the work of another session: 'four' of codex\n" in expected.err
    assert f"hint: 'git boocode revert {own}' takes back only" in expected.err
    answer = repo.boocode("undo", "--force", "newer-turns", "--json").json
    assert [each["id"] for each in answer["other_turns"]] == [later]
    assert (
        f"git boocode revert {own}' takes back only the turns of its session, after 'git "
        in (answer["hint"])
    )


def test_the_running_turn_of_another_session_is_named_although_a_later_one_ended(
    repo: Repo,
) -> None:
    repo.commit(a="a\n")
    running = hooked(repo, "s2", "UserPromptSubmit", "slow")
    one = hooked(repo, "s1", "UserPromptSubmit", "one")
    repo.write("one", "one\n")
    hooked(repo, "s1", "Stop")
    expected = repo.boocode("restore", "-n", one)
    assert "warning: the turn 'slow' of codex has not ended yet" in expected.err
    assert repo.boocode("restore", "-n", one, "--json").json["open_turn"] == running


def test_a_path_instead_of_a_checkpoint_gets_a_hint(repo: Repo, taken: Checkpoint) -> None:
    (repo.top / "sub").mkdir()
    repo.write("sub/it's", "x\n")
    done = repo.boocode("restore", "it's", cwd="sub")
    assert done.code == 1
    way = """'git boocode restore @ -- 'it'"'"'s'' restores it alone"""
    assert done.err.splitlines()[1:] == [
        f"hint: 'it's' is a path: {way}",
        "hint: 'git boocode log' lists the checkpoints",
    ]
    assert "is a path" not in repo.boocode("restore", "it's").err


def test_a_deleted_file_instead_of_a_checkpoint_gets_a_hint(repo: Repo, taken: Checkpoint) -> None:
    take(label="later")
    take(label="latest")
    repo.write("a", "mess again\n")
    done = repo.boocode("restore", "b", "new")
    command = "git boocode restore @~2 -- b new"
    assert done.err.splitlines()[1] == f"hint: 'b' is a path: '{command}' restores them alone"
    assert repo.boocode(*command.split()[2:]).code == 0
    assert (repo.read("a"), repo.read("b")) == (b"mess again\n", b"b\n")
    repo.git("add", "-A")
    repo.boocode("checkpoint")
    repo.write("kept", "")
    repo.boocode("checkpoint")
    assert "restore @~1 -- kept" in repo.boocode("restore", "kept").err


def test_from_a_subdirectory_the_whole_worktree_goes_back(repo: Repo, taken: Checkpoint) -> None:
    (repo.top / "sub").mkdir()
    host = Host(repo)
    done = repo.boocode("restore", "@", "--callback", "../.git/host", cwd="sub")
    assert done.code == 0
    assert repo.read("a") == b"a\n"
    assert host.events == ["prepare", "trim"]


def test_the_way_back_names_the_callback_that_was_given(repo: Repo, taken: Checkpoint) -> None:
    host = Host(repo)
    back = "brings back what was here before"
    done = repo.boocode("restore", "@", "--callback", host.path)
    assert done.err == f"hint: 'git boocode undo --callback {host.path}' {back}\n"
    done = repo.boocode("undo", "--callback", host.path)
    assert done.err == f"hint: 'git boocode redo --callback {host.path}' {back}\n"
    repo.git("config", "boocode.callback", host.path)
    assert repo.boocode("redo").err == f"hint: 'git boocode undo' {back}\n"


def test_the_conversation_is_reported(repo: Repo, taken: Checkpoint) -> None:
    host = Host(repo, trim="echo '{\"messages_deleted\": 1}'")
    done = repo.boocode("restore", "@", "--conversation-only", "--callback", host.path)
    assert done.out == f"restored the conversation (1 message cut) to {taken.id[:13]} (before)\n"
    assert repo.read("a") == b"mess\n"


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ('"go on\\n\\u001b[31mthere\\n"', "go on\n?[31mthere\n"),
        ('"  "', ""), ("null", ""), ("7", ""), ('["x"]', ""),
    ],
)  # fmt: skip
def test_the_message_of_the_callback_is_printed(
    repo: Repo, taken: Checkpoint, message: str, shown: str
) -> None:
    repo.write(".git/answer", f'{{"message": {message}}}')
    host = Host(repo, trim="cat .git/answer")
    done = repo.boocode("restore", "@", "--conversation-only", "--callback", host.path)
    assert done.out == f"restored the conversation to {taken.id[:13]} (before)\n{shown}"


def test_a_callback_that_fails(repo: Repo, taken: Checkpoint) -> None:
    before = seen(repo)
    for script, code, name in (
        ({"prepare": "exit 1"}, 1, "vetoed"),
        ({"trim": "exit 1"}, 128, "callback"),
        ({"trim": "echo x"}, 128, "callback"),
    ):
        host = Host(repo, **script)
        done = repo.boocode("restore", "@", "--callback", host.path)
        assert (done.code, done.out) == (code, "")
        assert done.err.startswith("error: " if code == 1 else "fatal: ")
        answer = repo.boocode("restore", "@", "--json", "--callback", host.path)
        assert answer.code == code
        assert (answer.json["ok"], answer.json["error"]["code"]) == (False, name)
        assert seen(repo) == before


def test_what_a_callback_says_cannot_steer_a_terminal(repo: Repo, taken: Checkpoint) -> None:
    host = Host(repo, trim="printf 'one\\ntwo \\033[31m\\007' >&2; exit 1")
    done = repo.boocode("restore", "@", "--callback", host.path)
    assert done.code == 128
    assert "one\ntwo ?[31m?\n" in done.err


def test_what_differs_in_staging_alone_is_listed(repo: Repo) -> None:
    repo.commit(a="a\n", b="b\n", c="c\n")
    repo.write("a", "staged\n")
    taken = take()
    repo.git("add", "a")
    repo.git("rm", "-q", "--cached", "b")
    repo.git("update-index", "--assume-unchanged", "c")
    lines = [" M a (staging)", " A b (staging)", " M c (staging)"]
    for arguments in (("-n",), ()):
        done = repo.boocode("restore", *arguments, taken.id)
        assert done.out.splitlines()[:-1] == lines
        assert "the staging area" in done.out
    answer = repo.boocode("undo", "--json").json
    assert [tuple(row.values()) for row in answer["staged"]] == [
        ("a", "modify"),
        ("b", "delete"),
        ("c", "modify"),
    ]
    assert answer["changed"] == []


def test_usage_errors(repo: Repo, taken: Checkpoint) -> None:
    before = seen(repo)
    for args, message in (
        (("@", "--nonsense"), "unknown option '--nonsense'"),
        (("@", "--head", "--", "a"), "'--head' and paths cannot be used together"),
        (
            ("@", "--files-only", "--callback", "x"),
            "options '--files-only' and '--callback' cannot be used together",
        ),
        (
            ("@", "--force", "all"),
            f"invalid value for '--force': 'all' is not one of {', '.join(REFUSALS['restore'])}",
        ),
    ):
        done = repo.boocode("restore", *args)
        assert (done.code, done.out) == (129, "")
        assert f"error: {message}\nusage: git boocode restore" in done.err
        answer = repo.boocode("restore", "--json", *args)
        assert (answer.code, answer.json["error"]["message"]) == (129, message)
    assert seen(repo) == before


def test_a_path_that_is_not_utf_8(repo: Repo, taken: Checkpoint) -> None:
    repo.write("caf\udce9", "x")
    answer = repo.boocode("restore", "-n", "@", "--json")
    lines = {"added": 0, "removed": 1}
    assert {"path": "caf\udce9", "action": "delete", "lines": lines} in answer.json["changed"]
    assert ' D "caf\\351"\n' in repo.boocode("restore", "@").out


def test_of_many_paths_the_first_are_listed(repo: Repo) -> None:
    for number in range(24):
        repo.write(f"{number:02}", "a\n")
    repo.write("staged", "a\n")
    repo.commit()
    taken = take()
    for number in range(24):
        repo.write(f"{number:02}", "mess\n")
    repo.git("rm", "-q", "--cached", "staged")
    paths = [f" M {number:02}" for number in range(24)] + [" A staged (staging)"]
    few = [*paths[:20], " … and 5 more (-v lists all)"]
    for command in (("restore", "-n", taken.id), ("restore", taken.id), ("undo",), ("redo",)):
        done = repo.boocode(*command)
        listed = [line.replace(" D staged", " A staged") for line in done.out.splitlines()]
        assert listed[:-1] == few
        assert " 24 files and the staging area to " in listed[-1]
    done = repo.boocode("undo", "-n", "-v")
    assert len(done.out.splitlines()) == len(paths) + 1
    assert len(repo.boocode("undo", "-n", "--json").json["changed"]) == 24


def test_hooks_of_agents_stay_or_a_warning_says_how_to_install_them(repo: Repo) -> None:
    repo.commit(a="1\n")
    before = take()
    agents = ("--agent", "claude-code", "--agent", "codex", "--agent", "cline")
    assert repo.boocode("hooks", "install", *agents).code == 0
    repo.git("add", ".codex")
    done = repo.boocode("restore", before.id)
    assert done.code == 0
    assert (
        "warning: left alone: .claude/settings.local.json: hooks of Claude Code left installed\n"
        in done.err
    )
    assert ".clinerules/hooks/TaskStart: hooks of Cline left installed\n" in done.err
    assert (
        "warning: .codex/hooks.json lost the hooks of Codex CLI\n"
        "hint: 'git boocode hooks install --agent codex --project' installs what is missing\n"
    ) in done.err
    assert done.out.startswith(" D .codex/hooks.json\nrestored 1 file and the staging area to ")
    assert repo.boocode("undo").code == 0
    answer = repo.boocode("restore", before.id, "--json").json
    install = "git boocode hooks install --agent codex --project"
    assert answer["hooks_lost"] == [{"path": ".codex/hooks.json", "install": install}]


# Parts of files.

NUMBERS = "".join(f"{number}\n" for number in range(1, 21))


@pytest.fixture
def numbered(repo: Repo) -> Repo:
    """A checkpoint, and two files that differ since, one of them in two places."""
    repo.commit(**{"sub/a": NUMBERS, "b": "b\n"})
    take(label="before")
    repo.write("sub/a", NUMBERS.replace("3\n", "three\n", 1).replace("18\n", "eighteen\n"))
    repo.write("b", "B\n")
    return repo


def test_a_hunk_by_number(numbered: Repo) -> None:
    done = numbered.boocode("restore", "@", "--hunk", "2", "a", cwd="sub")
    assert done.out.startswith(" M sub/a\nrestored parts of 1 file from ")
    assert "'git boocode undo' brings back what was here before" in done.err
    assert numbered.read("sub/a").decode() == NUMBERS.replace("3\n", "three\n", 1)
    assert numbered.read("b") == b"B\n"
    assert numbered.boocode("undo").code == 0
    assert b"eighteen" in numbered.read("sub/a")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--hunk", "9", "sub"), 1, "'sub/a' has only 2 hunks, not a hunk 9"),
        (("--hunk", "9", "sub"), 1, "hint: the hunks are: 1 at line 3, 2 at line 18"),
        (("--hunk", "1"), 129, "--hunk takes hunks of one file"),
        (("--hunk", "1", "none"), 1, "'none'"),
        (("--hunk", "1", "--patch"), 129, "options '--hunk' and '--patch' cannot be used"),
        (("--hunk", "1", "--head"), 129, "options '--hunk' and '--head' cannot be used together"),
        (("--hunk", "1", "--conversation-only"), 129, "cannot be used together"),
        (("--patch",), 129, "--patch asks questions, which needs a terminal"),
        (("--expect", "1"), 1, "files have changed since you looked at what would change"),
        (("--expect", "1", "--patch"), 129, "options '--patch' and '--expect' cannot be used"),
        (("--hunk", "1", "--expect", "1", "b"), 1, "'b' has changed since you looked at it"),
    ],
)
def test_hunks_that_are_refused(
    numbered: Repo, arguments: tuple[str, ...], code: int, message: str
) -> None:
    before = numbered.files()
    done = numbered.boocode("restore", "@", *arguments)
    assert (done.code, message in done.err) == (code, True)
    assert numbered.files() == before


def test_a_dry_run_of_one_file_lists_its_hunks(numbered: Repo) -> None:
    hint = "hint: --hunk <n> restores a part: 1 at line 3, 2 at line 18"
    assert hint in numbered.boocode("restore", "-n", "@", "sub").err
    assert "--hunk" not in numbered.boocode("restore", "-n", "@", "b").err
    assert "--hunk" not in numbered.boocode("restore", "-n", "@", ".").err


def test_the_hunks_in_json(numbered: Repo) -> None:
    [change] = numbered.boocode("restore", "-n", "--json", "@", "sub").json["changed"]
    assert [hunk["start_line"] for hunk in change["hunks"]] == [3, 18]
    given = ("--hunk", "1", "--expect", change["version"], "--json", "@", "sub/a")
    answer = numbered.boocode("restore", *given).json
    assert {key: type(value) for key, value in answer.items()} == {**KEYS, "resume": type(None)}
    assert answer["changed"] == [{"path": "sub/a", "action": "modify"}]
    assert numbered.read("sub/a").decode() == NUMBERS.replace("18\n", "eighteen\n")


def test_only_what_a_dry_run_showed_is_restored(numbered: Repo) -> None:
    seen = numbered.boocode("restore", "-n", "--json", "@", "sub").json["version"]
    numbered.write("new", "of another directory\n")
    given = ("restore", "--json", "--expect", seen, "@")
    before = numbered.files()
    refused = numbered.boocode(*given).json["error"]
    assert (refused["code"], refused["next"][0]["step"]) == ("conflict", "dry_run")
    assert refused["next"][0]["arguments"]["expect"] is None
    assert numbered.files() == before
    done = numbered.boocode(*given, "sub").json
    assert done["changed"] == [{"path": "sub/a", "action": "modify"}]
    assert "version" not in done


def test_hunks_are_chosen_on_a_terminal(numbered: Repo) -> None:
    (numbered.top / "b").unlink()
    terminal = Terminal("git-boocode", "restore", "-p", "@")
    assert "+b" in terminal.wait_for("(1/1) Restore this change [y,n,q,a,d,?]?")
    terminal.type("n\n")
    assert "+3" in terminal.wait_for("(1/2) Restore this hunk [y,n,q,a,d,?]?")
    terminal.type("?\n")
    terminal.wait_for("y - restore this hunk")
    terminal.wait_for("(1/2) Restore this hunk")
    terminal.type("n\n")
    assert "-eighteen" in terminal.wait_for("(2/2) Restore this hunk")
    terminal.type("y\n")
    code, shown = terminal.end()
    assert (code, "restored parts of 1 file from" in shown) == (0, True)
    assert numbered.read("sub/a").decode() == NUMBERS.replace("3\n", "three\n", 1)
    assert not (numbered.top / "b").exists()


def test_hunks_are_those_that_were_shown(numbered: Repo) -> None:
    terminal = Terminal("git-boocode", "restore", "-p", "@", "sub")
    terminal.wait_for("(1/2) Restore this hunk")
    numbered.write("sub/a", f"first\n{NUMBERS}")
    terminal.type("a\n")
    code, shown = terminal.end()
    assert (code, "'sub/a' has changed since you looked at it" in shown) == (1, True)
    assert numbered.read("sub/a").decode() == f"first\n{NUMBERS}"


def test_hunks_of_a_turn_that_is_chosen(numbered: Repo) -> None:
    terminal = Terminal("git-boocode", "restore", "-p", "--", "b")
    terminal.wait_for("restore the state before which turn?")
    terminal.type("0\n")
    terminal.wait_for("(1/1) Restore this hunk")
    terminal.type("q\n")
    code, shown = terminal.end()
    assert (code, shown.splitlines()[-1]) == (1, "nothing was changed")
    done = numbered.boocode("restore", "-p", "--", "b")
    assert (done.code, "git boocode restore --hunk 1 <checkpoint> -- b" in done.err) == (129, True)
    assert numbered.boocode("restore", "-p", "--json", "@").code == 129


def test_files_that_became_directories_are_chosen(repo: Repo) -> None:
    repo.commit(**{"f": "f\n", "d/a": "a\n"})
    take(label="before")
    before = repo.files()
    (repo.top / "f").unlink()
    repo.write("f/x", "x\n")
    (repo.top / "d/a").unlink()
    (repo.top / "d").rmdir()
    repo.write("d", "d\n")
    after = repo.files()
    terminal = Terminal("git-boocode", "restore", "-p", "@")
    for _ in range(4):
        terminal.wait_for("Restore this change")
        terminal.type("y\n")
    assert terminal.end()[0] == 0
    assert repo.files() == before
    assert repo.boocode("undo").code == 0
    assert repo.files() == after
