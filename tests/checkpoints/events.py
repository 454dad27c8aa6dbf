"""What can happen between two checkpoints that changes what the second one has to hold.

Each event is a trap for a capture that remembers anything of the one before.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable

from tests.checkpoints.states import inner
from tests.repo_kit import Repo

Event = Callable[[Repo], None]
EVENTS: dict[str, Event] = {}


def event(happen: Event) -> Event:
    """Register an event under its function's name."""
    EVENTS[happen.__name__] = happen
    return happen


def set_up(repo: Repo) -> None:
    """Two commits, another branch, and files of each kind that the events are about."""
    repo.write(".gitignore", "*.o\nout/\n")
    repo.write(".gitattributes", "*.up filter=up\n")
    repo.commit("first", **{"a.txt": "a\n", "b.txt": "b\n", "dir/c.txt": "c\n", "dir/d.txt": "d\n"})
    repo.git("checkout", "-q", "-b", "other")
    repo.commit("other", **{"a.txt": "other\n", "other.txt": "o\n", ".gitignore": "*.log\n"})
    repo.git("checkout", "-q", "main")
    repo.commit("second", **{"a.txt": "2\n", "e.txt": "e\n"})
    repo.write("b.txt", "changed\n")
    untracked = ("new.txt", "made/x.txt", "made/deep/y.txt", "x.up", "x.o", "x.log", "out/z")
    for path in untracked:
        repo.write(path, f"{path}\n")
    repo.write("made/crlf.txt", "1\r\n2\r\n")
    repo.write("made/run", "#!\n", 0o755)
    # Old enough that git trusts the times that an index holds, and does not look by itself.
    for path in repo.files():
        os.utime(repo.top / path, (1_700_000_000, 1_700_000_000))
    repo.git("update-index", "-q", "--refresh", check=False)


@event
def nothing(repo: Repo) -> None:
    pass


@event
def stash(repo: Repo) -> None:
    repo.git("stash")


@event
def stash_untracked_files_too(repo: Repo) -> None:
    repo.git("stash", "--include-untracked")


@event
def checkout_of_another_branch(repo: Repo) -> None:
    repo.git("checkout", "-q", "-f", "other")


@event
def an_orphan_branch(repo: Repo) -> None:
    repo.git("checkout", "-q", "--orphan", "fresh")
    repo.git("rm", "-r", "-f", "-q", "--cached", ".")


@event
def a_merge_with_conflicts(repo: Repo) -> None:
    repo.git("merge", "-q", "other", check=False)
    assert repo.git("ls-files", "-u")


@event
def a_commit_of_everything(repo: Repo) -> None:
    repo.commit("everything")


@event
def reset_hard(repo: Repo) -> None:
    repo.git("reset", "-q", "--hard", "HEAD~")


@event
def reset_mixed(repo: Repo) -> None:
    repo.git("reset", "-q", "--mixed", "HEAD~")


@event
def remove_from_the_index(repo: Repo) -> None:
    repo.git("rm", "-q", "--cached", "b.txt", "dir/c.txt")
    (repo.top / "dir/c.txt").unlink()


@event
def remove_from_the_index_and_ignore(repo: Repo) -> None:
    repo.git("rm", "-q", "--cached", "b.txt", "e.txt")
    repo.git("commit", "-q", "-m", "removed")
    repo.write(".gitignore", "*.o\nout/\nb.txt\ne.txt\n")


@event
def a_rule_that_ignores_what_was_captured(repo: Repo) -> None:
    repo.write(".gitignore", "*.o\nout/\nnew.txt\nmade/\nb.txt\n")


@event
def a_private_rule_that_ignores_what_was_captured(repo: Repo) -> None:
    repo.write(".git/info/exclude", "new.txt\n")
    repo.write("made/.gitignore", "*\n")
    repo.git("config", "core.excludesFile", ".git/mine")
    repo.write(".git/mine", "*.log\n")


@event
def no_rules_any_more(repo: Repo) -> None:
    (repo.top / ".gitignore").unlink()


@event
def a_forced_addition_of_an_ignored_file(repo: Repo) -> None:
    repo.git("add", "-f", "x.o", "out/z")


@event
def files_were_touched(repo: Repo) -> None:
    for path in repo.files():
        os.utime(repo.top / path)


@event
def edits_that_keep_size_and_time(repo: Repo) -> None:
    for path in ("new.txt", "b.txt", "a.txt"):
        target = repo.top / path
        before = target.stat()
        target.write_bytes(target.read_bytes().swapcase().replace(b"2", b"3"))
        os.utime(target, ns=(before.st_atime_ns, before.st_mtime_ns))


@event
def an_untracked_file_grows_too_large(repo: Repo) -> None:
    repo.git("config", "boocode.maxFileSize", "1k")
    repo.write("new.txt", "x" * 1025)
    repo.write("b.txt", "x" * 1025)


@event
def the_limit_is_lowered(repo: Repo) -> None:
    repo.git("config", "boocode.maxFileSize", "7")


@event
def a_repository_is_made_around_captured_files(repo: Repo) -> None:
    Repo(repo.top / "made").git("init", "-q")


@event
def a_repository_commits_captured_files(repo: Repo) -> None:
    Repo(repo.top / "made").git("init", "-q")
    Repo(repo.top / "made").commit("taken over")


@event
def a_repository_around_tracked_files(repo: Repo) -> None:
    Repo(repo.top / "dir").git("init", "-q")
    repo.write("dir/c.txt", "changed\n")


@event
def a_gitlink_is_staged(repo: Repo) -> None:
    inner(repo, "sub")
    repo.git("add", "sub")


@event
def directories_become_files(repo: Repo) -> None:
    for path in ("dir", "made"):
        shutil.rmtree(repo.top / path)
        repo.write(path, "a file now\n")


@event
def files_become_directories(repo: Repo) -> None:
    for path in ("a.txt", "new.txt"):
        (repo.top / path).unlink()
        repo.write(f"{path}/below", "a directory now\n")


@event
def directories_become_symlinks(repo: Repo) -> None:
    for path in ("dir", "made"):
        (repo.top / path).rename(repo.top / f"{path}2")
        (repo.top / path).symlink_to(f"{path}2")


@event
def files_become_pipes(repo: Repo) -> None:
    for path in ("a.txt", "new.txt"):
        (repo.top / path).unlink()
        os.mkfifo(repo.top / path)


@event
def renames_by_case(repo: Repo) -> None:
    (repo.top / "a.txt").rename(repo.top / "A.txt")
    (repo.top / "made").rename(repo.top / "Made")


@event
def line_endings_by_attributes(repo: Repo) -> None:
    repo.write("made/.gitattributes", "* text=auto\n")


@event
def line_endings_by_configuration(repo: Repo) -> None:
    repo.git("config", "core.autocrlf", "input")


@event
def a_filter_is_configured(repo: Repo) -> None:
    repo.git("config", "filter.up.clean", "tr a-z A-Z")


@event
def a_filter_that_fails_is_configured(repo: Repo) -> None:
    repo.git("config", "filter.up.clean", "false")
    repo.git("config", "filter.up.required", "true")


@event
def modes_are_trusted_no_more(repo: Repo) -> None:
    repo.git("config", "core.fileMode", "false")


@event
def flags_that_hide_edits(repo: Repo) -> None:
    repo.git("update-index", "--assume-unchanged", "a.txt")
    repo.git("update-index", "--skip-worktree", "e.txt", "dir/c.txt")
    repo.write("a.txt", "edited behind git's back\n")
    repo.write("e.txt", "edited behind git's back\n")
    (repo.top / "dir/c.txt").unlink()


@event
def a_sparse_checkout(repo: Repo) -> None:
    repo.sparse("made")


@event
def a_sparse_index(repo: Repo) -> None:
    repo.sparse("made", "--sparse-index")
    assert not (repo.top / "dir").exists()


@event
def intent_to_add(repo: Repo) -> None:
    repo.git("add", "-N", "new.txt", "made")
    (repo.top / "made/x.txt").unlink()


@event
def the_index_is_gone(repo: Repo) -> None:
    (repo.top / ".git/index").unlink()


@event
def the_index_is_damaged(repo: Repo) -> None:
    repo.write(".git/index", b"garbage")


@event
def the_index_is_split(repo: Repo) -> None:
    repo.git("update-index", "--split-index")
    repo.git("add", "new.txt")


@event
def checkpoints_are_dropped_and_pruned(repo: Repo) -> None:
    for ref in repo.git("for-each-ref", "--format=%(refname)", "refs/boocode").splitlines():
        repo.git("update-ref", "-d", ref)
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("gc", "-q", "--prune=now")


@event
def a_file_changes_and_is_ignored_from_now_on(repo: Repo) -> None:
    repo.write("new.txt", "changed, and ignored\n")
    repo.write(".gitignore", "*.o\nout/\nnew.txt\n")
