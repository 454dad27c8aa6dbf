from __future__ import annotations

from pathlib import Path

import pytest

from git_boocode.repo.config import Config, Setting
from git_boocode.repo.errors import FatalError
from git_boocode.repo.repository import Repository
from tests.repo_kit import Repo


def config() -> Config:
    """The configuration as it is now."""
    return Repository.discover().config


def setting(key: str) -> Setting:
    """A setting that must be there."""
    found = config().setting(key)
    assert found is not None
    return found


def test_nothing_is_set(repo: Repo) -> None:
    assert config().setting("x.y") is None
    assert config().text("x.y") is None
    assert config().text("x.y", "z") == "z"
    assert config().boolean("x.y", default=True)
    assert config().integer("x.y", default=7) == 7
    assert config().path("x.y") is None


def test_names_in_any_case(repo: Repo) -> None:
    repo.git("config", "booCode.CallBack", "here")
    assert config().text("boocode.callback") == config().text("BooCode.callBack") == "here"


def test_case_counts_in_a_subsection(repo: Repo) -> None:
    repo.git("config", "Branch.Topic/Ä.B.Remote", "here")
    assert config().text("branch.Topic/Ä.B.remote") == "here"
    assert config().text("BRANCH.Topic/Ä.B.REMOTE") == "here"
    assert config().text("branch.topic/ä.b.remote") is None


def test_the_last_value_wins(repo: Repo) -> None:
    repo.git("config", "--global", "x.y", "global")
    repo.git("config", "--add", "x.y", "one")
    repo.git("config", "--add", "x.y", "two")
    assert config().text("x.y") == "two"


def test_scopes_and_origins(repo: Repo, sealed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.git("config", "--global", "x.global", "1")
    repo.git("config", "x.local", "1")
    repo.git("config", "extensions.worktreeConfig", "true")
    repo.git("config", "--worktree", "x.worktree", "1")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "x.command")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "1")
    seen = {name: setting(f"x.{name}") for name in ("global", "local", "worktree", "command")}
    assert {name: found.scope for name, found in seen.items()} == {name: name for name in seen}
    own = {name: found.is_trusted for name, found in seen.items()}
    assert own == {"global": True, "local": False, "worktree": False, "command": True}
    assert seen["global"].origin == f"file:{sealed / '.gitconfig'}"
    assert seen["local"].origin == f"file:{repo.top / '.git/config'}"


def test_a_newline_in_a_value(repo: Repo) -> None:
    repo.git("config", "x.y", "one\ntwo\n")
    repo.git("config", "x.z", "after")
    assert (config().text("x.y"), config().text("x.z")) == ("one\ntwo\n", "after")


def test_bytes_that_are_no_text(repo: Repo) -> None:
    repo.git("config", "x.y", "caf\udce9")
    assert config().text("x.y") == "caf\udce9"


def test_a_key_without_a_value_is_true(repo: Repo) -> None:
    with (repo.top / ".git/config").open("a") as file:
        file.write("[x]\n\tbare\n\tempty =\n")
    assert config().boolean("x.bare", default=False)
    assert not config().boolean("x.empty", default=True)
    assert (config().text("x.bare"), config().text("x.empty")) == ("", "")
    with pytest.raises(FatalError, match=r"missing value for 'x\.bare'"):
        config().integer("x.bare", default=1)


@pytest.mark.parametrize(
    "word", ["true", "YES", "On", "1", "2", "-1", "1k", "false", "No", "OFF", "0", "00"]
)
def test_booleans_are_read_as_git_reads_them(repo: Repo, word: str) -> None:
    repo.git("config", "x.y", word)
    gits = repo.git("config", "--type=bool", "x.y").strip()
    assert config().boolean("x.y", default=gits != "true") is (gits == "true")


@pytest.mark.parametrize("word", ["0", "7", "+4", "2k", "3M", "1g", " 5", "0x10"])
def test_integers_are_read_as_git_reads_them(repo: Repo, word: str) -> None:
    repo.git("config", "x.y", word)
    assert config().integer("x.y", default=-99) == int(repo.git("config", "--type=int", "x.y"))


def test_a_number_that_is_too_small(repo: Repo) -> None:
    repo.git("config", "x.y", "-3")
    assert config().integer("x.y", default=1, least=-5) == -3
    with pytest.raises(FatalError, match="bad value '-3'") as caught:
        config().integer("x.y", default=1)
    assert "at least 0, such as '1':" in caught.value.hints[0]


def test_a_size_is_asked_for_with_its_units(repo: Repo) -> None:
    repo.git("config", "x.y", "2k")
    assert config().size("x.y", default=0) == 2048
    repo.git("config", "x.y", "5x")
    with pytest.raises(FatalError, match="bad value '5x'") as caught:
        config().size("x.y", default=0)
    assert "with k, m or g such as '500m':" in caught.value.hints[0]


@pytest.mark.parametrize("word", ["maybe", "tru", "1x", "k", "ja"])
def test_a_bad_boolean(repo: Repo, word: str) -> None:
    repo.git("config", "x.y", word)
    with pytest.raises(FatalError) as caught:
        config().boolean("x.y", default=True)
    assert (caught.value.code, caught.value.exit_code) == ("bad_config", 128)
    where = repo.top / ".git/config"
    assert caught.value.message == f"bad value '{word}' for 'x.y' in {where}"


@pytest.mark.parametrize("word", ["", "many", "1.5", "5t", "k", "1_000", "٣", "5 m", "0x"])
def test_a_bad_integer(repo: Repo, word: str) -> None:
    repo.git("config", "x.y", word)
    with pytest.raises(FatalError) as caught:
        config().integer("x.y", default=1)
    assert caught.value.code == "bad_config"
    assert "git config x.y <value>" in caught.value.hints[0]


def test_a_bad_value_on_the_command_line(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_PARAMETERS", "'x.y'='many'")
    with pytest.raises(FatalError) as caught:
        config().integer("x.y", default=1)
    assert caught.value.message == "bad value 'many' for 'x.y' in command line"


def test_a_path_in_the_home_directory(repo: Repo, sealed: Path) -> None:
    repo.git("config", "x.y", "~/bin/host")
    assert config().path("x.y") == str(sealed / "bin/host")


def test_configuration_that_git_cannot_read(repo: Repo) -> None:
    found = Repository.discover()
    with (repo.top / ".git/config").open("a") as file:
        file.write("[x\n")
    with pytest.raises(FatalError, match="bad config line"):
        _ = found.config


DAY = 86_400


@pytest.mark.parametrize(
    ("word", "seconds"),
    [
        ("12h", 43_200), ("30d", 30 * DAY), ("2w", 14 * DAY), ("90min", 5400), ("7s", 7),
        ("1y", 31_557_600), (" 30D ", 30 * DAY), ("2.weeks.ago", 14 * DAY), ("90 days", 90 * DAY),
        ("1 hour ago", 3600), ("3.months.ago", 3 * 2_629_800), ("now", 0), ("0d", 0),
        ("never", None), ("false", None), ("0", None), ("00", None),
    ],
)  # fmt: skip
def test_ages(repo: Repo, word: str, seconds: int | None) -> None:
    repo.git("config", "x.y", word)
    assert config().age("x.y", default=5) == seconds
    assert config().age("x.none", default=5) == 5


@pytest.mark.parametrize(
    "word", ["", "30", "d", "5m", "-1d", "1.5d", "soon", "1d2h", "2 fortnights", "٣d", "1s ago ago"]
)
def test_a_bad_age(repo: Repo, word: str) -> None:
    repo.git("config", "x.y", word)
    with pytest.raises(FatalError) as caught:
        config().age("x.y", default=5)
    assert caught.value.code == "bad_config"
    assert "'x.y'" in caught.value.message
    assert "such as '12h', '30d', '2w' or 'never'" in caught.value.hints[0]
