"""`git boocode hooks`, as a user calls it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryFile

import pytest

from tests.repo_kit import Repo, Result, git_version
from tests.terminal_kit import Terminal

CONFIGURED = git_version() >= (2, 54)
in_files = pytest.mark.skipif(CONFIGURED, reason="this git reads hooks from the configuration")


def on_a_terminal(answer: str, *args: str) -> Result:
    """Run `git boocode` with someone who reads its standard error and types an answer."""
    with TemporaryFile() as out:
        terminal = Terminal(sys.executable, "-m", "git_boocode", *args, stdout=out)
        terminal.type(f"{answer}\n")
        code, said = terminal.end()
        out.seek(0)
        return Result(code, out.read().decode(), said)


def test_one_command_and_all_that_is_used_here_is_installed(repo: Repo, sealed: Path) -> None:
    repo.write("CLAUDE.md", "be brief\n")
    (sealed / ".gemini").mkdir()
    asked = (
        "these agents are used here or on this machine; this would be installed:\n"
        " A .claude/settings.local.json: Claude Code (local)\n"
        " A .gemini/settings.json: Gemini CLI (project)\n"
    )
    done = repo.boocode("hooks", "install")
    assert (done.code, done.out) == (1, asked)
    assert done.err == (
        "error: nothing was installed: there is no terminal to ask on\n"
        "hint: 'git boocode hooks install --agent claude-code --agent gemini' does it without "
        "asking\n"
    )
    answer = repo.boocode("hooks", "install", "--json")
    assert (answer.code, answer.json["error"]["code"]) == (1, "not_confirmed")
    assert [row["agent"] for row in answer.json["hooks"]] == ["claude-code", "gemini"]
    options = ("--project", "--exclude", "--exclude-decoration")
    wanted = f"--agent claude-code --agent gemini {' '.join(options)}' does it"
    assert wanted in repo.boocode("hooks", "install", *options).err

    done = on_a_terminal("", "hooks", "install")
    assert (done.code, done.out) == (1, asked)
    assert "install these hooks? [y/N, d for the diff]" in done.err
    assert "nothing was installed" in done.err
    assert not (repo.top / ".gemini").exists()

    done = on_a_terminal("y\nn", "hooks", "install")
    assert done.code == 0
    assert done.out.endswith("installed hooks for Claude Code and Gemini CLI\n")
    assert (repo.top / ".gemini/settings.json").exists()
    done = repo.boocode("hooks", "install")
    assert (done.code, done.out) == (0, "nothing to install\n")
    done = repo.boocode("hooks", "uninstall")
    assert (done.code, done.err) == (0, "")
    assert repo.status().count("CLAUDE.md") == 1
    assert not (repo.top / ".gemini").exists()


def test_an_agent_that_cannot_be_served_is_left_out(repo: Repo) -> None:
    repo.write(".clinerules", "be brief\n")
    done = repo.boocode("hooks", "install")
    assert done.code == 1
    path = repo.top / ".clinerules/hooks/TaskStart"
    why = "its parent '.clinerules' is not a directory"
    said = f"'{path}' cannot be used: {why}; nothing was changed"
    assert done.err == f"error: {said}\n"
    repo.write(".cursorrules", "be brief\n")
    done = on_a_terminal("yes\nno", "hooks", "install")
    assert done.code == 0
    assert f"warning: Cline is left out: {said}\n" in done.err
    assert done.out.endswith("installed hooks for Cursor\n")
    answer = repo.boocode("hooks", "install", "--json").json
    assert answer["hooks"] == []
    assert answer["notes"][0] == f"Cline is left out: {said}"
    assert repo.boocode("hooks", "uninstall").code == 0
    assert not (repo.top / ".cursor").exists()


def test_an_agent_that_was_never_started_is_found_by_its_program(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "claude").write_text("#!/bin/sh\n")
    monkeypatch.setenv("PATH", f"{os.environ['PATH']}{os.pathsep}{tmp_path}")
    assert repo.boocode("hooks", "install").out == ""
    (tmp_path / "claude").chmod(0o755)
    done = repo.boocode("hooks", "install")
    assert done.out.endswith("\n A .claude/settings.local.json: Claude Code (local)\n")


def test_the_diff_is_shown_before_the_answer(repo: Repo) -> None:
    repo.write(".cursor/hooks.json", '{"version": 1}\n')
    done = on_a_terminal("d\nn", "hooks", "install")
    assert (done.code, repo.read(".cursor/hooks.json")) == (1, b'{"version": 1}\n')
    _, _, shown = done.out.partition(" M .cursor/hooks.json: Cursor (project)\n")
    assert shown == repo.boocode("hooks", "install", "-n").out
    assert '-{"version": 1}\n' in shown
    assert done.err.count("install these hooks?") == 2


def test_where_no_agent_is_used(repo: Repo) -> None:
    done = repo.boocode("hooks", "install")
    assert done.code == 1
    assert done.err.startswith("error: no agent found in this worktree, in the home directory or ")
    assert "hint: name one with --agent: claude-code, codex, gemini," in done.err


def test_a_dry_run_shows_the_diff_and_writes_nothing(repo: Repo) -> None:
    repo.write(".cursor/hooks.json", '{\n  "version": 1,\n  "hooks": {}\n}\n')
    before = repo.files()
    done = repo.boocode("hooks", "install", "-n", "--agent", "cursor")
    assert done.code == 0
    assert done.out.startswith(f"--- {repo.top}/.cursor/hooks.json\n+++ ")
    assert '-  "hooks": {}\n+  "hooks": {\n+    "beforeSubmitPrompt": [\n' in done.out
    answer = repo.boocode("hooks", "install", "-n", "--agent", "cursor", "--json").json
    assert (answer["ok"], answer["dry_run"]) == (True, True)
    assert answer["diff"] == done.out
    assert repo.files() == before
    assert not (repo.top / ".git/boocode").exists()


def test_the_answer_of_install_and_uninstall(repo: Repo) -> None:
    answer = repo.boocode("hooks", "install", "--agent", "claude", "--project", "--json").json
    row = {
        "agent": "claude-code",
        "scope": "project",
        "path": f"{repo.top}/.claude/settings.json",
        "action": "create",
        "title": "Claude Code (project)",
    }
    assert (answer["ok"], answer["dry_run"], answer["hooks"]) == (True, False, [row])
    assert answer["notes"][0].startswith(
        "not ignored, so they can be committed: .claude/settings.json\n"
    )
    answer = repo.boocode("hooks", "uninstall", "--agent", "claude", "--json").json
    assert answer["hooks"] == [{**row, "action": "delete"}]
    assert answer["notes"] == []


def test_files_that_others_get_are_reported(repo: Repo) -> None:
    repo.write(".claude/settings.json", "{}\n")
    repo.write(".gitignore", "settings.local.json\n")
    repo.commit()
    done = repo.boocode("hooks", "install", "--agent", "claude-code")
    assert done.err == ""
    done = repo.boocode("hooks", "install", "--agent", "claude-code", "--project")
    tracked, path = done.err.splitlines()
    assert (
        tracked == "hint: tracked, so others get them with the next commit: .claude/settings.json"
    )
    assert path.startswith("hint: they use this machine's path '/")
    done = repo.boocode("hooks", "install", "--agent", "codex")
    assert "hint: Codex CLI runs no hook until you trust it: run '/hooks' in Codex" in done.err
    assert "hint: not ignored, so they can be committed: .codex/hooks.json\n" in done.err
    assert (
        "hint: 'git boocode hooks install --agent codex --exclude' adds them to .git/info/exclude\n"
    ) in done.err


def test_what_keeps_a_file_to_oneself_in_a_linked_worktree(repo: Repo, tmp_path: Path) -> None:
    repo.commit(a="a\n")
    repo.git("worktree", "add", str(tmp_path / "linked"))
    done = repo.boocode("hooks", "install", "--agent", "codex", cwd=tmp_path / "linked")
    exclude = repo.top / ".git/info/exclude"
    assert f"hooks install --agent codex --exclude' adds them to {exclude}\n" in done.err
    exclude.write_text(".codex/\n")
    assert repo.git("-C", str(tmp_path / "linked"), "status", "--porcelain") == ""


def test_files_that_are_made_are_excluded_where_that_is_asked_for(repo: Repo) -> None:
    exclude = repo.top / ".git/info/exclude"
    exclude.write_text("# mine\n*.log")
    agents = ("--agent", "claude-code", "--agent", "cursor")
    repo.write(".cursor/hooks.json", "{}\n")
    done = repo.boocode("hooks", "install", *agents, "--exclude", "-n")
    assert "+/.claude/settings.local.json\n" in done.out
    assert exclude.read_text() == "# mine\n*.log"
    done = repo.boocode("hooks", "install", *agents, "--exclude")
    assert done.code == 0
    assert " M .git/info/exclude: git (exclude)\ninstalled hooks for Claude Code and Cursor\n" in (
        done.out
    )
    assert repo.git("status", "--porcelain", "-uall") == "?? .cursor/hooks.json\n"
    said, command = done.err.partition(" >> ")[0].splitlines()[:2]
    assert said == "hint: not ignored, so they can be committed: .cursor/hooks.json"
    assert command.startswith("hint: --exclude adds only files that it makes; this excludes them")
    written = exclude.read_text()
    assert written.startswith("# mine\n*.log\n")
    subprocess.run(command.partition("well: ")[2] + f" >> {exclude}", shell=True, check=True)
    assert repo.git("status", "--porcelain", "-uall") == ""
    exclude.write_text(written)
    again = repo.boocode("hooks", "install", *agents, "--exclude")
    assert (again.out, exclude.read_text()) == ("nothing to install\n", written)

    exclude.write_text(f"{written}/.claude/settings.local.json\n")
    answer = repo.boocode("hooks", "uninstall", "--agent", "claude-code", "--json").json
    assert [row["path"] for row in answer["hooks"]] == [
        str(repo.top / ".claude/settings.local.json"),
        str(exclude),
    ]
    assert exclude.read_text() == "# mine\n*.log\n/.claude/settings.local.json\n"


def test_files_that_an_earlier_installation_made_are_excluded_later(repo: Repo) -> None:
    assert repo.boocode("hooks", "install", "--agent", "cline").code == 0
    done = repo.boocode("hooks", "install", "--agent", "cline", "--exclude")
    assert (done.code, done.out) == (0, " M .git/info/exclude: git (exclude)\n")
    assert repo.git("status", "--porcelain") == ""
    assert repo.boocode("hooks", "uninstall").code == 0
    assert ".clinerules" not in (repo.top / ".git/info/exclude").read_text()


@pytest.mark.parametrize(("answer", "shown"), [("y", ""), ("n", "?? .claude/\n")])
def test_a_terminal_asks_whether_to_exclude_a_file(repo: Repo, answer: str, shown: str) -> None:
    done = on_a_terminal(answer, "hooks", "install", "--agent", "claude-code")
    assert done.code == 0
    assert "add .claude/settings.local.json to .git/info/exclude? [y/N]" in done.err
    assert repo.git("status", "--porcelain") == shown


def test_files_elsewhere_and_ignored_files_are_not_excluded(repo: Repo, sealed: Path) -> None:
    repo.write(".git/info/exclude", ".claude/\n")
    assert repo.boocode("hooks", "install", "--agent", "claude-code", "--exclude").code == 0
    assert repo.boocode("hooks", "install", "--agent", "codex", "--user", "--exclude").code == 0
    assert repo.read(".git/info/exclude") == b".claude/\n"


def test_what_is_in_the_home_directory_is_a_matter_of_its_own(repo: Repo, sealed: Path) -> None:
    done = repo.boocode("hooks", "install", "--agent", "windsurf", "--user")
    assert done.out == (
        " A ~/.codeium/windsurf/hooks.json: Windsurf (user)\ninstalled hooks for Windsurf\n"
    )
    done = repo.boocode("hooks", "uninstall", "windsurf")
    assert done.err.endswith("hint: an agent is named by --agent windsurf\n")
    done = repo.boocode("hooks", "uninstall")
    assert done.out == "no hooks are installed\n"
    assert done.err == (
        "hint: Windsurf has hooks in your home directory, too: "
        "'git boocode hooks uninstall --user --agent windsurf' removes them\n"
    )
    done = repo.boocode("hooks", "uninstall", "--user")
    assert done.out.startswith(" D ~/.codeium/windsurf/hooks.json: Windsurf (user)\n")
    assert not (sealed / ".codeium").exists()
    assert [*sealed.rglob("git-boocode")] == []


def test_status_lists_an_agent_without_a_server(repo: Repo, sealed: Path) -> None:
    assert "Goose" not in repo.boocode("hooks", "status").out
    repo.write(".goosehints", "")
    assert "Goose: not installed\n" in repo.boocode("hooks", "status").out


def test_what_is_installed_is_renewed_where_it_is(repo: Repo, sealed: Path) -> None:
    repo.boocode("hooks", "install", "--agent", "claude-code", "--user")
    done = repo.boocode("hooks", "install")
    assert (done.code, done.out) == (0, "nothing to install\n")
    repo.git("config", "boocode.hookTimeout", "60")
    done = repo.boocode("hooks", "install", "--agent", "claude-code")
    assert done.out.startswith(" M ~/.claude/settings.json: Claude Code (user)\n")
    assert '"timeout": 65' in (sealed / ".claude/settings.json").read_text()
    assert not (repo.top / ".claude").exists()


def test_a_home_directory_that_is_a_worktree(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(repo.top))
    repo.boocode("hooks", "install", "--agent", "gemini", "--project")
    repo.git("config", "boocode.hookTimeout", "9")
    done = repo.boocode("hooks", "install", "--agent", "gemini")
    assert (done.code, done.out) == (
        0,
        " M .gemini/settings.json: Gemini CLI (project)\ninstalled hooks for Gemini CLI\n",
    )
    assert b'"timeout": 14000' in repo.read(".gemini/settings.json")


def test_outside_a_repository(repo: Repo, sealed: Path) -> None:
    for command in ("install", "uninstall"):
        done = repo.boocode("hooks", command, "--agent", "gemini", cwd=sealed)
        assert (done.code, done.out) == (128, "")
        said = "fatal: not in the worktree of a git repository\nhint: --user is for "
        assert done.err.startswith(said)
        assert repo.boocode("hooks", command, "--agent", "gemini", cwd=".git").err == done.err
    assert repo.boocode("hooks", "install", "--git", cwd=sealed).code == 128
    done = repo.boocode("hooks", "install", "--agent", "gemini", "--user", cwd=sealed)
    assert (done.code, done.err) == (0, "")
    done = repo.boocode("hooks", "status", cwd=sealed)
    assert done.out == (
        "Gemini CLI (user): installed for BeforeAgent, AfterAgent, SessionEnd, BeforeTool, "
        "AfterTool in "
        "~/.gemini/settings.json\n"
        "server: not installed\n"
    )
    done = repo.boocode("hooks", "uninstall", "--user", cwd=sealed)
    assert done.code == 0
    assert not (sealed / ".gemini").exists()


def test_no_directory_is_made_that_an_agent_fills(repo: Repo, sealed: Path) -> None:
    repo.write("opencode.json", "{}\n")
    repo.boocode("hooks", "install", "--agent", "opencode")
    assert not (repo.top / ".opencode").exists()
    assert "opencode/package.json" not in repo.read("opencode.json").decode()
    repo.boocode("hooks", "uninstall")
    assert repo.read("opencode.json") == b"{}\n"
    # An earlier version has made it.
    marker = "// git-boocode: made by 'git boocode hooks install'\n"
    repo.write(".opencode/plugins/boocode.ts", marker)
    (repo.top / ".opencode/node_modules").mkdir()
    done = repo.boocode("hooks", "install", "--agent", "opencode")
    assert "hint: the packages that opencode installed into '.opencode' stay there\n" in done.err
    assert "do not commit them" in done.err
    assert not (repo.top / ".opencode/plugins/boocode.ts").exists()
    done = repo.boocode("hooks", "install", "--agent", "opencode", "--user")
    assert (done.code, done.err) == (0, "")


def test_git_and_agents_together(repo: Repo) -> None:
    done = repo.boocode("hooks", "install", "--git", "--agent", "opencode")
    assert done.code == 0
    assert " A opencode.json: opencode (project)\n" in done.out
    if not CONFIGURED:
        assert " A .git/hooks/pre-rebase: git hook pre-rebase\n" in done.out
    assert done.out.endswith("installed hooks for opencode and git\n")
    done = repo.boocode("hooks", "uninstall", "--git")
    assert done.out.endswith("uninstalled hooks for git\n")
    assert (repo.top / "opencode.json").exists()
    assert not (repo.top / ".git/hooks/pre-rebase").exists()
    repo.boocode("hooks", "install", "--git")
    assert not (repo.top / ".claude").exists()
    done = repo.boocode("hooks", "uninstall")
    assert done.out.endswith("uninstalled hooks for opencode and git\n")
    assert repo.git("status", "--short") == ""


@in_files
def test_a_hook_that_is_not_a_shell_script(repo: Repo) -> None:
    path = repo.write(".git/hooks/pre-commit", "#!/usr/bin/env python3\n", 0o755)
    done = repo.boocode("hooks", "install", "--git", "--agent", "cursor")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(
        f"error: cannot install the git hook '{path}': it is not a script with a shell in its "
        "first line; nothing was changed\nhint: call this from it yourself: "
    )
    assert not (repo.top / ".cursor").exists()
    assert not (repo.top / ".git/hooks/pre-rebase").exists()


def test_all_or_none(repo: Repo) -> None:
    repo.write(".claude/settings.local.json", '{"hooks": []}')
    before = repo.files()
    done = repo.boocode("hooks", "install", "--git", "--agent", "cursor", "--agent", "claude")
    path = repo.top / ".claude/settings.local.json"
    assert (done.code, done.out) == (1, "")
    assert done.err == (
        f"error: '{path}' cannot be changed: 'hooks' in it is not an object; nothing was changed\n"
        "hint: fix the file and try again\n"
    )
    assert repo.files() == before
    assert not (repo.top / ".git/hooks/pre-commit").exists()


def test_status(repo: Repo, sealed: Path) -> None:
    (sealed / ".codex").mkdir()
    repo.write(".claude/settings.json", "{")
    repo.write(
        ".cursor/hooks.json",
        json.dumps({"hooks": {"beforeSubmitPrompt": [{"command": "git boocode hook cursor"}]}}),
    )
    repo.git("config", "boocode.perTool", "never")
    repo.boocode("hooks", "install", "--agent", "claude-code", "--agent", "gemini")
    repo.git("config", "boocode.perTool", "auto")
    done = repo.boocode("hooks", "status")
    path = repo.top / ".claude/settings.json"
    assert done.code == 0
    assert done.out == (
        "Claude Code (local): partly installed for UserPromptSubmit, Stop, StopFailure, "
        "SessionEnd in "
        ".claude/settings.local.json\n"
        f"Claude Code (project): '{path}' cannot be changed: it is not valid JSON, at line 1, "
        "column 2\n"
        "  never called here\n"
        "Codex CLI: not installed\n"
        "Gemini CLI (project): partly installed for BeforeAgent, AfterAgent, SessionEnd in "
        ".gemini/settings.json\n"
        "  never called here\n"
        "Cursor (project): partly installed for beforeSubmitPrompt in .cursor/hooks.json\n"
        "  never called here\n"
        "server: not installed\n"
        "git: not installed\n"
    )
    assert (
        "hint: PreToolUse, PostToolUse is missing for Claude Code; "
        "'git boocode hooks install --agent claude-code --local' installs it\n"
    ) in done.err
    answer = repo.boocode("hooks", "status", "--json").json
    states = {(row["agent"], row["scope"]): row["state"] for row in answer["agents"]}
    assert states == {
        ("claude-code", "local"): "partly",
        ("claude-code", "project"): "unusable",
        ("claude-code", "user"): "not_installed",
        ("codex", "project"): "not_installed",
        ("codex", "user"): "not_installed",
        ("gemini", "project"): "partly",
        ("gemini", "user"): "not_installed",
        ("cursor", "project"): "partly",
        ("cursor", "user"): "not_installed",
    }
    assert {row["event"] for row in answer["git"]} >= {"pre-commit", "post-merge"}


def test_status_of_what_is_installed_otherwise(repo: Repo) -> None:
    repo.git("config", "boocode.perTool", "true")
    repo.boocode("hooks", "install", "--agent", "gemini", "--git")
    path = repo.top / ".gemini/settings.json"
    repo.git("config", "boocode.perTool", "false")
    repo.git("config", "boocode.gitHooks", "pre-commit")
    done = repo.boocode("hooks", "status")
    assert "boocode.perTool is never, but BeforeTool, AfterTool is installed" in done.err
    assert "not as boocode.gitHooks asks: pre-merge-commit, pre-rebase," in done.err
    path.write_text(path.read_text().replace(" hook gemini", "-old/git-boocode hook gemini"))
    done = repo.boocode("hooks", "status")
    assert "Gemini CLI (project): installed with another command or timeout for " in done.out
    done = repo.boocode("hooks", "install", "--agent", "gemini", "--git")
    if not CONFIGURED:
        assert " D .git/hooks/pre-merge-commit: git hook pre-merge-commit\n" in done.out
    assert done.out.endswith(
        f"{'installed' if CONFIGURED else 'changed'} hooks for Gemini CLI and git\n"
    )
    done = repo.boocode("hooks", "status")
    assert done.err == ""
    assert (
        "Gemini CLI (project): installed for BeforeAgent, AfterAgent, SessionEnd in "
        ".gemini/settings.json\n" in done.out
    )


def test_command_lines_that_make_no_sense(repo: Repo) -> None:
    for args, said in (
        ((), "error: no command given\nusage: git boocode hooks "),
        (("instal",), "error: 'instal' is not a git boocode hooks command\n"),
        (("install", "--agent", "nobody"), "error: unknown agent 'nobody'\n"),
        (("install", "--agent"), "error: option '--agent' requires a value\n"),
        (("install", "--user", "--local"), "error: options '--user' and '--local' cannot "),
        (("uninstall", "--local", "--project"), "error: options '--local' and '--project' cannot "),
        (("install", "--git", "--user"), "error: options '--git' and '--user' cannot "),
        (("status", "extra"), "error: unexpected argument 'extra'\n"),
    ):
        done = repo.boocode("hooks", *args)
        assert (done.code, done.out) == (129, "")
        assert done.err.startswith(said)


def test_a_scope_that_an_agent_does_not_have(repo: Repo) -> None:
    for command in ("install", "uninstall"):
        done = repo.boocode("hooks", command, "--agent", "gemini", "--local")
        assert done.code == 1
        assert done.err == (
            "error: Gemini CLI has no files for --local\nhint: it has --project and --user\n"
        )


def test_the_repository_of_somebody_else_is_named(repo: Repo) -> None:
    other = {"GIT_TEST_ASSUME_DIFFERENT_OWNER": "1"}
    if subprocess.run(["git", "status"], env={**os.environ, **other}).returncode == 0:
        pytest.skip("this git does not look at owners, or not at this variable")
    for command in (("hooks", "status", "--json"), ("hooks", "install", "--git"), ("checkpoint",)):
        done = repo.boocode(*command, env=other)
        assert done.code == 128
        assert "dubious ownership" in done.out + done.err
        assert "safe.directory" in done.out + done.err
        if "--json" in command:
            assert done.json["error"]["code"] == "dubious_ownership"


@in_files
@pytest.mark.parametrize("hooks_path", ["", ".githooks"])
def test_hooks_that_a_link_leads_out_of_the_repository(
    repo: Repo, tmp_path: Path, hooks_path: str
) -> None:
    link = repo.top / (hooks_path or ".git/hooks")
    if hooks_path:
        repo.git("config", "core.hooksPath", hooks_path)
    else:
        shutil.rmtree(link)
    link.symlink_to(tmp_path / "shared")
    assert repo.boocode("hooks", "install", "--git").code == 1
    (tmp_path / "shared").mkdir()
    done = repo.boocode("hooks", "install", "--git", "--json")
    assert (done.code, done.json["error"]["code"]) == (1, "shared_hooks")
    assert "leads out of the repository" in done.json["error"]["message"]
    assert list((tmp_path / "shared").iterdir()) == []


@in_files
def test_hooks_behind_a_link_inside_the_worktree(repo: Repo) -> None:
    shutil.rmtree(repo.top / ".git/hooks")
    (repo.top / "hooks").mkdir()
    (repo.top / ".git/hooks").symlink_to("../hooks")
    assert repo.boocode("hooks", "install", "--git").code == 0
    assert (repo.top / "hooks/pre-commit").exists()


@pytest.fixture
def linked(repo: Repo, tmp_path: Path) -> Path:
    """Another worktree of the repository."""
    repo.commit(a="one\n")
    path = tmp_path / "linked"
    repo.git("worktree", "add", "-q", str(path))
    # Somebody deleted this one.
    repo.git("worktree", "add", "-q", "--detach", str(tmp_path / "gone"))
    shutil.rmtree(tmp_path / "gone")
    return path


def test_hooks_say_in_which_worktrees_they_hold(repo: Repo, linked: Path, sealed: Path) -> None:
    done = repo.boocode("hooks", "install", "--agent", "gemini", "--json")
    here = {"path": str(repo.top), "agents": ["gemini"], "missing": []}
    assert done.json["worktrees"] == [
        here,
        {"path": str(linked), "agents": [], "missing": ["gemini"]},
    ]
    assert repo.boocode("hooks", "status", "--json").json["worktrees"] == done.json["worktrees"]
    assert f"worktree {linked}: no hooks for Gemini CLI\n" in repo.boocode("hooks", "status").out
    done = repo.boocode("hooks", "install", "--agent", "gemini")
    assert (
        f"hint: the hooks hold in 1 of 2 worktrees, not in {linked}\n"
        "hint: 'git boocode hooks install --agent gemini --user' installs them for all worktrees\n"
    ) in done.err
    repo.boocode("hooks", "install", "--agent", "gemini", cwd=linked)
    assert "worktree " not in repo.boocode("hooks", "status").out
    repo.boocode("hooks", "uninstall")
    repo.boocode("hooks", "uninstall", cwd=linked)
    done = repo.boocode("hooks", "install", "--agent", "gemini", "--user")
    assert "hint: the hooks hold in all 2 worktrees of this repository\n" in done.err
    rows = repo.boocode("hooks", "status", "--json", cwd=linked).json["worktrees"]
    assert [(row["path"], row["missing"]) for row in rows] == [
        (str(linked), []),
        (str(repo.top), []),
    ]


def test_where_hooks_are_missing_log_and_status_say_so(
    repo: Repo, linked: Path, sealed: Path
) -> None:
    repo.boocode("hooks", "install", "--agent", "claude-code", "--agent", "gemini")
    said = (
        "hint: the hooks of Claude Code, Gemini CLI hold in 1 of 2 worktrees, not in this one\n"
        "hint: 'git boocode hooks install --agent claude-code --agent gemini' installs them here, "
        "or for all worktrees with --user\n"
    )
    takes_one = "hint: this worktree has no checkpoints; 'git boocode checkpoint' takes one\n"
    assert repo.boocode("log", cwd=linked).err == said + takes_one
    assert repo.boocode("status", cwd=linked).err == said
    status = repo.boocode("status", "--json", cwd=linked).json
    assert status["hooks"]["missing"] == ["claude-code", "gemini"]
    assert "hold in" not in repo.boocode("log").err + repo.boocode("status").err
    repo.boocode("checkpoint", cwd=linked)
    assert repo.boocode("log", cwd=linked).err == said
    assert repo.boocode("log", "--grep", "x", cwd=linked).err == ""
    repo.boocode("hooks", "install", "--agent", "gemini", "--user")
    hint = "hint: the hooks of Claude Code hold in 1 of 2 worktrees, not in this one\n"
    assert repo.boocode("log", cwd=linked).err.startswith(hint)
    # Whatever has recorded a turn of an agent records the next one, too.
    repo.boocode("checkpoint", "--agent", "claude-code", cwd=linked)
    assert repo.boocode("log", cwd=linked).err == ""


def test_the_only_worktree_is_not_mentioned(repo: Repo) -> None:
    done = repo.boocode("hooks", "install", "--agent", "gemini")
    assert "worktrees" not in done.err
    assert repo.boocode("hooks", "status", "--json").json["worktrees"] == []


@pytest.mark.parametrize(("answer", "is_in_home"), [("y\n", True), ("n\nn\n", False)])
def test_with_several_worktrees_the_home_directory_is_offered(
    answer: str, is_in_home: bool, repo: Repo, linked: Path, sealed: Path
) -> None:
    done = on_a_terminal(answer, "hooks", "install", "--agent", "gemini")
    assert done.code == 0
    question = "this repository has 2 worktrees; install in your home directory, for all? [y/N]"
    assert question in done.err
    assert (sealed / ".gemini/settings.json").exists() is is_in_home
    assert (repo.top / ".gemini/settings.json").exists() is not is_in_home
    # They are renewed where they are.
    again = on_a_terminal("", "hooks", "install", "--agent", "gemini")
    assert question not in again.err
