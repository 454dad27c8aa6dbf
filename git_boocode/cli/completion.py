"""`git boocode completion`: the completion scripts; `candidates` answers what they ask."""

from __future__ import annotations

import click

from git_boocode.cli.candidates import one_of
from git_boocode.cli.framework import Command
from git_boocode.cli.help import bundled
from git_boocode.cli.output import print_text
from git_boocode.repo.errors import FatalError, UsageError

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
