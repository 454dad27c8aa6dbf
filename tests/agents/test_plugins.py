"""Plugins that agents have installed are shown, and left to the agents."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.agents.kit import fire, prompted
from tests.agents.test_trust import codex_trusts
from tests.repo_kit import Repo

NAME = "boocode@git-boocode"
EVENTS = ("user_prompt_submit", "pre_tool_use", "post_tool_use", "session_end", "stop")


def enabled(path: Path, *, value: bool = True) -> None:
    """Write settings as Claude Code and Copilot do when they install the plugin."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"enabledPlugins": {"other@x": True, NAME: value}}))


def plugins(repo: Repo) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = repo.boocode("hooks", "status", "--json").json["plugins"]
    return found


@pytest.mark.parametrize(
    ("place", "scope"),
    [
        ("{home}/.claude/settings.json", "user"),
        ("{top}/.claude/settings.json", "project"),
        ("{top}/.claude/settings.local.json", "local"),
    ],
)
@pytest.mark.variants
def test_claude_code(place: str, scope: str, repo: Repo, sealed: Path) -> None:
    path = Path(place.format(home=sealed, top=repo.top))
    enabled(path)
    command = f"claude plugin uninstall {NAME} --scope {scope}"
    (found,) = plugins(repo)
    assert (found["agent"], found["scope"], found["plugin"]) == ("claude-code", scope, NAME)
    assert (found["enabled"], found["path"], found["uninstall"]) == (True, str(path), command)
    assert found["last_call"] is None
    fire(repo, "auto", "UserPromptSubmit", payload=prompted(repo))
    shown = repo.boocode("hooks", "status").out
    assert "Claude Code: not installed" not in shown
    assert f"plugin for Claude Code ({scope}): {NAME} in " in shown
    called = r"last called (just now|\d+ s ago)"
    assert re.search(f"  {called}", shown)
    assert re.search(rf"Claude Code \(plugin\): {called}", repo.boocode("status").out)
    done = repo.boocode("hooks", "install")
    assert (done.code, done.out) == (0, "nothing to install\n")
    assert done.err == "hint: Claude Code has the plugin, and needs no hooks\n"
    # In other repositories, only the user's plugin works.
    in_home = repo.boocode("hooks", "install", "--user", "--dry-run").err
    assert ("Claude Code has the plugin" in in_home) == (scope == "user")
    for words in (("uninstall", "-n"), ("hooks", "uninstall")):
        done = repo.boocode(*words)
        assert f"hint: the plugin for Claude Code stays: '{command}' removes it\n" in done.err
    assert NAME in path.read_text()


def test_a_disabled_one(repo: Repo, sealed: Path) -> None:
    enabled(sealed / ".copilot/settings.json", value=False)
    (found,) = plugins(repo)
    assert (found["agent"], found["enabled"]) == ("copilot", False)
    shown = repo.boocode("hooks", "status").out
    assert "Copilot CLI: not installed" in shown
    assert shown.count(f"{NAME} in ~/.copilot/settings.json, but disabled\n") == 1
    assert repo.boocode("status", "--json").json["hooks"]["plugins"] == []
    assert "plugin" not in repo.boocode("uninstall", "-n").err


@pytest.mark.parametrize("agent", ["gemini", "qwen"])
def test_extensions(agent: str, repo: Repo, sealed: Path) -> None:
    (sealed / f".{agent}/extensions/boocode").mkdir(parents=True)
    (found,) = plugins(repo)
    assert (found["agent"], found["plugin"]) == (agent, "boocode")
    assert found["uninstall"] == f"{agent} extensions uninstall boocode"


def test_codex_runs_the_hooks_of_the_plugin_that_the_user_has_trusted(
    repo: Repo, sealed: Path
) -> None:
    config = sealed / ".codex/config.toml"

    def trusting(*events: str) -> list[str]:
        codex_trusts(sealed, *(f"{NAME}:hooks/hooks.json:{event}:0:0" for event in events))
        config.write_text(f'{config.read_text()}[plugins."{NAME}"]\nenabled = true\n')
        (found,) = plugins(repo)
        untrusted: list[str] = found["untrusted"]
        return untrusted

    assert trusting(*EVENTS) == []
    assert repo.boocode("doctor").code == 0
    assert trusting(*EVENTS[:-1]) == ["Stop"]
    assert "  not trusted yet: Stop\n" in repo.boocode("hooks", "status").out
    note = "Codex CLI has the plugin, and needs no hooks, once those of the plugin are trusted"
    assert note in repo.boocode("hooks", "install").err
    done = repo.boocode("doctor", "--json")
    assert (done.code, done.json["error"]["code"]) == (1, "untrusted_hooks")
    message = f"Codex CLI does not run the hooks of the plugin '{NAME}'"
    assert done.json["error"]["message"] == message


@pytest.mark.parametrize("data", ["", "[]", "{", '{"enabledPlugins": 7}', "\xff"])
def test_what_cannot_be_read_is_nothing(data: str, repo: Repo, sealed: Path) -> None:
    (sealed / ".copilot").mkdir()
    (sealed / ".copilot/settings.json").write_bytes(data.encode("latin-1"))
    assert plugins(repo) == []


def test_where_to_install_it_from(repo: Repo) -> None:
    answer = repo.boocode("hooks", "status", "--json").json
    market = Path(answer["marketplace"])
    (listed,) = json.loads((market / ".claude-plugin/marketplace.json").read_text())["plugins"]
    assert (market / listed["source"] / "hooks/hooks.json").is_file()
    shown = repo.boocode("hooks", "status", "--verbose").out
    assert f"plugin to install: {market}\n" in shown
