"""Arguments of tools, unsaved texts, paths, and what a tool may change."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from git_boocode.cli.tool_definitions import definitions
from git_boocode.repo.errors import NextStep
from git_boocode.server.tools import ADDS, READS, REPLACES, TOOLS, DefinedTools
from tests.hostile.test_path_escapes import FORMATS, OUTSIDE, PATHS
from tests.repo_kit import Repo
from tests.server.conftest import Serve
from tests.server.kit import Client, edit, structured, tool_call

DEFINED = definitions()
SAMPLES: dict[str, dict[str, Any]] = {
    "apply_edit": edit("a", "two", "2"),
    "preview_edit": edit("a", "two", "2"),
    "propose": edit("a", "two", "2"),
    "read": {"path": "a"},
    "locate": {"path": "a", "needle": "two"},
    "blame": {"path": "a"},
    "preview": {"path": "a"},
    "restore": {"checkpoint": "@"},
    "pick": {"turns": ["@"]},
    "turn": {"action": "status"},
}
"""Arguments with which each tool can be called."""
WRONG: dict[str, list[Any]] = {
    "string": [7, True, ["a", 7], {}, 1.5],
    "boolean": [7, "true", [], {}, 0],
    "integer": ["7", True, [], {}, 1.5],
    "array": [7, True, {}, [7], [None], [["a"]]],
    "object": [7, True, [], "a", {"a": 7}],
}


def test_arguments_of_a_wrong_type(client: Client, work: Repo) -> None:
    before = work.files()
    for name, tool in TOOLS.items():
        schema = DEFINED[name]["inputSchema"]
        for argument in (*tool.arguments, "cwd"):
            described = schema["properties"][argument]
            for value in WRONG[described["type"]]:
                if argument == "meta" and value == {"a": 7}:
                    continue
                if value in (7, [7]) and described.get("items", {}).get("type") == "integer":
                    continue
                error = client.refuse(name, **{**SAMPLES.get(name, {}), argument: value})
                assert error["code"] == "usage", (name, argument, value)
                assert argument in error["message"], (name, argument, value)
    assert work.files() == before


def test_unknown_and_missing_arguments(client: Client) -> None:
    for name in (name for name, tool in TOOLS.items() if not tool.takes_edits):
        for argument in ("nonsense", "", "\ud800", "x" * 10_000, "__class__", "no-record"):
            error = client.refuse(name, **{**SAMPLES.get(name, {}), argument: 1})
            assert error["code"] == "usage", (name, argument)
            assert len(error["message"]) < 300, (name, argument)
        for argument in DEFINED[name]["inputSchema"].get("required", ()):
            rest = {key: value for key, value in SAMPLES[name].items() if key != argument}
            assert client.refuse(name, **rest)["code"] == "usage", (name, argument)
            assert client.refuse(name, **rest, **{argument: None})["code"] == "usage"


def test_arguments_that_are_no_object(client: Client) -> None:
    for arguments in ([], [1], "a", 7, True):
        answer = client.answer(client.request("tools/call", name="log", arguments=arguments))
        if arguments != []:
            assert answer["error"]["code"] == -32602
    names: list[object] = [
        None,
        7,
        "",
        "nothing",
        "apply-edit",
        [],
        {},
        "__init__",
        "\ud800",
        "x" * 10_000,
    ]
    for name in names:
        error = client.fail("tools/call", name=name, arguments={})
        assert error["code"] == -32602
        assert len(error["message"]) < 300
    assert structured(client.answer(client.request("tools/call", name="log")))["ok"]
    client.request("tools/call", name="log", arguments=None)
    assert structured(client.read())["ok"]


def test_null_is_no_argument(client: Client) -> None:
    answer = client.succeed("checkpoint", label=None, paths=None, cwd=None, meta=None)
    assert client.succeed("show", name=None)["checkpoint"]["id"] == answer["id"]


def test_other_names_of_arguments(client: Client) -> None:
    client.succeed("checkpoint")
    calls: list[tuple[str, dict[str, Any]]] = [
        *(("show", {key: "@"}) for key in ("name", "id", "checkpoint", "checkpoint_id")),
        *(("restore", {key: "@"}) for key in ("checkpoint", "id", "name", "checkpoint_id")),
        *(("diff", {key: "@"}) for key in ("old", "id", "checkpoint")),
        *(("locate", {"path": "a", key: "two"}) for key in ("needle", "text", "old_string")),
        *(("diff", {key: value}) for key in ("paths", "path", "files") for value in ("a", ["a"])),
    ]
    for name, arguments in calls:
        assert client.succeed(name, **arguments)


def test_a_dry_run_by_another_spelling(client: Client, work: Repo) -> None:
    for name in ("dryRun", "dry-run", "DryRun", "dryrun"):
        assert client.succeed("apply_edit", **edit("a", "two", "2"), **{name: True})["id"] is None
        assert work.read("a") == b"one\ntwo\nthree\n"
        assert client.refuse("restore", checkpoint="@", **{name: True})["code"] == "not_found"


def test_an_option_of_another_tool(client: Client, work: Repo) -> None:
    options = (("preview_edit", "no_record"), ("propose", "no_record"), ("apply_edit", "retry_of"))
    for tool, name in options:
        error = client.refuse(tool, **edit("a", "two", "2"), **{name: True})
        assert (error["code"], name in error["message"]) == ("usage", True)
    assert work.read("a") == b"one\ntwo\nthree\n"


def test_an_empty_selection_is_not_everything(client: Client, work: Repo) -> None:
    client.succeed("checkpoint")
    work.write("a", "changed\n")
    client.succeed("propose", **edit("sub/b", "b", "B"))
    before = work.files()
    for tool, name in (
        *(
            ("restore", "paths"),
            ("revert", "turns"),
            ("accept", "paths"),
            ("accept", "hunk"),
            ("discard", "paths"),
        ),
        *(("checkpoint", "paths"), ("sync", "paths"), ("rewind", "paths")),
    ):
        given = {"checkpoint": "@"} if tool == "restore" else {}
        error = client.refuse(tool, **given, **{name: []})
        assert (error["code"], error["message"]) == ("usage", f"'{name}' is empty")
    assert work.files() == before
    assert client.succeed("status", paths=[])["files"]


def test_a_revert_refuses_an_empty_name(client: Client, work: Repo) -> None:
    client.succeed("checkpoint", agent="cursor")
    work.write("a", "changed\n")
    for given in ({"session": "", "agent": "cursor"}, {"agent": "", "dry_run": True}):
        assert client.refuse("revert", **given)["code"] == "usage"
    assert work.read("a") == b"changed\n"


def test_the_way_out_of_a_conflict_keeps_the_paths(client: Client, work: Repo) -> None:
    first = client.succeed("checkpoint")["id"]
    work.write("a", "first\n")
    client.succeed("checkpoint")
    work.write("a", "second\n")
    answer = client.answer(client.start("revert", turns=[first], paths=["a"]))["result"]
    hint = "and the same 'paths' reverts the later turn as well"
    assert hint in answer["content"][0]["text"]


def test_bytes_that_are_not_utf8_for_strict_clients(work: Repo, serve: Serve) -> None:
    work.write("latin", b"caf\xe9\nsecond \\udce9 \xf0\x9f\x98\x80\n")
    client = serve()
    client.exact = False
    client.begin()
    answer = client.succeed("apply_edit", **edit("latin", "second", "2nd"))
    # Half a surrogate pair could not be encoded.
    json.dumps(answer, ensure_ascii=False).encode("utf-8")
    assert "caf\ufffd" in answer["files"][0]["diff"]
    assert "\\udce9 \U0001f600" in answer["files"][0]["diff"]
    assert work.read("latin") == b"caf\xe9\n2nd \\udce9 \xf0\x9f\x98\x80\n"


def test_bytes_that_are_not_utf8_go_back_to_who_sends_them(work: Repo, serve: Serve) -> None:
    client = serve()
    client.exact = False
    client.begin()
    texts = {"a": "caf\udce9\ntwo\n"}
    answer = client.succeed("apply_edit", **edit("a", "two", "2"), buffers=texts)
    assert answer["files"][0]["text"] == "caf\udce9\n2\n"


def test_a_revert_gives_a_buffer_no_bytes_that_are_not_utf8(client: Client, work: Repo) -> None:
    work.write("a", b"caf\xe9\nthree\nfour\n")
    turn = client.succeed("checkpoint")["id"]
    work.write("a", "three\nfour\n")
    client.succeed("checkpoint")
    refused = client.refuse("revert", turns=[turn], buffers={"a": "three\nfour\nmine\n"})
    assert (refused["code"], "it is not UTF-8" in refused["message"]) == ("conflict", True)
    client.succeed("revert", turns=[turn])
    assert work.read("a") == b"caf\xe9\nthree\nfour\n"


def test_an_argument_with_both_names(client: Client) -> None:
    assert client.refuse("show", name="@", id="@")["code"] == "usage"


def test_edits_that_are_a_text(client: Client, work: Repo) -> None:
    patch = "--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"
    client.succeed("apply_edit", input=patch)
    client.succeed("apply_edit", patch=patch.replace("-two\n+2", "-2\n+zwei"))
    assert work.read("a") == b"one\nzwei\nthree\n"


def test_characters_of_all_kinds(client: Client, work: Repo) -> None:
    text = "ä€\U0001f600\u2028\u202e\t\r\x1b[31m"
    client.succeed("apply_edit", path="t", content=f"{text}\n")
    assert work.read("t") == f"{text}\n".encode()
    answer = client.succeed("apply_edit", **edit("t", "€", "¥"))
    assert "\U0001f600" in answer["files"][0]["diff"]
    for broken in ("\ud800", "\udcff\ud800"):
        answer = client.call("apply_edit", path="s", content=f"{broken}\n")
        assert answer["ok"] or answer["error"]["code"] == "invalid_input"
    assert client.succeed("checkpoint", label="\ud83d\ude00 \udcff", meta={"\udcff": "\udcff"})
    assert client.succeed("log")["checkpoints"][0]["label"].startswith("\U0001f600")


def test_texts_that_git_cannot_be_given(client: Client, work: Repo) -> None:
    client.succeed("checkpoint")
    before = work.git("for-each-ref")
    for name in TOOLS:
        schema = DEFINED[name]["inputSchema"]["properties"]
        for argument in TOOLS[name].arguments:
            kind = schema[argument]["type"]
            if kind == "string" or schema[argument].get("items") == {"type": "string"}:
                for text in ("a\0b", "\ud800"):
                    value = text if kind == "string" else [text]
                    error = client.refuse(name, **{**SAMPLES.get(name, {}), argument: value})
                    assert error["code"] == "usage", (name, argument)
    for text in ("a\0b", "\ud800", "\udcff\udc00\ud800"):
        assert client.refuse("apply_edit", **edit(text, "a", "b"))["code"] != "bug"
    assert work.git("for-each-ref") == before


def test_a_path_that_is_not_utf8(client: Client, work: Repo) -> None:
    path = os.fsencode(work.top) + b"/\xff"
    with open(path, "wb") as file:
        file.write(b"old\n")
    client.succeed("apply_edit", **edit("\udcff", "old", "new"))
    with open(path, "rb") as file:
        assert file.read() == b"new\n"
    client.succeed("checkpoint")
    assert client.succeed("show", name="@:\udcff")


def test_buffers_count_instead_of_files(client: Client, work: Repo) -> None:
    before = work.files()
    unsaved = {"a": "one\nunsaved\nthree\n"}
    assert client.refuse("locate", path="a", needle="unsaved")
    assert (
        client.succeed("locate", path="a", needle="unsaved", buffers=unsaved)["start"]["line"] == 2
    )
    answer = client.succeed("apply_edit", **edit("a", "unsaved", "2"), buffers=unsaved)
    assert answer["files"][0]["text"] == "one\n2\nthree\n"
    assert answer["files"][0]["text_edits"]
    assert client.refuse("apply_edit", **edit("a", "two", "2"), buffers=unsaved)
    assert client.succeed("preview_edit", **edit("new", "x", "y"), buffers={"new": "x\n"})
    client.succeed("propose", **edit("a", "unsaved", "2"), buffers=unsaved)
    assert client.succeed("status", buffers=unsaved)["files"][0]["status"] == "M"
    assert client.succeed("preview", path="a", buffers=unsaved)["hunks"]
    assert client.succeed("accept", buffers=unsaved)["files"][0]["text"] == "one\n2\nthree\n"
    assert work.files() == before
    # They are gone with the request.
    assert client.refuse("locate", path="a", needle="unsaved")


def test_buffers_with_hostile_paths(client: Client) -> None:
    for path in ("../outside/f", "/etc/passwd", "a\0b", "", ".git/config", "x/../../y"):
        answer = client.call("locate", path=path, needle="x", buffers={path: "x\n"})
        assert not answer["ok"] or path == ""


def test_paths_count_from_the_directory_of_the_call(client: Client, work: Repo) -> None:
    client.succeed("apply_edit", **edit("b", "b", "bee"), cwd="sub")
    assert work.read("sub/b") == b"bee\n"
    assert client.succeed("locate", path="b", needle="bee", cwd=str(work.top / "sub"))
    assert client.succeed("locate", path="b", needle="x", cwd="sub", buffers={"b": "x\n"})
    client.succeed("checkpoint")
    work.write("sub/b", "c\n")
    work.write("a", "c\n")
    assert [row["path"] for row in client.succeed("diff", cwd="sub", paths=["."])["files"]] == [
        "sub/b"
    ]


@pytest.fixture
def place(tmp_path: Path, rooted: Serve) -> tuple[Repo, Client]:
    """A worktree with links that lead out of it, beside a directory that nobody may write to."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/f").write_text("old\n")
    (tmp_path / "top").mkdir()
    repo = Repo(tmp_path / "top")
    repo.git("init", "-q")
    repo.commit(**{"a": "old\n", "sub/f": "old\n"})
    links = {"out": tmp_path / "outside", "chain": "out", "file-out": tmp_path / "outside/f"}
    for link, target in {**links, "sub/up": "../..", "in-git": ".git"}.items():
        (repo.top / link).symlink_to(str(target))
    repo.commit("links")
    repo.write(".git/f", "old\n")
    return repo, rooted(repo.top)


def untouched(repo: Repo) -> dict[str, bytes]:
    """The files outside, and those of the git directory that are not ours."""
    found = {str(path): b"" for path in repo.top.parent.iterdir()}
    git_dir = repo.top / ".git"
    for top in (repo.top.parent / "outside", git_dir / "hooks", git_dir / "info", git_dir / "f"):
        for path in (top, *top.rglob("*")):
            found[str(path)] = path.read_bytes() if path.is_file() else b""
    found["config"] = (git_dir / "config").read_bytes()
    return found


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMATS)
def test_hostile_paths_of_edits(place: tuple[Repo, Client], form: str) -> None:
    repo, client = place
    before = untouched(repo)
    calls = []
    for number, pattern in enumerate(PATHS):
        made = FORMATS[form](pattern.replace(OUTSIDE, str(repo.top.parent / "outside")))
        arguments: dict[str, Any] = {"input": made} if isinstance(made, str) else dict(made)  # type: ignore[call-overload]
        tool = ("apply_edit", "preview_edit", "propose")[number % 3]
        calls.append(tool_call(number, tool, **arguments))
    client.send(*calls)
    for _ in calls:
        assert "result" in client.read()
    assert untouched(repo) == before
    # What is proposed is accepted with the same care.
    client.call("accept", overwrite=True)
    assert untouched(repo) == before


OTHERS = (
    *("checkpoint", "locate", "blame", "preview", "diff", "log", "rewind"),
    *("accept", "discard", "sync"),
)


@pytest.mark.parametrize(
    "name",
    ["restore", *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS)],
)
def test_hostile_paths_of_other_tools(place: tuple[Repo, Client], name: str) -> None:
    repo, client = place
    client.succeed("checkpoint")
    client.succeed("apply_edit", **edit("a", "old", "new"))
    before = untouched(repo)
    key = "path" if "path" in TOOLS[name].arguments else "paths"
    rest = {"locate": {"needle": "old"}, "restore": {"checkpoint": "@"}}.get(name, {})
    for pattern in PATHS:
        path = pattern.replace(OUTSIDE, str(repo.top.parent / "outside"))
        answer = client.call(name, **rest, **{key: path if key == "path" else [path]})
        text = json.dumps(answer)
        assert "this is a bug" not in text, (path, text)
        assert untouched(repo) == before, path


def state(repo: Repo) -> dict[str, bytes]:
    """Files, index and refs; not the times in the index, which git refreshes as it reads."""
    git_dir = repo.top / ".git"
    found = {path: content for path, (_, content) in repo.files().items()}
    found["refs"] = repo.git("for-each-ref").encode()
    found["index"] = repo.git("ls-files", "--stage", "-v").encode()
    for name in ("HEAD", "config", "info/exclude"):
        found[f".git/{name}"] = (git_dir / name).read_bytes()
    return found


READING = [name for name, tool in TOOLS.items() if tool.effect == READS]


def call_all(client: Client, names: list[str]) -> None:
    """Call each tool in many ways; whether it succeeds does not matter."""
    for name in names:
        sample = SAMPLES.get(name, {})
        client.call(name, **sample)
        for argument in TOOLS[name].arguments:
            kind = DEFINED[name]["inputSchema"]["properties"][argument]["type"]
            values: dict[str, Any] = {"boolean": True, "integer": 1, "string": "@", "object": {}}
            client.call(name, **{**sample, argument: values.get(kind, ["a"])})


def test_tools_that_only_read_change_nothing(client: Client, work: Repo) -> None:
    client.succeed("checkpoint")
    client.succeed("propose", **edit("a", "two", "2"))
    client.succeed("apply_edit", path="new", content="new\n")
    client.succeed("turn", action="begin")
    work.write("sub/b", "changed\n")
    client.succeed("log", edits=True)
    before = state(work)
    call_all(client, READING)
    assert state(work) == before


def test_tools_that_only_add_replace_nothing(client: Client, work: Repo) -> None:
    client.succeed("checkpoint")
    work.write("sub/b", "changed\n")
    before, refs = work.files(), set(work.git("for-each-ref").splitlines())
    index = work.git("ls-files", "--stage")
    call_all(client, [name for name, tool in TOOLS.items() if tool.effect == ADDS])
    assert work.files() == before
    assert work.git("ls-files", "--stage") == index
    assert refs <= set(work.git("for-each-ref").splitlines())


def test_annotations(client: Client) -> None:
    for tool in client.ask("tools/list")["tools"]:
        effect = TOOLS[tool["name"]].effect
        assert tool["annotations"] == {
            "readOnlyHint": effect == READS,
            "destructiveHint": effect == REPLACES and tool["name"] != "apply_edit",
            "idempotentHint": effect == READS,
            "openWorldHint": False,
        }
    replacing = {"apply_edit", "rewind", "restore", "revert", "pick", "undo", "redo"}
    replacing |= {"accept", "discard"}
    assert {name for name, tool in TOOLS.items() if tool.effect == REPLACES} == replacing


def test_read_only(work: Repo, serve: Serve) -> None:
    client = serve("--read-only")
    client.begin()
    assert [tool["name"] for tool in client.ask("tools/list")["tools"]] == READING
    before = state(work)
    for name in TOOLS.keys() - {*READING}:
        error = client.fail("tools/call", name=name, arguments=SAMPLES.get(name, {}))
        assert error["code"] == -32602
    call_all(client, READING)
    assert state(work) == before
    assert client.succeed("locate", path="a", needle="two")


def test_arguments_name_no_program(work: Repo, serve: Serve, tmp_path: Path) -> None:
    programs = work.top.parent / f"{work.top.name}-bin"
    programs.mkdir()
    log = programs / "log"
    real = os.environ["PATH"]
    for name in ("sh", "bash", "vi", "less", "evil"):
        script = f'#!/bin/sh\necho "$0 $@" >>"{log}"\nPATH="{real}" exec {name} "$@"\n'
        (programs / name).write_text(script.replace("#!/bin/sh", "#!/bin/bash"))
        (programs / name).chmod(0o755)
    evil = str(programs / "evil")
    work.write("hooks/boocode-restore", f"#!/bin/sh\ntouch '{log}'\n", 0o755)
    client = serve(env={"PATH": f"{programs}{os.pathsep}{real}"})
    client.begin()
    client.succeed("checkpoint")
    for key in ("callback", "--callback", "command", "editor", "pager"):
        for tool in ("restore", "undo", "checkpoint"):
            assert not client.call(tool, **{**SAMPLES.get(tool, {}), key: evil})["ok"]
    work.write("a", "changed\n")
    for value in (
        f"--callback={evil}",
        f"-c core.pager={evil}",
        f"--upload-pack={evil}",
        "--ext-diff",
    ):
        for tool in ("restore", "show", "diff", "log", "blame"):
            client.call(
                tool,
                **{
                    **SAMPLES.get(tool, {}),
                    "paths" if tool == "log" else "path" if tool == "blame" else "name": value,
                },
            )
        client.call("log", regex=value, since=value, agent=value, session=value)
        client.call("log", remote=value)
        client.call("blame", path="a", lines=value)
        client.call("blame", path="a", lines=f":{value}:a")
        client.call("apply_edit", **edit(value, "a", "b"))
    client.succeed("restore", checkpoint="@")
    assert client.end() == []
    assert not log.exists(), log.read_text()


def test_two_names_of_one_argument(client: Client, work: Repo) -> None:
    client.succeed("checkpoint")
    for given in ({"id": "@", "name": "@"}, {"checkpoint": "@", "id": "@"}):
        assert client.refuse("restore", **given)["code"] == "usage"
    assert client.refuse("discard", path="a", files=["b"])["code"] == "usage"
    assert client.refuse("rewind", edit="")["code"] == "not_found"


def test_hints_are_about_tools() -> None:
    flag = NextStep("{} does it anyway", "force")
    kinds = NextStep("{} does it anyway", "force", "ignored,later-changes")
    edits = NextStep("{} lists the edits", "log", "edits", typed="'git boocode log --edits'")
    end = NextStep("{} ends it", "turn", "end", typed="'git boocode turn end'")
    latest = NextStep("go back: {}", "restore", "@", typed="git boocode restore @")
    read = NextStep("see {}", "read", "path", typed="git boocode read path")
    undo = NextStep("{} brings it back", "undo", typed="'git boocode undo'")
    callback = NextStep("fix {}", "callback")
    file = NextStep("name one file: {}", "paths", "a,b", typed="git boocode discard a,b")
    assert kinds == "--force ignored,later-changes does it anyway"
    assert end == "'git boocode turn end' ends it"
    found = {
        flag: "'force' does it anyway",
        kinds: '\'force\': ["ignored", "later-changes"] does it anyway',
        edits: "the tool 'log' with {\"edits\": true} lists the edits",
        end: 'the tool \'turn\' with {"action": "end"} ends it',
        latest: 'go back: the tool \'restore\' with {"checkpoint": "@"}',
        # Here, the value is not an option.
        read: 'see the tool \'read\' with {"path": "path"}',
        undo: "the tool 'undo' brings it back",
        file: "name one file: git boocode discard a,b",
        # What no tool does is for the user.
        callback: "fix --callback",
        "run 'git boocode doctor --fix'": "run 'git boocode doctor --fix'",
    }
    defined = DefinedTools(lambda name, _: DEFINED[name])
    assert {hint: defined.worded(hint, TOOLS["undo"]) for hint in found} == found
    assert defined.worded(file, TOOLS["discard"]) == "name one file: 'paths': [\"a,b\"]"


def test_a_model_reads_hints_about_tools(client: Client) -> None:
    client.succeed("turn", action="begin")
    result = client.ask("tools/call", name="turn", arguments={"action": "begin"})
    assert "--force" in result["structuredContent"]["error"]["hint"]
    assert "hint: 'force'" in result["content"][0]["text"]


def test_next_steps_of_refusals(client: Client, work: Repo) -> None:
    client.succeed("propose", **edit("a", "two", "2"))
    work.write("a", "one\nmine\nthree\n")
    merge, overwrite = client.refuse("accept")["next"]
    assert (merge["step"], merge["arguments"]) == ("merge", {"merge": True})
    assert merge["text"] == "merges the proposal with your changes"
    assert overwrite["text"] == "replaces your changes, which undo brings back"
    # Of a buffer, the server keeps nothing that an undo of its own could bring back.
    typed = client.refuse("accept", buffers={"a": "one\nmine\nthree\n"})["next"]
    assert typed[1]["text"] == "replaces your changes, which undo in the editor brings back"
    assert [each["step"] for each in client.refuse("accept", merge=True)["next"]] == [
        *("markers", "overwrite"),
    ]
    client.succeed("turn", action="begin")
    end, force = client.refuse("accept", overwrite=True)["next"]
    assert (end["tool"], end["arguments"]) == ("turn", {"action": "end"})
    assert ("tool" not in force, force["arguments"]) == (True, {"force": True})
    client.succeed("accept", overwrite=True, force=True)
    client.succeed("turn", action="end")
    assert client.refuse("show", name="nowhere")["next"][0]["tool"] == "log"
    assert "next" not in client.refuse("diff", nonsense=1)


def test_only_the_expected_proposal_is_accepted(client: Client, work: Repo) -> None:
    client.succeed("propose", path="a", old_string="two", new_string="2")
    seen = client.succeed("preview", path="a")["proposal"]
    assert client.succeed("status")["proposal"] == seen
    client.succeed("propose", path="a", old_string="one", new_string="1")
    for name in ("accept", "discard"):
        assert client.refuse(name, expect=seen)["code"] == "stale"
        assert client.refuse(name, paths=["a"], hunk=[1], expect=seen)["code"] == "stale"
        assert client.refuse(name, expect="")["code"] == "usage"
    assert work.read("a") == b"one\ntwo\nthree\n"
    now = client.succeed("status")["proposal"]
    assert client.succeed("accept", dry_run=True, expect=now)["proposal"] == now
    done = client.succeed("accept", expect=now)
    assert done["proposal"] == done["id"] == client.succeed("status")["proposal"]


def test_null_expects_that_nothing_was_proposed(client: Client, work: Repo) -> None:
    seen = client.succeed("preview", path="a")["proposal"]
    assert seen is None
    assert client.refuse("accept", expect=seen)["code"] == "not_found"
    client.succeed("propose", path="a", old_string="two", new_string="2")
    for name in ("accept", "discard"):
        assert client.refuse(name, paths=["a"], expect=seen)["code"] == "stale"
        assert client.refuse(name, paths=["a"], hunk=None)["code"] == "invalid_input"
    assert work.read("a") == b"one\ntwo\nthree\n"
    client.succeed("accept", paths=["a"])


def test_steps_name_the_files_that_conflict(client: Client, work: Repo) -> None:
    work.write("b", "one\ntwo\nthree\n")
    both = [{"path": path, "old_string": "two", "new_string": "2"} for path in ("a", "b")]
    client.succeed("propose", edits=both)
    work.write("a", "one\ntwo\nthree\nmine\n")
    work.write("b", "one\nmine\nthree\n")
    refused = client.refuse("accept", merge=True)
    markers, overwrite = refused["next"]
    assert (markers["step"], overwrite["step"]) == ("markers", "overwrite")
    assert overwrite["arguments"] == {"overwrite": True, "merge": None, "paths": ["b"]}
    assert overwrite["text"].endswith("in 'b'")
    client.succeed("accept", overwrite=True, paths=["b"])
    assert work.read("a") == b"one\ntwo\nthree\nmine\n"


def test_hunks_of_several_files(client: Client, work: Repo) -> None:
    work.write("b", "one\ntwo\nthree\n")
    both = [{"path": path, "old_string": "two", "new_string": "2"} for path in ("a", "b")]
    client.succeed("propose", edits=both)
    steps = client.refuse("accept", hunk=[1])["next"]
    assert [step["arguments"] for step in steps] == [{"paths": ["a"]}, {"paths": ["b"]}]
    assert [step["text"] for step in steps] == ["accepts that of 'a'", "accepts that of 'b'"]
    assert client.refuse("accept", hunk=[2]).get("next") is None


def test_one_window_undoes_only_its_own(client: Client, work: Repo) -> None:
    work.write("b", "one\ntwo\nthree\n")
    both = [{"path": path, "old_string": "two", "new_string": "2"} for path in ("a", "b")]
    client.succeed("propose", edits=both)
    first = client.succeed("accept", paths=["a"])["undo"]
    second = client.succeed("accept", paths=["b"])["undo"]
    refused = client.refuse("undo", expect=first)
    assert refused["code"] == "stale"
    assert work.read("b") == b"one\n2\nthree\n"
    undone = client.succeed("undo", expect=second)
    assert [change["path"] for change in undone["changed"]] == ["b"]
    assert client.refuse("redo", expect=first)["code"] == "stale"
    for name in ("undo", "redo"):
        assert client.refuse(name, expect=None)["code"] == "invalid_input"
    assert client.succeed("redo", expect=undone["undo"])["changed"]


def test_the_safe_order_of_an_accept_while_the_user_types(client: Client, work: Repo) -> None:
    work.write("a", "1\n2\n3\n4\n5\n6\n")
    client.succeed("propose", path="a", old_string="2", new_string="two")
    call: dict[str, Any] = {"paths": ["a"], "hunk": [1], "merge": True}
    sent = {"a": "1\n2\n3\n4\n5\n6\nmine\n"}
    [file] = client.succeed("accept", **call, dry_run=True, buffers=sent)["files"]
    typed = {"a": file["text"] + "typed meanwhile\n"}
    [done] = client.succeed("accept", **call, buffers=typed)["files"]
    assert (done["text_edits"], done["text"]) == ([], typed["a"])
    assert client.succeed("preview", path="a", buffers=typed)["hunks"] == []


def test_a_misspelt_option_of_an_edit(client: Client, work: Repo) -> None:
    given = edit("a", "two", "2")
    texts = {"a": "one\ntwo\nunsaved\n"}
    for tool in ("apply_edit", "propose", "preview_edit"):
        for name in ("buffer", "bufers", "Buffer"):
            refused = client.refuse(tool, **given, **{name: texts})
            assert (refused["code"], refused["hint"]) == ("usage", "the argument is 'buffers'")
    assert client.refuse("apply_edit", **given, dryrn=True)["hint"] == "the argument is 'dry_run'"
    assert work.read("a") == b"one\ntwo\nthree\n"
    others = {"explanation": "why", "instruction": "do", "file": "a", "record": 1, "cmd": "x"}
    client.succeed("apply_edit", **given, **others)


def test_next_steps_are_calls(client: Client, work: Repo) -> None:
    """Every step of these refusals is a call with arguments that the tool has."""
    client.succeed("checkpoint", label="none")
    work.write("b", "of that turn\n")
    newest = client.succeed("checkpoint", label="one")["id"]
    work.write("a", "changed\n")
    client.succeed("restore", checkpoint=newest)
    work.write("a", "changed again\n")
    client.succeed("propose", path="a", old_string="again", new_string="more")
    work.write("a", "changed by hand\n")
    calls: list[tuple[str, dict[str, Any]]] = [
        ("undo", {}),
        ("redo", {}),
        ("restore", {"checkpoint": "0123"}),
        ("restore", {"checkpoint": newest, "paths": ["a"], "hunk": [9]}),
        ("restore", {"checkpoint": newest, "paths": ["a"], "hunk": [1], "expect": "1"}),
        ("revert", {"turns": ["0123"]}),
        ("revert", {}),
        ("accept", {}),
        ("accept", {"merge": True}),
        ("accept", {"expect": "1"}),
        ("accept", {"paths": ["a"], "hunk": [9]}),
        ("accept", {"paths": ["b"]}),
        ("preview", {"path": "nowhere"}),
        ("show", {"name": "0123"}),
        ("rewind", {"edit": "0123"}),
        ("checkpoint", {"paths": ["nowhere"]}),
        ("turn", {"action": "end"}),
    ]
    seen = {pair for name, arguments in calls for pair in steps_of(client, name, arguments)}
    assert {code for code, _ in seen} >= {
        *("conflict", "invalid_input", "later_changes", "missing_file", "not_found", "stale"),
    }


def steps_of(client: Client, name: str, arguments: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The code of a refusal with each of its steps, which must be calls."""
    error = client.refuse(name, **arguments)
    for step in error.get("next", ()):
        tool = step.get("tool", name)
        assert {*step.get("arguments", ())} <= {*TOOLS[tool].arguments, "cwd"}, (name, step)
        given = {**({} if "tool" in step else arguments), **step.get("arguments", {})}
        given = {key: value for key, value in given.items() if value is not None}
        given |= {"dry_run": True} if "dry_run" in TOOLS[tool].arguments else {}
        answer = client.call(tool, **given)
        assert answer.get("error", {}).get("code") != "usage", (name, step, answer)
        assert "git boocode" not in step["text"]
        assert "--" not in step["text"]
        yield error["code"], step["step"]


def test_next_steps_beside_turns_and_worktrees(rooted: Serve, work: Repo, tmp_path: Path) -> None:
    work.git("worktree", "add", "-q", str(tmp_path / "linked"))
    client = rooted(work.top, tmp_path / "linked")
    there = client.succeed("checkpoint", cwd=str(tmp_path / "linked"))["id"]
    Repo(tmp_path / "linked").write("a", "there\n")
    first = client.succeed("checkpoint", label="first")["id"]
    work.write("a", "changed\n")
    client.succeed("checkpoint", label="second")
    for name, arguments in (
        ("restore", {"checkpoint": there}),
        ("revert", {"turns": [there]}),
    ):
        assert ("other_worktree", name) in {*steps_of(client, name, arguments)}
    client.succeed("revert", turns=[first])
    work.write("a", "changed by hand\n")
    assert {*steps_of(client, "revert", {"turns": [first]})} == {("already_applied", "pick")}
    client.succeed("turn", action="begin")
    steps = {*steps_of(client, "restore", {"checkpoint": first})}
    assert steps == {("locked", "turn"), ("locked", "force")}
    missed = client.refuse("apply_edit", path="a", old_string="no such text", new_string="x")
    assert missed["next"][0]["arguments"] == {"path": "a"}


def test_next_steps_that_leave_something_out(client: Client, work: Repo) -> None:
    newest = client.succeed("checkpoint")["id"]
    work.write("a", "changed\n")
    lock = work.write(".git/index.lock", "")
    assert {*steps_of(client, "restore", {"checkpoint": newest})} == {("locked", "retry")}
    lock.unlink()
    work.git("switch", "-q", "-c", "other")
    moving = {"checkpoint": newest, "head": True}
    assert {*steps_of(client, "restore", moving)} == {("other_branch", "head")}
    work.git("config", "boocode.callback", "nowhere")
    assert {*steps_of(client, "restore", {"checkpoint": newest})} == {
        ("missing_file", "files_only"),
    }
    # Without the conversation, nothing would be left to do.
    alone = {"checkpoint": newest, "conversation_only": True}
    assert "next" not in client.refuse("restore", **alone)


def test_next_steps_of_a_refused_undo(client: Client, work: Repo) -> None:
    client.succeed("checkpoint")
    work.write("a", "changed\n")
    client.succeed("restore", checkpoint="@")
    work.write("a", "changed again\n")
    refused = client.refuse("undo")
    assert refused["code"] == "later_changes"
    look, force = refused["next"]
    assert client.refuse("undo", dry_run=True) == refused
    assert look["arguments"] == {"dry_run": True, "force": ["later-changes"]}
    assert look["command"] == "git boocode undo -n --force later-changes"
    assert force["arguments"] == {"force": ["later-changes"]}
    assert client.succeed("undo", **look["arguments"])["changed"]
    client.succeed("undo", force=["later-changes"])


def test_definitions_are_made_one_at_a_time() -> None:
    making: list[str] = []

    def make(name: str, _: bool) -> dict[str, Any]:
        making.append(name)
        assert making == [name]
        time.sleep(0.01)
        making.remove(name)
        return DEFINED[name]

    defined = DefinedTools(make)
    names = ["checkpoint", "log", "undo"] * 3
    with ThreadPoolExecutor(len(names)) as threads:
        found = threads.map(defined.definition, names)
    assert [each["name"] for each in found] == names
