"""Files are read and written in the form that they have on disk, whatever git stores for them."""

from __future__ import annotations

import pytest

from git_boocode.checkpoints.restore import commands
from git_boocode.checkpoints.restore.request import RestoreRequest, TurnStep, WantedPaths
from git_boocode.checkpoints.worktree.snapshot import Snapshot
from git_boocode.proposals.proposal import BlobVersion, NewVersion
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.repository import Repository
from git_boocode.workflows.disk_form import files_now, files_of, wanted_file
from tests.repo_kit import Repo

FORMS = {
    "plain": ("", "a\nb", "a\nc"),
    "crlf": ("f text eol=crlf", "a\r\nb\r\n", "a\r\nc\r\n"),
    "mixed": ("f text eol=crlf", "a\r\nb\r\n", "a\nc\r\n"),
    "ident": ("f ident", "$Id$\nb\n", "$Id$\nc\n"),
    "filter": ("f filter=upper", "A\nB\n", "A\nC\n"),
    "encoding": ("f text working-tree-encoding=UTF-16LE", "a\0\n\0", "c\0\n\0"),
}


def change(repo: Repo, path: str, data: bytes, mode: str = "100644") -> None:
    repository = Repository.discover(str(repo.top))

    def make(snapshot: Snapshot) -> WantedPaths:
        [entry] = snapshot.disk_index.entries_of([path])
        now = files_now(repository, [(path, BlobVersion(entry.mode, entry.id))])[path]
        return WantedPaths([wanted_file(repository, snapshot, path, NewVersion(mode, data), now)])

    step = TurnStep("restore", (turn(repo),), whole=False)
    commands.change_paths(repository, step, make, RestoreRequest())


def turn(repo: Repo) -> str:
    identifier: str = repo.boocode("checkpoint", "--json").json["id"]
    return identifier


def undo(repo: Repo) -> None:
    commands.undo(Repository.discover(str(repo.top)), RestoreRequest())


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.variants
def test_bytes_come_to_the_disk_and_back_as_they_are(repo: Repo, form: str) -> None:
    attributes, before, after = FORMS[form]
    repo.git("config", "filter.upper.smudge", "tr a-z A-Z")
    repo.git("config", "filter.upper.clean", "tr A-Z a-z")
    repo.commit(**{".gitattributes": f"{attributes}\n"})
    repo.write("f", before)
    repo.git("add", "f")
    repo.git("commit", "-qm", "f")
    (repo.top / "f").unlink()
    repo.git("checkout", "-q", "f")
    written, there = repo.read("f"), repo.git("rev-parse", ":f").strip()
    repository = Repository.discover(str(repo.top))
    found = files_of(repository, [("f", BlobVersion("100644", there))])["f"]
    assert (found.id, found.data) == (there, written)
    change(repo, "f", after.encode())
    assert repo.read("f") == after.encode()
    undo(repo)
    assert repo.read("f") == written
    assert repo.git("status", "--porcelain") == ""


def test_a_file_stored_with_crlf_stays_so(repo: Repo) -> None:
    repo.git("config", "core.autocrlf", "false")
    repo.commit(f="a\r\nb\r\n")
    repo.write(".gitattributes", "f text=auto\n")
    change(repo, "f", b"a\r\nc\r\n")
    assert repo.read("f") == b"a\r\nc\r\n"
    # It is what git would store, so that nothing seems to have changed since.
    undo(repo)
    assert repo.read("f") == b"a\r\nb\r\n"


def test_a_file_that_is_gone_is_not_replaced(repo: Repo) -> None:
    repo.commit(f="a\n")
    there = BlobVersion("100644", repo.git("rev-parse", ":f").strip())
    (repo.top / "f").unlink()
    with pytest.raises(RefusedError, match="'f' was changed meanwhile"):
        files_now(Repository.discover(str(repo.top)), [("f", there)])
    (repo.top / "f").symlink_to("elsewhere")
    with pytest.raises(RefusedError, match="'f' was changed meanwhile") as refused:
        files_now(Repository.discover(str(repo.top)), [("f", there)])
    assert [each.name for each in refused.value.next_steps] == ["retry"]


def test_a_symbolic_link_is_its_target(repo: Repo) -> None:
    (repo.top / "l").symlink_to("here")
    repo.git("add", "l")
    repo.git("commit", "-qm", "link")
    change(repo, "l", b"there", "120000")
    assert (repo.top / "l").readlink().name == "there"
    undo(repo)
    assert (repo.top / "l").readlink().name == "here"
