from __future__ import annotations

import os
from pathlib import Path

import pytest

from git_boocode.repo.errors import FatalError
from git_boocode.repo.git import Git, GitError, clean_environment, nul_lines, nul_records
from tests.repo_kit import Repo


def test_what_a_caller_exports_for_its_own_command_is_dropped_and_the_rest_is_kept() -> None:
    dropped = (
        "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX",
        "GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE", "GIT_LITERAL_PATHSPECS", "GIT_EXTERNAL_DIFF",
        "GIT_DIFF_OPTS", "GIT_CONFIG",
    )  # fmt: skip
    kept = ("PATH", "HOME", "GIT_CONFIG_COUNT", "GIT_CEILING_DIRECTORIES", "GIT_COMMITTER_NAME")
    cleaned = clean_environment(dict.fromkeys((*dropped, *kept), "x"))
    assert {key for key, value in cleaned.items() if value == "x"} == {*kept}


def test_messages_are_untranslated_and_the_character_set_is_the_users() -> None:
    cleaned = clean_environment({"LC_ALL": "de_DE.UTF-8", "LANGUAGE": "de"})
    assert "LC_ALL" not in cleaned
    assert (cleaned["LC_CTYPE"], cleaned["LANG"]) == ("de_DE.UTF-8", "de_DE.UTF-8")
    assert (cleaned["LC_MESSAGES"], cleaned["LANGUAGE"]) == ("C", "C")


def test_no_prompts_no_optional_locks_no_replacements() -> None:
    cleaned = clean_environment({})
    assert cleaned["GIT_TERMINAL_PROMPT"] == "0"
    assert cleaned["GIT_OPTIONAL_LOCKS"] == "0"
    assert cleaned["GIT_NO_REPLACE_OBJECTS"] == "1"


def test_a_failing_command_says_why(repo: Repo) -> None:
    git = Git(str(repo.top), os.environ)
    with pytest.raises(GitError) as caught:
        git.run("rev-parse", "--verify", "nonsense")
    assert caught.value.status == caught.value.exit_code == 128
    assert caught.value.message == (
        "git rev-parse failed with status 128: Needed a single revision"
    )


def test_a_command_that_is_killed(repo: Repo) -> None:
    git = Git(str(repo.top), os.environ, ("alias.die=!kill -9 $PPID",))
    with pytest.raises(GitError, match=r"was killed by signal 9: no reason given"):
        git.run("die")


def test_overrides_and_bindings(repo: Repo) -> None:
    git = Git(str(repo.top), os.environ, ("x.y=z",))
    assert git.line("config", "x.y") == "z"
    bound = git.bind(cwd=str(repo.top / ".git"), GIT_INDEX_FILE="/elsewhere")
    assert bound.line("config", "x.y") == "z"
    assert bound.line("rev-parse", "--git-path", "index") == "/elsewhere"
    assert "GIT_INDEX_FILE" not in git.env


def test_a_directory_that_is_gone(tmp_path: Path) -> None:
    with pytest.raises(FatalError) as caught:
        Git(str(tmp_path / "gone"), os.environ).attempt("version")
    assert caught.value.code == "no_directory"


def test_no_git(tmp_path: Path) -> None:
    with pytest.raises(FatalError) as caught:
        Git(str(tmp_path), {"PATH": str(tmp_path)}).attempt("version")
    assert (caught.value.code, caught.value.exit_code) == ("no_git", 128)
    assert "PATH" in caught.value.hints[0]


@pytest.mark.parametrize("paths", [[], ["a"], ["a\nb", "\udcff", "é", " "]])
def test_paths_and_records_are_inverse(paths: list[str]) -> None:
    assert nul_records(nul_lines(paths)) == paths
