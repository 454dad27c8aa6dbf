"""Whole sessions, each with all that its commands print: begin here to learn what the program does.

`python -m tests.sessions` writes them anew; review the difference. The README and the manual quote
them.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sessions.transcript import TRANSCRIPTS, rerun

_EVERYDAY = ("by-hand", "drifted-edit", "first-look")


def _session(path: Path) -> object:
    marks = () if path.stem in _EVERYDAY else pytest.mark.slow
    return pytest.param(path, id=path.stem, marks=marks)


@pytest.mark.sha1
@pytest.mark.parametrize("path", [*map(_session, TRANSCRIPTS)])
def test_a_session_prints_what_its_transcript_shows(path: Path, tmp_path: Path) -> None:
    transcript = path.read_text(encoding="utf-8")
    assert rerun(transcript, tmp_path) == transcript, "python -m tests.sessions writes it anew"
