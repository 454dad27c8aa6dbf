"""What the documents say is what the code does."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from xml.sax.saxutils import unescape

import pytest

from git_boocode import __version__
from git_boocode.cli.framework import COMMANDS
from man.pictures import session
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


def test_the_changelog_knows_the_version() -> None:
    assert f"## {__version__}" in (TOP / "CHANGELOG.md").read_text(encoding="utf-8")


def test_links_lead_somewhere() -> None:
    for document in (
        "README.md",
        "CONTRIBUTING.md",
        "hooks/README.md",
        "tests/benchmarks/README.md",
    ):
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


ID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}\b")
SHORT = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}\b")
TIME = re.compile(r" *(?:just now|\d+ (?:s|min) ago)")


def alike(shown: str) -> str:
    """Output without what is different each time."""
    return TIME.sub(" TIME", SHORT.sub("SHORT", ID.sub("ID", shown))).strip()


def samples(heading: str) -> list[tuple[str, str]]:
    """The commands in the first example of a section, each with the output that is shown."""
    section = README.split(f"\n## {heading}\n")[1]
    steps = section.split("```console\n$ ")[1].split("```")[0].split("\n$ ")
    parted = (step.partition("\n") for step in steps)
    return [(command, output) for command, _, output in parted]


def test_the_readme_example_of_checkpoints_is_what_happens(repo: Repo) -> None:
    repo.commit(**{"report.py": "one\n", "src/a": "one\n"})
    for path in ("report.py", "src/a", "notes"):
        repo.write(path, "two\n")
    repo.git("add", "notes")
    compared = 0
    for command, output in samples("Undo your agent"):
        if "log" in command:
            repo.git("rm", "-qf", "notes")
            repo.write("report.py", "a mess\n")
        done = repo.boocode(*shlex.split(command, comments=True)[2:])
        assert done.code == 0, (command, done)
        if output:
            assert alike(done.out + done.err) == alike(output), command
            compared += 1
    assert compared == 3


def test_the_readme_says_how_to_remove_everything(repo: Repo) -> None:
    repo.commit(a="one\n")
    repo.boocode("checkpoint")
    repo.git("worktree", "add", "-q", "--detach", "linked")
    repo.boocode("checkpoint", cwd="linked")
    [(command, _)] = samples("Upgrade and uninstall")
    assert repo.boocode(*shlex.split(command, comments=True)[2:]).code == 0
    assert not repo.git("for-each-ref", "refs/boocode")
    assert not [path for path in repo.top.rglob("boocode") if path.parent.name != "refs"]
    assert repo.boocode("checkpoint").code == 0


@pytest.mark.slow
def test_the_picture_shows_what_happens(repo: Repo) -> None:
    texts = re.findall(r"<text[^>]*>(.*)</text>", session.PICTURE.read_text(encoding="utf-8"))
    shown = [alike(unescape(text)) for text in texts]
    assert shown == [alike(line.text) for line in session.session(repo.top) if line.text]
