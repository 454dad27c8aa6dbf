"""The other end of the connection: who it is, which worktrees it may use, and what it is sent.

`initialize` describes the client for all requests of a session. Since revision 2026-07-28 there
is no session: every request describes its client in `_meta`.
"""

from __future__ import annotations

from collections.abc import Iterable

from git_boocode import __version__
from git_boocode.repo.errors import shortened
from git_boocode.server.json_rpc import (
    INVALID_PARAMS,
    RESOURCE_NOT_FOUND,
    UNSUPPORTED_VERSION,
    Connection,
    JsonObject,
    RpcError,
    RpcRequest,
    as_object,
    request_message,
    result_message,
)
from git_boocode.server.roots import Roots
from git_boocode.server.tools import AGENT, Client, client_of

STATELESS_VERSIONS = ("2026-07-28",)
"""The revisions of the protocol without sessions, the newest last."""
LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
SERVER_INFO = {"name": "git-boocode", "version": __version__}
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
_VERSION = "io.modelcontextprotocol/protocolVersion"
_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
_INFO = "io.modelcontextprotocol/clientInfo"
_LEVEL = "io.modelcontextprotocol/logLevel"
_SERVER_INFO = "io.modelcontextprotocol/serverInfo"
_FRESH = 300_000
"""Milliseconds for which a client may keep what stays the same as long as the server runs."""
_TTL = {
    "server/discover": _FRESH,
    "tools/list": _FRESH,
    "resources/templates/list": _FRESH,
    "resources/list": 0,
    "resources/read": 0,
}
"""Milliseconds for which a client may keep the result of a request, by its method."""


class Peer:
    """The client of a session, with its capabilities."""

    missing_resource = RESOURCE_NOT_FOUND
    """The code of the error for a resource that does not exist."""
    must_name_roots = False
    """Whether a call has to be made again, with the roots of the client."""

    def __init__(
        self, connection: Connection, roots: Roots, client: Client, capabilities: JsonObject
    ) -> None:
        self._connection = connection
        self.roots = roots
        self.client = client
        self.has_roots = "roots" in capabilities and not roots.are_fixed
        """Whether the client is asked which its roots are."""
        own = as_object(as_object(capabilities.get("experimental")).get("git-boocode"))
        self._is_exact = own.get("surrogates") is True
        self.level: int | None = LEVELS.index("warning")
        """The least of the levels that are logged; None for none."""
        self.warned: set[object] = set()
        """What it has been warned of."""

    def send(self, message: JsonObject, *, exact: bool = False) -> None:
        """Send a message, if `exact` with the bytes that are not UTF-8 as the client sends them."""
        self._connection.send(message, exact=exact or self._is_exact)

    def notify(self, method: str, params: JsonObject) -> None:
        """Send a notification."""
        self.send(request_message(None, method, params))

    def log(self, level: str, message: str) -> None:
        """Report what happened, unless that is less than the client wants to know."""
        if self.level is not None and LEVELS.index(level) >= self.level:
            params = {"level": level, "logger": "git-boocode", "data": message}
            self.notify("notifications/message", params)

    def answer(self, request: RpcRequest, result: JsonObject) -> JsonObject:
        """The message that answers a request."""
        return result_message(request.id, result)


class RequestPeer(Peer):
    """The client of a single request, which describes it; RpcError if it does so wrongly.

    It sees `tool_set`; None for what it asks for, or what suits it.
    """

    missing_resource = INVALID_PARAMS

    def __init__(
        self, connection: Connection, roots: Roots, request: RpcRequest, tool_set: str | None
    ) -> None:
        meta = as_object(request.params.get("_meta"))
        version, capabilities = meta.get(_VERSION), meta.get(_CAPABILITIES)
        if not isinstance(version, str):
            raise RpcError(INVALID_PARAMS, f"'{_VERSION}' in '_meta' is not a string")
        if version not in STATELESS_VERSIONS:
            known = {"supported": [*STATELESS_VERSIONS], "requested": shortened(version)}
            message = f"revision '{shortened(version)}' of the protocol is not supported"
            raise RpcError(UNSUPPORTED_VERSION, message, known)
        if not isinstance(capabilities, dict):
            raise RpcError(INVALID_PARAMS, f"'{_CAPABILITIES}' in '_meta' is not an object")
        uris = _named_roots(request)
        client = client_of(capabilities, meta.get(_INFO), tool_set, nameless=AGENT)
        super().__init__(connection, roots.of_request(uris), client, capabilities)
        self.must_name_roots = self.has_roots and uris is None
        self.level = None if _LEVEL not in meta else level_number(meta[_LEVEL])

    def answer(self, request: RpcRequest, result: JsonObject) -> JsonObject:
        """The message that answers a request; a result is complete unless it says otherwise."""
        full = {"resultType": "complete", **result}
        if full["resultType"] == "complete" and request.method in _TTL:
            # Some of them depend on the client, or on its roots.
            full |= {"ttlMs": _TTL[request.method], "cacheScope": "private"}
        full["_meta"] = {**as_object(result.get("_meta")), _SERVER_INFO: SERVER_INFO}
        return result_message(request.id, full)


def describes_peer(request: RpcRequest) -> bool:
    """Whether a request describes its client, as none of a session does."""
    if request.method == "initialize":
        return False
    meta = as_object(request.params.get("_meta"))
    return request.method == "server/discover" or _VERSION in meta or _CAPABILITIES in meta


def _named_roots(request: RpcRequest) -> Iterable[str] | None:
    """The roots that a client names because its call was answered with the request to do so."""
    found = as_object(request.params.get("inputResponses")).get("roots")
    if found is None:
        return None
    roots = as_object(found).get("roots")
    if not isinstance(roots, list):
        raise RpcError(INVALID_PARAMS, "'roots' in 'inputResponses' is not a list of roots")
    return root_uris(roots)


def root_uris(roots: Iterable[object]) -> list[str]:
    """The URIs in a client's list of roots."""
    return [str(each.get("uri")) for each in roots if isinstance(each, dict)]


def level_number(level: object) -> int:
    """How much a level of the log is (RpcError)."""
    if level not in LEVELS:
        raise RpcError(INVALID_PARAMS, f"the log level is not one of {', '.join(LEVELS)}")
    return LEVELS.index(level)
