"""Our hooks in Codex's config.toml: comments and all else stay."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from git_boocode.agents.config_files import TOML
from git_boocode.agents.config_settings import install, installed, lists_hooks, uninstall
from git_boocode.repo.errors import RefusedError
from tests.agents.test_config_settings import file_of, known, made, wanted

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CODEX = known("codex")
FILE = file_of(CODEX, TOML)

TYPICAL = b"""# my settings
model = "gpt-5"   # the big one

[hooks]

[[hooks.UserPromptSubmit]]
[[hooks.UserPromptSubmit.hooks]]
type = "command"
command = 'notify "$USER"'

[projects."/src/app"]
trust_level = "trusted"
"""


def read(data: bytes) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads(data.decode())
    return found


@pytest.mark.parametrize(
    "before",
    [
        TYPICAL,
        TYPICAL.rstrip(b"\n"),
        TYPICAL + b"\n\n",
        TYPICAL.replace(b"\n", b"\r\n"),
        b"[hooks]\n",
        b"hooks.Stop = []\n",
        b"hooks = {} # none\n",
        b"[hooks]\nUserPromptSubmit = [] # none\n",
        b'[[hooks.Stop]]\nmatcher = "x"\n',
        b"",
    ],
)
def test_in_and_out_again(before: bytes) -> None:
    want = wanted(CODEX, "UserPromptSubmit", "PreToolUse")
    after, added = install(FILE, before, want)
    assert install(FILE, after, want)[0] == after
    hooks = read(after)["hooks"]
    assert hooks["PreToolUse"] == [want.entry(CODEX.config, "PreToolUse")]  # type: ignore[arg-type]
    assert hooks["UserPromptSubmit"][:-1] == read(before).get("hooks", {}).get(
        "UserPromptSubmit", []
    )
    assert list(installed(FILE, after, want)) == ["UserPromptSubmit", "PreToolUse"]
    lines = iter(after.splitlines())
    inline = (b"hooks = {}", b"UserPromptSubmit = []")
    assert all(line in lines for line in before.splitlines() if not line.startswith(inline))
    back = uninstall(FILE, after, made(*added))
    assert back is not None
    assert back.rstrip() == before.rstrip()
    assert (b"\r\n" in before) is (b"\r\n" in after)
    assert after.count(b"\r") in (0, after.count(b"\n"))


def test_our_entry_is_renewed_where_it_stands() -> None:
    old, added = install(FILE, TYPICAL, wanted(CODEX, program="'/old place/git-boocode'"))
    grown = old + b'\n[tui] # mine\ntheme = "x"\n'
    new = install(FILE, grown, wanted(CODEX))[0]
    assert new == grown.replace(b"'/old place/git-boocode'", b"git boocode")
    assert uninstall(FILE, new, made(*added)) == TYPICAL + b'\n[tui] # mine\ntheme = "x"\n'


def test_whose_hooks_are_listed() -> None:
    assert lists_hooks(FILE, TYPICAL)
    assert lists_hooks(FILE, b"hooks = {Stop = []}\n")
    trust = (
        b'[hooks.state."/home/u/.codex/hooks.json:user_prompt_submit:0:0"]\ntrusted_hash = "x"\n'
    )
    assert not lists_hooks(FILE, trust)
    assert not lists_hooks(FILE, b"[hooks]\n")
    assert not lists_hooks(FILE, b'model = "x"\n[features]\nhooks = true\n')
    assert not lists_hooks(FILE, install(FILE, b"a = 1\n", wanted(CODEX))[0])


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"hooks = [1]\n", "'hooks' in it is not an object"),
        (b"hooks.PreToolUse = 1\n", "'hooks.PreToolUse' in it is not an array"),
        (b"[hooks\n", "it is not valid TOML: unexpected character"),
        (b'a = "\xff"\n', "it is not UTF-8, in line 1"),
    ],
)
def test_files_that_cannot_take_hooks(data: bytes, reason: str) -> None:
    with pytest.raises(RefusedError) as caught:
        install(FILE, data, wanted(CODEX))[0]
    assert reason in caught.value.message
    assert caught.value.message.endswith("; nothing was changed")


def test_a_command_with_every_kind_of_character() -> None:
    program = "'/opt/ü \"x\" \\ \x7f\t/git-boocode'"
    after = install(FILE, b"[hooks]\n", wanted(CODEX, program=program))[0]
    [entry] = read(after)["hooks"]["UserPromptSubmit"]
    assert entry["hooks"][0]["command"] == f"{program} hook codex UserPromptSubmit"
