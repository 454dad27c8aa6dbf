"""The plugin that several agents install."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from git_boocode import __version__
from git_boocode.agents.registry import AGENTS
from tests.agents.kit import taken, turn
from tests.repo_kit import Repo

TOP = Path(__file__).parents[2]
PLUGIN = TOP / "hooks/plugin"
PORTABLE = PLUGIN / "portable"
LAUNCHER = PORTABLE / "bin/boocode"
MANIFESTS = (
    PLUGIN / ".claude-plugin/plugin.json",
    PLUGIN / ".codex-plugin/plugin.json",
    PORTABLE / "plugin.json",
    PORTABLE / "gemini-extension.json",
)
TEXTS = (*PLUGIN.rglob("*.md"), *PLUGIN.rglob("*.toml"))
NAMES = ("log", "restore", "revert")


def content(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def test_every_manifest_has_the_version_of_the_package() -> None:
    assert {content(path)["version"] for path in MANIFESTS} == {__version__}
    assert {content(path)["name"] for path in MANIFESTS} == {"boocode"}


@pytest.mark.parametrize("top", [TOP, TOP / "hooks"], ids=["clone", "installed"])
def test_marketplaces_lead_to_it(top: Path) -> None:
    market = content(top / ".claude-plugin/marketplace.json")
    (listed,) = market["plugins"]
    assert (market["name"], listed["name"]) == ("git-boocode", "boocode")
    assert (top / listed["source"]).resolve() == PLUGIN


def test_the_portable_manifest_has_only_fields_of_the_specification() -> None:
    schema = "https://agent-plugins.org/schemas/1.0.0"
    plugin, servers = content(PORTABLE / "plugin.json"), content(PORTABLE / "mcp.json")
    fields = "$schema name version description author homepage repository license keywords"
    assert plugin.keys() <= {*fields.split(), "extensions"}
    assert plugin["$schema"] == f"{schema}/plugin.schema.json"
    assert servers.keys() == {"$schema", "mcpServers"}
    assert servers["$schema"] == f"{schema}/mcp.schema.json"
    (server,) = servers["mcpServers"].values()
    assert server.keys() <= {"type", "command", "args", "env", "cwd"}
    assert (PORTABLE / server["command"]).resolve() == LAUNCHER


@pytest.mark.parametrize(
    ("path", "agents"),
    [
        (PLUGIN / "hooks/hooks.json", ["claude-code", "codex", "qwen"]),
        (PORTABLE / "hooks/hooks.json", ["gemini"]),
    ],
    ids=["Claude Code", "Gemini"],
)
def test_hooks_are_for_the_events_of_the_agents(path: Path, agents: list[str]) -> None:
    hooks = content(path)["hooks"]
    # They ignore events that they do not have.
    assert set(hooks) == {event for name in agents for event in AGENTS[name].events()}
    for event, ((group,),) in ((event, [groups]) for event, groups in hooks.items()):
        (hook,) = group["hooks"]
        assert re.fullmatch(rf'sh "\$\{{\w+\}}[\w/]+" hook auto {event} \|\| :', hook["command"])
        # Agents disagree about its unit, and a hook ends by itself.
        assert "timeout" not in hook


@pytest.mark.parametrize("name", NAMES)
def test_a_command_says_the_same_to_every_agent(name: str) -> None:
    markdown = (PLUGIN / f"commands/{name}.md").read_text(encoding="utf-8")
    toml = (PORTABLE / f"commands/boocode/{name}.toml").read_text(encoding="utf-8")
    _, head, body = markdown.split("---\n", 2)
    found = re.fullmatch(r'description = "(.*)"\nprompt = """\n(.*)"""\n', toml, re.DOTALL)
    assert found
    assert f"description: {found[1]}\n" in head
    assert found[2] == body.lstrip("\n").replace("$ARGUMENTS", "{{args}}")


def test_commands_in_the_texts_work(repo: Repo) -> None:
    named = [
        command
        for path in TEXTS
        for command in re.findall(r"`git boocode ([^`]+)`", path.read_text(encoding="utf-8"))
    ]
    assert {command.split()[0] for command in named} >= {*NAMES, "undo", "show"}
    repo.write("a", "one\n")
    turn(repo, prompt="first", prompt_id="1")
    repo.write("a", "two\n")
    turn(repo, prompt="second", prompt_id="2")
    first, _ = taken(repo)
    for command in named:
        words = shlex.split(command.replace("<id>", first["id"]).replace("<path>", "a"))
        done = repo.boocode(*words)
        # An earlier one may have left nothing to do.
        assert done.code in (0, 1), (command, done.err)
        assert "usage:" not in done.err


@pytest.fixture
def start(sealed: Path, tmp_path: Path) -> Any:
    """Runs the launcher where PATH has git and the usual tools only, and says what came of it."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("cat", "git", "lsof", "pwd", "readlink", "sed", "sh"):
        if found := shutil.which(name):
            (tools / name).symlink_to(found)

    def run(*words: str, **options: Any) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": str(tools), "HOME": str(sealed)} | options.pop("env", {})
        command = ("sh", str(LAUNCHER), *words)
        return subprocess.run(command, env=environment, capture_output=True, text=True, **options)

    return run


def program(directory: Path) -> None:
    """A program that says where it runs, and with what."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "git-boocode"
    path.write_text('#!/bin/sh\necho "$0 $*"; pwd -P; cat\n')
    path.chmod(0o755)


def test_the_launcher_without_the_program(start: Any) -> None:
    if any((Path(each) / "git-boocode").exists() for each in ("/usr/local/bin", "/usr/bin")):
        pytest.skip("it is installed for all users of this machine")
    hook = start("hook", "auto", "Stop", input="{}")
    assert (hook.returncode, hook.stdout, hook.stderr) == (0, "", "")
    served = start("serve")
    assert (served.returncode, served.stdout) == (127, "")
    assert served.stderr.startswith("fatal: git-boocode is not installed where this plugin looks")


@pytest.mark.parametrize(
    "place",
    [".local/bin", "bin", ".local/share/uv/tools/git-boocode/bin", "Library/Python/3.11/bin"],
)
def test_the_launcher_finds_the_program_in(place: str, start: Any, sealed: Path) -> None:
    program(sealed / place)
    hook = start("hook", "auto", "Stop", input="payload")
    assert hook.returncode == 0
    called, _, payload = hook.stdout.split("\n")
    assert called == f"{sealed / place / 'git-boocode'} hook auto Stop"
    assert payload == "payload"


def test_the_program_on_the_path_is_first(start: Any, sealed: Path, tmp_path: Path) -> None:
    program(sealed / ".local/bin")
    program(tmp_path / "tools")
    assert start("serve", stdin=subprocess.DEVNULL).stdout.startswith(f"{tmp_path}/tools/")


def test_a_server_started_in_the_plugin_serves_the_directory_of_the_agent(
    start: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / "tools")
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    served = start("serve", cwd=PORTABLE, stdin=subprocess.DEVNULL)
    assert served.stdout.split("\n")[1] == os.path.realpath(work)
    elsewhere = start("serve", cwd=tmp_path, stdin=subprocess.DEVNULL)
    assert elsewhere.stdout.split("\n")[1] == os.path.realpath(tmp_path)
