"""Ask the user a question on the terminal."""

from __future__ import annotations

import sys

from git_boocode.cli.output import print_text


def can_ask() -> bool:
    """Whether there is someone who sees a question and can answer it."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def ask(question: str) -> str:
    """What the user answers; empty at the end of the input."""
    sys.stderr.write(f"{question} ")
    sys.stderr.flush()
    answer = sys.stdin.readline()
    if not answer.endswith("\n"):
        # By Ctrl-D: the cursor is still behind the question.
        print_text("", to_stderr=True)
    return answer.strip()


def agrees(question: str) -> bool:
    """Whether the user answers with yes; anything else is a no."""
    return ask(f"{question} [y/N]").lower() in ("y", "yes")
