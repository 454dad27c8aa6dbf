"""Ask the user a question on the terminal."""

from __future__ import annotations

import sys

from git_boocode.cli.output import print_text


def can_ask() -> bool:
    """Whether there is someone who sees a question and can answer it."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def agrees(question: str) -> bool:
    """Whether the user answers with yes; anything else is a no.

    Args:
        question: in one line.
    """
    print_text(f"{question} [y/N]", to_stderr=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
