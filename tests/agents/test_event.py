"""A payload may be anything at all; what can be understood of it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from git_boocode.agents.event import named_files, parse_event, pathspecs
from git_boocode.agents.payload import Payload, parse_payload, reads_only
from git_boocode.agents.registry import AGENTS
from git_boocode.checkpoints.prompt import label_of
from git_boocode.repo.errors import FatalError
from tests.agents.kit import fire, prompted, recorded, taken, turn
from tests.agents.kit import what as what_went_wrong
from tests.repo_kit import Repo, examples

CLAUDE = AGENTS["claude-code"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
KEYS = sorted(
    {name.split(".")[0] for agent in AGENTS.values() for names in agent.fields for name in names}
)
PAYLOADS = st.dictionaries(st.sampled_from(KEYS) | st.text(), JSON)


GARBAGE = [
    *(b"", b" \n", b"garbage", b'{"prompt": "unfinished', b"[]", b"null", b"17", b'"text"'),
    *(b"\xff\xfe\x00", b"\0" * 100, b"[" * 100_000, b'{"a":' * 100_000, b"{} {}"),
]


def test_garbage_is_logged_and_the_turn_still_counts(repo: Repo) -> None:
    for data in GARBAGE:
        with pytest.raises(FatalError) as caught:
            parse_payload(data)
        assert caught.value.code == "bad_payload"
    assert fire(repo, "cline", "UserPromptSubmit", payload=data).out == '{"cancel":false}\n'
    assert what_went_wrong(repo) == ["bad_payload"]
    (found,) = taken(repo)
    assert (found["session"], found["label"], found["agent"]) == (None, None, "cline")


@pytest.mark.parametrize(
    ("data", "label"),
    [
        (b'\xef\xbb\xbf{"prompt": "a BOM"}', "a BOM"),
        ('{"prompt": "UTF-16"}'.encode("utf-16"), "UTF-16"),
        (b'{"prompt": "raw\x01\x1b[31m\ncontrol\tcharacters"}', "raw [31m control characters"),
        (b'{"prompt": "no \xff UTF-8"}', "no ? UTF-8"),
        (rb'{"prompt": "half \ud800 a character"}', "half ? a character"),
        (b'{"prompt": "numbers", "session_id": 17, "x": 1e999}', "numbers"),
        (b'{"prompt": "digits", "x": ' + b"1" * 10_000 + b"}", "digits"),
        (b'{"prompt": ["no text"], "session_id": {}, "cwd": null, "transcript_path": 0}', None),
        (b'{"prompt": null, "session_id": null, "cwd": "", "transcript_path": null}', None),
        (b"{}", None),
    ],
)
def test_what_can_be_read_is(data: bytes, label: str | None, repo: Repo) -> None:
    fire(repo, "claude-code", "UserPromptSubmit", payload=data)
    (found,) = taken(repo)
    assert found["label"] == label
    assert found["session"] in (None, "17")


@pytest.mark.parametrize("cwd", ["a\0b", "\ud800", f"/{'x' * 5000}", "../relative/nowhere"])
def test_a_directory_that_cannot_be(cwd: str, repo: Repo) -> None:
    turn(repo, cwd=cwd)
    assert taken(repo) == []
    assert "bug" not in what_went_wrong(repo)


@given(data=st.binary())
def test_bytes_are_a_payload_or_none(data: bytes) -> None:
    try:
        parsed = parse_payload(data)
    except FatalError as error:
        code = error.code
    else:
        code = "" if isinstance(parsed, Payload) else "?"
    assert code in ("", "bad_payload")


@settings(max_examples=examples(40))
@given(values=PAYLOADS, number=st.integers(0, len(AGENTS) - 1))
def test_any_object_is_understood(values: dict[str, Any], number: int) -> None:
    agent = [*AGENTS.values()][number]
    payload = parse_payload(json.dumps(values).encode())
    for event in filter(None, (agent.turn, agent.tool)):
        told = parse_event(agent, event, payload)
        assert told.name == event
        assert told.directories
        assert all(isinstance(text, str) for text in (told.session, told.turn, told.prompt))
        names = named_files(told.payload, told.agent.fields)
        assert all(spec.startswith(":(top,literal)") for spec in pathspecs("/tmp", "/", names))


@given(prompt=st.text())
def test_a_label_is_one_short_harmless_line(prompt: str) -> None:
    label = label_of(prompt)
    assert len(label) <= 62
    assert label == " ".join(label.split())
    assert label.isprintable() or not any(character < " " for character in label)


@pytest.mark.parametrize(
    ("prompt", "label"),
    [
        ("", ""),
        ("a" * 60, "a" * 60),
        ("a" * 61, "a" * 60 + " …"),
        ("a" * 58 + " bc", "a" * 58 + " …"),
        ("a" * 57 + " bc", "a" * 57 + " bc"),
        ("<system-reminder>\nBe kind.\n</system-reminder>\n\n<rules>x</rules> do it", "do it"),
        (
            "<system-reminder>Be kind.</system-reminder>",
            "<system-reminder>Be kind.</system-reminder>",
        ),
        ("<b>bold</b> text", "<b>bold</b> text"),
        ("👩‍💻 does\u202e it\r\n", "👩‍💻 does it"),
    ],
)
def test_labels(prompt: str, label: str) -> None:
    assert label_of(prompt) == label


PATCH = "*** Begin Patch\n*** Add File: new.py\n+a\n*** Delete File: old.py\n*** Update File: a b\n"
PATCH += "*** Move to: c\n*** End Patch"


@pytest.mark.parametrize(
    ("told", "files"),
    [
        ({"file_path": "a"}, ["a"]),
        ({"filePath": "a"}, ["a"]),
        ({"absolute_path": "/a", "path": "b"}, ["/a", "b"]),
        ({"target_file": "a"}, ["a"]),
        ({"notebook_path": "a"}, ["a"]),
        ({"files": ["a", 7, {"path": "b"}]}, ["a", "b"]),
        ({"edits": [{"filePath": "a"}, {"filePath": "a"}, None]}, ["a"]),
        ('{"path": "a"}', ["a"]),
        ('"text"', []),
        (PATCH, ["new.py", "old.py", "a b", "c"]),
        ({"input": PATCH}, ["new.py", "old.py", "a b", "c"]),
        ({"command": ["apply_patch", PATCH]}, ["new.py", "old.py", "a b", "c"]),
        ({"content": PATCH, "path": "doc.md"}, ["doc.md"]),
        ({"command": "rm -rf x"}, []),
        ({"path": None, "files": {}, "edits": "x"}, []),
        (17, []),
    ],
)
def test_the_files_that_a_tool_names(told: Any, files: list[str]) -> None:
    assert named_files(Payload({"tool_input": told}), CLAUDE.fields) == files


def test_only_files_in_the_worktree_count(tmp_path: Path) -> None:
    top = tmp_path / "top"
    (top / "sub/inner").mkdir(parents=True)
    (top / "out").symlink_to("/etc")
    (tmp_path / "name").symlink_to(top)
    names = ["a", "./b", "../c", "inner", ".", "", "../../x", "/etc/passwd", "../.git/config", "a"]
    names += ["../out/passwd", "x\0y", "\ud800", f"{tmp_path}/name/d", "*.py", "y" * 5000]
    found = pathspecs(str(top), str(top / "sub"), names)
    paths = [spec.removeprefix(":(top,literal)") for spec in found]
    assert paths == ["sub/a", "sub/b", "c", "d", "sub/*.py"]


@pytest.mark.parametrize(
    ("tool", "reads"),
    [("Read", True), ("read_file", True), ("list-dir", True), ("Edit", False), ("", False)],
)
def test_tools_that_only_read(tool: str, reads: bool, repo: Repo) -> None:
    assert reads_only(tool) == reads


def test_what_needs_no_checkpoint_before_a_tool(repo: Repo) -> None:
    repo.git("config", "boocode.perTool", "true")
    turn(repo)
    for tool, path in (("Read", "a"), ("Edit", "/etc/passwd"), ("Bash", None)):
        payload = prompted(repo, tool_name=tool, tool_input={"file_path": path})
        fire(repo, "claude-code", "PreToolUse", payload=payload)
    assert len(taken(repo)) == 1


def test_a_name_is_no_pattern(repo: Repo) -> None:
    repo.git("config", "boocode.perTool", "true")
    for name in ("*", "a"):
        repo.write(f"sub/{name}", "a\n")
    turn(repo)
    for name in ("*", "a"):
        repo.write(f"sub/{name}", "b\n")
    payload = prompted(repo, cwd=str(repo.top / "sub"), tool_input={"file_path": "*"})
    fire(repo, "claude-code", "PreToolUse", payload=payload)
    newest = repo.git("for-each-ref", "--format=%(objectname)", "--sort=-refname").split()[0]
    assert repo.git("show", f"{newest}:sub/*") == "b\n"
    assert repo.git("show", f"{newest}:sub/a") == "a\n"


@pytest.mark.parametrize(
    ("messages", "label"), [(None, "do it"), ([], "do it"), ([{"role": "user"}], None)]
)
def test_cline_stores_the_first_prompt_of_a_session(
    messages: list[object] | None, label: str | None, repo: Repo, sealed: Path
) -> None:
    payload = json.loads(recorded(repo, "cline", "TaskStart"))
    session = payload["sessionContext"]["rootSessionId"]
    directory = sealed / ".cline/data/sessions" / session
    directory.mkdir(parents=True)
    stored = {"prompt": '<user_input mode="act">do it</user_input>'}
    (directory / f"{session}.json").write_text(json.dumps(stored))
    if messages is not None:
        file = directory / f"{session}.messages.json"
        file.write_text(json.dumps({"version": 1, "messages": messages}))
    fire(repo, "cline", "TaskStart", payload=payload)
    (found,) = taken(repo)
    assert (found["label"], found.get("prompt")) == (label, label)


def test_a_prompt_may_be_a_list_of_parts(repo: Repo) -> None:
    parts = [
        {"type": "text", "text": "do it"},
        {"type": "image_url"},
        {"type": "text", "text": "now"},
    ]
    turn(repo, prompt=parts)
    assert [found["prompt"] for found in taken(repo)] == ["do it\nnow"]
