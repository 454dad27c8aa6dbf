"""Each request finds its repository as it is now: changed, moved, deleted, or another one."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from git_boocode.server.roots import Roots
from tests.repo_kit import Repo, git_version
from tests.server.conftest import Serve
from tests.server.kit import Client, edit


def made(top: Path, *options: str) -> Repo:
    """A repository with a commit."""
    subprocess.run(["git", "init", "-q", *options, top], check=True)
    repo = Repo(top)
    repo.commit("Begin", a=f"{top.name}\ntwo\nthree\n")
    return repo


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The client's root, above all repositories of a test."""
    found = tmp_path / "root"
    found.mkdir()
    return found


@pytest.fixture
def there(root: Path, rooted: Serve) -> Client:
    """A server whose client names the root."""
    return rooted(root)


def works(client: Client, repo: Repo, cwd: str | Path | None = None) -> None:
    """A checkpoint and an edit in a directory are those of a repository."""
    where = str(cwd or repo.top)
    taken = client.succeed("checkpoint", cwd=where)
    assert (
        repo.git("rev-parse", f"refs/boocode/checkpoints/{taken['id']}").strip() == taken["commit"]
    )
    assert client.succeed("log", cwd=where)["checkpoints"][0]["id"] == taken["id"]
    client.succeed("apply_edit", path="made", content=f"{taken['id']}\n", cwd=where)
    files = [
        path for path, (_, text) in repo.files().items() if text == f"{taken['id']}\n".encode()
    ]
    assert len(files) == 1
    assert client.succeed("rewind", cwd=where)
    assert client.succeed("restore", checkpoint=taken["id"], cwd=where)


def test_a_file_that_the_configuration_includes_appears(
    client: Client, work: Repo, tmp_path: Path
) -> None:
    included = tmp_path / "included"
    work.git("config", "--add", "include.path", str(included))
    work.git("config", "--add", "include.path", "nowhere")
    client.succeed("turn", action="begin")
    included.write_text("[boocode]\nturnTimeout = 0\n")
    assert client.succeed("turn", action="begin", force=True)["turn"]["times_out_at"] is None


def test_several_repositories(there: Client, root: Path) -> None:
    repos = [made(root / name) for name in ("one", "two", "three")]
    for repo in (*repos, *repos):
        works(there, repo)
    (repos[0].top / "sub/deep").mkdir(parents=True)
    repos[0].write("sub/deep/f", "f\n")
    works(there, repos[0], root / "one/sub/deep")
    works(there, repos[0], "one/sub")
    assert there.refuse("log")["code"] == "not_a_repository"
    assert there.refuse("log", cwd="none")["code"] == "no_directory"


def test_a_linked_worktree(there: Client, root: Path) -> None:
    repo = made(root / "one")
    repo.git("worktree", "add", "-q", "-b", "other", str(root / "linked"))
    linked = Repo(root / "linked")
    works(there, linked)
    works(there, repo)
    assert (
        there.succeed("log", cwd="linked")["checkpoints"]
        != there.succeed("log", cwd="one")["checkpoints"]
    )
    repo.git("worktree", "move", str(root / "linked"), str(root / "moved"))
    works(there, Repo(root / "moved"))
    repo.git("worktree", "remove", "--force", str(root / "moved"))
    assert there.refuse("log", cwd="moved")["code"] in ("no_directory", "not_a_repository")
    works(there, repo)


def test_a_submodule(there: Client, root: Path) -> None:
    made(root / "source")
    repo = made(root / "one")
    repo.git(
        "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(root / "source"), "sub"
    )
    repo.commit("Add it")
    inner = Repo(root / "one/sub")
    works(there, inner)
    works(there, repo)
    assert len(there.succeed("log", cwd="one/sub")["checkpoints"]) == 1


def test_a_nested_repository_that_appears(there: Client, root: Path) -> None:
    repo = made(root / "one")
    repo.write("sub/f", "f\n")
    works(there, repo, root / "one/sub")
    inner = made(root / "one/sub")
    works(there, inner, root / "one/sub")
    shutil.rmtree(root / "one/sub/.git")
    works(there, repo, root / "one/sub")


def test_a_repository_that_appears_and_goes(there: Client, root: Path) -> None:
    (root / "one").mkdir()
    for _ in range(2):
        assert there.refuse("log", cwd="one")["code"] == "not_a_repository"
        repo = made(root / "one")
        works(there, repo)
        shutil.rmtree(root / "one/.git")
    assert there.refuse("checkpoint", cwd="one")["code"] == "not_a_repository"
    shutil.rmtree(root / "one")
    assert there.refuse("checkpoint", cwd="one")["code"] == "no_directory"
    works(there, made(root / "one"))


def test_a_repository_that_is_moved_and_another_in_its_place(there: Client, root: Path) -> None:
    first = made(root / "one")
    works(there, first)
    count = len(there.succeed("log", cwd="one")["checkpoints"])
    (root / "one").rename(root / "two")
    assert there.refuse("log", cwd="one")["code"] == "no_directory"
    assert len(there.succeed("log", cwd="two")["checkpoints"]) == count
    second = made(root / "one")
    assert there.succeed("log", cwd="one")["checkpoints"] == []
    works(there, second)
    works(there, Repo(root / "two"))
    # They change places.
    (root / "one").rename(root / "three")
    (root / "two").rename(root / "one")
    (root / "three").rename(root / "two")
    assert there.succeed("show", name="@:a", cwd="two")["content"].startswith("one\n")
    assert len(there.succeed("log", cwd="one")["checkpoints"]) == count + 1


def test_the_directory_of_the_server_goes(serve: Serve, tmp_path: Path) -> None:
    repo = made(tmp_path / "one")
    client = serve(cwd=repo.top)
    client.begin()
    works(client, repo)
    shutil.rmtree(repo.top)
    assert client.refuse("log")["code"] == "no_directory"
    works(client, made(tmp_path / "one"))


def gc(repo: Repo) -> None:
    repo.git("gc", "-q", "--prune=now")


def repack(repo: Repo) -> None:
    repo.git("repack", "-q", "-a", "-d", "-f")
    repo.git("prune-packed")


def pack_refs(repo: Repo) -> None:
    repo.git("pack-refs", "--all", "--prune")


def unpack(repo: Repo) -> None:
    """All objects become loose again."""
    packs = repo.top / ".git/objects/pack"
    for pack in list(packs.glob("*.pack")):
        moved = repo.top / ".git" / pack.name
        pack.rename(moved)
        for other in packs.glob(f"{pack.stem}.*"):
            other.unlink()
        repo.git("unpack-objects", "-q", stdin=moved.read_bytes())
        moved.unlink()


def prune(repo: Repo) -> None:
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("prune", "--expire=now")


OTHERS = (repack, pack_refs, prune)


@pytest.mark.parametrize(
    "act", [gc, unpack, *(pytest.param(act, marks=pytest.mark.slow) for act in OTHERS)]
)
def test_objects_and_refs_that_are_packed(
    client: Client, work: Repo, act: Callable[[Repo], None]
) -> None:
    taken = []
    for number in range(4):
        work.write("count", f"{number}\n")
        taken.append(client.succeed("checkpoint", label=str(number))["id"])
        client.succeed("apply_edit", path="count", content=f"{number}!\n")
        # What is written behind the answer must not be pruned on its way.
        client.succeed("log", edits=True)
        act(work)
        assert client.succeed("show", name=f"{taken[0]}:count")["content"] == "0\n"
        assert [row["id"] for row in client.succeed("log")["checkpoints"]] == taken[::-1]
        client.succeed("rewind")
        assert work.read("count") == f"{number}\n".encode()
        act(work)
    client.succeed("restore", checkpoint=taken[1])
    assert work.read("count") == b"1\n"
    act(work)
    client.succeed("undo")
    assert work.read("count") == b"3\n"
    assert work.boocode("doctor").code == 0
    work.git("fsck", "--strict")


def test_a_checkpoint_that_is_dropped_beside_the_server(client: Client, work: Repo) -> None:
    first, second = client.succeed("checkpoint")["id"], client.succeed("checkpoint")["id"]
    assert work.boocode("drop", first).code == 0
    gc(work)
    assert client.refuse("show", name=first)["code"] == "not_found"
    assert [row["id"] for row in client.succeed("log")["checkpoints"]] == [second]
    work.boocode("checkpoint", "-m", "by a command")
    assert client.succeed("show")["checkpoint"]["label"] == "by a command"


def test_head_and_branches(client: Client, work: Repo) -> None:
    first = work.git("rev-parse", "HEAD").strip()
    work.git("branch", "-M", "main")
    client.succeed("checkpoint", label="main")
    work.git("switch", "-q", "-c", "other")
    second = work.commit("More", a="more\n")
    taken = client.succeed("checkpoint")
    head = client.succeed("show", name=taken["id"])["checkpoint"]["head"]
    assert head == {"ref": "refs/heads/other", "commit": second}
    assert client.refuse("restore", checkpoint="label:main", head=True)["code"] == "other_branch"
    work.git("switch", "-q", "main")
    work.commit("Later", a="later\n")
    client.succeed("restore", checkpoint="label:main", head=True)
    assert work.git("rev-parse", "HEAD").strip() == first
    work.git("checkout", "-q", "--detach", second)
    client.succeed("checkpoint", label="detached")
    assert client.succeed("show")["checkpoint"]["head"]["commit"] == second
    work.git("symbolic-ref", "HEAD", "refs/heads/unborn")
    client.succeed("checkpoint")
    assert client.succeed("show")["checkpoint"]["head"] == {
        "ref": "refs/heads/unborn",
        "commit": None,
    }


def skipped(client: Client) -> int:
    return len(client.succeed("checkpoint")["skipped"])


@pytest.mark.parametrize(
    "scope",
    [
        *("local", "global", "conditional"),
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("included", "worktree", "xdg")),
    ],
)
@pytest.mark.variants
def test_changed_configuration_is_noticed(
    own_client: Client, work: Repo, sealed: Path, scope: str
) -> None:
    work.write("large", "more than ten bytes\n")
    options = {"local": ["--local"], "global": ["--global"], "worktree": ["--worktree"]}.get(scope)
    if scope == "worktree":
        work.git("config", "extensions.worktreeConfig", "true")
    if scope in ("included", "conditional"):
        key = {"included": "include.path", "conditional": "includeIf.onbranch:main.path"}[scope]
        work.write(".git/mine", "[x]\n\ty = z\n")
        work.git("branch", "-M", "main")
        work.git("config", key, str(work.top / ".git/mine"))
        options = ["-f", ".git/mine"]
    if scope == "xdg":
        path = sealed / ".config/git/config"
        path.parent.mkdir(parents=True)
        path.write_text("[x]\n\ty = z\n")
        options = ["-f", str(path)]
    assert skipped(own_client) == 0
    for value, count in (("10", 1), ("50", 0), ("11", 1), ("12", 1), ("51", 0)):
        work.git("config", *(options or []), "boocode.maxFileSize", value)
        assert skipped(own_client) == count, value
    work.git("config", *(options or []), "boocode.maxFileSize", "10")
    assert skipped(own_client) == 1
    work.git("config", *(options or []), "--unset", "boocode.maxFileSize")
    assert skipped(own_client) == 0


def test_configuration_of_a_branch(client: Client, work: Repo) -> None:
    work.git("branch", "-M", "main")
    work.write("large", "more than ten bytes\n")
    work.write(".git/mine", "[boocode]\n\tmaxFileSize = 10\n")
    work.git("config", "includeIf.onbranch:other.path", str(work.top / ".git/mine"))
    assert skipped(client) == 0
    work.git("switch", "-q", "-c", "other")
    assert skipped(client) == 1
    work.git("switch", "-q", "main")
    assert skipped(client) == 0


def test_wrong_configuration(client: Client, work: Repo) -> None:
    config = work.read(".git/config")
    work.write(".git/config", config + b"[broken\n")
    assert client.refuse("checkpoint")["code"]
    work.write(".git/config", config)
    assert client.succeed("checkpoint")


def test_ignored_files_and_attributes(client: Client, work: Repo) -> None:
    work.write("x.log", "log\n")
    client.succeed("checkpoint", label="with")
    work.write(".gitignore", "*.log\n")
    client.succeed("checkpoint", label="without")
    rows = client.succeed("diff", old="label:with", new="label:without")["files"]
    assert {row["path"]: row["action"] for row in rows} == {
        ".gitignore": "create",
        "x.log": "delete",
    }
    work.write(".git/info/attributes", "*.txt filter=up\n")
    work.git("config", "filter.up.clean", "tr a-z A-Z")
    work.write("f.txt", "text\n")
    client.succeed("checkpoint")
    assert client.succeed("show", name="@:f.txt")["content"] == "TEXT\n"


def test_where_libgit2_cannot_help(there: Client, root: Path) -> None:
    works(there, made(root / "one", "--object-format=sha256"))
    partial = made(root / "two")
    partial.git("config", "extensions.partialClone", "origin")
    partial.git("config", "core.repositoryFormatVersion", "1")
    works(there, partial)
    gc(partial)
    works(there, partial)
    shallow = root / "three"
    subprocess.run(
        ["git", "clone", "-q", "--depth=1", f"file://{partial.top}", shallow], check=True
    )
    works(there, Repo(shallow))


@pytest.mark.skipif(git_version() < (2, 45), reason="this git has no reftables")
def test_reftables(there: Client, root: Path) -> None:
    works(there, made(root / "one", "--ref-format=reftable"))


def test_bare_repositories(there: Client, root: Path) -> None:
    subprocess.run(["git", "init", "-q", "--bare", root / "bare"], check=True)
    for name in ("log", "checkpoint"):
        assert there.refuse(name, cwd="bare")["code"] in ("no_worktree", "bare")
    repo = made(root / "one")
    assert there.refuse("checkpoint", cwd="one/.git")
    works(there, repo)


def test_alternates(there: Client, root: Path) -> None:
    source = made(root / "source")
    works(there, source)
    subprocess.run(["git", "clone", "-q", "-s", source.top, root / "clone"], check=True)
    clone = Repo(root / "clone")
    works(there, clone)
    gc(source)
    works(there, clone)
    clone.git("repack", "-q", "-a", "-d")
    (clone.top / ".git/objects/info/alternates").unlink()
    works(there, clone)
    clone.git("fsck", "--strict")


def test_another_user_s_repository(there: Client, root: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give files to others")
    repo = made(root / "one")
    for path in (repo.top, repo.top / ".git"):
        os.chown(path, 12345, 12345)
    assert there.refuse("log", cwd="one")["code"]
    os.chown(repo.top, 0, 0)
    os.chown(repo.top / ".git", 0, 0)
    works(there, repo)


def test_the_stores_of_many_repositories_are_not_all_kept(tmp_path: Path) -> None:
    roots, before = Roots(None, str(tmp_path)), len(os.listdir("/proc/self/fd"))
    for number in range(70):
        top = tmp_path / str(number)
        subprocess.run(["git", "init", "-q", top], check=True)
        assert roots.repository(str(top)).store.refs("refs/heads/") == []
    assert len(os.listdir("/proc/self/fd")) - before < 200
    first, again = (roots.repository(str(tmp_path / "0")) for _ in "12")
    assert first is not again
    assert first.store is again.store
    roots.close()


def test_edits_with_a_base_of_a_packed_blob(client: Client, work: Repo) -> None:
    base = work.git("rev-parse", "HEAD:a").strip()
    gc(work)
    client.succeed("apply_edit", **edit("a", "one", "1"))
    gc(work)
    client.succeed("apply_edit", **edit("a", "three", "3"), base=base)
    assert work.read("a") == b"1\ntwo\n3\n"
    assert client.refuse("apply_edit", **edit("a", "x", "y"), base="0" * 40)
