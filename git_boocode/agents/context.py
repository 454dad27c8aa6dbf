"""Who is served, where: what the log says beside what went wrong."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from git_boocode.agents.hook_log import log
from git_boocode.repo.errors import BoocodeError, from_os
from git_boocode.repo.git import Git, clean_environment
from git_boocode.repo.repository import Repository
from git_boocode.repo.time_limit import TimeUpError

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# There is nothing to be done there, and nowhere to say so.
_NO_REPOSITORY = frozenset(("not_a_repository", "no_directory"))


class Scene:
    """A hook that is served, as far as it is known yet.

    Attributes:
        agent: what it calls itself.
        event: what it was called for.
        last: what went wrong last, in one sentence; empty if nothing did.
    """

    def __init__(self) -> None:
        self.agent = ""
        self.event = ""
        self.last = ""
        self._worktree = ""
        self._state_dir = ""

    def enter(self, repository: Repository) -> None:
        """Go to a repository: what goes wrong from now on is written down there."""
        self._worktree = repository.worktree
        self._state_dir = repository.common_state_dir

    def leave(self) -> None:
        """Go back to where the hook was called."""
        self._worktree = self._state_dir = ""

    def note(self, error: BaseException, *, seconds: float, directory: str = "") -> None:
        """Write down what went wrong, unless there is no repository to begin with.

        Args:
            error: what went wrong.
            seconds: the limit of the time.
            directory: where to look for the log, if no repository was entered.
        """
        what, self.last = _described(error, seconds)
        if what in _NO_REPOSITORY:
            return
        state_dir = self._state_dir or _state_dir(directory)
        if state_dir:
            log(state_dir, self.agent, self.event, self._worktree, what, self.last)

    def note_hanging(self) -> None:
        """Write down that not even the end came in time; asks nobody for anything."""
        if self._state_dir:
            told = (self.agent, self.event, self._worktree, "time_out")
            log(self._state_dir, *told, "it hung, and was ended without rolling anything back")


def _described(error: BaseException, seconds: float) -> tuple[str, str]:
    """A stable word and a sentence for what went wrong."""
    if isinstance(error, TimeUpError):
        return "time_out", f"it was not done within {seconds:g} seconds, and was ended"
    if isinstance(error, KeyboardInterrupt):
        return "interrupted", "it was interrupted"
    if isinstance(error, SystemExit):
        return "interrupted", f"it was ended with code {error.code}"
    if isinstance(error, OSError):
        error = from_os(error)
    if isinstance(error, BoocodeError):
        return error.code, error.message
    # Not in the words of the error: they may show what a user has asked for.
    return "bug", f"unexpected {type(error).__name__} {_place(error)}; please report it"


def _place(error: BaseException) -> str:
    """Where in our own code an error came up."""
    place = "at an unknown place"
    trace = error.__traceback__
    while trace is not None:
        path = trace.tb_frame.f_code.co_filename
        if path.startswith(_PACKAGE):
            place = f"at {os.path.relpath(path, _PACKAGE)}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place


def _state_dir(directory: str) -> str:
    """Where the log of a directory's repository is, even if it has no worktree; or nothing."""
    question = ("rev-parse", "--path-format=absolute", "--git-common-dir")
    with suppress(BoocodeError, OSError):
        git = Git(directory or os.getcwd(), clean_environment(os.environ))
        done = git.attempt(*question)
        if done.status == 0:
            return os.path.join(os.fsdecode(done.stdout).removesuffix("\n"), "boocode")
    return ""


def warn_by_hand(message: str) -> None:
    """Tell who calls a hook by hand, on a terminal, what would only be logged elsewhere."""
    if message and sys.stderr.isatty():
        sys.stderr.write(f"warning: {message}\n")
