"""Git hooks, installed beside the user's own; a program in place of ours notes how it is called."""

from __future__ import annotations

import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_boocode.agents import git_install
from git_boocode.agents.git_hooks import EVENTS
from git_boocode.agents.git_install import git_hooks_status, plan_git_hooks
from git_boocode.repo.errors import BoocodeError, FatalError, RefusedError
from git_boocode.repo.repository import Repository
from tests.agents.hooks_kit import (
    KINDS,
    LOG,
    ONLY_A_SHEBANG,
    OTHERS,
    hooks_seen,
    install,
    plan,
    reads_only_files,
    uninstall,
    write_hooks,
)
from tests.repo_kit import Repo

pytestmark = pytest.mark.slow

# It says something, reads all that it is given, and fails.
_FAKE = """#!/bin/sh
printf 'ours %s|%s\\n' "$*" "$(cat)" >> "$HOOK_LOG"
echo noise
echo noise >&2
exit 3
"""


@pytest.fixture
def log(
    repo: Repo, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """What the hooks note, with a program in place of ours on the PATH."""
    top = tmp_path_factory.mktemp("a place")
    program = top / "git-boocode"
    program.write_text(_FAKE)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{top}:/usr/bin:/bin")
    monkeypatch.setattr("git_boocode.agents.config_program.everyones_path", lambda: [str(top)])
    monkeypatch.setattr(sys, "argv", [str(program)])
    monkeypatch.setenv(LOG, str(top / "log"))
    reads_only_files(monkeypatch)
    # Templates differ between machines.
    for path in (repo.top / ".git/hooks").glob("*"):
        path.unlink()
    (repo.top / ".git/hooks").mkdir(exist_ok=True)
    repo.commit(a="a\n")
    return top / "log"


def hooks(repo: Repo) -> Path:
    return repo.top / ".git/hooks"


def noted(log: Path) -> list[str]:
    """What was noted since the last look, without the ids of commits."""
    lines = log.read_text().splitlines() if log.exists() else []
    log.unlink(missing_ok=True)
    return [
        " ".join("ID" if len(word) in (40, 64) else word for word in _words(line)) for line in lines
    ]


# Of the other one, nobody waits for the end.
AWAITED = tuple(event for event in EVENTS if event != "post-commit")


def _words(line: str) -> list[str]:
    return line.replace("|", " | ").split()


def git_quietly(repo: Repo, *arguments: str) -> int:
    """Run git, which must say nothing."""
    done = subprocess.run(["git", *arguments], cwd=repo.top, capture_output=True, text=True)
    assert done.stdout + done.stderr == ""
    return done.returncode


@pytest.mark.parametrize("write", KINDS.values(), ids=KINDS)
def test_beside_a_users_own_hook(repo: Repo, log: Path, write: Callable[[Path], None]) -> None:
    write_hooks(hooks(repo), write, AWAITED)
    before = hooks_seen(hooks(repo))
    install(*AWAITED)
    installed = hooks_seen(hooks(repo))
    assert not plan()

    assert git_quietly(repo, "commit", "-q", "--allow-empty", "-m", "1") == 0
    assert noted(log) == ["ours hook git pre-commit |", "user |"]
    assert git_quietly(repo, "commit", "-q", "--allow-empty", "--amend", "-m", "2") == 0
    assert noted(log) == [
        *("ours hook git pre-commit |", "user |"),
        *("ours hook git post-rewrite amend |", "user amend | ID ID"),
    ]
    assert git_quietly(repo, "checkout", "-q", "--detach", "HEAD~1") == 0
    assert noted(log) == ["ours hook git post-checkout ID ID 1 |", "user ID ID 1 |"]

    Path(f"{log}.fails").touch()
    assert git_quietly(repo, "commit", "-q", "--allow-empty", "-m", "no") == 1
    assert noted(log) == ["ours hook git pre-commit |", "user |"]
    assert git_quietly(repo, "checkout", "-q", "main") == 1

    assert hooks_seen(hooks(repo)) == installed
    uninstall()
    assert hooks_seen(hooks(repo)) == before
    assert not plan_git_hooks(Repository.discover(), remove=True)


@pytest.mark.parametrize("write", [ONLY_A_SHEBANG, KINDS["sh"]])
def test_every_event(repo: Repo, log: Path, write: Callable[[Path], None]) -> None:
    write_hooks(hooks(repo), write)
    install(*AWAITED)
    repo.git("checkout", "-q", "-b", "topic")
    for name in ("1", "2"):
        repo.commit(name, **{name: name})
    repo.git("checkout", "-q", "main")
    repo.commit("3", b="3")
    noted(log)
    repo.git("rebase", "-q", "main", "topic")
    ours = [line for line in noted(log) if line.startswith("ours")]
    assert ours[0] == "ours hook git pre-rebase main topic |"
    assert ours[-1] == "ours hook git post-rewrite rebase |"
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", "--no-ff", "-m", "m", "topic")
    lines = noted(log)
    assert "ours hook git pre-merge-commit |" in lines
    assert "ours hook git post-merge 0 |" in lines
    assert ("user 0 |" in lines) is (write is KINDS["sh"])


def test_what_is_not_a_shell_script_is_refused(
    repo: Repo, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for write in OTHERS.values():
        (hooks(repo) / "post-merge").unlink(missing_ok=True)
        write_hooks(hooks(repo), write, ["post-merge"])
        before = hooks_seen(hooks(repo))
        refusal = r"cannot install the git hook '.*/post-merge'"
        with pytest.raises(RefusedError, match=refusal) as caught:
            install()
        assert caught.value.code == "unusable_file"
        call = 'git boocode hook git post-merge "$@" </dev/null >/dev/null 2>&1 || :'
        assert caught.value.hints == (f"call this from it yourself: {call}",)
        uninstall()
        assert hooks_seen(hooks(repo)) == before
    # The other ones can be had without it.
    install("pre-commit")
    assert git_quietly(repo, "commit", "-q", "--allow-empty", "-m", "1") == 0
    assert "ours hook git pre-commit |" in noted(log)
    uninstall()
    assert hooks_seen(hooks(repo)) == before
    repo.git("config", "--unset", "boocode.gitHooks")
    # Git that reads configured hooks runs ours beside any other.
    _is_configured_git(monkeypatch, (2, 54))
    install()
    assert hooks_seen(hooks(repo)) == before


def test_a_hook_to_which_users_have_added_the_call(repo: Repo, log: Path) -> None:
    write_hooks(hooks(repo), KINDS["sh"], ["pre-rebase"])
    call = "import os\nos.system('git boocode hook git pre-commit </dev/null >/dev/null 2>&1')\n"
    path = hooks(repo) / "pre-commit"
    path.write_text(f"#!{sys.executable}\n{call}")
    path.chmod(0o755)
    before = path.read_bytes()
    install()
    assert path.read_bytes() == before
    assert set(hooks_seen(hooks(repo))) == set(EVENTS)
    found = {status.event: status for status in git_hooks_status(Repository.discover())}
    assert {status.state for status in found.values()} == {"installed"}
    assert found["pre-commit"].note == "added by hand"
    assert git_quietly(repo, "commit", "-q", "--allow-empty", "-m", "1") == 0
    assert noted(log)[0] == "ours hook git pre-commit |"
    uninstall()
    assert set(hooks_seen(hooks(repo))) == {"pre-commit", "pre-rebase"}
    assert path.read_bytes() == before


def test_files_that_are_checked_out_cost_nothing(repo: Repo, log: Path) -> None:
    write_hooks(hooks(repo), KINDS["sh"], ["post-checkout"])
    install()
    for command in ("checkout -q -- a", "restore a", "checkout -q -b new"):
        repo.git(*command.split())
    assert noted(log) == ["user ID ID 0 |", "user ID ID 0 |", "user ID ID 1 |"]


def test_the_program_may_be_gone(repo: Repo, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_hooks(hooks(repo), KINDS["sh -e"], ["pre-commit"])
    write_hooks(hooks(repo), KINDS["sh"], ["post-checkout"])
    install()
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert git_quietly(repo, "commit", "-q", "--allow-empty", "-m", "1") == 0
    assert git_quietly(repo, "checkout", "-q", "-b", "new") == 0
    assert noted(log) == ["user |", "user ID ID 1 |"]


def test_another_command_is_put_in_place(
    repo: Repo, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_hooks(hooks(repo), KINDS["sh"], ["pre-commit"])
    write_hooks(hooks(repo), KINDS["sh without a newline at the end"], ["pre-rebase"])
    write_hooks(hooks(repo), ONLY_A_SHEBANG, ["post-merge"])
    before = hooks_seen(hooks(repo))
    install()
    right = hooks_seen(hooks(repo))
    states = [status.state for status in git_hooks_status(Repository.discover())]
    assert states == ["installed"] * len(EVENTS)
    with monkeypatch.context() as patch:
        patch.setattr(git_install, "installed_command", lambda *words: f"'/x y/z' {words[-1]}")
        states = [status.state for status in git_hooks_status(Repository.discover())]
        assert states == ["other"] * len(EVENTS)
        install()
        assert b"'/x y/z' pre-commit \"$@\" <" in (hooks(repo) / "pre-commit").read_bytes()
    install()
    assert hooks_seen(hooks(repo)) == right
    uninstall()
    assert hooks_seen(hooks(repo)) == before


def test_what_others_have_changed_since_stays(repo: Repo, log: Path) -> None:
    write_hooks(hooks(repo), KINDS["sh"], ["pre-commit"])
    install()
    for event in ("pre-commit", "pre-rebase"):
        path = hooks(repo) / event
        path.write_text(path.read_text().replace("#!/bin/sh\n", "#!/bin/sh\necho added\n"))
    uninstall()
    assert set(hooks_seen(hooks(repo))) == {"pre-commit", "pre-rebase"}
    assert (hooks(repo) / "pre-rebase").read_text() == "#!/bin/sh\necho added\n"
    assert "boocode" not in (hooks(repo) / "pre-commit").read_text()


def test_some_events(repo: Repo, log: Path) -> None:
    install("post-merge", "pre-commit")
    assert set(hooks_seen(hooks(repo))) == {"pre-commit", "post-merge"}
    install("pre-rebase")
    assert set(hooks_seen(hooks(repo))) == {"pre-rebase"}
    repo.git("config", "boocode.gitHooks", "pre-commit, pre-rebase")
    install()
    assert set(hooks_seen(hooks(repo))) == {"pre-rebase", "pre-commit"}
    told = {status.event: status for status in git_hooks_status(Repository.discover())}
    assert (told["pre-commit"].chosen, told["pre-commit"].state) == (True, "installed")
    assert (told["post-merge"].chosen, told["post-merge"].state) == (False, "missing")
    repo.git("config", "boocode.gitHooks", "")
    install()
    assert hooks_seen(hooks(repo)) == {}


def test_names_that_are_none(repo: Repo, log: Path) -> None:
    repo.git("config", "boocode.gitHooks", "pre-commit update")
    with pytest.raises(FatalError, match=r"'update' for 'boocode\.gitHooks'"):
        plan()
    plan_git_hooks(Repository.discover(), remove=True)


def test_a_directory_in_the_worktree(repo: Repo, log: Path) -> None:
    repo.write(".husky/pre-commit", "#!/bin/sh\n", 0o755)
    repo.commit()
    repo.write(".husky/_/.gitignore", "*\n")
    repo.git("config", "core.hooksPath", ".husky")
    edits = plan("pre-commit", "post-merge")
    assert [edit.title for edit in edits] == [
        "git hook pre-commit (tracked: others get it, too, once it is committed)",
        "git hook post-merge (in the worktree: it can be committed)",
    ]
    assert edits[0].path == str(repo.top / ".husky/pre-commit")
    repo.git("config", "core.hooksPath", ".husky/_")
    edits = plan("pre-commit")
    assert [edit.title for edit in edits] == ["git hook pre-commit"]
    install("pre-commit")
    repo.git("commit", "-q", "--allow-empty", "-m", "1")
    assert noted(log) == ["ours hook git pre-commit |"]


def test_ours_go_from_where_git_looked_before(repo: Repo, log: Path) -> None:
    install()
    repo.git("config", "core.hooksPath", "mine")
    install()
    assert hooks_seen(hooks(repo)) == {}
    assert set(hooks_seen(repo.top / "mine")) == set(EVENTS)
    uninstall()
    assert hooks_seen(repo.top / "mine") == {}


def test_a_directory_for_all_repositories_is_refused(
    repo: Repo, log: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    shared = tmp_path_factory.mktemp("shared")
    repo.git("config", "--global", "core.hooksPath", str(shared))
    with pytest.raises(RefusedError, match="serve other repositories as well") as caught:
        install()
    assert caught.value.code == "shared_hooks"
    # The advice is right.
    subprocess.run(["sh", "-c", caught.value.hints[0].split("'")[1]], cwd=repo.top, check=True)
    install()
    assert set(hooks_seen(hooks(repo))) == set(EVENTS)
    repo.git("config", "core.hooksPath", str(shared))
    install()
    assert set(hooks_seen(shared)) == set(EVENTS)
    repo.git("config", "--unset", "core.hooksPath")
    repo.git("config", "--global", "core.hooksPath", "hooks-of-each")
    install()
    assert set(hooks_seen(repo.top / "hooks-of-each")) == set(EVENTS)


def test_hooks_that_are_switched_off(repo: Repo, log: Path) -> None:
    repo.git("config", "core.hooksPath", "/dev/null")
    with pytest.raises(RefusedError, match="switched off") as caught:
        install()
    assert caught.value.code == "no_hooks"
    uninstall()
    notes = {status.note for status in git_hooks_status(Repository.discover())}
    assert notes == {"hooks are switched off by core.hooksPath"}


def test_what_is_in_the_way(repo: Repo, log: Path) -> None:
    (hooks(repo) / "pre-commit").mkdir()
    names = sorted(path.name for path in hooks(repo).iterdir())
    with pytest.raises(BoocodeError, match="pre-commit"):
        install()
    assert sorted(path.name for path in hooks(repo).iterdir()) == names


def test_a_linked_worktree(repo: Repo, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.git("worktree", "add", "-q", "-b", "other", "linked")
    monkeypatch.chdir(repo.top / "linked")
    install()
    assert set(hooks_seen(hooks(repo))) == set(EVENTS)
    Repo(repo.top / "linked").git("commit", "-q", "--allow-empty", "-m", "1")
    assert noted(log)[0] == "ours hook git pre-commit |"


def test_a_hook_that_git_passes_over(repo: Repo, log: Path) -> None:
    install()
    (hooks(repo) / "pre-commit").chmod(0o644)
    told = {status.event: status.note for status in git_hooks_status(Repository.discover())}
    assert told["pre-commit"] == "not executable, so that git ignores it"
    assert {note for event, note in told.items() if event != "pre-commit"} == {""}


def test_a_new_hook_obeys_the_umask(repo: Repo, log: Path) -> None:
    install("pre-commit")
    assert stat.S_IMODE((hooks(repo) / "pre-commit").stat().st_mode) == 0o755


def _is_configured_git(monkeypatch: pytest.MonkeyPatch, version: tuple[int, int]) -> None:
    monkeypatch.setattr(git_install, "git_version", lambda _: version)


def test_newer_git_gets_configuration(
    repo: Repo, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Git on this machine may be too old to run it: what git would do is done here by hand."""
    write_hooks(hooks(repo), KINDS["sh"])
    before = hooks_seen(hooks(repo))
    config = (repo.top / ".git/config").read_bytes()
    install()
    _is_configured_git(monkeypatch, (2, 54))
    states = [(status.place, status.note) for status in git_hooks_status(Repository.discover())]
    assert states == [("file", "")] * len(EVENTS)
    edits = plan()
    titles = [edit.title for edit in edits]
    assert titles[-1] == f"git hooks in the configuration: {', '.join(EVENTS)}"
    install()
    # What was in files is taken back: git would run both.
    assert hooks_seen(hooks(repo)) == before
    assert not plan()
    states = [(status.place, status.state) for status in git_hooks_status(Repository.discover())]
    assert states == [("config", "installed")] * len(EVENTS)
    for event in EVENTS:
        assert repo.git("config", f"hook.boocode-{event}.event").strip() == event
    command = repo.git("config", "hook.boocode-post-rewrite.command").strip()
    done = subprocess.run(
        ["sh", "-c", f'{command} "$@"', command, "a b", "c"],
        input="stdin",
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert noted(log) == ["ours hook git post-rewrite a b c |"]
    _is_configured_git(monkeypatch, (2, 53))
    assert {status.note for status in git_hooks_status(Repository.discover())} == {
        "this git ignores hooks in the configuration"
    }
    uninstall()
    assert (repo.top / ".git/config").read_bytes() == config
    assert hooks_seen(hooks(repo)) == before


def test_older_git_takes_configuration_back(
    repo: Repo, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.git("config", "hook.mine.event", "pre-commit")
    repo.git("config", "hook.boocode-pre-commit.enabled", "false")
    repo.git("config", "boocode.gitHooks", "pre-commit")
    before = (repo.top / ".git/config").read_bytes()
    _is_configured_git(monkeypatch, (3, 0))
    install()
    _is_configured_git(monkeypatch, (2, 39))
    install()
    assert (repo.top / ".git/config").read_bytes() == before
    assert set(hooks_seen(hooks(repo))) == {"pre-commit"}


def test_newer_git_minds_no_directory_of_hooks(
    repo: Repo, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.git("config", "--global", "core.hooksPath", "/dev/null")
    _is_configured_git(monkeypatch, (2, 54))
    install()
    assert repo.git("config", "hook.boocode-pre-rebase.event") == "pre-rebase\n"


def test_our_own_git_runs_no_configured_hook(repo: Repo) -> None:
    """Git 2.54 and newer would."""
    repo.git("config", "hook.My Hook.event", "reference-transaction")
    repo.git("config", "hook.unused.command", "x")
    repository = Repository.discover()
    for git in (repository.git, repository.users_git):
        assert "hook.My Hook.enabled=false" in git.command("status")
        assert not any("unused" in word for word in git.command("status"))


_PIECES = st.sampled_from(
    [b"#!/bin/sh", b"\n", b"\r\n", b"exit 0", b"# x", b"\xff", b"#!", b" ", b"# >>> git", b"$0"]
)


@given(st.lists(_PIECES).map(b"".join))
def test_any_script_comes_back_to_the_byte(content: bytes) -> None:
    inserted = git_install.insert(content, "one")
    assert git_install.find_part(inserted)
    assert git_install.remove(inserted) == content
    assert git_install.renew(inserted, "one") == inserted
    renewed = git_install.renew(inserted, "another")
    assert git_install.insert(content, "another") == renewed


SHEBANGS = [
    (b"#!/bin/sh\n", True),
    (b"#!/bin/sh", True),
    (b"#! /usr/bin/bash -e\n", True),
    (b"#!/usr/bin/env zsh\r\n", True),
    (b"#!/usr/bin/env -S dash -e\n", True),
    (b"#!/bin/ksh\n", True),
    (b"echo\n", False),
    (b"", False),
    (b"#!", False),
    (b"#!/bin/sh\n\0", False),
    (b"#!/usr/bin/env\n", False),
    (b"#!/usr/bin/fish\n", False),
    (b"#!/usr/bin/env fish\n", False),
    (b"#!/bin/shell\n", False),
    (b"#!/usr/bin/env python3\n", False),
    (b"\x7fELF\x00", False),
    (b"#!/bin/sh\n# \\\nexec tclsh \"$0\" ${1+\"$@\"}\n", False),
    (b"#!/bin/sh\n\":\" //# ; exec node \"$0\" \"$@\"\n", False),
    (b"#!/bin/sh\neval 'exec perl -x $0 ${1+\"$@\"}'\n", False),
    (b"#!/bin/sh\nexec \"$(dirname \"$0\")/../run\" \"$(basename \"$0\")\"\n", True),
    (b"#!/bin/sh\nexec \"${0%/*}/run\" \"$@\"\n", True),
    (b"#!/bin/sh\n. \"$(dirname \"$0\")/_/husky.sh\"\n", True),
]  # fmt: skip


def test_which_hooks_a_shell_runs() -> None:
    for content, expected in SHEBANGS:
        assert git_install.is_shell_script(content) is expected, content
