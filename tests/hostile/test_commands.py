"""A command that is printed for pasting runs nothing that a name, an id or an answer contains."""

from __future__ import annotations

import json
import shlex

import pytest

from git_boocode.repo.layout import CHECKPOINTS
from tests.checkpoints.kit import Host, take
from tests.hostile.test_metadata import rewrite
from tests.repo_kit import Repo

# Without characters that git refuses in a ref.
EVIL_REF = "abcd$(touch${IFS}PWNED);'"


def resume(repo: Repo, answer: object, **about: str) -> str | None:
    """The command that a restore prints after an answer of its callback."""
    repo.commit(a="a\n")
    take(**about)
    repo.write("a", "b\n")
    repo.write(".git/answer", json.dumps(answer))
    host = Host(repo, trim="cat .git/answer")
    done = repo.boocode("restore", "@", "--callback", host.path, "--json")
    assert done.code == 0
    found = done.json["resume"]
    assert found is None or isinstance(found, str)
    return found


@pytest.mark.parametrize("word", ["x;touch PWNED;#", "$(touch PWNED)", "'`touch PWNED`'", ""])
def test_the_words_of_a_callback_are_quoted(repo: Repo, word: str) -> None:
    found = resume(repo, {"resume": ["agent", word]}, chat="c")
    assert found is not None
    assert shlex.split(found) == ["agent", word]


@pytest.mark.parametrize("command", ["a\ntouch PWNED", "a \x1b[2K", 7, [], ["a", 7], ["a", "\n"]])
def test_a_command_that_is_not_one_line_is_left_out(repo: Repo, command: object) -> None:
    assert resume(repo, {"resume": command}, chat="c") is None


@pytest.mark.quick
@pytest.mark.parametrize("session", ["x;touch PWNED;#", "--yolo", "a b", "$(touch PWNED)"])
def test_a_session_that_is_no_id_is_not_resumed(repo: Repo, session: str) -> None:
    assert resume(repo, {}, agent="codex", session=session) is None


def test_a_ref_whose_name_is_no_id_is_no_checkpoint(repo: Repo) -> None:
    repo.commit(a="a\n")
    rewrite(repo, take(), {}, EVIL_REF)
    assert repo.boocode("restore", "abcd").code == 1
    report = repo.boocode("doctor").out
    (remove,) = (line for line in report.splitlines() if "update-ref" in line)
    words = shlex.split(remove.partition("to delete it: ")[2])
    assert words == ["git", "update-ref", "-d", f"{CHECKPOINTS}{EVIL_REF}"]


@pytest.mark.quick
def test_the_name_of_a_branch_is_quoted(repo: Repo) -> None:
    repo.commit(a="a\n")
    repo.git("switch", "-qc", EVIL_REF)
    take()
    repo.git("switch", "-q", "main")
    hint = repo.boocode("restore", "--head", "@", "--json").json["error"]["hint"]
    assert shlex.quote(EVIL_REF) in hint
