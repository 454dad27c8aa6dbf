"""States that a repository can be in, each made by a small function."""

from __future__ import annotations

import os
import subprocess
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
    repo.git("sparse-checkout", "set", "--cone", "in")
    repo.write("in/a.txt", "changed\n")
    repo.write("in/new.txt", "new\n")


@state
def sparse_index(repo: Repo) -> None:
    repo.commit(
        "base", **{"top.txt": "t\n", "in/a.txt": "a\n", "out/b.txt": "b\n", "out/sub/c": "c\n"}
    )
    repo.git("sparse-checkout", "set", "--cone", "--sparse-index", "in")
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


def mutate(repo: Repo) -> None:
    """What an agent might do: change, delete, add, stage, swap."""
    # Where git converts line endings it cannot bring back others than its own.
    eol = "\r\n" if repo.git("config", "core.autocrlf", check=False).strip() == "true" else "\n"
    for path in sorted(repo.files()):
        target = repo.top / path
        if Path(path).parts[0] in ("nested", "unborn_nested", "wt", "sub", "linked"):
            continue
        if path.endswith((".log", ".env")) or path.startswith("build/"):
            continue
        _mutate_one(target, eol)
    repo.write("agent/made.txt", f"made by the agent{eol}")
    repo.write("agent/x/y.txt", f"made by the agent{eol}")
    repo.write("staged_by_agent.txt", f"s{eol}")
    if not (repo.top / ".git/index.lock").exists():
        repo.git("add", "staged_by_agent.txt", check=False)
        repo.git("add", "-u", check=False)


def _mutate_one(target: Path, eol: str) -> None:
    if target.is_fifo():
        return
    kind = sum(target.name.encode("utf-8", "surrogateescape")) % 4
    if target.is_symlink():
        target.unlink()
        target.write_bytes(f"a link no more{eol}".encode())
    elif kind == 0:
        target.unlink()
    elif kind == 1:
        target.unlink()
        target.mkdir()
        (target / "below").write_bytes(f"a file no more{eol}".encode())
    else:
        target.write_bytes(target.read_bytes() + f"mess{eol}".encode())
        target.chmod(target.stat().st_mode ^ 0o100)
