"""`git boocode help` and `--help`: the manual pages, which `man` shows."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import click

from git_boocode.cli.candidates import one_of
from git_boocode.cli.framework import COMMANDS, Command
from git_boocode.cli.output import print_text
from git_boocode.repo.process import become

# Pages that describe no command, and their section.
TOPICS = {"json": "7", "callback": "7", "editors": "7"}


def open_page(topic: str) -> None:
    """Go on as `man`, with the page of a command or topic; of git-boocode itself without one.

    Returns only if there is no page, no `man`, or no terminal to show it on.
    """
    page = f"git-boocode-{topic}" if topic else "git-boocode"
    man = shutil.which("man")
    if man is None or not sys.stdout.isatty():
        return
    section = TOPICS.get(topic, "1")
    # An installation of pipx or uv is not where `man` looks.
    known = subprocess.run([man, "-w", section, page], capture_output=True, check=False)
    if known.returncode == 0:
        become(man, ["man", section, page])
    if path := bundled_page(f"{page}.{section}"):
        become(man, ["man", str(path)])


def bundled_page(name: str) -> Path | None:
    """The page of the checkout that this package lies in, or that was installed with it."""
    return bundled(f"man/{name}", f"share/man/man{name[-1]}/{name}")


def bundled(in_checkout: str, installed: str) -> Path | None:
    """A file beside the package, by its path in the checkout and below an installation's prefix."""
    package = Path(__file__).resolve().parents[1]
    # The prefix of an installation is above its packages; with --user it is not sys.prefix.
    prefixes = (Path(sys.prefix), *package.parents)
    # First the checkout, as an editable installation copies the files once and never again.
    places = (package.parent / in_checkout, *(prefix / installed for prefix in prefixes))
    return next(filter(Path.is_file, places), None)


@click.command("help", cls=Command)
@click.argument(
    "names", nargs=-1, metavar="[<command>]", shell_complete=one_of((*COMMANDS, *TOPICS))
)
@click.pass_context
def help_(context: click.Context, names: tuple[str, ...]) -> int:
    """Open the manual page of a command, or of git-boocode itself, with `man`.

    The pages 'json', 'callback' and 'editors' describe the JSON answers, the protocol of callbacks,
    and how editors show proposals. Where `man` is missing, or standard output is not a terminal, a
    command's summary is printed instead.
    """
    shown = context.find_root()
    if names and names[0] in TOPICS:
        if names[1:]:
            raise click.UsageError(f"unexpected argument '{names[1]}'", context)
        open_page(names[0])
        page = f"git-boocode-{names[0]}.{TOPICS[names[0]]}"
        print_text(f"the manual page is {bundled_page(page) or page}")
        return 0
    for name in names:
        if not isinstance(shown.command, click.Group):
            raise click.UsageError(f"unexpected argument '{name}'", context)
        _, command, _ = shown.command.resolve_command(shown, [name])
        assert command is not None
        shown = command.make_context(name, [], parent=shown, resilient_parsing=True)
    open_page(names[0] if names else "")
    print_text(shown.get_help())
    return 0
