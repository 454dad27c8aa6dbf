"""The JSON object in the message of a commit that git-boocode made."""

from __future__ import annotations

import json
from typing import Any, TypeVar

from git_boocode.repo.errors import RefusedError

VERSION = 1

_Kind = TypeVar("_Kind", bound="Metadata")


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
    def parse(cls: type[_Kind], message: str) -> _Kind:  # noqa: PYI019 - Self came with 3.11
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

    @property
    def worktree_key(self) -> str:
        """What identifies the worktree that it is about; see `Repository.worktree_key`."""
        return self.part("worktree", "id") or self.part("worktree", "name") or "main"

    def text(self, key: str) -> str:
        """A value that ought to be text; empty if it is missing or something else."""
        value = self.values.get(key)
        return value if isinstance(value, str) else ""

    def table(self, key: str) -> dict[str, Any]:
        """A value that ought to be an object; empty if it is missing or something else."""
        value = self.values.get(key)
        return value if isinstance(value, dict) else {}

    def tables(self, key: str) -> list[dict[str, Any]]:
        """The objects in a value that ought to be a list; what else it holds is left out."""
        value = self.values.get(key)
        rows = value if isinstance(value, list) else []
        return [row for row in rows if isinstance(row, dict)]

    def part(self, key: str, name: str) -> str | None:
        """A text inside an object, or None."""
        value = self.table(key).get(name)
        return value if isinstance(value, str) else None
