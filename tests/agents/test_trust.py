"""What agents trust, and when they last called, is read from what they and our hooks record."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path
from typing import Any

import pytest

from git_boocode.agents.hook_state import Turns, turn_of
from tests.agents.kit import fire, recorded
from tests.repo_kit import Repo

OTHER = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]}}


def codex_trusts(home: Path, *places: str) -> None:
    """Write the configuration of Codex as it is after `/hooks` and `t`."""
    rows = (f'[hooks.state."{place}"]\ntrusted_hash = "sha256:00"\n' for place in places)
    (home / ".codex").mkdir(exist_ok=True)
    (home / ".codex/config.toml").write_text('model = "x"\n' + "".join(rows))


def states(repo: Repo, agent: str) -> dict[str, Any]:
    """The installed hooks of an agent, by scope."""
    rows = repo.boocode("hooks", "status", "--json").json["agents"]
    return {row["scope"]: row for row in rows if row["agent"] == agent and row["events"]}


def test_codex_runs_the_hooks_that_the_user_has_trusted(repo: Repo, sealed: Path) -> None:
    repo.git("config", "boocode.perTool", "never")
    (sealed / ".codex").mkdir()
    path = sealed / ".codex/hooks.json"
    path.write_text(json.dumps(OTHER))
    done = repo.boocode("hooks", "install", "--agent", "codex", "--user")
    assert "run '/hooks' in Codex and press 't'; until then nothing is recorded" in done.err
    done = repo.boocode("hooks", "status")
    assert "\n  not trusted yet: Stop, UserPromptSubmit, SessionEnd\n" in done.out
    assert "run '/hooks' in Codex" in done.err
    # The place of somebody else's hook.
    others = (f"{path}:user_prompt_submit:0:0", f"{path}:session_end:0:0")
    codex_trusts(sealed, *others, f"{path}:stop:0:0")
    row = states(repo, "codex")["user"]
    assert (row["trusted"], row["untrusted"]) == (False, ["Stop"])
    found = repo.boocode("doctor", "--json")
    assert (found.code, found.json["error"]["code"]) == (1, "untrusted_hooks")
    assert found.json["error"]["hint"].startswith("Codex CLI runs no hook until you trust it")
    codex_trusts(sealed, *others, f"{path}:stop:1:0")
    assert states(repo, "codex")["user"]["trusted"] is True
    assert "not trusted" not in repo.boocode("hooks", "status").out
    assert repo.boocode("doctor").code == 0


def test_the_trust_of_hooks_in_toml_and_in_another_home(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.git("config", "boocode.perTool", "never")
    home = tmp_path / "elsewhere/.codex"
    home.mkdir(parents=True)
    monkeypatch.setenv("CODEX_HOME", str(home))
    path = home / "config.toml"
    path.write_text('[[hooks.Stop]]\nhooks = [{ type = "command", command = "mine" }]\n')
    repo.boocode("hooks", "install", "--agent", "codex", "--user")
    events = ["Stop", "UserPromptSubmit", "SessionEnd"]
    assert states(repo, "codex")["user"]["untrusted"] == events
    with path.open("a") as file:
        for place in ("stop:1:0", "session_end:0:0"):
            file.write(f'[hooks.state."{path}:{place}"]\ntrusted_hash = "sha256:00"\n')
    assert states(repo, "codex")["user"]["untrusted"] == ["UserPromptSubmit"]


def test_trust_is_unknown_if_it_cannot_be_read(repo: Repo, sealed: Path) -> None:
    repo.boocode("hooks", "install", "--agent", "codex", "--agent", "gemini")
    (sealed / ".codex").mkdir()
    (sealed / ".codex/config.toml").write_bytes(b"\xff")
    assert states(repo, "codex")["project"]["trusted"] is None
    assert states(repo, "gemini")["project"]["trusted"] is None


@pytest.mark.parametrize(
    ("name", "key"), [("settings.json", "trustedFolders"), ("config.json", "trusted_folders")]
)
def test_copilot_runs_the_hooks_of_a_project_in_trusted_folders(
    repo: Repo, sealed: Path, name: str, key: str
) -> None:
    done = repo.boocode("hooks", "install", "--agent", "copilot")
    assert "Copilot CLI runs a project's hooks only in trusted folders" in done.err
    repo.boocode("hooks", "install", "--agent", "copilot", "--user")
    assert {scope: row["trusted"] for scope, row in states(repo, "copilot").items()} == {
        "project": False,
        "user": True,
    }
    path = sealed / ".copilot" / name
    path.write_text(f'// managed\n{{"{key}": ["{repo.top}-other", "{repo.top.parent}"]}}\n')
    assert states(repo, "copilot")["project"]["trusted"] is True
    path.write_text(json.dumps({key: [f"{repo.top}-other"]}))
    assert states(repo, "copilot")["project"]["trusted"] is False


def test_the_last_call_of_each_agent(repo: Repo, sealed: Path) -> None:
    repo.boocode("hooks", "install", "--agent", "codex", "--agent", "gemini", "--agent", "qwen")
    assert states(repo, "codex")["project"]["last_call"] is None
    fire(repo, "codex", "UserPromptSubmit", payload=recorded(repo, "codex", "UserPromptSubmit"))
    # A call that fails counts as well.
    repo.git("config", "boocode.maxFileSize", "banana")
    fire(repo, "gemini", "BeforeAgent", payload=recorded(repo, "gemini", "BeforeAgent"))
    now = repo.boocode("hooks", "status").out
    for title, said in (("Codex CLI", "last called"), ("Gemini CLI", "last called")):
        assert re.search(rf"{title} .*\n(  not trusted.*\n)?  {said} ", now)
    assert re.search(r"Qwen Code .*\n  never called here\n", now)
    assert re.search(r"last called (just now|\d+ s ago) \(\d{4}-\d\d-\d\d \d\d:\d\d\)\n", now)


def test_a_worktree_has_calls_of_its_own(repo: Repo, tmp_path: Path) -> None:
    repo.commit(a="one\n")
    repo.boocode("hooks", "install", "--agent", "codex", "--user")
    repo.git("worktree", "add", "-q", str(tmp_path / "linked"))
    payload = recorded(repo, "codex", "UserPromptSubmit")
    fire(repo, "codex", "UserPromptSubmit", payload=payload)
    assert states(repo, "codex")["user"]["last_call"]
    rows = repo.boocode("hooks", "status", "--json", cwd=tmp_path / "linked").json["agents"]
    assert {row["last_call"] for row in rows} == {None}


@pytest.mark.parametrize("when", [float("inf"), float("nan"), -1e300])
def test_a_time_that_cannot_be_is_no_obstacle(repo: Repo, when: float) -> None:
    repo.boocode("hooks", "install", "--agent", "codex")
    repo.boocode("checkpoint")
    turns = Turns(str(repo.top / ".git/boocode/turns.json"))
    turns.note(turn_of("codex", "s", "t", "", None)._replace(time=when))
    assert repo.boocode("hooks", "status").code == 0


def test_a_call_is_believed_before_what_the_agent_records(repo: Repo, sealed: Path) -> None:
    """As with `--dangerously-bypass-hook-trust`, or a path that Codex writes in another way."""
    repo.boocode("hooks", "install", "--agent", "codex")
    path = repo.top / ".codex/hooks.json"
    os.utime(path, (time.time() - 60, time.time() - 60))
    assert states(repo, "codex")["project"]["trusted"] is False
    assert repo.boocode("doctor").code == 1
    payload = recorded(repo, "codex", "UserPromptSubmit")
    fire(repo, "codex", "UserPromptSubmit", payload=payload)
    row = states(repo, "codex")["project"]
    assert (row["trusted"], row["untrusted"]) == (True, [])
    for command in ("doctor", "status"):
        done = repo.boocode(command)
        assert (done.code, "trust" in done.out + done.err) == (0, False)
    # A changed hook has to be trusted again.
    os.utime(path, (time.time() + 60, time.time() + 60))
    assert states(repo, "codex")["project"]["trusted"] is False
    # Where some are trusted, the others are not, whoever called.
    os.utime(path, (time.time() - 60, time.time() - 60))
    codex_trusts(sealed, f"{path}:user_prompt_submit:0:0")
    assert "Stop" in states(repo, "codex")["project"]["untrusted"]


@pytest.mark.slow
def test_an_agent_that_works_but_never_calls_is_reported(repo: Repo, sealed: Path) -> None:
    repo.boocode("hooks", "install", "--agent", "qwen")
    assert repo.boocode("doctor").out == "no problems found\n"
    chat = sealed / ".qwen/projects/x/chats/s.jsonl"
    chat.parent.mkdir(parents=True)
    chat.write_text(json.dumps({"cwd": "/elsewhere"}) + "\n")
    assert repo.boocode("doctor", "--json").json["findings"] == []
    chat.write_text(json.dumps({"cwd": str(repo.top)}) + "\n")
    (found,) = repo.boocode("doctor", "--json").json["findings"]
    assert found["kind"] == "uncalled_hooks"
    done = repo.boocode("doctor")
    assert done.code == 0
    assert "Qwen Code has worked here since the hooks in" in done.out
    fire(repo, "qwen", "UserPromptSubmit", payload=recorded(repo, "qwen", "UserPromptSubmit"))
    assert repo.boocode("doctor").out == "no problems found\n"
