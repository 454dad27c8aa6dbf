"""What the documents say is what the code does."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from git_boocode import __version__
from git_boocode.cli.main import COMMANDS
from tests.repo_kit import Repo

TOP = Path(__file__).parents[1]
README = (TOP / "README.md").read_text(encoding="utf-8")
COMMAND_LINES = re.findall(r"```sh\n(.*?)\n```", README)


def test_the_readme_opens_with_two_commands() -> None:
    assert len(COMMAND_LINES) == 2
    assert COMMAND_LINES[0].endswith("git-boocode demo")
    assert COMMAND_LINES[1].endswith("pytest")


def test_ci_runs_exactly_the_second_command() -> None:
    assert COMMAND_LINES[1] in (TOP / ".ci/run").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("command", COMMANDS)
def test_the_readme_shows_every_command(command: str) -> None:
    assert re.search(rf"`(git boocode )?{command}`|git boocode {command}\b", README)


def test_changelog_and_manual_know_the_version() -> None:
    assert f"## {__version__}" in (TOP / "CHANGELOG.md").read_text(encoding="utf-8")
    manual = (TOP / "man/git-boocode.1").read_text(encoding="utf-8")
    assert f'"git-boocode {__version__}"' in manual


def test_links_lead_somewhere() -> None:
    for document in ("README.md", "CONTRIBUTING.md", "hooks/README.md"):
        text = (TOP / document).read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#:]+)\)", text):
            assert (TOP / document).parent.joinpath(target).exists(), f"{document}: {target}"


def test_the_readme_example_is_what_happens(repo: Repo) -> None:
    example = README.split("$ cat greet.py\n")[1]
    content, rest = example.split("\n\n$ cat edit.json\n")
    edit, shown = rest.split("\n\n$ git boocode apply-edit --diff edit.json\n")
    repo.write("greet.py", content + "\n")
    repo.write("edit.json", edit)
    done = repo.boocode("apply-edit", "--diff", "edit.json")
    expected = shown.split("```")[0].rpartition("recorded as")[0]
    assert done.out.rpartition("recorded as")[0] == expected
    located = README.split("$ printf 'def greet( name ):\\n' | git boocode locate greet.py\n")[1]
    answer = repo.boocode("locate", "greet.py", stdin="def greet( name ):\n")
    assert answer.out == located.split("```")[0]


def test_the_manual_is_clean_roff() -> None:
    try:
        done = subprocess.run(
            ["man", "--warnings", "-l", "man/git-boocode.1"],
            cwd=TOP,
            capture_output=True,
            text=True,
        )
    except FileNotFoundError:
        pytest.skip("there is no man on this machine")
    if "unrecognized option" in done.stderr or "illegal option" in done.stderr:
        pytest.skip("this man cannot check a page")
    assert done.stderr == ""
    assert "APPLY-EDIT" in done.stdout.upper()
