"""Metadata from elsewhere: nothing in it steers a terminal, and none of it breaks a command."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import Any

import pytest

from git_boocode.checkpoints.store.catalog import Checkpoint
from git_boocode.checkpoints.store.retention import drop
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.layout import CHECKPOINTS, SAFETY
from git_boocode.repo.repository import Repository
from tests.checkpoints.kit import take
from tests.repo_kit import Repo

EVIL = (
    "\x1b[31mb\x1b]0;title\x07c\x9b31md\u202ee\u2066f\nfatal: g\r\x08\x7f\u2028h\u200f\u061c\0\tk"
)
# What no terminal may see, in a command's text or in its answer in JSON.
STEERING = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
# Bytes that are no UTF-8, the last of them the letters of U+009B and of U+202E one by one.
BYTES = "\udc9b31m\udcc2\udc9bx\udce2\udc80\udcae\ud800"

COMMANDS = (
    "log", "log -v", "log --all", "log --json", "show", "show --stat", "show --json", "diff",
    "diff --json", "restore -n @", "restore -n --json @", "restore @", "undo -n",
    "undo --force newer-turns", "checkpoint",
    "checkpoint --if-changed", "doctor", "doctor --json", "log --edits", "drop -n @",
    "drop -n --json @", "prune -n --keep 1", "prune -n --keep 1 --json", "doctor --fix",
)  # fmt: skip


def rewrite(repo: Repo, taken: Checkpoint, values: dict[str, Any], name: str = "") -> str:
    """Write a checkpoint again, with other metadata, as a program of someone else's might."""
    body = json.dumps({**taken.meta.values, **values})
    parents = [part for parent in taken.commit.parents for part in ("-p", parent)]
    commit = repo.git("commit-tree", *parents, taken.tree, stdin=f"s\n\n{body}\n").strip()
    repo.git("update-ref", f"{CHECKPOINTS}{name}" if name else taken.ref, commit)
    return commit


def evil_everywhere(evil: str) -> dict[str, Any]:
    """Metadata whose every text is evil."""
    keys = ("label", "session", "chat", "message", "agent", "trigger", "state", "created_at")
    return {
        **dict.fromkeys(keys, evil),
        "prompt": f"{evil}\n{evil}",
        "anchor": {"agent": evil, "session": evil, evil: evil},
        "meta": {evil: [evil]},
        "skipped": [{"path": evil, "reason": evil}, {"path": f"{evil}/x", "reason": evil}],
        "excluded": [evil, 1],
        "included": [evil, f"{evil}/x", {}],
        "withheld": evil,
        "redacted": evil,
    }


@pytest.mark.parametrize("evil", [EVIL, BYTES], ids=["characters", "bytes"])
def test_control_characters_are_escaped(repo: Repo, evil: str) -> None:
    repo.commit(a="a\n")
    taken = take()
    head = {**taken.meta.values["head"], "ref": f"refs/heads/{evil}"}
    rewrite(repo, taken, {**evil_everywhere(evil), "head": head})
    repo.write("a", "b\n")
    for command in COMMANDS:
        done = repo.boocode(*command.split())
        assert done.code in (0, 1), (command, done)
        said = done.out + done.err
        assert not STEERING.search(said.replace("\t", "")), command
        assert not re.search("[\udc80-\udc9f]", said), command
        assert "fatal" not in re.findall("^[a-z]+", said, re.MULTILINE), command
    assert json.loads(repo.boocode("log", "--json", "-n", "9").out)


@pytest.mark.quick
def test_the_name_of_a_worktree_is_escaped(repo: Repo) -> None:
    repo.commit(a="a\n")
    rewrite(repo, take(), {"worktree": {"name": EVIL, "path": EVIL}})
    for command in ("log --all", "log --all --json", "show", "checkpoint"):
        done = repo.boocode(*command.split())
        assert not STEERING.search(done.out + done.err), command


@pytest.mark.quick
def test_errors_are_escaped(repo: Repo) -> None:
    repo.commit(a="a\n")
    rewrite(repo, take(), {}, "abcd\x9b\u202e1")
    rewrite(repo, take(), {}, "abcd\x9b\u202e2")
    evil = EVIL.replace("\0", "")
    for command in (
        ("show", "abcd"), ("show", evil), ("show", f"label:{evil}"), ("diff", evil),
        ("restore", "-n", f"message:{evil}"), (evil,), ("log", evil),
        ("log", f"--{evil}"), ("log", "-n", evil), ("checkpoint", "--meta", evil),
    ):  # fmt: skip
        for options in ((), ("--json",)):
            done = (
                repo.boocode(*options, *command)
                if evil in command[:1]
                else repo.boocode(command[0], *options, *command[1:])
            )
            assert done.code in (1, 128, 129), command
            assert not STEERING.search(done.out + done.err), (command, done)


@pytest.mark.quick
def test_the_subject_of_a_commit_is_escaped(repo: Repo) -> None:
    taken = take(label=EVIL, meta={EVIL: EVIL}, trigger=EVIL)
    raw = repo.git("cat-file", "commit", taken.commit.id)
    assert not STEERING.search(raw)


@pytest.mark.quick
def test_names_of_skipped_files_are_escaped(repo: Repo) -> None:
    repo.commit(a="a\n")
    repo.git("config", "boocode.maxFileSize", "2")
    repo.write(EVIL.replace("\0", ""), "too large")
    for command in ("checkpoint", "checkpoint --json", "show", "show --json", "restore @"):
        done = repo.boocode(*command.split())
        assert done.code == 0
        assert not STEERING.search(done.out + done.err), command
    shown = repo.boocode("show").out
    # As git itself quotes a path, so that the user can identify it.
    assert r'not kept    "\033[31mb\033]0;title\ac\302\23331md\342\200\256e' in shown


FOREIGN: dict[str, str] = {
    "a commit of another tool's": "hello\n\nworld\n",
    "no object but a list": "s\n\n[1]\n",
    "a newer format": 's\n\n{"boocode": 99, "kind": "checkpoint", "worktree": {"name": "main"}}\n',
    "a version that is no number": 's\n\n{"boocode": true}\n',
    "a version too long for Python": 's\n\n{"boocode": ' + "9" * 5000 + "}\n",
    "a negative version": 's\n\n{"boocode": -1}\n',
    "nested too deeply": "s\n\n" + "[" * 100_000,
    "no numbers": 's\n\n{"boocode": NaN}\n',
    "nulls": "s\n\n" + json.dumps(
        {"boocode": 1, **dict.fromkeys(("id", "kind", "worktree", "head", "index", "meta"))}
    ),
    "wrong shapes": "s\n\n" + json.dumps(
        {"boocode": 1, "id": 7, "head": [], "index": "x", "skipped": {}, "meta": 1,
         "worktree": {"name": ["main"]}, "label": {}, "created_at": False, "state": [1],
         "anchor": 1, "restore": {"operation": "restore", "target": 3}}
    ),
    "wrong shapes inside": "s\n\n" + json.dumps(
        {"boocode": 1, "head": {"ref": 1, "commit": "--help"},
         "index": {"tree": 1, "commit": [], "details": {}},
         "skipped": [1, {"path": 3}, {"reason": "x"}, {"path": "\ud800", "reason": None}]}
    ),
    "numbers that JSON does not know": 's\n\n{"boocode": 1, "meta": {"a": NaN, "b": 1e999}}\n',
}  # fmt: skip


def planted(repo: Repo) -> dict[str, str]:
    """What is no checkpoint, object by object."""
    empty = repo.git("mktree").strip()
    made = {
        kind: repo.git("commit-tree", empty, stdin=message).strip()
        for kind, message in FOREIGN.items()
    }
    raw = repo.git("cat-file", "commit", "HEAD").encode() + b'\n\n{"boocode": "\xff"}'
    repo.git("tag", "-a", "-m", "x", "t", take(label="tagged").ref)
    return {
        **made,
        "a blob": repo.git("hash-object", "-w", "--stdin").strip(),
        "a tree": empty,
        "a tag of a checkpoint": repo.git("rev-parse", "t").strip(),
        "no UTF-8": repo.git("hash-object", "-t", "commit", "-w", "--stdin", stdin=raw).strip(),
        "a symbolic ref": "ref: refs/heads/main",
        "a symbolic ref that leads nowhere": "ref: refs/heads/nowhere",
        "a symbolic ref to itself": f"ref: {CHECKPOINTS}ffffffff-ffff-7fff-bfff-ffffffffff18",
        "a missing object": "12" * 20,
        "nothing at all": "",
        "no ref": "nonsense",
    }


@pytest.mark.ref_files
def test_malformed_checkpoints_break_no_command(repo: Repo) -> None:
    repo.commit(a="a\n")
    names = {}
    for number, (kind, content) in enumerate(planted(repo).items()):
        names[kind] = f"ffffffff-ffff-7fff-bfff-{number:012}".replace("-0000000000", "-ffffffffff")
        for below in (CHECKPOINTS, SAFETY, "refs/boocode/archive/x/"):
            repo.write(f".git/{below}{names[kind]}", f"{content}\n" if content else "")
    assert names["a symbolic ref to itself"].endswith("ffff18")
    ours = take(label="ours")
    repo.write("a", "changed\n")
    for command in (
        f"log|log --json|show {ours.id} --json|show label:ours|diff {ours.id}|prune -n --all|"
        f"restore -n label:ours|restore {ours.id}|undo -n --force newer-turns|"
        "undo --force newer-turns|checkpoint|checkpoint --if-changed|"
        f"log --all --json|diff label:ours --json|show {ours.commit.id[:12]}|show @|show @~1"
    ).split("|"):
        done = repo.boocode(*command.split())
        assert done.code == 0, (command, done)
    # Asked for by its name, it is refused, or shown as far as it can be.
    for kind, name in names.items():
        for asked in (("show",), ("restore", "-n")):
            done = repo.boocode(*asked, name)
            assert done.code in (0, 1), (kind, asked, done)
    for options in ((), ("--fix",)):
        done = repo.boocode("doctor", "--json", *options)
        assert done.code == 1, done
        kinds = {each["kind"] for each in done.json["findings"]}
        assert kinds == {"unreadable_checkpoint", "orphaned_archive"}, done
    for name in names.values():
        with suppress(RefusedError):
            drop(Repository.discover(), [name], even_needed=True)
    assert repo.boocode("prune", "--all", "--keep", "1").code == 0
    assert repo.boocode("show", "@").code == 0
