"""The patch language of Codex: `*** Begin Patch` … `*** End Patch`."""

from __future__ import annotations

import pytest

from git_boocode.editing.actions import Create, Delete, Keep
from git_boocode.editing.edits import Edit, MatchOptions, MissError
from git_boocode.editing.formats import Context, apply_patch
from git_boocode.editing.inputs import read_item, shapes
from git_boocode.editing.patch import PatchAction
from git_boocode.editing.textfile import FileText
from tests.editing.kit import edits_of, read

OLD = "class A:\n    def run(self):\n        go()\n\n    def walk(self):\n        go()\n"
UPDATE = "*** Update File: f\n@@ def walk(self):\n-        go()\n+        stop()\n"
NEW = OLD[:-13] + "        stop()\n"


def envelope(body: str) -> str:
    return f"*** Begin Patch\n{body}*** End Patch\n"


def edit(value: object) -> Edit:
    (found,) = edits_of(value)
    assert found.format == "apply-patch"
    return found


def applied(value: object, text: str = OLD) -> str:
    result = edit(value).action.apply(FileText(text), MatchOptions())
    assert result.text is not None
    return result.text.text


def updated(body: str, text: str = OLD) -> str:
    return applied(envelope(f"*** Update File: f\n{body}"), text)


def refused(body: str, text: str = OLD) -> MissError:
    with pytest.raises(MissError) as caught:
        updated(body, text)
    return caught.value


def wrong(value: object) -> str:
    (failure,) = read(value).failures
    assert failure.code == "invalid_input"
    return failure.message


PATCH = envelope(UPDATE)


@pytest.mark.parametrize(
    "value",
    [
        PATCH,
        PATCH.replace("\n", "\r\n"),
        f"Prose.\n\n{PATCH}\nMore of it.\n",
        f"```\n{PATCH}```\n",
        PATCH.replace("Patch\n", "Patch\n\n", 1),
        f"apply_patch <<'EOF'\n{PATCH}EOF\n",
        f"bash -lc 'apply_patch <<\"PATCH\"\n{PATCH}PATCH'\n",
        f"<<EOF\n{PATCH}EOF",
        f'apply_patch "{PATCH.rstrip()}"\n',
        PATCH.replace("*** Update", "  *** Update").replace("*** End Patch", "  *** End Patch "),
        {"input": PATCH},
        {"patch": PATCH},
        {"patchText": PATCH},
        # Without an envelope.
        UPDATE,
        f"Prose.\n\n{UPDATE}",
        f"Prose.\n\n{UPDATE}\nMore of it.\n",
        f"```\n{UPDATE}```\nMore of it.\n",
        UPDATE + "*** End Patch\n",
        {"patch": UPDATE},
        {"path": "f", "patch": PATCH},
        {"path": "/work/f", "patch": PATCH.replace("File: f", "File: work/f")},
        {"patch_lines": PATCH.splitlines()},
        {"tool_input": {"input": PATCH}},
        [{"input": PATCH}],
        # Without the last line, but in something that shows that nothing is truncated.
        f"```\n{PATCH.replace('*** End Patch', '')}```\n",
        f"apply_patch <<'EOF'\n{PATCH.replace('*** End Patch', '')}EOF\n",
    ],
)
def test_every_way_in(value: object) -> None:
    assert applied(value) == NEW


@pytest.mark.parametrize(
    "command",
    [
        ["apply_patch", PATCH],
        ["bash", "-lc", f"apply_patch <<'EOF'\n{PATCH}EOF\n"],
        f"apply_patch <<'EOF'\n{PATCH}EOF\n",
    ],
)
def test_the_words_of_a_command(command: object) -> None:
    item = {"command": command}
    assert shapes(item) == ["apply-patch"]
    (draft,) = apply_patch.edits(item, Context(read_item))
    assert isinstance(draft, Edit)
    assert draft.path == "f"


def test_all_kinds_of_sections() -> None:
    body = (
        "*** Add File: new/a.txt\n+one\n+\n+two\n\n*** Delete File: gone\n"
        f"{UPDATE}*** Update File: g\n*** Move to: h\n@@\n-a\n+b\n*** Update File: i\n"
        "*** Move to: j\n"
    )
    made, gone, changed, moved, renamed = edits_of(envelope(body))
    assert (made.path, made.action) == ("new/a.txt", Create("one\n\ntwo\n"))
    assert made.given == envelope("*** Add File: new/a.txt\n+one\n+\n+two\n\n")
    assert (gone.path, gone.action) == ("gone", Delete(None))
    assert (changed.path, changed.to) == ("f", None)
    assert (moved.path, moved.to, type(moved.action)) == ("g", "h", PatchAction)
    assert (renamed.path, renamed.to, renamed.action) == ("i", "j", Keep())


def test_several_envelopes() -> None:
    text = f"First:\n{PATCH}then:\n{envelope('*** Delete File: g')[:-14]}\n*** End Patch\n"
    assert [found.path for found in edits_of(text)] == ["f", "g"]
    assert [found.given for found in edits_of(text)] == [PATCH, envelope("*** Delete File: g\n")]
    assert edit({"patch": PATCH}).given == {"patch": PATCH}


def test_a_fence_in_the_lines_of_a_hunk_does_not_end_the_patch() -> None:
    body = "*** Update File: f\n@@\n ```\n-a\n+b\n ```\n"
    first, last = edits_of("```\n" + envelope(f"{body}*** Delete File: g\n") + "```\n")
    result = first.action.apply(FileText("```\na\n```\n"), MatchOptions())
    assert result.text == FileText("```\nb\n```\n")
    assert last.path == "g"


def test_contexts_in_a_row_narrow_the_place() -> None:
    text = OLD + OLD.replace("A", "B")
    body = "@@ class B:\n@@     def run(self):\n-        go()\n+        stop()\n"
    assert updated(body, text) == OLD + OLD.replace("A", "B").replace("go", "stop", 1)
    assert (
        refused("@@     def run(self):\n-        go()\n+        stop()\n", text).code == "ambiguous"
    )
    assert refused("@@\n-        go()\n+        stop()\n").code == "ambiguous"


def test_the_end_of_the_file() -> None:
    text = "a\nb\na\n"
    assert updated("@@\n-a\n+c\n*** End of File\n", text) == "a\nb\nc\n"
    assert updated("@@\n+c\n*** End of File\n", text) == "a\nb\na\nc\n"
    assert refused("@@\n-b\n+c\n*** End of File\n", text).code == "not_found"
    assert refused("@@\n+c\n", text).code == "not_found"


def test_lines_that_look_like_marks_are_lines() -> None:
    text = "*** End Patch\nx\n*** Begin Patch\n"
    body = "@@\n *** End Patch\n-x\n+*** Add File: y\n *** Begin Patch\n"
    assert updated(body, text) == "*** End Patch\n*** Add File: y\n*** Begin Patch\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (PATCH.replace("*** End Patch", ""), "ends without '*** End Patch'"),
        (PATCH.replace("*** End Patch", " *** End Patch"), "ends without '*** End Patch'"),
        (PATCH + "*** End Patch\n", "line 7 of the patch: '*** End Patch' is outside of"),
        (UPDATE + PATCH, "line 1 of the patch: '*** Update File: f' is outside of '*** Begin"),
        (envelope(""), "no file named"),
        (envelope("*** Change File: f\n"), "line 2 of the patch: '*** Change File: f'; expected"),
        (envelope(f"*** {'x' * 56}\n"), f"line 2 of the patch: '*** {'x' * 56}'; expected"),
        (envelope(f"*** {'x' * 57}\n"), f"line 2 of the patch: '*** {'x' * 56}…'; expected"),
        (envelope("*** Update File: f\n"), "line 2 of the patch: no change follows"),
        (envelope("*** Update File:\n"), "line 2 of the patch: the path is missing"),
        (envelope("*** Update File: f\n*** Move to:\n"), "line 3 of the patch: the path is"),
        (
            envelope("*** Add File: f\n*** Move to: g\n+a\n"),
            "line 3 of the patch: '*** Move to: g'",
        ),
        (envelope(f"{UPDATE}*** Move to: g\n"), "line 6 of the patch: '*** Move to: g'"),
        (
            envelope("*** Delete File: f\n-a\n"),
            "line 3 of the patch: '-a' in a deleted file",
        ),
        (envelope("*** Update File: f\n@@ x\n a\n"), "line 3 of the patch: the hunk has no"),
        (envelope("*** Update File: f\n@@\n-a\n+b\n*** Change\n"), "line 6 of the patch: '*** Ch"),
        (envelope("*** Add File: f\n+a\n b\n"), "line 4 of the patch: ' b' in a created file"),
        ({"path": "g", "patch": PATCH}, "the patch is for 'f', but 'path' is 'g'"),
    ],
)
def test_what_is_malformed(text: object, said: str) -> None:
    assert said in wrong(text)


def operation(kind: str, diff: str | None, **more: object) -> dict[str, object]:
    """A call of OpenAI's own tool for patches."""
    inner = {"type": kind, "path": "f"} | ({} if diff is None else {"diff": diff})
    return {"type": "apply_patch_call", "call_id": "1", "operation": inner, **more}


def test_the_operations_of_an_apply_patch_call() -> None:
    lines = UPDATE.partition("\n")[2]
    for item in (operation("update_file", lines), operation("update_file", lines)["operation"]):
        assert edit(item).path == "f"
        assert edit(item).action == edit(envelope(UPDATE)).action._replace(  # type: ignore[attr-defined]
            hunks=tuple(
                hunk._replace(row=1)
                for hunk in edit(envelope(UPDATE)).action.hunks  # type: ignore[attr-defined]
            )
        )
    assert edit(operation("create_file", "+a\n+b\n")).action == Create("a\nb\n")
    assert edit(operation("delete_file", None)).action == Delete()
    assert len(edits_of([operation("update_file", lines), operation("delete_file", None)])) == 2
    # One that comes with its envelope is read as well.
    assert edit(operation("update_file", envelope(UPDATE))).path == "f"


@pytest.mark.parametrize(
    ("kind", "diff", "said"),
    [
        ("create_file", "+a\nb\n", "line 2 of the patch: ' b' in a created file"),
        ("create_file", "+a\n b\n", "line 2 of the patch: ' b' in a created file"),
        ("update_file", " a\n", "line 1 of the patch: the hunk has no line"),
        ("update_file", "", "line 1 of the patch: no change follows"),
        ("update_file", None, "'diff' is missing"),
        ("delete_file", "-a\n", "line 1 of the patch: '-a' in a deleted file"),
    ],
)
def test_what_is_wrong_with_an_operation(kind: str, diff: str | None, said: str) -> None:
    (failure,) = read(operation(kind, diff)).failures
    assert failure.code == "invalid_input"
    assert said in failure.message


def test_a_section_that_does_not_exist_is_refused() -> None:
    body = "@@ def missing(self):\n     def walk(self):\n-        go()\n+        stop()\n"
    miss = refused(body)
    assert miss.code == "not_found"
    assert "no section 'def missing(self):'" in miss.message
    assert "class Target" in refused(body.replace("def missing(self):", "class Target")).message
