"""Parsers and matchers accept any bytes: they answer, or raise one of their documented errors.

A target is a function that takes bytes. It may raise nothing: the errors that a caller has to
expect are caught where the target calls the code, everything else is a bug.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress

from git_boocode.editing.actions import Replace
from git_boocode.editing.answer import retry_context
from git_boocode.editing.edits import MatchOptions, MissError
from git_boocode.editing.formats import FORMATS
from git_boocode.editing.formats.objects import parse_json
from git_boocode.editing.inputs import Inputs, Source, read_inputs
from git_boocode.editing.revert import Revert
from git_boocode.editing.textfile import decode
from git_boocode.matching import PROFILES, MatchError, locate_match, replace_text
from tests.hostile import outside_targets

SEPARATOR = b"\0\0"
"""Two NUL bytes separate the parts of an input that a target reads as several texts."""


def parts(data: bytes, count: int) -> list[bytes]:
    """The first `count` parts of an input; those that are missing are empty."""
    found = data.split(SEPARATOR, count - 1)
    return found + [b""] * (count - len(found))


def texts(data: bytes, count: int) -> list[str]:
    """The parts as text; bytes that are not UTF-8 as surrogates."""
    return [part.decode("utf-8", "surrogateescape") for part in parts(data, count)]


def read_edits(data: bytes, only: str | None = None) -> None:
    """Read edits, then apply each to a file that is the second part of the input."""
    given, content = parts(data, 2)
    inputs = read_inputs([Source("input", given)], only)
    assert inputs.edits or inputs.failures
    retry_context(inputs.failures, len(inputs.edits))
    apply_all(inputs, content)


def apply_all(inputs: Inputs, content: bytes) -> None:
    for edit in inputs.edits[:20]:
        with suppress(MissError):
            edit.action.apply(decode(content), MatchOptions())


def edits_in_format(name: str) -> Callable[[bytes], None]:
    return lambda data: read_edits(data, name)


def edits_as_patch(data: bytes) -> None:
    """A patch inside an object, so that any bytes reach the parser of the text."""
    patch, content = texts(data, 2)
    given = json.dumps({"path": "a", "patch": patch})
    inputs = read_inputs([Source("input", given.encode())])
    apply_all(inputs, content.encode("utf-8", "surrogateescape"))


def lenient_json(data: bytes) -> None:
    with suppress(MissError):
        parse_json(data.decode("utf-8", "surrogateescape"))


def locate(data: bytes) -> None:
    content, needle = texts(data, 2)
    for profile in PROFILES:
        with suppress(MatchError):
            locate_match(content, needle, profile)


def replace(data: bytes) -> None:
    content, old, new = texts(data, 3)
    for profile in PROFILES:
        for every in (False, True):
            with suppress(MatchError):
                replace_text(content, old, new, every, profile)


def replace_action(data: bytes) -> None:
    """The action that the formats share, on a file of any encoding."""
    _, old, new = texts(data, 3)
    with suppress(MissError):
        Replace(old, new).apply(decode(parts(data, 3)[0]), MatchOptions())


def rewind(data: bytes) -> None:
    before, after, now = parts(data, 3)
    with suppress(MissError):
        Revert(before, after).apply(decode(now), MatchOptions())


TARGETS: dict[str, Callable[[bytes], None]] = {
    "edits": read_edits,
    **{f"edits-{name}": edits_in_format(name) for name in FORMATS},
    "edits-in-json": edits_as_patch,
    "json": lenient_json,
    "locate": locate,
    "replace": replace,
    "replace-action": replace_action,
    "rewind": rewind,
}
ALL = {**TARGETS, **outside_targets.TARGETS}

WORDS: dict[str, tuple[bytes, ...]] = {
    "edits": (
        *(b"\\", b"\\\\n", b"    ", b"\n", b"\r\n", b"\t", b"a", b"0", b'"', b"```\n", b"\xff"),
        *(SEPARATOR, b"...", b"# ... rest\n", b"&lt;", b"\\n", b"{", b"}", b"[", b"]", b":", b","),
        *(b"--- a/f\n+++ b/f\n", b"@@ -1,2 +1,2 @@\n", b"-x\n", b"+y\n", b" z\n"),
        *(b"*** Begin Patch\n", b"*** Update File: f\n", b"*** End Patch\n", b"*** Move to: g\n"),
        *(b"*** Add File: f\n", b"*** Delete File: f\n", b"*** End of File\n", b"------- SEARCH\n"),
        *(b"diff --git a/f b/f\n", b"rename from f\n", b"rename to g\n", b"--- /dev/null\n"),
        *(b"new file mode 100644\n", b"GIT binary patch\n", b"\\ No newline at end of file\n"),
        *(b"+++++++ REPLACE\n", b":start_line:3\n", b"f.py\n", b"```diff\n", b"*** f\n"),
        *(b"<<<<<<< SEARCH\n", b"=======\n", b">>>>>>> REPLACE\n", b"f.py\n", b"@@ f\n"),
        *(b'"path":', b'"old_string":', b'"new_string":', b'"edits":', b'"content":', b'"a"'),
        *(b"[a#1234567]\n", b"PUT 1.=2:\n", b"PUT >$:\n", b"CUT 1\n", b"MV g\n", b"REM\n"),
        *(b'"op":"replace",', b'"pos":', b'"end":', b'"lines":', b'"set_line":', b"insert head:\n"),
        *(b'"changes":', b'"start":', b'"end":', b'"patch":', b'"base":', b'"start_line":'),
    ),
}
"""What the inputs of targets are put together from, by the beginning of a target's name."""


def words(name: str) -> tuple[bytes, ...]:
    """The words for a target; those of `edits` where it has none of its own."""
    known = {**outside_targets.WORDS, **WORDS}
    return next((known[key] for key in known if name.startswith(key)), WORDS["edits"])
