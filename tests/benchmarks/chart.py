"""A bar chart as SVG, readable on light and dark pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

# Mid tones, told apart in grey too; the text is of a grey that both white and black carry.
_COLOURS = ("#2f9e5b", "#d9a520", "#d6453d", "#8a93a0")
_TEXT = "#7d8590"
_WIDTH, _LEFT, _BAR, _STEP, _TOP = 760, 130, 26, 42, 64


def stacked_bars(
    title: str, parts: Sequence[str], rows: Mapping[str, Sequence[float]], note: str
) -> str:
    """One stacked bar a row.

    Args:
        title: what it shows.
        parts: the names of the parts of each bar.
        rows: for each name, the shares of the parts, 0.0 to 1.0.
        note: a line below the bars.
    """
    height = _TOP + _STEP * len(rows) + 34
    shapes = [_text(0, 18, title, 16), *_legend(parts)]
    for number, (name, shares) in enumerate(rows.items()):
        shapes += _bar(_TOP + _STEP * number, name, shares)
    shapes.append(_text(0, height - 10, note, 12))
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img"'
    body = "\n".join(shapes)
    return f'{head} font-family="sans-serif">\n<title>{escape(title)}</title>\n{body}\n</svg>\n'


def _legend(parts: Sequence[str]) -> list[str]:
    shapes, x = [], _LEFT
    for part, colour in zip(parts, _COLOURS, strict=True):
        shapes.append(f'<rect x="{x}" y="32" width="12" height="12" fill="{colour}"/>')
        shapes.append(_text(x + 18, 43, part, 13))
        x += 30 + 8 * len(part)
    return shapes


def _bar(y: int, name: str, shares: Sequence[float]) -> list[str]:
    shapes, x = [_text(0, y + 18, name, 14)], float(_LEFT)
    for share, colour in zip(shares, _COLOURS, strict=True):
        width = share * (_WIDTH - _LEFT)
        if width:
            shapes.append(
                f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{_BAR}" fill="{colour}"/>'
            )
        if width > 44:
            label = f"{100 * share:.1f} %"
            shapes.append(_text(x + 6, y + 18, label, 12, "#ffffff"))
        x += width
    return shapes


def _text(x: float, y: float, text: str, size: int, colour: str = _TEXT) -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size}" fill="{colour}">{escape(text)}</text>'
