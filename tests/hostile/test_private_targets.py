"""No payload, private file, metadata or setting makes its reader raise an undocumented error."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.hostile.private_targets import TARGETS, WORDS


@pytest.mark.parametrize("name", TARGETS)
def test_any_bytes(name: str) -> None:
    known = next(words for beginning, words in WORDS.items() if name.startswith(beginning))
    word = st.one_of(st.sampled_from(known), st.binary(max_size=4))

    @given(st.lists(word, max_size=30).map(b"".join))
    def once(data: bytes) -> None:
        TARGETS[name](data)

    once()
