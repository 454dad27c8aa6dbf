"""States that a repository can be in, each made by a small function."""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.repo_kit import Repo

State = Callable[[Repo], None]
STATES: dict[str, State] = {}


def state(make: State) -> State:
    """Register a state under its function's name."""
    STATES[make.__name__] = make
    return make


def base(repo: Repo) -> None:
    """A commit with a few files, and some changes that are not committed."""
    repo.commit(
        "base",
        **{
            "a.txt": "a\n",
            "b.txt": "b\n",
            "dir/c.txt": "c\n",
            "dir/d.txt": "d\n",
            "run.sh": "#!\n",
        },
    )
    repo.write("a.txt", "a changed\n")
    repo.write("new.txt", "untracked\n")


@state
def unborn(repo: Repo) -> None:
    repo.write("a.txt", "a\n")
    repo.write("dir/b.txt", "b\n")
    repo.git("add", "a.txt")
    repo.write("a.txt", "changed after staging\n")


@state
def unborn_and_empty_index(repo: Repo) -> None:
    repo.write("a.txt", "a\n")


@state
def dirty(repo: Repo) -> None:
    base(repo)


@state
def detached(repo: Repo) -> None:
    base(repo)
    repo.git("checkout", "-q", "--detach")


@state
def staged_differs_from_worktree(repo: Repo) -> None:
    base(repo)
    repo.write("b.txt", "staged\n")
    repo.git("add", "b.txt")
    repo.write("b.txt", "then changed\n")
    repo.write("added.txt", "staged and deleted on disk\n")
    repo.git("add", "added.txt")
    (repo.top / "added.txt").unlink()


@state
def deleted_and_renamed(repo: Repo) -> None:
    base(repo)
    (repo.top / "b.txt").unlink()
    repo.git("mv", "dir/c.txt", "moved.txt")
    repo.git("rm", "-q", "dir/d.txt")


@state
def modes(repo: Repo) -> None:
    base(repo)
    (repo.top / "run.sh").chmod(0o755)
    repo.write("new.sh", "#!/bin/sh\n", 0o755)


@state
def symlinks(repo: Repo) -> None:
    base(repo)
    (repo.top / "link").symlink_to("a.txt")
    (repo.top / "dangling").symlink_to("nowhere")
    (repo.top / "to_dir").symlink_to("dir")
    (repo.top / "outside").symlink_to("/")


@state
def file_directory_and_symlink_swapped(repo: Repo) -> None:
    base(repo)
    (repo.top / "b.txt").unlink()
    repo.write("b.txt/now", "a directory\n")
    for path in ("dir/c.txt", "dir/d.txt"):
        (repo.top / path).unlink()
    (repo.top / "dir").rmdir()
    (repo.top / "dir").symlink_to("b.txt")
    (repo.top / "run.sh").unlink()
    (repo.top / "run.sh").symlink_to("a.txt")


@state
def merge_conflict(repo: Repo) -> None:
    repo.commit(
        "base", **{"f.txt": "1\n2\n3\n", "gone.txt": "x\n", "both.txt": "", "ok.txt": "o\n"}
    )
    repo.git("checkout", "-q", "-b", "other")
    repo.commit("other", **{"f.txt": "1\nother\n3\n", "gone.txt": "y\n", "fresh.txt": "o\n"})
    repo.git("checkout", "-q", "main")
    repo.git("rm", "-q", "gone.txt")
    repo.commit("main", **{"f.txt": "1\nmain\n3\n", "fresh.txt": "m\n"})
    repo.git("merge", "other", check=False)
    assert (repo.top / ".git/MERGE_HEAD").exists()
    repo.write("ok.txt", "changed during the merge\n")


@state
def mid_rebase(repo: Repo) -> None:
    repo.commit("base", **{"f.txt": "1\n"})
    repo.git("checkout", "-q", "-b", "topic")
    repo.commit("topic", **{"f.txt": "topic\n"})
    repo.git("checkout", "-q", "main")
    repo.commit("main", **{"f.txt": "main\n"})
    repo.git("checkout", "-q", "topic")
    repo.git("rebase", "main", check=False)
    assert (repo.top / ".git/rebase-merge").exists()


@state
def cherry_pick(repo: Repo) -> None:
    repo.commit("base", **{"f.txt": "1\n"})
    repo.git("checkout", "-q", "-b", "topic")
    picked = repo.commit("topic", **{"f.txt": "topic\n"})
    repo.git("checkout", "-q", "main")
    repo.commit("main", **{"f.txt": "main\n"})
    repo.git("cherry-pick", picked, check=False)


@state
def intent_to_add(repo: Repo) -> None:
    base(repo)
    repo.write("intent.txt", "not staged yet\n")
    repo.write("intent.sh", "not staged yet\n", 0o755)
    repo.write("intent_gone.txt", "will be deleted\n")
    repo.write("staged_empty.txt", "")
    repo.git("add", "-N", "intent.txt", "intent.sh", "intent_gone.txt")
    repo.git("add", "staged_empty.txt")
    (repo.top / "intent_gone.txt").unlink()


@state
def assume_unchanged(repo: Repo) -> None:
    base(repo)
    repo.git("update-index", "--assume-unchanged", "b.txt")
    repo.write("b.txt", "edited behind git's back\n")


@state
def skip_worktree(repo: Repo) -> None:
    base(repo)
    repo.git("update-index", "--skip-worktree", "b.txt", "dir/c.txt")
    repo.write("b.txt", "edited behind git's back\n")
    (repo.top / "dir/c.txt").unlink()


@state
def tracked_but_ignored(repo: Repo) -> None:
    base(repo)
    repo.write(".gitignore", "*.log\nbuild/\n")
    repo.write("kept.log", "tracked\n")
    repo.git("add", "-f", "kept.log", ".gitignore")
    repo.git("commit", "-q", "-m", "log")
    repo.write("kept.log", "tracked and changed\n")
    repo.write("other.log", "ignored\n")
    repo.write("build/out", "ignored\n")


@state
def removed_from_the_index_but_ignored(repo: Repo) -> None:
    base(repo)
    repo.write("secret.env", "in HEAD\n")
    repo.git("add", "-f", "secret.env")
    repo.git("commit", "-q", "-m", "oops")
    repo.write(".gitignore", "*.env\n")
    repo.git("rm", "-q", "--cached", "secret.env")
    repo.write("secret.env", "changed since\n")


@state
def nested_repositories(repo: Repo) -> None:
    base(repo)
    for name, commits in (("nested", True), ("unborn_nested", False)):
        (repo.top / name).mkdir()
        subprocess.run(["git", "init", "-q"], cwd=repo.top / name, check=True)
        (repo.top / name / "inner.txt").write_text("inner\n")
        if commits:
            subprocess.run(
                ["git", "commit", "-q", "--allow-empty", "-m", "n"], cwd=repo.top / name, check=True
            )
    repo.git("worktree", "add", "-q", "wt")


@state
def submodule(repo: Repo) -> None:
    origin = repo.top.parent / f"{repo.top.name}-origin"
    origin.mkdir()
    inner = Repo(origin)
    inner.git("init", "-q")
    inner.commit("inner", **{"s.txt": "s\n"})
    base(repo)
    repo.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(origin), "sub")
    repo.git("commit", "-q", "-m", "submodule")
    repo.git("config", "submodule.recurse", "true")
    repo.write("sub/s.txt", "dirty inside\n")
    repo.write("a.txt", "again\n")


@state
def odd_names(repo: Repo) -> None:
    base(repo)
    names = [
        "-n",
        "--",
        "a b",
        "new\nline",
        'quo"te',
        "tab\t",
        ":(glob)*",
        "*",
        "é",
        "\udcff\udcfe",
    ]
    for name in [*names, "dir \\/[x]", "#c", "~", "@", "ümlaut/ü"]:
        repo.write(name, f"{name!r}\n")
    repo.git("add", "--", "./-n", ":(literal)*")


@state
def filters(repo: Repo) -> None:
    repo.git("config", "filter.up.clean", "tr a-z A-Z")
    repo.git("config", "filter.up.smudge", "tr A-Z a-z")
    repo.git("config", "filter.up.required", "true")
    repo.write(
        ".gitattributes",
        "*.up filter=up\n*.crlf text eol=crlf\n*.16 text working-tree-encoding=UTF-16LE eol=lf\n",
    )
    repo.commit("base", **{"x.up": "lower\n", "y.crlf": "1\n", "z.txt": "z\n"})
    repo.write("x.up", "changed\n")
    repo.write("new.up", "new\n")
    repo.write("y.crlf", "1\r\n2\r\n")
    repo.write("u.16", "é\n".encode("utf-16-le"))


@state
def autocrlf(repo: Repo) -> None:
    repo.git("config", "core.autocrlf", "true")
    repo.commit("base", **{"f.txt": "1\r\n2\r\n"})
    repo.write("f.txt", "1\r\n2\r\n3\r\n")
    repo.write("g.txt", "new\r\n")


@state
def split_index(repo: Repo) -> None:
    base(repo)
    repo.git("update-index", "--split-index")
    repo.write("b.txt", "staged\n")
    repo.git("add", "b.txt")


@state
def index_version_4_and_untracked_cache(repo: Repo) -> None:
    repo.git("config", "core.untrackedCache", "true")
    base(repo)
    repo.git("update-index", "--index-version", "4", "--untracked-cache")
    repo.git("status")


@state
def sparse_checkout(repo: Repo) -> None:
    repo.commit(
        "base", **{"top.txt": "t\n", "in/a.txt": "a\n", "out/b.txt": "b\n", "out/sub/c": "c\n"}
    )
    repo.sparse("in")
    repo.write("in/a.txt", "changed\n")
    repo.write("in/new.txt", "new\n")


@state
def sparse_index(repo: Repo) -> None:
    repo.commit(
        "base", **{"top.txt": "t\n", "in/a.txt": "a\n", "out/b.txt": "b\n", "out/sub/c": "c\n"}
    )
    repo.sparse("in", "--sparse-index")
    repo.write("in/a.txt", "changed\n")
    repo.git("add", "in/a.txt")


@state
def sha256(repo: Repo) -> None:
    subprocess.run(["rm", "-rf", ".git"], cwd=repo.top, check=True)
    repo.git("init", "-q", "--object-format=sha256")
    base(repo)
    repo.git("add", "new.txt")


@state
def linked_worktree(repo: Repo) -> None:
    repo.commit("base", **{"a.txt": "a\n", "b.txt": "b\n"})
    linked = repo.top / "linked"
    repo.git("worktree", "add", "-q", "-b", "side", str(linked))
    repo.top = linked
    repo.write("a.txt", "changed in the linked one\n")
    repo.write("b.txt", "staged\n")
    repo.git("add", "b.txt")
    repo.write("new.txt", "n\n")
    os.chdir(linked)


@state
def no_index(repo: Repo) -> None:
    base(repo)
    (repo.top / ".git/index").unlink()


@state
def no_identity_and_signing(repo: Repo) -> None:
    base(repo)
    repo.git("config", "user.useConfigOnly", "true")
    repo.git("config", "commit.gpgSign", "true")
    repo.git("config", "gpg.program", "/bin/false")
    for key in ("NAME", "EMAIL"):
        os.environ.pop(f"GIT_AUTHOR_{key}")
        os.environ.pop(f"GIT_COMMITTER_{key}")


@state
def hooks_and_fsmonitor_that_must_not_run(repo: Repo) -> None:
    base(repo)
    for name in ("post-index-change", "reference-transaction", "post-checkout", "fsmonitor"):
        hook = repo.top / ".git/hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\necho {name} >> .git/hooks-that-ran\nexit 1\n")
        hook.chmod(0o755)
    repo.git("config", "core.fsmonitor", ".git/hooks/fsmonitor")


@state
def what_git_does_not_track(repo: Repo) -> None:
    base(repo)
    os.mkfifo(repo.top / "pipe")
    (repo.top / "empty/deep").mkdir(parents=True)


def move_to(repo: Repo, top: Path) -> None:
    """Go on at another place, which is in the first one so that it is cleared away with it."""
    repo.top = top
    os.chdir(top)


def inner(repo: Repo, path: str) -> Repo:
    """A repository with one commit inside of the worktree."""
    (repo.top / path).mkdir(parents=True)
    made = Repo(repo.top / path)
    made.git("init", "-q")
    made.commit("inner", **{"inner.txt": "inner\n"})
    return made


@state
def conflicts_of_every_kind(repo: Repo) -> None:
    lines = "".join(f"line {number}\n" for number in range(20))
    both = {"us": "1\n", "them": "1\n", "renamed": lines, "type": "1\n", "mod": "1\n"}
    repo.commit("base", **both)
    repo.git("checkout", "-q", "-b", "other")
    repo.git("mv", "renamed", "theirs")
    (repo.top / "them").unlink()
    (repo.top / "type").unlink()
    (repo.top / "type").symlink_to("us")
    repo.write("mode", "same\n", 0o755)
    repo.commit("other", **{"us": "2\n", "fd/x": "x\n", "add": "2\n", "mod": "2\n"})
    repo.git("checkout", "-q", "main")
    repo.git("mv", "renamed", "ours")
    (repo.top / "us").unlink()
    repo.write("mode", "same\n", 0o644)
    repo.commit("main", them="3\n", fd="3\n", add="3\n", mod="3\n", type="3\n")
    repo.git("merge", "other", check=False)
    unmerged = {line.partition("\t")[2] for line in repo.git("ls-files", "-u").splitlines()}
    assert {"us", "them", "renamed", "ours", "theirs", "add", "mod", "mode"} <= unmerged
    assert len(unmerged) > 9


@state
def a_conflict_in_a_gitlink(repo: Repo) -> None:
    base(repo)
    sub = inner(repo, "sub")
    repo.commit("base")
    repo.git("checkout", "-q", "-b", "other")
    first = sub.git("rev-parse", "HEAD").strip()
    sub.commit("theirs", x="theirs\n")
    repo.commit("other")
    repo.git("checkout", "-q", "main")
    sub.git("checkout", "-q", "-B", "main", first)
    sub.commit("ours", x="ours\n")
    repo.commit("main")
    repo.git("merge", "other", check=False)
    assert "160000" in repo.git("ls-files", "-u")
    repo.write("a.txt", "changed during the merge\n")


@state
def a_conflict_resolved_but_not_committed(repo: Repo) -> None:
    merge_conflict(repo)
    repo.write("f.txt", "resolved\n")
    repo.git("add", "f.txt")
    repo.git("rm", "-q", "gone.txt")
    repo.write("f.txt", "resolved, and changed\n")


@state
def flags_together(repo: Repo) -> None:
    base(repo)
    repo.git("update-index", "--assume-unchanged", "b.txt", "dir/c.txt")
    repo.git("update-index", "--skip-worktree", "b.txt", "run.sh")
    repo.write("b.txt", "edited behind git's back\n")
    (repo.top / "dir/c.txt").unlink()
    (repo.top / "run.sh").unlink()
    (repo.top / "run.sh").mkdir()
    repo.write("run.sh/below", "where a skipped file was\n")


@state
def force_added(repo: Repo) -> None:
    base(repo)
    repo.write(".gitignore", "*.dat\ncache/\n")
    repo.write("never_committed.dat", "staged\n")
    repo.write("cache/never_committed", "staged\n")
    repo.git("add", "-f", "never_committed.dat", "cache")
    repo.write("never_committed.dat", "and changed\n")
    repo.write("precious.log", "not ignored here\n")


@state
def a_directory_removed_from_the_index(repo: Repo) -> None:
    base(repo)
    repo.git("rm", "-r", "-q", "--cached", "dir", "b.txt")
    repo.write("dir/c.txt", "changed since\n")


@state
def ignored_by_every_source(repo: Repo) -> None:
    base(repo)
    repo.git("config", "core.excludesFile", ".git/ignored-by-me")
    repo.write(".git/ignored-by-me", "build/\n")
    repo.write(".git/info/exclude", "*.log\n")
    repo.write("dir/.gitignore", ".gitignore\n*.env\n")
    for path in ("build/x", "x.log", "dir/x.env"):
        repo.write(path, "ignored\n")
    repo.write("x.env", "not ignored\n")


@state
def only_ignored_files(repo: Repo) -> None:
    repo.write(".git/info/exclude", "*.log\n")
    repo.write("x.log", "ignored\n")


@state
def no_files_at_all(repo: Repo) -> None:
    (repo.top / "empty").mkdir()


@state
def every_file_deleted(repo: Repo) -> None:
    base(repo)
    for path in repo.files():
        (repo.top / path).unlink()
    shutil.rmtree(repo.top / "dir")


@state
def empty_files(repo: Repo) -> None:
    base(repo)
    repo.write("b.txt")
    repo.write("empty")
    repo.write("empty_intent")
    repo.write("empty_staged")
    repo.git("add", "empty_staged")
    repo.git("add", "-N", "empty_intent")


@state
def a_gitlink_without_gitmodules(repo: Repo) -> None:
    base(repo)
    nested = inner(repo, "nested")
    gone = inner(repo, "wt/gone")
    repo.git("add", "nested", "wt/gone")
    repo.git("commit", "-q", "-m", "gitlinks")
    nested.commit("moved", x="x\n")
    nested.write("x", "dirty\n")
    shutil.rmtree(gone.top)


@state
def submodules_in_every_condition(repo: Repo) -> None:
    base(repo)
    inner(repo, ".git/origin")
    for name in ("moved", "gone", "empty", "staged", "cached"):
        added = ("submodule", "add", "-q", str(repo.top / ".git/origin"), f"sub/{name}")
        repo.git("-c", "protocol.file.allow=always", *added)
    repo.git("commit", "-q", "-m", "submodules")
    Repo(repo.top / "sub/moved").commit("moved", x="x\n")
    Repo(repo.top / "sub/staged").commit("staged", x="x\n")
    repo.git("add", "sub/staged")
    shutil.rmtree(repo.top / "sub/gone")
    repo.git("submodule", "-q", "deinit", "-f", "sub/empty")
    repo.git("rm", "-q", "--cached", "sub/cached")
    repo.write("sub/staged/x", "dirty\n")


@state
def a_repository_around_tracked_files(repo: Repo) -> None:
    base(repo)
    Repo(repo.top / "dir").git("init", "-q")
    repo.write("dir/c.txt", "changed\n")


@state
def a_dot_git_that_is_no_repository(repo: Repo) -> None:
    base(repo)
    repo.write("nested/.git/x", "an ordinary directory to git\n")
    repo.write("nested/x", "x\n")
    (repo.top / "wt/.git").mkdir(parents=True)
    repo.write("wt/x", "x\n")


@state
def sockets_and_pipes(repo: Repo) -> None:
    base(repo)
    (repo.top / "b.txt").unlink()
    os.mkfifo(repo.top / "b.txt")
    (repo.top / "run.sh").unlink()
    for name in ("run.sh", "sock"):
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(name)
    os.mkfifo(repo.top / "dir/pipe")


@state
def file_modes_not_trusted(repo: Repo) -> None:
    repo.git("config", "core.fileMode", "false")
    base(repo)
    repo.write("tool", "#!/bin/sh\n", 0o755)


@state
def symlinks_as_files(repo: Repo) -> None:
    base(repo)
    (repo.top / "pointer").symlink_to("a.txt")
    repo.commit("a link")
    repo.git("config", "core.symlinks", "false")
    (repo.top / "pointer").unlink()
    repo.git("checkout", "pointer")
    assert not (repo.top / "pointer").is_symlink()
    repo.write("pointer", "b.txt")


@state
def below_a_symlink(repo: Repo) -> None:
    base(repo)
    (repo.top / "dir").rename(repo.top / "moved")
    (repo.top / "dir").symlink_to("moved")
    repo.write("moved/c.txt", "reached by two names\n")


@state
def names_differing_in_case(repo: Repo) -> None:
    base(repo)
    for name in ("A.TXT", "DIR/c.txt", "New.txt", "new.TXT/x"):
        repo.write(name, f"{name}\n")
    repo.git("add", "A.TXT")


@state
def case_ignored(repo: Repo) -> None:
    base(repo)
    repo.git("config", "core.ignoreCase", "true")
    repo.write("Dir/e.txt", "e\n")
    repo.write("DIR2/x", "x\n")
    repo.git("config", "core.quotePath", "false")


@state
def long_paths(repo: Repo) -> None:
    base(repo)
    repo.write("n" * 255, "a name as long as can be\n")
    repo.write("/".join(["d" * 200] * 10) + "/deep.txt", "deep\n")
    repo.git("add", "n" * 255)
    repo.write("/".join(["e" * 200] * 18) + "/deeper.txt", "deeper\n")


LARGE_FILE_STORE = """#!/bin/sh
set -e
store=$(git rev-parse --git-common-dir)/store
mkdir -p "$store"
if [ "$1" = clean ]; then
    cat >"$store/new.$$"
    id=$(sha256sum <"$store/new.$$" | cut -d' ' -f1)
    mv "$store/new.$$" "$store/$id"
    echo "oid $id"
else
    read -r _ id
    cat "$store/$id"
fi
"""


@state
def large_file_store(repo: Repo) -> None:
    tool = repo.write(".git/large-file-store", LARGE_FILE_STORE, 0o755)
    repo.git("config", "filter.large.clean", f"{tool} clean")
    repo.git("config", "filter.large.smudge", f"{tool} smudge")
    repo.git("config", "filter.large.required", "true")
    repo.commit("base", **{".gitattributes": "*.bin filter=large -text\n", "a.bin": "a" * 999})
    repo.write("a.bin", b"\0\r\n" * 999)
    repo.write("new.bin", b"\xff" * 999)
    repo.write("b.txt", "b\n")


PROCESS_FILTER = """
import sys
def read():
    size = int(sys.stdin.buffer.read(4) or sys.exit(), 16)
    return sys.stdin.buffer.read(size - 4) if size else None
def section():
    return list(iter(read, None))
def write(*parts):
    for part in parts:
        sys.stdout.buffer.write(b"%04x" % (len(part) + 4) + part)
    sys.stdout.buffer.write(b"0000")
    sys.stdout.buffer.flush()
section()
write(b"git-filter-server\\n", b"version=2\\n")
section()
write(b"capability=clean\\n", b"capability=smudge\\n")
while True:
    section()
    content = b"".join(section())
    write(b"status=success\\n")
    write(*([content.swapcase()] if content else []))
    write()
"""


@state
def process_filter(repo: Repo) -> None:
    program = repo.write(".git/process-filter", PROCESS_FILTER)
    repo.git("config", "filter.swap.process", f"{sys.executable} -SI {program}")
    repo.git("config", "filter.swap.required", "true")
    repo.commit("base", **{".gitattributes": "*.up filter=swap\n", "x.up": "lower\n"})
    assert repo.git("cat-file", "blob", "HEAD:x.up") == "LOWER\n"
    repo.write("x.up", "changed\n")
    repo.write("new.up", "new\n")


@state
def a_filter_that_is_missing_but_not_required(repo: Repo) -> None:
    repo.git("config", "filter.gone.clean", "no-such-program clean")
    repo.git("config", "filter.gone.smudge", "no-such-program smudge")
    repo.write(".gitattributes", "*.a filter=gone\n*.b filter=never_configured\n")
    repo.commit("base", **{"x.a": "x\n", "x.b": "x\n"})
    repo.write("x.a", "changed\n")
    repo.write("new.a", "new\n")
    repo.write("x.b", "changed\n")


@state
def ident(repo: Repo) -> None:
    repo.commit("base", **{".gitattributes": "*.c ident\n", "x.c": "$Id$\n", "v.c": "plain\n"})
    (repo.top / "x.c").unlink()
    repo.git("checkout", "x.c")
    assert repo.read("x.c") != b"$Id$\n"
    repo.write("z.c", "no keyword\n")
    repo.write("v.c", "changed\n")


@state
def line_endings(repo: Repo) -> None:
    repo.git("config", "core.eol", "crlf")
    attributes = "* text=auto\n*.lf eol=lf\n*.bin -text\n.gitattributes text eol=lf\n"
    # Stored with the endings that the attributes forbid, by a commit of before there were any.
    repo.commit("base", **{"old.lf": "1\r\n2\r\n", "x.bin": "1\r\n2\n"})
    repo.write(".gitattributes", attributes)
    repo.write("x.txt", "1\r\n2\r\n")
    repo.write("x.bin", "1\n2\r\n3\n")
    repo.git("add", "x.txt")


@state
def sparse_checkout_by_patterns(repo: Repo) -> None:
    files = {"top.txt": "t\n", "in/a.txt": "a\n", "out/b.txt": "b\n", "out/c.md": "c\n"}
    repo.commit("base", **files)
    repo.git("sparse-checkout", "set", "--no-cone", "/*", "!/top.txt", "!out/*.txt")
    assert not {"top.txt", "out/b.txt"}.intersection(repo.files())
    repo.write("in/a.txt", "changed\n")
    repo.write("out/c.md", "changed\n")
    repo.git("add", "in/a.txt")


def outside_the_cone(repo: Repo, *options: str) -> None:
    files = {"top.txt": "t\n", "in/a": "a\n", "out/b": "b\n", "out/sub/c": "c\n", "far/d": "d\n"}
    repo.commit("base", **files)
    repo.sparse("in", *options)
    repo.write("out/b", "on disk, though outside\n")
    repo.write("out/new", "untracked and outside\n")
    repo.write("in/a", "changed\n")


@state
def files_outside_the_cone(repo: Repo) -> None:
    outside_the_cone(repo)


@state
def files_outside_the_cone_of_a_sparse_index(repo: Repo) -> None:
    outside_the_cone(repo, "--sparse-index")
    repo.git("add", "in/a")


def clone(repo: Repo, *options: str) -> None:
    """Go on in a clone of a repository with two commits, which cannot be reached any more."""
    base(repo)
    repo.commit("second", **{"b.txt": "second\n"})
    repo.git("config", "uploadpack.allowFilter", "true")
    repo.git("clone", "-q", *options, f"file://{repo.top}", "clone")
    move_to(repo, repo.top / "clone")
    repo.git("remote", "set-url", "origin", "file:///nowhere")
    repo.write("a.txt", "changed in the clone\n")
    repo.write("new2.txt", "untracked\n")
    repo.git("add", "new2.txt")


@state
def partial_clone(repo: Repo) -> None:
    clone(repo, "--filter=blob:none")
    (repo.top / "run.sh").unlink()


@state
def partial_clone_that_is_sparse(repo: Repo) -> None:
    clone(repo, "--filter=blob:none", "--sparse")
    # Blobs that are neither here nor to be had.
    assert not (repo.top / "dir").exists()
    repo.write("dir/outside", "x\n")


@state
def shallow_clone(repo: Repo) -> None:
    clone(repo, "--depth=1")
    assert (repo.top / ".git/shallow").exists()


@state
def alternates(repo: Repo) -> None:
    base(repo)
    repo.git("clone", "-q", "--shared", str(repo.top), "clone")
    move_to(repo, repo.top / "clone")
    repo.write("a.txt", "changed in the clone\n")


@state
def in_a_subdirectory(repo: Repo) -> None:
    base(repo)
    repo.write("dir/new.txt", "untracked\n")
    repo.write("dir/kept/here.txt", "untracked\n")
    os.chdir(repo.top / "dir/kept")


@state
def git_directory_elsewhere(repo: Repo) -> None:
    tree = repo.top / "tree"
    repo.git("init", "-q", "--separate-git-dir", str(repo.top / "store"), str(tree))
    move_to(repo, tree)
    base(repo)
    repo.git("config", "core.worktree", str(tree))


@state
def worktree_with_a_config_of_its_own(repo: Repo) -> None:
    base(repo)
    repo.git("config", "extensions.worktreeConfig", "true")
    repo.git("worktree", "add", "-q", "-b", "side", "linked")
    repo.git("config", "--worktree", "core.bare", "false")
    repo.git("config", "core.bare", "true")
    move_to(repo, repo.top / "linked")
    repo.git("config", "--worktree", "core.bare", "false")
    repo.git("config", "--worktree", "core.excludesFile", "rules")
    repo.write("rules", "*.log\n")
    repo.write("x.log", "ignored\n")
    repo.write("a.txt", "changed\n")


@state
def replaced_objects_and_grafts(repo: Repo) -> None:
    base(repo)
    first = repo.git("rev-parse", "HEAD").strip()
    second = repo.commit("second", **{"b.txt": "second\n"})
    repo.git("replace", "HEAD:b.txt", f"{first}:b.txt")
    repo.git("replace", second, repo.git("commit-tree", "-m", "other", f"{first}^{{tree}}").strip())
    repo.write(".git/info/grafts", f"{first} {second}\n")
    repo.write("a.txt", "changed again\n")


@state
def in_the_middle_of_am(repo: Repo) -> None:
    repo.commit("base", **{"f.txt": "1\n"})
    repo.commit("patch", **{"f.txt": "2\n", "g.txt": "g\n"})
    patch = repo.git("format-patch", "--stdout", "-1")
    repo.git("reset", "-q", "--hard", "HEAD~")
    repo.commit("main", **{"f.txt": "3\n"})
    repo.git("am", "-3", stdin=patch, check=False)
    assert (repo.top / ".git/rebase-apply").exists()


@state
def a_damaged_cache_tree(repo: Repo) -> None:
    base(repo)
    repo.git("write-tree")
    index = repo.top / ".git/index"
    tree = bytes.fromhex(repo.git("rev-parse", "HEAD^{tree}").strip())
    content = index.read_bytes()
    assert content.count(tree) == 1
    content = content[:-20].replace(tree, b"\1" * len(tree))
    index.write_bytes(content + hashlib.sha1(content).digest())


def mutate(repo: Repo) -> None:
    """What an agent might do: change, delete, add, stage, swap."""
    trusted = repo.git("config", "core.fileMode", check=False).strip() != "false"
    # What git leaves alone is no part of a checkpoint, so an agent that changed it would be on its
    # own.
    ignored = repo.git("ls-files", "--others", "--ignored", "--exclude-standard", "-z").split("\0")
    for path in sorted(repo.files()):
        target = repo.top / path
        if Path(path).parts[0] in ("nested", "unborn_nested", "wt", "sub", "linked"):
            continue
        if path in ignored or path.endswith(".env"):
            continue
        _mutate_one(target, trusted)
    repo.write("agent/made.txt", "made by the agent\n")
    repo.write("agent/x/y.txt", "made by the agent\n")
    repo.write("staged_by_agent.txt", "s\n")
    if not (repo.top / ".git/index.lock").exists():
        repo.git("add", "staged_by_agent.txt", check=False)
        repo.git("add", "-u", check=False)


def _mutate_one(target: Path, trusted: bool) -> None:
    if not target.is_symlink() and not target.is_file():
        return
    kind = sum(target.name.encode("utf-8", "surrogateescape")) % 4
    if target.is_symlink():
        target.unlink()
        target.write_bytes(b"a link no more\n")
    elif kind == 0:
        target.unlink()
    elif kind == 1:
        target.unlink()
        target.mkdir()
        (target / "below").write_bytes(b"a file no more\n")
    else:
        target.write_bytes(target.read_bytes() + b"mess\n")
        if trusted:
            target.chmod(target.stat().st_mode ^ 0o100)
