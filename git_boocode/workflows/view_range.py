"""The commits of a range, and the turns of which only their notes know, for the page of `view`."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Container, Sequence
from typing import Any

from git_boocode.checkpoints.commit_notes import NotedCommit
from git_boocode.checkpoints.store.agent_trace import NotedTurn
from git_boocode.repo.git import id_lines
from git_boocode.repo.ids import time_of
from git_boocode.repo.repository import Repository

MOST_PATHS = 100
"""Of a turn, for the search."""

JsonObject = dict[str, Any]


def paths_by_turn(noted: Sequence[NotedCommit]) -> dict[str, list[str]]:
    """By the id of a turn, the files of which it wrote lines in some commits."""
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for commit in noted:
        for path, ranges in commit.files.items():
            for each in ranges:
                found[each.turn.id][path] = None
    return {turn: [*paths] for turn, paths in found.items()}


def only_noted(noted: Sequence[NotedCommit], here: Container[str]) -> list[JsonObject]:
    """The rows of the turns that only the notes of commits name."""
    paths = paths_by_turn(noted)
    every = (each.turn for commit in noted for ranges in commit.files.values() for each in ranges)
    turns = {turn.id: turn for turn in every if turn.id not in here}
    return [_noted_row(turn, paths[turn.id][:MOST_PATHS]) for turn in turns.values()]


def _noted_row(turn: NotedTurn, paths: Sequence[str]) -> JsonObject:
    texts = ("prompt", "branch", "worktree", "remote", "command", "end", "state")
    nothing = dict.fromkeys(texts, "")
    unknown = dict.fromkeys(("ended", "files", "added", "removed"))
    no = dict.fromkeys(("here", "in_turn", "reverted", "open"), False)
    none = dict.fromkeys(("edits", "refusals", "shared"), 0)
    about = {"id": turn.id, "label": turn.prompt, "agent": turn.agent, "session": turn.session}
    more = {"started": time_of(turn.id), "paths": [*paths], "noted": True}
    return {**about, **nothing, **unknown, **no, **none, **more}


def range_commits(repository: Repository, noted: Sequence[NotedCommit]) -> list[JsonObject]:
    """Commits, newest first, with the number of lines that they add, and those that turns wrote."""
    output = repository.git.run(
        *("log", "--no-walk=unsorted", "--stdin", "--root", "--numstat", "-M", "--no-ext-diff"),
        *("--no-textconv", "--ignore-submodules=all", "--no-color", "--no-show-signature"),
        "--format=%x00%H %h %s",
        stdin=id_lines(each.commit for each in reversed(noted)),
    )
    files = {each.commit: each.files for each in noted}
    found = []
    for record in os.fsdecode(output).split("\0")[1:] if noted else ():
        about, *rows = record.split("\n")
        commit, short, subject = about.split(" ", 2)
        counts = (row.partition("\t")[0] for row in rows)
        lines = [
            {"path": path, "start": each.first, "end": each.last, "turn": each.turn.id}
            for path, ranges in files[commit].items()
            for each in ranges
        ]
        added = sum(int(count) for count in counts if count.isdecimal())
        row = {"id": commit, "short": short, "subject": subject, "added": added, "lines": lines}
        found.append(row)
    return found
