"""The Model Context Protocol on a connection.

It follows the revisions from 2024-11-05 to 2025-11-25, in which `initialize` begins a session, and
2026-07-28, in which every request is served for itself (https://modelcontextprotocol.io).
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from git_boocode.repo.errors import BoocodeError, from_os, shortened
from git_boocode.server.calls import Lanes, PendingRequest, ToolCalls
from git_boocode.server.json_rpc import (
    BUSY,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    MAX_LINE,
    METHOD_NOT_FOUND,
    Connection,
    JsonObject,
    Malformed,
    Message,
    RequestId,
    Response,
    RpcError,
    RpcRequest,
    TooLong,
    as_object,
    error_message,
    is_id,
    read_message,
    request_message,
)
from git_boocode.server.peer import (
    SERVER_INFO,
    STATELESS_VERSIONS,
    SUBSCRIPTION,
    Peer,
    RequestPeer,
    describes_peer,
    level_number,
    root_uris,
)
from git_boocode.server.roots import Roots
from git_boocode.server.tools import Client, DefinedTools, client_of
from git_boocode.server.watch import WATCHED, Watch

if TYPE_CHECKING:
    from git_boocode.repo.repository import Repository

VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""The revisions of the protocol with sessions, the newest last; all are served alike."""
_CAPABILITIES: JsonObject = {"tools": {}, "resources": {"subscribe": True}, "logging": {}}
_LISTEN = "subscriptions/listen"
_ASK_ROOTS = {"resultType": "input_required", "inputRequests": {"roots": {"method": "roots/list"}}}
_ASKING = ("tools/call", "resources/read")
"""The requests that may be answered with a request."""
_MOST, _LARGEST = 10_000, 128 << 20
"""Maximum number of requests in progress, and of their bytes; a single one may have more."""
_SWITCH = 0.0005
"""Seconds for which a thread may keep the others from running Python."""
_GC_THRESHOLD = 2_000
"""New objects before Python collects garbage."""
_POLL = 0.5
"""Seconds between two looks at the end whether the client still reads answers."""
_INSTRUCTIONS = (
    "Edits files of a git worktree although the text has drifted, and takes checkpoints that every "
    "restore can come back from. Call apply_edit to edit a file: it changes all or nothing, and a "
    "refusal says what to send instead. Call read to see lines with the version that an edit by "
    "line numbers names. Call checkpoint before anything risky, log to see the turns, restore to "
    "go back, revert to take back one turn and keep all other work, and undo to take either back."
)
_INSTRUCTIONS_TO_READ = (
    "Shows the checkpoints of a git worktree and what each turn changed; it changes nothing. Call "
    "log to see the turns, and diff for what they changed."
)
_READ_ONLY_INSTRUCTIONS = (
    "Shows the checkpoints of a git worktree and what each turn changed, and finds texts although "
    "they have drifted; it changes nothing. Call log to see the turns, show and diff for what they "
    "changed, and preview_edit to see whether an edit can be applied."
)


class _Methods(NamedTuple):
    """What a client can ask for."""

    answered: dict[str, Callable[[RpcRequest, Peer], JsonObject]]
    """Answered before the next message is read."""
    begun: dict[str, Callable[[PendingRequest], None]]
    """Answered beside other requests."""


class Session:
    """The requests on one connection, until the client closes it.

    With `read_only`, only the tools that change nothing are offered. `tool_set` is what the user
    wants the client to see.
    """

    def __init__(
        self,
        connection: Connection,
        roots: Roots,
        tools: DefinedTools,
        tool_set: str | None,
        *,
        read_only: bool,
    ) -> None:
        self._connection = connection
        self._roots = roots
        self._tools = tools
        self._tool_set = tool_set
        self._read_only = read_only
        self._lanes = Lanes()
        self._calls = ToolCalls(tools, self._lanes, read_only=read_only)
        self._pending: dict[RequestId, PendingRequest] = {}
        self._size = 0  # of the pending requests
        self._lock = threading.Lock()
        self._watch = Watch()
        self._peer = Peer(connection, roots, Client(), {})
        self._is_initialized = self._is_loaded = False
        self._asked, self._has_asked = 0, False
        lists: dict[str, Callable[[RpcRequest, Peer], JsonObject]] = {
            "tools/list": self._list_tools,
            "resources/templates/list": self._list_templates,
        }
        begun: dict[str, Callable[[PendingRequest], None]] = {
            "resources/list": partial(self._read, self._list_resources),
            "resources/read": partial(self._read, self._read_resource),
            "tools/call": self._calls.start,
        }
        self._of_session = _Methods(
            {
                "initialize": self._initialize,
                "ping": lambda *_: {},
                "logging/setLevel": self._set_level,
                "resources/unsubscribe": self._unsubscribe,
                **lists,
            },
            {**begun, "resources/subscribe": partial(self._read, self._subscribe)},
        )
        self._of_request = _Methods(
            {"server/discover": self._discover, **lists}, {**begun, _LISTEN: self._listen}
        )

    def serve(self) -> None:
        """Answer all requests; afterwards, all changes are complete."""
        for line in self._connection.lines():
            if isinstance(line, TooLong):
                error = RpcError(INVALID_REQUEST, f"a message has more than {MAX_LINE:,} bytes")
                self._peer.send(error_message(None, error))
                continue
            self._take(read_message(line))
        self._finish()
        self._roots.close()

    def _finish(self) -> None:
        # The client cannot name roots any more. What it asked for is answered, as long as somebody
        # may be reading.
        self._roots.give_up()
        self._watch.close()
        for pending in self._now_pending():
            if pending.request.method == _LISTEN:
                pending.finish(partial(_subscription, pending))
        while self._connection.has_reader and not self._lanes.finish(_POLL):
            pass
        for pending in self._now_pending():
            pending.cancel()
        self._lanes.finish_changes()

    def _now_pending(self) -> list[PendingRequest]:
        with self._lock:
            return [*self._pending.values()]

    def _take(self, message: Message) -> None:
        if isinstance(message, Malformed):
            self._peer.send(error_message(message.id, message.error))
        elif isinstance(message, Response):
            self._take_roots(message)
        elif message.id is None:
            self._notified(message)
        else:
            try:
                self._requested(message, message.id)
            except RpcError as error:
                self._peer.send(error_message(message.id, error))

    def _notified(self, message: RpcRequest) -> None:
        if message.method == "notifications/cancelled":
            identifier = message.params.get("requestId")
            with self._lock:
                pending = self._pending.get(identifier) if is_id(identifier) else None
            if pending is not None:
                pending.is_withdrawn = True
                pending.cancel()
                if pending.request.method == _LISTEN:
                    self._forget(pending)
        elif message.method == "notifications/roots/list_changed":
            self._ask_roots()
        elif message.method == "notifications/initialized":
            self._ask_roots_first()

    def _ask_roots_first(self) -> None:
        if not self._has_asked:
            self._ask_roots()

    def _ask_roots(self) -> None:
        self._has_asked = True
        if self._peer.has_roots:
            self._roots.expect()
            self._asked += 1
            self._peer.send(request_message(f"roots-{self._asked}", "roots/list", {}))

    def _take_roots(self, message: Response) -> None:
        if self._roots.are_known or message.id != f"roots-{self._asked}":
            return
        found = as_object(message.result).get("roots")
        if isinstance(found, list):
            self._roots.name(root_uris(found))
        else:
            self._roots.name(None)
            self._peer.log("warning", "the client did not name its roots")

    def _requested(self, request: RpcRequest, identifier: RequestId) -> None:
        """Answer a request, or leave that to a lane (RpcError)."""
        peer, methods = self._peer, self._of_session
        if describes_peer(request):
            peer = RequestPeer(self._connection, self._roots, request, self._tool_set)
            methods = self._of_request
        answer, begin = methods.answered.get(request.method), methods.begun.get(request.method)
        if answer is None and begin is None:
            raise RpcError(METHOD_NOT_FOUND, f"unknown method '{shortened(request.method)}'")
        if peer is not self._peer:
            self._load_soon(peer.client)
        elif not self._is_initialized and request.method not in ("initialize", "ping"):
            raise RpcError(INVALID_REQUEST, "the first request is 'initialize'")
        if answer is not None:
            peer.send(peer.answer(request, answer(request, peer)))
        elif begin is not None:
            self._begin(PendingRequest(request, identifier, peer, self._forget), begin)

    def _begin(self, pending: PendingRequest, begin: Callable[[PendingRequest], None]) -> None:
        """Begin what answers a request later (RpcError)."""
        peer = pending.peer
        if peer.must_name_roots and pending.request.method in _ASKING:
            peer.send(peer.answer(pending.request, _ASK_ROOTS))
            return
        if peer is self._peer:
            # Some clients do not say that they are initialized.
            self._ask_roots_first()
        self._admit(pending)
        try:
            begin(pending)
        except RpcError:
            self._forget(pending)
            raise

    def _admit(self, pending: PendingRequest) -> None:
        """Add a request to those in progress, unless there are too many (RpcError)."""
        size = pending.request.size
        with self._lock:
            if pending.id in self._pending:
                message = f"the id {pending.id!r} is that of a request in progress"
                raise RpcError(INVALID_REQUEST, message)
            if len(self._pending) >= _MOST:
                raise RpcError(BUSY, f"{_MOST:,} requests are in progress")
            if self._pending and self._size + size > _LARGEST:
                message = f"requests of more than {_LARGEST >> 20} MiB would be in progress"
                raise RpcError(BUSY, message)
            self._pending[pending.id] = pending
            self._size += size

    def _forget(self, pending: PendingRequest) -> None:
        with self._lock:
            del self._pending[pending.id]
            self._size -= pending.request.size
        if pending.request.method == _LISTEN:
            self._watch.forget(pending)

    def _initialize(self, request: RpcRequest, _: Peer) -> JsonObject:
        asked = request.params.get("protocolVersion")
        if not isinstance(asked, str):
            raise RpcError(INVALID_PARAMS, "'protocolVersion' is not a string")
        capabilities = as_object(request.params.get("capabilities"))
        client = client_of(capabilities, request.params.get("clientInfo"), self._tool_set)
        self._peer = Peer(self._connection, self._roots, client, capabilities)
        self._is_initialized, self._has_asked = True, False
        if self._peer.has_roots:
            # The client is asked once it is initialized.
            self._roots.expect()
        self._load_soon(client)
        return {
            "protocolVersion": asked if asked in VERSIONS else VERSIONS[-1],
            "capabilities": _CAPABILITIES,
            "serverInfo": SERVER_INFO,
            "instructions": self._instructions(client),
        }

    def _discover(self, _: RpcRequest, peer: Peer) -> JsonObject:
        return {
            "supportedVersions": [*STATELESS_VERSIONS],
            "capabilities": _CAPABILITIES,
            "instructions": self._instructions(peer.client),
        }

    def _instructions(self, client: Client) -> str:
        """The introduction to the tools that the client sees."""
        if not self._read_only:
            return _INSTRUCTIONS
        return _INSTRUCTIONS_TO_READ if client.is_agent else _READ_ONLY_INSTRUCTIONS

    def _load_soon(self, client: Client) -> None:
        """Load what the first call needs while the client reads the first answer."""
        if not self._is_loaded:
            self._is_loaded = True
            threading.Thread(target=self._load, args=(client,), daemon=True).start()

    def _load(self, client: Client) -> None:
        import git_boocode.repo.libgit2
        import git_boocode.server.handlers  # noqa: F401

        self._tools.listed(client, read_only=self._read_only)
        # A command that ends soon collects hardly any garbage. What is loaded now stays.
        gc.freeze()
        gc.set_threshold(_GC_THRESHOLD)

    def _set_level(self, request: RpcRequest, peer: Peer) -> JsonObject:
        peer.level = level_number(request.params.get("level"))
        return {}

    def _list_tools(self, _: RpcRequest, peer: Peer) -> JsonObject:
        return {"tools": self._tools.listed(peer.client, read_only=self._read_only)}

    def _listen(self, pending: PendingRequest) -> None:
        """Begin a subscription, which lasts until the client cancels it or the connection ends.

        Of what can be reported, only changes of turns and proposals are.
        """
        wanted = pending.request.params.get("notifications")
        if not isinstance(wanted, dict):
            raise RpcError(INVALID_PARAMS, "'notifications' is not an object")
        named = wanted.get("resourceSubscriptions")
        uris = [uri for uri in WATCHED if isinstance(named, list) and uri in named]
        if uris:
            self._lanes.read(partial(self._watch_for, pending, uris))
        else:
            self._acknowledge(pending, {})

    def _watch_for(self, pending: PendingRequest, uris: list[str]) -> None:
        def tell(uri: str) -> None:
            params = {**_subscription(pending), "uri": uri}
            pending.notify("notifications/resources/updated", params)

        self._watch.subscribe(pending, uris, pending.peer.roots.repositories(), tell)
        if pending.is_cancelled:
            self._watch.forget(pending)
        self._acknowledge(pending, {"resourceSubscriptions": uris})

    def _acknowledge(self, pending: PendingRequest, granted: JsonObject) -> None:
        params = {**_subscription(pending), "notifications": granted}
        pending.notify("notifications/subscriptions/acknowledged", params)

    def _subscribe(self, pending: PendingRequest) -> JsonObject:
        """Report changes of a resource to the client of the session."""
        uri, peer = _watched(pending.request), pending.peer

        def tell(uri: str) -> None:
            peer.notify("notifications/resources/updated", {"uri": uri})

        self._watch.subscribe(None, (uri,), peer.roots.repositories(), tell)
        return {}

    def _unsubscribe(self, request: RpcRequest, _: Peer) -> JsonObject:
        self._watch.forget(None, (_watched(request),))
        return {}

    def _read(self, read: Callable[[PendingRequest], JsonObject], pending: PendingRequest) -> None:
        self._lanes.read(partial(pending.finish, partial(read, pending)))

    def _list_resources(self, pending: PendingRequest) -> JsonObject:
        from git_boocode.server.resources import list_resources

        cursor = pending.request.params.get("cursor")
        if not isinstance(cursor, str | None):
            raise RpcError(INVALID_PARAMS, "'cursor' is not a string")
        with _explained():
            return list_resources(_repositories(pending), cursor)

    def _list_templates(self, *_: object) -> JsonObject:
        from git_boocode.server.resources import TEMPLATES

        return {"resourceTemplates": TEMPLATES}

    def _read_resource(self, pending: PendingRequest) -> JsonObject:
        from git_boocode.server.resources import read_resource

        uri = pending.request.params.get("uri")
        if not isinstance(uri, str):
            raise RpcError(INVALID_PARAMS, "'uri' is not a string")
        with _explained():
            found = read_resource(_repositories(pending), uri)
        if found is None:
            code = pending.peer.missing_resource
            raise RpcError(code, "there is no such resource", {"uri": uri})
        return found


def _watched(request: RpcRequest) -> str:
    """The resource of a subscription (RpcError)."""
    uri = request.params.get("uri")
    if uri not in WATCHED:
        raise RpcError(INVALID_PARAMS, f"'uri' is not one of {', '.join(WATCHED)}")
    return str(uri)


def _repositories(pending: PendingRequest) -> list[Repository]:
    """The repositories that a request may read."""
    found = pending.peer.roots.repositories()
    for repository in found:
        repository.watch(pending.watch)
    return found


def _subscription(pending: PendingRequest) -> JsonObject:
    """What relates a message to the subscription that a request has begun."""
    return {"_meta": {SUBSCRIPTION: pending.id}}


@contextmanager
def _explained() -> Iterator[None]:
    """Raise the errors of a service as errors of the protocol."""
    try:
        yield
    except BoocodeError as error:
        raise RpcError(INTERNAL_ERROR, error.message, error.as_json()) from None
    except OSError as error:
        raise RpcError(INTERNAL_ERROR, from_os(error).message) from None


def serve(
    directory: str | None, tools: DefinedTools, tool_set: str | None, *, read_only: bool
) -> int:
    """Serve the client on standard input and output until it closes the connection.

    `directory` is in the only worktree that is served; None for those of the client's roots. The
    client sees `tool_set`; None for what it asks for, or what suits it.
    Returns the exit code; FatalError if the directory has no worktree.
    """
    # A server is asked for many worktrees, so the one of its own environment does not matter.
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_PREFIX"):
        os.environ.pop(name, None)
    repo = None
    if directory is not None:
        from git_boocode.repo.repository import Repository

        repo = Repository.discover(os.path.abspath(directory)).worktree
    # Calls mostly wait for the disk, and would each time wait for a busy thread as well.
    sys.setswitchinterval(_SWITCH)
    connection = Connection()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: connection.close())
    roots = Roots(repo, os.getcwd())
    # The directory in which the server was started may go.
    os.chdir(os.path.sep)
    Session(connection, roots, tools, tool_set, read_only=read_only).serve()
    return 0
