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


def test_a_job_that_may_write_runs_no_code_of_ours_or_of_packages() -> None:
    """It has what an earlier job made, and only GitHub's own programs and pinned actions."""
    text = (TOP / ".github/workflows/release.yml").read_text(encoding="utf-8")
    jobs = re.split(r"(?m)^  (?=\w+:\n    name:)", text)[1:]
    writing = [job for job in jobs if re.search(r": write\b", job)]
    assert [job.partition(":")[0] for job in writing] == ["attest", "publish", "release"]
    for job in writing:
        assert "actions/checkout@" not in job
        assert [run for run in re.findall(r"run: (?:>-\s+)?(\S+)", job) if run != "gh"] == []
    others = "".join(job for job in jobs if job not in writing)
    assert "github.token" not in others


def test_what_is_installed_to_build_is_pinned() -> None:
    for script, pins in (
        (".ci/release", ".ci/release-tools.txt"),
        ("hooks/action/install", "hooks/action/packages.txt"),
    ):
        assert "--require-hashes -r" in (TOP / script).read_text(encoding="utf-8")
        packages = re.split(r"(?m)^(?=[\w.-]+==)", (TOP / pins).read_text(encoding="utf-8"))[1:]
        assert [each for each in packages if "--hash=sha256:" not in each] == []
        names = {each.partition("==")[0] for each in packages}
        assert "hatchling" in names
    project = (TOP / "pyproject.toml").read_text(encoding="utf-8")
    [required] = re.findall(r"(?ms)^dependencies = \[(.*?)\]", project)
    assert set(re.findall(r'"([\w-]+)', required)) < names


def test_the_top_level_has_what_must_lie_there() -> None:
    """Tools look for these in this place; anything else has a directory of its own."""
    tools = {"action.yml", "flake.nix", "pyproject.toml"}
    documents = {"CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "README.md"}
    directories = {"changes", "git_boocode", "hooks", "man", "tests"}
    made = {"build", "dist", "node_modules", "PKG-INFO"}
    found = {path.name for path in TOP.iterdir() if not path.name.startswith(".")}
    assert found - made == tools | documents | directories
