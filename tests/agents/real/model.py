"""A model that does what a test says: an HTTP server on the loopback address.

It answers in the four protocols that agents speak. A protocol makes of a call of a tool, or of None
for the end of the turn, the answer as one object and as the events of a stream. Usage is invented:
agents refuse answers without it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any, NamedTuple

# What the model says at the end of a turn, and to every question without tools.
_SAID = "All done."

Object = dict[str, Any]
Answer = tuple[Object, list[Object]]
_number = count(1)


class ToolCall(NamedTuple):
    """A call of a tool; `arguments` is text if the tool takes plain text.

    Codex only names the `namespace` of the tools of a server in its requests, not the tools.
    """

    tool: str
    arguments: Mapping[str, Any] | str
    namespace: str = ""

    def is_offered(self, request: str, tools: set[str]) -> bool:
        """Whether a request offers the tool, among others."""
        return self.tool in tools or (self.namespace != "" and self.namespace in request)


def tools_of(request: Object) -> set[str]:
    """The names of the tools that a request offers, in any protocol."""
    found: set[str] = set()
    for tool in request.get("tools") or ():
        listed = tool.get("functionDeclarations") or tool.get("tools") or [tool]
        found |= {(each.get("function") or each).get("name", "") for each in listed}
    return found - {""}


def _messages(call: ToolCall | None) -> Answer:
    usage = {"input_tokens": 10, "output_tokens": 5}
    message: Object = {"id": f"msg_{next(_number)}", "type": "message", "role": "assistant"}
    message |= {"model": "scripted", "stop_sequence": None, "usage": usage}
    if call is None:
        reason = "end_turn"
        block: Object = {"type": "text", "text": _SAID}
        empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": _SAID}
    else:
        reason = "tool_use"
        block = {"type": "tool_use", "id": f"toolu_{next(_number)}", "name": call.tool}
        block["input"] = call.arguments
        empty = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(call.arguments)}
    events: list[Object] = [
        {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": empty},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage},
        {"type": "message_stop"},
    ]
    return {**message, "content": [block], "stop_reason": reason}, events


def _responses(call: ToolCall | None) -> Answer:
    number = next(_number)
    if call is None:
        item: Object = {"type": "message", "id": f"msg_{number}", "role": "assistant"}
        item["content"] = [{"type": "output_text", "text": _SAID, "annotations": []}]
    elif isinstance(call.arguments, str):
        item = {"type": "custom_tool_call", "call_id": f"call_{number}", "name": call.tool}
        item["input"] = call.arguments
    else:
        item = {"type": "function_call", "call_id": f"call_{number}", "name": call.tool}
        item["arguments"] = json.dumps(call.arguments)
        item |= {"namespace": call.namespace} if call.namespace else {}
    item |= {"status": "completed"}
    usage: Object = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    usage |= {"input_tokens_details": None, "output_tokens_details": None}
    response = {"id": f"resp_{number}", "object": "response", "model": "scripted"}
    done = {**response, "status": "completed", "output": [item], "usage": usage}
    events: list[Object] = [
        {"type": "response.created", "response": {**response, "status": "in_progress"}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": done},
    ]
    return done, events


def _completions(call: ToolCall | None) -> Answer:
    if call is None:
        reason = "stop"
        message: Object = {"role": "assistant", "content": _SAID}
    else:
        function = {"name": call.tool, "arguments": json.dumps(call.arguments)}
        made = {"index": 0, "id": f"call_{next(_number)}", "type": "function", "function": function}
        reason, message = "tool_calls", {"role": "assistant", "tool_calls": [made]}
    head = {"id": f"chatcmpl-{next(_number)}", "created": 1, "model": "scripted"}
    usage = {"usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}}
    whole = {"index": 0, "message": message, "finish_reason": reason}
    chunk = {**head, "object": "chat.completion.chunk"}
    events: list[Object] = [
        {**chunk, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
        {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}], **usage},
    ]
    return {**head, "object": "chat.completion", "choices": [whole], **usage}, events


def _content(call: ToolCall | None) -> Answer:
    part: Object = {"text": _SAID}
    if call is not None:
        part = {"functionCall": {"name": call.tool, "args": call.arguments}}
    candidate = {"index": 0, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
    whole = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted"}
    return whole, [whole]


# By the end of the path that requests go to.
_PROTOCOLS: dict[str, Callable[[ToolCall | None], Answer]] = {
    "/messages": _messages,
    "/responses": _responses,
    "/chat/completions": _completions,
    ":generateContent": _content,
    ":streamGenerateContent": _content,
}


class Model:
    """The server at `url`.

    The model makes the calls in `pending`, each in answer to the next request that offers the tool,
    and otherwise ends the turn. `conversations` holds the requests that offered tools, as sent,
    the oldest first.
    """

    def __init__(self) -> None:
        self.pending: list[ToolCall] = []
        self.conversations: list[str] = []
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, self))
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, request: str, tools: set[str]) -> ToolCall | None:
        """What to answer to a request that offers these tools: a call, or None to end the turn."""
        with self._lock:
            if tools:
                self.conversations.append(request)
            if self.pending and self.pending[0].is_offered(request, tools):
                return self.pending.pop(0)
            return None


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, model: Model, *connection: Any) -> None:
        self.model = model
        super().__init__(*connection)

    def do_GET(self) -> None:
        self._send('{"object": "list", "data": []}')

    def do_HEAD(self) -> None:
        self._send("")

    def do_POST(self) -> None:
        text, path = self._body(), self.path.partition("?")[0]
        reply = next((make for end, make in _PROTOCOLS.items() if path.endswith(end)), None)
        if reply is None:
            return self._send("{}", status=404)
        request = json.loads(text)
        whole, events = reply(self.model.answer(text, tools_of(request)))
        if not (request.get("stream") or ":stream" in path):
            return self._send(json.dumps(whole))
        heads = [f"event: {each['type']}\n" if "type" in each else "" for each in events]
        lines = "".join(f"{heads.pop(0)}data: {json.dumps(each)}\n\n" for each in events)
        lines += "data: [DONE]\n\n" if path.endswith("/completions") else ""
        return self._send(lines, "text/event-stream")

    def _body(self) -> str:
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        chunks = []
        while size := int(self.rfile.readline(), 16):
            chunks.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(chunks).decode()

    def _send(self, text: str, kind: str = "application/json", status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass  # The terminal is pytest's.
