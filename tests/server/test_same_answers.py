"""Every tool answers what its command prints with `--json`, and does the same to the files.

The steps below run in two repositories that are alike: in one as calls, in the other as commands.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from git_boocode.cli.tool_definitions import definitions
from git_boocode.server.tools import TOOLS
from tests.repo_kit import Repo, Result
from tests.server.conftest import Serve
from tests.server.kit import Client, edit
from tests.test_answers import DEFINED, problems

UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b")
AGO = re.compile(r"since (\d{4}-\d\d-\d\d )?\d\d:\d\d \([^)]*\)")
SHORT = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}\b")
OBJECT = re.compile(r"\b([0-9a-f]{64}|[0-9a-f]{40})\b")
SECONDS = re.compile(r'"time": [0-9.]+')
TIME = re.compile(r"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)")


class Step(NamedTuple):
    """A call of a tool, and the command that does the same; `write` is done before it.

    `{n}` in either stands for the id that the n-th step before has answered.
    """

    tool: str
    arguments: dict[str, Any]
    command: str
    stdin: Any = ""
    write: dict[str, str] = {}  # noqa: RUF012 - never changed


def edits(tool: str, options: str = "", /, **arguments: Any) -> Step:
    """A tool that takes edits; what is no option of the command is on standard input."""
    known = set(TOOLS[tool].arguments)
    given = {name: value for name, value in arguments.items() if name not in known}
    command = {"apply_edit": "apply-edit", "preview_edit": "apply-edit -n", "propose": "propose"}
    return Step(tool, arguments, f"{command[tool]} {options}", given)


PATCH = "--- a/c\n+++ b/c\n@@ -1,2 +1,2 @@\n same\n-same\n+other\n"
ENVELOPE = "*** Begin Patch\n*** Update File: c\n@@\n-other\n+third\n*** End Patch\n"
BLOCKS = "c\n```\n<<<<<<< SEARCH\nthird\n=======\nfourth\n>>>>>>> REPLACE\n```\n"
REGION: dict[str, Any] = {"path": "c", "changes": [{"start": ["fourth"], "content": ["fifth"]}]}
RENAME = "diff --git a/c b/moved\nsimilarity index 100%\nrename from c\nrename to moved\n"

EDITING = [
    Step("read", {"path": "a"}, "read a"),
    Step("read", {"path": "open:2-"}, "read open:2-", write={"open": "one\ntwo\nthree"}),
    Step("read", {"path": "open:4"}, "read open:4"),
    Step("read", {"path": "nowhere"}, "read nowhere"),
    edits("apply_edit", path="open", base="54d55bf0bb50",
          changes=[{"start_line": 3, "content": ["3"]}, {"after_line": 0, "content": ["0"]}]),
    edits("apply_edit", path="open", start_line=1, content=["1"]),
    edits("apply_edit", path="open", base="0123456789ab", before_line=1, content=["0"]),
    edits("preview_edit", **edit("a", "two", "2")),
    edits("apply_edit", **edit("a", "two", "2")),
    edits("apply_edit", session="A", **edit("a", "none", "")),
    edits("apply_edit", **edit("a", "nothing of this kind", "x")),
    edits("apply_edit", **edit("c", "same", "x")),
    edits("apply_edit", path="c", edits=[1]),
    edits("apply_edit", **edit("c", "same", "x"), start_line=2),
    edits("apply_edit", **edit("c", "x", "same"), expected_replacements=1),
    edits("apply_edit", **edit("nowhere", "x", "y")),
    edits("apply_edit", **edit("../outside", "x", "y")),
    edits("apply_edit", **edit("a", "2", "2")),
    edits("apply_edit", "--profile=exact --verbatim", **edit("a", " 2", "zwei"), profile="exact",
          verbatim=True),
    edits("apply_edit", "--position-encoding=utf-8", **edit("u", "ö", "ü"),
          position_encoding="utf-8"),
    edits("apply_edit", "-n", **edit("a", "2", "zwei"), dry_run=True),
    edits("apply_edit", "--no-record", **edit("a", "2", "zwei"), no_record=True),
    edits("apply_edit", path="new/file", content="new\n"),
    edits("apply_edit", path="a", edits=[{"old_string": "one", "new_string": "1"}]),
    edits("apply_edit", edits=[edit("a", "1", "one"), edit("sub/b", "b", "bee")]),
    edits("apply_edit", patch=PATCH, path="c"),
    edits("apply_edit", "--format=apply-patch", patch=ENVELOPE, format="apply-patch"),
    edits("apply_edit", "", **REGION),
    edits("apply_edit", "--format=region", **edit("a", "1", "x"), format="region"),
    edits("apply_edit", "--format=nothing", **edit("a", "1", "x"), format="nothing"),
    edits("apply_edit", path="b", command="create", file_text="b\n"),
    edits("apply_edit", path="b", command="create", file_text="b\n"),
    edits("apply_edit", patch=RENAME),
    edits("apply_edit"),
    edits("apply_edit", edits=[]),
    edits("apply_edit", nonsense=1),
    edits("apply_edit", path=7, old_string="a", new_string="b"),
    Step("locate", {"path": "a", "needle": "zwei"}, "locate a", "zwei"),
    Step("locate", {"path": "a", "needle": "zwie\n", "profile": "boocode"},
         "locate a --profile=boocode", "zwie\n"),
    Step("locate", {"path": "a", "needle": "nothing"}, "locate a", "nothing"),
    Step("locate", {"path": "gone", "needle": "x"}, "locate gone", "x"),
    Step("locate", {"path": "../x", "needle": "x"}, "locate ../x", "x"),
    Step("log", {"edits": True}, "log --edits"),
    Step("log", {"edits": True, "max_count": 2}, "log --edits -n 2"),
    Step("show", {"conversation": True}, "show --conversation"),
    Step("show", {"name": "{0}"}, "show {0}"),
    Step("rewind", {"dry_run": True}, "rewind -n"),
    Step("rewind", {}, "rewind"),
    Step("rewind", {"edit": "{0}", "paths": ["a"]}, "rewind {0} a"),
    Step("rewind", {"edit": "01a2ffff"}, "rewind 01a2ffff"),
    Step("rewind", {"no_record": True}, "rewind --no-record"),
]  # fmt: skip

CHECKPOINTS = [
    Step("log", {}, "log"),
    Step("show", {}, "show"),
    Step("diff", {}, "diff"),
    Step("blame", {"path": "a"}, "blame a"),
    Step("undo", {}, "undo"),
    Step("redo", {}, "redo"),
    Step("restore", {"checkpoint": "@"}, "restore @"),
    Step("checkpoint", {"label": "first", "session": "s", "chat": "c", "message": "m",
                        "agent": "x", "trigger": "test", "meta": {"key": "value"}},
         "checkpoint -m first --session s --chat c --message m --agent x --trigger test "
         "--meta key=value"),
    Step("checkpoint", {"if_changed": True, "trigger": "test"},
         "checkpoint --if-changed --trigger test"),
    Step("checkpoint", {"paths": ["a", "sub"], "trigger": "test"},
         "checkpoint --trigger test a sub", write={"a": "changed\n", "new": "new\n"}),
    Step("checkpoint", {"paths": ["gone"]}, "checkpoint gone"),
    Step("checkpoint", {"paths": ["gone"], "ignore_unmatch": True, "trigger": "test"},
         "checkpoint --ignore-unmatch --trigger test gone"),
    Step("checkpoint", {"label": "second", "trigger": "test"},
         "checkpoint -m second --trigger test", write={"sub/b": "more\n"}),
    Step("log", {}, "log"),
    Step("log", {"max_count": 1}, "log -n 1"),
    Step("log", {"max_count": 0}, "log -n 0"),
    Step("log", {"session": "s"}, "log --session s"),
    Step("log", {"agent": "x", "all": True}, "log --agent x --all"),
    Step("log", {"text": "changed"}, "log -S changed"),
    Step("log", {"regex": "ch.*d"}, "log -G ch.*d"),
    Step("log", {"regex": "("}, "log -G ("),
    Step("log", {"since": "1 hour ago", "until": "2099-01-01"},
         "log --since 1.hour.ago --until 2099-01-01"),
    Step("log", {"since": "nonsense"}, "log --since nonsense"),
    Step("log", {"grep": "FIRST"}, "log --grep FIRST"),
    Step("log", {"paths": ["a"]}, "log a"),
    Step("log", {"remote": "nobody"}, "log --remote nobody"),
    Step("log", {"remotes": True}, "log --remotes"),
    Step("log", {"archived": True}, "log --archived"),
    Step("log", {"text": "a", "regex": "b"}, "log -S a -G b"),
    Step("show", {}, "show"),
    Step("show", {"name": "@~1"}, "show @~1"),
    Step("show", {"name": "label:first", "head": True}, "show label:first --head"),
    Step("show", {"name": "@:a"}, "show @:a"),
    Step("show", {"name": "@:sub"}, "show @:sub"),
    Step("show", {"name": "@:gone"}, "show @:gone"),
    Step("show", {"name": "nothing"}, "show nothing"),
    Step("show", {"name": "message:m"}, "show message:m"),
    Step("diff", {}, "diff", write={"a": "changed again\n", "fresh": "x\n"}),
    Step("diff", {"old": "label:first", "new": "@"}, "diff label:first @"),
    Step("diff", {"paths": ["a"]}, "diff @ -- a"),
    Step("diff", {"turn": True, "old": "@~1"}, "diff --turn @~1"),
    Step("diff", {"old": "nothing"}, "diff nothing"),
    Step("diff", {"proposal": True}, "diff --proposal"),
    Step("diff", {"turn": True, "new": "@"}, "diff --turn @ @"),
    Step("blame", {"path": "a"}, "blame a"),
    Step("blame", {"path": "a", "lines": "1,1"}, "blame a -L 1,1"),
    Step("blame", {"path": "a", "lines": "9,9"}, "blame a -L 9,9"),
    Step("blame", {"path": "gone"}, "blame gone"),
    Step("blame", {"path": "../x"}, "blame ../x"),
    Step("restore", {"checkpoint": "label:first", "dry_run": True}, "restore -n label:first"),
    Step("restore", {"checkpoint": "label:first", "paths": ["a"]}, "restore label:first a"),
    Step("restore", {"checkpoint": "label:first", "paths": ["gone"]}, "restore label:first gone"),
    Step("restore", {"checkpoint": "@", "paths": ["a"], "dry_run": True}, "restore -n @ a"),
    Step("restore", {"checkpoint": "@", "paths": ["a"], "hunk": [1], "dry_run": True},
         "restore -n @ --hunk 1 a", write={"a": "one\nmine\nthree\n"}),
    Step("restore", {"checkpoint": "@", "paths": ["a"], "hunk": [1]}, "restore @ --hunk 1 a"),
    Step("restore", {"checkpoint": "@", "paths": ["a"], "hunk": [1], "expect": "1"},
         "restore @ --hunk 1 --expect 1 a", write={"a": "mine\ntwo\n"}),
    Step("restore", {"checkpoint": "@", "expect": "1"}, "restore @ --expect 1"),
    Step("undo", {}, "undo"),
    Step("restore", {"checkpoint": "label:first", "after": True}, "restore --after label:first"),
    Step("undo", {}, "undo"),
    Step("restore", {"checkpoint": "label:first"}, "restore label:first"),
    Step("undo", {"dry_run": True, "expect": "other"}, "undo -n --expect other"),
    Step("redo", {"expect": "other"}, "redo --expect other"),
    Step("undo", {"dry_run": True}, "undo -n"),
    Step("undo", {}, "undo"),
    Step("redo", {}, "redo"),
    Step("undo", {"no_head": True, "files_only": True}, "undo --no-head --files-only"),
    Step("restore", {"checkpoint": "@", "files_only": True}, "restore @ --files-only"),
    Step("restore", {"checkpoint": "@", "conversation_only": True},
         "restore @ --conversation-only"),
    Step("restore", {"checkpoint": "@", "session": "other"}, "restore @ --session other"),
    Step("restore", {"checkpoint": "@", "head": True}, "restore @ --head"),
    Step("restore", {"checkpoint": "@", "head": True, "paths": ["a"]}, "restore @ --head a"),
    Step("restore", {"checkpoint": "@", "force": ["nothing"]}, "restore @ --force nothing"),
    Step("restore", {"checkpoint": "@", "force": ["ignored", "other-session"]},
         "restore @ --force ignored --force other-session"),
    Step("restore", {"checkpoint": "nothing"}, "restore nothing"),
    Step("checkpoint", {"label": "third", "session": "s3", "agent": "x", "trigger": "test"},
         "checkpoint -m third --session s3 --agent x --trigger test"),
    Step("checkpoint", {"label": "later", "trigger": "test"},
         "checkpoint -m later --trigger test", write={"a": "of the turn\n", "made": "made\n"}),
    Step("revert", {}, "revert"),
    Step("revert", {"dry_run": True}, "revert -n"),
    Step("revert", {"session": "", "agent": "cursor"}, "revert --session= --agent cursor"),
    Step("revert", {"turns": ["label:third"], "dry_run": True, "diff": True},
         "revert -n --diff label:third"),
    Step("revert", {"turns": ["label:third"], "paths": ["a"], "dry_run": True},
         "revert -n label:third a"),
    Step("revert", {"turns": ["label:third"], "paths": ["a"], "hunk": [1], "expect": "1"},
         "revert label:third --hunk 1 --expect 1 a"),
    Step("revert", {"turns": ["label:third"], "hunk": [1]}, "revert label:third --hunk 1"),
    Step("revert", {"expect": "1"}, "revert --expect 1"),
    Step("revert", {"session": "s3", "turns": ["@"]}, "revert --session s3 @"),
    Step("revert", {"session": "nobody"}, "revert --session nobody"),
    Step("revert", {"agent": "x", "paths": ["made"]}, "revert --agent x -- made"),
    Step("revert", {"turns": ["label:third"], "paths": ["a"], "hunk": [1]},
         "revert label:third --hunk 1 a"),
    Step("log", {}, "log"),
    Step("pick", {"turns": ["label:third"], "paths": ["a"], "dry_run": True, "diff": True},
         "pick -n --diff label:third a"),
    Step("pick", {"turns": ["label:third"], "paths": ["a"], "hunk": [1], "expect": "1"},
         "pick label:third --hunk 1 --expect 1 a"),
    Step("pick", {"turns": ["label:third"], "markers": True},
         "pick label:third --merge --markers"),
    Step("pick", {"turns": ["nothing"]}, "pick nothing"),
    Step("undo", {}, "undo"),
    Step("undo", {}, "undo"),
    Step("undo", {}, "undo"),
    Step("revert", {"session": "s3"}, "revert --session s3", write={"a": "by hand\n"}),
    Step("revert", {"session": "s3", "markers": True}, "revert --session s3 --merge --markers"),
    Step("log", {}, "log"),
    Step("show", {"name": "label:third"}, "show label:third"),
    Step("revert", {"turns": ["nothing"]}, "revert nothing"),
    Step("revert", {"turns": ["label:third"], "force": ["nothing"]},
         "revert label:third --force nothing"),
    Step("revert", {"turns": ["label:third"], "force": ["shared", "running-turn"]},
         "revert label:third --force shared,running-turn"),
]  # fmt: skip

PROPOSALS = [
    Step("status", {}, "status"),
    Step("preview", {"path": "a"}, "preview a"),
    Step("accept", {}, "accept"),
    Step("discard", {}, "discard"),
    Step("sync", {}, "sync"),
    edits("propose", **edit("a", "two", "2")),
    edits("propose", **edit("c", "nothing of this kind", "x")),
    edits("propose", "--retry-of {0}", **edit("c", "same\nsame", "other"), retry_of="{0}"),
    edits("propose", "-n", **edit("c", "other", "x"), dry_run=True),
    edits("propose", path="new", content="new\n"),
    Step("diff", {"proposal": True}, "diff --proposal"),
    Step("preview", {"path": "a"}, "preview a"),
    Step("preview", {"path": "a", "position_encoding": "utf-32"},
         "preview a --position-encoding=utf-32"),
    Step("preview", {"path": "sub/b"}, "preview sub/b"),
    Step("preview", {"path": "gone"}, "preview gone"),
    Step("accept", {"dry_run": True}, "accept -n"),
    Step("accept", {"paths": ["a"], "hunk": [9]}, "accept --hunk 9 a"),
    Step("accept", {"paths": ["a"], "hunk": [1], "expect": "1"}, "accept --hunk 1 --expect 1 a"),
    Step("discard", {"expect": "1"}, "discard --expect 1"),
    Step("accept", {"paths": ["a"], "hunk": [1]}, "accept --hunk 1 a"),
    Step("undo", {}, "undo"),
    Step("accept", {"merge": True}, "accept --merge", write={"a": "one\nmine\nthree\n"}),
    Step("accept", {"merge": True, "markers": True}, "accept --merge --markers"),
    Step("undo", {}, "undo"),
    Step("accept", {"paths": ["a"], "overwrite": True}, "accept --overwrite a"),
    Step("accept", {"merge": True, "overwrite": True}, "accept --merge --overwrite"),
    Step("accept", {"markers": True}, "accept --markers"),
    Step("discard", {"paths": ["new"]}, "discard new"),
    Step("discard", {"paths": ["gone"]}, "discard gone"),
    Step("sync", {"paths": ["a"]}, "sync a"),
    Step("turn", {"action": "status"}, "turn status"),
    Step("turn", {"action": "end"}, "turn end"),
    Step("turn", {"action": "begin", "message": "fix", "timeout": 60},
         "turn begin --message fix --timeout 60"),
    Step("turn", {"action": "begin"}, "turn begin"),
    Step("accept", {}, "accept"),
    Step("discard", {}, "discard"),
    Step("restore", {"checkpoint": "@"}, "restore @"),
    Step("revert", {"turns": ["@~1"]}, "revert @~1"),
    Step("turn", {"action": "end"}, "turn end"),
    Step("turn", {"action": "begin", "timeout": "no"}, "turn begin --timeout no"),
    Step("turn", {"action": "begin", "session": "A", "agent": "toy", "chat": "c1",
                  "message_id": "m1", "meta": {"model": "large"}},
         "turn begin --session A --agent toy --chat c1 --message-id m1 --meta model=large"),
    Step("turn", {"action": "begin", "session": "B"}, "turn begin --session B"),
    Step("turn", {"action": "status"}, "turn status"),
    Step("turn", {"action": "end"}, "turn end"),
    Step("turn", {"action": "end", "checkpoint": "@~1"}, "turn end @~1"),
    Step("turn", {"action": "end", "checkpoint": "@"}, "turn end @"),
    Step("discard", {}, "discard"),
]  # fmt: skip


def prepared(top: Path) -> Repo:
    """A repository as both have it."""
    top.mkdir()
    repo = Repo(top)
    repo.git("init", "-q")
    repo.commit("Begin", **{"a": "one\ntwo\nthree\n", "c": "same\nsame\n", "sub/b": "b\n"})
    repo.write("u", "äö\n")
    repo.commit("More")
    return repo


class _Ids:
    """Ids by their numbers, in the order in which they appear."""

    def __init__(self, top: Path) -> None:
        self._top = str(top)
        self._seen: dict[str, str] = {}

    def replaced(self, answer: object) -> Any:
        """An answer with numbers in the places of ids."""
        text = json.dumps(answer).replace(self._top, "TOP")
        text = SECONDS.sub('"time": 0', AGO.sub("AGO", TIME.sub("TIME", text)))
        for pattern in (UUID, OBJECT):
            text = pattern.sub(lambda found: self._number(found[0]), text)
        return json.loads(SHORT.sub("SHORT", text))

    def _number(self, found: str) -> str:
        return self._seen.setdefault(found, f"ID {len(self._seen)}")


def filled(value: Any, ids: list[str]) -> Any:
    """Arguments with the newest ids in the places of `{n}`."""
    if isinstance(value, dict):
        return {key: filled(each, ids) for key, each in value.items()}
    if isinstance(value, list):
        return [filled(each, ids) for each in value]
    found = re.fullmatch(r"(.*)\{(\d)\}(.*)", value) if isinstance(value, str) else None
    return f"{found[1]}{ids[-1 - int(found[2])]}{found[3]}" if found else value


class _Pair:
    """The two repositories, and what has been answered in each."""

    def __init__(self, called: Repo, commanded: Repo, client: Client) -> None:
        self.called, self.commanded, self.client = called, commanded, client
        self._ids = {id(repo): _Ids(repo.top) for repo in (called, commanded)}
        self._own: dict[int, list[str]] = {id(called): [], id(commanded): []}

    def take(self, step: Step) -> Iterator[str]:
        """Take a step in both; what differs."""
        for repo in (self.called, self.commanded):
            for path, content in step.write.items():
                repo.write(path, content)
        arguments = filled(step.arguments, self._own[id(self.called)])
        answer, expected = self.client.call(step.tool, **arguments), self._run(step).json
        yield from fits(step.tool, arguments, answer)
        yield from self._differences(step, answer, expected)
        for repo, each in ((self.called, answer), (self.commanded, expected)):
            self._own[id(repo)] += [each["id"]] if "id" in each else []
        if (self.called.files(), self.called.status()) != (
            self.commanded.files(),
            self.commanded.status(),
        ):
            yield "the files or the index differ"

    def _differences(self, step: Step, answer: Any, expected: Any) -> Iterator[str]:
        for error in (answer.get("error", {}), expected.get("error", {})):
            # Only who typed a command is told how to type an option of it.
            error["next"] = [{**each, "command": ""} for each in error.get("next", ())]
        if answer["ok"] == expected["ok"]:
            if not answer["ok"] and answer["error"]["code"] == expected["error"]["code"] == "usage":
                # What is called an option there is an argument here.
                return
            if step.tool == "status":
                # The command is also about other things than the proposal.
                expected = {key: expected[key] for key in answer}
                expected["proposal"] = expected["proposal"]["id"]
            if step.tool == "rewind" and not answer["ok"]:
                # The command adds a hint of its own.
                lines = expected["error"]["hint"].split("\n")
                hint = "\n".join(line for line in lines if "'git boocode restore" not in line)
                expected = {**expected, "error": {**expected["error"], "hint": hint}}
        for row in expected.get("checkpoints", ()):
            # A model reads the labels.
            row.pop("prompt", None)
        found, wanted = (
            self._replaced(self.called, answer),
            self._replaced(self.commanded, expected),
        )
        if found != wanted:
            yield f"{found}\n   is not\n{wanted}"

    def _run(self, step: Step) -> Result:
        name, *words = filled(step.command, self._own[id(self.commanded)]).split()
        given = filled(step.stdin, self._own[id(self.commanded)])
        text = given if isinstance(given, str) else json.dumps(given)
        rest = [word.replace("1.hour.ago", "1 hour ago") for word in words]
        both = [name, rest.pop(0)] if name == "turn" else [name]
        return self.commanded.boocode(*both, "--json", *rest, stdin=text)

    def _replaced(self, repo: Repo, answer: object) -> Any:
        return self._ids[id(repo)].replaced(answer)


def fits(tool: str, arguments: dict[str, Any], answer: Any) -> Iterator[str]:
    """What of a call does not fit its definition; only calls that succeed need to."""
    schemas = definitions()[tool]
    output = {key: value for key, value in schemas["outputSchema"].items() if key != "$defs"}
    for name, value in schemas["outputSchema"]["$defs"].items():
        assert value == DEFINED[name]
    yield from problems(answer, {"anyOf": output["anyOf"]}, f"answer of {tool}")
    if answer["ok"]:
        given = {name: value for name, value in arguments.items() if value is not None}
        schema = without_minimum(schemas["inputSchema"])
        for name in given.keys() & schema["properties"].keys() - {"meta"}:
            yield from problems(given[name], schema["properties"][name], f"{name} of {tool}")
        yield from (f"no {name}" for name in schema.get("required", ()) if name not in given)
        # Edits have more spellings than the schema describes.
        if not TOOLS[tool].takes_edits:
            yield from (f"{name} is not described" for name in given.keys() - schema["properties"])


def without_minimum(schema: Any) -> Any:
    """A schema with those keywords that `problems` knows."""
    if isinstance(schema, dict):
        return {
            key: without_minimum(value)
            for key, value in schema.items()
            if key not in ("minimum", "minItems", "maxItems") or not isinstance(value, int)
        }
    return [without_minimum(each) for each in schema] if isinstance(schema, list) else schema


@pytest.fixture
def pair(tmp_path: Path, serve: Serve) -> _Pair:
    called, commanded = prepared(tmp_path / "called"), prepared(tmp_path / "commanded")
    client = serve(cwd=called.top)
    client.begin()
    return _Pair(called, commanded, client)


@pytest.mark.slow
@pytest.mark.parametrize(
    "steps", [EDITING, CHECKPOINTS, PROPOSALS], ids=["edits", "checkpoints", "proposals"]
)
def test_each_step(pair: _Pair, steps: list[Step], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(pair.commanded.top)
    wrong = [
        f"{number}: {step.tool} {step.arguments}: {what}"
        for number, step in enumerate(steps)
        for what in pair.take(step)
    ]
    assert "\n\n".join(wrong) == ""


def test_every_tool_is_compared() -> None:
    steps = [*EDITING, *CHECKPOINTS, *PROPOSALS]
    assert {step.tool for step in steps} == TOOLS.keys()
    for name, tool in TOOLS.items():
        used = {each for step in steps if step.tool == name for each in step.arguments}
        # Pids, buffers and turns that are replaced have tests of their own.
        missing = {*tool.arguments} - used - {"buffers", "pid", "force"}
        assert missing - set(REST) == set(), name


# They are the same for several tools, and compared for one of them.
REST = ("profile", "verbatim", "format", "position_encoding", "paths", "dry_run", "no_head",
        "files_only", "conversation_only", "start_line", "hunk")  # fmt: skip
