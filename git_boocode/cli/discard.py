"""`git boocode discard`: drop what is proposed."""

from __future__ import annotations

import click

from git_boocode.cli.accept import ReviewOptions, print_review, review_options
from git_boocode.cli.framework import Command, json_option, refuse_together
from git_boocode.cli.output import print_text, progress
from git_boocode.proposals import review


@click.command(cls=Command)
@review_options
@json_option
def discard(chosen: ReviewOptions, force: bool, as_json: bool) -> int:
    """Drop what is proposed for some files, or for all; the files stay as they are."""
    refuse_together(("--patch", chosen.patch), ("--json", as_json))
    workspace = chosen.workspace()
    selection = chosen.select(workspace, review.DISCARD)
    if selection is None:
        print_text("nothing was discarded")
        return 1
    with progress(workspace.repository, "discarding", as_json=as_json):
        result = review.discard(workspace, selection, force=force)
    print_review(result, as_json=as_json)
    return 0
