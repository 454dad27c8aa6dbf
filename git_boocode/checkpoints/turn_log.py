"""The log: the turns that are wanted, newest first, with their names and what changed in each."""

from __future__ import annotations

import os
import re
import sys
from collections import defaultdict
from collections.abc import Generator, Iterable, Iterator
from contextlib import ExitStack
from datetime import date
from functools import cached_property
from itertools import count, islice
from typing import TYPE_CHECKING, Any, NamedTuple

from git_boocode.checkpoints.commit_log import LoggedCommit
from git_boocode.checkpoints.hand_changes import HandChange
from git_boocode.checkpoints.operation_log import LoggedOperation
from git_boocode.checkpoints.own_changes import OwnTurns
from git_boocode.checkpoints.store.catalog import (
    EXCLUDED,
    INCLUDED,
    REDACTED,
    Catalog,
    Checkpoint,
    texts_of,
    without_index,
)
from git_boocode.checkpoints.turn_changes import (
    ChangeCounts,
    TurnFile,
    changed_files,
    counted,
    regex_refused,
)
from git_boocode.checkpoints.turn_words import REVERTED
from git_boocode.checkpoints.turns import CurrentTree, Turn
from git_boocode.checkpoints.worktree.indexer import NESTED, Skipped
from git_boocode.checkpoints.worktree.pathspecs import checked_pathspecs, unrecorded_repositories
from git_boocode.checkpoints.worktree_log import Beside, ByHand, Here, WorktreeLog
from git_boocode.repo.entries import Unusable
from git_boocode.repo.errors import UsageError, refuse_combined, shortened
from git_boocode.repo.ids import time_of
from git_boocode.repo.layout import CHECKPOINTS, REMOTES
from git_boocode.repo.object_writer import temporary_objects
from git_boocode.repo.remotes import named_remote
from git_boocode.repo.repository import Repository

if TYPE_CHECKING:
    from git_boocode.checkpoints.store.agent_trace import NotedTurn

# A screenful first, then larger and larger pages: each costs a git process.
_FIRST_PAGE = 32
_LARGEST_PAGE = 512
# Turns that a git process searches, and processes at once.
_SEARCHED_PAGE, _MOST_PROCESSES = 96, 8
# The words of dates that git understands; it ignores any others, and takes what is left for now.
_NAMES = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
    "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
)  # fmt: skip
_MOMENTS = frozenset((
    "yesterday", "midnight", "noon", "tea", "now", "never", "am", "pm", "last",
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    *(name[:length] for name in _NAMES for length in range(3, len(name) + 1)),
))  # fmt: skip
_UNITS = ("second", "minute", "hour", "day", "week", "month", "year")
_OTHER_WORDS = frozenset((*_UNITS, *(f"{unit}s" for unit in _UNITS), "ago", "at", "on", "the"))
_ZONE = re.compile("[A-Z]{1,4}")
_DAY = re.compile(r"(?a)\b(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})\b")
_DATES = ("examples: 2.days.ago, yesterday, 'last monday', 2026-02-28, '2026-02-28 14:00'",)
# Of the git that only reads a regex: MiB of memory, and seconds of processor time.
_REGEX_LIMITS = (256, 10)


class LogRequest(NamedTuple):
    """The wanted turns, or applied `edits`; empty values and None select everything.

    `text` and `regex` are those of git's options `-S` and `-G`. Label, prompt and the paths of
    changed files have all words of `grep`, in any case. A `session` is the beginning of its id.
    `remote` names the remote whose fetched checkpoints are listed instead, `remotes` those of all.
    `commits` is a range of commits as git takes it, whose lines they wrote, in any worktree. With
    `brief`, changes are not counted.
    """

    max_count: int | None = None
    text: str | None = None
    regex: str | None = None
    since: str | None = None
    until: str | None = None
    grep: str = ""
    agent: str = ""
    session: str = ""
    everywhere: bool = False
    remote: str | None = None
    remotes: bool = False
    archived: bool = False
    edits: bool = False
    pathspecs: tuple[str, ...] = ()
    brief: bool = False
    commits: str = ""

    def checked(self) -> LogRequest:
        """This request, if its arguments fit together (ArgumentError)."""
        remote, searches_text = self.remote is not None, self.text is not None
        refuse_combined(
            edits=self.edits, archived=self.archived, remote=remote, remotes=self.remotes
        )
        refuse_combined(all=self.everywhere, remote=remote, remotes=self.remotes)
        for name in ("archived", "edits", "remotes") if self.commits else ():
            refuse_combined(commits=True, **{name: getattr(self, name)})
        refuse_combined(commits=bool(self.commits), remote=remote)
        refuse_combined(text=searches_text, regex=self.regex is not None)
        of_turns = ("text", "regex", "since", "until", "grep", "agent", "session")
        for name in of_turns if self.edits else ():
            refuse_combined(edits=True, **{name: getattr(self, name) not in (None, "")})
        refuse_combined(edits=self.edits, paths=self.pathspecs)
        return self

    @property
    def limit(self) -> int:
        """The maximum number of turns or edits."""
        return sys.maxsize if self.max_count is None else min(self.max_count, sys.maxsize)

    @property
    def changes(self) -> list[str]:
        """Git's options for the turns that changed a text or a line."""
        given = (("-S", self.text), ("-G", self.regex))
        return [f"{option}{value}" for option, value in given if value is not None]

    @property
    def is_search(self) -> bool:
        """Whether only turns that changed something are wanted."""
        return bool(self.changes or self.pathspecs)

    @property
    def is_timeline(self) -> bool:
        """Whether operations are listed as well: they have no agent and no prompt."""
        elsewhere = self.archived or self.remotes or self.remote is not None or self.commits
        return not (elsewhere or self.is_search or self.grep or self.agent or self.session)


class ListedTurn(NamedTuple):
    """A turn with its name, such as `@~1`, which is empty if it is not of this worktree's log.

    `counts` is None if its changes were not counted, or are unknown. `state` is that of
    `TurnStates`, and `is_open` whether the turn runs.
    """

    turn: Turn
    name: str
    counts: ChangeCounts | None = None
    state: str = ""
    is_open: bool = False

    def as_json(self) -> dict[str, Any]:
        """The turn in the JSON answer of `log`."""
        entry, counts = self.turn.checkpoint, self.counts
        ref = entry.meta.part("head", "ref")
        only = entry.meta.table("partial").get("paths")
        shared = [{"path": path, "turns": [*ids]} for path, ids in self.turn.shared.items()]
        return {
            "id": entry.id,
            "commit": entry.commit.id,
            **{key: text or None for key, text in entry.texts.items()},
            "branch": ref.removeprefix("refs/heads/") if ref else None,
            "worktree": entry.meta.worktree_name,
            "remote": entry.remote or None,
            "only": [str(path) for path in only] if isinstance(only, list) else None,
            "end": self.turn.end or None,
            "files": counts.files if counts else None,
            "added": counts.added if counts else None,
            "removed": counts.removed if counts else None,
            **({"in_turn": entry.in_turn} if entry.in_turn else {}),
            **({"forked_from": origin} if (origin := entry.meta.table("forked_from")) else {}),
            **({"shared": shared} if shared else {}),
            **({"excluded": [*specs]} if (specs := texts_of(entry.meta, EXCLUDED)) else {}),
            **({"included": [*paths]} if (paths := texts_of(entry.meta, INCLUDED)) else {}),
            **({"redacted": True} if entry.meta.values.get(REDACTED) else {}),
            "state": self.state,
            "open": self.is_open,
            **({"reverted": True} if self.state == REVERTED else {}),
        }


Entry = ListedTurn | Beside
"""A line of the log."""


class TurnLog:
    """A context in which `pages` lists the wanted turns.

    Creating it may raise RefusedError, if git rejects a pathspec, a regex or the name of a remote;
    so may `pages`, if a search takes too much time or memory.
    `missing` is the number of turns that could not be searched so far; see also `warnings`.
    `unread_notes` says which notes of commits were not read, and why.
    """

    def __init__(self, repository: Repository, request: LogRequest) -> None:
        self.catalog = Catalog(repository)
        self.missing = 0
        self._repository = repository
        self._request = request = _checked(self.catalog, request)
        self._current = CurrentTree(repository)
        self._turns = OwnTurns(self.catalog, self._current)
        self.beside = WorktreeLog(self._turns)
        self._skipped: set[str] = set()
        self._since, self._until = _times(repository, request)
        self._noted: dict[str, NotedTurn] = {}
        self.unread_notes: list[str] = []
        if request.commits:
            # Only here.
            from git_boocode.checkpoints.commit_notes import turns_of_commits

            self._noted, self.unread_notes = turns_of_commits(repository, request.commits)
        self._found: set[str] = set()
        self._names: dict[str, str] = {}
        self._number = count()
        self._stack = ExitStack()
        self._listed: Iterator[ListedTurn] = iter(())

    def __enter__(self) -> TurnLog:  # noqa: PYI034 - typing.Self came with Python 3.11
        self._stack.enter_context(temporary_objects(self._repository))
        # Without a turn, nothing is compared with the worktree.
        is_compared = self._request.is_timeline and self.catalog.latest() is not None
        if self._request.changes or is_compared:
            self._stack.enter_context(self._current.read_ahead())
        self._listed = map(self._listing, self._turns.turns(self._until_since(), self._wants))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def pathspecs(self) -> tuple[str, ...]:
        """The pathspecs as git takes them."""
        return self._request.pathspecs

    @property
    def error(self) -> Exception | None:
        """Why the worktree could not be read, so that the latest turn is not counted."""
        return self._current.error

    @property
    def not_compared(self) -> list[tuple[str, str]]:
        """The files of the worktree that could not be read, with the reason.

        Those that a listed checkpoint leaves out as well are not among them, nor nested
        repositories.
        """
        skipped = (each for each in self._current.skipped if each.reason != NESTED)
        return [each for each in skipped if each.path not in self._skipped]

    @cached_property
    def not_counted(self) -> list[Skipped]:
        """The submodules and nested repositories of this worktree whose changes are not counted."""
        request = self._request
        if request.brief or request.archived or request.remotes or request.remote is not None:
            return []
        return unrecorded_repositories(self._repository, request.pathspecs)

    def pages(self) -> Iterator[list[ListedTurn]]:
        """The turns, page by page."""
        request = self._request
        limit = request.limit
        is_sifted = request.is_search or request.grep
        pages = self._searched() if is_sifted else self._counted(limit)
        while limit > 0 and (page := next(pages, None)) is not None:
            page = page[:limit]
            limit -= len(page)
            if page:
                yield page
        pages.close()

    def timeline(self, *, undone: bool = True) -> Iterator[list[Entry]]:
        """The pages, with what happened in this worktree beside its turns, and where it is.

        What is older than all turns is left out if there may be more turns, and operations that are
        undone unless they are wanted.
        """
        left = self._request.limit
        if self._request.is_timeline:
            self.beside.list_operations(undone=undone)
        is_marked = not self._request.is_timeline or self._until is not None
        for page in self.pages():
            if not is_marked:
                self.beside.mark()
                is_marked = True
            listed: list[Entry] = []
            for turn in page:
                above = self.beside.above(turn.turn.checkpoint.id)
                listed += [*(each for each in above if self._is_in_time(each)), turn]
            left -= len(page)
            yield listed
        rest = self.beside.above() if left else self.beside.take_mark()
        if older := [each for each in rest if self._is_in_time(each)]:
            yield [*older]

    def name_of(self, turn: str) -> str:
        """The name of a turn of this worktree, such as `@~1`; empty if it was not read."""
        return self._names.get(f"{CHECKPOINTS}{turn}", "")

    def only_noted(self) -> list[NotedTurn]:
        """The turns of a range of commits that are not here, newest first."""
        here = {ref.id for ref in self.catalog.store.refs(*self.catalog.prefixes)}
        return [self._noted[each] for each in sorted(self._noted, reverse=True) if each not in here]

    def as_json(self, *, prompts: bool = True) -> dict[str, object]:
        """The JSON answer with all turns, with or without their prompts."""
        rows: list[dict[str, Any]] = []
        others: dict[type, list[dict[str, Any]]] = defaultdict(list)
        for page in self.timeline():
            for each in page:
                (rows if isinstance(each, ListedTurn) else others[type(each)]).append(
                    each.as_json()
                )
        for row in [] if prompts else rows:
            del row["prompt"]
        answer: dict[str, object] = {"ok": True, "checkpoints": rows}
        if operations := others[LoggedOperation]:
            answer["operations"] = operations
        if rows and self._request.is_timeline:
            answer["commits"], answer["by_hand"] = others[LoggedCommit], others[ByHand]
            answer["here"] = next(iter(others[Here]), None)
        if self._noted and (noted := self.only_noted()):
            answer["noted"] = [each._asdict() for each in noted]
        if self.not_counted:
            answer["not_counted"] = [each._asdict() for each in self.not_counted]
        return answer

    def _counted(self, limit: int) -> Generator[list[ListedTurn], None, None]:
        """All turns, a screenful first."""
        size = _FIRST_PAGE
        while page := self._next(min(size, limit)):
            limit -= len(page)
            if self._request.brief:
                self.beside.compared(self._read_beside())
                yield page
            else:
                yield self._count(page)
            size = min(size * 2, _LARGEST_PAGE)

    def _searched(self) -> Generator[list[ListedTurn], None, None]:
        """The turns that are found, by several git processes while the next turns are read."""
        # Only here, as this module takes a while to load.
        from concurrent.futures import Future, ThreadPoolExecutor

        pool = ThreadPoolExecutor(min(os.cpu_count() or 1, _MOST_PROCESSES))
        running: list[Future[list[ListedTurn]]] = []
        try:
            for page in iter(lambda: self._next(_SEARCHED_PAGE), []):
                running.append(pool.submit(self._count, page))
                if len(running) > _MOST_PROCESSES:
                    yield self._matching(running.pop(0).result())
            for each in running:
                yield self._matching(each.result())
        finally:
            pool.shutdown(cancel_futures=True)

    def _matching(self, page: list[ListedTurn]) -> list[ListedTurn]:
        if not self._request.is_search:
            return page
        unknown = (each.turn for each in page if each.counts is None)
        self.missing += sum(not (turn.paths or turn.checkpoint.in_turn) for turn in unknown)
        return [each for each in page if each.counts and each.counts.files]

    def _next(self, size: int) -> list[ListedTurn]:
        page = [*islice(self._listed, size)]
        self._skipped.update(*(each.turn.checkpoint.meta.skipped_paths for each in page))
        return page

    def _count(self, page: list[ListedTurn]) -> list[ListedTurn]:
        """The turns of a page with the wanted words, with what changed in them, and beside them."""
        request, changes = self._request, self._read_beside()
        selection = [*request.changes, *(["--pickaxe-all"] if request.changes else [])]
        turns = [*(each.turn for each in page), *(each.turn for each in changes)]
        found = changed_files(self._repository, turns, selection, request.pathspecs)
        self.beside.compared(changes, found[len(page) :])
        return [
            one._replace(counts=None if files is None else counted(files))
            for one, files in zip(page, found[: len(page)], strict=True)
            if self._has_words(one.turn.checkpoint, files or ())
        ]

    def _has_words(self, checkpoint: Checkpoint, files: Iterable[TurnFile]) -> bool:
        wanted = self._request.grep.casefold().split()
        texts = [checkpoint.meta.text(key) for key in ("label", "prompt")]
        text = "\n".join((*texts, *(file.path for file in files))).casefold() if wanted else ""
        return all(word in text for word in wanted)

    def _read_beside(self) -> list[HandChange]:
        """What changed by hand beside the turns that were listed since."""
        return self.beside.read()[1] if self._request.is_timeline else []

    def _listing(self, turn: Turn) -> ListedTurn:
        checkpoint = turn.checkpoint
        name, state = self._names.get(checkpoint.ref, ""), self.beside.states.of(checkpoint)
        return ListedTurn(turn, name, state=state, is_open=self.beside.is_open(checkpoint))

    def _is_in_time(self, entry: Beside) -> bool:
        if isinstance(entry, Here):
            return True
        is_later = self._since is None or entry.time >= self._since
        return is_later and (self._until is None or int(entry.time) <= self._until)

    def _entries(self) -> Iterator[Checkpoint | Unusable]:
        request, catalog = self._request, self.catalog
        if request.commits:
            return catalog.everything()
        if request.remotes or request.remote is not None:
            return catalog.fetched(request.remote)
        if request.archived:
            return catalog.archived(everywhere=request.everywhere)
        return catalog.newest_first(everywhere=request.everywhere)

    def _until_since(self) -> Iterator[Checkpoint | Unusable]:
        """The entries down to those before `since`; all others are older."""
        for entry in self._entries():
            if isinstance(entry, Checkpoint):
                # An id of another program has no time.
                if self._since is not None and 0 < time_of(entry.id) < self._since:
                    return
                # `@~N` counts the checkpoints of this worktree alone.
                self.beside.note(entry)
                if entry.ref.startswith(CHECKPOINTS) and self.catalog.is_ours(entry):
                    self._names[entry.ref] = f"@~{back}" if (back := next(self._number)) else "@"
            yield entry

    def _wants(self, checkpoint: Checkpoint) -> bool:
        """Whether the metadata fit the request."""
        if self._request.commits:
            # What was fetched or archived may also be in the log, which comes first.
            if checkpoint.id not in self._noted or checkpoint.id in self._found:
                return False
            self._found.add(checkpoint.id)
        when = time_of(checkpoint.id)
        agent, session = (checkpoint.meta.text(key) for key in ("agent", "session"))
        return (
            (self._since is None or when > 0)
            # Git knows no fractions of a second.
            and (self._until is None or int(when) <= self._until)
            and self._request.agent in ("", agent)
            and session.startswith(self._request.session)
        )


def _checked(catalog: Catalog, request: LogRequest) -> LogRequest:
    """The request with pathspecs for git."""
    repository = catalog.repository
    # What was fetched stays when the remote goes.
    name = request.remote
    if name is not None and not catalog.store.refs(f"{REMOTES}{name}/", newest=1):
        named_remote(repository, name)
    if request.pathspecs:
        specs = checked_pathspecs(repository, request.pathspecs)
        request = request._replace(pathspecs=tuple(specs))
    if request.changes:
        # Git reads the regex although there is nothing to compare.
        git, empty = without_index(repository.git), repository.empty_tree
        if request.regex is not None:
            git = git.limited(*_REGEX_LIMITS)
        done = git.attempt("diff-tree", *request.changes, empty, empty)
        if done.status:
            raise regex_refused(done.status, os.fsdecode(done.stderr))
    return request


def _times(repository: Repository, request: LogRequest) -> list[float | None]:
    """The times of `since` and `until`, which git reads; UsageError if one is not a date."""
    times: list[float | None] = []
    for name, text in (("since", request.since), ("until", request.until)):
        if text is None:
            times.append(None)
            continue
        if not _is_date(text):
            message = f"'{shortened(text)}' is not a valid date (--{name})"
            raise UsageError(message, hints=_DATES)
        # It prints --max-age=<time> or --min-age=<time>.
        answer = repository.git.line("rev-parse", f"--{name}={text}")
        times.append(float(answer.rpartition("=")[2]))
    return times


def _is_date(text: str) -> bool:
    """Whether git understands all words of a date; git itself takes any text for one."""
    found = re.findall(r"[^\W\d_]+", text)
    words = [word.lower() for word in found if not _ZONE.fullmatch(word)]
    if not all(word in _MOMENTS or word in _OTHER_WORDS for word in words):
        return False
    try:
        for year, month, day in _DAY.findall(text):
            date(int(year), int(month), int(day))
    except ValueError:
        return False
    return bool(re.search("[0-9]", text) or _MOMENTS.intersection(words))
