"""The agents themselves install the plugin, each by its own command."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.agents.real.conftest import Session, prompt_of
from tests.agents.real.programs import RealAgent, RealPlugin, filled
from tests.agents.real.test_real_server import CALLS, EDITED

pytestmark = pytest.mark.slow
TOP = Path(__file__).parents[3]


def installed(session: Session, source: str, market: Path) -> RealPlugin:
    """The plugin of an agent that takes one, installed from a directory of ours."""
    plugin = session.agent.plugin
    if plugin is None:
        pytest.skip(f"{session.agent.program} takes no plugin")
    # Some agents write into the directory of the marketplace.
    shutil.copytree(TOP / ".claude-plugin", market / ".claude-plugin")
    shutil.copytree(TOP / source, market / "hooks/plugin")
    for command in plugin.install:
        session.call(*filled(command, plugin=str(market)).split())
    return plugin


@pytest.fixture
def plugin(session: Session, tmp_path: Path) -> RealPlugin:
    """The plugin with hooks."""
    return installed(session, "hooks/plugin", tmp_path / "market")


def test_turns_are_checkpoints_of_the_agent_until_it_is_uninstalled(
    session: Session, plugin: RealPlugin
) -> None:
    session.turn("alpha")
    (first,) = session.checkpoints()
    assert (first["agent"], first["label"]) == (session.agent.name, prompt_of("alpha"))
    assert session.files_in(first) == set()
    assert len(session.repo.git("for-each-ref", "refs/boocode/turn-ends").splitlines()) == 1
    (state,) = session.boocode("hooks", "status")["plugins"]
    assert (state["agent"], state["enabled"]) == (session.agent.name, True)
    assert state["uninstall"].startswith(plugin.uninstall)
    session.hooks("install", "--user")
    session.turn("bravo")
    found = session.checkpoints()
    assert [each["label"] for each in found] == [prompt_of("alpha"), prompt_of("bravo")]
    assert {each["agent"] for each in found} == {session.agent.name}
    session.hooks("uninstall", "--user")
    session.call(*state["uninstall"].split())
    # Copilot only disables one that it has not copied.
    assert not any(each["enabled"] for each in session.boocode("hooks", "status")["plugins"])
    session.turn("charlie")
    assert len(session.checkpoints()) == 2


def test_the_model_is_offered_the_tools_and_the_skill(session: Session, plugin: RealPlugin) -> None:
    uses_tools_and_skill(
        session, session.agent._replace(served=plugin.served or session.agent.served)
    )


def test_clients_of_agent_plugins_get_tools_and_skill(session: Session, tmp_path: Path) -> None:
    if session.agent.name not in ("codex", "copilot"):
        pytest.skip(f"{session.agent.program} is tried with the plugin that has hooks")
    installed(session, "hooks/plugin/portable", tmp_path / "market")
    uses_tools_and_skill(session, session.agent)


def uses_tools_and_skill(session: Session, agent: RealAgent) -> None:
    """Let the agent edit a file and take a checkpoint by the server of the plugin."""
    repo = session.repo
    repo.commit("Add", **{"notes.py": EDITED.replace("2", "1")})
    session.run("Please edit notes.py", agent.calls(CALLS))
    assert repo.read("notes.py").decode() == EDITED
    assert "by the model" in [each["label"] for each in session.checkpoints()]
    assert "undo-changes" in session.model.conversations[-1]
