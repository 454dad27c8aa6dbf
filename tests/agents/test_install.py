"""Installing for every agent, in scratch homes with the files that users have."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from git_boocode.agents.agent import HOOKS, LOCAL, PROJECT, SCOPES, SERVER, USER, Agent
from git_boocode.agents.config_files import Locations
from git_boocode.agents.file_edits import FileEdit
from git_boocode.agents.install import (
    carry_out,
    plan_install,
    plan_uninstall,
    state_of,
    wanted_hooks,
    wanted_server,
)
from git_boocode.agents.own_hooks import MARKER
from git_boocode.agents.registry import AGENTS, find_agent
from git_boocode.repo.config import Config
from git_boocode.repo.errors import FatalError, RefusedError
from tests.repo_kit import Repo

pytestmark = pytest.mark.slow

SCOPED = [(agent, scope) for agent in AGENTS.values() for scope in agent.config.places]

# As they are found on machines: by path below the home directory or the worktree.
FILES = {
    "claude-code": {
        "empty": "{}",
        "nothing": "",
        "typical": """{
  "$schema": "https://json.schemastore.org/claude-code-settings.json",
  "permissions": {
    "allow": ["Bash(npm run lint)", "Read(~/.zshrc)"],
    "deny": []
  },
  "env": {"FOO": "1"},
  "hooks": {
    "UserPromptSubmit": [
      {"hooks": [{"type": "command", "command": "cat docs/context.md"}]}
    ],
    "PreToolUse": [
      {"matcher": "Bash", "hooks": [{"type": "command", "command": "./guard.sh", "timeout": 5}]}
    ]
  }
}
""",
        "tabs and CRLF": '{\r\n\t"model": "opus",\r\n\t"hooks": {\r\n\t}\r\n}',
    },
    "codex": {
        "empty": '{"hooks": {}}\n',
        "typical": """{
    "hooks": {
        "UserPromptSubmit": [
            { "hooks": [ { "type": "command", "command": "python3 ~/log.py" } ] }
        ],
        "Stop": [ { "hooks": [ { "type": "command", "command": "say done" } ] } ]
    }
}""",
    },
    "gemini": {
        "typical": """{
  "theme": "GitHub",
  "mcpServers": {
    "git": {"command": "uvx", "args": ["mcp-server-git"]}
  },
  "hooks": {
    "BeforeTool": [{"matcher": "write_file", "hooks": [{"type": "command", "command": "x"}]}]
  }
}
""",
        "minified": '{"theme":"GitHub","hooks":{"BeforeAgent":[{"hooks":[]}]}}',
    },
    "cursor": {
        "typical": """{
  "version": 1,
  "hooks": {
    "afterFileEdit": [{ "command": ".cursor/hooks/format.sh" }],
    "beforeSubmitPrompt": [{ "command": ".cursor/hooks/audit.sh" }]
  }
}
""",
        "no version": '{"hooks": {"stop": [{"command": "true"}]}}',
    },
    "copilot": {"typical": '{"version": 1, "hooks": {"sessionStart": []}}\n'},
    "windsurf": {
        "typical": '{\n  "hooks": {\n    "post_write_code": [\n'
        '      {"command": "prettier --write", "show_output": true}\n    ]\n  }\n}\n',
    },
}
CASES = [
    (agent, scope, text)
    for agent, scope in SCOPED
    for text in FILES.get(agent.name, {}).values()
    if scope == PROJECT or agent.name == "claude-code"
]


def where() -> Locations:
    return Locations.here()


def install(agent: Agent, scope: str) -> None:
    carry_out(plan_install(where(), agent, scope, wanted_hooks(agent, config())))


def uninstall(agent: Agent, scope: str) -> None:
    carry_out(plan_uninstall(where(), where().files(agent, scope, HOOKS)))


def narrowest(agent: Agent) -> str:
    return next(scope for scope in SCOPES if scope in agent.places(HOOKS))


def config() -> Config:
    repository = where().repository
    assert repository is not None
    return repository.config


def state(agent: Agent, scope: str) -> str:
    return state_of(where(), agent, scope, wanted_hooks(agent, config())).state


def agent_of(name: str) -> Agent:
    found = find_agent(name)
    assert found is not None
    return found


def first_path(agent: Agent, scope: str) -> Path:
    return Path(where().files(agent, scope, HOOKS)[0].path)


def tree(*tops: Path) -> dict[str, tuple[int, bytes]]:
    """Everything below some directories, but for what git and we keep for ourselves."""
    found: dict[str, tuple[int, bytes]] = {}
    for top in tops:
        for directory, names, files in os.walk(top):
            for name in (".git", "git-boocode"):
                if name in names:
                    names.remove(name)
            for path in (Path(directory, name) for name in (*names, *files)):
                data = os.readlink(path).encode() if path.is_symlink() else b""
                if path.is_file() and not path.is_symlink():
                    data = path.read_bytes()
                found[str(path)] = (path.lstat().st_mode, data)
    return found


def test_where_nothing_is_there(repo: Repo, sealed: Path) -> None:
    (sealed / ".local/state").mkdir(parents=True)
    before = tree(repo.top, sealed)
    for agent, scope in SCOPED:
        assert state(agent, scope) == "not_installed"
        install(agent, scope)
        assert state(agent, scope) == "installed"
        there = tree(repo.top, sealed)
        assert first_path(agent, scope).exists()
        assert any(f"hook {agent.name}".encode() in data for _, data in there.values())
        install(agent, scope)
        assert tree(repo.top, sealed) == there
        for _ in range(2):
            uninstall(agent, scope)
            assert tree(repo.top, sealed) == before


def is_part_of(part: Any, whole: Any) -> bool:
    """Whether some JSON is found in another one: objects may have got keys, and lists items."""
    if isinstance(part, dict):
        return all(key in whole and is_part_of(part[key], whole[key]) for key in part)
    return part == whole or (isinstance(part, list) and part == whole[: len(part)])


def test_files_that_users_have(repo: Repo, sealed: Path) -> None:
    (sealed / ".local/state").mkdir(parents=True)
    for agent, scope, text in CASES:
        path = first_path(agent, scope)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o640)
        before = tree(repo.top, sealed)
        install(agent, scope)
        assert state(agent, scope) == "installed"
        there = tree(repo.top, sealed)
        assert set(there) == set(before)
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        install(agent, scope)
        assert tree(repo.top, sealed) == there
        # All other hooks are still there, as they were.
        assert is_part_of(json.loads(text or "{}"), json.loads(path.read_bytes()))
        uninstall(agent, scope)
        assert tree(repo.top, sealed) == before


def test_tools_are_told_of_unless_that_is_not_asked_for(repo: Repo) -> None:
    claude, cursor, cline, opencode = map(agent_of, ("claude-code", "cursor", "cline", "opencode"))
    repo.git("config", "boocode.perTool", "never")
    for agent in (claude, cursor, cline, opencode):
        install(agent, narrowest(agent))
    assert "ToolUse" not in repo.read(".claude/settings.local.json").decode()
    assert "preToolUse" in repo.read(".cursor/hooks.json").decode()
    turns = ["SessionShutdown", "TaskCancel", "TaskComplete", "TaskError", "TaskStart"]
    turns += ["UserPromptSubmit"]
    assert sorted(os.listdir(".clinerules/hooks")) == turns
    assert '"perTool": false' in repo.read("opencode.json").decode()
    for value in ("--unset", "auto", "always", "true"):
        words = (value, "boocode.perTool") if value == "--unset" else ("boocode.perTool", value)
        repo.git("config", *words)
        for agent in (claude, cline, opencode):
            tools = tuple(filter(None, (agent.tool, agent.tool_end)))
            found = state_of(where(), agent, narrowest(agent), wanted_hooks(agent, config()))
            assert (found.state, found.missing) == ("partly", tools)
    for agent in (claude, cline, opencode):
        install(agent, narrowest(agent))
        assert state(agent, narrowest(agent)) == "installed"
    settings = repo.read(".claude/settings.local.json").decode()
    assert "PreToolUse" in settings
    assert "PostToolUse" in settings
    assert sorted(os.listdir(".clinerules/hooks")) == ["PreToolUse", *turns]
    assert '"perTool": true' in repo.read("opencode.json").decode()
    repo.git("config", "boocode.perTool", "false")
    for agent in (claude, cline, opencode):
        tools = tuple(filter(None, (agent.tool, agent.tool_end)))
        found = state_of(where(), agent, narrowest(agent), wanted_hooks(agent, config()))
        assert (found.state, found.extra) == ("installed", tools)
        install(agent, narrowest(agent))
    for agent in (claude, cursor, cline, opencode):
        uninstall(agent, narrowest(agent))
    assert repo.git("status", "--short") == ""


def test_the_timeout_is_a_little_longer_than_ours_in_the_unit_of_the_file(repo: Repo) -> None:
    claude, gemini = agent_of("claude-code"), agent_of("gemini")
    repo.git("config", "boocode.hookTimeout", "2.5")
    install(claude, LOCAL)
    install(gemini, PROJECT)
    assert '"timeout": 8\n' in repo.read(".claude/settings.local.json").decode()
    assert '"timeout": 8000\n' in repo.read(".gemini/settings.json").decode()
    repo.git("config", "boocode.hookTimeout", "20")
    assert state(claude, LOCAL) == "other_command"
    install(claude, LOCAL)
    assert '"timeout": 25\n' in repo.read(".claude/settings.local.json").decode()
    uninstall(claude, LOCAL)
    uninstall(gemini, PROJECT)
    assert repo.git("status", "--short") == ""
    repo.git("config", "boocode.hookTimeout", "soon")
    with pytest.raises(FatalError, match=r"bad value 'soon' for 'boocode\.hookTimeout'"):
        install(claude, LOCAL)


def test_others_change_the_file_between(repo: Repo) -> None:
    claude = agent_of("claude-code")
    install(claude, LOCAL)
    path = first_path(claude, LOCAL)
    settings = json.loads(path.read_text())
    settings["permissions"] = {"allow": ["Edit"]}
    path.write_text(json.dumps(settings))
    assert state(claude, LOCAL) == "installed"
    uninstall(claude, LOCAL)
    assert path.read_text() == '{"permissions": {"allow": ["Edit"]}}'

    install(claude, LOCAL)
    path.write_text(path.read_text().replace("Edit", "Write"))
    install(claude, LOCAL)
    uninstall(claude, LOCAL)
    assert path.read_text() == '{"permissions": {"allow": ["Write"]}}'


def test_what_is_remembered_of_a_file_that_has_gone_is_of_no_use(repo: Repo) -> None:
    cursor = agent_of("cursor")
    install(cursor, PROJECT)
    path = first_path(cursor, PROJECT)
    path.write_text('{"version": 1, "hooks": {}}')
    install(cursor, PROJECT)
    path.write_text(path.read_text() + "\n")
    uninstall(cursor, PROJECT)
    assert json.loads(path.read_text()) == {"version": 1, "hooks": {}}


def test_a_created_file_goes_although_others_have_formatted_it(repo: Repo) -> None:
    cursor = agent_of("cursor")
    install(cursor, PROJECT)
    path = first_path(cursor, PROJECT)
    path.write_text(json.dumps(json.loads(path.read_text()), indent=8))
    uninstall(cursor, PROJECT)
    assert not path.parent.exists()


def test_without_a_record_what_is_ours_is_told_by_what_it_is(repo: Repo, sealed: Path) -> None:
    for agent, scope in SCOPED:
        install(agent, scope)
    for directory in (repo.top / ".git/boocode", sealed / ".local"):
        shutil.rmtree(directory, ignore_errors=True)
    there = tree(repo.top, sealed)
    for agent, scope in SCOPED:
        assert state(agent, scope) == "installed"
        install(agent, scope)
    assert tree(repo.top, sealed) == there
    for agent, scope in SCOPED:
        uninstall(agent, scope)
        assert state(agent, scope) == "not_installed"
    left = b"".join(data for _, data in tree(repo.top, sealed).values())
    assert b"boocode" not in left


def test_a_damaged_record_is_as_none(repo: Repo) -> None:
    claude = agent_of("claude-code")
    repo.write(".claude/settings.local.json", '{"a": 1}')
    install(claude, LOCAL)
    for damage in (b"", b"[]", b"{", b'{"boocode": 1, "written": "x"}', b"\xff", b"[" * 100_000):
        [record] = (repo.top / ".git/boocode/hooks").iterdir()
        record.write_bytes(damage)
        uninstall(claude, LOCAL)
        assert repo.read(".claude/settings.local.json") == b'{"a": 1}'
        install(claude, LOCAL)


def test_records_are_for_their_owner_alone(repo: Repo, sealed: Path) -> None:
    claude = agent_of("claude-code")
    install(claude, LOCAL)
    install(claude, USER)
    for directory in (repo.top / ".git/boocode/hooks", sealed / ".local/state/git-boocode/hooks"):
        [record] = directory.iterdir()
        assert stat.S_IMODE(record.stat().st_mode) == 0o600


def test_a_symlink_in_the_home_directory_is_followed(repo: Repo, sealed: Path) -> None:
    gemini = agent_of("gemini")
    dotfiles = sealed / "dotfiles"
    dotfiles.mkdir()
    (dotfiles / "gemini.json").write_text("{}\n")
    (sealed / ".gemini").mkdir()
    (sealed / ".gemini/settings.json").symlink_to("../dotfiles/gemini.json")
    install(gemini, USER)
    assert os.readlink(sealed / ".gemini/settings.json") == "../dotfiles/gemini.json"
    assert "BeforeAgent" in (dotfiles / "gemini.json").read_text()
    uninstall(gemini, USER)
    assert (dotfiles / "gemini.json").read_text() == "{}\n"


@pytest.mark.parametrize("link", [".claude", ".claude/settings.local.json"])
def test_a_symlink_out_of_the_worktree_is_refused(repo: Repo, sealed: Path, link: str) -> None:
    claude = agent_of("claude-code")
    mine = sealed / "mine"
    mine.mkdir()
    (mine / "settings.local.json").write_text("{}")
    (repo.top / link).parent.mkdir(exist_ok=True)
    (repo.top / link).symlink_to(mine if link == ".claude" else mine / "settings.local.json")
    with pytest.raises(RefusedError) as caught:
        install(claude, LOCAL)
    assert caught.value.code == "outside_worktree"
    uninstall(claude, LOCAL)
    assert (mine / "settings.local.json").read_text() == "{}"


def test_a_symlink_inside_the_worktree_is_followed(repo: Repo) -> None:
    repo.write("shared/claude.json", "{}")
    (repo.top / ".claude").mkdir()
    (repo.top / ".claude/settings.json").symlink_to("../shared/claude.json")
    install(agent_of("claude-code"), PROJECT)
    assert (repo.top / ".claude/settings.json").is_symlink()
    assert "UserPromptSubmit" in repo.read("shared/claude.json").decode()


@pytest.mark.parametrize("name", ["cline", "pi"])
def test_a_program_of_someone_else_is_kept(repo: Repo, name: str) -> None:
    agent = agent_of(name)
    path = first_path(agent, PROJECT)
    path.parent.mkdir(parents=True)
    path.write_text("#!/bin/sh\nexec my-own-hook\n")
    with pytest.raises(RefusedError) as caught:
        install(agent, PROJECT)
    assert caught.value.code == "exists"
    assert f"call 'git boocode hook {name}" in caught.value.hints[0]
    uninstall(agent, PROJECT)
    assert path.read_text() == "#!/bin/sh\nexec my-own-hook\n"


@pytest.mark.parametrize("name", ["cline", "pi"])
def test_a_program_of_ours_that_was_changed_is_not_thrown_away(repo: Repo, name: str) -> None:
    agent = agent_of(name)
    install(agent, PROJECT)
    path = first_path(agent, PROJECT)
    changed = path.read_text() + "# mine\n"
    path.write_text(changed)
    assert state(agent, PROJECT) == "other_command"
    for again in (install, uninstall):
        with pytest.raises(RefusedError, match="has been changed since it was installed"):
            again(agent, PROJECT)
    assert path.read_text() == changed


OLD_PLUGIN = f"// {MARKER}\nexport const GitBoocode = async () => ({{}})\n"


@pytest.mark.parametrize("scope", [PROJECT, USER])
def test_opencode_lists_our_package(repo: Repo, sealed: Path, scope: str) -> None:
    opencode = agent_of("opencode")
    top = repo.top if scope == PROJECT else sealed / ".config/opencode"
    top.mkdir(parents=True, exist_ok=True)
    path = top / "opencode.jsonc"
    text = '{\n  // mine\n  "plugin": ["other"],\n  "model": "m"\n}\n'
    path.write_text(text)
    # As earlier versions installed it.
    old = top / (".opencode/plugins" if scope == PROJECT else "plugins") / "boocode.ts"
    old.parent.mkdir(parents=True)
    old.write_text(OLD_PLUGIN)
    assert state(opencode, scope) == "other_command"
    install(opencode, scope)
    assert state(opencode, scope) == "installed"
    assert not old.exists()
    assert not (top / "opencode.json").exists()
    listed = json.loads(path.read_text().replace("// mine", ""))["plugin"]
    assert listed[0] == "other"
    package, options = listed[1]
    assert (
        json.loads((Path(package) / "package.json").read_text())["name"] == "opencode-git-boocode"
    )
    assert options["command"].endswith(" hook opencode")
    # Beside the server, and changed by somebody since.
    carry_out(plan_install(where(), opencode, scope, wanted_server()))
    changed = path.read_text().replace('"seconds": 10', '"seconds": 99')
    path.write_text(changed)
    assert state(opencode, scope) == "other_command"
    install(opencode, scope)
    assert state(opencode, scope) == "installed"
    carry_out(plan_uninstall(where(), where().files(opencode, scope, HOOKS), {HOOKS}))
    assert state(opencode, scope) == "not_installed"
    assert '"boocode"' in path.read_text()
    carry_out(plan_uninstall(where(), where().files(opencode, scope, SERVER)))
    assert path.read_text() == text


def test_a_plugin_of_someone_else_for_opencode_is_kept(repo: Repo) -> None:
    opencode = agent_of("opencode")
    path = repo.top / ".opencode/plugins/boocode.ts"
    path.parent.mkdir(parents=True)
    path.write_text("export const Mine = async () => ({})\n")
    install(opencode, PROJECT)
    uninstall(opencode, PROJECT)
    assert path.read_text() == "export const Mine = async () => ({})\n"
    repo.write("opencode.json", '{"plugin": "x"}\n')
    with pytest.raises(RefusedError, match="'plugin' in it is not an array"):
        install(opencode, PROJECT)


def test_cline_runs_what_is_installed(repo: Repo, tmp_path: Path) -> None:
    cline = agent_of("cline")
    install(cline, PROJECT)
    path = first_path(cline, PROJECT)
    assert stat.S_IMODE(path.stat().st_mode) == 0o755
    # Even where the program has gone, Cline gets an answer.
    done = subprocess.run([path], env={"PATH": "/nowhere"}, input=b"{}", capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b'{"cancel":false}\n', b"")
    path.chmod(0o644)
    install(cline, PROJECT)
    assert stat.S_IMODE(path.stat().st_mode) == 0o755


@pytest.mark.parametrize("scope", [PROJECT, USER])
def test_codex_keeps_its_hooks_in_one_place(repo: Repo, scope: str) -> None:
    codex = agent_of("codex")
    tables = first_path(codex, scope).with_name("config.toml")
    tables.parent.mkdir()
    tables.write_text('model = "x" # fast\n')
    install(codex, scope)
    assert tables.read_text() == 'model = "x" # fast\n'
    assert first_path(codex, scope).exists()
    # Codex notes in the tables that the user trusts our hooks: they stay where they are.
    trusted = f'[hooks.state."{first_path(codex, scope)}:0"]\nenabled = true\n'
    tables.write_text(trusted)
    install(codex, scope)
    assert (tables.read_text(), first_path(codex, scope).exists()) == (trusted, True)
    # Hooks in the tables come later: ours move there.
    before = 'model = "x" # fast\n[[hooks.Stop]]\nhooks = [{type = "command", command = "say"}]'
    tables.write_text(before)
    install(codex, scope)
    assert not first_path(codex, scope).exists()
    assert tables.read_text().startswith(before + "\n[[hooks.Stop]]")
    assert state(codex, scope) == "installed"
    uninstall(codex, scope)
    assert tables.read_text() == before


def test_linked_worktrees_have_records_of_their_own(repo: Repo, tmp_path: Path) -> None:
    claude = agent_of("claude-code")
    repo.write(".claude/settings.local.json", '{"main": 1}')
    install(claude, LOCAL)
    repo.commit()
    repo.git("worktree", "add", "-q", str(tmp_path / "linked"))
    os.chdir(tmp_path / "linked")
    linked = tmp_path / "linked/.claude/settings.local.json"
    linked.write_text('{ "linked": 1 }')
    install(claude, LOCAL)
    repo.git("worktree", "move", str(tmp_path / "linked"), str(tmp_path / "moved"))
    os.chdir(tmp_path / "moved")
    uninstall(claude, LOCAL)
    assert (tmp_path / "moved/.claude/settings.local.json").read_text() == '{ "linked": 1 }'
    os.chdir(repo.top)
    uninstall(claude, LOCAL)
    assert repo.read(".claude/settings.local.json") == b'{"main": 1}'


def test_homes_that_variables_name(
    repo: Repo, sealed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(sealed / "elsewhere"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(sealed / "configs"))
    monkeypatch.setenv("XDG_STATE_HOME", str(sealed / "states"))
    install(agent_of("claude-code"), USER)
    install(agent_of("opencode"), USER)
    assert (sealed / "elsewhere/settings.json").exists()
    assert (sealed / "configs/opencode/opencode.json").exists()
    assert len(list((sealed / "states/git-boocode/hooks").iterdir())) == 2


def test_what_killed_installations_left_is_swept(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    claude = agent_of("claude-code")
    (place,) = where().files(claude, LOCAL, HOOKS)
    hook = FileEdit(str(repo.top / ".git/hooks/pre-commit"), None, b"#!/bin/sh\n", 0o755, "git")
    left = []
    for path in map(Path, (place.path, place.record, hook.path)):
        path.parent.mkdir(parents=True, exist_ok=True)
        left.append(path.parent / f".{path.name}.boocode-0123456789ab.tmp")
        left[-1].write_text("secret")
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 61)
    carry_out(plan_install(where(), claude, LOCAL, wanted_hooks(claude, config())), [hook])
    assert not any(path.exists() for path in left)
