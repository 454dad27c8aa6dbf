"""Our hooks in JSON files of agents: whatever else they hold stays."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from git_boocode.agents.config_files import Where
from git_boocode.agents.entries import Baseline, Wanted, is_ours
from git_boocode.agents.install import carry_out, plan_install, plan_uninstall
from git_boocode.agents.json_config import install, installed, uninstall
from git_boocode.agents.jsontext import parse
from git_boocode.agents.registry import AGENTS, USER, Agent, Settings, find_agent
from git_boocode.repo.errors import RefusedError
from tests.agents.test_jsontext import values, written

CONFIGURED = [agent for agent in AGENTS.values() if isinstance(agent.config, Settings)]
PATH = "/home/u/settings.json"


def known(name: str) -> Agent:
    found = find_agent(name)
    assert found is not None
    return found


CLAUDE = known("claude-code")


def wanted(agent: Agent, *events: str, program: str = "git boocode", seconds: int = 10) -> Wanted:
    chosen = events or (agent.turn,)
    commands = {event: f"{program} hook {agent.name} {event}" for event in chosen}
    return Wanted(commands, seconds, per_tool=len(chosen) > 1)


def entries(agent: Agent, want: Wanted) -> dict[str, Any]:
    assert isinstance(agent.config, Settings)
    return {event: [want.entry(agent.config, event)] for event in want.commands}


def read(data: bytes) -> Any:
    found = parse(data.decode())
    assert found is not None
    return found.plain()


# What agents' files hold under `hooks`: nothing, hooks of others, under our events or not.
others = st.dictionaries(
    st.sampled_from([*(agent.turn for agent in CONFIGURED), "Stop", "Notification"]),
    st.lists(
        st.fixed_dictionaries({"hooks": st.just([{"type": "command", "command": "say 'hi'"}])})
        | st.fixed_dictionaries({"command": st.just("./lint.sh"), "matcher": st.just("*")})
        | values,
        max_size=2,
    ),
    max_size=3,
)
documents = st.builds(
    lambda before, hooks, after: {**before, **({} if hooks is None else {"hooks": hooks}), **after},
    st.dictionaries(st.text(), values, max_size=2),
    st.none() | others,
    st.dictionaries(st.text(), values, max_size=2),
).filter(lambda value: isinstance(value.get("hooks", {}), dict))


@given(st.sampled_from(CONFIGURED), st.booleans(), documents.flatmap(written))
def test_in_and_out_again(agent: Agent, both: bool, case: tuple[str, Any]) -> None:
    text, before = case
    hooks = before.get("hooks", {})
    assume(all(isinstance(hooks.get(event, []), list) for event in (agent.turn, agent.tool)))
    data = text.encode()
    want = wanted(agent, *([agent.turn, agent.tool] if both else []))
    there = install(agent, PATH, data, want)

    after = read(there.data)
    assert isinstance(agent.config, Settings)
    assert after == {
        **agent.config.preface,
        **before,
        "hooks": {
            **hooks,
            **{e: [*hooks.get(e, []), *new] for e, new in entries(agent, want).items()},
        },
    }
    assert [key for key in after if key in before] == list(before)
    assert install(agent, PATH, there.data, want).data == there.data

    back = uninstall(agent, PATH, there.data, Baseline(there.made))
    assert back is not None
    # What was added for other hooks, too, stays with them.
    kept = agent.config.preface if hooks else {}
    assert read(back) == {**kept, **before}
    added = set(agent.config.preface) - set(before)
    was_empty = (
        not before or before.get("hooks") == {} or not all(hooks.get(e, [0]) for e in want.commands)
    )
    if not was_empty and not (kept and added):
        assert back == data


@settings(max_examples=50)
@given(st.sampled_from(CONFIGURED), documents.flatmap(written))
def test_the_bytes_from_before_come_back(agent: Agent, case: tuple[str, Any]) -> None:
    """With the record that is kept, whatever the formatting."""
    text, before = case
    assume(
        all(isinstance(before.get("hooks", {}).get(e, []), list) for e in (agent.turn, agent.tool))
    )
    with TemporaryDirectory() as home:
        where = Where(None, home)
        path = Path(where.places(agent, USER)[0].path)
        path.parent.mkdir(parents=True)
        path.write_bytes(text.encode())
        carry_out(plan_install(where, agent, USER, wanted(agent)))
        there = path.read_bytes()
        assert there != text.encode()
        carry_out(plan_install(where, agent, USER, wanted(agent)))
        assert path.read_bytes() == there
        carry_out(plan_uninstall(where, agent, USER))
        assert path.read_bytes() == text.encode()


@given(documents.flatmap(written), documents)
def test_others_change_the_file_meanwhile(case: tuple[str, Any], theirs: dict[str, Any]) -> None:
    text, before = case
    there = install(CLAUDE, PATH, text.encode(), wanted(CLAUDE))
    now = read(there.data)
    now.update({key: value for key, value in theirs.items() if key != "hooks"})
    now["hooks"]["Added"] = [{"hooks": [{"type": "command", "command": "theirs"}]}]
    back = uninstall(CLAUDE, PATH, json.dumps(now).encode(), Baseline(there.made))
    assert back is not None
    expected = {**before, **{key: value for key, value in theirs.items() if key != "hooks"}}
    expected["hooks"] = {**before.get("hooks", {}), "Added": now["hooks"]["Added"]}
    assert read(back) == expected


def test_a_settings_file_as_a_user_keeps_it() -> None:
    before = b"""{
  // Which model
  "model": "opus",
  "permissions": { "allow": ["Bash(git log:*)"], "deny": [] },
  "hooks": {
    "UserPromptSubmit": [
      { "hooks": [{ "type": "command", "command": "~/bin/context" }] }, // mine
    ],
    /* after each edit */
    "PostToolUse": [ {"matcher":"Edit|Write","hooks":[{"type":"command","command":"prettier"}]} ],
  },
}
"""
    there = install(CLAUDE, PATH, before, wanted(CLAUDE, "UserPromptSubmit", "PreToolUse"))
    assert there.data.decode() == before.decode().replace(
        "}, // mine\n",
        """}, // mine
      {
        "hooks": [
          {
            "type": "command",
            "command": "git boocode hook claude-code UserPromptSubmit",
            "timeout": 10
          }
        ]
      },
""",
    ).replace(
        '"prettier"}]} ],\n',
        """"prettier"}]} ],
    "PreToolUse": [
      {
        "hooks": [
          {
            "type": "command",
            "command": "git boocode hook claude-code PreToolUse",
            "timeout": 10
          }
        ]
      }
    ],
""",
    )
    assert there.made == {"hooks.PreToolUse"}
    assert uninstall(CLAUDE, PATH, there.data, Baseline(there.made)) == before
    assert uninstall(CLAUDE, PATH, there.data, Baseline()) == before


def test_another_command_and_timeout_are_put_in_place() -> None:
    old = wanted(CLAUDE, program="'/old place/bin/git-boocode'", seconds=7)
    data = install(CLAUDE, PATH, b'{"hooks": {"Stop": []}, "x": 1.50}', old).data
    new = install(CLAUDE, PATH, data, wanted(CLAUDE))
    assert new.made == frozenset()
    assert new.data == data.replace(b"'/old place/bin/git-boocode'", b"git boocode").replace(
        b'"timeout": 7', b'"timeout": 10'
    )
    [found] = installed(CLAUDE, PATH, new.data)["UserPromptSubmit"]
    assert found == {
        "type": "command",
        "command": "git boocode hook claude-code UserPromptSubmit",
        "timeout": 10,
    }


def test_a_group_that_we_share_stays_with_the_others() -> None:
    ours = '{"type": "command", "command": "git-boocode hook claude UserPromptSubmit"}'
    theirs = '{"type": "command", "command": "theirs"}'
    text = f'{{"hooks": {{"UserPromptSubmit": [{{"matcher": "", "hooks": [{ours}, {theirs}]}}]}}}}'
    back = uninstall(CLAUDE, PATH, text.encode(), Baseline())
    assert back == text.replace(f"{ours}, ", "").encode()


def test_twice_ours_becomes_once_and_what_is_not_wanted_goes() -> None:
    want = wanted(CLAUDE, "UserPromptSubmit", "PreToolUse")
    group = entries(CLAUDE, want)["UserPromptSubmit"][0]
    document = {
        "hooks": {"UserPromptSubmit": [group, group], **entries(CLAUDE, wanted(CLAUDE, "Stop"))}
    }
    there = install(CLAUDE, PATH, json.dumps(document).encode(), wanted(CLAUDE))
    assert read(there.data) == {"hooks": {"UserPromptSubmit": [group]}}


def test_a_file_of_our_own_goes_with_its_hooks() -> None:
    copilot = known("copilot")
    there = install(copilot, PATH, None, wanted(copilot))
    assert read(there.data) == {"version": 1, "hooks": entries(copilot, wanted(copilot))}
    assert there.data.endswith(b"}\n")
    assert uninstall(copilot, PATH, there.data, Baseline(there.made, created=True)) is None
    assert uninstall(copilot, PATH, there.data, Baseline(None, created=True)) is None
    added = there.data.replace(b'"version": 1,', b'"version": 1, "theirs": 2,')
    kept = uninstall(copilot, PATH, added, Baseline(there.made, created=True))
    assert kept is not None
    assert read(kept) == {"theirs": 2}


@pytest.mark.parametrize("empty", [b"", b" \n", b"{}", b"{}\n", b"\xef\xbb\xbf{ }", b"// c\n"])
def test_files_that_hold_nothing(empty: bytes) -> None:
    there = install(CLAUDE, PATH, empty, wanted(CLAUDE))
    assert read(there.data) == {"hooks": entries(CLAUDE, wanted(CLAUDE))}
    assert there.data.startswith(empty[:3] if empty.startswith(b"\xef") else b"")
    back = uninstall(CLAUDE, PATH, there.data, Baseline(there.made))
    assert back is not None
    assert read(back) == {}


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'{"hooks": []}', "'hooks' in it is no object"),
        (b'{"hooks": {"UserPromptSubmit": {}}}', "'hooks.UserPromptSubmit' in it is no array"),
        (b'{"hooks": {"PreToolUse": null}}', "'hooks.PreToolUse' in it is no array"),
        (b"[]", "it holds no object"),
        (b'"boocode"', "it holds no object"),
        (b'{"a": 1', "it is no JSON: line 1, column 8: ',' or '}' is missing here"),
        (b'{"a": "\xff"}', "it is not UTF-8, in line 1"),
        (b"\xff\xfe{\x00}\x00", "it is not UTF-8, in line 1"),
    ],
)
def test_files_that_cannot_take_hooks(data: bytes, reason: str) -> None:
    with pytest.raises(RefusedError) as caught:
        install(CLAUDE, PATH, data, wanted(CLAUDE))
    assert caught.value.message == f"'{PATH}' cannot be changed: {reason}; nothing was changed"
    assert caught.value.code == "unusable_file"
    if b"boocode" not in data:
        # There is nothing of ours in it: no reason to refuse.
        assert uninstall(CLAUDE, PATH, data, Baseline()) == data


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("git boocode hook claude-code UserPromptSubmit", True),
        ("git boocode hook claude UserPromptSubmit", True),
        ("/opt/my\\ tools/git-boocode hook claude-code X", True),
        ("'/opt/my tools/git-boocode' hook claude-code X", True),
        ("/usr/bin/python3 -m git_boocode hook claude-code X", True),
        ("/usr/bin/python3 -I '/my lib/git_boocode/__main__.py' hook claude-code X", True),
        ("git boocode hook cursor beforeSubmitPrompt", False),
        ("git boocode checkpoint", False),
        ("my-git-boocode hook claude-code X", False),
        ("git boocode hook claude-codex", False),
        (None, False),
    ],
)
def test_which_commands_are_ours(command: object, expected: bool) -> None:
    assert is_ours(CLAUDE, command) is expected
