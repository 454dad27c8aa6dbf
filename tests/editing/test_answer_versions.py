"""Answers name versions of files, and an edit that names one later is made for it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from git_boocode.editing.answer import EditsRefusedError
from git_boocode.editing.inputs import Source
from git_boocode.editing.kept_versions import version_of
from git_boocode.editing.records import Records
from git_boocode.editing.rewind_edit import rewind
from git_boocode.editing.service import Options, apply_edits
from git_boocode.editing.workspace import Workspace
from git_boocode.proposals.acceptance import AcceptRequest, accept
from git_boocode.repo.layout import READS
from git_boocode.repo.repository import Repository
from tests.editing.kit import apply, refused, replace
from tests.proposals.kit import propose, workspace
from tests.repo_kit import Repo, read_only

LINES = "".join(f"line {number}\n" for number in range(1, 10))
NO_RECORD = Options(record=False)


def answered(edits: object, options: Options | None = None) -> list[str | None]:
    """The versions of the files of an answer."""
    return [file.version for file in apply(edits, options=options).files]


def later(repo: Repo, path: str, version: str | None) -> str:
    """The rung of an edit of the last line for a version, after all else of it was changed."""
    before = repo.read(path)
    repo.git("gc", "-q", "--prune=now")
    exact = apply(replace(path, "line 9", "LAST", base=version), options=Options(dry_run=True))
    assert exact.files[0].applied[0][1].rung == "exact"
    repo.write(path, b"by hand\n" + before)
    merged = apply(replace(path, "line 9", "LAST", base=version))
    assert repo.read(path) == b"by hand\n" + before.replace(b"line 9", b"LAST")
    return merged.files[0].applied[0][1].rung


@pytest.mark.parametrize("path", ["a", "sub/link"])
def test_an_edit_can_be_followed_by_one_for_its_version(repo: Repo, path: str) -> None:
    repo.write("a", LINES)
    (repo.top / "sub").mkdir()
    (repo.top / "sub/link").symlink_to("../a")
    [version] = answered(replace(path, "line 1\n", "first\n"))
    assert version == repo.git("hash-object", "a")[:12]
    assert later(repo, "a", version) == "merged"


def test_a_call_that_changes_nothing_names_what_is_there(repo: Repo) -> None:
    repo.write("a", LINES)
    repo.write("b", "x\n")
    [version, _] = answered([{"path": "a", "content": LINES}, replace("b", "x", "y")])
    assert later(repo, "a", version) == "merged"


def test_the_version_of_a_refusal_can_be_named(repo: Repo) -> None:
    repo.write("a", LINES)
    error = refused([replace("a", "nothing", "x"), replace("nowhere", "x", "y")])
    version, none = [failure.version for failure in error.failures]
    assert none is None
    details: Any = error.details["failures"]
    assert [each["version"] for each in details] == [version, None]
    assert later(repo, "a", version) == "merged"


def test_without_a_record_the_version_is_named_and_nothing_is_stored(repo: Repo) -> None:
    repo.write("a", LINES)
    [version] = answered(replace("a", "line 1\n", "first\n"), NO_RECORD)
    assert repo.git("for-each-ref", "refs/boocode") == ""
    [again] = apply(replace("a", "first", "1", base=version), options=NO_RECORD).files
    assert again.applied[0][1].rung == "exact"
    [failure] = refused(replace("a", "1", "2", base=version), options=NO_RECORD).failures
    assert failure.code == "stale"
    assert failure.version == repo.git("hash-object", "a")[:12]
    assert repo.git("for-each-ref", "refs/boocode") == ""


def test_a_rewind_names_the_version_that_it_leaves(repo: Repo) -> None:
    repo.write("a", LINES)
    apply(replace("a", "line 1\n", "first\n"), options=NO_RECORD)
    apply(replace("a", "line 2\n", "second\n"))
    repository = Repository.discover()
    [file] = rewind(repository, Records(repository).to_rewind()).answer.files
    assert later(repo, "a", file.version) == "merged"


@pytest.mark.parametrize("attributes", ["", "* text eol=crlf\n"])
def test_what_is_accepted_and_proposed_can_be_named(repo: Repo, attributes: str) -> None:
    repo.commit(**{"a": LINES, ".gitattributes": attributes})
    (repo.top / "a").unlink()
    repo.git("checkout-index", "-a")
    [proposed] = propose(replace("a", "line 1", "first")).files
    [refusal] = refused_proposal(replace("a", "nothing", "x"))
    assert refusal == proposed.version
    propose(replace("a", "line 2", "second", base=proposed.version))
    [file] = accept(workspace(), AcceptRequest()).files
    assert file.edited is not None
    assert file.edited.version == version_of(repo.read("a"), Repository.discover())
    assert (b"\r\n" in repo.read("a")) is bool(attributes)
    assert later(repo, "a", file.edited.version) == "merged"


def refused_proposal(edits: object) -> list[str | None]:
    """The versions in the refusal of a proposal."""
    with pytest.raises(EditsRefusedError) as caught:
        propose(edits)
    return [failure.version for failure in caught.value.failures]


def test_versions_with_sha256(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.git("init", "-q", "--object-format=sha256", "other")
    monkeypatch.chdir(repo.top / "other")
    other = Repo(repo.top / "other")
    other.write("a", LINES)
    [version] = answered(replace("a", "line 1\n", "first\n"))
    assert version == other.git("hash-object", "a")[:12]
    assert later(other, "a", version) == "merged"


@pytest.mark.parametrize("data", [b"\xff line 1\r\nline 2", b"\xef\xbb\xbfline 1\n", b"\0line 1"])
def test_the_version_of_any_bytes_is_exact(repo: Repo, data: bytes) -> None:
    repo.write("a", data)
    [version] = answered(replace("a", "line 1", "first"))
    assert repo.git("cat-file", "blob", str(version)).encode("utf-8", "surrogateescape") == (
        repo.read("a")
    )
    [again] = apply(replace("a", "first", "1", base=version)).files
    assert again.applied[0][1].rung == "exact"


def test_files_of_which_nothing_is_left_have_no_version(repo: Repo) -> None:
    repo.write("gone", "x\n")
    repo.write("old", "x\n")
    patch = (
        "*** Begin Patch\n*** Delete File: gone\n*** Update File: old\n*** Move to: new\n"
        "@@\n-x\n+y\n*** End Patch\n"
    )
    answer = {file.path: file.version for file in apply(patch.encode()).files}
    assert answer == {"gone": None, "new": repo.git("hash-object", "new")[:12]}


def test_what_may_not_be_stored_is_only_named(repo: Repo) -> None:
    repo.commit(**{".gitignore": "secret\n", "a": LINES})
    repo.write("secret", LINES)
    objects = ("cat-file", "--batch-all-objects", "--batch-check")
    before = repo.git(*objects)
    dry = [replace("secret", "line 1\n", "first\n"), replace("a", "line 1\n", "first\n")]
    assert answered(dry, Options(dry_run=True)) == [None, None]
    bad = [replace("secret", "nothing", "x"), replace("a", "nothing", "x")]
    versions = [failure.version for failure in refused(bad).failures]
    assert versions == [repo.git("hash-object", "a")[:12]] * 2
    assert repo.git(*objects) == before
    repo.write("a", "not in HEAD\n")
    assert all(failure.version for failure in refused(bad, options=Options(dry_run=True)).failures)
    assert all(failure.version for failure in refused(bad, index=False).failures)
    [version] = answered(dry[:1], NO_RECORD)
    assert version == repo.git("hash-object", "secret")[:12]
    assert repo.git(*objects) == before
    apply(replace("secret", "first", "1", base=version), options=NO_RECORD)
    error = refused(replace("secret", "1", "x", base=version))
    assert [failure.code for failure in error.failures] == ["stale"]


def test_what_head_or_a_record_holds_needs_no_ref(repo: Repo) -> None:
    repo.commit(a=LINES)
    refused(replace("a", "nothing", "x"))
    apply(replace("a", "line 1\n", "first\n"))
    assert repo.git("for-each-ref", READS) == ""


def test_an_edit_without_a_record_does_not_need_to_keep_a_version(repo: Repo) -> None:
    repo.commit(a=LINES)
    repo.boocode("status")
    change = ("apply-edit", "--path", "a", "--old", "line 1\n", "--new", "first\n")
    with read_only(repo.top / ".git/objects"):
        assert "cannot record" in repo.unprivileged(*change).err
        done = repo.unprivileged(*change, "--no-record", "--json")
    assert done.code == 0, done
    assert done.json["files"][0]["version"] == repo.git("hash-object", "a")[:12]
    assert repo.git("for-each-ref", READS) == ""


@pytest.mark.parametrize("named", [True, False])
def test_a_buffer_is_kept_for_edits_that_name_versions(repo: Repo, named: bool) -> None:
    repo.write("a", "saved\n")
    place = Workspace.find(index=True).with_buffers({"a": LINES.encode()})
    base = {"base": version_of(LINES.encode(), place.repository)} if named else {}
    source = Source("input", json.dumps(replace("a", "line 1\n", "first\n", **base)).encode())
    [file] = apply_edits([source], place, Options()).files
    kept = repo.git("for-each-ref", "--format=%(objectname)", READS).split()
    assert [blob[:12] for blob in kept] == [file.version] * named
