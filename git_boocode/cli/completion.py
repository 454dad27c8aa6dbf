"""`git boocode completion`: the completion scripts, and the candidates for which they ask.

The scripts in `hooks/completion` run `git-boocode completion --candidates <word>...` with the words
after `git boocode`, of which the last one may be incomplete. The answer is a line for each
candidate: the word, a tab, and a description, which may be empty. An empty word stands for the
paths that the shell itself completes. If something fails, nothing is offered and nothing is said.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress

import click

from git_boocode.cli.candidates import one_of
from git_boocode.cli.framework import Command, boocode
from git_boocode.cli.help import bundled
from git_boocode.cli.output import print_text
from git_boocode.repo.errors import FatalError, UsageError
from git_boocode.repo.process import TimeLimit, end_group, lead_group

_PATIENCE = 2.0
"""Seconds after which a slow repository has nothing to offer."""
# Where a shell's script lies in a checkout, and where in an installation.
_SCRIPTS = {
    "bash": ("git-boocode.bash", "share/bash-completion/completions/git-boocode"),
    "zsh": ("_git-boocode", "share/zsh/site-functions/_git-boocode"),
    "fish": ("git-boocode.fish", "share/fish/vendor_completions.d/git-boocode.fish"),
}


@click.command(cls=Command)
@click.argument("shell", metavar="<shell>", required=False, shell_complete=one_of(_SCRIPTS))
def completion(shell: str | None) -> int:
    """Print the script that completes git boocode in a shell: bash, zsh or fish.

    An installation puts it below its prefix, where some shells load it by themselves.
    """
    if shell not in _SCRIPTS:
        said = "no shell given" if shell is None else f"unknown shell '{shell}'"
        raise UsageError(said, hints=(f"the shells are: {', '.join(_SCRIPTS)}",))
    name, installed = _SCRIPTS[shell]
    found = bundled(f"hooks/completion/{name}", installed)
    if found is None:
        raise FatalError(
            f"the installation lacks '{installed}'",
            code="broken_installation",
            hints=("install git-boocode again",),
        )
    print_text(found.read_text(encoding="utf-8").removesuffix("\n"))
    return 0


def print_candidates(words: Sequence[str]) -> int:
    """Print the candidates for the last of some words, and return 0."""
    with suppress(BaseException):
        descriptor = os.open(os.devnull, os.O_RDWR)
        os.dup2(descriptor, 0)
        os.dup2(descriptor, 2)
        lead_group()
        limit = TimeLimit(_PATIENCE, end_group)
        try:
            lines = "".join(f"{word}\t{text}\n" for word, text in _candidates(words))
        except BaseException:
            end_group()
            raise
        limit.over()
        os.write(1, lines.encode("utf-8", "surrogateescape"))
    return 0


def _candidates(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    from click.shell_completion import ShellComplete

    *before, begun = words or [""]
    # Click reads what follows the `=` alone.
    option, equals, _ = begun.partition("=")
    head = option + equals if equals and option.startswith("--") and "--" not in before else ""
    found = ShellComplete(boocode, {}, "git boocode", "").get_completions(before, begun)
    for item in found:
        if item.type in ("file", "dir"):
            yield "", ""
        elif not set(item.value) & set("\t\n"):
            yield head + item.value, (item.help or "").rstrip(".")
