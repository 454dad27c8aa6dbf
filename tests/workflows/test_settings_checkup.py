"""Settings that have no effect are named, with what to do about each."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from git_boocode.repo.repository import Repository
from git_boocode.workflows.settings_checkup import SETTINGS, check_settings
from tests.repo_kit import Repo

MANUAL = Path(__file__).parents[2] / "man"
_NAMED = re.compile(r"^(?:`boocode\.\w+`(?:, )?)+$", re.MULTILINE)
BAD = {
    "allowHome": "perhaps",
    "callback": "/nowhere",
    "callbackTimeout": "0",
    "commitMessage": "loud",
    "editsMaxAge": "banana",
    "exclude": ":(nonsense)a",
    "formats": "yaml",
    "gitHooks": "post-comit",
    "hookTimeout": "-1",
    "include": ":(nonsense)a",
    "keep": "many",
    "keepEdits": "-3",
    "maxAge": "banana",
    "maxDisk": "all",
    "maxFileSize": "1x",
    "maxIncludedSize": "1x",
    "perTool": "sometimes",
    "promptLabels": "perhaps",
    "prompts": "some",
    "safetyMaxAge": "banana",
    "secret": "(",
    "shareNotes": "perhaps",
    "turnTimeout": "5 parsecs",
}


def test_the_manual_describes_the_same_settings() -> None:
    texts = ((MANUAL / name).read_text() for name in ("git-boocode.md", "callback.md"))
    lines = "\n".join(line for text in texts for line in _NAMED.findall(text))
    assert set(re.findall(r"boocode\.\w+", lines)) == set(SETTINGS)


@pytest.mark.parametrize("name", BAD)
def test_an_invalid_value_is_named(repo: Repo, name: str) -> None:
    repo.git("config", f"boocode.{name}", BAD[name])
    [found] = check_settings(Repository.discover())
    assert found.kind == "bad_setting"
    assert BAD[name] in found.message
    assert ("one of auto, always, never" in found.remedy) == (name == "perTool")


def test_values_that_are_valid(repo: Repo) -> None:
    for name, value in (
        ("callback", "trim-jsonl"),
        ("exclude", "*.log"),
        ("hookTimeout", "2.5"),
        ("maxAge", "never"),
        ("maxDisk", "2g"),
        ("perTool", "true"),
        ("prompts", "First-Line"),
        ("secret", "acme-[0-9]+"),
        ("transcripts", "~/chats"),
    ):
        repo.git("config", f"boocode.{name}", value)
    assert check_settings(Repository.discover()) == []


def test_an_unknown_name_is_reported_with_the_nearest_one(repo: Repo) -> None:
    repo.git("config", "boocode.exlcude", "secret*")
    repo.git("config", "--global", "boocode.zzz", "1")
    done = repo.boocode("doctor")
    assert done.code == 1
    assert done.out == (
        f"'boocode.exlcude' in {repo.top}/.git/config is not a setting of git-boocode\n"
        "  to do: did you mean 'boocode.exclude'? "
        "'git config --unset-all boocode.exlcude' removes it\n"
        f"'boocode.zzz' in {Path.home()}/.gitconfig is not a setting of git-boocode\n"
        "  to do: 'git config --global --unset-all boocode.zzz' removes it\n"
    )
    status = repo.boocode("status")
    assert status.out.startswith(f"settings:\n  {done.out.splitlines()[0]}\n")
    assert "hint: 'git boocode doctor' says more\n" in status.err
    assert [row["kind"] for row in repo.boocode("status", "--json").json["settings"]] == [
        "unknown_setting",
        "unknown_setting",
    ]
    repo.git("config", "--unset-all", "boocode.exlcude")
    repo.git("config", "--global", "--unset-all", "boocode.zzz")
    assert repo.boocode("doctor").out == "no problems found\n"
