"""`python -m tests.sessions` writes into every transcript what its commands print now."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.sessions.transcript import TRANSCRIPTS, rerun

for path in TRANSCRIPTS:
    with tempfile.TemporaryDirectory() as home:
        text = rerun(path.read_text(encoding="utf-8"), Path(home))
    path.write_text(text, encoding="utf-8")
