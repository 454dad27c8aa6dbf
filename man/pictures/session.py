"""The README's pictures of a terminal, as animated SVG.

In `session.svg`, a turn of an agent goes wrong and is taken back; in `revert.svg`, it is one turn
of two agents. `python -m man.pictures.session` draws them from the beginnings of transcripts of the
tests, which `python -m tests.sessions` writes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

_HERE = Path(__file__).parent
_TRANSCRIPTS = _HERE.parents[1] / "tests/sessions"
# Columns, pixels and seconds.
_COLUMNS, _CHARACTER, _LINE, _MARGIN = 120, 8.4, 20, 16
_TYPING, _READING, _AT_THE_END = 1.2, 0.3, 6.0
_KINDS = {"$ ": "typed", "●": "note", "hint:": "hint", " D ": "loss"}
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


class Session(NamedTuple):
    """A picture, its title, the transcript, and how many parts of it the picture shows."""

    picture: Path
    title: str
    transcript: Path
    parts: int


RESTORE = Session(
    _HERE / "session.svg",
    "An agent deletes a file; git boocode restore, then undo",
    _TRANSCRIPTS / "day-with-an-agent.md",
    3,
)
REVERT = Session(
    _HERE / "revert.svg",
    "Two agents and the user change a file; git boocode revert takes back one turn",
    _TRANSCRIPTS / "one-turn-back.md",
    2,
)
PICTURE = RESTORE.picture


class Line(NamedTuple):
    """A line of the terminal, and the kind of text it is: a class of the picture's style."""

    text: str
    kind: str = ""


def lines(session: Session = RESTORE) -> Iterator[Line]:
    """The lines of the transcript's first parts."""
    blocks = session.transcript.read_text(encoding="utf-8").split("```")[1::2][: session.parts]
    for text in "\n".join(block.removeprefix("console\n") for block in blocks).splitlines():
        assert len(text) <= _COLUMNS, f"too long for the picture: {text}"
        yield Line(text, next((kind for mark, kind in _KINDS.items() if text.startswith(mark)), ""))


def picture(lines: list[Line], title: str = RESTORE.title) -> str:
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
            f"<title>{escape(title)}</title>",
            "<style>",
            *style,
            "</style>",
            f'<rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8"/>',
            *texts,
            "</svg>\n",
        ]
    )


if __name__ == "__main__":
    for each in (RESTORE, REVERT):
        each.picture.write_text(picture(list(lines(each)), each.title), encoding="utf-8")
