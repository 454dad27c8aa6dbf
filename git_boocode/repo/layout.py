"""The names of all refs and private files; other modules spell none.

A ref is one of these prefixes with an id; after `READS`, it is a day and the id of a blob. Private
files are in the directory `PRIVATE` of a git directory: each worktree has its own, and the main
worktree's is also common to all.
"""

from __future__ import annotations

import os

ALL_REFS = "refs/boocode/"
CHECKPOINTS = f"{ALL_REFS}checkpoints/"
SAFETY = f"{ALL_REFS}safety/"
ARCHIVE = f"{ALL_REFS}archive/"
REMOTES = f"{ALL_REFS}remotes/"
TURN_ENDS = f"{ALL_REFS}turn-ends/"
TOOL_STATES = f"{ALL_REFS}tool-states/"
REMOTE_TURN_ENDS = f"{ALL_REFS}remote-turn-ends/"
EDITS = f"{ALL_REFS}edits/"
READS = f"{ALL_REFS}reads/"
PROPOSALS = f"{ALL_REFS}proposals/"
REMOTE_PROPOSALS = f"{ALL_REFS}remote-proposals/"
FETCHED = (REMOTES, REMOTE_TURN_ENDS, REMOTE_PROPOSALS)
"""What comes from remotes."""
HELD_COMMITS = f"{ALL_REFS}held"
"""A ref whose reflog keeps the commits of which lines were brought in."""
COMMIT_NOTES = "refs/notes/boocode"
"""The notes of commits, a ref as `git notes` knows it."""

# Of a worktree.
LOCK = "lock"
WORKTREE_ID = "worktree-id"
EDIT_NOTE = "edit-in-progress"
RESTORE_NOTE = "restore-in-progress"
CALLBACK_LOCK = "callback-running"
TURN_MARK = "turn.json"
TURN_LOCK = "turn.lock"
HOOK_TURNS = "turns.json"
HOOK_TOOLS = "tools.json"
HOOK_LOCK = "hooks.lock"
HOOK_IDLE = "idle.json"
INDEX_CACHE = "kept-index"
INDEX_CACHE_NOTE = "kept-index.json"
PROPOSALS_INDEX = "proposals.index"
PAGE = "view.html"
PAGE_ADDRESS = "view-serve.json"
# Common to all worktrees.
FORK_LOCK = "fork.lock"
FORK_NOTE = "fork-in-progress"
NEWEST_ID = "newest-id"
ORIGIN_KEY = "origin-key"
PRUNING_STAMP = "last-prune"
TWINS = "twins.json"
NOTES_LOCK = "notes.lock"
ATTRIBUTION_LOCK = "attribution.lock"
HOOK_LOG = "hooks.log"
REFUSAL_LOG = "refusals.log"
FILES = (
    *(LOCK, WORKTREE_ID, EDIT_NOTE, RESTORE_NOTE, CALLBACK_LOCK, TURN_MARK, TURN_LOCK),
    *(HOOK_TURNS, HOOK_TOOLS, HOOK_LOCK, HOOK_IDLE, INDEX_CACHE, INDEX_CACHE_NOTE),
    *(
        PROPOSALS_INDEX,
        FORK_NOTE,
        FORK_LOCK,
        PAGE,
        PAGE_ADDRESS,
        NEWEST_ID,
        ORIGIN_KEY,
        PRUNING_STAMP,
    ),
    *(TWINS, NOTES_LOCK, ATTRIBUTION_LOCK),
    *(f"{log}{end}" for log in (HOOK_LOG, REFUSAL_LOG) for end in ("", ".1")),
)

# Directories: of configuration files before hooks were installed, with a file for each, and of
# conversation files before restores, with a directory for each restore.
HOOK_BASELINES = "hooks"
TRANSCRIPTS = "transcripts"
DIRECTORIES = (HOOK_BASELINES, TRANSCRIPTS)

MAKING = "new-"
"""Prefix of the names of incomplete files and directories."""
SCRATCH = "tmp-"
"""Prefix of the names of scratch directories."""
FORKING = ".git-boocode-fork-"
"""Prefix of the names of the directories in which forks are made, beside their own place."""

PRIVATE = "boocode"
"""The name of the private directory in a git directory."""


def served_page(token: str) -> str:
    """The name of the file that leads a browser to a page that is being served."""
    return f"view-serve-{token}.html"


def aside(path: str) -> str:
    """A name beside a private directory, for one that is being created or removed."""
    return f"{path}.{os.urandom(8).hex()}"


def is_aside(path: str) -> bool:
    """Whether a path has such a name."""
    name, _, key = os.path.basename(path).partition(".")
    return name == PRIVATE and len(key) == 16 and not key.strip("0123456789abcdef")


def private_dirs(git_dir: str) -> list[str]:
    """The private directory in a git directory, and what killed commands left of others."""
    names = sorted(os.listdir(git_dir)) if os.path.isdir(git_dir) else []
    return [os.path.join(git_dir, name) for name in names if name == PRIVATE or is_aside(name)]
