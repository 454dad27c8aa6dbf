"""Secrets in prompts and labels are masked wherever these are shown or stored for others."""

from __future__ import annotations

from git_boocode.checkpoints.capture import capture_turn_end
from git_boocode.checkpoints.store.catalog import Catalog
from git_boocode.repo.repository import Repository
from tests.checkpoints.kit import take
from tests.repo_kit import Repo

TOKEN = "ghp_" + "a1" * 18
OWN = "PIN: 1234"


def test_with_a_pattern_that_cannot_be_used_texts_are_hidden(repo: Repo) -> None:
    """Such a setting does not keep anybody from an undo."""
    repo.commit(a="a\n")
    taken = take(label=f"use {OWN}", prompt=f"use {OWN} now")
    repo.write("a", "b\n")
    repo.git("config", "boocode.secret", "(unclosed")
    for command in (("restore", taken.id), ("log",), ("show", taken.id), ("status",), ("undo",)):
        done = repo.boocode(*command)
        assert done.code == 0, done
        assert OWN not in done.out + done.err
    assert "⟨masked: boocode.secret cannot be used⟩\n" in repo.boocode("log").out
    assert repo.read("a") == b"b\n"
    [finding] = repo.boocode("doctor", "--json").json["findings"]
    assert finding["kind"] == "bad_setting"


def test_the_message_of_a_running_turn(repo: Repo) -> None:
    repo.git("config", "boocode.secret", "PIN: [0-9]+")
    repo.commit(a="a\n")
    begin = ("turn", "begin", "-m", f"use {TOKEN}, {OWN}")
    for command in (
        (*begin, "--json"),
        ("turn", "status"),
        ("turn", "status", "--json"),
        ("status", "--json"),
        ("restore", "@"),
        begin,
        ("turn", "end"),
    ):
        done = repo.boocode(*command)
        assert TOKEN not in done.out + done.err, command
        assert OWN not in done.out + done.err, command


def test_all_that_shows_a_prompt(repo: Repo) -> None:
    repo.git("config", "boocode.secret", "PIN: [0-9]+")
    repo.commit(a="a\n")
    label, prompt = f"use {TOKEN}, {OWN}", f"use {TOKEN}, {OWN} now\nand then\n"
    taken = take(label=label, prompt=prompt, agent="claude-code", session="s1")
    repo.write("a", "b\n")
    capture_turn_end(Repository.discover(), taken.id, "stop")
    take(label="next", agent="claude-code", session="s1")
    repo.git("commit", "-qam", "change")
    assert repo.boocode("attribute", "HEAD").code == 0
    for command in (
        ("log",),
        ("log", "--json"),
        ("log", "HEAD~1..HEAD"),
        ("show", taken.id),
        ("show", taken.id, "--json"),
        ("show", "HEAD"),
        ("blame", "a"),
        ("blame", "a", "--json"),
        ("view", "--output", "-"),
        ("restore", "-n", taken.id),
        ("prune", "-n", "-v", "--keep", "1"),
    ):
        done = repo.boocode(*command)
        assert done.code == 0, done
        said = done.out + done.err
        assert TOKEN not in said, command
        assert OWN not in said, command
    assert "use ⟨masked: GitHub token⟩, ⟨masked: secret⟩\n" in repo.boocode("log").out
    note = repo.git("notes", "--ref=boocode", "show", "HEAD")
    assert TOKEN not in note
    assert OWN not in note
    # What is recorded stays, and so does the way to it.
    assert Catalog(Repository.discover()).find(f"label:{label}").meta.text("prompt") == prompt
