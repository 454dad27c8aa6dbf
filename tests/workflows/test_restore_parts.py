"""Hunks of files are restored from a checkpoint: nothing else changes, and undo is exact."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import pytest

import git_boocode
from git_boocode.checkpoints.restore.request import RestoreRequest
from git_boocode.checkpoints.restore.result import RestoreResult
from git_boocode.repo.errors import BoocodeError, RefusedError
from git_boocode.repo.repository import Repository
from git_boocode.workflows import restore_parts as parts
from tests.repo_kit import Repo, examples

NUMBERS = "".join(f"{number}\n" for number in range(1, 31))


def changed(text: str, lines: Mapping[int, str]) -> str:
    """A text in which some lines, by number, are others."""
    rows = text.splitlines(keepends=True)
    for number, line in lines.items():
        rows[number - 1] = line
    return "".join(rows)


NOW = changed(NUMBERS, {3: "three\n", 15: "", 27: "27\nand more\n"})


@pytest.fixture
def work(repo: Repo) -> Repo:
    """One checkpoint, and one file in which three places differ since."""
    repo.commit(f=NUMBERS, other="other\n")
    git_boocode.checkpoint(str(repo.top))
    repo.write("f", NOW)
    repo.write("other", "by hand\n")
    return repo


def restore(repo: Repo, *numbers: int, path: str = "f", **more: object) -> None:
    git_boocode.restore("@", str(repo.top), hunks={path: numbers}, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("numbers", "left"),
    [
        ((1,), {15: "", 27: "27\nand more\n"}),
        ((2,), {3: "three\n", 27: "27\nand more\n"}),
        ((3, 1), {15: ""}),
        ((1, 2, 3), {}),
    ],
)
@pytest.mark.variants
def test_only_these_hunks_are_restored(
    work: Repo, numbers: tuple[int, ...], left: Mapping[int, str]
) -> None:
    restore(work, *numbers)
    assert work.read("f").decode() == changed(NUMBERS, left)
    assert work.read("other") == b"by hand\n"
    git_boocode.undo(str(work.top))
    assert work.read("f").decode() == NOW
    git_boocode.redo(str(work.top))
    assert work.read("f").decode() == changed(NUMBERS, left)


def test_the_staging_area_stays(work: Repo) -> None:
    work.git("add", "f")
    staged = work.git("ls-files", "-s")
    restore(work, 1)
    assert work.git("ls-files", "-s") == staged


def test_a_dry_run_lists_the_hunks_and_the_version(work: Repo) -> None:
    found = git_boocode.restore("@", str(work.top), paths=["f"], dry_run=True)
    assert found.parts.keys() == {"f"}
    hunks = found.parts["f"]["hunks"]
    assert isinstance(hunks, list)
    places = [(each["number"], each["start_line"], each["end_line"]) for each in hunks]
    assert places == [(1, 3, 3), (2, 15, 14), (3, 27, 27)]
    assert (hunks[0]["old_text"], hunks[0]["new_text"]) == ("three\n", "3\n")
    version = found.parts["f"]["version"]
    restore(work, 1, expect={"f": version}, dry_run=True)
    work.write("f", f"first\n{NOW}")
    with pytest.raises(RefusedError, match="'f' has changed since you looked at it") as refused:
        restore(work, 1, expect={"f": version})
    assert refused.value.code == "conflict"
    assert work.read("f").decode() == f"first\n{NOW}"


def test_no_hunks_are_listed_without_paths(work: Repo) -> None:
    assert not git_boocode.restore("@", str(work.top), dry_run=True).parts


@pytest.mark.parametrize(
    ("path", "numbers", "code", "message"),
    [
        ("f", (4,), "not_found", "'f' has only 3 hunks, not a hunk 4"),
        ("f", (0, 1), "", "a hunk has a number from 1"),
        ("same", (1,), "not_found", "'same' is as in the checkpoint"),
        ("none", (1,), "not_found", "'none' is no file"),
        ("gone", (1,), "invalid_input", "'gone' has no hunks: the restore would create it"),
        ("new", (1,), "invalid_input", "'new' has no hunks: the restore would delete it"),
        ("image", (1,), "invalid_input", "'image' has no hunks: it is binary"),
        ("link", (1,), "invalid_input", "'link' has no hunks: it is a symbolic link"),
        ("tool", (1,), "invalid_input", "'tool' has no hunks: only its mode differs"),
        ("../f", (1,), "outside_worktree", "outside the worktree"),
    ],
)
@pytest.mark.variants
def test_what_has_no_such_hunk_is_refused(
    repo: Repo, path: str, numbers: tuple[int, ...], code: str, message: str
) -> None:
    repo.commit(f=NUMBERS, same="x\n", gone="x\n", image="a\0", tool="x\n")
    (repo.top / "link").symlink_to("here")
    git_boocode.checkpoint(str(repo.top))
    repo.write("f", NOW)
    repo.write("new", "x\n")
    repo.write("image", "b\0")
    (repo.top / "gone").unlink()
    (repo.top / "tool").chmod(0o755)
    (repo.top / "link").unlink()
    (repo.top / "link").symlink_to("there")
    before = repo.files()
    with pytest.raises((BoocodeError, ValueError), match=message) as refused:
        restore(repo, *numbers, path=path)
    assert getattr(refused.value, "code", "") == code
    assert repo.files() == before


@pytest.mark.parametrize("given", [{"paths": ["f"]}, {"head": True}, {"files": False}])
def test_what_does_not_go_with_hunks(work: Repo, given: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="hunks and"):
        restore(work, 1, **given)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="needs hunks"):
        git_boocode.restore("@", str(work.top), expect={"f": "1"})


# Files as they are on disk.


def check_bytes(repo: Repo, then: bytes, now: bytes, numbers: Sequence[int], want: bytes) -> None:
    (repo.top / "f").write_bytes(then)
    git_boocode.checkpoint(str(repo.top))
    (repo.top / "f").write_bytes(now)
    restore(repo, *numbers)
    assert repo.read("f") == want
    git_boocode.undo(str(repo.top))
    assert repo.read("f") == now


CASES = {
    "crlf": (b"a\r\nb\r\nc\r\n", b"A\r\nb\r\nC\n", (1,), b"a\r\nb\r\nC\n"),
    "no newline": (b"a\nb\nc", b"A\nb\nc\n", (2,), b"A\nb\nc"),
    "a newline": (b"a\nb\nc\n", b"A\nb\nc", (2,), b"A\nb\nc\n"),
    "mark": (b"\xef\xbb\xbfa\nb\nc\n", b"a\nb\nC\n", (2,), b"a\nb\nc\n"),
    "marked": (b"a\nb\nc\n", b"\xef\xbb\xbfa\nb\nC\n", (1,), b"a\nb\nC\n"),
    "latin": (b"\xe9\nb\nc\xe9\n", b"\xe8\nb\nC\xe9\n", (2,), b"\xe8\nb\nc\xe9\n"),
    "utf-16": tuple(
        each if isinstance(each, tuple) else b"\xff\xfe" + each.encode("utf-16-le")
        for each in ("a\nb\nc\n", "A\nb\nC\n", (1,), "a\nb\nC\n")
    ),
    "empty": (b"a\n", b"", (1,), b"a\n"),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.variants
def test_bytes_stay_as_they_are(repo: Repo, case: str) -> None:
    then, now, numbers, want = CASES[case]
    assert isinstance(then, bytes)
    assert isinstance(now, bytes)
    assert isinstance(numbers, tuple)
    assert isinstance(want, bytes)
    repo.commit(other="x\n")
    check_bytes(repo, then, now, numbers, want)


@pytest.mark.parametrize("attributes", ["f text eol=crlf", "f text=auto", "f filter=upper"])
def test_bytes_stay_where_git_converts(repo: Repo, attributes: str) -> None:
    repo.git("config", "filter.upper.smudge", "tr a-z A-Z")
    repo.git("config", "filter.upper.clean", "tr A-Z a-z")
    repo.commit(**{".gitattributes": f"{attributes}\n"})
    end = b"\r\n" if "crlf" in attributes else b"\n"
    then, now = (end.join((*rows, b"")) for rows in ((b"A", b"B", b"C"), (b"1", b"B", b"2")))
    check_bytes(repo, then, now, (1,), end.join((b"A", b"B", b"2", b"")))


def test_a_filter_that_fails_changes_nothing(repo: Repo) -> None:
    repo.commit(**{".gitattributes": "f filter=own\n"}, f="a\n")
    git_boocode.checkpoint(str(repo.top))
    repo.git("config", "filter.own.smudge", "false")
    repo.git("config", "filter.own.required", "true")
    repo.write("f", "b\n")
    with pytest.raises(BoocodeError, match="cannot read the version") as failed:
        restore(repo, 1)
    assert failed.value.code == "missing_objects"
    assert repo.read("f") == b"b\n"


def test_a_safety_checkpoint_gives_its_exact_bytes(repo: Repo) -> None:
    repo.commit(**{".gitattributes": "f text eol=crlf\n"}, f="a\nb\nc\n")
    mixed = b"A\nb\r\nC\n"
    taken = git_boocode.checkpoint(str(repo.top))
    (repo.top / "f").write_bytes(mixed)
    safety = git_boocode.restore(taken.id, str(repo.top)).undo
    assert safety is not None
    git_boocode.restore(safety, str(repo.top), hunks={"f": [1]})
    assert repo.read("f") == b"A\nb\r\nc\r\n"


@pytest.mark.slow
def test_any_hunks_of_any_texts(repo: Repo) -> None:
    """One part and then the rest make the whole; each undo goes back exactly."""
    repo.commit(other="x\n")
    chance = random.Random(35)
    for _ in range(examples(30)):
        lines = [chance.choice(["a", "b", "\r", "é", "\ufeffx", ""]) for _ in range(12)]
        then = "\n".join(lines).encode() + chance.choice([b"", b"\n"])
        for at in chance.sample(range(12), 4):
            lines[at] = chance.choice(["new", "new\nlines", "a", "\r"])
        now = "\n".join(lines).encode() + chance.choice([b"", b"\n"])
        (repo.top / "f").write_bytes(then)
        git_boocode.checkpoint(str(repo.top))
        (repo.top / "f").write_bytes(now)
        found = git_boocode.restore("@", str(repo.top), paths=["."], dry_run=True)
        if not found.changed:
            continue
        hunks = found.parts["f"]["hunks"]
        assert isinstance(hunks, list)
        numbers = [each["number"] for each in hunks]
        chosen = chance.sample(numbers, chance.randint(1, len(numbers)))
        restore(repo, *chosen)
        middle = repo.read("f")
        if len(chosen) < len(numbers):
            restore(repo, *range(1, len(numbers) - len(chosen) + 1))
            assert repo.read("f") == then
            git_boocode.undo(str(repo.top))
            assert repo.read("f") == middle
        else:
            assert middle == then
        git_boocode.undo(str(repo.top))
        assert repo.read("f") == now


def test_a_file_outside_of_a_sparse_checkout_comes_back(repo: Repo) -> None:
    repo.commit(**{"d/f": "old\n", "e/g": "old\n"})
    turn = git_boocode.checkpoint(str(repo.top)).id
    repo.commit(**{"d/f": "new\n"})
    repo.sparse("e")
    repository = Repository.discover(str(repo.top))
    parts.restore_parts(repository, turn, RestoreRequest(), {"d/f": {parts.WHOLE}})
    assert repo.read("d/f") == b"old\n"


def test_hunks_are_those_that_were_counted(work: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    look = parts.differences

    def changed_after(repository: Repository, name: str, request: RestoreRequest) -> RestoreResult:
        found = look(repository, name, request)
        listed = parts.changed_file(repository, found.checkpoint, found.changed[0])
        monkeypatch.setattr(parts, "changed_file", lambda *_: listed)
        work.write("f", f"meanwhile\n{NOW}")
        return found

    monkeypatch.setattr(parts, "differences", changed_after)
    repository = Repository.discover(str(work.top))
    with pytest.raises(RefusedError) as refused:
        parts.restore_hunks(repository, "@", RestoreRequest(paths=("f",)), [1])
    assert refused.value.code == "conflict"
    assert work.read("f").decode() == f"meanwhile\n{NOW}"
