"""Our hooks in JSON files of agents: whatever else they hold stays."""

from __future__ import annotations

import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from git_boocode.agents.agent import HOOKS, USER, Agent, Settings
from git_boocode.agents.config_files import JSON, UNKNOWN, Baseline, ConfigFile, Locations, Wanted
from git_boocode.agents.config_settings import install, installed, uninstall
from git_boocode.agents.install import carry_out, plan_install, plan_uninstall
from git_boocode.agents.own_hooks import is_own_call
from git_boocode.agents.registry import AGENTS, find_agent
from git_boocode.repo.errors import RefusedError
from tests.repo_kit import examples

CONFIGURED = [
    agent
    for agent in AGENTS.values()
    if isinstance(agent.config, Settings)
    and (agent.config.key, agent.config.event_key, agent.config.bare) == ("hooks", "", ())
]
PATH = "/home/u/settings.json"
NOTE = " // a note"


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
    return json.loads(data.replace(NOTE.encode(), b""))


def file_of(agent: Agent, kind: str = JSON) -> ConfigFile:
    """A configuration file of an agent."""
    return ConfigFile(agent, USER, kind, PATH, "")


def made(*names: str) -> Baseline:
    """The baseline of a file to which some things had to be added."""
    return Baseline(b"", "", frozenset(names))


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@st.composite
def written(draw: Any, value: Any) -> tuple[str, Any]:
    """One of the ways in which an object can be written."""
    style = {
        "indent": draw(st.sampled_from([None, 2, 4, "\t"])),
        "ensure_ascii": draw(st.booleans()),
    }
    if draw(st.booleans()):
        style["separators"] = (",", ":")
    text = json.dumps(value, **style) + draw(st.sampled_from(["", "\n", " \n\n"]))
    if style["indent"] and draw(st.booleans()):
        noted = draw(st.sets(st.integers(0, text.count("\n"))))
        lines = text.split("\n")
        text = "\n".join(line + NOTE * (n in noted) for n, line in enumerate(lines))
    return text.replace("\n", draw(st.sampled_from(["\n", "\r\n"]))), value


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


@settings(max_examples=examples(60))
@given(st.sampled_from(CONFIGURED), st.booleans(), documents.flatmap(written))
def test_in_and_out_again(agent: Agent, both: bool, case: tuple[str, Any]) -> None:
    text, before = case
    hooks = before.get("hooks", {})
    assume(all(isinstance(hooks.get(event, []), list) for event in (agent.turn, agent.tool)))
    data = text.encode()
    want = wanted(agent, *([agent.turn, agent.tool] if both else []))
    there, added = install(file_of(agent), data, want)

    after = read(there)
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
    assert there.count(NOTE.encode()) == data.count(NOTE.encode())
    assert install(file_of(agent), there, want)[0] == there

    back = uninstall(file_of(agent), there, made(*added))
    assert back is not None
    # What was added for other hooks, too, stays with them.
    kept = agent.config.preface if hooks else {}
    assert read(back) == {**kept, **before}


@settings(max_examples=examples(40))
@given(st.sampled_from(CONFIGURED), documents.flatmap(written))
def test_the_bytes_from_before_come_back(agent: Agent, case: tuple[str, Any]) -> None:
    """With the record that is kept, whatever the formatting."""
    text, before = case
    assume(
        all(isinstance(before.get("hooks", {}).get(e, []), list) for e in (agent.turn, agent.tool))
    )
    with TemporaryDirectory() as home:
        where = Locations(None, home)
        path = Path(where.files(agent, USER, HOOKS)[0].path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        carry_out(plan_install(where, agent, USER, wanted(agent)))
        there = path.read_bytes()
        assert there != text.encode()
        carry_out(plan_install(where, agent, USER, wanted(agent)))
        assert path.read_bytes() == there
        carry_out(plan_uninstall(where, where.files(agent, USER, HOOKS)))
        assert path.read_bytes() == text.encode()


@settings(max_examples=examples(40))
@given(documents.flatmap(written), documents)
def test_others_change_the_file_meanwhile(case: tuple[str, Any], theirs: dict[str, Any]) -> None:
    text, before = case
    there, added = install(file_of(CLAUDE), text.encode(), wanted(CLAUDE))
    now = read(there)
    now.update({key: value for key, value in theirs.items() if key != "hooks"})
    now["hooks"]["Added"] = [{"hooks": [{"type": "command", "command": "theirs"}]}]
    back = uninstall(file_of(CLAUDE), json.dumps(now).encode(), made(*added))
    assert back is not None
    expected = {**before, **{key: value for key, value in theirs.items() if key != "hooks"}}
    expected["hooks"] = {**before.get("hooks", {}), "Added": now["hooks"]["Added"]}
    assert read(back) == expected


_KIMI = """\
default_model = "m"

[[hooks]]
event = "Stop"
command = "mine"  # a note

[models.m]
"""
_KIMI_ENTRY = """[[hooks]]
event = "Stop"
command = "git boocode hook kimi Stop"
timeout = 600
"""
_KIRO_ENTRY = {
    "name": "git-boocode Stop",
    "trigger": "Stop",
    "action": {"type": "command", "command": "git boocode hook kiro Stop"},
    "timeout": 3605,
    "enabled": True,
}
_FLAT = {"type": "command", "command": "git boocode hook antigravity Stop", "timeout": 3605}
_MINE = '{"type": "command", "command": "mine"}'
SHAPES = [
    ("kimi", "config.toml", _KIMI, _KIMI_ENTRY),
    ("kimi", "config.toml", "", _KIMI_ENTRY),
    ("droid", "hooks.json", '{"Stop": [{"hooks": []}], "Other": []}', '"Stop": [{"hooks": []}, {'),
    ("droid", "settings.json", f'{{"hooks": {{"Stop": [{_MINE}]}}}}', f'"Stop": [{_MINE}, {{'),
    ("kiro", "hooks/boocode.json", '{"version": "v1", "hooks": []}', json.dumps(_KIRO_ENTRY)),
    ("antigravity", "hooks.json", '{"mine": {"Stop": []}}', json.dumps({"Stop": [_FLAT]})),
]


@pytest.mark.parametrize(("name", "below", "before", "part"), SHAPES)
def test_the_shapes_of_other_files(
    name: str, below: str, before: str, part: str, tmp_path: Path
) -> None:
    agent = known(name)
    path = tmp_path / agent.home / below
    path.parent.mkdir(parents=True)
    path.write_text(before)
    where = Locations(None, str(tmp_path))
    want = wanted(agent, "Stop", seconds=3605)
    carry_out(plan_install(where, agent, USER, want))
    assert part in path.read_text()
    assert [file.path for file in where.files(agent, USER, HOOKS) if Path(file.path).exists()] == [
        str(path)
    ]
    carry_out(plan_install(where, agent, USER, want._replace(seconds=7)))
    assert "600" not in path.read_text()
    assert path.read_text().count("git boocode hook") == 1
    # Somebody else changed the file.
    more = "# more" if below.endswith("toml") else ""
    path.write_text(f"{path.read_text()}\n{more}\n")
    carry_out(plan_uninstall(where, where.files(agent, USER, HOOKS)))
    assert path.read_text().split() == f"{before}{more}".split()


@pytest.mark.parametrize(
    ("name", "below", "text", "problem"),
    [
        ("kimi", "config.toml", 'hooks = "x"\n', "'hooks' in it is not an array"),
        ("kiro", "hooks/boocode.json", '{"hooks": {}}', "'hooks' in it is not an array"),
        ("droid", "hooks.json", '{"Stop": {}}', "'Stop' in it is not an array"),
        ("antigravity", "hooks.json", '{"boocode": 7}', "'boocode' in it is not an object"),
    ],
)
def test_other_files_that_cannot_be_used(
    name: str, below: str, text: str, problem: str, tmp_path: Path
) -> None:
    agent = known(name)
    path = tmp_path / agent.home / below
    path.parent.mkdir(parents=True)
    path.write_text(text)
    with pytest.raises(RefusedError, match=problem):
        plan_install(Locations(None, str(tmp_path)), agent, USER, wanted(agent, "Stop"))


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("indent", ["  ", "    ", "\t"])
@pytest.mark.parametrize("ending", ["", "\n", "\n\n"])
def test_the_style_of_a_file_is_kept(newline: str, indent: str, ending: str) -> None:
    before = {"model": "opus", "hooks": {"Stop": []}, "permissions": {"allow": ["Edit", "é"]}}
    text = json.dumps(before, indent=indent, ensure_ascii=False) + ending
    data = text.replace("\n", newline).encode()
    there, added = install(file_of(CLAUDE), data, wanted(CLAUDE))
    before["hooks"] |= entries(CLAUDE, wanted(CLAUDE))  # type: ignore[operator]
    expected = json.dumps(before, indent=indent, ensure_ascii=False) + ending
    assert there == expected.replace("\n", newline).encode()
    assert added == {"hooks.UserPromptSubmit"}
    assert uninstall(file_of(CLAUDE), there, made(*added)) == data
    assert uninstall(file_of(CLAUDE), there, UNKNOWN) == data


COMMENTED = """{
  // Which model
  "model": "opus // https://",
  "permissions": { "allow": ["Bash(git log:*)"], "deny": [], },
  "hooks": {
    "UserPromptSubmit": [
      { "hooks": [{ "type": "command", "command": "~/bin/context" }] }, // mine
    ],
    /* after each edit */
    "Stop": []
  },
}
"""


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        (
            COMMENTED,
            '"command": "~/bin/context" }] }, // mine\n    ],',
            '"command": "~/bin/context" }] }, // mine\n      ENTRY,\n    ],',
        ),
        (
            COMMENTED.replace("UserPromptSubmit", "Notification"),
            '"Stop": []\n',
            '"Stop": [],\n    "UserPromptSubmit": [ENTRY]\n',
        ),
        ("// nothing yet\n{}\n", "{}", '{\n  "hooks": {"UserPromptSubmit": [ENTRY]}\n}'),
        (
            '{"a": [1,],\t"b": 2 // c,\n}',
            "2 // c,\n}",
            '2, // c,\n"hooks": {"UserPromptSubmit": [ENTRY]}\n}',
        ),
        ('{"a": 1,}', '{"a": 1,}', '{"a": 1, "hooks": {"UserPromptSubmit": [ENTRY]},}'),
        (
            '{"a": 1 // one\n}',
            "1 // one\n}",
            '1, // one\n"hooks": {"UserPromptSubmit": [ENTRY]}\n}',
        ),
    ],
)
def test_comments_and_all_other_formatting_stay(text: str, old: str, new: str) -> None:
    file, want = file_of(CLAUDE), wanted(CLAUDE)
    there, added = install(file, text.encode(), want)
    entry = json.dumps(entries(CLAUDE, want)["UserPromptSubmit"][0])
    spaces = re.compile(r"\s+")
    expected = text.replace(old, new.replace("ENTRY", entry))
    assert spaces.sub("", there.decode()) == spaces.sub("", expected)
    outside = set(there.decode().splitlines()) - set(text.splitlines())
    assert len(outside) <= len(json.dumps(entries(CLAUDE, want), indent=2).splitlines()) + 3
    assert installed(file, there, want) == {"UserPromptSubmit": True}
    assert install(file, there, want)[0] == there
    assert uninstall(file, there, made(*added)) == text.encode()


def test_comments_about_our_entries_stay() -> None:
    file, want = file_of(CLAUDE), wanted(CLAUDE)
    entry = json.dumps(entries(CLAUDE, want)["UserPromptSubmit"][0])
    text = f'{{"hooks": {{"UserPromptSubmit": [ // a\n {entry}, // b\n {{"c": 1}} ]}}}}'
    back = uninstall(file, text.encode(), UNKNOWN)
    assert back == b'{"hooks": {"UserPromptSubmit": [ // a\n  // b\n {"c": 1} ]}}'


def test_another_command_and_timeout_are_put_in_place() -> None:
    old = wanted(CLAUDE, program="'/old place/bin/git-boocode'", seconds=7)
    data, _ = install(file_of(CLAUDE), b'{"hooks": {"Stop": []}, "x": 1.5}', old)
    assert installed(file_of(CLAUDE), data, wanted(CLAUDE)) == {"UserPromptSubmit": False}
    new, added = install(file_of(CLAUDE), data, wanted(CLAUDE))
    assert added == frozenset()
    assert new == data.replace(b"'/old place/bin/git-boocode'", b"git boocode").replace(
        b'"timeout": 7', b'"timeout": 10'
    )
    assert installed(file_of(CLAUDE), new, wanted(CLAUDE)) == {"UserPromptSubmit": True}


def test_a_group_that_we_share_stays_with_the_others() -> None:
    ours = '{"type": "command", "command": "git-boocode hook claude UserPromptSubmit"}'
    theirs = '{"type": "command", "command": "theirs"}'
    text = f'{{"hooks": {{"UserPromptSubmit": [{{"matcher": "", "hooks": [{ours}, {theirs}]}}]}}}}'
    back = uninstall(file_of(CLAUDE), text.encode(), UNKNOWN)
    assert back == text.replace(f"{ours}, ", "").encode()


def test_twice_ours_becomes_once_and_what_is_not_wanted_goes() -> None:
    want = wanted(CLAUDE, "UserPromptSubmit", "PreToolUse")
    group = entries(CLAUDE, want)["UserPromptSubmit"][0]
    document = {
        "hooks": {"UserPromptSubmit": [group, group], **entries(CLAUDE, wanted(CLAUDE, "Stop"))}
    }
    there, _ = install(file_of(CLAUDE), json.dumps(document).encode(), wanted(CLAUDE))
    assert read(there) == {"hooks": {"UserPromptSubmit": [group]}}


def test_a_file_of_our_own_goes_with_its_hooks() -> None:
    copilot = known("copilot")
    file, ours = file_of(copilot), UNKNOWN._replace(before=None)
    there, added = install(file, None, wanted(copilot))
    assert read(there) == {"version": 1, "hooks": entries(copilot, wanted(copilot))}
    assert there.endswith(b"}\n")
    assert uninstall(file, there, ours._replace(made=added)) is None
    assert uninstall(file, there, ours) is None
    changed = there.replace(b'"version": 1,', b'"version": 1, "theirs": 2,')
    kept = uninstall(file, changed, ours._replace(made=added))
    assert kept is not None
    assert read(kept) == {"theirs": 2}


@pytest.mark.parametrize("empty", [b"", b" \n", b"{}", b"{}\n"])
def test_files_that_hold_nothing(empty: bytes) -> None:
    there, added = install(file_of(CLAUDE), empty, wanted(CLAUDE))
    assert read(there) == {"hooks": entries(CLAUDE, wanted(CLAUDE))}
    back = uninstall(file_of(CLAUDE), there, made(*added))
    assert back is not None
    assert read(back) == {}


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'{"hooks": []}', "'hooks' in it is not an object"),
        (b'{"hooks": {"UserPromptSubmit": {}}}', "'hooks.UserPromptSubmit' in it is not an array"),
        (b'{"hooks": {"PreToolUse": null}}', "'hooks.PreToolUse' in it is not an array"),
        (b"[]", "it does not hold an object"),
        (b'"boocode"', "it does not hold an object"),
        (b'{"a": 1', "it is not valid JSON, at line 1, column 8"),
        (b'{"a": 1, "b" 2}', "it is not valid JSON, at line 1, column 14"),
        (b'{"a": 1, "b": 2, "a": 3}', 'an object has the key "a" twice'),
        (b'{"a": -' + b"9" * 5000 + b"}", "a number has 5,000 digits"),
        (b'{"a": "\xff"}', "it is not UTF-8, in line 1"),
        (b"\xff\xfe{\x00}\x00", "it is not UTF-8, in line 1"),
        (b"\xef\xbb\xbf{}", "it begins with a byte order mark"),
        (b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "it is nested too deeply"),
    ],
)
def test_files_that_cannot_take_hooks(data: bytes, reason: str) -> None:
    with pytest.raises(RefusedError) as caught:
        install(file_of(CLAUDE), data, wanted(CLAUDE))
    assert caught.value.message == f"'{PATH}' cannot be changed: {reason}; nothing was changed"
    assert caught.value.code == "unusable_file"
    # There is nothing of ours in it: no reason to refuse.
    assert uninstall(file_of(CLAUDE), data, UNKNOWN) == data


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
    assert is_own_call(CLAUDE, command) is expected
