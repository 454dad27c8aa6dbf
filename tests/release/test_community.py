"""Forms and workflows name what there is."""

from __future__ import annotations

import re
from pathlib import Path

from git_boocode.cli.framework import COMMANDS

TOP = Path(__file__).parents[2]
FORMS = sorted((TOP / ".github").rglob("*.[my]*"))
WORKFLOWS = [*(TOP / ".github/workflows").glob("*.yml")]


def test_forms_name_commands_that_exist() -> None:
    texts = "".join(path.read_text(encoding="utf-8") for path in FORMS)
    named = re.findall(r"`git boocode ([a-z-]+)", texts)
    assert {"apply-edit", "doctor", "undo"} <= set(named) <= set(COMMANDS)


def test_one_file_has_the_placeholder_of_the_address() -> None:
    having = [path.name for path in FORMS if "OWNER" in path.read_text(encoding="utf-8")]
    assert having == ["config.yml"]
    contributing = (TOP / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert "Replace `OWNER` in `.github/ISSUE_TEMPLATE/config.yml`" in contributing


def test_workflows_call_scripts_that_exist() -> None:
    called = set()
    for path in WORKFLOWS:
        called.update(re.findall(r"(?<![\w/])(?:/src/)?(\.ci/[\w/-]+)", path.read_text("utf-8")))
    assert {".ci/run", ".ci/release", ".ci/distribution"} <= called
    for name in called:
        assert (TOP / name).stat().st_mode & 0o111, name


def test_every_action_is_pinned() -> None:
    used = [
        use
        for path in [*WORKFLOWS, TOP / "action.yml"]
        if path.exists()
        for use in re.findall(r"uses: (.+)", path.read_text(encoding="utf-8"))
    ]
    assert len(used) > 5
    assert [use for use in used if not re.fullmatch(r"\S+@[0-9a-f]{40} # v[\d.]+", use)] == []


def test_workflows_have_no_rights_but_those_of_their_jobs() -> None:
    for path in WORKFLOWS:
        text = path.read_text(encoding="utf-8")
        assert "\npermissions: {}\n" in text, path.name
        assert "pull_request_target" not in text, path.name


def test_the_top_level_has_what_must_lie_there() -> None:
    """Tools look for these in this place; anything else has a directory of its own."""
    tools = {"action.yml", "flake.nix", "pyproject.toml"}
    documents = {"CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "README.md"}
    directories = {"changes", "git_boocode", "hooks", "man", "tests"}
    made = {"build", "dist", "node_modules", "PKG-INFO"}
    found = {path.name for path in TOP.iterdir() if not path.name.startswith(".")}
    assert found - made == tools | documents | directories
