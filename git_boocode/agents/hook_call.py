"""Serve a hook: take a checkpoint in each repository in which the agent works.

A checkpoint of a turn holds the current end of the agent's transcript. `git boocode hook` starts
here, without click: every turn of an agent pays for it. An agent takes what a hook prints for a
message, and its failure for a veto. So nothing is printed but what the agent wants to read, and
the exit code is 0, whatever happens.
"""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from git_boocode.agents.agent import home_of
from git_boocode.agents.event import SESSION_NAME, HookEvent, edits_files, parse_event
from git_boocode.agents.hook_state import Turns, log, one_at_a_time, tools_of, turn_of
from git_boocode.agents.idle_note import git_dir_of
from git_boocode.agents.payload import (
    ABORT,
    END,
    TOOL,
    TOOL_END,
    TURN,
    Payload,
    answer,
    caller_of,
    parse_payload,
    read_input,
    reads_only,
)
from git_boocode.agents.registry import ANY_AGENT, find_agent
from git_boocode.agents.transcript import TranscriptPosition, transcript_position
from git_boocode.checkpoints.prompt import NONE, kept_prompt, label_of, wanted_prompts
from git_boocode.repo.config import Config
from git_boocode.repo.errors import BoocodeError, FatalError, from_os
from git_boocode.repo.git import Git, clean_environment
from git_boocode.repo.layout import CHECKPOINTS, PRIVATE, SAFETY
from git_boocode.repo.lock import inside_restore
from git_boocode.repo.process import (
    TimeLimit,
    TimeUpError,
    end_group,
    lead_group,
    on_signals,
    stop,
)
from git_boocode.repo.reported_turn import ALWAYS, AUTO, NEVER, ReportedTurn
from git_boocode.repo.repository import Repository

TIMEOUT = 5.0
"""Default time limit of a hook in seconds."""
_HOUR = 3600.0
_SECONDS = re.compile(r"[0-9]{1,4}(\.[0-9]{1,6})?", re.ASCII)
_MOST_REPOSITORIES = 8
_TOP = ":(top,literal)"
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Without a repository there is nothing to do and no log.
_NO_REPOSITORY = frozenset(("not_a_repository", "no_directory"))


def hook_timeout(config: Config) -> float:
    """The time limit of a hook in seconds; FatalError (`bad_config`) if the setting is invalid."""
    text = config.text("boocode.hookTimeout")
    if text is None:
        return TIMEOUT
    seconds = float(text) if _SECONDS.fullmatch(text) else 0.0
    if not 0 < seconds <= _HOUR:
        raise FatalError(
            f"bad value '{text}' for 'boocode.hookTimeout': seconds, more than 0, at most 3600",
            code="bad_config",
            hints=("git config boocode.hookTimeout 5",),
        )
    return seconds


def per_tool(config: Config) -> str:
    """What is recorded of tool calls: AUTO, ALWAYS or NEVER; FatalError if the value is invalid."""
    key, words = "boocode.perTool", (AUTO, ALWAYS, NEVER)
    if config.setting(key) is not None and (config.text(key) or "").lower() not in words:
        # As older versions understood it.
        with suppress(FatalError):
            return ALWAYS if config.boolean(key, default=False) else NEVER
    return config.word(key, words, AUTO)


def run_hook(
    arguments: Sequence[str], enter: Callable[[], None], payload: bytes | None = None
) -> int:
    """Serve a hook and return 0; the arguments are an agent and its event, or `git` and a hook.

    `enter` goes to the directory in which it runs. The agent has its answer if the `payload` was
    already read.
    """
    # Problems are logged inside; this is for what comes between two of its lines.
    with suppress(BaseException):
        _run(arguments, enter, payload)
    return 0


def _run(arguments: Sequence[str], enter: Callable[[], None], payload: bytes | None) -> None:
    context = HookContext()
    limit = context.limit = TimeLimit(context.seconds, context.note_hanging)
    by_hand = sys.stdin.isatty() and sys.stderr.isatty()
    if not by_hand:
        descriptor = os.open(os.devnull, os.O_RDWR)
        os.dup2(descriptor, 2)
        os.close(descriptor)
    # While this was loaded, there was nothing to roll back; see `git_boocode.__main__`.
    on_signals(stop)
    context.agent, context.event = (*arguments[:2], "", "")[:2]
    try:
        if context.agent == "git":
            _serve_git(context, enter, arguments[2:])
        else:
            _serve_agent(context, enter, payload)
        limit.over()
    except BaseException as error:  # noqa: BLE001 - no agent may see any error at all
        on_signals(signal.SIG_IGN)
        limit.stop_alarm()
        with suppress(Exception):
            context.note(error)
        if not isinstance(error, Exception):
            end_group()
        limit.over()
    on_signals(signal.SIG_IGN)
    if by_hand and context.problem:
        sys.stderr.write(f"warning: {context.problem}\n")


class HookContext:
    """One call of a hook: its agent and event, its time limit, and the log of its problems.

    `problem` describes the last problem in one sentence; empty if there was none.
    """

    def __init__(self) -> None:
        self.agent = self.event = self.problem = ""
        self.seconds = TIMEOUT
        self.limit: TimeLimit | None = None
        self._is_configured = False
        self._worktree = self._state_dir = ""

    def apply_timeout(self, repository: Repository, *, least: float = 0.0) -> None:
        """Apply the time limit that the first repository configures, or a longer one."""
        if self._is_configured or self.limit is None:
            return
        self._is_configured = True
        with self.noting():
            self.seconds = max(least, hook_timeout(repository.config))
            self.limit.change(self.seconds)

    def enter(self, repository: Repository | None) -> None:
        """Switch to the log of a repository, by default that of the current directory."""
        self._worktree = repository.worktree if repository else ""
        self._state_dir = repository.common_state_dir if repository else ""

    @contextmanager
    def noting(self, directory: str = "") -> Iterator[None]:
        """Log errors in a `with` block instead of raising them."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - the next repository is to be served anyway
            self.note(error, directory)

    def note(self, error: BaseException, directory: str = "") -> None:
        """Log a problem, unless the repository is missing.

        If none was entered, the log is that of the repository of `directory`.
        """
        code, self.problem = self._described(error)
        if code in _NO_REPOSITORY:
            return
        state_dir = self._state_dir or _state_dir_of(directory)
        if state_dir:
            log(state_dir, self.agent, self.event, self._worktree, code, self.problem)

    def note_hanging(self) -> None:
        """Log that the hook did not end by itself."""
        # Do not run git, which may be the process that hangs.
        if self._state_dir:
            message = "it hung, and was ended without rolling anything back"
            log(self._state_dir, self.agent, self.event, self._worktree, "time_out", message)

    def _described(self, error: BaseException) -> tuple[str, str]:
        """The code and the message of a problem."""
        if isinstance(error, TimeUpError):
            return "time_out", f"it was not done within {self.seconds:g} seconds, and was ended"
        if isinstance(error, KeyboardInterrupt):
            return "interrupted", "it was interrupted"
        if isinstance(error, SystemExit):
            return "interrupted", f"it was ended with code {error.code}"
        if isinstance(error, OSError):
            error = from_os(error)
        if isinstance(error, BoocodeError):
            return error.code, error.message
        # Omit the error message, which may contain a part of the prompt.
        return "bug", f"unexpected {type(error).__name__} {_origin(error)}; please report it"


def _origin(error: BaseException) -> str:
    """The position in our code where an error was raised."""
    found, trace = "at an unknown place", error.__traceback__
    while trace is not None:
        path = trace.tb_frame.f_code.co_filename
        if path.startswith(_PACKAGE):
            found = f"at {os.path.relpath(path, _PACKAGE)}:{trace.tb_lineno}"
        trace = trace.tb_next
    return found


def _state_dir_of(directory: str) -> str:
    """The log directory of a directory's repository, even without a worktree; or None."""
    with suppress(BoocodeError, OSError):
        git = Git(directory or os.getcwd(), clean_environment(os.environ))
        done = git.attempt("rev-parse", "--path-format=absolute", "--git-common-dir")
        if done.status == 0:
            return os.path.join(os.fsdecode(done.stdout).removesuffix("\n"), PRIVATE)
    return ""


def _serve_git(context: HookContext, enter: Callable[[], None], arguments: Sequence[str]) -> None:
    """Serve a git hook with git's arguments; raises BoocodeError if it fails."""
    lead_group()
    enter()
    if not context.event:
        raise FatalError("no git hook is named", code="unknown_event")
    repository = Repository.discover()
    context.enter(repository)
    from git_boocode.agents.git_hooks import BACKGROUND_LIMIT, run_git_hook, runs_in_background

    is_alone = runs_in_background(context.event, [*arguments])
    context.apply_timeout(repository, least=BACKGROUND_LIMIT if is_alone else 0.0)
    run_git_hook(context.event, arguments, repository)


def _serve_agent(context: HookContext, enter: Callable[[], None], given: bytes | None) -> None:
    """Serve the hook of an agent; if no event is given, the payload on standard input names it."""
    agent = find_agent(context.agent)
    if agent is None and context.agent != ANY_AGENT:
        message = f"unknown agent '{context.agent}'" if context.agent else "no agent given"
        raise FatalError(message, code="unknown_agent")
    if agent is not None:
        context.agent = agent.name
        if given is None:
            # At once: the agent has to read it even if this process is killed.
            answer(agent)
    lead_group()
    # The payload may name where the agent works, anyway.
    with context.noting():
        enter()
    _leave_git_hook()
    payload = Payload({})
    # A turn begins even if the payload cannot be read.
    with context.noting():
        payload = parse_payload(read_input() if given is None else given)
    if agent is None:
        agent = caller_of(payload, context.event, os.environ)
        context.agent = agent.name
        if given is None:
            answer(agent)
    reported = parse_event(agent, context.event, payload)
    context.agent, context.event = reported.agent.name, reported.name
    for directory, repository in _repositories(context, reported):
        with context.noting(directory):
            context.enter(repository)
            if not inside_restore(repository.state_dir):
                _serve(context, repository, reported)
    context.enter(None)


def _leave_git_hook() -> None:
    """Forget the repository of a git hook that has started the agent, which need not work in it."""
    # Whoever sets these variables for all commands sets the worktree, too.
    if "GIT_WORK_TREE" not in os.environ:
        for name in ("GIT_DIR", "GIT_COMMON_DIR", "GIT_INDEX_FILE"):
            os.environ.pop(name, None)


def _repositories(context: HookContext, reported: HookEvent) -> Iterator[tuple[str, Repository]]:
    """The repositories of the directories of an event, each once."""
    seen: set[str] = set()
    roots = reported.payload.texts(reported.agent.fields.directories)
    for directory in reported.directories:
        if len(seen) == _MOST_REPOSITORIES:
            return
        context.enter(None)
        # An agent may have removed the directory in which it works, but not one of its roots.
        found = directory if len(roots) > 1 else _nearest_worktree(directory)
        with context.noting(found if os.path.isdir(found) else ""):
            repository = Repository.discover(found) if os.path.isdir(found) else None
            if repository is None or (
                found != directory and _is_in_removed_worktree(repository, directory)
            ):
                message = f"the agent works in '{directory}', which is not a directory here"
                raise FatalError(message, code="no_such_directory")
            if repository.worktree not in seen:
                seen.add(repository.worktree)
                yield found, repository


def _nearest_worktree(directory: str) -> str:
    """A directory, or the nearest one above that exists if that is in a worktree."""
    above = directory
    while above and not os.path.isdir(above):
        above = os.path.dirname(above)
    return above if above and git_dir_of(os.path.realpath(above)) else directory


def _is_in_removed_worktree(repository: Repository, directory: str) -> bool:
    """Whether a directory was in a linked worktree that is gone and that git still lists."""
    inside = os.path.join(os.path.realpath(directory), "")
    listed = os.path.join(repository.common_dir, "worktrees")
    for name in os.listdir(listed) if os.path.isdir(listed) else ():
        path = os.path.join(listed, name, "gitdir")
        with suppress(OSError), open(path, encoding="utf-8", errors="surrogateescape") as file:
            link = os.path.join(listed, name, file.read().rstrip("\n"))
            top = os.path.realpath(os.path.dirname(link))
            if inside.startswith(os.path.join(top, "")) and not os.path.lexists(link):
                return True
    return False


def _serve(context: HookContext, repository: Repository, reported: HookEvent) -> None:
    context.apply_timeout(repository)
    is_turn = reported.kind == TURN
    setting = _per_tool(context, repository)
    is_tool = reported.kind in (TOOL, TOOL_END) and setting != NEVER
    begins_by_tool = reported.kind == TOOL and reported.begins_by_tools
    if not (is_turn or reported.kind in (END, ABORT) or begins_by_tool or is_tool):
        return
    # Before waiting for other hooks, because the transcript may grow meanwhile.
    position = _position(context, reported) if is_turn else None
    with one_at_a_time(repository.state_dir, patience=context.seconds) as turns:
        reported = _in_session(reported, turns)
        if reported.kind in (END, ABORT):
            _capture_end(repository, reported, turns)
            return
        turn = _turn(reported, reported.prompt if is_turn else "", position)
        turn = turn._replace(per_tool=setting)
        # With ALWAYS, it has a checkpoint of its files.
        beside = setting == AUTO and _is_beside(reported, turns)
        if reported.is_continuation and _continue(repository, reported, turn, turns):
            return
        if _begins(repository, reported, turn, turns, beside=beside):
            position = position if is_turn else _position(context, reported)
            prompt = kept_prompt(reported.prompt, _wanted_prompts(context, repository))
            given: dict[str, Any] = {"label": label_of(prompt), "prompt": prompt}
            anchor = _anchor(position)
            if turns.namesake(turn):
                _end_interrupted(repository, reported, turn, turns)
                # In the transcript, the id is that of an earlier prompt.
                anchor |= {"message": None} if position else {}
                given |= {"only_if_changed": False}
            _capture(repository, reported, turn, turns, **given, anchor=anchor)
        else:
            if reported.kind != TOOL_END:
                _capture_resumption(repository, reported, turns)
            # The end of a tool may be reported after that of its turn.
            _note_going_on(turn, turns, by_tool=is_tool, reopens=reported.kind != TOOL_END)
            if not is_tool or not _serve_tool(context, repository, reported, turns):
                return
    from git_boocode.checkpoints.capture import prune_daily

    prune_daily(repository)


def _per_tool(context: HookContext, repository: Repository) -> str:
    """See `per_tool`; an invalid value is logged."""
    try:
        return per_tool(repository.config)
    except FatalError as error:
        context.note(error)
        return NEVER


def _in_session(reported: HookEvent, turns: Turns) -> HookEvent:
    """The event in a known session: a subagent of a subagent names none that had a turn."""
    agent, session = reported.agent.name, reported.session
    if reported.is_of_subagent and turns.latest(agent, session) is None:
        return reported._replace(session=turns.open_session(agent) or session)
    return reported


def _begins(
    repository: Repository, reported: HookEvent, turn: ReportedTurn, turns: Turns, *, beside: bool
) -> bool:
    """Whether an event is the first one of a turn."""
    if reported.kind == TOOL_END or reported.is_of_subagent:
        return False
    latest = turns.latest(turn.agent, turn.session)
    has_ended = latest is None or not latest.is_open
    if reported.kind == TURN and reported.agent.turn_number:
        return has_ended or turns.counts_anew(turn)
    if reported.kind == TURN or turn.turn:
        known = turns.namesake(turn)
        if known is None or not turns.knows(turn):
            return True
        # The same prompt again, after the turn or the first one was taken back.
        is_sent_again = turn.submitted and known.ended
        is_same = known.prompt == turn.prompt != ""
        return is_same and (is_sent_again or _is_undone(repository, known))
    if reported.agent.tool_begins:
        return has_ended
    return beside and not turns.knows_session(turn)


def _is_undone(repository: Repository, turn: ReportedTurn) -> bool:
    """Whether a restore ran since a turn began, or removed its checkpoint."""
    if not _is_in_log(repository, turn):
        return True
    return any(ref.id > turn.checkpoint for ref in repository.store.refs(SAFETY))


def _is_in_log(repository: Repository, turn: ReportedTurn) -> bool:
    return bool(turn.checkpoint and repository.store.refs(f"{CHECKPOINTS}{turn.checkpoint}"))


def _continue(
    repository: Repository, reported: HookEvent, turn: ReportedTurn, turns: Turns
) -> bool:
    """Let the session's latest turn go on, maybe under another id; whether there is one."""
    latest = turns.latest(turn.agent, turn.session)
    if latest is None or not _is_in_log(repository, latest):
        return False
    _capture_resumption(repository, reported, turns)
    if turns.knows(turn):
        _note_going_on(turn, turns, by_tool=False)
    else:
        turns.note(latest._replace(turn=turn.turn, prompt=turn.prompt, ended=False))
    return True


def _capture_resumption(repository: Repository, reported: HookEvent, turns: Turns) -> None:
    """Record where the session's latest turn goes on, if another one began after its end."""
    agent, session = reported.agent.name, reported.session
    latest = turns.latest(agent, session)
    if latest is not None and latest.ended and turns.have_company(agent, session):
        from git_boocode.checkpoints.capture import capture_resumption

        capture_resumption(repository, latest.checkpoint, reported.name)


def _end_interrupted(
    repository: Repository, reported: HookEvent, turn: ReportedTurn, turns: Turns
) -> None:
    """Record the end of the running turn, during which a person sent another prompt."""
    latest = turns.latest(turn.agent, turn.session)
    if latest is not None and latest.turn == turn.turn and latest.is_open:
        from git_boocode.checkpoints.capture import capture_turn_end

        capture_turn_end(repository, latest.checkpoint, reported.name)


def _is_beside(reported: HookEvent, turns: Turns) -> bool:
    """Whether a tool that may change files runs while a turn of another session is open."""
    is_beside = turns.is_open_beside(reported.agent.name, reported.session)
    return is_beside and not reads_only(reported.tool)


def _note_going_on(
    turn: ReportedTurn, turns: Turns, *, by_tool: bool, reopens: bool = True
) -> None:
    """Note that the latest turn of a session goes on, although its end may have been reported."""
    latest = turns.latest(turn.agent, turn.session)
    if latest is not None:
        # A tool that began the turn reported no prompt.
        prompt = latest.prompt or (turn.prompt if turn.turn == latest.turn else "")
        new = latest._replace(
            ended=latest.ended and not reopens,
            reports_tools=latest.reports_tools or by_tool,
            prompt=prompt,
            number=turn.number or latest.number,
        )
        turns.replace(latest, new)


def _serve_tool(
    context: HookContext, repository: Repository, reported: HookEvent, turns: Turns
) -> bool:
    """Record the files that a tool will change, and the states around it; whether any was."""
    paths = reported.changed_files(repository.worktree)
    call = reported.payload.text(reported.agent.fields.call)
    takes_files = bool(paths) and reported.kind == TOOL
    takes_files = takes_files and _per_tool(context, repository) == ALWAYS
    if takes_files:
        position = _position(context, reported)
        turn = _turn(reported, "\0".join((call, *paths)), position)
        tools = tools_of(repository.state_dir)
        _capture(repository, reported, turn, tools, paths=paths, anchor=_anchor(position))
    latest = turns.latest(reported.agent.name, reported.session)
    has_ended = reported.kind == TOOL_END
    records = turns.have_company(reported.agent.name, reported.session)
    records = records and not reads_only(reported.tool)
    if latest is None or not (records or (has_ended and latest.in_call)):
        return takes_files
    name = reported.call_key
    if latest.has_state(name, ended=has_ended):
        # A plugin and installed hooks report the same call.
        return takes_files
    from git_boocode.checkpoints.capture import ToolCall, capture_tool_state

    begun = turns.checkpoint_of(latest.agent, latest.session, reported.turn) or latest.checkpoint
    only = [path.removeprefix(_TOP) for path in paths] if edits_files(reported.tool) else []
    made = ToolCall(begun, has_ended, call, reported.tool, tuple(only))
    turns.replace(latest, latest.with_state(name, ended=has_ended))
    return capture_tool_state(repository, made, reported.name)


def _capture_end(repository: Repository, reported: HookEvent, turns: Turns) -> None:
    """Record the worktree at the end of a turn whose beginning was recorded.

    The agent waits for it: what a script changes once the agent has exited is not the turn's.
    """
    from git_boocode.checkpoints.capture import capture_turn_end

    agent, session = reported.agent.name, reported.session
    latest = turns.latest(agent, session)
    # A session may end with the id of a command that was no turn.
    turn = "" if reported.kind == ABORT else reported.turn
    if reported.kind == ABORT and (latest is None or latest.ended):
        return
    if latest is not None and turn in ("", latest.turn):
        turns.replace(latest, latest._replace(ended=True, in_call=False))
    begun = turns.checkpoint_of(agent, session, turn)
    if begun:
        capture_turn_end(repository, begun, reported.name)


def _setting(
    context: HookContext, repository: Repository, key: str, *, default: bool = False
) -> bool:
    """A boolean setting; an invalid value is logged and counts as false, the safe choice."""
    try:
        return repository.config.boolean(key, default=default)
    except FatalError as error:
        context.note(error)
        return False


def _wanted_prompts(context: HookContext, repository: Repository) -> str:
    """How much of prompts to keep; nothing if the setting is invalid, which is logged."""
    try:
        return wanted_prompts(repository.config)
    except FatalError as error:
        context.note(error)
        return NONE


def _position(context: HookContext, reported: HookEvent) -> TranscriptPosition | None:
    path = reported.payload.text(reported.agent.fields.transcript) or _usual_transcript(reported)
    try:
        notes = reported.agent.hook_notes.encode("ascii")
        return transcript_position(path, notes) if path else None
    except FatalError as error:
        context.note(error)
        return None


def _usual_transcript(reported: HookEvent) -> str:
    """Where the agent keeps the transcript of a session that its payload names."""
    agent, session = reported.agent, reported.session
    if not agent.transcript or not SESSION_NAME.fullmatch(session):
        return ""
    path = os.path.join(home_of(agent), agent.transcript.format(session=session))
    if "*" not in agent.transcript:
        return path
    # Imported late: most agents name their transcript.
    from glob import iglob

    return next(iglob(path), "")


def _turn(reported: HookEvent, what: str, position: TranscriptPosition | None) -> ReportedTurn:
    offset = position.offset if position else None
    turn = turn_of(reported.agent.name, reported.session, reported.turn, what, offset)
    return turn._replace(submitted=reported.is_submitted, number=reported.number)


def _capture(
    repository: Repository,
    reported: HookEvent,
    turn: ReportedTurn,
    turns: Turns,
    **fields: Any,  # noqa: ANN401 - those of a request
) -> None:
    # Imported late: most tool events do not need it.
    from git_boocode.checkpoints.capture import Request, capture

    request = Request(
        session=reported.session,
        message=reported.turn,
        agent=reported.agent.name,
        trigger=reported.name,
        **{"only_if_changed": turns.has_reported(turn), **fields},
    )
    taken = capture(repository, request)
    turns.note(turn._replace(checkpoint=taken.checkpoint.id))


def _anchor(position: TranscriptPosition | None) -> dict[str, Any]:
    if position is None:
        return {}
    return {"path": position.path, "offset": position.offset, "hash": position.hash}
