"""`git boocode view --serve`: the page on a loopback address, its news, and its restores.

Every request must carry the random token, the right Host, and, where it changes something, the
page's own Origin. Nothing else is served, and no file by its name.
"""

from __future__ import annotations

import hmac
import json
import os
import re
import secrets
import socketserver
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Any

from git_boocode.checkpoints.restore.request import (
    PICK,
    REFUSALS,
    RESTORE,
    REVERT,
    RestoreRequest,
)
from git_boocode.checkpoints.turn_changes import FileCache
from git_boocode.cli.output import print_feedback, print_hints, print_json, print_text, wants_json
from git_boocode.cli.view_page import open_in_browser, page_html
from git_boocode.cli.view_requests import (
    Answer,
    expected_in,
    force_in,
    form_in,
    id_in,
    invalid,
    is_after,
    is_part,
    is_preview,
    is_text,
    state_in,
    step_request,
    take_back_request,
)
from git_boocode.repo.durable import make_state_dir, read_private_json, remove, write_private
from git_boocode.repo.errors import (
    BoocodeError,
    FatalError,
    NextStep,
    RefusedError,
    from_os,
    shell_command,
)
from git_boocode.repo.layout import PAGE_ADDRESS, served_page
from git_boocode.repo.object_writer import temporary_objects
from git_boocode.repo.repository import Repository
from git_boocode.workflows import restore_with_edits
from git_boocode.workflows.restore_parts import ChangedFile, files_to_choose, restore_parts
from git_boocode.workflows.take_back import take_back
from git_boocode.workflows.turn_conversation import conversation_of_turn
from git_boocode.workflows.view_data import blame_file, row_data, turn_data
from git_boocode.workflows.view_diffs import (
    compare_data,
    file_data,
    turns_with_text,
)

_HOST = "127.0.0.1"
_TOKEN = re.compile(r"[A-Za-z0-9_-]{43}")
_TOKEN_HEADER = "Boocode-Token"
_LARGEST_BODY = 64 << 10
_MOST_PARTS = 200  # of a file that can be chosen in a dialog
_LONGEST_TEXT = 200  # characters to search for
_MOST_ANSWERS = 32  # that are made at once
_PATIENCE = 10  # seconds without a byte of a request after which its connection is closed
_PAUSE = 0.1  # seconds after a connection that could not be accepted
_FAREWELL = 5  # seconds for requests that are being answered at the end
_HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "frame-ancestors 'none'",
}


def serve_page(repository: Repository, most: int, port: int | None, *, opens: bool) -> int:
    """Serve until Ctrl-C; FatalError if the port cannot be used."""
    try:
        server = _server(repository, most, port)
    except OSError as error:
        hint = "without --port, one that is free is chosen"
        reason = (error.strerror or str(error)).lower()
        raise FatalError(
            f"cannot listen on port {port or 0}: {reason}", code="io", hints=(hint,)
        ) from None
    entrance = os.path.join(repository.state_dir, served_page(secrets.token_hex(6)))
    try:
        if wants_json():
            print_json({"ok": True, "url": server.url})
        else:
            print_text(server.url)
            print_feedback("serving until Ctrl-C; whoever knows this address can restore")
        if opens and _write_entrance(server.url, entrance):
            # A browser may stay in the foreground.
            threading.Thread(target=_open, args=(entrance,), daemon=True).start()
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        with suppress(OSError):
            remove(entrance)
        # A restore that is running is finished first.
        server.changing.acquire()
        server.server_close()
        server.wait_for_requests()
    return 0


def _server(repository: Repository, most: int, port: int | None) -> ViewServer:
    """A server with the address of the worktree's last one, so that an open tab goes on.

    Without that port, another one, which the next server takes.
    """
    path = os.path.join(repository.state_dir, PAGE_ADDRESS)
    last, token = 0, secrets.token_urlsafe(32)
    match read_private_json(path):
        case {"port": int(number), "token": str(text)} if _TOKEN.fullmatch(text):
            last, token = number, text
    server = None
    if port is None:
        with suppress(OSError, OverflowError):
            server = ViewServer(repository, most, last, token)
    server = server or ViewServer(repository, most, port or 0, token)
    with suppress(OSError, BoocodeError):
        make_state_dir(repository.state_dir)
        address = json.dumps({"port": server.port, "token": token})
        write_private(path, address.encode(), to_disk=False)
    return server


def _write_entrance(url: str, path: str) -> bool:
    """Write a private file that leads to the page; all users see the arguments of a browser."""
    text = f'<!doctype html>\n<meta http-equiv="refresh" content="0;url={url}">\n'
    with suppress(OSError, BoocodeError):
        make_state_dir(os.path.dirname(path))
        write_private(path, text.encode(), to_disk=False)
        return True
    return False


def _open(entrance: str) -> None:
    if not open_in_browser(entrance):
        print_hints(("no browser was found; open the address above in one",))


class ViewServer(socketserver.ThreadingMixIn, socketserver.TCPServer):
    """A server of one page of one worktree, at `url`.

    `changing` is held during a restore, `answering` while an answer is made.
    """

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, repository: Repository, most: int, port: int, token: str) -> None:
        self.most = most
        self.cache: FileCache = {}
        self.changing = threading.Lock()
        self.token = token
        self._worktree, self._git_dir = repository.worktree, repository.git_dir
        self.answering = threading.BoundedSemaphore(_MOST_ANSWERS)
        super().__init__((_HOST, port), _Handler)
        self.port = self.server_address[1]
        self.url = f"http://{_HOST}:{self.port}/{self.token}/"

    def repository(self) -> Repository:
        """The worktree, found anew: each request binds its git differently (RefusedError)."""
        found = Repository.discover(self._worktree)
        if (found.worktree, found.git_dir) != (self._worktree, self._git_dir):
            raise RefusedError(
                f"'{self._worktree}' is no longer the worktree that was opened",
                code="other_worktree",
                hints=("start 'git boocode view --serve' again",),
            )
        return found

    def get_request(self) -> Any:  # noqa: ANN401 - socketserver's own
        """Accept a connection; without a free descriptor, let a moment pass until the next try."""
        try:
            return super().get_request()
        except OSError:
            time.sleep(_PAUSE)
            raise

    def wait_for_requests(self) -> None:
        """Wait a while for what is being answered, whose private files are removed at its end."""
        deadline = time.monotonic() + _FAREWELL
        for _ in range(_MOST_ANSWERS):
            self.answering.acquire(timeout=max(0.0, deadline - time.monotonic()))

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401, ARG002 - socketserver's own
        """Report errors that are no fault of the client."""
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            print_text(f"error: {type(error).__name__}: {error}", to_stderr=True)

    # What the page asks for.

    def page(self) -> bytes:
        """The page with its turns."""
        return page_html(self.rows(), served=True)

    def rows(self, known: str = "") -> Answer:
        """The turns, and a state that changes with them; nothing if that is known."""
        found = row_data(self.repository(), self.most, self.cache, known)
        return {"ok": True, **found} if found else {}

    def turn(self, identifier: str) -> Answer:
        """The details of a turn."""
        return {"ok": True, **turn_data(self.repository(), identifier, self.most)}

    def blame(self, body: Answer) -> Answer:
        """Who wrote which line of a file."""
        path = body.get("path")
        if not is_text(path):
            raise invalid("path")
        return {"ok": True, **blame_file(self.repository(), path)}

    def file(self, body: Answer) -> Answer:
        """One file of a turn, with all of its diff."""
        path = body.get("path")
        if not is_text(path):
            raise invalid("path")
        form, name = form_in(body), id_in(body, "turn")
        return {"ok": True, **file_data(self.repository(), name, path, form, self.most)}

    def compare(self, body: Answer) -> Answer:
        """The files that differ between two states."""
        paths = body.get("paths", [])
        if not isinstance(paths, list) or not all(map(is_text, paths)):
            raise invalid("paths")
        states = state_in(body, "old"), state_in(body, "new")
        return {"ok": True, **compare_data(self.repository(), *states, paths, form_in(body))}

    def search(self, body: Answer) -> Answer:
        """The turns with a changed line that contains a text."""
        text = body.get("text")
        if not is_text(text) or "\n" in text or len(text) > _LONGEST_TEXT:
            raise invalid("text")
        return {"ok": True, **turns_with_text(self.repository(), text, self.most)}

    def conversation(self, body: Answer) -> Answer:
        """What was said in a turn."""
        found = conversation_of_turn(self.repository(), id_in(body, "turn"))
        return {"ok": True, "conversation": found.as_json()}

    def restore(self, body: Answer) -> Answer:
        """Restore the worktree to before a turn; with `preview`, only report what would change.

        With `expect`, the `version` of the preview that was shown, nothing else is done.
        """
        request = RestoreRequest(
            conversation=body.get("conversation") is not False,
            after=is_after(body),
            head=body.get("head") is True,
            dry_run=is_preview(body),
            force=force_in(body, REFUSALS[RESTORE]),
            seen=expected_in(body),
        )
        identifier = id_in(body, "id")
        with self.changing:
            return restore_with_edits.restore(self.repository(), identifier, request).as_json()

    def parts(self, body: Answer) -> Answer:
        """The parts of some files that a restore to before a turn would change."""
        paths = body.get("paths")
        if not isinstance(paths, list) or not all(map(is_text, paths)):
            raise invalid("paths")
        repository = self.repository()
        with temporary_objects(repository):
            files, left_alone = files_to_choose(
                repository, id_in(body, "id"), paths, after=is_after(body)
            )
        return {
            "ok": True,
            "files": _parts_json(files, RESTORE, id_in(body, "id")),
            "left_alone": left_alone,
        }

    def restore_parts(self, body: Answer) -> Answer:
        """Restore parts of files, as `parts` listed them, to before a turn, or `preview` it."""
        files = body.get("files")
        if not isinstance(files, list) or not files or not all(map(is_part, files)):
            raise invalid("files")
        numbers = {file["path"]: file["numbers"] for file in files}
        versions = {file["path"]: file["version"] for file in files}
        name = id_in(body, "id")
        request = RestoreRequest(conversation=False, after=is_after(body), dry_run=is_preview(body))
        with self.changing:
            return restore_parts(self.repository(), name, request, numbers, versions).as_json()

    def revert(self, body: Answer) -> Answer:
        """Take turns back, or parts of them, and keep what others wrote since."""
        return self._taken_back(REVERT, body)

    def pick(self, body: Answer) -> Answer:
        """Do here what turns did, or parts of it."""
        return self._taken_back(PICK, body)

    def _taken_back(self, command: str, body: Answer) -> Answer:
        """What is done, or with `preview` would be; with `hunks`, also what can be chosen of it."""
        request = take_back_request(body)
        with self.changing:
            done = take_back(self.repository(), command, request)
        # Of a preview, with the numbers of lines.
        answer = {**done.as_json(), "changed": done.result.as_json()["changed"]}
        if request.dry_run and request.hunks is not None:
            answer["files"] = _parts_json(done.files, command, *request.turns)
        return answer

    def undo(self, body: Answer) -> Answer:
        """Undo the operation that the page names by its safety checkpoint, if it is the latest."""
        with self.changing:
            request = step_request(body, "restored")
            return restore_with_edits.undo(self.repository(), request).as_json()

    def redo(self, body: Answer) -> Answer:
        """Redo what was undone, if the undo that the page names is the latest."""
        with self.changing:
            request = step_request(body, "undone")
            return restore_with_edits.redo(self.repository(), request).as_json()


def _parts_json(files: Sequence[ChangedFile], command: str, *turns: str) -> list[Answer]:
    """What can be chosen of some files; RefusedError if that is too much for a page."""
    for file in files:
        if (count := len(file.numbers)) > _MOST_PARTS:
            typed = shell_command("git", "boocode", command, "-p", *turns, "--", file.path)
            raise RefusedError(
                f"'{file.path}' has {count:,} hunks, which are too many to choose from",
                code="invalid_input",
                hints=(
                    NextStep("choose them in a terminal with {}", "paths", typed=typed, given={}),
                ),
            )
    return [file.parts_json() for file in files]


def _same(given: str, secret: str) -> bool:
    """Whether a text is a secret one; the time that this takes does not depend on it."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), secret.encode())


def _refusal(error: BoocodeError) -> Answer:
    """The answer of an error, whose `hint` has only what is not a step of `next`."""
    answer: Answer = error.as_json()
    if error.next_steps:
        others = (hint for hint in error.hints if not isinstance(hint, NextStep))
        answer["error"]["hint"] = "\n".join(others)
    return answer


class _Handler(BaseHTTPRequestHandler):
    """Checks a request, and answers it."""

    server: ViewServer
    timeout = _PATIENCE
    server_version = "git-boocode"
    sys_version = ""

    def do_GET(self) -> None:
        """Answer the page, its news, and the details of a turn."""
        with self.server.answering:
            self._get()

    def _get(self) -> None:
        if not self._is_own(changes=False):
            self._reply(HTTPStatus.FORBIDDEN)
        elif _same(self.path, f"/{self.server.token}/"):
            self._reply(HTTPStatus.OK, self.server.page(), "text/html; charset=utf-8")
        elif not self._has_token():
            self._reply(HTTPStatus.FORBIDDEN)
        elif self.path == "/data":
            self._news()
        elif self.path.startswith("/turn/"):
            self._answer(lambda: self.server.turn(self.path.removeprefix("/turn/")))
        else:
            self._reply(HTTPStatus.NOT_FOUND)

    def do_POST(self) -> None:
        """Answer what needs a body, and what changes something."""
        actions = {
            "/blame": self.server.blame,
            "/conversation": self.server.conversation,
            "/file": self.server.file,
            "/compare": self.server.compare,
            "/search": self.server.search,
            "/restore": self.server.restore,
            "/parts": self.server.parts,
            "/restore-parts": self.server.restore_parts,
            "/revert": self.server.revert,
            "/pick": self.server.pick,
            "/undo": self.server.undo,
            "/redo": self.server.redo,
        }
        if not (self._is_own(changes=True) and self._has_token()):
            self._reply(HTTPStatus.FORBIDDEN)
        elif self.path not in actions:
            self._reply(HTTPStatus.NOT_FOUND)
        elif (body := self._body()) is not None:
            with self.server.answering:
                self._answer(lambda: actions[self.path](body))

    def _is_own(self, *, changes: bool) -> bool:
        """Whether Host is this server's, and Origin, if given or needed, that of its page."""
        hosts, origins = (self.headers.get_all(name, []) for name in ("Host", "Origin"))
        own = {f"{name}:{self.server.port}" for name in (_HOST, "localhost")}
        if len(hosts) != 1 or hosts[0] not in own:
            return False
        return origins == [f"http://{hosts[0]}"] or (not changes and not origins)

    def _has_token(self) -> bool:
        given = self.headers.get_all(_TOKEN_HEADER, [])
        return len(given) == 1 and _same(given[0], self.server.token)

    def _body(self) -> Answer | None:
        """The JSON object that was sent; None if it was refused."""
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()) or "Transfer-Encoding" in self.headers:
            self._reply(HTTPStatus.LENGTH_REQUIRED)
        elif len(length) > len(str(_LARGEST_BODY)) or int(length) > _LARGEST_BODY:
            self._reply(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        elif self.headers.get_content_type() != "application/json":
            self._reply(HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
        else:
            with suppress(ValueError, RecursionError):
                body = json.loads(self.rfile.read(int(length)))
                if isinstance(body, dict):
                    return body
            self._reply(HTTPStatus.BAD_REQUEST)
        return None

    def _news(self) -> None:
        """The turns, unless the page has them."""
        known = self.headers.get("If-None-Match", "")
        self._answer(lambda: self.server.rows(known))

    def _answer(self, work: Callable[[], Answer]) -> None:
        try:
            answer = work()
        except OSError as error:
            answer = _refusal(from_os(error))
        except BoocodeError as error:
            answer = _refusal(error)
        if not answer:
            self._reply(HTTPStatus.NOT_MODIFIED)
            return
        self._reply(HTTPStatus.OK, json.dumps(answer).encode("ascii"), "application/json")

    def _reply(self, status: HTTPStatus, body: bytes = b"", kind: str = "text/plain") -> None:
        self.send_response(status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        if status != HTTPStatus.NOT_MODIFIED:
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002 - http.server's own
        """Answer a request that cannot be read, or another method, without any detail."""
        self.close_connection = True
        with suppress(ValueError):
            self._reply(HTTPStatus(code))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - http.server's own
        """Log nothing: addresses contain the token."""
