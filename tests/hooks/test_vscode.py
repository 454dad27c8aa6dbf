"""The client for VS Code, with a double of the editor and the installed git boocode."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.agents.kit import Turns
from tests.repo_kit import Repo

CLIENT = Path(__file__).parents[2] / "hooks/editors/vscode"
HOST = Path(__file__).parent / "vscode_host.js"
MANIFEST = json.loads((CLIENT / "package.json").read_text(encoding="utf-8"))
WORDS = "one\ntwo\nthree\nfour\nfive\n"

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="there is no Node")


class Code:
    """The editor with the extension, in a repository."""

    def __init__(self, repo: Repo) -> None:
        self.repo = repo

    def run(self, script: str, cwd: str | Path = "", path: str | None = None) -> Any:
        """What a script returns; it sees the editor as `host`."""
        program = self.repo.write(".git/script.js", script)
        done = subprocess.run(
            ["node", HOST, CLIENT / MANIFEST["main"], program],
            cwd=self.repo.top / cwd,
            env=os.environ | ({} if path is None else {"PATH": path}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@pytest.fixture
def code(repo: Repo) -> Code:
    """The editor in a repository with a file."""
    repo.commit(**{"a.txt": WORDS})
    return Code(repo)


def select(*edits: Mapping[str, object]) -> str:
    """A script that selects edits."""
    return f"host.select({json.dumps(json.dumps(edits, ensure_ascii=False))});"


TWO = {"path": "a.txt", "old_string": "two", "new_string": "TWO"}


def test_the_types_are_strict() -> None:
    options = json.loads((CLIENT / "tsconfig.json").read_text(encoding="utf-8"))
    assert options["compilerOptions"]["strict"] is True
    sources = [path.read_text("utf-8") for path in CLIENT.glob("src/*")]
    assert not any(re.search(r": any\b|\{any\}|@ts-", source) for source in sources)


@pytest.mark.slow
def test_the_types_fit(tmp_path: Path) -> None:
    copied = tmp_path / "client"
    shutil.copytree(CLIENT, copied, ignore=shutil.ignore_patterns("node_modules"))
    if shutil.which("npm"):
        subprocess.run(["npm", "ci", "--no-audit", "--no-fund"], cwd=copied, check=False)
    checker = copied / "node_modules/.bin/tsc"
    if not checker.exists():
        pytest.skip("npm cannot install the checker of types")
    done = subprocess.run([checker], cwd=copied, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_the_manifest_names_what_there_is(code: Code) -> None:
    there = code.run("return [Object.keys(host.commands), Object.keys(host.views)]")
    contributed = MANIFEST["contributes"]
    assert sorted(there[0]) == sorted(each["command"] for each in contributed["commands"])
    assert sorted(there[1]) == sorted(each["id"] for each in contributed["views"]["boocode"])
    used = {each["command"] for menu in contributed["menus"].values() for each in menu}
    assert used <= {*there[0]}
    assert "dependencies" not in MANIFEST


@pytest.mark.parametrize(
    "edit",
    [
        pytest.param(json.dumps(TWO), id="json"),
        pytest.param("--- a/a.txt\n+++ b/a.txt\n@@ -2 +2 @@\n-two\n+TWO\n", id="patch"),
        pytest.param(
            "So:\na.txt\n<<<<<<< SEARCH\ntwo\n=======\nTWO\n>>>>>>> REPLACE\n", id="blocks"
        ),
    ],
)
@pytest.mark.parametrize("source", ["host.select", "host.clipboard = "])
def test_an_edit_of_a_saved_file_is_written(code: Code, edit: str, source: str) -> None:
    seen = code.run(f"{source}({json.dumps(edit)}); await host.run('apply'); return host.dialogs")
    assert seen == []
    assert code.repo.read("a.txt").decode() == WORDS.replace("two", "TWO")


@pytest.mark.parametrize(
    "before",
    [
        pytest.param("one\ntwo\n", id="plain"),
        pytest.param("one\r\ntwo\r\n", id="crlf"),
        pytest.param("\ufeffone\ntwo\n", id="bom"),
        pytest.param("one 😀\n😀 two ü", id="astral"),
    ],
)
def test_an_edit_of_an_unsaved_document_is_one_step_of_undo(code: Code, before: str) -> None:
    code.repo.git("config", "core.autocrlf", "false")
    code.repo.commit(**{"a.txt": before, "other": "x\n"})
    edits = [
        {"path": "a.txt", "old_string": "one", "new_string": "1"},
        {"path": "a.txt", "old_string": "two", "new_string": "2\n3"},
        {"path": "other", "old_string": "x", "new_string": "y"},
    ]
    seen = code.run(
        select(*edits)
        + """
        const open = host.open("a.txt"), saved = host.open("other");
        open.type("typed\\n");
        await host.run("apply");
        return { ...open, saved: saved.isDirty, dialogs: host.dialogs };
        """
    )
    assert seen["dialogs"] == []
    ending = "\r\n" if "\r" in before else "\n"
    typed = f"typed{ending}" + before.replace("\ufeff", "")
    after = typed.replace("one", "1").replace("two", f"2{ending}3")
    assert (seen["text"], seen["undone"][1:], seen["isDirty"]) == (after, [typed], True)
    assert code.repo.read("a.txt").decode() == before
    assert (code.repo.read("other"), seen["saved"]) == (b"y\n", False)


def test_a_refusal_leads_to_the_nearest_text(code: Code) -> None:
    code.repo.commit(**{"a.txt": "def price(order):\n    return order.total\n"})
    edit = {"path": "a.txt", "old_string": "def price(item):\n    return 0", "new_string": "x"}
    seen = code.run(
        select(edit)
        + """
        host.answer = ({ items }) => items[0];
        await host.run("apply");
        return [host.dialogs, host.shown];
        """
    )
    [dialog], shown = seen
    assert (dialog["kind"], dialog["items"]) == ("error", ["Show Nearest Text"])
    assert "a.txt: old text not found" in dialog["text"]
    assert shown == [[str(code.repo.top / "a.txt"), 0, 2]]


def test_several_places_are_a_choice(code: Code) -> None:
    code.repo.commit(**{"a.txt": "price = 1\n\nprice = 2\n"})
    edit = {"path": "a.txt", "old_string": "price = ", "new_string": "cost = "}
    seen = code.run(
        select(edit)
        + """
        host.answer = ({ items }) => items.at(-1);
        await host.run("apply");
        return [host.dialogs, host.shown];
        """
    )
    [error, pick], shown = seen
    assert "occurs 2 times" in error["text"]
    assert [each["label"] for each in pick["items"]] == ["a.txt:1", "a.txt:3"]
    assert [each["detail"] for each in pick["items"]] == ["price = 1", "price = 2"]
    assert shown == [[str(code.repo.top / "a.txt"), 2, 3]]
    assert b"cost" not in code.repo.read("a.txt")


@pytest.mark.parametrize("header", ["Delete File: a.txt", "Update File: a.txt\n*** Move to: b"])
@pytest.mark.parametrize("accepted", [True, False])
def test_an_unsaved_document_is_neither_deleted_nor_renamed(
    code: Code, header: str, accepted: bool
) -> None:
    other = {"path": "other", "content": "x\n"}
    patch = f"*** Begin Patch\n*** Add File: other\n+x\n*** {header}\n*** End Patch\n"
    commands = ["propose", "accept"] if accepted else ["apply"]
    seen = code.run(
        f"""
        host.select({json.dumps(patch)});
        host.open("a.txt").type("typed");
        for (const command of {commands}) await host.run(command);
        return host.dialogs;
        """
    )
    message = "save 'a.txt' first: it is to be deleted or renamed"
    if accepted:
        does = "'a.txt': the proposal deletes"
        does = does if "Delete" in header else "'b': the proposal renames"
        message = f"{does} the file, and its buffer is not saved"
    assert [each["text"] for each in seen] == [message]
    assert code.repo.read("a.txt").decode() == WORDS
    assert not (code.repo.top / str(other["path"])).exists()


# Calls `during` when a tool is asked for the wanted kind of answer, before it can answer.
MEANWHILE = """
const meanwhile = (tool, isDryRun, during) => {
  const write = host.children.push.bind(host.children);
  host.children.push = (child) => {
    const send = child.stdin.write.bind(child.stdin);
    child.stdin.write = (line) => {
      const { params } = JSON.parse(line);
      const isThat = params?.name === tool && Boolean(params.arguments.dry_run) === isDryRun;
      if (isThat) during(child);
      send(line);
    };
    return write(child);
  };
};
"""
BOTH = (TWO, {"path": "other", "old_string": "x", "new_string": "y"})


@pytest.mark.parametrize("is_dry_run", [True, False])
def test_an_edit_is_whole_while_the_user_types(code: Code, is_dry_run: bool) -> None:
    code.repo.commit(other="x\n")
    seen = code.run(
        MEANWHILE
        + select(*BOTH)
        + f"""
        const open = host.open("a.txt");
        open.type("typed\\n");
        let left = 2;
        meanwhile("apply_edit", {json.dumps(is_dry_run)}, () => {{
          if (left-- > 0) open.type("more\\n");
        }});
        await host.run("apply");
        return [open.text, host.dialogs];
        """
    )
    more = "more\nmore\n" if is_dry_run else "more\n"
    assert seen == [f"{more}typed\n{WORDS.replace('two', 'TWO')}", []]
    assert (code.repo.read("other"), code.repo.read("a.txt").decode()) == (b"y\n", WORDS)


def test_nothing_changes_while_the_user_types_all_the_time(code: Code) -> None:
    code.repo.commit(other="x\n")
    seen = code.run(
        MEANWHILE
        + select(*BOTH)
        + """
        const open = host.open("a.txt");
        open.type("0");
        meanwhile("apply_edit", true, () => open.type("0"));
        await host.run("apply");
        return [open.text.replace(/^0+/, ""), host.dialogs.map(({ text }) => text)];
        """
    )
    message = "nothing was changed, because a document changed all the time"
    assert seen == [WORDS, [message]]
    assert code.repo.read("other") == b"x\n"


@pytest.mark.parametrize("typed", ["", "more\\n"])
def test_a_document_goes_back_if_the_server_cannot_write(code: Code, typed: str) -> None:
    code.repo.commit(other="x\n")
    seen = code.run(
        MEANWHILE
        + select(*BOTH)
        + f"""
        const open = host.open("a.txt");
        open.type("typed\\n");
        meanwhile("apply_edit", false, (child) => {{
          child.kill("SIGKILL");
          if ("{typed}") open.type("{typed}");
        }});
        await host.run("apply");
        return [open.text, host.dialogs.map(({{ text }}) => text)];
        """
    )
    text, [message] = seen
    if typed:
        assert text == f"more\ntyped\n{WORDS.replace('two', 'TWO')}"
        assert message.endswith("; undo the change of 'a.txt' in the editor")
    else:
        assert (text, message) == (f"typed\n{WORDS}", "the server ended")


def test_turns_and_the_files_of_a_turn(code: Code) -> None:
    repo = code.repo
    repo.commit(**{"gone": "gone\n", "naïve ü": "ü\n"})
    repo.boocode("checkpoint", "-m", "first")
    repo.write("a.txt", "changed\n")
    repo.write("new", "new\n")
    (repo.top / "gone").unlink()
    repo.boocode("checkpoint", "-m", "second")
    repo.write("naïve ü", "now\n")
    seen = code.run(
        """
        const turns = [];
        for (const turn of await host.turns()) {
          const files = {};
          for (const file of await host.rows("turns", turn))
            files[file.label] = [file.description, ...(await host.sides(file))];
          turns.push([turn.label, turn.contextValue, turn.description.split(" · ").at(-1), files]);
        }
        return turns;
        """
    )
    assert seen == [
        ["second", "turn", "1 file +1 −1", {"naïve ü": ["modify", "ü\n", "now\n"]}],
        [
            "first",
            "turn",
            "3 files +2 −6",
            {
                "a.txt": ["modify", WORDS, "changed\n"],
                "gone": ["delete", "gone\n", ""],
                "new": ["create", "", "new\n"],
            },
        ],
    ]


CONVERSATION = "the conversation goes back if a callback restores it"
RESTORE = """
const [turn] = await host.turns();
await host.run("restore", turn);
"""


BOTH_PARTS = ["Restore Files and Conversation", "Restore Files Only"]


@pytest.mark.parametrize("answer", [*BOTH_PARTS, None])
def test_a_restore_lists_what_it_changes_and_asks(code: Code, answer: str | None) -> None:
    repo = code.repo
    repo.boocode("checkpoint", "-m", "first")
    repo.write("a.txt", "changed\n")
    repo.write("new", "new\n")
    seen = code.run(
        f"""
        host.answer = () => {json.dumps(answer)};
        {RESTORE}
        return host.dialogs;
        """
    )
    [dialog] = seen
    assert (dialog["modal"], dialog["text"]) == (True, "Restore to before 'first'?")
    assert dialog["items"] == BOTH_PARTS
    assert dialog["detail"] == f"modify a.txt\ndelete new\n{CONVERSATION}"
    assert repo.read("a.txt").decode() == (WORDS if answer else "changed\n")
    assert (repo.top / "new").exists() == (answer is None)


def test_what_was_not_shown_is_not_restored(code: Code) -> None:
    repo = code.repo
    repo.boocode("checkpoint", "-m", "first")
    repo.write("a.txt", "changed\n")
    seen = code.run(
        f"""
        host.answer = ({{ items }}) => {{
          require("fs").writeFileSync({json.dumps(str(repo.top / "later"))}, "later\\n");
          return items[0];
        }};
        {RESTORE}
        return host.dialogs;
        """
    )
    assert "files have changed since you looked" in seen[-1]["text"]
    assert (repo.read("a.txt"), repo.read("later")) == (b"changed\n", b"later\n")


def test_a_restore_is_undone(code: Code) -> None:
    repo = code.repo
    repo.boocode("checkpoint", "-m", "one")
    repo.write("a.txt", "changed\n")
    seen = code.run(
        f"""
        host.answer = ({{ items }}) => items[0];
        {RESTORE}
        await host.run("undo");
        return host.dialogs;
        """
    )
    detail = f"modify a.txt\n{CONVERSATION}"
    assert [(each["text"], each["detail"]) for each in seen] == [
        ("Restore to before 'one'?", detail),
        ("Undo the latest change?", detail),
    ]
    assert repo.read("a.txt") == b"changed\n"


FILE = """
const [turn] = await host.turns();
const file = (await host.rows("turns", turn)).find(({ label }) => label === "a*.txt");
"""


@pytest.fixture
def two_hunks(code: Code) -> Code:
    """A turn that changed two lines of a file, and another file that a pattern would match."""
    numbers = "".join(f"{number}\n" for number in range(1, 21))
    code.repo.commit(**{"a*.txt": numbers})
    code.repo.boocode("checkpoint", "-m", "first")
    code.repo.write("a*.txt", numbers.replace("3\n", "three\n", 1).replace("18\n", "18\n19\n"))
    code.repo.write("a.txt", "changed\n")
    return code


def test_a_file_of_a_turn_is_restored(two_hunks: Code) -> None:
    seen = two_hunks.run(
        f"""
        host.answer = ({{ items }}) => items[0];
        {FILE}
        await host.run("restoreFile", file);
        return host.dialogs;
        """
    )
    [dialog] = seen
    assert dialog["detail"] == "modify a*.txt\nthe conversation and other files stay"
    assert b"three" not in two_hunks.repo.read("a*.txt")
    assert two_hunks.repo.read("a.txt") == b"changed\n"


@pytest.mark.parametrize("answer", ["items.slice(1)", "[]", "undefined"])
def test_hunks_of_a_file_are_restored(two_hunks: Code, answer: str) -> None:
    before = two_hunks.repo.read("a*.txt")
    seen = two_hunks.run(
        f"""
        host.answer = ({{ items }}) => {answer};
        {FILE}
        await host.run("restoreHunks", file);
        return host.dialogs;
        """
    )
    [pick] = seen
    places = [(each["label"], each["detail"]) for each in pick["items"]]
    assert places == [("line 3", "-three ⏎ +3"), ("line 19", "-19")]
    after = before.replace(b"19\n", b"", 1) if "slice" in answer else before
    assert two_hunks.repo.read("a*.txt") == after


def test_a_file_without_hunks_says_so(two_hunks: Code) -> None:
    two_hunks.repo.boocode("restore", "@")
    two_hunks.repo.write("a*.txt", "\0")
    script = f"""{FILE} await host.run("restoreHunks", file); return host.dialogs;"""
    [dialog] = two_hunks.run(script)
    assert (dialog["kind"], dialog["text"]) == ("error", "'a*.txt' has no hunks")


@pytest.mark.parametrize("answer", ["Take Back", None])
def test_a_turn_is_taken_back_and_other_work_stays(two_hunks: Code, answer: str | None) -> None:
    repo = two_hunks.repo
    repo.boocode("checkpoint", "-m", "second")
    repo.write("b", "by others\n")
    seen = two_hunks.run(
        f"""
        host.answer = () => {json.dumps(answer)};
        const turn = (await host.rows("turns")).find(({{ label }}) => label === "first");
        await host.run("revert", turn);
        return host.dialogs;
        """
    )
    [dialog] = seen
    assert (dialog["modal"], dialog["text"]) == (True, "Take back 'first'?")
    listed = "modify a*.txt\nmodify a.txt\nwhat others wrote since stays"
    assert dialog["detail"] == listed
    assert (b"three" in repo.read("a*.txt")) == (answer is None)
    assert repo.read("b") == b"by others\n"


def test_a_turn_with_a_later_change_goes_back_with_that(code: Code) -> None:
    repo = code.repo
    for label in ("first", "second", "third"):
        repo.boocode("checkpoint", "-m", label)
        repo.write("a.txt", f"{label}\n")
    seen = code.run(
        """
        host.answer = ({ items }) => items[0];
        const turn = (await host.rows("turns")).find(({ label }) => label === "first");
        await host.run("revert", turn);
        return host.dialogs;
        """
    )
    assert [each["items"] for each in seen][-1] == ["Take Back"]
    assert {each["items"][0] for each in seen[:-1]} == {"Take Back Later Turns, Too"}
    assert seen[0]["detail"].startswith("a.txt: '")
    assert repo.read("a.txt").decode() == WORDS


def set_callback(repo: Repo, directory: Path) -> Path:
    """Configure a callback; returns the file that gets its events."""
    callback, events = directory / "callback", directory / "events"
    callback.write_text(f"#!/bin/sh\ncat >>{events}\necho '{{}}'\n")
    callback.chmod(0o755)
    repo.git("config", "boocode.callback", str(callback))
    return events


def question(code: Code, command: str) -> list[str]:
    """What is said to change, by the dialog of a command that the user then leaves."""
    seen = code.run(
        f"""
        const [turn] = await host.turns();
        await host.run({json.dumps(command)}, turn);
        return host.dialogs.map(({{ detail }}) => detail);
        """
    )
    [detail] = seen
    lines: list[str] = detail.split("\n")
    return lines


@pytest.mark.parametrize("answer", ["Restore", None])
def test_a_restore_of_the_conversation_alone_asks(
    code: Code, tmp_path: Path, answer: str | None
) -> None:
    events = set_callback(code.repo, tmp_path)
    code.repo.boocode("checkpoint")
    seen = code.run(
        f"""
        host.answer = () => {json.dumps(answer)};
        {RESTORE}
        return host.dialogs.map(({{ detail }}) => detail);
        """
    )
    assert seen == [f"no files change\n{CONVERSATION}"]
    assert events.exists() == (answer is not None)


def test_the_question_names_all_that_changes(code: Code, tmp_path: Path) -> None:
    repo = code.repo
    repo.boocode("checkpoint")
    repo.write("a.txt", "changed\n")
    repo.commit()
    set_callback(repo, tmp_path)
    files = ["modify a.txt", "the staging area changes"]
    assert question(code, "restore") == [*files, CONVERSATION]
    assert repo.boocode("restore", "--head", "@").code == 0
    repo.git("config", "--unset", "boocode.callback")
    assert question(code, "undo") == [*files, "HEAD moves", "the conversation stays"]


def test_the_undo_of_an_accept_is_about_the_proposal(code: Code) -> None:
    repo = code.repo
    assert repo.boocode("propose", stdin=json.dumps(TWO)).code == 0
    assert repo.boocode("accept").code == 0
    assert question(code, "undo") == ["modify a.txt", "the proposal goes back"]
    repo.boocode("checkpoint")
    assert question(code, "undo") == ["Do It Anyway: does it anyway"]


def test_unsaved_documents_are_saved_before_a_restore(code: Code) -> None:
    repo = code.repo
    repo.boocode("checkpoint")
    script = f"""
        host.open("a.txt").type("typed\\n");
        host.answer = ({{ items }}) => items[0];
        {RESTORE}
        return host.dialogs.map(({{ detail, items }}) => [detail, items]);
    """
    details = code.run(script)
    assert details == [["a.txt", ["Save"]], [f"modify a.txt\n{CONVERSATION}", BOTH_PARTS]]
    assert repo.read("a.txt").decode() == WORDS
    assert repo.boocode("undo").code == 0
    assert repo.read("a.txt").decode() == f"typed\n{WORDS}"


def test_a_restore_with_unsaved_documents_can_be_left(code: Code) -> None:
    code.repo.boocode("checkpoint")
    code.repo.write("a.txt", "changed\n")
    seen = code.run(f'host.open("a.txt").type("x"); {RESTORE} return host.dialogs.length')
    assert seen == 1
    assert code.repo.read("a.txt") == b"changed\n"


def test_a_proposal_has_letters_and_three_versions(code: Code) -> None:
    seen = code.run(
        select(TWO, {"path": "new", "content": "new\n"})
        + """
        host.open("a.txt");
        await host.run("propose");
        require("node:fs").appendFileSync("a.txt", "local\\n");
        const files = [];
        for (const file of await host.rows("proposal")) {
          const versions = {};
          for (const each of await host.rows("proposal", file))
            versions[each.label] = await host.sides(each);
          files.push([file.label, file.description, file.contextValue, versions]);
        }
        return files;
        """.replace("require", "process.getBuiltinModule")
    )
    local, output = f"{WORDS}local\n", WORDS.replace("two", "TWO")
    assert seen == [
        [
            "a.txt",
            "~M",
            "proposed",
            {
                "context and output": [WORDS, output],
                "context and local": [WORDS, local],
                "local and output": [local, output],
            },
        ],
        [
            "new",
            "A",
            "proposed",
            {
                "context and output": ["", "new\n"],
                "context and local": ["", ""],
                "local and output": ["", "new\n"],
            },
        ],
    ]


def test_accept_and_discard_files(code: Code) -> None:
    seen = code.run(
        select(TWO, {"path": "b", "content": "b\n"}, {"path": "c", "content": "c\n"})
        + """
        const open = host.open("a.txt");
        open.type("typed\\n");
        await host.run("propose");
        const [a, b, c] = await host.rows("proposal");
        await host.run("accept", a);
        await host.run("discard", b);
        const left = (await host.rows("proposal")).map(({ label }) => label);
        await host.run("accept");
        const texts = host.dialogs.map(({ text }) => text);
        return [open.text, open.undone.length, left, await host.rows("proposal"), texts];
        """
    )
    text, steps, left, nothing, dialogs = seen
    assert dialogs == []
    assert (text, steps) == ("typed\n" + WORDS.replace("two", "TWO"), 2)
    assert "c" in left
    assert "b" not in left
    assert [each["description"] for each in nothing] in ([], ["~"])
    assert (code.repo.read("c"), (code.repo.top / "b").exists()) == (b"c\n", False)
    assert code.repo.read("a.txt").decode() == WORDS


def calls(code: Code, tmp_path: Path, script: str) -> list[Any]:
    """The messages that a script sends to the server."""
    real, sent = shutil.which("git"), tmp_path / "sent"
    git = git_that_serves(tmp_path / "git", f'tee -a {sent} | {real} "$@"; exit')
    code.run(f"host.settings.gitPath = {git}; {script}")
    return [json.loads(line) for line in sent.read_text().splitlines()]


def test_a_call_about_all_files_has_no_paths(code: Code, tmp_path: Path) -> None:
    script = "await host.run('propose'); await host.run('{}'); if (host.dialogs[0]) throw 1;"
    both = select(TWO, {"path": "b", "content": "b\n"}) + script.format("accept")
    again = select({"path": "c", "content": "c\n"}) + script.format("discard")
    sent = calls(code, tmp_path, both + again)
    arguments = {
        each["params"]["name"]: each["params"]["arguments"]
        for each in sent
        if each["method"] == "tools/call"
    }
    assert [*arguments["accept"]] == ["expect"]
    assert arguments["discard"] == {}
    assert code.repo.read("a.txt").decode() == WORDS.replace("two", "TWO")
    assert (code.repo.read("b"), (code.repo.top / "c").exists()) == (b"b\n", False)


def test_paths_that_are_not_utf8(code: Code) -> None:
    names = ["a\udcff", "b\udcff"]
    try:
        code.repo.commit(**dict.fromkeys(names, "two\n"))
    except OSError:
        pytest.skip("the file system has no such names")
    edits = [{"path": name, "old_string": "two", "new_string": "TWO"} for name in names]
    code.repo.write(".git/edits", json.dumps(edits))
    assert code.repo.boocode("propose", ".git/edits").code == 0
    seen = code.run(
        """
        const [a, b] = await host.rows("proposal");
        const [change] = await host.rows("proposal", a);
        const sides = await host.sides(change);
        await host.run("accept", a);
        await host.run("discard", b);
        const left = (await host.rows("proposal")).map(({ description }) => description);
        return [sides, left, host.dialogs];
        """
    )
    assert seen == [["two\n", "TWO\n"], [], []]
    assert [code.repo.read(name) for name in names] == [b"TWO\n", b"two\n"]


def test_the_client_wants_paths_as_they_are(code: Code, tmp_path: Path) -> None:
    [hello, *_] = calls(code, tmp_path, "await host.run('checkpoint');")
    capabilities = {"experimental": {"git-boocode": {"surrogates": True}}}
    assert (hello["method"], hello["params"]["capabilities"]) == ("initialize", capabilities)


CONFLICT = "'a.txt': your changes conflict with the proposal: line 2"


@pytest.mark.parametrize(
    ("answers", "typed", "expected"),
    [
        pytest.param([], "typed\n", None, id="none"),
        pytest.param(["Merge"], "typed\n", "typed\none\nTWO\n", id="merge"),
        pytest.param(["Overwrite"], "typed\n", "one\nTWO\n", id="overwrite"),
        pytest.param(["Merge", "Write Both Versions"], None, "one\n<<<<<<<", id="markers"),
        pytest.param(["Merge", "Overwrite"], None, "one\nTWO\n", id="merge, then overwrite"),
    ],
)
def test_a_conflict_offers_what_works(
    code: Code, answers: list[str], typed: str | None, expected: str | None
) -> None:
    seen = code.run(
        select(TWO)
        + f"""
        const answers = {json.dumps(answers)};
        host.answer = () => answers.shift();
        await host.run("propose");
        const open = host.open("a.txt");
        if ({json.dumps(typed)}) open.type({json.dumps(typed)});
        const line = {{ start: {{ line: 1, character: 0 }}, end: {{ line: 1, character: 3 }} }};
        if (!{json.dumps(typed)}) open.change([{{ range: line, text: "2" }}]);
        const local = open.text;
        await host.run("accept", (await host.rows("proposal"))[0]);
        const dialogs = host.dialogs.map(({{ text, items, detail }}) => [text, items, detail]);
        return [open.text, local, dialogs];
        """
    )
    text, local, dialogs = seen
    assert text.startswith(local if expected is None else expected)
    assert len(dialogs) == max(len(answers), 1)
    said, buttons, detail = dialogs[0]
    assert (said, buttons) == ("'a.txt': you have changed it since", ["Merge", "Overwrite"])
    assert detail.splitlines() == [
        "Merge: merges the proposal with your changes",
        "Overwrite: replaces your changes, which undo in the editor brings back",
    ]
    assert [dialog[0] for dialog in dialogs[1:]] == [CONFLICT] * (len(dialogs) - 1)
    assert code.repo.read("a.txt").decode() == WORDS


def test_a_server_that_died_is_started_again(code: Code) -> None:
    seen = code.run(
        """
        await host.run("checkpoint");
        host.children[0].kill();
        await new Promise((done) => host.children[0].on("close", done));
        await host.run("checkpoint");
        const turns = await host.turns();
        return [turns.length, host.children.length, host.dialogs, host.log];
        """
    )
    assert seen == [2, 2, [], ["the server ended"]]


def git_that_serves(path: Path, script: str) -> str:
    """A git whose `git boocode serve` is a script."""
    path.write_text(
        f'#!/bin/sh\ncase $* in *serve*) {script};; esac\nexec {shutil.which("git")} "$@"\n'
    )
    path.chmod(0o755)
    return json.dumps(str(path))


def test_a_call_fails_if_the_server_dies(code: Code, tmp_path: Path) -> None:
    git = git_that_serves(tmp_path / "git", "read line; echo 'fatal: no space' >&2; exit 128")
    seen = code.run(
        f"""
        host.settings.gitPath = {git};
        await Promise.all([host.run("checkpoint"), host.run("checkpoint")]);
        return host.dialogs.map(({{ text }}) => text);
        """
    )
    assert seen == ["fatal: no space"] * 2


def test_one_server_serves_all_calls_and_ends(code: Code) -> None:
    pid = code.run(
        """
        await Promise.all([host.rows("turns"), host.rows("proposal"), host.run("checkpoint")]);
        if (host.children.length !== 1) throw new Error(`${host.children.length} servers`);
        return host.children[0].pid;
        """
    )
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def programs(directory: Path, *names: str) -> str:
    """A PATH with only some programs."""
    directory.mkdir()
    for name in names:
        (directory / name).symlink_to(str(shutil.which(name)))
    return str(directory)


def test_git_boocode_is_missing(code: Code, tmp_path: Path) -> None:
    seen = code.run(
        """
        await host.run("checkpoint");
        return [(await host.rows("turns"))[0].label, host.dialogs[0].text];
        """,
        path=programs(tmp_path / "bin", "git", "node"),
    )
    for text in seen:
        assert text.startswith("git-boocode was not found: install it with 'pipx install")


def test_the_path_of_git_boocode_is_set(code: Code, tmp_path: Path) -> None:
    code.repo.boocode("checkpoint", "-m", "first")
    own = json.dumps(str(shutil.which("git-boocode")))
    seen = code.run(
        f"""
        host.answer = ({{ items }}) => items.find((item) => item === "Set Path");
        await host.run("checkpoint");
        const [, setPath] = await host.rows("turns");
        const opened = host.executed.find(([name]) => name === "workbench.action.openSettings");
        host.changeSettings({{ path: {own} }});
        const turns = (await host.turns()).map(({{ label }}) => label);
        return [setPath.command.command, opened.slice(1), turns, host.refreshed > 0];
        """,
        path=programs(tmp_path / "bin", "git", "node"),
    )
    assert seen == ["boocode.setPath", ["boocode.path"], ["first"], True]


def test_git_is_missing(code: Code, tmp_path: Path) -> None:
    path = programs(tmp_path / "bin", "node")
    [row] = code.run("return host.rows('turns')", path=path)
    assert row["label"] == "spawn git ENOENT"


def test_a_folder_that_is_not_in_a_repository(code: Code, tmp_path: Path) -> None:
    rows = code.run("return [await host.rows('turns'), await host.rows('proposal')]", cwd=tmp_path)
    assert {row["label"].split(" (")[0] for [row] in rows} == {"fatal: not a git repository"}


def test_several_folders_have_rows_of_their_own(code: Code, tmp_path: Path) -> None:
    code.repo.git("worktree", "add", "-q", str(tmp_path / "linked"))
    code.repo.boocode("checkpoint", "-m", "main")
    code.repo.boocode("checkpoint", "-m", "linked", cwd=tmp_path / "linked")
    seen = code.run(
        f"""
        host.folders.push({json.dumps(str(tmp_path / "linked"))});
        const found = {{}};
        for (const folder of await host.rows("turns")) {{
          const rows = await host.rows("turns", folder);
          found[folder.label] = rows.slice(1).map(({{ label }}) => label);
        }}
        return found;
        """
    )
    assert seen == {code.repo.top.name: ["main"], "linked": ["linked"]}


def test_the_views_follow_other_programs_and_commands(code: Code) -> None:
    seen = code.run(
        """
        const { execFileSync } = require("node:child_process");
        const news = async (action) => {
          const before = host.refreshed;
          await action();
          while (host.refreshed === before) await new Promise((done) => setTimeout(done, 20));
        };
        const boocode = (words, input = "") => () =>
          execFileSync("git", ["boocode", ...words], { input });
        const labels = async () => (await host.turns()).map(({ label }) => label);
        await labels();
        const idle = host.refreshed;
        await news(boocode(["checkpoint", "-m", "elsewhere"]));
        const found = [idle, await labels()];
        await news(boocode(["propose"], '{"path": "b", "content": "new"}'));
        found.push((await host.rows("proposal")).map(({ label }) => label));
        // The next server has to subscribe as well.
        host.children[0].kill();
        await new Promise((done) => host.children[0].on("close", done));
        await labels();
        await news(boocode(["checkpoint", "-m", "later"]));
        found.push(await labels());
        host.input = () => "by a command";
        await news(() => host.run("checkpoint"));
        return [...found, host.log.filter((line) => line.includes("undefined"))];
        """
    )
    assert seen == [0, ["elsewhere"], ["b"], ["later", "elsewhere"], []]


@pytest.mark.parametrize("how", ["cancelled", "timeout"])
def test_a_call_without_an_answer_ends(code: Code, tmp_path: Path, how: str) -> None:
    git = git_that_serves(tmp_path / "git", "exec tee lines >/dev/null")
    timeout = 2 if how == "timeout" else 60
    seen = code.run(
        f"""
        host.settings = {{ gitPath: {git}, timeout: {timeout} }};
        if ({json.dumps(how)} === "cancelled") host.slow = (_, cancel) => cancel();
        await host.run("checkpoint");
        return host.dialogs.map(({{ text }}) => text);
        """
    )
    assert [how in text for text in seen] == [True], seen
    sent = [json.loads(line) for line in (code.repo.top / "lines").read_text().splitlines()]
    assert [each["method"] for each in sent] == [
        *("initialize", "notifications/initialized", "resources/subscribe", "resources/subscribe"),
        *("tools/call", "notifications/cancelled"),
    ]
    assert sent[-1]["params"]["requestId"] == sent[-2]["id"]


def test_a_path_with_a_symlink_is_the_same_document(code: Code, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(code.repo.top)
    seen = code.run(
        select(TWO)
        + f"""
        host.folders = [{json.dumps(str(tmp_path / "link"))}];
        const open = host.open({json.dumps(str(tmp_path / "link/a.txt"))});
        open.type("typed\\n");
        await host.run("apply");
        return [open.text, host.dialogs];
        """
    )
    assert seen == ["typed\n" + WORDS.replace("two", "TWO"), []]
    assert code.repo.read("a.txt").decode() == WORDS


def test_the_timeline_tells_what_happened(code: Code) -> None:
    repo = code.repo
    repo.boocode("checkpoint", "-m", "first")
    repo.write("a.txt", "changed\n")
    repo.boocode("checkpoint", "-m", "second")
    repo.commit(**{"a.txt": "committed\n"})
    repo.boocode("restore", "@~1", "--files-only")
    seen = code.run(
        """
        const rows = await host.rows("turns");
        return rows.map(({ label, description }) => [label, description.split(" · ")[0]]);
        """
    )
    *others, (first, _), (here, where) = seen
    assert (first, here, where) == ("first", "you are here", "before this turn, 'first'")
    assert ["second", "(restored away)"] in others
    assert ["restored to before 'first'", "just now"] in others
    assert [label for label, _ in others if label.startswith("committed ")]


def test_the_place_of_the_worktree_is_above_all_that_it_contains(code: Code) -> None:
    turns = Turns(code.repo)
    turns.begin("first", "s1")
    turns.whole("second", "s2", new="1\n")
    turns.end("first", "s1")
    turns.whole("third", "s2", other="1\n")
    code.repo.boocode("restore", "--after", turns["first"], "--files-only")
    seen = code.run(
        """
        const rows = await host.rows("turns");
        return rows.map(({ label, description }) => `${label}, ${description.split(" · ")[0]}`);
        """
    )
    assert seen == [
        "restored to after 'first', just now",
        "third, (restored away)",
        "you are here, after this turn, 'first'",
        "second, claude-code",
        "first, claude-code",
    ]


@pytest.mark.parametrize("after", [False, True])
def test_a_turn_is_restored_to_before_and_to_after(code: Code, after: bool) -> None:
    repo = code.repo
    repo.boocode("checkpoint", "-m", "first")
    repo.write("a.txt", "changed\n")
    repo.boocode("checkpoint", "-m", "second")
    repo.write("a.txt", "later\n")
    command = "restoreAfter" if after else "restore"
    seen = code.run(
        f"""
        host.answer = ({{ items }}) => items[0];
        host.notice = () => "Undo";
        const turns = await host.turns();
        await host.run("{command}", turns[1]);
        const text = require("fs").readFileSync("a.txt", "utf8");
        await new Promise((done) => setTimeout(done, 0));
        return [host.dialogs[0].text, text, host.notices];
        """
    )
    side = "after" if after else "before"
    text = "changed\n" if after else WORDS
    assert seen == [f"Restore to {side} 'first'?", text, ["Restored 1 file."]]


def test_versions_are_bytes(code: Code) -> None:
    picture = bytes(range(256))
    (code.repo.top / "picture.png").write_bytes(picture)
    code.repo.commit(latin="")
    code.repo.boocode("checkpoint")
    (code.repo.top / "picture.png").write_bytes(b"now")
    seen = code.run(
        """
        const [turn] = await host.turns();
        const [file] = await host.rows("turns", turn);
        const [left] = file.command.arguments;
        return [...(await host.providers.boocode.readFile(left))];
        """
    )
    assert bytes(seen) == picture


def test_files_of_turns_whose_names_are_not_utf8_open(code: Code) -> None:
    try:
        code.repo.commit(**{"a\udcff": "two\n"})
    except OSError:
        pytest.skip("the file system has no such names")
    code.repo.boocode("checkpoint")
    code.repo.write("a\udcff", "TWO\n")
    seen = code.run(
        """
        const [turn] = await host.turns();
        const [file] = await host.rows("turns", turn);
        const before = await host.sides(file);
        return before;
        """
    )
    assert seen == ["two\n", "TWO\n"]


def test_names_cannot_hide_what_they_are(code: Code) -> None:
    code.repo.boocode("checkpoint", "-m", "label\u202etxt")
    code.repo.write("a\u202ec.txt", "x\n")
    seen = code.run(
        """
        host.answer = () => undefined;
        const [turn] = await host.turns();
        const [file] = await host.rows("turns", turn);
        await host.run("revert", turn);
        return [turn.label, file.label, file.command.arguments[2], host.dialogs[0].detail];
        """
    )
    assert "\u202e" not in "".join(seen)
    assert seen[1] == "a⟨U+202E⟩c.txt"


@pytest.mark.parametrize("tool", ["accept", "discard"])
def test_one_hunk_is_decided_in_the_editor(code: Code, tool: str) -> None:
    code.repo.boocode("checkpoint")
    edits = [{**TWO}, {"path": "a.txt", "old_string": "four", "new_string": "FOUR"}]
    seen = code.run(
        select(*edits)
        + f"""
        await host.run("propose");
        const open = host.open("a.txt");
        open.type("typed\\n");
        const lenses = await host.lenses(open);
        const [, , command, given] = lenses.find(([, title]) => /{tool}/i.test(title));
        await host.commands[command](...given);
        const left = await host.lenses(open);
        return [lenses.map(([line]) => line), open.text, left.map(([line]) => line), host.dialogs];
        """
    )
    before, text, left, dialogs = seen
    assert (before, dialogs) == ([2, 2, 2, 4, 4, 4], [])
    assert text == f"typed\n{WORDS.replace('two', 'TWO') if tool == 'accept' else WORDS}"
    assert left == [4, 4, 4]
    assert code.repo.read("a.txt").decode() == WORDS


def test_a_hunk_that_nobody_saw_is_not_accepted(code: Code) -> None:
    seen = code.run(
        select(TWO)
        + """
        await host.run("propose");
        const open = host.open("a.txt");
        const [[, , command, given]] = await host.lenses(open);
        const edit = { path: "a.txt", old_string: "one", new_string: "ONE" };
        const options = { input: JSON.stringify(edit) };
        require("child_process").execFileSync("git", ["boocode", "propose"], options);
        await host.commands[command](...given);
        return [open.text, host.dialogs.length];
        """
    )
    assert seen == [WORDS, 1]
    assert code.repo.read("a.txt").decode() == WORDS


def test_turns_are_searched_compared_and_opened(code: Code) -> None:
    repo = code.repo
    repo.boocode("checkpoint", "-m", "first thing")
    repo.write("a.txt", "changed\n")
    repo.boocode("checkpoint", "-m", "second")
    seen = code.run(
        """
        const [second, first] = await host.turns();
        await host.run("compareWithNow", first);
        const shown = host.executed.find(([name]) => name === "vscode.changes");
        const [, title, [[, left, right]]] = shown;
        const sides = [await host.content(left), await host.content(right)];
        host.input = () => "thing";
        await host.run("search", {});
        const found = (await host.turns()).map(({ label }) => label);
        host.input = () => "A.TXT";
        await host.run("search", {});
        found.push((await host.turns()).map(({ label }) => label));
        await host.run("openPage", first);
        const page = await fetch(host.opened[0]);
        await host.run("copyId", first);
        return [title, sides, found, page.status, host.opened[0].split("#")[1] === host.clipboard];
        """
    )
    title = "Before 'first thing', and now"
    assert seen == [title, [WORDS, "changed\n"], ["first thing", ["first thing"]], 200, True]


def test_an_edit_that_is_being_written_cannot_be_cancelled(code: Code) -> None:
    code.repo.commit(other="x\n")
    seen = code.run(
        MEANWHILE
        + select(*BOTH)
        + f"const program = {json.dumps(str(shutil.which('git-boocode')))};"
        + """
        const open = host.open("a.txt");
        open.type("typed\\n");
        host.settings = { path: program };
        meanwhile("apply_edit", false, (child) => {
          child.kill("SIGSTOP");
          setTimeout(() => child.kill("SIGCONT"), 2500);
        });
        // On a busy machine, the server alone may take a second to start.
        await host.turns();
        host.settings.timeout = 1;
        let cancellable;
        host.slow = (options, cancel) => {
          cancellable = options.cancellable;
          cancel();
        };
        await host.run("apply");
        return [open.text, cancellable, host.dialogs];
        """
    )
    assert seen == [f"typed\n{WORDS.replace('two', 'TWO')}", False, []]
    assert code.repo.read("other") == b"y\n"


def test_an_undo_saves_nothing_that_it_does_not_change(code: Code) -> None:
    code.repo.commit(**{"b.txt": "b\n"})
    code.repo.boocode("checkpoint")
    code.repo.write("a.txt", "changed\n")
    code.repo.boocode("restore", "@")
    seen = code.run(
        """
        const open = host.open("b.txt");
        open.type("typed\\n");
        host.answer = ({ items }) => items[0];
        await host.run("undo");
        return [open.isDirty, host.dialogs.map(({ text }) => text)];
        """
    )
    assert seen == [True, ["Undo the latest change?"]]
    assert code.repo.read("a.txt") == b"changed\n"


def test_a_turn_of_another_worktree_is_picked_into_documents(code: Code, tmp_path: Path) -> None:
    repo, linked = code.repo, tmp_path / "linked"
    repo.git("worktree", "add", "-q", str(linked))
    repo.boocode("checkpoint", "-m", "there", cwd=linked)
    (linked / "a.txt").write_text(WORDS.replace("four", "FOUR"))
    (linked / "b.txt").write_text("new\n")
    repo.boocode("checkpoint", "-m", "later", cwd=linked)
    seen = code.run(
        """
        const document = host.open("a.txt");
        document.type("zero ");
        host.answer = ({ items }) => items.find(({ label }) => label === "there") ?? "Pick";
        await host.run("pick");
        return [document.text, document.isDirty, host.dialogs.at(-1), host.notices];
        """
    )
    text = f"zero {WORDS.replace('four', 'FOUR')}"
    detail = "create b.txt\nmodify a.txt"
    question = {"kind": "warning", "modal": True, "text": "Pick 'there'?", "detail": detail}
    assert seen == [text, True, {**question, "items": ["Pick"]}, ["Picked: 2 files."]]
    assert (repo.read("a.txt").decode(), repo.read("b.txt")) == (WORDS, b"new\n")
