"""The README's picture: a turn of an agent that goes wrong, taken back, as an animated SVG.

`python -m man.pictures.session` runs the commands in a scratch repository and writes
`session.svg` from what they print. Only the agent is an actor: its prompt goes through the hook
that is installed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

PICTURE = Path(__file__).with_name("session.svg")
PROMPT = "simplify the parser"
_SESSION = "8f4c2a1e-5b7d-4c3f-9a61-0d2e4f6b8c10"
# Columns, pixels and seconds.
_COLUMNS, _CHARACTER, _LINE, _MARGIN = 120, 8.4, 20, 16
_TYPING, _READING, _AT_THE_END = 1.2, 0.3, 6.0
_STYLE = """\
svg { --paper: #ffffff; --ink: #24292f; --faint: #6e7781; --ours: #0a7a3d; --loss: #b3261e; }
@media (prefers-color-scheme: dark) {
  svg { --paper: #0d1117; --ink: #e6edf3; --faint: #8b949e; --ours: #4ac26b; --loss: #ff7b72; }
}
rect { fill: var(--paper); stroke: var(--faint); }
text { font: 14px ui-monospace, Menlo, Consolas, monospace; fill: var(--ink); white-space: pre; }
.typed { font-weight: bold; } .note { fill: var(--faint); }
.hint { fill: var(--ours); } .loss { fill: var(--loss); }
@media (prefers-reduced-motion: reduce) { text { animation: none !important; } }"""


class Line(NamedTuple):
    """A line of the terminal, and the kind of text it is: a class of the picture's style."""

    text: str
    kind: str = ""


def session(top: Path) -> Iterator[Line]:
    """What a person sees who lets an agent work in a new repository, and takes a turn back."""
    (top / "parser.py").write_text("def parse(text):\n    return text.split()\n")
    (top / "main.py").write_text("from parser import parse\n\nprint(parse(input()))\n")
    for command in ("git init -q -b main", "git add .", "git commit -q -m Start"):
        _output(top, command)
    (top / ".git/info/exclude").write_text(".claude\n__pycache__\n")
    # A hint that follows names a path of this machine.
    yield from islice(_run(top, "git boocode hooks install --agent claude-code"), 3)
    yield Line("")
    _say(user="what is this?", assistant="a parser")
    yield Line(f'$ claude "{PROMPT}"', "typed")
    _output(top, "git boocode hook claude-code UserPromptSubmit", _prompt(top))
    (top / "parser.py").unlink()
    (top / "main.py").write_text("print(input().split())\n")
    _say(user=PROMPT, assistant="I removed parser.py")
    _output(top, "git boocode hook claude-code Stop", _prompt(top))
    yield Line("● I removed parser.py and put its one line into main.py.", "note")
    yield from _run(top, "git status --short", "loss")
    yield Line("")
    yield from _run(top, "git boocode restore @")
    yield from _run(top, "python3 main.py <<< 'all is here'")
    yield Line("")
    yield from _run(top, "git boocode undo")


def picture(lines: list[Line]) -> str:
    """The lines as an SVG in which they appear one after another, over and over."""
    moments, now = [], 0.0
    for line in lines:
        now += _TYPING if line.kind == "typed" else _READING
        moments.append(now)
    whole = now + _AT_THE_END
    width = round(_COLUMNS * _CHARACTER + 2 * _MARGIN)
    height = _LINE * len(lines) + 2 * _MARGIN
    style, texts = [_STYLE], []
    for number, (line, moment) in enumerate(zip(lines, moments, strict=True)):
        if not line.text:
            continue
        shown = 100 * moment / whole
        style.append(
            f"@keyframes l{number} {{ 0%, {shown:.1f}% {{ opacity: 0; }}"
            f" {shown + 0.1:.1f}%, 100% {{ opacity: 1; }} }}"
        )
        y = _MARGIN + _LINE * number + 14
        animated = f"animation: l{number} {whole:.1f}s infinite"
        texts.append(
            f'<text x="{_MARGIN}" y="{y}" class="{line.kind}" style="{animated}">'
            f"{escape(line.text)}</text>"
        )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
            "<title>An agent deletes a file; git boocode restore, then undo</title>",
            "<style>",
            *style,
            "</style>",
            f'<rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8"/>',
            *texts,
            "</svg>\n",
        ]
    )


def _run(top: Path, command: str, kind: str = "") -> Iterator[Line]:
    yield Line(f"$ {command}", "typed")
    for text in _output(top, command).splitlines():
        assert len(text) <= _COLUMNS, f"too long for the picture: {text}"
        yield Line(text, "hint" if text.startswith("hint:") else kind)


def _output(top: Path, command: str, stdin: str = "") -> str:
    done = subprocess.run(
        ["bash", "-c", f"{command} 2>&1"],
        cwd=top,
        input=stdin,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout


def _prompt(top: Path) -> str:
    event = {"hook_event_name": "UserPromptSubmit", "prompt": PROMPT, "session_id": _SESSION}
    return json.dumps({**event, "cwd": str(top), "transcript_path": str(_transcript())})


def _transcript() -> Path:
    return Path.home() / f".claude/projects/project/{_SESSION}.jsonl"


def _say(**messages: str) -> None:
    """Let the agent write messages to its transcript, by the names of their authors."""
    _transcript().parent.mkdir(parents=True, exist_ok=True)
    with _transcript().open("a") as file:
        for role, text in messages.items():
            message = {"role": role, "content": text}
            file.write(json.dumps({"type": role, "uuid": text, "message": message}) + "\n")


def main() -> None:
    """Write the picture."""
    with tempfile.TemporaryDirectory() as scratch:
        os.environ.update(GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_NOSYSTEM="1", HOME=scratch)
        for role in ("AUTHOR", "COMMITTER"):
            os.environ.update({f"GIT_{role}_NAME": "A", f"GIT_{role}_EMAIL": "a@example.com"})
        os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        top = Path(scratch, "project")
        top.mkdir()
        PICTURE.write_text(picture(list(session(top))), encoding="utf-8")


if __name__ == "__main__":
    main()
