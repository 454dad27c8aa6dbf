"""Our server in files of every shape: in and out again, and nothing else changes."""

from __future__ import annotations

import json
import sys
import time
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from git_boocode.agents.agent import SERVER, USER
from git_boocode.agents.config_files import UNKNOWN, Baseline, ConfigFile, Locations
from git_boocode.agents.config_server import WantedServer, find, install, installed, uninstall
from git_boocode.agents.own_hooks import has_own, server_options
from git_boocode.agents.registry import SERVER_AGENTS
from git_boocode.repo.errors import RefusedError
from tests.agents.test_config_settings import NOTE, written
from tests.repo_kit import examples

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

WANTED = WantedServer(("git", "boocode", "serve"))
READ_ONLY = WANTED._replace(options=("--read-only",))
MOVED = WantedServer(("/opt/new place/git-boocode", "serve"))


def file_of(name: str) -> ConfigFile:
    """The user's file of an agent; of several the first."""
    with TemporaryDirectory() as home:
        return Locations(None, home).files(SERVER_AGENTS[name], USER, SERVER)[0]


CURSOR, CODEX, OPENCODE, VSCODE = map(file_of, ("cursor", "codex", "opencode", "vscode"))
IN_JSON = [file_of(name) for name in SERVER_AGENTS if name != "codex"]
ENTRY = {"command": "git", "args": ["boocode", "serve"]}


def made(*names: str) -> Baseline:
    """The baseline of a file to which some things had to be added."""
    return Baseline(b"", "", frozenset(names))


def read(data: bytes) -> Any:
    return json.loads(data.replace(NOTE.encode(), b""))


numbers = st.integers(-9, 9) | st.booleans() | st.none()
values = numbers | st.text(max_size=5) | st.lists(numbers, max_size=2)
servers = st.dictionaries(st.text(max_size=5), st.dictionaries(st.text(max_size=5), values))
documents = st.tuples(
    st.dictionaries(st.text(max_size=5), values, max_size=2), st.none() | servers
).map(lambda both: both[0] if both[1] is None else {**both[0], "mcpServers": both[1]})


@settings(max_examples=examples(80))
@given(documents.flatmap(written))
def test_in_and_out_again(case: tuple[str, Any]) -> None:
    text, before = case
    assume(isinstance(before.get("mcpServers", {}), dict))
    assume("boocode" not in before.get("mcpServers", {}))
    data = text.encode()
    there, added = install(CURSOR, data, WANTED)
    after = read(there)
    assert after == {**before, "mcpServers": {**before.get("mcpServers", {}), "boocode": ENTRY}}
    assert [key for key in after if key in before] == list(before)
    assert there.count(NOTE.encode()) == data.count(NOTE.encode())
    assert install(CURSOR, there, WANTED)[0] == there
    assert installed(CURSOR, there, WANTED) == {"boocode": True}
    assert has_own(CURSOR.agent, SERVER, there)
    back = uninstall(CURSOR, there, made(*added))
    assert back is not None
    assert read(back) == before


@pytest.mark.parametrize("file", IN_JSON, ids=lambda file: file.agent.name)
def test_the_entry_of_each_agent(file: ConfigFile) -> None:
    there, added = install(file, None, READ_ONLY)
    found = find(file, there)
    assert found is not None
    assert (found.words, found.options) == ([*READ_ONLY.words], ["--read-only"])
    assert has_own(file.agent, SERVER, there)
    assert uninstall(file, there, Baseline(None, "", added)) is None


TYPICAL = b"""# my settings
model = "gpt-5"   # the big one

[mcp_servers.docs]
command = "npx"   # slow
args = ["-y", "docs"]

[mcp_servers.docs.env]
KEY = 'x'

[projects."/src/app"]
trust_level = "trusted"
"""


@pytest.mark.parametrize(
    "before",
    [
        TYPICAL,
        TYPICAL.rstrip(b"\n"),
        TYPICAL + b"\n\n",
        TYPICAL.replace(b"\n", b"\r\n"),
        b"[mcp_servers]\n",
        b"[mcp_servers] # none\n\n[tui]\n",
        b"mcp_servers = {} # none\n",
        b'mcp_servers.docs.command = "x"\n',
        b'mcp_servers = { docs = { command = "x" } }\n',
        b'[mcp_servers.a]\ncommand = "a"\n[tui]\nx = 1\n[mcp_servers.b]\ncommand = "b"\n',
        b"# only this\n",
        b"",
    ],
)
def test_toml_in_and_out_again(before: bytes) -> None:
    there, added = install(CODEX, before, WANTED)
    assert install(CODEX, there, WANTED)[0] == there
    assert has_own(CODEX.agent, SERVER, there)
    assert (b"\r\n" in before) is (b"\r\n" in there)
    found = tomllib.loads(there.decode())
    assert found["mcp_servers"].pop("boocode") == ENTRY
    assert {"mcp_servers": {}, **tomllib.loads(before.decode())} == found
    inline = (b"mcp_servers =",)
    lines = iter(there.splitlines())
    assert all(line in lines for line in before.splitlines() if not line.startswith(inline))
    back = uninstall(CODEX, there, made(*added))
    assert back is not None
    # With the record the very bytes come back; without it an empty line may be left.
    assert list(filter(None, back.splitlines())) == list(filter(None, before.splitlines()))


def test_a_table_of_its_own_is_all_that_is_added_to_toml() -> None:
    there, _ = install(CODEX, TYPICAL, WANTED)
    entry = b'[mcp_servers.boocode]\ncommand = "git"\nargs = ["boocode", "serve"]\n'
    start, end = there.split(entry)
    assert start.strip() + b"\n\n" + end.strip() == TYPICAL.strip()


def test_comments_and_what_the_user_set_in_our_entry_stay() -> None:
    text = (
        '{\n  "mcpServers": {\n    // mine\n    "boocode": {\n'
        '      "command": "/old/git-boocode", // moved\n'
        '      "args": ["serve"],\n      "env": {"TRACE": "1"}\n    },\n  }\n}\n'
    )
    data = text.encode()
    assert installed(CURSOR, data, WANTED) == {"boocode": False}
    there, _ = install(CURSOR, data, MOVED)
    assert there == data.replace(b"/old/git-boocode", b"/opt/new place/git-boocode")


def test_an_entry_that_is_disabled_stays_so() -> None:
    there, _ = install(OPENCODE, None, WANTED)
    disabled = there.replace(b"true", b"false")
    assert b'"enabled": false' in install(OPENCODE, disabled, MOVED)[0]


def test_the_settings_of_zed_keep_their_comments_and_commas() -> None:
    zed = file_of("zed")
    before = b"""// Zed settings
{
  "context_servers": {
    "docs": { "command": "npx", "args": [] },
  },
  /* how it looks */
  "theme": "One Dark", // for now
}
"""
    there, added = install(zed, before, WANTED)
    assert (
        there.replace(
            b"""    "boocode": {
      "command": "git",
      "args": [
        "boocode",
        "serve"
      ]
    },
""",
            b"",
        )
        == before
    )
    assert uninstall(zed, there, Baseline(before, "", added)) == before


def test_the_newer_list_of_opencode() -> None:
    there, _ = install(OPENCODE, b'{"mcp": {"servers": {}}}', WANTED)
    assert list(json.loads(there)["mcp"]) == ["servers"]
    back = uninstall(OPENCODE, there, made())
    assert back is not None
    assert json.loads(back) == {"mcp": {"servers": {}}}


@pytest.mark.parametrize(
    ("entry", "code", "said"),
    [
        ({"command": "./wrapper", "args": ["serve"]}, "exists", "is another server"),
        ({"url": "http://localhost"}, "exists", "is another server"),
        (
            {**ENTRY, "args": ["boocode", "serve", "--read-only"]},
            "changed",
            "with other options: --read-only",
        ),
    ],
)
def test_what_the_user_made_of_the_entry_is_kept(entry: Any, code: str, said: str) -> None:
    data = json.dumps({"mcpServers": {"boocode": entry}}).encode()
    with pytest.raises(RefusedError, match=said) as caught:
        install(CURSOR, data, WANTED)
    assert caught.value.code == code
    if code == "exists":
        assert uninstall(CURSOR, data, UNKNOWN) == data


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'{"mcpServers": []}', "'mcpServers' in it is not an object"),
        (b'{"mcpServers": {"boocode": 1}}', "'mcpServers.boocode' in it is not an object"),
        (b"[]", "it does not hold an object"),
        (b'{"a": 1', "it is not valid JSON, at line 1, column 8"),
        (b'{"a": 1, "a": 3}', 'an object has the key "a" twice'),
        (b'{"mcpServers": {"a": {}, "a": {}}}', 'an object has the key "a" twice'),
        (b'{"a": "\xff"}', "it is not UTF-8, in line 1"),
        (b"\xef\xbb\xbf{}", "it begins with a byte order mark"),
        (b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "it is nested too deeply"),
        (b'{"a": [,]}', "it is not valid JSON, at line 1, column 8"),
        (b'{"a": [1,,]}', "it is not valid JSON, at line 1, column 10"),
        (b'{"a": 1} /* never ends', "it is not valid JSON, at line 1, column 10"),
    ],
)
def test_files_that_cannot_take_the_server(data: bytes, reason: str) -> None:
    with pytest.raises(RefusedError) as caught:
        install(CURSOR, data, WANTED)
    assert (
        caught.value.message == f"'{CURSOR.path}' cannot be changed: {reason}; nothing was changed"
    )
    assert caught.value.code == "unusable_file"


def test_a_large_file_costs_little_and_keeps_its_bytes() -> None:
    """Claude Code keeps much more in its file than servers."""
    claude = file_of("claude-code")
    projects = {f"/src/{n}": {"history": ["é\u2028\\"] * 200} for n in range(600)}
    before = {"numStartups": 7, "projects": projects, "mcpServers": {"a": {}}, "tips": {"b": [1]}}
    data = (json.dumps(before, indent=2, ensure_ascii=False) + "\n").encode()
    assert len(data) > 2_000_000
    start = time.process_time()
    there, added = install(claude, data, WANTED)
    assert installed(claude, there, WANTED) == {"boocode": True}
    assert uninstall(claude, there, made(*added)) == data
    assert time.process_time() - start < 4
    after = json.loads(there)
    assert after["mcpServers"].pop("boocode")["command"] == "git"
    assert after == before


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (["git", "boocode", "serve"], []),
        (["/my tools/git-boocode", "serve", "--read-only"], ["--read-only"]),
        (["python3", "-I", "/lib/git_boocode/__main__.py", "serve"], []),
        (["git", "boocode", "serve", "--repo", "serve"], ["--repo", "serve"]),
        (["git", "boocode", "log"], None),
        (["serve"], None),
        (["my-git-boocode", "serve"], None),
        ([], None),
    ],
)
def test_which_commands_are_ours(words: list[str], options: list[str] | None) -> None:
    assert server_options(words) == options
