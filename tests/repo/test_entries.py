from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from git_boocode.repo.entries import Metadata, MetadataError
from tests.repo_kit import LIMITED, examples

TEXT = st.text(st.characters(exclude_categories=()))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner),
    max_leaves=8,
)
NAMES = st.sampled_from(["kind", "label", "id", "head", "skipped", "meta"]) | TEXT

quick = settings(deadline=None, derandomize=True, max_examples=examples(50))


def message(**values: Any) -> str:
    """A message as a checkpoint has it."""
    return Metadata({"boocode": 1, "kind": "checkpoint", **values}).message()


def test_a_message_is_a_subject_a_blank_line_and_one_object() -> None:
    subject, blank, body = message(label="before lunch").split("\n", 2)
    assert (subject, blank) == ("boocode checkpoint: before lunch", "")
    assert json.loads(body) == {"boocode": 1, "kind": "checkpoint", "label": "before lunch"}


@pytest.mark.parametrize(
    ("label", "subject"),
    [
        ("", "boocode checkpoint"),
        ("  two\n\n lines\t", "boocode checkpoint: two lines"),
        ("\ud800", "boocode checkpoint: ?"),
        ("esc \x1b[31m nul \0", "boocode checkpoint: esc ?[31m nul ?"),
        ("x" * 99, "boocode checkpoint: " + "x" * 51 + "…"),
    ],
)
def test_the_subject(label: str, subject: str) -> None:
    assert message(label=label).split("\n")[0] == subject


def test_unknown_keys_are_kept() -> None:
    values = {"boocode": 1, "kind": "checkpoint", "future": {"x": [1, None]}, "é": "\udcff"}
    assert Metadata.parse(Metadata(values).message()).values == values


def test_a_newer_version() -> None:
    with pytest.raises(MetadataError) as caught:
        Metadata.parse('s\n\n{"boocode": 2, "kind": "checkpoint"}')
    assert (caught.value.code, caught.value.exit_code) == ("newer", 1)
    assert "format 2" in caught.value.message
    assert caught.value.hints == ("update git-boocode",)


@pytest.mark.parametrize(
    "text",
    [
        "", "subject", "subject\n{}", "s\n\n", "s\n\nnot json", "s\n\n[]", "s\n\n1", "s\n\nnull",
        "s\n\n{}", 's\n\n{"boocode": "1"}', 's\n\n{"boocode": true}', 's\n\n{"boocode": 1.0}',
        's\n\n{"boocode": null}', 's\n\n{"boocode": 1} trailing', 's\n\n{"boocode": 1',
        "s\n\n" + "[" * 100_000, "s\n\n\0",
        pytest.param('s\n\n{"boocode": ' + "1" * 9999 + "}", marks=LIMITED),
    ],
)  # fmt: skip
def test_malformed(text: str) -> None:
    with pytest.raises(MetadataError) as caught:
        Metadata.parse(text)
    assert (caught.value.code, caught.value.exit_code) == ("malformed", 1)


@pytest.mark.parametrize("wrong", [None, 1, [], ["x"], {"a": 1}, True])
def test_values_of_the_wrong_shape_count_as_missing(wrong: object) -> None:
    meta = Metadata({"boocode": 1, "label": wrong, "head": wrong, "skipped": wrong})
    assert meta.text("label") == ""
    assert meta.part("head", "commit") is None
    assert meta.skipped_paths == frozenset()


def test_skipped_paths_of_the_right_shape() -> None:
    rows = [{"path": "a", "reason": "r"}, {"path": 1}, "b", {}, {"path": "c"}]
    assert Metadata({"skipped": rows}).skipped_paths == {"a", "c"}


@quick
@given(TEXT)
@example('s\n\n{"boocode": -1}')
def test_no_text_raises_anything_else(text: str) -> None:
    for tried in (text, f"s\n\n{text}", f's\n\n{{"boocode": {text}}}'):
        try:
            meta = Metadata.parse(tried)
        except MetadataError:
            continue
        assert meta.values["boocode"] <= 1


@quick
@given(st.dictionaries(NAMES, JSON))
@example({"kind": "a\n\nb"})
def test_what_was_written_can_be_read(values: dict[str, Any]) -> None:
    values = {**values, "boocode": 1}
    text = Metadata(values).message()
    assert Metadata.parse(text).values == values
    text.encode()
    assert "\0" not in text
