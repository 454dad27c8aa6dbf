"""Random texts: hunks in any order, merges as git's, undo after anything, and text edits."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from git_boocode.editing.text_changes import merge_texts, text_hunks, with_hunks
from git_boocode.editing.textfile import FileText, decode
from git_boocode.proposals.acceptance import AcceptRefusedError
from git_boocode.proposals.review import preview
from git_boocode.repo.errors import RefusedError
from tests.editing.test_text_changes import applied
from tests.proposals import kit
from tests.proposals.kit import ProposedFile, Version, content_of, letters
from tests.repo_kit import Repo, examples

LINE = st.sampled_from(["a\n", "b\n", "c\n", "a\r\n", "\n", "é\n", "x😀y\n"])
TEXT = st.builds(
    lambda lines, end: "".join(lines) + end,
    st.lists(LINE, max_size=8),
    st.sampled_from(["", "", "end"]),
)
IN_A_REPOSITORY = settings(
    max_examples=examples(25),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def sides(context: str, output: str) -> ProposedFile:
    return ProposedFile("a", Version(context.encode()), Version(output.encode()))


@given(TEXT, TEXT, st.data())
def test_hunks_in_any_order(old: str, new: str, data: st.DataObject) -> None:
    text = old
    while hunks := text_hunks(text, new):
        chosen = data.draw(st.sampled_from(hunks)).number
        text = with_hunks(text, new, [chosen])
    assert text == new
    numbers = [hunk.number for hunk in text_hunks(old, new)]
    assert with_hunks(old, new, numbers) == new
    assert with_hunks(old, new, []) == old


@given(TEXT, TEXT, TEXT)
@settings(max_examples=examples(300))
def test_merges_are_those_of_git(base: str, ours: str, theirs: str) -> None:
    merged = merge_texts(*(FileText(text) for text in (base, ours, theirs)))
    with tempfile.TemporaryDirectory() as directory:
        names = [os.path.join(directory, name) for name in ("ours", "base", "theirs")]
        for name, text in zip(names, (ours, base, theirs), strict=True):
            Path(name).write_bytes(text.encode())
        done = subprocess.run(["git", "merge-file", "-p", *names], capture_output=True)
    if merged.conflicts or done.returncode or "\r" in base + ours + theirs:
        # Git takes other line endings for a change of the line.
        return
    assert merged.text.text.encode() == done.stdout


@given(TEXT, TEXT, TEXT)
def test_no_line_is_lost_to_markers(base: str, ours: str, theirs: str) -> None:
    merged = merge_texts(*(FileText(text) for text in (base, ours, theirs)))
    old, mine, other, there = (
        Counter(text.replace("\r\n", "\n").splitlines())
        for text in (base, ours, theirs, merged.text.text)
    )
    # What either side has added, whether the other one has as well or not.
    assert not (mine - old) - there
    assert not (other - old) - there


@given(TEXT, TEXT, TEXT)
@IN_A_REPOSITORY
def test_previews_lead_from_the_buffer_to_what_they_show(
    repo: Repo, context: str, local: str, output: str
) -> None:
    kit.store_state([sides(context, output)])
    shown = preview(kit.workspace({"a": local.encode()}), "a")
    answer: dict[str, Any] = shown.as_json("utf-16")
    assert answer["text"] == (output if context != output else context)
    assert applied(local, answer["text_edits"]) == answer["text"]
    rows = local.splitlines(keepends=True)
    for hunk in shown.hunks:
        assert 1 <= hunk.start_line <= hunk.end_line + 1 <= len(local.split("\n")) + 1, rows


@given(TEXT, TEXT, st.randoms(use_true_random=False))
@IN_A_REPOSITORY
def test_hunk_after_hunk(repo: Repo, context: str, output: str, dice: Any) -> None:
    kit.put(repo, "a", Version(context.encode()))
    kit.store_state([sides(context, output)])
    before = letters()
    steps = 0
    while hunks := text_hunks(*hunk_sides(repo)):
        kit.accept(hunks={"a": {dice.choice(hunks).number}})
        steps += 1
    assert repo.read("a") == output.encode()
    assert letters() == {"a": ""}
    for _ in range(steps):
        kit.undo()
    assert (repo.read("a"), letters()) == (context.encode(), before)
    # Discarding each of them leaves the context.
    while hunks := text_hunks(*hunk_sides(repo)):
        kit.discard(hunks={"a": {dice.choice(hunks).number}})
    assert (repo.read("a"), letters()) == (context.encode(), {"a": ""})


def hunk_sides(repo: Repo) -> tuple[str, str]:
    """The context and the output of the newest proposal."""
    found = kit.newest()
    assert found is not None
    stored = [content_of(repo, found, "a", side=side) for side in ("context", "output")]
    return decode(stored[0] or b"").text, decode(stored[1] or b"").text


ACTIONS = st.sampled_from(["accept", "merge", "overwrite", "markers", "discard", "sync", "propose"])


@given(st.lists(TEXT, min_size=3, max_size=3), st.lists(st.tuples(ACTIONS, TEXT), max_size=4))
@settings(
    max_examples=examples(30),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_undo_after_anything(repo: Repo, texts: list[str], actions: list[tuple[str, str]]) -> None:
    context, local, output = texts
    kit.put(repo, "a", Version(local.encode()))
    kit.store_state([sides(context, output)])
    history = []
    for action, text in actions:
        seen = repo.read("a"), letters()
        try:
            act(action, text)
        except (RefusedError, AcceptRefusedError):
            assert (repo.read("a"), letters()) == seen
            continue
        if action != "propose":
            history.append((seen, (repo.read("a"), letters()), letters()))
    proposed = any(action == "propose" for action, _ in actions)
    for before, _, _ in reversed(history):
        kit.undo()
        assert repo.read("a") == before[0]
        assert proposed or letters() == before[1]
    for _, after, _ in history:
        kit.redo()
        assert repo.read("a") == after[0]
        assert proposed or letters() == after[1]
    for _ in history:
        kit.undo()


def act(action: str, text: str) -> None:
    """One step of a user, or of a model."""
    if action == "propose":
        kit.propose({"path": "a", "content": text})
    elif action in ("discard", "sync"):
        getattr(kit, action)()
    else:
        ways: dict[str, dict[str, Any]] = {
            "accept": {},
            "merge": {"merge": True},
            "overwrite": {"overwrite": True},
            "markers": {"merge": True, "markers": True},
        }
        kit.accept(**ways[action])
