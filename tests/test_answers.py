"""Real answers of every command are what `git_boocode/answers.json` says, and nothing more."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from git_boocode.cli.framework import COMMANDS, commands_of
from git_boocode.cli.tool_definitions import ANSWERS
from git_boocode.matching.types import Code
from tests.repo_kit import Repo

pytestmark = pytest.mark.slow

PACKAGE = Path(__file__).parents[1] / "git_boocode"
DEFINED = ANSWERS["$defs"]
CODES = {row["const"] for row in DEFINED["code"]["oneOf"]}
FINDINGS = {row["const"] for row in DEFINED["finding_kind"]["oneOf"]}
# They take no --json.
SILENT = {"completion", "help", "hook"}
TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
}
KEYWORDS = {
    *("$ref", "type", "const", "enum", "oneOf", "anyOf", "items", "required", "properties"),
    *("additionalProperties", "description"),
}


def problems(value: Any, schema: dict[str, Any], where: str = "") -> Iterator[str]:
    """What is wrong with a value; a key that the schema does not name is wrong as well."""
    assert schema.keys() <= KEYWORDS, schema.keys() - KEYWORDS
    if "$ref" in schema:
        yield from problems(value, DEFINED[schema["$ref"].removeprefix("#/$defs/")], where)
        return
    if rows := schema.get("oneOf") or schema.get("anyOf"):
        if all(any(problems(value, row, where)) for row in rows):
            yield f"{where}: {value!r} is none of those allowed"
        return
    if not is_of(value, schema):
        yield f"{where}: {value!r} is not {schema}"
    elif isinstance(value, dict):
        yield from problems_of_object(value, schema, where)
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from problems(each, schema.get("items", {}), f"{where}[{number}]")


def problems_of_object(value: dict[str, Any], schema: dict[str, Any], where: str) -> Iterator[str]:
    known = schema.get("properties", {})
    yield from (f"{where}: no {key}" for key in schema.get("required", ()) if key not in value)
    for key, inner in value.items():
        if key in known:
            yield from problems(inner, known[key], f"{where}.{key}")
        elif not schema.get("additionalProperties"):
            yield f"{where}: {key} is not described"


def is_of(value: Any, schema: dict[str, Any]) -> bool:
    if "const" in schema:
        return value is schema["const"] or (value == schema["const"] and isinstance(value, str))
    if "enum" in schema:
        return value in schema["enum"]
    names = schema.get("type", list(TYPES))
    names = [names] if isinstance(names, str) else names
    if isinstance(value, bool):
        return "boolean" in names
    return any(isinstance(value, TYPES[name]) for name in names)


def check(repo: Repo, name: str, *arguments: str, stdin: str = "", code: int = 0) -> Any:
    """Run a command with --json and compare its answer with the schema."""
    done = repo.boocode(*name.split(), "--json", *arguments, stdin=stdin)
    assert done.code == code, done
    answer = done.json
    schema = ANSWERS["answers"][name]["success" if answer["ok"] else "failure"]
    assert list(problems(answer, schema)) == []
    assert answer["ok"] is (code == 0)
    if not answer["ok"]:
        assert answer["error"]["code"] in CODES | FINDINGS
    return answer


@pytest.fixture
def work(repo: Repo) -> Repo:
    """A repository with a checkpoint, and changes since then."""
    repo.commit(a="one\n", b="one\n", c="same\nsame\n")
    repo.write("a", "two\n")
    repo.git("add", "a")
    repo.write("new", "x\n")
    meta = ("--meta", "key=value", "--chat", "c", "--message", "m", "-m", "label")
    repo.boocode("checkpoint", *meta)
    repo.write("a", "three\n")
    repo.write("b", b"\0\n")
    return repo


def edit(path: str, old: str, new: str) -> str:
    return json.dumps({"path": path, "old_string": old, "new_string": new})


def test_every_command_has_its_schemas() -> None:
    names = {name for each in COMMANDS for name, _ in commands_of(each)}
    assert ANSWERS["answers"].keys() == names - SILENT
    for schemas in ANSWERS["answers"].values():
        assert schemas.keys() == {"success", "failure"}


def test_apply_edit_and_rewind(work: Repo) -> None:
    made = check(work, "apply-edit", stdin=edit("a", "three", "four"))
    assert made["files"][0]["edits"][0]["rung"] == "exact"
    check(work, "apply-edit", "-n", stdin=json.dumps({"path": "d", "content": "x\n"}))
    work.write("unsaved", "three\n")
    check(work, "apply-edit", "--buffer", "a=unsaved", stdin=edit("a", "three", "four"))
    patch = "diff --git a/c b/moved\nsimilarity index 100%\nrename from c\nrename to moved\n"
    renamed = check(work, "apply-edit", stdin=patch)
    assert renamed["files"][0]["from"] == "c"
    assert check(work, "log", "--edits")["edits"][0]["files"][0]["from"] == "c"
    check(work, "show", renamed["id"])
    check(work, "show", "@:a")
    check(work, "show", "@:")
    check(work, "show", "@:gone", code=1)
    for old, path in (("nothing", "a"), ("same", "moved"), ("x", "nowhere"), ("fou", "a")):
        given = edit(path, old, f"{old} new")
        answer = check(work, "apply-edit", "--profile=exact", stdin=given, code=int(old != "fou"))
        assert answer["ok"] or answer["failures"][0]["code"] == answer["error"]["code"]
    check(work, "apply-edit", stdin="{", code=1)
    check(work, "apply-edit", stdin='{"path": "a", "edits": [1]}', code=1)
    check(work, "rewind", "-n")
    rewound = check(work, "rewind")
    check(work, "show", rewound["id"])
    assert check(work, "log", "--edits")["edits"][0]["rewinds"] == rewound["rewinds"]
    work.write("a", "changed\n")
    check(work, "rewind", made["id"], code=1)
    check(work, "rewind", "01a2", code=1)


def test_proposals(work: Repo) -> None:
    check(work, "accept", code=1)
    work.write("unsaved", "three\nmore\n")
    buffer = ("--buffer", "a=unsaved")
    proposed = check(work, "propose", *buffer, stdin=edit("a", "three", "four"))
    assert proposed["files"][0]["text"] == "four\nmore\n"
    refused = check(work, "propose", stdin=edit("a", "nothing", "x"), code=1)
    check(work, "propose", "--retry-of", refused["id"], stdin=edit("c", "same\nsame", "other"))
    check(work, "propose", "-n", stdin=edit("c", "other", "x"))
    patch = "diff --git a/new b/moved\nsimilarity index 100%\nrename from new\nrename to moved\n"
    check(work, "propose", stdin=patch)
    assert {file["status"] for file in check(work, "status")["files"]} == {"~M", "M", "R"}
    assert check(work, "status", "c", "moved")["files"][1]["from"] == "new"
    check(work, "diff", "--proposal")
    assert check(work, "preview", "a", *buffer)["hunks"][0]["number"] == 1
    assert check(work, "preview", "b")["warning"]
    check(work, "preview", "nowhere", code=1)
    assert check(work, "accept", "--merge", code=1)["conflicts"][0]["lines"] == [[1, 1]]
    check(work, "accept", "-n", *buffer)
    assert check(work, "accept", *buffer)["files"][0]["text"] == "four\nmore\n"
    assert check(work, "undo")["proposal"] == "accept"
    check(work, "discard", "c")
    check(work, "discard", "c", code=1)
    assert check(work, "sync", "a")["warnings"]
    check(work, "accept", "--hunk", "9", "a", code=1)
    check(work, "accept", "--merge", "--overwrite", code=129)


def test_read_locate_and_tools(work: Repo) -> None:
    check(work, "read", "a")
    check(work, "read", "b", code=1)
    check(work, "read", "a:7-9", code=1)
    check(work, "locate", "a", stdin="three")
    check(work, "locate", "a", stdin="thre\n\n", code=1)
    check(work, "locate", "c", stdin="same", code=1)
    check(work, "locate", "nowhere", stdin="x", code=1)
    check(work, "tools")
    check(work, "tools", "--guide", "string")
    check(work, "tools", "nothing", code=129)


def test_checkpoints(work: Repo) -> None:
    work.boocode("config")
    work.git("config", "boocode.maxFileSize", "10")
    work.write("large", "more than ten bytes\n")
    assert check(work, "checkpoint")["skipped"]
    check(work, "checkpoint", "a")
    assert check(work, "show")["checkpoint"]["partial"]["paths"] == ["a"]
    check(work, "checkpoint", "--meta", "x", code=129)
    answer = work.boocode("run", "--json", "true").json
    assert list(problems(answer, ANSWERS["answers"]["run"]["success"])) == []
    check(work, "run", "no-such-program", code=127)
    check(work, "log")
    check(work, "log", "--remote", "nobody", code=1)
    check(work, "show")
    check(work, "show", "nothing", code=1)
    check(work, "show", "--conversation")
    check(work, "diff")
    check(work, "diff", "nothing", code=1)
    assert check(work, "blame", "a")["ranges"]
    assert check(work, "view", "--no-open")["turns"] == 3
    check(work, "view", "--port", "1", code=129)
    check(work, "blame", "nothing", code=1)


def test_restores(work: Repo) -> None:
    assert check(work, "restore", "-n", "@")["changed"][1]["lines"] is None
    check(work, "restore", code=129)
    check(work, "undo", code=1)
    work.git(
        "config", "boocode.callback", str(work.write(".git/cb", "#!/bin/sh\necho {}\n", 0o755))
    )
    safety = check(work, "restore", "@")["undo"]
    assert check(work, "show", safety)["checkpoint"]["kind"] == "pre-restore"
    check(work, "drop", safety, code=1)
    check(work, "undo")
    check(work, "redo")
    check(work, "redo", code=1)
    work.write("a", "mess\n")
    work.write(".git/cb", "#!/bin/sh\necho '{\"veto\": true}'\n", 0o755)
    check(work, "restore", "@", code=1)
    work.write(".git/cb", "#!/bin/sh\n", 0o755)
    check(work, "restore", "@", code=128)
    work.git("init", "-q", "nested")
    check(work, "restore", "@", "--files-only")


def test_reverts(work: Repo) -> None:
    turn = work.boocode("checkpoint", "--json", "--session", "s").json["id"]
    work.write("a", "turn\n")
    work.boocode("checkpoint", "-m", "later")
    [change] = check(work, "revert", "-n", "--diff", turn, "a")["changed"]
    assert change["hunks"]
    check(work, "revert", code=1)
    check(work, "revert", turn, "--hunk", "9", code=1)
    buffer = work.write(".git/buffer", "turn\n")
    check(work, "revert", turn, "--buffer", f"a={buffer}")
    assert check(work, "revert", "--session", "s")["turns"] == [turn]
    check(work, "pick", turn)
    check(work, "pick", code=129)
    work.write("a", "by hand\n")
    assert check(work, "revert", turn, code=1)["conflicts"]
    assert check(work, "revert", turn, "--merge", "--markers")["conflicts"]
    assert check(work, "log")["operations"]


def test_fork(work: Repo, tmp_path: Path) -> None:
    taken = work.boocode("checkpoint", "-m", "origin", "--json").json["id"]
    check(work, "fork", "-n", "@")
    check(work, "fork", "nothing", code=1)
    check(work, "fork", "@", "new", code=1)
    made = check(work, "fork", "@", str(tmp_path / "fork"), "-b", "other")
    first = check(work, "log", "--all")["checkpoints"][0]
    assert (first["id"], first["forked_from"]["turn"]) == (made["checkpoint_id"], taken)
    assert check(work, "show", first["id"])["checkpoint"]["forked_from"]["worktree"] == "main"


def test_drop_and_prune(work: Repo) -> None:
    for number in range(3):
        work.write("a", f"{number}\n")
        work.boocode("checkpoint", "-m", "more")
    assert check(work, "prune", "-n", "--keep", "1")["pruned"]
    check(work, "prune", "--keep", "2")
    check(work, "prune", "--keep", "0", code=129)
    check(work, "drop", "-n", "@")
    check(work, "drop", "@")
    check(work, "drop", "nothing", code=1)


def test_push_and_fetch(work: Repo, tmp_path: Path) -> None:
    check(work, "push", code=1)
    check(work, "fetch", code=1)
    work.git("init", "-q", "--bare", str(tmp_path / "remote"))
    work.git("remote", "add", "origin", str(tmp_path / "remote"))
    assert check(work, "push", code=1)["untracked"] == ["new"]
    work.write("new", f"ghp_{'a1' * 18}\n")
    work.boocode("checkpoint")
    assert check(work, "push", code=1)["secrets"][0]["path"] == "new"
    work.write("new", "new\n")
    work.boocode("drop", "@")
    [pushed] = check(work, "push", "--yes")["pushed"]
    remote = Repo(tmp_path / "remote")
    tree = remote.git("rev-parse", f"refs/boocode/checkpoints/{pushed}^{{tree}}").strip()
    other = remote.git("commit-tree", tree, "-m", "other").strip()
    remote.git("update-ref", f"refs/boocode/checkpoints/{pushed}", other)
    work.boocode("checkpoint")
    assert check(work, "push", "--yes", code=128)["rejected"]
    work.git("update-ref", "-d", f"refs/boocode/checkpoints/{pushed}")
    assert check(work, "fetch")["rejected"]
    check(work, "fetch", "-n", "--prune")
    work.git("clone", "-q", str(tmp_path / "remote"), str(tmp_path / "clone"))
    clone = Repo(tmp_path / "clone")
    assert check(clone, "fetch")["fetched"]
    assert check(clone, "log", "--remotes")["checkpoints"][0]["remote"] == "origin"


def test_hooks(work: Repo) -> None:
    check(work, "hooks install", code=1)
    (work.top / ".claude").mkdir()
    check(work, "hooks install", code=1)
    check(work, "hooks install", "--agent", "claude-code", "-n")
    check(work, "hooks install", "--agent", "claude-code", "--git")
    assert check(work, "hooks status")["agents"][0]["state"] == "installed"
    check(work, "hooks uninstall", "-n")
    check(work, "hooks uninstall")
    check(work, "hooks uninstall", "--agent", "nobody", code=129)


def test_serve(work: Repo) -> None:
    check(work, "serve", "--install", "cursor", "-n")
    check(work, "serve", "--install", "cursor", "vscode")
    rows = check(work, "hooks status")["servers"]
    assert next(row["state"] for row in rows if row["agent"] == "cursor") == "installed"
    assert check(work, "serve", "--uninstall")["files"]
    check(work, "serve", "--install", "windsurf", "--project", code=1)
    check(work, "serve", "--install", "nobody", code=129)


def test_status_and_uninstall(work: Repo) -> None:
    check(work, "hooks install", "--agent", "claude-code", "--git")
    work.git("config", "boocode.keep", "5")
    check(work, "apply-edit", stdin=edit("a", "three", "four"))
    assert check(work, "status")["edits"] == {"count": 1}
    work.write(".git/boocode/edit-in-progress", "no note")
    assert check(work, "status")["interrupted"]
    check(work, "uninstall", "--everything", code=1)
    (work.top / ".git/boocode/edit-in-progress").unlink()
    check(work, "uninstall", "-n")
    assert not any(part["removed"] for part in check(work, "uninstall")["parts"])
    assert len(check(work, "uninstall", "--everything")["parts"]) == 3
    assert check(work, "status")["checkpoints"]["newest"] is None
    assert check(work, "uninstall", "--everything")["parts"] == []


def test_turns(work: Repo) -> None:
    check(work, "turn status", code=1)
    check(work, "turn end", code=1)
    check(work, "turn begin", "--message", "fix", "--timeout", "60")
    check(work, "turn begin", code=1)
    check(work, "turn status")
    assert check(work, "status")["turn"]["message"] == "fix"
    check(work, "restore", "@", code=1)
    check(work, "turn end")


def test_doctor_and_demo(work: Repo) -> None:
    check(work, "doctor")
    work.boocode("hook", "nobody")
    work.git("update-ref", "refs/boocode/checkpoints/01a20055-7241-78ae-91d5-8b35fb252aab", "HEAD")
    found = check(work, "doctor", code=1)
    assert {row["kind"] for row in found["findings"]} == {"hooks", "unreadable_checkpoint"}
    check(work, "demo")
    check(work, "version")


@pytest.mark.parametrize("name", ANSWERS["answers"])
def test_outside_a_repository(
    name: str, sealed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    # The demo makes a repository of its own.
    for option in ((), ("--no-such-option",))[name == "demo" :]:
        answer = Repo(tmp_path).boocode(*name.split(), "--json", *option).json
        kind = "success" if answer["ok"] else "failure"
        assert list(problems(answer, ANSWERS["answers"][name][kind])) == []
    assert answer["error"]["code"] == "usage"


def sources() -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))


def test_every_error_code_is_described() -> None:
    raised = re.findall(r"\bcode(?:, \w+)? ?= ?\"(\w+)\"", sources())
    raised += re.findall(r"\b(?:MissError|MatchError|_failure)\(\s*\"(\w+)\",", sources())
    raised += [*get_args(Code), "command_not_found", "damaged"]
    raised += [f"other_{kind}" for kind in ("worktree", "session", "repository")]
    assert set(raised) == CODES
    assert [row["const"] for row in DEFINED["code"]["oneOf"]] == sorted(CODES)


def test_every_finding_is_described() -> None:
    kinds = re.findall(r"\b(?:Finding\(|kind, what(?:, remedy)? =)\s*\"(\w+)\",", sources())
    assert set(kinds) == FINDINGS


def test_the_schemas_are_sound() -> None:
    texts = json.dumps(ANSWERS)
    used = set(re.findall(r'"#/\$defs/(\w+)"', texts))
    assert used <= DEFINED.keys()
    assert DEFINED.keys() - used == set()
