"""The JSON metadata in a checkpoint's commit message."""

from __future__ import annotations

import json
import re
from typing import Any

from git_boocode.repo.errors import RefusedError

VERSION = 1
_SUBJECT_LENGTH = 72
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")


class MetadataError(RefusedError):
    """A commit's message holds no metadata that this version can read."""


class Metadata:
    """Metadata as read from a message or about to be written; unknown keys are kept.

    Args:
        values: the JSON object.
    """

    def __init__(self, values: dict[str, Any]) -> None:
        self.values = values

    @classmethod
    def parse(cls, message: str) -> Metadata:
        """Read the metadata out of a commit message.

        Raises:
            MetadataError: there is none (`malformed`), or a newer git-boocode wrote it (`newer`).
        """
        _, _, body = message.partition("\n\n")
        try:
            values = json.loads(body)
        except (ValueError, RecursionError):
            raise MetadataError("its message holds no JSON object", code="malformed") from None
        if not isinstance(values, dict) or type(values.get("boocode")) is not int:
            raise MetadataError("its message is not git-boocode's", code="malformed")
        if values["boocode"] > VERSION:
            raise MetadataError(
                f"it was written in format {values['boocode']}, newer than this git-boocode reads",
                code="newer",
                hints=("update git-boocode",),
            )
        return cls(values)

    def message(self) -> str:
        """The commit message: a subject, a blank line, one JSON object."""
        kind, label = (" ".join(self.text(key).split()) for key in ("kind", "label"))
        subject = _CONTROL.sub("?", f"boocode {kind}: {label}" if label else f"boocode {kind}")
        if len(subject) > _SUBJECT_LENGTH:
            subject = subject[: _SUBJECT_LENGTH - 1] + "…"
        body = json.dumps(self.values, ensure_ascii=True, indent=1)
        return f"{subject.encode('utf-8', 'replace').decode()}\n\n{body}\n"

    def text(self, key: str) -> str:
        """A value that ought to be text; empty if it is missing or something else."""
        value = self.values.get(key)
        return value if isinstance(value, str) else ""

    def table(self, key: str) -> dict[str, Any]:
        """A value that ought to be an object; empty if it is missing or something else."""
        value = self.values.get(key)
        return value if isinstance(value, dict) else {}

    def part(self, key: str, name: str) -> str | None:
        """A text inside an object, or None."""
        value = self.table(key).get(name)
        return value if isinstance(value, str) else None

    @property
    def skipped_paths(self) -> frozenset[str]:
        """The paths that could not be captured."""
        skipped = self.values.get("skipped")
        rows = skipped if isinstance(skipped, list) else []
        return frozenset(
            row["path"]
            for row in rows
            if isinstance(row, dict) and isinstance(row.get("path"), str)
        )
