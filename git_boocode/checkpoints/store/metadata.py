"""The JSON metadata in a checkpoint's commit message."""

from __future__ import annotations

import json
import re

from git_boocode.repo import metadata

_SUBJECT_LENGTH = 72
# `git log` prints subjects as they are: nothing there may steer a terminal or turn its text around.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


class Metadata(metadata.Metadata):
    """What is known of a checkpoint."""

    def message(self) -> str:
        """The commit message: a subject, a blank line, one JSON object."""
        kind, label = (" ".join(self.text(key).split()) for key in ("kind", "label"))
        subject = _CONTROL.sub("?", f"boocode {kind}: {label}" if label else f"boocode {kind}")
        if len(subject) > _SUBJECT_LENGTH:
            subject = subject[: _SUBJECT_LENGTH - 1] + "…"
        body = json.dumps(self.values, ensure_ascii=True, indent=1)
        return f"{subject.encode('utf-8', 'replace').decode()}\n\n{body}\n"

    @property
    def skipped_paths(self) -> frozenset[str]:
        """The paths that could not be captured."""
        paths = (row.get("path") for row in self.tables("skipped"))
        return frozenset(path for path in paths if isinstance(path, str))
