from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from git_boocode.checkpoints.store.catalog import Catalog, Checkpoint
from git_boocode.repo.entries import Metadata
from git_boocode.repo.errors import BoocodeError, RefusedError
from git_boocode.repo.layout import CHECKPOINTS
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import Ref, Store
from tests.checkpoints.kit import back, take
from tests.repo_kit import Repo

pytestmark = pytest.mark.slow


def find(name: str) -> str:
    """The id of the checkpoint that a name means."""
    return Catalog(Repository.discover()).find(name).id


def refusal(name: str) -> RefusedError:
    """The error of a name that must be refused."""
    with pytest.raises(RefusedError) as caught:
        find(name)
    return caught.value


def forge(repo: Repo, name: str, message: str, *, tree: str = "") -> str:
    """A commit of someone else's making under a ref of ours."""
    tree = tree or repo.git("mktree").strip()
    commit = repo.git("commit-tree", tree, stdin=message).strip()
    repo.git("update-ref", f"{CHECKPOINTS}{name}", commit)
    return commit


@pytest.fixture
def three(repo: Repo) -> list[Checkpoint]:
    repo.commit(a="a\n")
    return [take(label=f"label {n}", message=f"m{n % 2}") for n in range(3)]


def test_the_newest_and_earlier_ones(three: list[Checkpoint]) -> None:
    ids = [entry.id for entry in three]
    assert [find(name) for name in ("@", "@~0", "@~", "@~1", "@~2")] == [
        ids[2], ids[2], ids[1], ids[1], ids[0]
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["@~3", "@~999999999", "@~99999999999999"])
def test_fewer_checkpoints_than_asked_for(three: list[Checkpoint], name: str) -> None:
    error = refusal(name)
    assert (error.code, error.exit_code) == ("not_found", 1)
    assert error.message == f"'{name}': this worktree has only 3 checkpoints"


@pytest.mark.parametrize("name", ["@~-1", "@~x", "@~1~1", "@^", "@1"])
def test_other_ways_to_count(three: list[Checkpoint], name: str) -> None:
    error = refusal(name)
    assert (error.code, error.exit_code) == ("not_found", 1)
    assert error.message == f"'{name}': '@' is the newest, '@~<n>' the n-th before it"


def test_there_is_only_one(repo: Repo) -> None:
    repo.write("a")
    take()
    assert refusal("@~1").message == "'@~1': this worktree has only 1 checkpoint"


def test_there_is_none(repo: Repo) -> None:
    assert refusal("@").message == "'@': this worktree has no checkpoints"
    assert Catalog(Repository.discover()).latest() is None


def test_the_newest_with_a_message_or_a_label(three: list[Checkpoint]) -> None:
    assert find("message:m0") == three[2].id
    assert find("message:m1") == three[1].id
    assert find("label:label 0") == three[0].id
    assert refusal("label:label").code == "not_found"
    assert refusal("message:").code == "not_found"


def test_by_id_and_by_commit(three: list[Checkpoint]) -> None:
    for entry in three:
        commit = entry.commit.id
        for name in (entry.id, entry.id.upper(), entry.id[:-1], commit, commit[:12], commit[:39]):
            assert find(name) == entry.id


def test_by_a_commit_of_sha256(tmp_path_factory: pytest.TempPathFactory, repo: Repo) -> None:
    top = tmp_path_factory.mktemp("sha256")
    repo.git("init", "-q", "--object-format=sha256", str(top))
    Repo(top).write("a")
    repository = Repository.discover(str(top))
    from git_boocode.checkpoints.capture import Request, capture

    taken = capture(repository, Request()).checkpoint
    assert len(taken.commit.id) == 64
    assert Catalog(repository).find(taken.commit.id).id == taken.id


def test_safety_and_archived_checkpoints_are_found_by_id(
    repo: Repo, three: list[Checkpoint]
) -> None:
    repo.write("a", "changed\n")
    safety = back().undo
    assert safety is not None
    assert find(safety) == safety
    repo.git("update-ref", f"refs/boocode/archive/x/{three[0].id}", three[0].commit.id)
    repo.git("update-ref", "-d", three[0].ref)
    assert find(three[0].id) == three[0].id
    assert find("@~1") == three[1].id


def test_an_ambiguous_beginning(three: list[Checkpoint]) -> None:
    shared = next(
        three[0].id[:n] for n in range(35, 3, -1) if three[1].id.startswith(three[0].id[:n])
    )
    error = refusal(shared)
    assert (error.code, error.exit_code) == ("ambiguous", 1)
    assert three[0].id in error.hints[0]
    assert three[1].id in error.hints[0]


def test_a_long_list_of_matches_is_truncated(repo: Repo) -> None:
    repo.commit()
    for number in range(7):
        forge(repo, f"abcd{number}", "x")
    assert refusal("abcd").hints[0].endswith(" and 2 more")


def test_unknown_names(three: list[Checkpoint]) -> None:
    for name in (
        "", "x", "abc", "ffff", "main", "@~~", "@~-1", "message:", "label:", "@~1000000000", "@@",
        "HEAD", "a" * 65, "../../heads/main", "*", "\n", "\udcff", "@\n",
    ):  # fmt: skip
        error = refusal(name)
        assert (name, error.code, error.exit_code) == (name, "not_found", 1)
        assert "git boocode log" in error.hints[0]


@pytest.mark.parametrize("name", ["linked", "main"])
def test_other_worktrees_are_not_counted(
    repo: Repo, three: list[Checkpoint], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    repo.git("worktree", "add", "-q", "--detach", f"below/{name}")
    monkeypatch.chdir(repo.top / "below" / name)
    assert refusal("@").code == refusal("label:label 1").code == "not_found"
    theirs = take(label="label 1")
    assert find("@") == find("label:label 1") == theirs.id
    assert find(three[0].id) == three[0].id
    monkeypatch.chdir(repo.top)
    assert find("@") == three[2].id
    assert find("label:label 1") == three[1].id
    listed = Catalog(Repository.discover()).newest_first(everywhere=True)
    assert [entry.ref for entry in listed] == [theirs.ref, *(entry.ref for entry in three[::-1])]


def test_the_newest_is_found_after_many_of_another_worktree(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit(a="a\n")
    ours = take()
    body = json.dumps({"boocode": 1, "worktree": {"name": "other"}})
    for number in range(20):
        forge(repo, f"ffffffff-{number:02}", f"x\n\n{body}\n")
    latest = Catalog(Repository.discover()).latest()
    assert latest is not None
    assert latest.id == find("@") == ours.id


def many(repo: Repo, count: int, *, name: str = "main") -> list[str]:
    """The ids of many checkpoints, oldest first, that hold the same."""
    body = json.dumps({"boocode": 1, "worktree": {"name": name}})
    commit = repo.git("commit-tree", repo.git("mktree").strip(), stdin=f"s\n\n{body}\n").strip()
    ids = [f"0190{number:04x}-0000-7000-8000-000000000000" for number in range(count)]
    create = "".join(f"create {CHECKPOINTS}{identifier} {commit}\n" for identifier in ids)
    repo.git("update-ref", "--stdin", stdin=create)
    return ids


def test_more_checkpoints_than_the_first_batch(repo: Repo) -> None:
    ids = many(repo, 1200)
    repo.git("update-ref", f"{CHECKPOINTS}\udcff", f"{CHECKPOINTS}{ids[0]}")
    listed = [entry.ref for entry in Catalog(Repository.discover()).newest_first()]
    assert listed == [f"{CHECKPOINTS}{name}" for name in ("\udcff", *reversed(ids))]
    assert [find(name) for name in ("@", "@~510", "@~511", "@~512", "@~1199")] == [
        ids[-1], ids[-511], ids[-512], ids[-513], ids[0]
    ]  # fmt: skip
    assert refusal("@~1201").code == "not_found"


def test_the_newest_of_many_are_found_without_listing_all(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = many(repo, 600)
    catalog = Catalog(Repository.discover())
    asked: list[int] = []
    real = Store.refs

    def refs(store: Store, *prefixes: str, newest: int = 0) -> list[Ref]:
        asked.append(newest)
        return real(store, *prefixes, newest=newest)

    monkeypatch.setattr(Store, "refs", refs)
    assert catalog.find("@~20").id == ids[-21]
    assert len(asked) == 1
    assert asked[0] > 0


def test_new_checkpoints_during_a_listing_shift_nothing(repo: Repo) -> None:
    ids = many(repo, 600)
    entries = Catalog(Repository.discover()).newest_first()
    seen = [next(entries)]
    forge(repo, "ffff", 's\n\n{"boocode": 1}\n')
    repo.git("update-ref", "-d", f"{CHECKPOINTS}{ids[0]}")
    seen += entries
    assert [entry.ref.rpartition("/")[2] for entry in seen] == ids[:0:-1]


def test_a_checkpoint_in_archive_and_log_counts_once(repo: Repo, three: list[Checkpoint]) -> None:
    kept, commit = three[0].id, three[0].commit.id
    for place in ("x", "y"):
        repo.git("update-ref", f"refs/boocode/archive/{place}/{kept}", commit)
    catalog = Catalog(Repository.discover())
    for name in (kept, kept[:-1], commit, commit[:12], commit[:12].upper()):
        assert catalog.find(name).ref == three[0].ref
    repo.git("update-ref", "-d", three[0].ref)
    assert find(kept) == find(commit[:12]) == kept


def test_a_prefix_of_an_id_and_of_another_commit(repo: Repo, three: list[Checkpoint]) -> None:
    commit = three[0].commit.id
    forge(repo, commit[:8] + three[1].id[8:], 's\n\n{"boocode": 1}\n')
    for name in (commit[:6], commit[:6].upper()):
        error = refusal(name)
        assert error.code == "ambiguous"
        assert three[0].id in error.hints[0]
        assert commit[:8] + three[1].id[8:] in error.hints[0]
    assert find(commit[:9]) == three[0].id


FOREIGN: dict[str, Callable[[Repo], object]] = {
    "a commit of someone else's": lambda repo: forge(repo, "ffff-x", "hello\n\nworld\n"),
    "an empty message": lambda repo: forge(repo, "ffff-x", ""),
    "no object but an array": lambda repo: forge(repo, "ffff-x", "s\n\n[1]\n"),
    "a newer format": lambda repo: forge(repo, "ffff-x", 's\n\n{"boocode": 99}\n'),
    "a blob": lambda repo: repo.git(
        "update-ref", f"{CHECKPOINTS}ffff-x", repo.git("hash-object", "-w", "--stdin").strip()
    ),
    "an annotated tag": lambda repo: (
        repo.git("tag", "-a", "-m", "x", "t"),
        repo.git("update-ref", f"{CHECKPOINTS}ffff-x", repo.git("rev-parse", "t").strip()),
    ),
    "a missing object": lambda repo: repo.write(f".git/{CHECKPOINTS}ffff-x", f"{'12' * 20}\n"),
    "an empty ref": lambda repo: repo.write(f".git/{CHECKPOINTS}ffff-x", ""),
    "a dangling symbolic ref": lambda repo: repo.git(
        "symbolic-ref", f"{CHECKPOINTS}ffff-x", "refs/heads/nowhere"
    ),
    "an odd name": lambda repo: forge(repo, "ffff\u2028x", "x"),
    "a name that is not UTF-8": lambda repo: forge(repo, "ffff\udcff", "x"),
    "a ref in a directory": lambda repo: forge(repo, "ffff/x", "x"),
    "wrong shapes": lambda repo: forge(
        repo,
        "ffff-x",
        's\n\n{"boocode": 1, "id": 7, "head": [], "index": "x", "skipped": {}, "meta": 1, '
        '"worktree": {"name": "elsewhere"}, "label": {}, "created_at": false}\n',
    ),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_malformed_checkpoints_do_not_affect_others(repo: Repo, kind: str) -> None:
    repo.commit(a="a\n")
    ours = take(label="ours")
    FOREIGN[kind](repo)
    repo.write("a", "changed\n")
    assert find("@") == ours.id
    listed = Catalog(Repository.discover()).newest_first(everywhere=True)
    assert ours.ref in [entry.ref for entry in listed]
    log = repo.boocode("log", "--json")
    assert (log.code, [row["id"] for row in log.json["checkpoints"]]) == (0, [ours.id])
    outcome = back()
    assert outcome.checkpoint.id == ours.id
    assert repo.read("a") == b"a\n"
    assert take().id > ours.id


@pytest.mark.parametrize("damage", ["half", "empty"])
def test_a_damaged_commit_does_not_affect_other_checkpoints(repo: Repo, damage: str) -> None:
    repo.commit(a="a\n")
    ours = take(label="ours")
    repo.write("a", "b\n")
    broken = take(label="x" * 999, meta={"long": [str(n) for n in range(999)]})
    path = repo.top / ".git/objects" / broken.commit.id[:2] / broken.commit.id[2:]
    whole = path.read_bytes()
    path.chmod(0o600)
    path.write_bytes(whole[: len(whole) // 2] if damage == "half" else b"")
    assert find("@") == ours.id
    assert refusal(broken.id).code == "malformed"
    back()
    assert repo.read("a") == b"a\n"


def test_an_unusable_checkpoint_is_refused_with_the_reason(repo: Repo) -> None:
    repo.commit()
    forge(repo, "abcdef01", "hello\n\nworld\n")
    forge(repo, "abcdef02", 's\n\n{"boocode": 99}\n')
    assert refusal("abcdef01").code == "malformed"
    newer = refusal("abcdef02")
    assert newer.code == "newer"
    assert newer.message.startswith("checkpoint 'abcdef02' cannot be used: ")
    assert newer.hints == ("update git-boocode",)


def rewrite(repo: Repo, taken: Checkpoint, **values: object) -> None:
    """Change a checkpoint's metadata behind its back."""
    message = Metadata({**taken.meta.values, **values}).message()
    parents = [part for parent in taken.commit.parents for part in ("-p", parent)]
    commit = repo.git("commit-tree", *parents, taken.tree, stdin=message).strip()
    repo.git("update-ref", taken.ref, commit)


@pytest.mark.parametrize(
    ("tree", "details"),
    [("same", None), ("same", "12" * 20), ("same", "--help"), ("same", "blob"), ("12" * 20, None),
     ("nonsense", None), ("HEAD", "HEAD"), ("--help", None), ("", None)],
)  # fmt: skip
def test_a_staging_area_that_is_not_there(repo: Repo, tree: str, details: str | None) -> None:
    repo.commit(a="a\n")
    repo.write("a", "staged\n")
    repo.git("add", "a")
    taken = take()
    if details == "blob":
        blob = repo.git("hash-object", "-w", "--stdin", stdin="no record\0").strip()
        details = repo.git("mktree", stdin=f"100644 blob {blob}\tentries\n").strip()
    staged = taken.meta.values["index"]
    if tree == "same":
        tree = staged["tree"]
    rewrite(repo, taken, index={**staged, "tree": tree, "details": details})
    fresh = take(only_if_changed=True)
    repo.write("a", "changed\n")
    repo.write("b", "new\n")
    before = repo.files(), repo.status()
    if details is None and tree == staged["tree"]:
        back(taken.id)
    else:
        assert fresh.id != taken.id
        with pytest.raises(BoocodeError) as caught:
            back(taken.id)
        assert caught.value.code in ("malformed", "missing_objects")
        assert (repo.files(), repo.status()) == before
    take()
