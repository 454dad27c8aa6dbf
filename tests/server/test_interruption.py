"""What a kill has left half-way is reported to the client of a server, too."""

from __future__ import annotations

import pytest

from tests.checkpoints.kit import back, interrupted, take
from tests.repo_kit import Repo
from tests.server.conftest import Serve
from tests.server.kit import Client, edit, eventually


def warnings(client: Client) -> list[str]:
    """What was logged."""
    client.ask("ping")
    return [each["params"]["data"] for each in client.others if "data" in each.get("params", {})]


def test_an_interrupted_restore_is_logged_once(
    work: Repo, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = take()
    work.write("a", "changed\n")
    interrupted(monkeypatch, lambda: back(taken.id))
    client = serve()
    client.begin()
    client.call("log")
    client.call("apply_edit", **edit("sub/b", "b", "B"))
    eventually(lambda: warnings(client))
    [warning] = warnings(client)
    assert "a restore was interrupted half-way" in warning
    assert "the tool 'undo'" in warning
    client.succeed("undo")
    client.succeed("log")
    assert len(warnings(client)) == 1


def test_an_interrupted_edit_is_logged(work: Repo, serve: Serve) -> None:
    work.write(".git/boocode/edit-in-progress", "garbage")
    client = serve()
    client.begin()
    client.call("log")
    eventually(lambda: warnings(client))
    assert warnings(client)
