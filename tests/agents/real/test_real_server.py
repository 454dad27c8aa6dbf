"""The agents themselves start our server, as `serve --install` tells them, and call its tools."""

from __future__ import annotations

import pytest

from tests.agents.real.conftest import Session

pytestmark = pytest.mark.slow

CALLS = {
    "apply_edit": {
        "path": "notes.py",
        "old_string": "def f():\n  return 1\n",
        "new_string": "def f():\n  return 2\n",
    },
    "checkpoint": {"label": "by the model"},
}
ONLY_USERS = {
    "cline": "Cline lists servers only in the home directory",
    "qwen": "Qwen Code starts a project's servers once they are approved, which takes a terminal",
}
EDITED = "def f():\n    return 2\n"


@pytest.mark.parametrize("scope", ["--project", "--user"])
def test_an_agent_edits_a_file_and_takes_a_checkpoint(session: Session, scope: str) -> None:
    agent, repo = session.agent, session.repo
    if scope == "--project" and agent.name in ONLY_USERS:
        pytest.skip(ONLY_USERS[agent.name])
    repo.commit("Add", **{"notes.py": EDITED.replace("2", "1")})
    session.boocode("serve", "--install", agent.name, scope)
    session.run("Please edit notes.py", agent.calls(CALLS))
    assert repo.read("notes.py").decode() == EDITED
    (checkpoint,) = session.checkpoints()
    assert checkpoint["label"] == "by the model"
    assert repo.git("show", f"{checkpoint['commit']}:notes.py") == EDITED
