"""No bytes make a reader raise an undocumented error, or keep it from ending."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import pytest
from hypothesis import given

from tests.hostile.fuzz import HANGS, inputs
from tests.hostile.targets import ALL, words


@contextmanager
def ends() -> Iterator[None]:
    """Fails where what is inside hangs; regular expressions let signals through, too."""

    def late(number: int, frame: FrameType | None) -> None:
        raise AssertionError(f"the input takes longer than {HANGS} seconds")

    before = signal.signal(signal.SIGPROF, late)
    # Seconds of work, not of waiting for a processor.
    signal.setitimer(signal.ITIMER_PROF, HANGS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@pytest.mark.parametrize("name", ALL)
def test_any_bytes(name: str) -> None:
    @given(inputs(words(name)))
    def once(data: bytes) -> None:
        with ends():
            ALL[name](data)

    once()
