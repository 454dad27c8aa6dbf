import json
from pathlib import Path

import pytest

from git_boocode.editing.tool_schemas import TOOLS, guidance
from tests.repo_kit import Repo


def test_all_definitions_are_one_array(repo: Repo) -> None:
    done = repo.boocode("tools")
    assert done.code == 0
    assert json.loads(done.out) == [tool.as_json() for tool in TOOLS.values()]


@pytest.mark.parametrize("name", TOOLS)
def test_one_definition_is_one_object(name: str, repo: Repo) -> None:
    assert json.loads(repo.boocode("tools", name).out) == TOOLS[name].as_json()


def test_json_is_one_object(repo: Repo) -> None:
    assert repo.boocode("tools", "region", "--json").json == {
        "ok": True,
        "tools": [TOOLS["region"].as_json()],
    }
    assert len(repo.boocode("tools", "--json").json["tools"]) == len(TOOLS)
    guide = repo.boocode("tools", "--guide", "--json").json
    assert guide == {"ok": True, "guide": guidance()}


def test_guidance(repo: Repo) -> None:
    assert repo.boocode("tools", "--guide").out == guidance()
    assert repo.boocode("tools", "--guide", "write").out == guidance(("write",))


def test_an_unknown_format_names_the_known_ones(repo: Repo) -> None:
    done = repo.boocode("tools", "regions")
    assert done.code == 129
    assert done.err.startswith("error: unknown format 'regions'\nhint: the formats are: string, ")
    assert repo.boocode("tools", "x", "--json").json["error"]["code"] == "usage"


def test_no_repository_is_needed(repo: Repo, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside: Path = tmp_path_factory.mktemp("outside")
    assert repo.boocode("tools", "region", cwd=str(outside)).code == 0


def test_what_a_tool_sends_is_what_apply_edit_takes(repo: Repo) -> None:
    repo.write("greet.py", "def greet(name):\n    return f'Hi {name}'\n")
    call = {"type": "tool_use", "name": "edit_region", "input": TOOLS["region"].example}
    done = repo.boocode("apply-edit", stdin=json.dumps(call))
    assert done.code == 0, done.err
    assert repo.read("greet.py") == b"def greet(name: str) -> str:\n    return f'Hello {name}'\n"
