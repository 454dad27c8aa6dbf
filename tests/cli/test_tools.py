import json
from pathlib import Path

import pytest

from git_boocode.editing.tool_schemas import TOOLS, guidance
from tests.repo_kit import Repo


def test_all_definitions_are_one_array(repo: Repo) -> None:
    done = repo.boocode("tools")
    assert done.code == 0
    assert json.loads(done.out) == [tool.as_json() for tool in TOOLS.values()]


def test_one_definition_is_one_object(repo: Repo) -> None:
    for name in TOOLS:
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


def test_a_setting_limits_the_formats(repo: Repo) -> None:
    for value in ("write,  region", "region write", " ,region,write,"):
        repo.git("config", "boocode.formats", value)
        both = ["region", "write"]
        definitions = [TOOLS[name].as_json() for name in both]
        assert json.loads(repo.boocode("tools").out) == definitions
        assert repo.boocode("tools", "--json").json["tools"] == definitions
        assert repo.boocode("tools", "--guide").out == guidance(("region", "write"))
        assert json.loads(repo.boocode("tools", "write").out) == definitions[1]
        done = repo.boocode("tools", "unified")
        assert (done.code, done.out) == (1, "")
        assert done.err == (
            "error: 'boocode.formats' does not allow the format 'unified'\n"
            "hint: it allows: region, write\n"
        )
        assert repo.boocode("tools", "unified", "--json").json["error"]["code"] == "not_allowed"


def test_the_examples_of_read_and_lines_go_together(repo: Repo) -> None:
    repo.write("greet.py", "def greet(name):\n    return f'Hi {name}'\n")
    example = TOOLS["lines"].example
    shown = repo.boocode("read", TOOLS["read"].example["path"]).out
    assert shown.startswith(f"[{example['path']}#{example['base']}]\n1| def greet(name):\n2| ")
    assert repo.boocode("apply-edit", stdin=json.dumps(example)).code == 0
    new = "def greet(name: str) -> str:\n    return f'Hello {name}'\n"
    assert repo.read("greet.py").decode() == new


def test_the_setting_limits_reading(repo: Repo) -> None:
    """Lines have numbers only in a version that was read; what quotes text needs none."""
    offered = {"lines": ["lines", "read"], "read string": ["string", "read"], "write": ["write"]}
    for value, names in offered.items():
        repo.git("config", "boocode.formats", value)
        assert json.loads(repo.boocode("tools").out) == [TOOLS[name].as_json() for name in names]
    assert repo.boocode("tools", "read_file", "--json").json["error"]["code"] == "not_allowed"


def test_one_allowed_format_is_still_an_array(repo: Repo) -> None:
    repo.git("config", "boocode.formats", "write")
    assert json.loads(repo.boocode("tools").out) == [TOOLS["write"].as_json()]


def test_an_empty_setting_allows_all(repo: Repo) -> None:
    for value in ("", " , "):
        repo.git("config", "boocode.formats", value)
        assert len(json.loads(repo.boocode("tools").out)) == len(TOOLS)


def test_an_unknown_format_in_the_setting_is_reported(repo: Repo) -> None:
    repo.git("config", "boocode.formats", "write regions")
    done = repo.boocode("tools", "write")
    assert done.code == 128
    assert done.err.startswith("fatal: bad value 'regions' for 'boocode.formats'")
    assert repo.boocode("tools", "--json").json["error"]["code"] == "bad_config"


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
