"""What git hooks do: one checkpoint, with a label that tells what git is about."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from git_boocode.repo.config import Config
from git_boocode.repo.errors import FatalError, UsageError
from git_boocode.repo.ids import OBJECT_ID
from git_boocode.repo.repository import Repository

SETTING = "boocode.gitHooks"
_BRANCHES = "refs/heads/"
_SHORT = 10
_LONGEST = 60
# Seconds to wait for a restore; one that takes longer waits for the host, and kept what was there.
_PATIENCE = 0.5


def _commit(_: Repository, __: Sequence[str]) -> str:
    return "before a commit"


def _merge_commit(_: Repository, __: Sequence[str]) -> str:
    return "before a merge commit"


def _rebase(_: Repository, arguments: Sequence[str]) -> str:
    upstream, branch = (*arguments, "", "")[:2]
    # Not "onto", which may be another commit: git does not tell it.
    against = f" against {_shown(upstream)}" if upstream and not upstream.startswith("-") else ""
    return f"before a rebase{f' of {_shown(branch)}' if branch else ''}{against}"


def _checkout(repository: Repository, arguments: Sequence[str]) -> str:
    old, new, flag = (*arguments, "", "", "")[:3]
    # Single files were checked out, or HEAD is where it was: nothing to speak of has happened.
    if flag != "1" or old == new:
        return ""
    from git_boocode.repo.head import read_head

    head = read_head(repository)
    where = _shown(head.ref.removeprefix(_BRANCHES) if head.ref else new)
    # A new worktree, or a clone: HEAD was nowhere before.
    what = "checking out" if set(old) == {"0"} else "switching to"
    return f"after {what} {where}"


def _rewrite(_: Repository, arguments: Sequence[str]) -> str:
    return "after an amend" if arguments[:1] == ["amend"] else "after a rebase"


def _merge(_: Repository, arguments: Sequence[str]) -> str:
    return "after a squash merge" if arguments[:1] == ["1"] else "after a merge"


EVENTS: Mapping[str, Callable[[Repository, Sequence[str]], str]] = {
    "pre-commit": _commit,
    "pre-merge-commit": _merge_commit,
    "pre-rebase": _rebase,
    "post-checkout": _checkout,
    "post-rewrite": _rewrite,
    "post-merge": _merge,
}
"""By event, what tells the label from the repository and git's arguments; empty for nothing."""


def chosen_events(config: Config) -> tuple[str, ...]:
    """The events that `boocode.gitHooks` names, in the order of `EVENTS`; by default all.

    Raises:
        FatalError: it names something else.
    """
    words = _words(config)
    for word in words:
        if word not in EVENTS:
            raise FatalError(
                f"bad value '{word}' for '{SETTING}'",
                code="bad_config",
                hints=(f"name some of these, separated by blanks: {' '.join(EVENTS)}",),
            )
    return tuple(event for event in EVENTS if event in words)


def run_git_hook(
    event: str, arguments: Sequence[str], repository: Repository | None = None
) -> None:
    """Take the checkpoint of a git hook, in the current directory, as git runs it.

    It waits for no lock of git's: the user's index is read, and never written. Nor does it wait
    long for a restore that is at work. Where nothing has changed since the latest checkpoint, none
    is taken.

    Args:
        event: the name of the hook.
        arguments: what git gave it.
        repository: the one that git runs it in, if that has been found out.

    Raises:
        UsageError: there is no such hook, or none that we have a use for.
        BoocodeError: the checkpoint could not be taken.
    """
    told = EVENTS.get(event)
    if told is None:
        raise UsageError(
            f"no git hook of ours is called '{event}'",
            hints=(f"these are: {' '.join(EVENTS)}",),
        )
    repository = repository or Repository.discover()
    if event not in _words(repository.config) or _inside_restore(repository):
        return
    if label := told(repository, list(arguments)):
        _take(repository, event, label)


def _inside_restore(repository: Repository) -> bool:
    from git_boocode.repo.scratch import inside_restore

    return inside_restore(repository.state_dir)


def _take(repository: Repository, event: str, label: str) -> None:
    from git_boocode.checkpoints.capture import Request, capture
    from git_boocode.checkpoints.store.daily import prune_now_and_then
    from git_boocode.repo.head import operation_in_progress

    state = operation_in_progress(repository)
    # "after a merge during a merge" would tell nothing.
    during = f" during a {state}" if state and state not in label else ""
    request = Request(label=f"{label}{during}", trigger=event, only_if_changed=True)
    capture(repository, request._replace(patience=_PATIENCE))
    prune_now_and_then(repository)


def _words(config: Config) -> list[str]:
    setting = config.setting(SETTING)
    if setting is None:
        return list(EVENTS)
    return [word for word in re.split(r"[\s,]+", setting.value or "") if word]


def _shown(name: str) -> str:
    """A name of a branch or a commit as a label shows it; pulling names commits in full."""
    if OBJECT_ID.fullmatch(name):
        return name[:_SHORT]
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
