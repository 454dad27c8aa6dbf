"""What git hooks do: take one checkpoint, with a label that says what git is about to do or did.

After a commit, none is taken, but it is noted which turns wrote its lines; so it is for the commits
that a rebase has made.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from git_boocode.checkpoints.turn_commits import POST_COMMIT, TURN, commits_of_turn
from git_boocode.repo.config import Config
from git_boocode.repo.errors import FatalError, UsageError
from git_boocode.repo.ids import OBJECT_ID
from git_boocode.repo.layout import ATTRIBUTION_LOCK, CHECKPOINTS, COMMIT_NOTES, REMOTES
from git_boocode.repo.repository import Repository

SETTING = "boocode.gitHooks"
POST_REWRITE = "post-rewrite"
MESSAGE, FINISHED_MESSAGE = "prepare-commit-msg", "commit-msg"
_TEMPLATE, _TRAILER, _NONE = "template", "trailer", "none"
_MESSAGES = {_NONE: (), _TEMPLATE: (MESSAGE,), _TRAILER: (MESSAGE, FINISHED_MESSAGE)}
"""The hooks for each form."""
_REBASES = ("rebase-merge", "rebase-apply")
_REWRITTEN = ("rewritten-list", "rewritten")  # what git passes to the hook
_PAIR = ":"
_MOST_PAIRS = 1000  # on a command line
_SHORT = 10
_LONGEST = 60
# Seconds to wait for a restore; one that takes longer waits for the host, and has its safety copy.
_PATIENCE = 0.5
BACKGROUND_LIMIT = 300.0
"""The least time limit of a hook for which nobody waits, in seconds."""


def _rebase(_: Repository, arguments: Sequence[str]) -> str:
    upstream, branch = (*arguments, "", "")[:2]
    # Not "onto", which may be another commit: git does not pass it.
    against = f" against {_shown(upstream)}" if upstream and not upstream.startswith("-") else ""
    return f"before a rebase{f' of {_shown(branch)}' if branch else ''}{against}"


def _checkout(repository: Repository, arguments: Sequence[str]) -> str:
    old, new, flag = (*arguments, "", "", "")[:3]
    # Single files were checked out, or HEAD has not moved: too late, and nothing to record.
    if flag != "1" or old == new:
        return ""
    from git_boocode.repo.head import read_head

    head = read_head(repository)
    where = _shown(head.ref.removeprefix("refs/heads/") if head.ref else new)
    # HEAD was nowhere before in a new worktree or a clone.
    return f"after {'checking out' if set(old) == {'0'} else 'switching to'} {where}"


EVENTS: Mapping[str, Callable[[Repository, Sequence[str]], str]] = {
    "pre-commit": lambda _, __: "before a commit",
    "pre-merge-commit": lambda _, __: "before a merge commit",
    "pre-rebase": _rebase,
    "post-checkout": _checkout,
    POST_REWRITE: lambda _, given: f"after {'an amend' if given[:1] == ['amend'] else 'a rebase'}",
    POST_COMMIT: lambda _, __: "",
    "post-merge": lambda _, given: f"after a {'squash ' if given[:1] == ['1'] else ''}merge",
}
"""By event, the label for a repository and git's arguments; empty for no checkpoint."""
ALL_EVENTS = (*EVENTS, MESSAGE, FINISHED_MESSAGE)


def chosen_events(config: Config) -> tuple[str, ...]:
    """The events that `boocode.gitHooks` names, in the order of `EVENTS`; by default all.

    And those that prepare messages, if `boocode.commitMessage` asks for that.

    Raises FatalError (`bad_config`) if it names something else.
    """
    words = _words(config)
    for word in words:
        if word not in EVENTS:
            raise FatalError(
                f"bad value '{word}' for '{SETTING}'",
                code="bad_config",
                hints=(f"separate these by spaces: {' '.join(EVENTS)}",),
            )
    message = _MESSAGES[_message_form(config)]
    return (*(event for event in EVENTS if event in words), *message)


def run_git_hook(
    event: str, arguments: Sequence[str], repository: Repository | None = None
) -> None:
    """Take the checkpoint of a git hook, unless nothing has changed since the latest one.

    After a commit or a rebase, note which turns wrote it; before a commit, prepare its message.

    It runs in the current directory, as git runs hooks, and takes no lock of git's: the user's
    index is only read. Raises UsageError for an unknown hook, and BoocodeError if it fails.
    """
    if event not in ALL_EVENTS:
        hint = f"these take checkpoints: {' '.join(EVENTS)}"
        raise UsageError(f"unknown git hook '{event}'", hints=(hint,))
    repository, arguments = repository or Repository.discover(), list(arguments)
    from git_boocode.repo.lock import inside_restore

    words = [*_words(repository.config), MESSAGE, FINISHED_MESSAGE]
    if event not in words or inside_restore(repository.state_dir):
        return
    if event in (MESSAGE, FINISHED_MESSAGE):
        _prepare_message(repository, event, arguments)
    elif runs_in_background(event, arguments):
        _note(repository, _made(repository, event, arguments, words))
    elif label := EVENTS[event](repository, arguments):
        _take(repository, event, label)
        if event == POST_REWRITE:
            _note_rewritten(repository, amended=arguments[:1] == ["amend"], words=words)


def runs_in_background(event: str, arguments: Sequence[str]) -> bool:
    """Whether nobody waits for a hook, which only notes who wrote commits."""
    is_rewritten = event == POST_REWRITE and arguments[:1] not in ([], ["amend"], ["rebase"])
    return event == POST_COMMIT or is_rewritten


def _take(repository: Repository, event: str, label: str) -> None:
    from git_boocode.checkpoints.capture import Request, capture, open_turn, prune_daily
    from git_boocode.repo.head import operation_in_progress
    from git_boocode.repo.reported_turn import calling_session

    state = operation_in_progress(repository)
    # "after a merge during a merge" would add nothing.
    during = f" during a {state}" if state and state not in label else ""
    request = Request(
        label=f"{label}{during}", trigger=event, only_if_changed=True, patience=_PATIENCE
    )
    session, agent = calling_session()
    if turn := open_turn(repository, agent, session):
        # The agent itself runs git: its turn goes on.
        request = request._replace(agent=agent, session=session, in_turn=turn)
    capture(repository, request)
    prune_daily(repository)


def _prepare_message(repository: Repository, event: str, arguments: Sequence[str]) -> None:
    form = _message_form(repository.config)
    if event not in _MESSAGES[form] or not arguments:
        return
    # Importing it would delay all other hooks.
    from git_boocode.agents.commit_message import finish_message, prepare_message

    if event == MESSAGE:
        prepare_message(repository, arguments, with_trailers=form == _TRAILER)
    else:
        finish_message(repository, arguments[0])


def _made(
    repository: Repository, event: str, arguments: Sequence[str], words: Sequence[str]
) -> Sequence[str]:
    """The commits to note: those of the arguments, of a turn that has ended, or HEAD."""
    turn = "".join(arguments[:1])
    if turn.startswith(TURN):
        return commits_of_turn(repository, turn.removeprefix(TURN))
    if event == POST_COMMIT and POST_REWRITE in words and _rebased_onto(repository):
        # What a rebase commits is noted at its end.
        return ()
    return arguments or ("HEAD",)


def _note(repository: Repository, names: Sequence[str]) -> None:
    """Note which turns wrote the lines of commits; costs next to nothing without turns.

    Among the names may be pairs of a rewritten commit and the new one.
    """
    commits = [name for name in names if _PAIR not in name]
    rewritten = [(old, new) for old, is_pair, new in (n.partition(_PAIR) for n in names) if is_pair]
    known = (CHECKPOINTS, REMOTES, COMMIT_NOTES)
    if commits and any(repository.store.refs(below, newest=1) for below in known):
        from git_boocode.checkpoints.commit_notes import attribute
        from git_boocode.repo.lock import file_lock

        path = os.path.join(repository.common_state_dir, ATTRIBUTION_LOCK)
        # The note of who saw fewer states must not replace that of who saw more.
        with file_lock(path, patience=BACKGROUND_LIMIT):
            attribute(repository, commits, rewritten=rewritten)


def _note_rewritten(repository: Repository, *, amended: bool, words: Sequence[str]) -> None:
    """Let another process note the commits that an amend or a rebase has made."""
    onto = _rebased_onto(repository)
    # After an amend, git has called the other hook as well; but notes of the old commit may count,
    # and git may have copied them since (`notes.rewriteRef`).
    if onto or (amended and (POST_COMMIT not in words or repository.store.refs(COMMIT_NOTES))):
        head = repository.git.line("rev-parse", "HEAD")
        made = f"{onto}..{head}" if onto else head
        pairs = [] if amended else _rebase_file(repository, *_REWRITTEN).split("\n")
        if amended:
            old = repository.git.attempt("rev-parse", "-q", "--verify", "HEAD@{1}").stdout.decode()
            pairs = [f"{old.strip()} {head}"] if old else []
        rewritten = [pair.replace(" ", _PAIR) for pair in pairs[-_MOST_PAIRS:] if pair]
        repository.start_detached("hook", "git", POST_REWRITE, made, *rewritten)


def _rebased_onto(repository: Repository) -> str:
    """The commit on which a rebase puts others, in whose hooks it still is recorded."""
    return _rebase_file(repository, "onto")


def _rebase_file(repository: Repository, *names: str) -> str:
    """What git has recorded of a rebase under one of some names; empty for nothing."""
    for path in (os.path.join(each, name) for each in _REBASES for name in names):
        with suppress(OSError), open(f"{repository.git_dir}/{path}", encoding="ascii") as file:
            return file.read().strip()
    return ""


def _message_form(config: Config) -> str:
    return config.word("boocode.commitMessage", (_TEMPLATE, _TRAILER, _NONE), _NONE)


def _words(config: Config) -> list[str]:
    setting = config.setting(SETTING)
    if setting is None:
        return list(EVENTS)
    return [word for word in re.split(r"[\s,]+", setting.value or "") if word]


def _shown(name: str) -> str:
    """The name of a branch or commit in a label; `git pull` passes commits in full."""
    if OBJECT_ID.fullmatch(name):
        return name[:_SHORT]
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
