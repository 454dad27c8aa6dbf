"""What the clients for editors are shown: a file, and edits of it."""

from __future__ import annotations

import json

WORDS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]

TEXT = "".join(f"{word}\n" for word in WORDS)

CHANGED = ["one", "TWO", *WORDS[2:5], "new", "six", "seven", "nine", "ten"]

PATH = "with space/naïve ü.txt"


def three_edits(path: str = PATH) -> str:
    """Edits that change a line, insert one after `five`, and delete one: three hunks."""
    pairs = [("two\n", "TWO\n"), ("five\n", "five\nnew\n"), ("eight\n", "")]
    edits = [{"path": path, "old_string": old, "new_string": new} for old, new in pairs]
    return json.dumps(edits, ensure_ascii=False)
