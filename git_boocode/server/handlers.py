"""What the tools do: each calls the service of its command and returns the same JSON answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

from git_boocode.checkpoints import capture
from git_boocode.checkpoints.line_origin import blame as blame_file
from git_boocode.checkpoints.line_origin import blamed_ranges
from git_boocode.checkpoints.own_changes import compared_states
from git_boocode.checkpoints.restore.request import (
    PICK,
    REDO,
    RESTORE,
    REVERT,
    RUNNING_TURN,
    UNDO,
    RestoreRequest,
)
from git_boocode.checkpoints.store.catalog import Catalog
from git_boocode.checkpoints.turn_log import LogRequest, TurnLog
from git_boocode.checkpoints.turn_request import TurnRequest, end_turn
from git_boocode.checkpoints.turns import comparison_json
from git_boocode.checkpoints.worktree.pathspecs import checked_pathspecs
from git_boocode.editing import rewind_edit, service
from git_boocode.editing.edits import DEFAULT_ENCODING, DEFAULT_PROFILE, MatchOptions
from git_boocode.editing.inputs import Source
from git_boocode.editing.reading import read_lines
from git_boocode.editing.records import Records
from git_boocode.editing.workspace import Workspace
from git_boocode.proposals import acceptance, discard_sync, new_proposal
from git_boocode.proposals.local_files import proposal_status, proposal_trees
from git_boocode.proposals.review import ChosenPart, hunks_of_one_file
from git_boocode.proposals.review import preview as preview_file
from git_boocode.repo.errors import (
    RefusedError,
    UsageError,
    refuse_combined,
    refuse_without,
)
from git_boocode.repo.object_writer import temporary_objects
from git_boocode.repo.repository import Repository
from git_boocode.repo.running_turn import agent_of_session, running_turns, status_json
from git_boocode.server.json_rpc import JsonObject
from git_boocode.server.tools import BUFFERS, Client
from git_boocode.workflows import restore_parts, restore_with_edits
from git_boocode.workflows.calling_agent import agent_of_client, session_of_agent
from git_boocode.workflows.show_target import find_target, is_edit
from git_boocode.workflows.take_back import (
    TakeBackRequest,
    chosen_turns,
    no_turn_given,
    take_back,
    take_back_hunks,
)


class Call:
    """A call of a tool: its checked arguments, its edit if it has one, repository and caller."""

    def __init__(
        self, arguments: JsonObject, edit: JsonObject, repository: Repository, client: Client
    ) -> None:
        self.arguments = arguments
        self.repository = repository
        self.client = client
        self._edit = edit

    def get(self, name: str, default: Any = None) -> Any:  # noqa: ANN401 - any JSON
        """An argument, or the default."""
        return self.arguments.get(name, default)

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths, relative to the directory of the call."""
        return tuple(self.get("paths", ()))

    @property
    def profile(self) -> str:
        """The profile of matching."""
        return str(self.get("profile", DEFAULT_PROFILE))

    @property
    def encoding(self) -> str:
        """The encoding of positions."""
        return str(self.get("position_encoding", DEFAULT_ENCODING))

    def workspace(self) -> Workspace:
        """The worktree with the buffers, whose paths count from the directory of the call."""
        here = Workspace(self.repository.worktree, self.repository.prefix, self.repository)
        texts: dict[str, str] = self.get(BUFFERS, {})
        if not texts:
            return here
        contents = {path: text.encode("utf-8", "surrogateescape") for path, text in texts.items()}
        filled = here._replace(from_here=True).with_buffers(contents)
        return here._replace(buffers=filled.buffers)

    def sources(self) -> list[Source]:
        """The edit as the input of a service; `input` alone is a text in any format."""
        if self._edit.keys() == {"input"}:
            text = self._edit["input"]
            if not isinstance(text, str):
                raise UsageError("'input' is not a string")
            return [Source("the edit", text.encode("utf-8", "surrogatepass"))]
        # Bytes of a path are surrogates, which JSON has as `\udcXX`.
        data = json.dumps(self._edit, ensure_ascii=False).encode("utf-8", "backslashreplace")
        return [Source("the edit", data)]

    def edit_options(self, *, dry_run: bool = False) -> service.Options:
        """How the edit is applied."""
        return service.Options(
            MatchOptions(self.profile, self.get("verbatim", False)),
            self.get("format"),
            dry_run or self.get("dry_run", False),
            not self.get("no_record", False),
            session=self.get("session") or _session_in_turn(self),
        )


def apply_edit(call: Call) -> JsonObject:
    """Apply a model's edits."""
    options, encoding = call.edit_options(), call.encoding
    return service.apply_edits(call.sources(), call.workspace(), options).as_json(encoding)


def preview_edit(call: Call) -> JsonObject:
    """What `apply_edit` would do."""
    options, encoding = call.edit_options(dry_run=True), call.encoding
    return service.apply_edits(call.sources(), call.workspace(), options).as_json(encoding)


def read(call: Call) -> JsonObject:
    """The lines of a file, and its version."""
    return read_lines(call.workspace()._replace(from_here=True), call.get("path")).as_json()


def locate(call: Call) -> JsonObject:
    """Find a text in a file."""
    profile = call.profile
    workspace = call.workspace()._replace(from_here=True)
    start_line = call.get("start_line")
    found = service.locate(workspace, call.get("path"), call.get("needle"), profile, start_line)
    if not found.found:
        raise found.refusal()
    return found.as_json()


def rewind(call: Call) -> JsonObject:
    """Undo an applied edit."""
    return _rewind(call, call.get("edit"), force=call.get("force", False))


def _rewind(call: Call, name: str | None, *, force: bool) -> JsonObject:
    dry_run = call.get("dry_run", False)
    if not dry_run:
        rewind_edit.recover_interrupted(call.repository)
    records = Records(call.repository)
    done = rewind_edit.rewind(
        call.repository,
        records.to_rewind() if name is None else records.find(name),
        call.paths,
        dry_run=dry_run,
        keep=not call.get("no_record", False),
        force=force,
    )
    return done.as_json()


def checkpoint(call: Call) -> JsonObject:
    """Take a checkpoint."""
    keys = ("label", "session", "chat", "message", "agent", "meta")
    given = {**_caller(call), **{key: call.get(key) for key in keys if call.get(key)}}
    turn = capture.open_turn(call.repository, given.get("agent", ""), given.get("session", ""))
    request = capture.Request(
        **given,
        in_turn=turn,
        trigger=call.get("trigger") or "server",
        only_if_changed=call.get("if_changed", False),
        require_match=not call.get("ignore_unmatch", False),
        paths=call.paths,
    )
    taken = capture.capture(call.repository, request)
    capture.prune_daily(call.repository)
    return taken.as_json()


def _caller(call: Call) -> JsonObject:
    """The agent that calls, and its session, as far as they are known and not given."""
    client, given = call.client, call.get("agent")
    agent = agent_of_client(client.name)
    name = agent.name if agent else client.name if client.is_agent else ""
    if not name or given not in (None, "", name):
        return {}
    variable = agent.session_variable if agent else ""
    return {"agent": name, "session": session_of_agent(call.repository, name, variable)}


def _session_in_turn(call: Call) -> str:
    """The session of the agent that calls if its turn is open; models do not name it."""
    caller = _caller(call)
    session: str = caller.get("session", "")
    if session and agent_of_session(call.repository.state_dir, session) == caller["agent"]:
        return session
    return ""


def log(call: Call) -> JsonObject:
    """List the turns, or the applied edits."""
    keys = (
        *("max_count", "text", "regex", "since", "until", "grep", "agent", "session"),
        *("remote", "remotes", "archived", "edits"),
    )
    given = {key: call.get(key) for key in keys if call.get(key) is not None}
    everywhere = call.get("all", False)
    request = LogRequest(everywhere=everywhere, pathspecs=call.paths, **given).checked()
    if request.edits:
        found = islice(Records(call.repository).history(everywhere=everywhere), request.limit)
        return {"ok": True, "edits": [record.as_json() for record in found]}
    with TurnLog(call.repository, request) as turns:
        # A model reads the labels; `show` has the whole prompt.
        return turns.as_json(prompts=False)


def show(call: Call) -> JsonObject:
    """Show a checkpoint, a file of it, or an applied edit; or the conversation of a turn."""
    if call.get("conversation", False):
        refuse_others(call, "conversation", ("conversation", "name"))
        # Only here: few clients ask for it.
        from git_boocode.workflows.turn_conversation import conversation_of_turn

        found = conversation_of_turn(call.repository, call.get("name", "@"))
        return {"ok": True, "conversation": found.as_json()}
    with temporary_objects(call.repository):
        target = find_target(call.repository, call.get("name", "@"), head=call.get("head", False))
        return target.as_json(call.repository)


def diff(call: Call) -> JsonObject:
    """Compare a checkpoint with the worktree, with another one, or with the end of its turn."""
    repository = call.repository
    if call.get("proposal", False):
        refuse_others(call, "proposal", ("proposal", "paths"))
        with temporary_objects(repository):
            trees = proposal_trees(call.workspace(), repository, call.paths)
            return comparison_json(repository, *trees, ())
    turn, new = call.get("turn", False), call.get("new")
    catalog = Catalog(repository)
    named = [catalog.find(call.get("old", "@")), *([catalog.find(new)] if new is not None else [])]
    paths = checked_pathspecs(repository, call.paths) if call.paths else []
    with temporary_objects(repository):
        old, after, _, *paths = compared_states(catalog, named, turn=turn).compared(paths)
        return comparison_json(repository, old, after, paths)


def blame(call: Call) -> JsonObject:
    """Which turn wrote each line of a file."""
    path = call.get("path")
    found = blame_file(call.repository, path, call.get("lines", ""))
    return {"ok": True, "path": path, "ranges": blamed_ranges(found)}


def restore(call: Call) -> JsonObject:
    """Restore files, staging and conversation from a checkpoint."""
    request, repository = _restore_request(call, RESTORE), call.repository
    numbers, expect = call.get("hunk", ()), call.get("expect", "")
    request.checked_for_parts(hunk=numbers)
    name = call.get("checkpoint")
    if numbers:
        return restore_parts.restore_hunks(repository, name, request, numbers, expect).as_json()
    result = restore_with_edits.restore(repository, name, request._replace(seen=expect))
    return restore_parts.with_listed_hunks(repository, result, request).as_json()


def revert(call: Call) -> JsonObject:
    """Take back what turns changed, or an applied edit."""
    if edits := [name for name in call.get("turns", ()) if is_edit(call.repository, name)]:
        if len(call.get("turns")) > 1:
            raise UsageError(f"'{edits[0]}' is an edit, which is reverted alone")
        refuse_others(call, edits[0], ("turns", "paths", "dry_run", "force"))
        return _rewind(call, edits[0], force=RUNNING_TURN in call.get("force", ()))
    for name in ("session", "agent"):
        if call.get(name) == "" and not call.get("turns"):
            raise UsageError(f"'{name}' is empty")
    return _take_back(call, REVERT)


def pick(call: Call) -> JsonObject:
    """Do here what turns changed."""
    return _take_back(call, PICK)


def _take_back(call: Call, command: str) -> JsonObject:
    repository, encoding = call.repository, call.encoding
    request = TakeBackRequest(
        tuple(call.get("turns", ())),
        call.get("session", ""),
        call.get("agent", ""),
        call.paths,
        dry_run=call.get("dry_run", False),
        diff=call.get("diff", False),
        markers=call.get("markers", False),
        force=frozenset(call.get("force", ())),
        buffers=call.workspace().buffer_data(),
    ).checked()
    numbers, expect = call.get("hunk", ()), call.get("expect", "")
    refuse_combined(hunk=numbers, markers=request.markers)
    if not numbers:
        refuse_without("hunk", expect=expect)
    if not (request.turns or request.session or request.agent or request.dry_run):
        [last] = chosen_turns(repository, command, request)
        raise no_turn_given(last, request.typed(command, [last.id]))
    if numbers:
        return take_back_hunks(repository, command, request, numbers, expect).as_json(encoding)
    return take_back(repository, command, request).as_json(encoding)


def undo(call: Call) -> JsonObject:
    """Undo the latest restore, or the latest change of a proposal."""
    return restore_with_edits.undo(call.repository, _restore_request(call, UNDO)).as_json()


def redo(call: Call) -> JsonObject:
    """Redo what was undone."""
    return restore_with_edits.redo(call.repository, _restore_request(call, REDO)).as_json()


def _restore_request(call: Call, kind: str) -> RestoreRequest:
    """The request of a restore; the only program that it runs is the configured callback."""
    request = RestoreRequest(
        files=not call.get("conversation_only", False),
        conversation=not call.get("files_only", False),
        paths=call.paths,
        after=call.get("after", False),
        head=False if call.get("no_head") else call.get("head"),
        dry_run=call.get("dry_run", False),
        session=call.get("session", ""),
        force=frozenset(call.get("force", ())),
        only_to="" if kind == RESTORE else call.get("expect", ""),
        # The caller may be the agent itself.
        spares_open_turn=True,
    )
    return request.checked(kind)


def propose(call: Call) -> JsonObject:
    """Store a model's edits beside the files."""
    options, encoding = call.edit_options(), call.encoding
    workspace = call.workspace()
    answer = new_proposal.propose(call.sources(), workspace, options, call.get("retry_of", ""))
    if answer.id:
        capture.prune_daily(call.repository)
    return answer.as_json(encoding)


def status(call: Call) -> JsonObject:
    """The files of the newest proposal."""
    return proposal_status(call.workspace(), call.paths).as_json()


def preview(call: Call) -> JsonObject:
    """A file as it is proposed."""
    encoding = call.encoding
    return preview_file(call.workspace(), call.get("path")).as_json(encoding)


def accept(call: Call) -> JsonObject:
    """Write what is proposed to the files."""
    given = ("overwrite", "merge", "markers", "dry_run", "force")
    request = acceptance.AcceptRequest(**{key: call.get(key, False) for key in given}).checked()
    encoding, workspace = call.encoding, call.workspace()
    request = request._replace(chosen=_chosen(call, workspace, acceptance.ACCEPT))
    return acceptance.accept(workspace, request).as_json(encoding)


def discard(call: Call) -> JsonObject:
    """Drop what is proposed."""
    workspace = call.workspace()
    chosen = _chosen(call, workspace, discard_sync.DISCARD)
    return discard_sync.discard(workspace, chosen, force=call.get("force", False)).as_json()


def _chosen(call: Call, workspace: Workspace, verb: str) -> ChosenPart:
    part = ChosenPart(call.paths, of=call.get("expect", ""))
    if numbers := call.get("hunk"):
        return hunks_of_one_file(workspace, part, numbers, verb)
    return part


def sync(call: Call) -> JsonObject:
    """Make files as they are the context of the proposal."""
    return discard_sync.sync(call.workspace(), call.paths, force=call.get("force", False)).as_json()


def turn(call: Call) -> JsonObject:
    """Begin or end a turn, or show the running one."""
    action = call.get("action")
    if action == "end":
        refuse_others(call, action, ("action", "checkpoint"))
        return end_turn(call.repository, call.get("checkpoint", "")).as_json()
    if action == "status":
        refuse_others(call, action, ("action",))
        running = running_turns(call.repository)
        if not running:
            raise RefusedError("no turn is running", code="not_found")
        return status_json(running)
    refuse_others(call, action, (*call.arguments.keys() - {"checkpoint"},))
    keys = (
        *("message", "pid", "timeout", "force"),
        *("session", "agent", "chat", "message_id", "meta"),
    )
    given = {key: call.get(key) for key in keys if call.get(key) is not None}
    # The turn that its hooks report keeps the session to itself.
    agent = _caller(call).get("agent", "")
    request = TurnRequest(**{"agent": agent, **given})
    begun = new_proposal.begin(call.workspace(), request)
    capture.prune_daily(call.repository)
    return begun.as_json()


def refuse_others(call: Call, name: str, allowed: Sequence[str]) -> None:
    """Refuse arguments that do not go with another one (UsageError)."""
    if others := sorted(call.arguments.keys() - {*allowed}):
        raise UsageError(f"'{name}' excludes '{others[0]}'")


HANDLERS: dict[str, Callable[[Call], JsonObject]] = {
    each.__name__: each
    for each in (
        *(
            apply_edit,
            preview_edit,
            read,
            locate,
            rewind,
            checkpoint,
            log,
            show,
            diff,
            blame,
            restore,
        ),
        *(revert, pick, undo, redo, propose, status, preview, accept, discard, sync, turn),
    )
}
"""The function of each tool, by its name."""
