"""A restore leaves our hooks in the worktree installed, or says how to install them again."""

from __future__ import annotations

import pytest

from git_boocode.checkpoints.restore.request import HookFile
from git_boocode.checkpoints.restore.result import RestoreResult
from tests.checkpoints.kit import back, redone, seen, sound, take, undone
from tests.repo_kit import Repo

PATH = ".agent/hooks.json"
HOOKS = "call boocode\n"
INSTALL = "git boocode hooks install --agent agent --project"
AGENTS = {PATH: (HookFile("hooks of Agent", INSTALL, lambda data: b"boocode" in data),)}
STAY = [(PATH, "hooks of Agent left installed")]


@pytest.fixture
def installed(repo: Repo) -> Repo:
    """Untracked hooks that were installed after checkpoint A, and a file that changed since."""
    repo.commit(a="1\n")
    take(label="A")
    repo.write("a", "2\n")
    repo.write(PATH, HOOKS)
    return repo


def kept(result: RestoreResult) -> list[tuple[str, str]]:
    return [(path, reason) for path, reason in result.kept]


def lost(result: RestoreResult) -> list[tuple[str, str]]:
    return [(each.path, each.install) for each in result.hooks_lost]


def test_untracked_hooks_stay_through_restore_undo_and_redo(installed: Repo) -> None:
    before = seen(installed)
    assert kept(back("label:A", hook_files=AGENTS, dry_run=True)) == STAY
    outcome = back("label:A", hook_files=AGENTS)
    assert (kept(outcome), lost(outcome)) == (STAY, [])
    assert (installed.read("a"), installed.read(PATH)) == (b"1\n", HOOKS.encode())
    undone(hook_files=AGENTS)
    assert seen(installed) == before
    redone(hook_files=AGENTS)
    assert (installed.read("a"), installed.read(PATH)) == (b"1\n", HOOKS.encode())
    sound(installed)


def test_the_safety_checkpoint_records_the_hooks(installed: Repo) -> None:
    safety = back("label:A", hook_files=AGENTS).undo
    assert installed.git("show", f"refs/boocode/safety/{safety}:{PATH}") == HOOKS


def test_hooks_that_were_uninstalled_are_not_installed_again(installed: Repo) -> None:
    take(label="B")
    (installed.top / PATH).unlink()
    assert kept(back("label:B", hook_files=AGENTS)) == [
        (PATH, "hooks of Agent not installed again")
    ]
    assert not (installed.top / PATH).exists()


def test_a_file_without_hooks_is_restored(installed: Repo) -> None:
    installed.write(PATH, "others\n")
    assert kept(back("label:A", hook_files=AGENTS)) == []
    assert not (installed.top / PATH).exists()
    undone(hook_files=AGENTS)
    assert installed.read(PATH) == b"others\n"


@pytest.mark.parametrize("named", [PATH, ".agent", "./.agent/"])
def test_paths_that_name_the_file_restore_it(installed: Repo, named: str) -> None:
    outcome = back("label:A", hook_files=AGENTS, paths=(named,))
    assert (kept(outcome), lost(outcome)) == ([], [(PATH, INSTALL)])
    assert not (installed.top / PATH).exists()
    undone(hook_files=AGENTS)
    assert installed.read(PATH) == HOOKS.encode()


@pytest.mark.parametrize("others", [".", "*"])
def test_paths_that_only_match_the_file_leave_it_alone(installed: Repo, others: str) -> None:
    assert kept(back("label:A", hook_files=AGENTS, paths=(others,))) == STAY
    assert (installed.read("a"), installed.read(PATH)) == (b"1\n", HOOKS.encode())


def test_tracked_hooks_are_restored_and_reported(installed: Repo) -> None:
    installed.git("add", PATH)
    before = seen(installed)
    assert lost(back("label:A", hook_files=AGENTS, dry_run=True)) == [(PATH, INSTALL)]
    outcome = back("label:A", hook_files=AGENTS)
    assert (kept(outcome), lost(outcome)) == ([], [(PATH, INSTALL)])
    assert not (installed.top / PATH).exists()
    assert lost(undone(hook_files=AGENTS)) == []
    assert seen(installed) == before


def test_a_change_that_keeps_tracked_hooks_is_not_reported(installed: Repo) -> None:
    installed.git("add", PATH)
    take(label="B")
    installed.write(PATH, f"{HOOKS}more\n")
    assert lost(back("label:B", hook_files=AGENTS)) == []
    assert installed.read(PATH) == HOOKS.encode()


def test_ignored_hooks_are_not_in_the_way_of_their_own_copy(installed: Repo) -> None:
    take(label="B")
    installed.write(".git/info/exclude", f"/{PATH}\n")
    assert kept(back("label:B", hook_files=AGENTS)) == []
    installed.write(PATH, f"{HOOKS}more\n")
    assert kept(back("label:B", hook_files=AGENTS)) == STAY
    assert installed.read(PATH) == f"{HOOKS}more\n".encode()


@pytest.mark.parametrize("other", [".agent", f"{PATH}/below"])
def test_what_replaces_the_file_or_its_directory_is_restored(repo: Repo, other: str) -> None:
    repo.write(other, "a file\n")
    take(label="A")
    repo.git("clean", "-fdq")
    repo.write(PATH, HOOKS)
    assert lost(back("label:A", hook_files=AGENTS)) == [(PATH, INSTALL)]
    assert repo.read(other) == b"a file\n"
    undone(hook_files=AGENTS)
    assert repo.read(PATH) == HOOKS.encode()
