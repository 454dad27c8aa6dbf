"""Whether the output takes colour, and which: by git's own settings, `--no-color` and NO_COLOR."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress

from git_boocode.cli.options import output_options
from git_boocode.repo.config import Config
from git_boocode.repo.errors import BoocodeError
from git_boocode.repo.git import Git, clean_environment

_SEQUENCES = {
    "bold": "\033[1m",
    "red": "\033[31m",
    "green": "\033[32m",
    "yellow": "\033[33m",
    "cyan": "\033[36m",
    "bold red": "\033[1;31m",
    "bold yellow": "\033[1;33m",
}
_RESET = "\033[m"
_HEADS = ("diff --git", "index", "old mode", "new", "deleted", "similarity", "rename")
_DIFF_LINES = (
    *((f"{head} ", "meta", "bold") for head in _HEADS),
    ("--- ", "meta", "bold"),
    ("+++ ", "meta", "bold"),
    ("@@ ", "frag", "cyan"),
    ("-", "old", "red"),
    ("+", "new", "green"),
)


class Style:
    """Paints text, or leaves it as it is where colour is not wanted."""

    def __init__(self, *, enabled: bool) -> None:
        self.enabled = enabled

    def __call__(self, text: str, colour: str) -> str:
        """Text in one of git's colours, or after an escape sequence of the user's."""
        return f"{_SEQUENCES.get(colour, colour)}{text}{_RESET}" if self.enabled else text


def colour_wanted(config: Config, key: str = "color.ui", *, on_stderr: bool = False) -> bool:
    """Whether a standard stream takes colour, by `key`, `color.ui` and whether it is a terminal."""
    if colour_forbidden(config, key):
        return False
    # `git -p` has a pager run before it runs us.
    paged = not on_stderr and os.environ.get("GIT_PAGER_IN_USE") == "true"
    watched = paged or (sys.stderr if on_stderr else sys.stdout).isatty()
    when = _when(config, key)
    is_capable = os.environ.get("TERM", "dumb") != "dumb"
    return when == "always" or (when == "auto" and watched and is_capable)


def colour_forbidden(config: Config, key: str) -> bool:
    """Whether `--no-color` is given, or NO_COLOR is set and the configuration not `always`."""
    if output_options().no_color:
        return True
    return bool(os.environ.get("NO_COLOR")) and _when(config, key) != "always"


def _when(config: Config, key: str) -> str:
    """When colour is wanted by a setting, or by `color.ui`: `always`, `never` or `auto`."""
    setting = config.setting(key) or config.setting("color.ui")
    word = "auto" if setting is None or setting.value is None else setting.value.lower()
    if word == "always":
        return word
    return "never" if word in ("never", "false", "no", "off", "0") else "auto"


def slot_colour(config: Config, key: str, default: str) -> str:
    """The escape sequence that is configured for a part of git's output, or the default colour."""
    if config.setting(key) is not None:
        with suppress(BoocodeError):
            git = Git(".", clean_environment(os.environ))
            return git.line("config", "--get-color", key, default)
    return default


def diff_painter(config: Config) -> Callable[[str], str]:
    """A function that paints a line of a unified diff as `git diff` does."""
    if not colour_wanted(config, "color.diff"):
        return lambda line: line
    style = Style(enabled=True)
    colours = [
        (start, slot_colour(config, f"color.diff.{slot}", default))
        for start, slot, default in _DIFF_LINES
    ]

    def paint(line: str) -> str:
        for start, colour in colours:
            if line.startswith(start):
                return style(line, colour)
        return line

    return paint
