"""What a model reads: short texts that hold what it needs for its next step."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from typing import Any

import pytest

from git_boocode.repo.ids import ID
from tests.repo_kit import Repo
from tests.server.kit import Client, edit

DRIFT = "x" * 38


@pytest.fixture
def agent(client: Client) -> Iterator[Client]:
    """A session of an agent."""
    client.name = "some-agent"
    client.begin()
    yield client
    client.name = ""


def said(client: Client, tool: str, /, **arguments: object) -> str:
    """The text of an answer that must succeed, and that has nothing else."""
    result = client.ask("tools/call", name=tool, arguments=arguments)
    assert not result["isError"], result
    assert result.keys() == {"content", "isError"}
    [content] = result["content"]
    return str(content["text"])


def refused(client: Client, tool: str, /, **arguments: object) -> str:
    """The text of an answer that must fail."""
    result = client.ask("tools/call", name=tool, arguments=arguments)
    assert result["isError"], result
    return str(result["content"][0]["text"])


def id_in(text: str) -> str:
    found = re.search(ID.pattern, text)
    assert found, text
    return found[0]


def version(work: Repo, path: str) -> str:
    return work.git("hash-object", path)[:12]


def lines(*numbers: int) -> str:
    return "".join(f"line {number} {DRIFT}\n" for number in numbers)


def test_lines_are_read_and_edited_by_their_numbers(agent: Client, work: Repo) -> None:
    """The file changes in between, and the edit is merged."""
    text = said(agent, "read", path="a")
    assert text == f"[a#{work.git('hash-object', 'a')[:12]}]\n1| one\n2| two\n3| three"
    assert said(agent, "read", path="a:2-") == text.replace("1| one\n", "")
    version = text[3:15]
    work.write("a", "zero\none\ntwo\nthree\n")
    changes = [{"start_line": 3, "content": ["3"]}]
    said(agent, "apply_edit", path="a", base=version, changes=changes)
    assert work.read("a") == b"zero\none\ntwo\n3\n"


def test_a_version_is_asked_for_in_the_words_of_the_tools(agent: Client) -> None:
    text = refused(agent, "apply_edit", path="sub/b", start_line=1, content=["x"])
    assert 'what to do: get the version with: the tool \'read\' with {"path": "sub/b"}' in text
    assert said(agent, "read", path="sub/b").startswith("[sub/b#")


def test_a_large_file_is_read_in_parts(agent: Client, work: Repo) -> None:
    work.write("big:1-2", "".join(f"{number}\n" for number in range(1, 2501)))
    work.write("wide", ("x" * 1_999 + "\n") * 60 + "y" * 2_010)
    first, *shown, last = said(agent, "read", path="big:1-2").split("\n")
    assert re.fullmatch(r"\[big:1-2#[0-9a-f]{12}\]", first)
    assert shown == [f"{number:4}| {number}" for number in range(1, 2001)]
    assert last == '… and 500 more lines: the tool \'read\' with {"path": "big:1-2:2001-"} goes on'
    last = said(agent, "read", path="big:1-2:300-2400").rpartition("\n")[2]
    assert '{"path": "big:1-2:2300-2400"}' in last
    assert said(agent, "read", path="big:1-2:2001-").endswith("\n2500| 2500")
    wide = said(agent, "read", path="wide")
    assert len(wide) < 101_000
    assert wide.endswith('{"path": "wide:51-"} goes on')
    assert said(agent, "read", path="wide:61").endswith(
        f"\n61| {'y' * 2_000}… (10 more characters)"
    )


def test_the_end_of_a_line_that_was_cut_is_not_written(agent: Client, work: Repo) -> None:
    work.write("wide", f"{'y' * 2_010}\n")
    before = work.read("wide")
    header, line = said(agent, "read", path="wide").split("\n")
    change = {"start_line": 1, "content": [line.removeprefix("1| ").replace("y", "z", 1)]}
    text = refused(agent, "apply_edit", path="wide", base=header[6:18], changes=[change])
    assert "y… (10 more characters)', which was cut when it was shown" in text
    assert "change a part of the line with old_string and new_string" in text
    assert work.read("wide") == before


def test_bytes_that_are_not_utf8_are_read(agent: Client, work: Repo) -> None:
    work.write("latin", b"caf\xe9\r\nth\xe9\n")
    assert said(agent, "read", path="latin").endswith("]\n1| caf\ufffd\n2| th\ufffd")


def test_an_edit_names_its_id_and_the_changed_lines(agent: Client, work: Repo) -> None:
    text = said(agent, "apply_edit", **edit("a", "two", "2"))
    assert text == (
        f"applied as edit {id_in(text)}\na: modified, line 2, now {version(work, 'a')}\n"
        " 1| one\n- | two\n+2| 2\n 3| three"
    )
    assert said(agent, "revert", turns=[id_in(text)], dry_run=True).startswith("dry run: nothing")
    assert work.read("a") == b"one\n2\nthree\n"
    back = said(agent, "revert", turns=[id_in(text)])
    assert work.read("a") == b"one\ntwo\nthree\n"
    assert "took back edit" in back
    said(agent, "revert", turns=[id_in(back)])
    assert work.read("a") == b"one\n2\nthree\n"


def test_a_rewritten_file_is_not_repeated(agent: Client, work: Repo) -> None:
    work.write("big", lines(*range(520)))
    assert len(work.read("big")) > 22_700
    text = said(agent, "apply_edit", path="big", content=lines(*range(520)).replace("x", "y"))
    assert len(text) <= 100
    assert text.endswith(f"big: modified, lines 1-520, now {version(work, 'big')}")


def test_the_changed_lines_of_several_places(agent: Client, work: Repo) -> None:
    work.write("big", lines(*range(1, 101)))
    changes = [
        {"old_string": lines(10), "new_string": ""},
        {"old_string": lines(50), "new_string": f"a\nb\n{lines(50)}c\n"},
        {"old_string": lines(99), "new_string": "end\n"},
    ]
    text = said(agent, "apply_edit", path="big", edits=changes)
    where = "lines below 9, 49-50, 52, 101"
    head, *shown = text.split("\n")[1:]
    assert head == f"big: modified, {where}, now {version(work, 'big')}"
    assert "-   | line 10 " in "\n".join(shown)
    numbers = [int(line[1:4]) for line in shown if line[0] == "+"]
    assert numbers == [49, 50, 52, 101]
    made = work.read("big").decode().split("\n")
    assert [made[number - 1] for number in numbers] == ["a", "b", "c", "end"]
    assert [line[6:] for line in shown if line[0] == "+"] == ["a", "b", "c", "end"]


def test_all_edits_of_one_call(agent: Client, work: Repo) -> None:
    work.write("gone", "1\n")
    patch = (
        "*** Begin Patch\n*** Add File: new\n+x\n+y\n*** Delete File: gone\n"
        "*** Update File: a\n*** Move to: moved\n@@\n-two\n+2\n*** End Patch\n"
    )
    text = said(agent, "apply_edit", input=patch, dry_run=True)
    assert text.startswith("dry run: nothing was written\n")
    assert {"new: created, lines 1-2", "gone: deleted", "a -> moved: renamed, line 2"} <= {
        *text.split("\n")
    }
    assert work.read("gone") == b"1\n"


def test_how_a_text_was_found(agent: Client) -> None:
    said(agent, "apply_edit", path="f", content="if  x:\n    return  'a long line of text'\n")
    text = said(agent, "apply_edit", **edit("f", "return 'a long line of text'", "return 2"))
    assert re.search(r"f: modified, line 2 \(matched by \w+", text), text


def test_a_refused_edit_says_what_to_send(agent: Client) -> None:
    text = refused(agent, "apply_edit", **edit("a", "nothing like it", "x"))
    assert text.startswith("@retry_context\n")
    assert '"old_string": "nothing like it"' in text


def test_unsaved_texts_are_answered_in_full(agent: Client) -> None:
    text = said(agent, "apply_edit", **edit("a", "mine", "x"), buffers={"a": "mine\n"})
    assert '"text": "x\\n"' in text


def test_a_checkpoint(agent: Client) -> None:
    text = said(agent, "checkpoint", label="before")
    assert text == f"checkpoint {id_in(text)}"
    again = said(agent, "checkpoint", if_changed=True)
    assert again.startswith(f"{text}; nothing has changed")


def test_a_log_of_25_turns(agent: Client, work: Repo) -> None:
    label = "Change the way in which the parser reads numbers, and then test it\nagain"
    for number in range(27):
        said(agent, "checkpoint", label=label, agent="claude-code", session="s")
        work.write("a", f"{number}\n")
    text = said(agent, "log")
    assert len(text.encode()) <= 3_000
    *rows, more = text.split("\n")
    assert len(rows) == 25
    assert more.startswith("for older turns: a larger max_count")
    assert re.fullmatch(
        r"[0-9a-f]+(-[0-9a-f]+)* \d{4}-\d\d-\d\d \d\d:\d\d Change the way .*…, 1 file \+1 -1",
        rows[3],
    )
    # What it calls a turn is a name.
    assert said(agent, "diff", old=rows[3].split()[0], turn=True).startswith("1 file changed")
    assert said(agent, "log", max_count=27).count("\n") == 27
    assert not [each for each in text if unicodedata.category(each) == "Cc" and each != "\n"]


def test_a_log_with_agents_restores_and_edits(agent: Client, work: Repo) -> None:
    first = id_in(said(agent, "checkpoint", agent="codex"))
    said(agent, "apply_edit", **edit("a", "two", "2"))
    said(agent, "checkpoint", agent="cursor")
    said(agent, "revert", turns=[first])
    said(agent, "undo")
    said(agent, "revert", turns=[first])
    reverted, second, turn = said(agent, "log").split("\n")
    assert re.search(r" codex:, 1 file \+1 -1, reverted$", turn), turn
    assert " cursor:, " in second
    assert re.search(r"\(revert of [0-9a-f-]+\)$", reverted), reverted
    assert re.fullmatch(f"{ID.pattern} .{{16}} a", said(agent, "log", edits=True))
    assert said(agent, "log", grep="nothing") == "no turns found"


def test_a_log_says_where_a_restore_went_back_to(agent: Client, work: Repo) -> None:
    first, second = (id_in(said(agent, "checkpoint", label=name)) for name in ("one", "two"))
    work.write("a", "two\n")
    assert len(said(agent, "log").split("\n")) == 2
    said(agent, "restore", checkpoint=second)
    _, restored, here, below = said(agent, "log").split("\n")
    assert "two" in restored
    assert re.fullmatch(f"you are here: before this turn, {second[:13]}.*", here), here
    assert first[:13] in below


def test_a_diff_is_bounded(agent: Client, work: Repo) -> None:
    said(agent, "checkpoint")
    assert said(agent, "diff") == "no differences"
    work.write("a", "one\n2\nthree\n")
    assert said(agent, "diff").endswith("\n one\n-two\n+2\n three")
    work.write("big", lines(*range(50)))
    text = said(agent, "diff")
    assert text.startswith("2 files changed\na: modified +1 -1\nbig: created +50 -0\n")
    assert text.endswith("lines: paths shows it for some of the files")
    assert len(text) < 200
    assert f"+line 49 {DRIFT}" in said(agent, "diff", paths=["big"])
    work.write("big", lines(*range(5_000)))
    text = said(agent, "diff", paths=["big"])
    assert text.count("\n") < 410
    assert text.endswith("more lines: name fewer paths")
    work.write("big", "x" * 50_000)
    assert len(said(agent, "diff")) < 200
    assert len(said(agent, "diff", paths=["big"])) > 50_000


def test_a_restore_and_the_way_back(agent: Client, work: Repo) -> None:
    first = id_in(said(agent, "checkpoint"))
    work.write("a", "changed\n")
    work.write("new", "new\n")
    before = work.files()
    text = said(agent, "restore", checkpoint=first)
    assert re.match("restored 2 files to checkpoint [0-9a-f-]+\na: modified\nnew: deleted\n", text)
    assert text.endswith("undo brings back what was here before")
    assert said(agent, "undo", dry_run=True).startswith("would restore 2 files")
    text = said(agent, "undo")
    assert work.files() == before
    again = re.search("restore with checkpoint ([0-9a-f-]+)", text)
    assert again, text
    said(agent, "restore", checkpoint=again[1])
    assert work.read("a") == b"one\ntwo\nthree\n"
    assert said(agent, "restore", checkpoint=again[1]).startswith("nothing to do")


def test_a_restore_names_the_work_of_other_sessions(agent: Client, work: Repo) -> None:
    def turn(name: str, session: str) -> str:
        by = ("--session", session, "--agent", "codex", "-m", name, "--json")
        taken = work.boocode("checkpoint", *by)
        work.write(name, "new\n")
        return str(taken.json["id"])

    one, _ = turn("one", "s1"), turn("two", "s2")
    revert = "revert with {} takes back only the turns of its session"
    text = said(agent, "restore", checkpoint=one, files_only=True, dry_run=True)
    hint = re.search(revert.format("({.*})"), text)
    assert hint, text
    text = said(agent, "restore", checkpoint=one, files_only=True)
    assert "\nwarning: this also removed the work of another session: 'two' of codex\n" in text
    assert f"\nhint: after undo, {revert.format(hint[1])}\n" in text
    said(agent, "undo")
    said(agent, "revert", **json.loads(hint[1]))
    assert ("one" in work.files(), "two" in work.files()) == (False, True)


def test_a_conversation_that_was_left_alone(agent: Client, work: Repo) -> None:
    for name in ("cursor", "claude-code"):
        said(agent, "checkpoint", agent=name, session="s")
        work.write("a", f"{name}\n")
        left = "\nthe conversation was left alone: "
        assert left in said(agent, "restore", checkpoint="@", dry_run=True)
        assert left not in said(agent, "restore", checkpoint="@", paths=["a"], dry_run=True)
        assert left not in said(agent, "restore", checkpoint="@", files_only=True)


def test_many_files_are_not_all_listed(agent: Client, work: Repo) -> None:
    said(agent, "checkpoint")
    for number in range(500):
        work.write(f"new/{number}", "x\n")
    text = said(agent, "restore", checkpoint="@")
    assert "… and 480 more" in text
    assert len(text) < 1_000


def test_an_edit_of_many_files(agent: Client, work: Repo) -> None:
    for number in range(100):
        work.write(f"new/{number:02}", "some text that is long enough\n" * (1 + (number == 70)))
    work.write("new/98", "some  text that is  long enough\n")
    changes = [
        {**edit(f"new/{number:02}", "some text that is long enough", "x"), "replace_all": True}
        for number in range(100)
    ]
    text = said(agent, "apply_edit", edits=changes)
    assert "new/98: modified, line 1 (matched by " in text
    assert text.endswith("\n… and 80 more")
    assert len(text) < 1_000
    assert work.read("new/99") == b"x\n"


def test_many_conflicts_are_counted(agent: Client, work: Repo) -> None:
    def write(text: str) -> None:
        for number in range(30):
            work.write(f"new/{number:02}", text)

    write("one\n")
    turn = id_in(said(agent, "checkpoint"))
    write("two\n")
    said(agent, "checkpoint")
    write("three\n")
    assert "\n… and 10 more\nhint: " in refused(agent, "revert", turns=[turn])
    marked = said(agent, "revert", turns=[turn], markers=True, dry_run=True)
    assert marked.count("conflict in ") == 20
    assert "\n… and 10 more\nthese files would have conflict markers" in marked


def test_no_turns_are_not_all_turns(agent: Client) -> None:
    said(agent, "checkpoint")
    assert refused(agent, "revert", turns=[]) == "error: 'turns' is empty"
    everything = "error: 'paths' is empty\nhint: omit it to mean everything"
    assert refused(agent, "restore", checkpoint="@", paths=[]) == everything


def test_a_label_given_as_paths(agent: Client) -> None:
    text = refused(agent, "checkpoint", paths=["before", "it"])
    assert "hint: did you mean: 'label': \"before it\"\n" in text


def test_hunks_of_a_dry_run_can_be_chosen(agent: Client, work: Repo) -> None:
    work.write("big", lines(*range(1, 31)))
    turn = id_in(said(agent, "checkpoint"))
    work.write("big", lines(*range(1, 31)).replace("line 3 ", "3 ").replace("line 20 ", "20 "))
    for tool, name in (("restore", {"checkpoint": turn}), ("revert", {"turns": [turn]})):
        text = said(agent, tool, **name, paths=["big"], dry_run=True)
        assert f"hunk 2: line 20, +1 -1\n-20 {DRIFT}\n+line 20 {DRIFT}" in text
        version = re.search("version ([0-9a-f]+)", text)
        assert version
        done = said(agent, tool, **name, paths=["big"], hunk=[2], expect=version[1])
        assert done.endswith("undo brings back what was here before")
        assert work.read("big") == lines(*range(1, 31)).replace("line 3 ", "3 ").encode()
        said(agent, "undo")


def test_the_lines_of_a_hunk_are_those_of_a_diff(agent: Client, work: Repo) -> None:
    work.write("f", "one\ftwo\u2028three\nend")
    said(agent, "checkpoint")
    work.write("f", "one\ftwo\u2028three\nend\n")
    text = said(agent, "restore", checkpoint="@", paths=["f"], dry_run=True)
    assert text.endswith("line 2, +1 -1\n-end\n+end\n\\ No newline at end of file")
    work.write("f", "1\ftwo\u2028three\nend")
    text = said(agent, "restore", checkpoint="@", paths=["f"], dry_run=True)
    assert "line 1, +1 -1\n-1\ftwo" in text


def test_a_hunk_without_its_text_says_where_it_is(agent: Client, work: Repo) -> None:
    work.write("big", lines(*range(1_000)))
    turn = id_in(said(agent, "checkpoint"))
    work.write("big", lines(*range(1_000)).replace("0 x", "zero x"))
    text = said(agent, "restore", checkpoint=turn, paths=["big"], dry_run=True)
    assert "\nhunk 25: line 241, +1 -1 (text left out)\n" in text
    assert "\n… and 60 more hunks, up to number 100\n" in text
    call = re.search("the tool 'diff' with ({.*}) shows it$", text)
    assert call, text
    assert "+line 24zero" in said(agent, "diff", **json.loads(call[1]))
    text = said(agent, "revert", turns=[turn], paths=["big"], dry_run=True)
    assert text.endswith("dry_run with diff shows it, with hunk for some of it")
    assert len(text) < 4_000
    some = {"turns": [turn], "paths": ["big"], "dry_run": True, "hunk": [25, 100]}
    for diff in ({}, {"diff": True}):
        text = said(agent, "revert", **some, **diff)
        assert "-line 24zero" in text
        assert "-line 99zero" in text
        assert "-line 0" not in text
    work.write("big", lines(*range(1_000)).replace("line", "LINE"))
    some["hunk"] = [1]
    assert "hunk 1: lines 1-1000, +1000 -1000 (text left out)" in said(agent, "revert", **some)
    text = said(agent, "revert", **some, diff=True)
    assert text.endswith("more lines: name fewer paths")


def test_what_was_left_alone_is_not_called_equal(agent: Client, work: Repo) -> None:
    work.write("x", "recorded\n")
    said(agent, "checkpoint")
    work.write(".gitignore", "x\n")
    work.write("x", "ignored\n")
    text = said(agent, "restore", checkpoint="@", paths=["x"])
    assert text.startswith("nothing was restored from checkpoint ")
    assert "\nleft alone: x: ignored file 'x' is in the way\n" in text
    assert text.endswith("\nhint: 'force': [\"ignored\"] replaces ignored files")
    assert work.read("x") == b"ignored\n"
    said(agent, "restore", checkpoint="@", paths=["x"], force=["ignored"])
    assert work.read("x") == b"recorded\n"


def test_a_long_line_is_cut_to_what_differs(agent: Client, work: Repo) -> None:
    before, after = "x" * 5_000, "y" * 5_000
    work.write("long", f"{before}one{after}\nfirst\n")
    text = said(agent, "apply_edit", **edit("long", "one", "two"))
    assert "\n- | …xxx" in text
    assert "xone" in text
    assert "xtwo" in text
    assert len(text) < 700
    [made] = re.findall(ID.pattern, text)
    said(agent, "revert", turns=[made])
    again = said(agent, "revert", turns=[made])
    assert "\nlong: unchanged (already rewound; " in again


def test_a_conflict_names_who_wrote_the_lines_and_what_to_do(agent: Client, work: Repo) -> None:
    turn = id_in(said(agent, "checkpoint", label="first"))
    work.write("a", "one\n2\nthree\n")
    work.write("sub/b", "2\n")
    later = id_in(said(agent, "checkpoint", label="second"))
    work.write("a", "one\nTWO\nthree\n")
    work.write("sub/b", "TWO\n")
    text = refused(agent, "revert", turns=[turn])
    assert re.search(r"conflict in a, line 2: .* by turn [0-9a-f-]+ \(second\)", text), text
    assert "conflict in sub/b, line 1:" in text
    assert f'the tool \'revert\' with {{"turns": ["{later}", "{turn}"]}}' in text
    marked = said(agent, "revert", turns=[turn], markers=True)
    assert "these files have conflict markers" in marked
    assert b"<<<<<<<" in work.read("a")


def test_hints_name_tools_that_an_agent_sees(agent: Client, work: Repo) -> None:
    said(agent, "checkpoint")
    said(agent, "apply_edit", **edit("a", "two", "2"))
    assert "the tool 'rewind'" not in refused(agent, "undo")
    assert "the tool 'log'" in refused(agent, "restore", checkpoint="nowhere")


def test_an_edit_is_reverted_alone(agent: Client) -> None:
    made = [id_in(said(agent, "apply_edit", path=name, content="x\n")) for name in ("m", "n")]
    assert "reverted alone" in refused(agent, "revert", turns=made)
    assert "excludes 'markers'" in refused(agent, "revert", turns=made[:1], markers=True)
    assert said(agent, "revert", turns=made[:1], paths=["m"]).startswith("took back edit")
    assert said(agent, "revert", turns=made[:1]).startswith("nothing to do")


def test_names_with_control_characters(agent: Client, work: Repo) -> None:
    said(agent, "checkpoint", label="a\nb\x1b[31m")
    work.write("x\ny", "1\n")
    assert "\nx\ny" not in said(agent, "restore", checkpoint="@")
    assert "\x1b" not in said(agent, "log")


@pytest.mark.slow
def test_every_answer_can_be_shortened(agent: Client, work: Repo) -> None:
    work.write("binary", "\0" * 100)
    work.write("renamed", lines(*range(20)))
    work.write("script", "#!/bin/sh\n")
    turn = id_in(said(agent, "checkpoint", label="a"))
    work.write("binary", "\1" * 100)
    (work.top / "renamed").rename(work.top / "other name\n")
    (work.top / "script").chmod(0o755)
    (work.top / "link").symlink_to("a")
    (work.top / "sub/b").unlink()
    made = id_in(said(agent, "apply_edit", **edit("a", "two", "2")))
    said(agent, "checkpoint", label="b")
    work.git("add", "-A")
    said(agent, "propose", **edit("a", "three", "3"))
    before = work.files()
    calls: list[tuple[str, dict[str, Any]]] = [
        *(("diff", {"old": turn, "new": new}) for new in (turn, "@")),
        *(("diff", {"old": turn, "paths": [path]}) for path in (".", "binary", "link")),
        ("diff", {"old": turn, "turn": True}),
        ("diff", {"proposal": True}),
        *(("log", {name: True}) for name in ("all", "archived", "remotes", "edits")),
        *(("log", {"max_count": count}) for count in (0, 1)),
        ("restore", {"checkpoint": turn, "dry_run": True, "paths": ["."]}),
        ("restore", {"checkpoint": turn, "dry_run": True, "head": True}),
        ("restore", {"checkpoint": turn}),
        ("undo", {"dry_run": True}),
        ("undo", {}),
        ("redo", {}),
        ("undo", {}),
        ("revert", {"turns": [turn], "dry_run": True, "diff": True}),
        ("revert", {"turns": [turn]}),
        ("undo", {}),
        ("accept", {"overwrite": True}),
        ("undo", {"dry_run": True}),
        ("undo", {}),
        ("rewind", {"edit": made, "dry_run": True}),
        ("preview_edit", edit("a", "2", "zwei")),
        ("checkpoint", {"paths": ["a"], "if_changed": True}),
    ]
    for tool, arguments in calls:
        assert said(agent, tool, **arguments), (tool, arguments)
    assert work.files() == before
