"""A host in 40 lines: turns are checkpoints, edits are applied, and turns are taken back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import git_boocode

Model = Callable[[str], str]


class Host:
    """A chat with a model about the worktree around `root`."""

    def __init__(self, root: str, model: Model) -> None:
        self.root = root
        self.model = model
        self.messages: list[str] = []

    def turn(self, prompt: str) -> list[str]:
        """Ask the model, apply what it sends, and return the paths that changed."""
        number = str(len(self.messages))
        git_boocode.checkpoint(self.root, label=prompt, chat="chat", message=number, agent="host")
        self.messages.append(prompt)
        try:
            done = git_boocode.apply_edits(self.model(prompt), self.root)
        except git_boocode.RefusedError as error:
            if error.code == "no_edits":
                return []
            again = f"{prompt}\n\n{error.details.get('retry_context', error.message)}"
            done = git_boocode.apply_edits(self.model(again), self.root)
        return [file.path for file in done.files]

    def take_back(self, name: str = "@") -> int:
        """Take files and conversation back to before a turn; how many messages went."""
        return git_boocode.restore(name, self.root, callback=self._trim).messages_deleted

    def _trim(self, event: dict[str, Any]) -> dict[str, Any]:
        if event["event"] != "trim":
            return {}
        gone = self.messages[int(event["message"]) :]
        self.messages = self.messages[: int(event["message"])]
        return {"messages_deleted": len(gone)}
