"""The page of `git boocode view`: one HTML file with its style, its script and its data.

The browser runs only the style and the script of this package, by their hashes. Data is JSON in
which no character can end its element; the script makes text nodes of it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import sys
import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import Any

PAGE_TITLE = b"<title>git boocode view</title>"

_PAGE = Path(__file__).with_name("page")
# In this order; view.js starts the page when all others are there.
_SCRIPTS = (
    "state.js",
    "text.js",
    "redraw.js",
    "diff.js",
    "syntax.js",
    "diff-table.js",
    "tree.js",
    "diff-files.js",
    "diff-actions.js",
    "diff-compare.js",
    "diff-search.js",
    "blame.js",
    "notice.js",
    "times.js",
    "marks.js",
    "entries.js",
    "timeline.js",
    "overview.js",
    "conversation.js",
    "turn.js",
    "commits.js",
    "navigation.js",
    "panes.js",
    "keyboard.js",
    "dialogs.js",
    "refusal.js",
    "undo.js",
    "served.js",
    "view.js",
)
_STYLES = ("view.css", "timeline.css", "diff.css", "conversation.css")
# What a page without a server has of its turns, each parsed when it is needed.
_SEPARATE = ("details", "blame", "conversations")
# What could end the element or be taken for a comment; the rest of the text is ASCII.
_ESCAPES = {ord(character): f"\\u{ord(character):04x}" for character in "<>&"}
# Without one of these, a browser would be one for terminals, which runs no scripts.
_DISPLAYS = ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY")


def page_html(data: dict[str, Any], *, served: bool) -> bytes:
    """The page with its data: the turns, and without a server what is in `_SEPARATE` of them."""
    style, script = _joined(_STYLES), _joined(_SCRIPTS)
    separate = {key: data.get(key, {}) for key in _SEPARATE}
    own = {key: value for key, value in data.items() if key not in separate}
    parts = {
        "policy": content_policy(style, script, served=served),
        "style": style,
        "script": script,
        "data": embedded_json({**own, "served": served}),
        **{key: embedded_json(value) for key, value in separate.items()},
    }
    # What is put in is not searched for further marks.
    text, *rest = _read("view.html").split("{{")
    for piece in rest:
        name, _, after = piece.partition("}}")
        text += parts[name] + after
    return text.encode()


def embedded_json(value: object) -> str:
    """JSON for a script element."""
    return json.dumps(value, separators=(",", ":")).translate(_ESCAPES)


def content_policy(style: str, script: str, *, served: bool) -> str:
    """The Content-Security-Policy, which lets the page load nothing."""
    rules = {
        "default-src": "'none'",
        "style-src": _hash(style),
        "script-src": _hash(script),
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
        **({"connect-src": "'self'"} if served else {}),
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _joined(names: tuple[str, ...]) -> str:
    return "\n".join(map(_read, names))


def _read(name: str) -> str:
    return _PAGE.joinpath(name).read_text(encoding="utf-8")


def open_in_browser(path: str, turn: str = "") -> bool:
    """Open a page in the user's browser, at a turn; False if there is none, or no display."""
    if sys.platform != "darwin" and not any(map(os.environ.get, _DISPLAYS)):
        return False
    with suppress(webbrowser.Error, OSError):
        return webbrowser.open(Path(path).as_uri() + (f"#{turn}" if turn else ""))
    return False
