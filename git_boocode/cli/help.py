"""`git boocode help` and `version`, and the manual pages: where they are, and their plain text."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from git_boocode import __version__
from git_boocode.cli.candidates import one_of
from git_boocode.cli.framework import COMMANDS, TOPICS, Command, json_option
from git_boocode.cli.options import output_options
from git_boocode.cli.output import encode_text, paged, print_json, print_text, wants_json
from git_boocode.repo.errors import FatalError
from git_boocode.repo.git import Git, clean_environment
from git_boocode.repo.process import become

_MARGIN = 7  # columns before the text of a section
_WIDTH = 80
# What the pages escape, and the change of font, which plain text leaves out.
_ESCAPES = {"\\-": "-", "\\e": "\\", "\\(aq": "'", "\\(ga": "`", "\\(ha": "^", "\\(ti": "~"}
_ESCAPES |= {"\\(mi": "−", "\\(bu": "•"}
_ESCAPED = re.compile(r"\\(?:f.|\(..|.)")


@click.command("help", cls=Command)
@click.argument(
    "names", nargs=-1, metavar="[<command>]", shell_complete=one_of((*COMMANDS, *TOPICS))
)
@click.pass_context
def help_(context: click.Context, names: tuple[str, ...]) -> int:
    """Open the manual page of a command, or of git-boocode itself, with `man`.

    Further pages are 'json', 'callback' and 'editors', the protocols for hosts; 'formats', which
    edit format suits which model; 'compatibility', what stays the same between versions; 'faq';
    'troubleshooting', what messages mean; and 'internals', how it works. On a pipe, or where `man`
    is missing, the page is printed as plain text.
    """
    topic = names[0] if names else ""
    if topic in TOPICS and names[1:]:
        raise click.UsageError(f"unexpected argument '{names[1]}'", context)
    shown = context.find_root()
    for name in () if topic in TOPICS else names:
        if not isinstance(shown.command, click.Group):
            raise click.UsageError(f"unexpected argument '{name}'", context)
        _, command, _ = shown.command.resolve_command(shown, [name])
        assert command is not None
        shown = command.make_context(name, [], parent=shown, resilient_parsing=True)
    open_page(topic)
    name, section = page_of(topic)
    page = bundled_page(f"{name}.{section}")
    if page is None and topic in TOPICS:
        raise FatalError(
            f"the installation lacks '{name}.{section}'",
            code="broken_installation",
            hints=("install git-boocode again",),
        )
    lines = plain_text(page_text(page)) if page else [shown.get_help()]
    with paged(Git(os.curdir, clean_environment(os.environ))) as stream:
        stream.write(encode_text("\n".join(lines).strip("\n") + "\n"))
    return 0


@click.command(cls=Command)
@json_option
def version() -> int:
    """Print the version of git-boocode; with -v, also those of Python and git."""
    if wants_json():
        print_json({"ok": True, "version": __version__})
        return 0
    print_text(f"git-boocode version {__version__}")
    if output_options().verbose:
        print_text(f"python version {'.'.join(map(str, sys.version_info[:3]))} ({sys.executable})")
        print_text(Git(".", clean_environment(os.environ)).line("version"))
    return 0


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
    """The page of the checkout that this package lies in, or that was installed with it.

    Distributions compress the pages of their packages.
    """
    places = f"man/man{name[-1]}/{name}", f"share/man/man{name[-1]}/{name}"
    return bundled(*places) or bundled(*(f"{place}.gz" for place in places))


def page_text(page: Path) -> str:
    """What a page has, as roff."""
    data = page.read_bytes()
    if page.suffix == ".gz":
        import gzip

        data = gzip.decompress(data)
    return data.decode("utf-8")


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
