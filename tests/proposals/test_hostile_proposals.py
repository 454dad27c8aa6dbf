"""Proposals that no git-boocode wrote: they count for nothing, and nothing outside is touched."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from git_boocode.repo.entries import Metadata
from git_boocode.repo.ids import new_id
from git_boocode.repo.layout import PROPOSALS
from git_boocode.repo.repository import Repository
from tests.repo_kit import Repo, Result

pytestmark = pytest.mark.slow

SECRET = "what nobody may read"
PLANTED = "what nobody may write"
NOBODY = "12" * 20


def blob(repo: Repo, text: str) -> str:
    """Store a blob; returns its id."""
    return repo.git("hash-object", "-w", "--stdin", stdin=text).strip()


def version(identifier: str, mode: str = "100644") -> dict[str, str]:
    """One side of a file in the metadata."""
    return {"mode": mode, "id": identifier}


def publish(repo: Repo, message: str | bytes, *, name: str = "", parent: str = "HEAD") -> str:
    """Create a proposal's ref for a commit with some message; returns the id."""
    name = name or new_id()
    tree = repo.git("rev-parse", "HEAD^{tree}").strip()
    commit = repo.git("commit-tree", "-p", parent, tree, stdin=message).strip()
    repo.git("update-ref", PROPOSALS + name, commit)
    return name


def forge(repo: Repo, files: object, **values: Any) -> str:
    """Create a proposal with some rows; returns its id."""
    name = str(values.get("id") or new_id())
    defaults = {"boocode": 1, "kind": "proposal", "id": name}
    message = Metadata({**defaults, "worktree": _worktree(repo), "files": files, **values})
    return publish(repo, message.message(), name=name)


def _worktree(repo: Repo) -> Any:
    """How a proposal of this worktree names it."""
    return Repository.discover(str(repo.top)).worktree_json()


def good(repo: Repo) -> str:
    """Propose a change of `a`; returns the id."""
    edit = json.dumps({"path": "a", "old_string": "one", "new_string": "two"})
    done = repo.boocode("propose", "--json", stdin=edit)
    assert done.code == 0, done
    return str(done.json["id"])


@pytest.fixture
def outside(repo: Repo, tmp_path: Path) -> Path:
    """A directory beside the worktree with a file that is none of its business."""
    repo.commit(a="one\n", b="bee\n")
    path = tmp_path / "outside"
    path.mkdir()
    (path / "secret").write_text(f"{SECRET}\n")
    repo.write(".git/secret", f"{SECRET}\n")
    (repo.top / "link").symlink_to(path)
    return path


def untouched(repo: Repo, outside: Path) -> None:
    """Nothing was read from outside into the repository, and nothing written there."""
    assert {path.name: path.read_text() for path in outside.iterdir()} == {"secret": f"{SECRET}\n"}
    assert (repo.top / ".git/secret").read_text() == f"{SECRET}\n"
    assert PLANTED not in (repo.top / ".git/config").read_text()
    assert not list((repo.top / ".git/hooks").glob("*planted*"))
    assert os.readlink(repo.top / "link") == str(outside)
    everything = repo.git("cat-file", "--batch-all-objects", "--batch")
    assert SECRET not in everything


def every_command(repo: Repo, *paths: str) -> list[Result]:
    """What all commands answer that look at proposals; none of them fails without saying why."""
    commands = [
        ["status"],
        ["status", "--json"],
        ["status", "--porcelain", "-z"],
        ["diff", "--proposal"],
        ["accept", "-n", "--json"],
        ["accept", "--merge", "--json"],
        ["accept", "--merge", "--markers"],
        ["accept", "--overwrite", "--json"],
        ["sync"],
        ["discard", "--json"],
    ]
    for path in paths:
        commands += [
            ["preview", "--json", "--", path],
            ["diff", "--proposal", "--", path],
            ["accept", "--overwrite", "--", path],
            ["accept", "--hunk", "1", "--overwrite", "--", path],
            ["status", "--json", "--", path],
            ["discard", "--", path],
        ]
    found = [repo.boocode(*command) for command in commands]
    for command, done in zip(commands, found, strict=True):
        assert done.code in (0, 1, 128, 129), (command, done)
        assert "Traceback" not in done.err, (command, done)
        assert SECRET not in done.out + done.err, (command, done)
    return found


def is_disabled(repo: Repo) -> None:
    """The proposal before it counts, and it can be accepted and taken back."""
    assert repo.boocode("status", "--porcelain").out == "M  a\n"
    done = repo.boocode("accept", "--json")
    assert (done.code, (repo.top / "a").read_text()) == (0, "two\n"), done
    assert repo.boocode("undo").code == 0
    assert (repo.top / "a").read_text() == "one\n"
    edit = json.dumps({"path": "b", "old_string": "bee", "new_string": "cee"})
    assert repo.boocode("propose", stdin=edit).code == 0
    assert repo.boocode("status", "--porcelain").out == "M  a\nM  b\n"


PATHS = [
    *("../outside/planted", "../outside/secret", "x/../../outside/secret", "/etc/passwd"),
    *(".git/secret", ".git/config", ".GIT/hooks/planted", "sub/.git/config", "git~1/config"),
    *("a\0b", "", ".", "..", "./a", "a/", "a//b", "/", "x/./y", "\ud800", "x/.git"),
]


def test_paths(repo: Repo, outside: Path) -> None:
    planted = version(blob(repo, PLANTED))
    one = version(blob(repo, "one\n"))
    good(repo)
    paths = [*PATHS, f"{outside}/planted", f"{outside}/secret"]
    for path in paths:
        for row in (
            {"path": path, "context": None, "output": planted},
            {"path": path, "context": one, "output": planted},
            {"path": path, "context": planted, "output": None},
            {"path": "a", "from": path or ".", "context": one, "output": planted},
        ):
            forge(repo, [row])
        assert repo.boocode("status", "--porcelain").out == "M  a\n", path
    is_disabled(repo)
    # Nor does it help to name them.
    every_command(repo, *(path for path in paths if "\0" not in path and path.isprintable()))
    untouched(repo, outside)


@pytest.mark.parametrize("name", ["planted", "secret"])
def test_paths_through_a_symlink(repo: Repo, outside: Path, name: str) -> None:
    """The path itself is fine; what is there now is not below the top."""
    planted, secret = (version(blob(repo, text)) for text in (PLANTED, "another\n"))
    path = f"link/{name}"
    for rows in (
        [{"path": path, "context": None, "output": planted}],
        [{"path": path, "context": secret, "output": planted}],
        [{"path": path, "context": secret, "output": None}],
        [{"path": path, "context": secret, "output": secret}],
        [{"path": path, "from": "a", "context": version(blob(repo, "one\n")), "output": planted}],
        [{"path": "new", "from": path, "context": secret, "output": planted}],
        [{"path": f"sub/../{path}", "context": secret, "output": planted}],
    ):
        forge(repo, rows)
        every_command(repo, path)
        repo.boocode("sync", path)
        untouched(repo, outside)


def test_a_symlink_in_place_of_a_file(repo: Repo, outside: Path) -> None:
    """What a symlink names is never written, whatever mode is proposed."""
    target = blob(repo, f"{outside}/secret")
    (repo.top / "to").symlink_to(outside / "secret")
    planted = blob(repo, PLANTED)
    sides = [None, *(version(each, mode) for each in (target, planted) for mode in _MODES)]
    for old in sides:
        for new in sides:
            refname = PROPOSALS + forge(repo, [{"path": "to", "context": old, "output": new}])
            every_command(repo, "to")
            untouched(repo, outside)
            repo.git("update-ref", "-d", refname)
            repo.boocode("status")
            (repo.top / "to").unlink(missing_ok=True)
            (repo.top / "to").symlink_to(outside / "secret")


_MODES = ("100644", "120000")


def test_a_proposed_symlink(repo: Repo, outside: Path) -> None:
    """It cannot be made, so no later proposal is written through it."""
    good(repo)
    target = version(blob(repo, str(outside)), "120000")
    forge(repo, [{"path": "new", "context": None, "output": target}])
    every_command(repo, "new", "new/planted")
    assert not (repo.top / "new").is_symlink()
    untouched(repo, outside)


def test_malformed_proposals_count_for_nothing(repo: Repo, outside: Path) -> None:
    good(repo)
    planted = blob(repo, PLANTED)
    sides: list[object] = [1, [], {}]
    sides += [{"mode": mode, "id": planted} for mode in ("160000", "040000", "100600", "", None)]
    ids = ("HEAD", "", None, 1, "../x", "12" * 32, "--help", "g" * 40, "1" * 39)
    sides += [{"mode": "100644", "id": identifier} for identifier in ids]
    for side in sides:
        forge(repo, [{"path": "x", "context": None, "output": side}])
    for row in ({}, {"path": 1}, {"path": "x", "from": 1}):
        forge(repo, [row])
    rows = [{"path": "b", "context": None, "output": version(planted)}]
    worktrees = ({"worktree": {"name": "other"}}, {"worktree": {"name": "x", "id": 5}})
    for values in ({"boocode": 2}, {"kind": "checkpoint"}, {"kind": 1}, *worktrees):
        forge(repo, rows, **values)
    keys = {"boocode": 1, "kind": "proposal", "worktree": _worktree(repo), "files": rows}
    publish(repo, Metadata({**keys, "id": new_id()}).message())
    for body in ("", "no JSON", "[]", '{"boocode": true}', '{"boocode": 1', "[" * 100_000):
        publish(repo, f"subject\n\n{body}")
    publish(repo, "subject\n\n" + '{"boocode": ' + "1" * 5000 + "}")
    publish(repo, b"subject\n\n\xff\xfe" + b" " * (20 << 20))
    is_disabled(repo)
    every_command(repo, "x")
    untouched(repo, outside)


def test_files_of_other_types_are_none(repo: Repo, outside: Path) -> None:
    others: list[object] = [None, 1, "x", {}, [1, None, "x"]]
    for files in others:
        forge(repo, files)
        every_command(repo, "x")
    good(repo)
    assert repo.boocode("status", "--porcelain").out == "M  a\n"


def test_ids_of_other_objects(repo: Repo, outside: Path) -> None:
    """Objects that are missing or no blobs: what needs them says so, and the rest works."""
    for identifier in (NOBODY, *repo.git("rev-parse", "HEAD", "HEAD^{tree}").split()):
        for row in (
            {"path": "a", "context": None, "output": version(identifier)},
            {"path": "a", "context": version(identifier), "output": version(blob(repo, "x"))},
            {"path": "a", "context": version(blob(repo, "one\n")), "output": version(identifier)},
        ):
            forge(repo, [row])
            assert repo.boocode("status", "--porcelain").code == 0
            done = repo.boocode("accept", "--overwrite", "--json")
            if not done.json["ok"]:
                assert done.json["error"]["code"] == "missing_objects", done
                assert "'git boocode discard' and then" in done.json["error"]["hint"]
                assert (repo.top / "a").read_text() == "one\n"
            # The way out that the hint names.
            assert repo.boocode("discard").code in (0, 1)
            assert repo.boocode("sync", "a").code == 0
            assert repo.boocode("status", "--porcelain").out == "   a\n"
            repo.write("a", "one\n")
            repo.boocode("sync")
            good(repo)
            forge(repo, [row])
            every_command(repo, "a")
            repo.write("a", "one\n")
            assert repo.boocode("sync", "a").code == 0


def test_refs_of_other_names(repo: Repo, outside: Path) -> None:
    """They would be newer than every id."""
    good(repo)
    rows = [{"path": "b", "context": None, "output": version(blob(repo, PLANTED))}]
    for name in ("zzz", f"zzz/{new_id()}", f"{new_id()}x", "FFFFFFFF-0000-7000-8000-000000000000"):
        keys = {"boocode": 1, "kind": "proposal", "worktree": _worktree(repo)}
        for identifier in (name, name.rpartition("/")[2]):
            message = Metadata({**keys, "id": identifier, "files": rows}).message()
            publish(repo, message, name=name)
            assert repo.boocode("status", "--porcelain").out == "M  a\n"
            repo.git("update-ref", "-d", PROPOSALS + name)
    tree = repo.git("rev-parse", "HEAD^{tree}").strip()
    repo.git("update-ref", PROPOSALS + new_id(), tree)
    is_disabled(repo)


@pytest.mark.parametrize("base", [NOBODY, "HEAD^{tree}", "--help", "x", 1, "12" * 32], ids=str)
def test_a_base_that_is_none(repo: Repo, outside: Path, base: object) -> None:
    if base == "HEAD^{tree}":
        base = repo.git("rev-parse", base).strip()
    one, planted = version(blob(repo, "one\n")), version(blob(repo, "planted\n"))
    forge(repo, [{"path": "a", "context": one, "output": planted}], base=base)
    edit = json.dumps({"path": "b", "old_string": "bee", "new_string": "cee"})
    done = repo.boocode("propose", stdin=edit)
    assert done.code == 0, done
    assert repo.boocode("status", "--porcelain").out == "M  a\nM  b\n"
    assert repo.boocode("accept").code == 0
    assert (repo.top / "a").read_text() == "planted\n"


def test_odd_renames(repo: Repo, outside: Path) -> None:
    one, two = version(blob(repo, "one\n")), version(blob(repo, "two\n"))
    cases: list[list[dict[str, object]]] = [
        [{"path": "a", "from": "a", "context": one, "output": two}],
        [{"path": "x", "from": "a", "context": None, "output": None}],
        [{"path": "x", "from": "a", "context": one, "output": None}],
        [{"path": name, "from": "a", "context": one, "output": two} for name in "xy"],
        [
            {"path": "x", "from": "a", "context": one, "output": two},
            {"path": "a", "from": "x", "context": one, "output": two},
        ],
        [
            {"path": "x", "from": "a", "context": one, "output": two},
            {"path": "a", "context": one, "output": two},
        ],
        [{"path": name, "context": None, "output": two} for name in ("d", "d/e", "d/e/f")],
        [{"path": "a/b", "context": None, "output": two}, {"path": "a", "context": one}],
        [{"path": "b", "context": None, "output": two}] * 3,
    ]
    for rows in cases:
        forge(repo, rows)
        every_command(repo, *{str(row["path"]) for row in rows})
        untouched(repo, outside)
        repo.git("checkout", "-qf", "HEAD", "--", ".")
        repo.git("clean", "-qfdx", "-e", "link")
        edit = json.dumps({"path": "b", "old_string": "bee", "new_string": "cee"})
        done = repo.boocode("propose", stdin=edit)
        assert done.code == 0, (rows, done)
        assert repo.boocode("discard").code == 0


def test_a_clock_that_was_set_back(repo: Repo, outside: Path) -> None:
    """Proposals follow each other, whatever time the newest one has."""
    one, planted = version(blob(repo, "one\n")), version(blob(repo, "planted\n"))
    future = new_id(int(4e18))
    forge(repo, [{"path": "a", "context": one, "output": planted}], id=future)
    edit = json.dumps({"path": "b", "old_string": "bee", "new_string": "cee"})
    done = repo.boocode("propose", "--json", stdin=edit)
    assert (done.code, done.json["id"] > future) == (0, True)
    assert repo.boocode("status", "--porcelain").out == "M  a\nM  b\n"
    assert repo.boocode("accept").code == 0
    assert repo.boocode("status", "--porcelain").out == "   a\n   b\n"
    assert repo.boocode("undo").code == 0
    assert repo.boocode("status", "--porcelain").out == "M  a\nM  b\n"


def test_paths_of_the_command_line(repo: Repo, outside: Path) -> None:
    """What a user names is no more than a file of the worktree, either."""
    good(repo)
    for path in ("../outside/secret", f"{outside}/secret", ".git/secret", "link/secret"):
        for command in ("preview", "sync", "accept", "discard"):
            done = repo.boocode(command, "--", path)
            assert done.code == 1, (command, path, done)
            assert SECRET not in done.out + done.err
    untouched(repo, outside)
