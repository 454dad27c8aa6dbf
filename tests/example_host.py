"""A host in 50 lines: turns begin and end, edits are applied, and turns are taken back."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import git_boocode

Model = Callable[[str], str]


class Host:
    """A chat with a model about the worktree around `root`; several can be open in one."""

    def __init__(self, root: str, model: Model, session: str = "s1") -> None:
        self.root = root
        self.model = model
        self.session = session
        self.messages: list[str] = []

    def turn(self, prompt: str) -> list[str]:
        """Ask the model, apply what it sends, and return the paths that changed."""
        begun = git_boocode.turn_begin(
            self.root,
            message=prompt,
            session=self.session,
            chat=self.session,
            agent="host",
            message_id=str(len(self.messages)),
            pid=os.getpid(),
        )
        self.messages.append(prompt)
        try:
            return self._apply(prompt)
        except git_boocode.RefusedError as error:
            if error.code == "no_edits":
                return []
            return self._apply(f"{prompt}\n\n{error.details.get('retry_context', error.message)}")
        finally:
            # What changes from now on is the user's.
            git_boocode.turn_end(self.root, turn=begun.id)

    def _apply(self, question: str) -> list[str]:
        done = git_boocode.apply_edits(self.model(question), self.root, session=self.session)
        return [file.path for file in done.files]

    def take_back(self, name: str = "@") -> int:
        """Take files and conversation back to before a turn; how many messages went."""
        return git_boocode.restore(name, self.root, callback=self._trim).messages_deleted

    def _trim(self, event: dict[str, Any]) -> dict[str, Any]:
        # A checkpoint that the host did not take names no chat of it.
        if event["event"] != "trim" or event["chat"] != self.session:
            return {}
        gone = self.messages[int(event["message"]) :]
        self.messages = self.messages[: int(event["message"])]
        return {"messages_deleted": len(gone)}
