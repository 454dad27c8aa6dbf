"""`git boocode serve --install`, as a user calls it: for each agent and scope, and back again."""

from __future__ import annotations

import json
import os
import re
import shlex
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from git_boocode.agents.agent import PROJECT, SERVER, USER, Agent
from git_boocode.agents.config_files import Locations
from git_boocode.agents.install import wanted_server
from git_boocode.agents.registry import SERVER_AGENTS
from git_boocode.cli.tool_definitions import definitions
from git_boocode.editing.edits import ENCODINGS
from git_boocode.editing.formats import FORMATS
from git_boocode.matching import PROFILES
from tests.agents.test_install import tree
from tests.repo_kit import Repo

SCOPED = [
    (agent, scope)
    for agent in SERVER_AGENTS.values()
    for scope in (agent.servers.places if agent.servers else ())
]
PROGRAM = list(wanted_server().program)
"""Our program, and the command `serve`."""

OTHERS = {
    ".json": '{\n\t"theme": "dark", // at night\n\t"other": {"a": [1,2]},\n}\n',
    ".toml": '# mine\nmodel = "x"   # big\n\n[tui]\ntheme = "dark"\n',
}


def path_of(agent: Agent, scope: str) -> Path:
    return Path(Locations.here().files(agent, scope, SERVER)[0].path)


def states(repo: Repo) -> dict[tuple[str, str], str]:
    rows = repo.boocode("hooks", "status", "--json", "-v").json["servers"]
    return {(row["agent"], row["scope"]): row["state"] for row in rows}


def serve(repo: Repo, *args: str, code: int = 0) -> Any:
    """Call it with --json."""
    done = repo.boocode("serve", *args, "--json")
    assert done.code == code, done.out + done.err
    return done.json


def test_where_nothing_is_there(repo: Repo, sealed: Path) -> None:
    (sealed / ".local/state").mkdir(parents=True)
    before = tree(repo.top, sealed)
    assert set(states(repo).values()) == {"not_installed"}
    for scope in (PROJECT, USER):
        agents = {agent.name: agent for agent, each in SCOPED if each == scope}
        rows = serve(repo, "--install", *agents, f"--{scope}")["files"]
        assert {row["agent"]: Path(row["path"]) for row in rows} == {
            name: path_of(agent, scope) for name, agent in agents.items()
        }
        assert {(row["scope"], row["action"]) for row in rows} == {(scope, "create")}
        there = tree(repo.top, sealed)
        assert serve(repo, "--install", *agents, f"--{scope}")["files"] == []
        assert tree(repo.top, sealed) == there
    assert set(states(repo).values()) == {"installed"}
    for scope in (PROJECT, USER):
        rows = serve(repo, "--uninstall", f"--{scope}")["files"]
        assert {row["action"] for row in rows} == {"delete"}
        assert serve(repo, "--uninstall", f"--{scope}")["files"] == []
    assert tree(repo.top, sealed) == before


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_file_that_the_user_has(repo: Repo, sealed: Path, newline: str) -> None:
    (sealed / ".local/state").mkdir(parents=True)
    agents = {agent.name: agent for agent, scope in SCOPED if scope == PROJECT}
    paths = [path_of(agent, PROJECT) for agent in agents.values()]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(OTHERS[path.suffix].replace("\n", newline).encode())
        path.chmod(0o640)
    before = tree(repo.top, sealed)
    serve(repo, "--install", *agents, "--project")
    written = {path: path.read_bytes() for path in paths}
    for path, there in written.items():
        lines = list(filter(None, OTHERS[path.suffix].split("\n")))
        assert [line for line in there.decode().split(newline) if line in lines] == lines
        assert there.count(b"\n") == there.count(newline.encode())
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
    serve(repo, "--install", *agents, "--project")
    assert {path: path.read_bytes() for path in paths} == written
    serve(repo, "--uninstall", *agents, "--project")
    assert tree(repo.top, sealed) == before


# Hooks and server are in one file.
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("gemini", OTHERS[".json"]),
        # Hooks go into this file if it lists some.
        ("codex", '[[hooks.Stop]]\nmatcher = "x"\n'),
    ],
    ids=["gemini", "codex"],
)
@pytest.mark.variants
def test_hooks_and_server_in_one_file(repo: Repo, name: str, text: str) -> None:
    path = path_of(SERVER_AGENTS[name], PROJECT)
    path.parent.mkdir()
    path.write_text(text)
    before = tree(repo.top)
    hooks, server = ("--agent", name, "--project"), (name, "--project")
    steps = {
        "hooks": lambda verb: repo.boocode("hooks", verb, *hooks),
        "server": lambda verb: repo.boocode("serve", f"--{verb}", *server),
    }
    for first, last in (("hooks", "hooks"), ("server", "hooks"), ("hooks", "both")):
        for step in sorted(steps, key=lambda step: step != first):
            assert steps[step]("install").code == 0
        if last == "both":
            assert repo.boocode("uninstall").code == 0
        else:
            for step in sorted(steps, key=lambda step: step == last):
                assert states(repo)[name, PROJECT] == "installed" or step == "hooks"
                assert steps[step]("uninstall").code == 0
        assert tree(repo.top) == before, (first, last)


def test_the_default_scope_and_where_it_is_installed_already(repo: Repo, sealed: Path) -> None:
    done = repo.boocode("serve", "--install", "claude-code", "windsurf")
    assert done.code == 0
    assert done.out == (
        " A .mcp.json: Claude Code (project)\n"
        " A ~/.codeium/windsurf/mcp_config.json: Windsurf (user)\n"
        "installed the server for Claude Code and Windsurf\n"
    )
    repo.boocode("serve", "--uninstall", "claude-code")
    repo.boocode("serve", "--install", "claude-code", "--user")
    path = sealed / ".claude.json"
    path.write_text(path.read_text().replace(PROGRAM[0], "/old/git-boocode"))
    assert states(repo)["claude-code", USER] == "other_command"
    done = repo.boocode("hooks", "status")
    assert "'git boocode serve --install claude-code --user' renews the server" in done.err
    (row,) = serve(repo, "--install", "claude")["files"]
    assert (row["path"], row["action"]) == (str(path), "modify")
    assert states(repo)["claude-code", USER] == "installed"
    assert path.exists()
    repo.boocode("serve", "--uninstall", "--user")
    assert not path.exists()
    assert not (sealed / ".codeium").exists()


def test_what_stays_in_the_home_directory_is_named(repo: Repo) -> None:
    serve(repo, "--install", "windsurf", "cline")
    serve(repo, "--install", "claude-code", "--user")
    hints = [
        f"hint: the server for {title} is in your home directory: "
        f"'git boocode serve --uninstall {name} --user' removes it\n"
        for name, title in (
            ("claude-code", "Claude Code"),
            ("windsurf", "Windsurf"),
            ("cline", "Cline"),
        )
    ]
    for arguments in ((), ("-n",)):
        done = repo.boocode("serve", "--uninstall", *arguments)
        assert (done.code, done.out) == (0, "no server is installed in this worktree\n")
        assert done.err == "".join(hints)
    done = repo.boocode("serve", "--uninstall", "claude-code")
    assert (done.out, done.err) == ("no server is installed in this worktree\n", hints[0])
    done = repo.boocode("serve", "--uninstall", "windsurf")
    assert done.err == ""
    assert done.out == (
        " D ~/.codeium/windsurf/mcp_config.json: Windsurf (user)\n"
        "uninstalled the server for Windsurf\n"
    )
    serve(repo, "--uninstall", "cline", "claude-code", "--user")
    done = repo.boocode("serve", "--uninstall")
    assert (done.out, done.err) == ("no server is installed\n", "")


def test_the_file_of_a_worktree_that_is_the_home_directory_is_removed_once(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(repo.top))
    serve(repo, "--install", "cursor")
    done = repo.boocode("serve", "--uninstall")
    assert (done.out, done.err) == (
        " D .cursor/mcp.json: Cursor (project)\nuninstalled the server for Cursor\n",
        "",
    )


def test_options_become_part_of_the_entry(repo: Repo) -> None:
    serve(repo, "--install", "vscode", "--read-only", "--repo", ".")
    entry = json.loads(repo.read(".vscode/mcp.json"))["servers"]["boocode"]
    assert entry["args"][-3:] == ["--repo", str(repo.top), "--read-only"]
    done = repo.boocode("hooks", "status")
    options = f"--repo {repo.top} --read-only"
    assert f"installed with {options} in .vscode/mcp.json\n" in done.out
    before = repo.read(".vscode/mcp.json")
    answer = serve(repo, "--install", "vscode", code=1)
    assert answer["error"] == {
        "code": "changed",
        "message": f"'boocode' in '{repo.top}/.vscode/mcp.json' is already installed with other "
        f"options: {options}; nothing was changed",
        "hint": "'git boocode serve --uninstall vscode --project' removes it; "
        "then install it again",
    }
    assert repo.read(".vscode/mcp.json") == before
    serve(repo, "--install", "cursor")
    message = serve(repo, "--install", "cursor", "--read-only", code=1)["error"]["message"]
    assert message.endswith("is already installed without options; nothing was changed")


def test_a_worktree_that_does_not_exist_is_not_installed(repo: Repo, sealed: Path) -> None:
    before = tree(repo.top, sealed)
    for elsewhere in ("nowhere", str(repo.top.parent)):
        serve(repo, "--install", "codex", "--repo", elsewhere, code=128)
    assert tree(repo.top, sealed) == before


def test_null_is_no_list_of_servers(repo: Repo) -> None:
    for content in ('{"mcpServers": null}', '{"mcpServers": {"boocode": null}}'):
        repo.write(".mcp.json", content)
        answer = serve(repo, "--install", "claude-code", code=1)
        assert answer["error"]["code"] == "unusable_file"
        assert repo.read(".mcp.json") == content.encode()


def test_a_tracked_file_has_no_path_of_this_machine(repo: Repo) -> None:
    repo.commit("Begin", **{".mcp.json": "{}\n"})
    shown = repo.boocode("serve", "--install", "claude-code", "cursor", "-n")
    assert "tracked, so others would get them with the next commit: .mcp.json\n" in shown.err
    first = repo.boocode("serve", "--install", "claude-code", "cursor")
    entry = json.loads(repo.read(".mcp.json"))["mcpServers"]["boocode"]
    assert (entry["command"], entry["args"]) == ("git", ["boocode", "serve"])
    assert "tracked, so others get them with the next commit: .mcp.json\n" in first.err
    assert states(repo)["claude-code", PROJECT] == "installed"
    assert states(repo)["cursor", PROJECT] == "installed"
    done = repo.boocode("serve", "--install", "claude-code", "--repo", ".")
    assert (done.code, done.out) == (129, "")
    assert "'--repo' cannot go into .mcp.json, which git tracks\n" in done.err
    if PROGRAM[0] != "git":
        path = shlex.join(PROGRAM[:-1])
        assert f"they use this machine's path '{path}'; do not commit them\n" in first.err
        assert f"they would use this machine's path '{path}'; do not commit them\n" in shown.err
        assert "'git boocode' has to be on the agents' PATH" in first.err
        assert PROGRAM[0] in repo.read(".cursor/mcp.json").decode()


def test_files_that_are_made_are_excluded_where_that_is_asked_for(repo: Repo) -> None:
    exclude = repo.top / ".git/info/exclude"
    before = exclude.read_bytes()
    repo.boocode("serve", "--install", "gemini", "opencode", "--exclude")
    assert repo.git("status", "--short") == ""
    repo.boocode("hooks", "install", "--agent", "gemini")
    repo.boocode("hooks", "uninstall", "--agent", "gemini")
    # The server is still in the file.
    assert repo.git("status", "--short") == ""
    comment = "# git-boocode: file of an agent, excluded when hooks or the server were installed\n"
    assert exclude.read_text().endswith(
        f"{comment}/.gemini/settings.json\n{comment}/opencode.json\n"
    )
    repo.boocode("serve", "--uninstall")
    assert exclude.read_bytes() == before


def test_of_two_files_the_one_that_is_there_is_used(repo: Repo) -> None:
    repo.write("opencode.jsonc", '{ "mcp": {} } // mine\n')
    serve(repo, "--install", "opencode")
    assert b'"boocode"' in repo.read("opencode.jsonc")
    repo.write("opencode.json", "{}\n")
    assert serve(repo, "--install", "opencode")["files"] == []
    serve(repo, "--uninstall", "opencode")
    assert repo.read("opencode.jsonc") == b'{ "mcp": {} } // mine\n'
    assert repo.read("opencode.json") == b"{}\n"


def test_completion_offers_the_agents_and_editors(repo: Repo) -> None:
    done = repo.boocode("completion", "--candidates", "serve", "--install", "v")
    assert done.out == "vscode\tVS Code\n"


def test_another_server_of_that_name_is_kept_and_named(repo: Repo) -> None:
    text = '{"mcpServers": {"boocode": {"command": "./mine.sh"}}}\n'
    repo.write(".cursor/mcp.json", text)
    answer = serve(repo, "--install", "cursor", code=1)
    assert answer["error"]["code"] == "exists"
    assert f"'boocode' in '{repo.top}/.cursor/mcp.json' is another" in answer["error"]["message"]
    answer = serve(repo, "--uninstall")
    assert answer["files"] == []
    assert answer["notes"] == ["'boocode' in .cursor/mcp.json is another server, and stays"]
    done = repo.boocode("hooks", "status")
    assert (
        "server for Cursor (project): another server has its name in .cursor/mcp.json" in done.out
    )
    assert repo.read(".cursor/mcp.json").decode() == text


def _directory(path: Path) -> None:
    path.mkdir()


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _deep(path: Path) -> None:
    path.write_text('{"a": ' + "[" * 5000 + "]" * 5000 + "}")


def seen(path: Path) -> tuple[int, ...]:
    found = path.lstat()
    return (found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns)


@pytest.mark.slow
@pytest.mark.parametrize("make", [_directory, _fifo, _deep])
def test_what_is_in_the_place_of_the_file_is_left_alone(repo: Repo, make: Any) -> None:
    paths = {name: path_of(SERVER_AGENTS[name], PROJECT) for name in ("claude-code", "codex")}
    for path in paths.values():
        path.parent.mkdir(exist_ok=True)
        make(path)
    before = [seen(path) for path in paths.values()]
    for name in paths:
        answer = serve(repo, "--install", name, code=1)
        assert answer["error"]["code"] in ("unusable_file", "outside_worktree")
    assert repo.boocode("hooks", "status").code == 0
    assert repo.boocode("serve", "--uninstall").code == 0
    assert repo.boocode("uninstall").code == 0
    assert [seen(path) for path in paths.values()] == before


def test_a_file_without_permission(repo: Repo) -> None:
    repo.write(".cursor/mcp.json", "{}", mode=0)
    done = repo.unprivileged("serve", "--install", "cursor")
    assert done.code in (1, 128)
    assert ".cursor/mcp.json" in done.err
    assert repo.unprivileged("hooks", "status").code == 0
    (repo.top / ".cursor/mcp.json").chmod(0o644)
    assert repo.read(".cursor/mcp.json") == b"{}"


def test_a_restore_leaves_the_server_installed(repo: Repo) -> None:
    repo.commit("Begin", a="1\n")
    repo.boocode("checkpoint")
    serve(repo, "--install", "claude-code", "gemini")
    repo.write("a", "2\n")
    done = repo.boocode("restore", "@")
    assert done.code == 0
    assert "left alone: .mcp.json: server for Claude Code left installed\n" in done.err
    assert states(repo)["claude-code", PROJECT] == "installed"
    repo.commit("Share", **{".mcp.json": "{}\n"})
    repo.boocode("checkpoint")
    serve(repo, "--install", "claude-code")
    done = repo.boocode("restore", "@")
    assert "warning: .mcp.json lost the server for Claude Code\n" in done.err
    assert "'git boocode serve --install claude-code --project' installs what" in done.err
    assert repo.read(".mcp.json") == b"{}\n"


def test_outside_a_repository(repo: Repo, sealed: Path) -> None:
    done = repo.boocode("serve", "--install", "gemini", cwd=sealed)
    assert (done.code, done.out) == (128, "")
    assert done.err.startswith("fatal: not in the worktree of a git repository\nhint: --user is ")
    assert repo.boocode("serve", "--uninstall", cwd=sealed).err == done.err
    assert repo.boocode("serve", "--install", "gemini", "--user", cwd=sealed).code == 0
    assert repo.boocode("serve", "--install", "cline", cwd=sealed).code == 0
    done = repo.boocode("hooks", "status", cwd=sealed)
    assert "server for Cline (user): installed in ~/.cline/data/settings/" in done.out
    assert repo.boocode("serve", "--uninstall", "--user", cwd=sealed).code == 0
    assert not (sealed / ".cline").exists()


def test_command_lines_that_make_no_sense(repo: Repo) -> None:
    for args, said in (
        (("--install",), "'--install' needs the names of agents"),
        (("--install", "emacs"), "unknown agent 'emacs'"),
        (("cursor",), "unexpected argument 'cursor'"),
        (("--dry-run",), "'--dry-run' needs '--install'"),
        (("--install", "--uninstall", "cursor"), "cannot be used together"),
        (("--install", "cursor", "--user", "--project"), "cannot be used together"),
        (("--uninstall", "--read-only"), "cannot be used together"),
    ):
        done = repo.boocode("serve", *args)
        assert (done.code, done.out) == (129, "")
        assert said in done.err


def test_an_agent_without_a_file_for_the_project(repo: Repo) -> None:
    answer = serve(repo, "--install", "windsurf", "--project", code=1)
    assert answer["error"]["code"] == "no_such_scope"
    assert "lists servers only in your home directory" in answer["error"]["message"]


def test_the_descriptions_of_tools_are_sentences() -> None:
    for tool in definitions().values():
        arguments = tool["inputSchema"]["properties"].values()
        for text in (tool["description"], *(each["description"] for each in arguments)):
            # `string: {path, ...}` are the fields of a format.
            sentences = text.split(" Give the fields of one format. ")[0]
            assert re.fullmatch(r"[A-Z'].*[.]", sentences, re.DOTALL), text
            assert not re.search(r"[.] [a-z]", sentences), text


def test_arguments_with_fixed_values_list_them() -> None:
    values: dict[str, Iterable[str]] = {
        "profile": PROFILES,
        "format": FORMATS,
        "position_encoding": ENCODINGS,
    }
    found = set()
    for tool in definitions().values():
        for name, schema in tool["inputSchema"]["properties"].items():
            if name in values:
                assert set(schema["enum"]) == set(values[name])
                found.add(name)
    assert found == values.keys()
