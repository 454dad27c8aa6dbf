"""The manual pages: where they are, how `man` shows them, and their plain text."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from git_boocode.repo.process import become

# Pages that describe no command, and their section.
TOPICS = {"json": "7", "callback": "7", "editors": "7"}
_MARGIN = 7  # columns before the text of a section
_WIDTH = 80
# What the pages escape, and the change of font, which plain text leaves out.
_ESCAPES = {"\\-": "-", "\\e": "\\", "\\(aq": "'", "\\(ga": "`", "\\(ha": "^", "\\(ti": "~"}
_ESCAPES |= {"\\(mi": "−", "\\(bu": "•"}
_ESCAPED = re.compile(r"\\(?:f.|\(..|.)")


def open_page(topic: str) -> None:
    """Go on as `man`, with the page of a command or topic; of git-boocode itself without one.

    Returns only if there is no page or no `man`.
    """
    man = shutil.which("man")
    if man is None:
        return
    page, section = page_of(topic)
    # An installation of pipx or uv is not where `man` looks.
    for wanted in ([section, page], [str(bundled_page(f"{page}.{section}") or "")]):
        known = subprocess.run([man, "-w", *wanted], capture_output=True, check=False)
        # Where the pages were removed to save space, `man` is a script that only says so.
        if known.returncode == 0 and os.path.isfile(known.stdout.strip()):
            become(man, ["man", *wanted])


def page_of(topic: str) -> tuple[str, str]:
    """The name of a page, and its section."""
    return f"git-boocode-{topic}" if topic else "git-boocode", TOPICS.get(topic, "1")


def bundled_page(name: str) -> Path | None:
    """The page of the checkout that this package lies in, or that was installed with it."""
    return bundled(f"man/man{name[-1]}/{name}", f"share/man/man{name[-1]}/{name}")


def bundled(in_checkout: str, installed: str) -> Path | None:
    """A file beside the package, by its path in the checkout and below an installation's prefix."""
    package = Path(__file__).resolve().parents[1]
    # The prefix of an installation is above its packages; with --user it is not sys.prefix.
    prefixes = (Path(sys.prefix), *package.parents)
    # First the checkout, as an editable installation copies the files once and never again.
    places = (package.parent / in_checkout, *(prefix / installed for prefix in prefixes))
    return next(filter(Path.is_file, places), None)


def plain_text(roff: str) -> Iterator[str]:
    """The lines of a page for readers without `man`; it knows the macros that our pages use."""
    margin, above = _MARGIN, ""
    for part in re.split(r"(?m)^(?=\.)", roff):
        plain = _ESCAPED.sub(lambda found: _ESCAPES.get(found[0], ""), part)
        macro, *lines = plain.splitlines() or [""]
        name, _, argument = macro.partition(" ")
        if name in (".SH", ".SS"):
            margin = _MARGIN
            yield from ("", ("   " if name == ".SS" else "") + argument.strip('"'))
        elif name in (".RS", ".RE"):
            margin += int(argument) if argument else -4
        elif name == ".nf":
            yield from (" " * margin + line for line in lines)
        elif name in (".PP", ".TP", ".IP"):
            yield from [""] * (above not in (".SH", ".SS"))
            term, rest = (lines[:1], lines[1:]) if name == ".TP" else ([], lines)
            yield from _filled(term, margin)
            mark = argument.partition(" ")[0]
            yield from _filled(rest, margin + (0 if name == ".PP" else _MARGIN), mark)
        above = name


def _filled(lines: Sequence[str], margin: int, mark: str = "") -> list[str]:
    """A paragraph; a mark is before its first line."""
    wrapper = textwrap.TextWrapper(_WIDTH, break_on_hyphens=False, break_long_words=False)
    wrapper.subsequent_indent = " " * margin
    wrapper.initial_indent = mark.rjust(margin - 1) + " " if mark else wrapper.subsequent_indent
    return wrapper.wrap(" ".join(lines))
