"""The edit formats as a model is told of them: tool definitions, and guidance for its prompt."""

from __future__ import annotations

from typing import NamedTuple

JsonObject = dict[str, object]

_PATH = {"type": "string", "description": "Path of the file, from the top of the worktree."}
_BASE = {
    "type": "string",
    "description": "Blob id of the file as it was read; the edit is refused if it has changed.",
}
_OLD = {
    "type": "string",
    "description": "The text to replace, copied from the file. It must stand in one place only.",
}
_NEW = {"type": "string", "description": "The text to put there; empty to delete the old one."}
_ALL = {"type": "boolean", "description": "Replace the text in every place where it stands."}
_COUNT = {
    "type": "integer",
    "minimum": 1,
    "description": "How many places there must be; any other number refuses the edit.",
}
_HINT = {
    "type": "integer",
    "minimum": 1,
    "description": "Line at which the old text begins; decides only between equal places.",
}
_LINES = {"type": "array", "items": {"type": "string"}}
_ANCHOR = {**_LINES, "minItems": 1, "maxItems": 4}


class Tool(NamedTuple):
    """One format as a tool.

    Attributes:
        name: what the model calls it.
        description: what it does, for the model.
        schema: the JSON schema of its input.
        example: an input that it takes.
        guide: how to use it well, for a system prompt; Markdown.
    """

    name: str
    description: str
    schema: JsonObject
    example: JsonObject
    guide: str

    def as_json(self) -> JsonObject:
        """The definition, as the API of a model takes it."""
        return {
            "name": self.name,
            "description": self.description,
            "input_schema": self.schema,
        }


def _object(properties: JsonObject, *required: str) -> JsonObject:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


_STRING = {
    "old_string": _OLD,
    "new_string": _NEW,
    "replace_all": _ALL,
    "expected_replacements": _COUNT,
    "start_line": _HINT,
}

TOOLS = {
    "string": Tool(
        "edit_string",
        "Replace a text in a file by another one. The old text must be copied from the file and "
        "stand in one place only, unless replace_all is set. Nothing is changed if it is not found "
        "or stands in several places.",
        _object(
            {"path": _PATH, **_STRING, "base": _BASE},
            "path",
            "old_string",
            "new_string",
        ),
        {
            "path": "greet.py",
            "old_string": "def greet(name):\n    return f'Hi {name}'\n",
            "new_string": "def greet(name):\n    return f'Hello {name}'\n",
        },
        """\
- Copy `old_string` from the file as it stands there, without line numbers; nothing is a pattern.
- Take the lines to change and as many around them as make the text unique: mostly one to three.
- For a rename, set `replace_all`, and `expected_replacements` if you know the count.
- Leave nothing out of `new_string`: a line such as `# ... rest of code` is refused.
""",
    ),
    "multi": Tool(
        "edit_multi",
        "Make several replacements in one call, in order: each sees what the ones before it did. "
        "All are made or none. Name the file once in path, or in each edit.",
        _object(
            {
                "path": _PATH,
                "edits": {
                    "type": "array",
                    "minItems": 1,
                    "items": _object({"path": _PATH, **_STRING}, "old_string", "new_string"),
                },
                "base": _BASE,
            },
            "edits",
        ),
        {
            "path": "greet.py",
            "edits": [
                {"old_string": "def greet(name):", "new_string": "def greet(name: str) -> str:"},
                {"old_string": "f'Hi {name}'", "new_string": "f'Hello {name}'"},
            ],
        },
        """\
- Edits run in order: an `old_string` is looked for in what the edits before it left.
- Merge edits that are within five lines of each other into one.
- If one edit cannot be made, none is: after a refusal send all of them again.
""",
    ),
    "region": Tool(
        "edit_region",
        "Replace whole regions of a file. A region runs from the first line of start to the last "
        "line of end; without end it is just the lines of start. Everything in it, anchors "
        "included, is replaced by content. All regions are located in the file as it is now.",
        _object(
            {
                "path": _PATH,
                "changes": {
                    "type": "array",
                    "minItems": 1,
                    "items": _object(
                        {
                            "start": {
                                **_ANCHOR,
                                "description": "The 1 to 4 lines that the region begins with, "
                                "copied from the file. They must stand in one place only.",
                            },
                            "end": {
                                **_ANCHOR,
                                "description": "The 1 to 4 lines that it ends with, below start. "
                                "Leave it out if start is all of the region.",
                            },
                            "content": {
                                **_LINES,
                                "description": "The lines that will stand there; [] to delete. "
                                "Repeat the lines of start and end that shall stay.",
                            },
                        },
                        "start",
                        "content",
                    ),
                },
                "base": _BASE,
            },
            "path",
            "changes",
        ),
        {
            "path": "greet.py",
            "changes": [
                {
                    "start": ["def greet(name):"],
                    "end": ["    return f'Hi {name}'"],
                    "content": ["def greet(name: str) -> str:", "    return f'Hello {name}'"],
                }
            ],
        },
        """\
- `start` and `end` are 1 to 4 whole lines each, copied from the file with their indentation.
- Choose lines that stand in the file once: a signature, a distinctive statement; not `}` or
  `return`. If one line is not unique, add the next ones.
- `end` is looked for below `start` and must be unique from there on.
- Everything from `start` to `end` goes; `content` is exactly what will stand there. Repeat the
  anchors in it if they shall stay.
- To insert, repeat the anchor in `content` and add the new lines; to delete, send `[]`.
- All changes are located in the file as it is now, not as earlier changes leave it. They must not
  overlap: merge changes that are within five lines of each other.
""",
    ),
    "write": Tool(
        "write_file",
        "Write a whole file: a new one, or all of the content of an existing one. What it held "
        "before is replaced.",
        _object(
            {
                "path": _PATH,
                "content": {"type": "string", "description": "All of the file's text."},
                "base": _BASE,
            },
            "path",
            "content",
        ),
        {"path": "greet.py", "content": "def greet(name):\n    return f'Hello {name}'\n"},
        """\
- Use it for new files, and where most of a file changes; edit otherwise.
- `content` is all of the file. What you leave out is gone.
- Never send a file whole and edits of the same file in one call.
""",
    ),
    "unified": Tool(
        "edit_unified",
        "Apply a unified diff of one or more files. Line numbers may be wrong; the context lines "
        "decide where a hunk goes. All hunks are applied or none.",
        _object(
            {
                "patch": {
                    "type": "string",
                    "description": "The diff, with '--- a/PATH' and '+++ b/PATH' headers and "
                    "'@@ @@' before each hunk; /dev/null for a new or a deleted file.",
                },
            },
            "patch",
        ),
        {
            "patch": "--- a/greet.py\n+++ b/greet.py\n@@ -1,2 +1,2 @@\n def greet(name):\n"
            "-    return f'Hi {name}'\n+    return f'Hello {name}'\n"
        },
        """\
- Begin each file with `--- a/PATH` and `+++ b/PATH`, each hunk with a line that begins with `@@`.
- Every line of a hunk begins with a blank (context), `-` (goes) or `+` (comes), blank lines too.
- Give three unchanged lines above and below a change, copied from the file. They place the hunk;
  do not count lines, `@@ @@` is enough.
- Keep hunks in the order of the file. Merge changes that are within five lines of each other.
""",
    ),
    "search-replace": Tool(
        "edit_search_replace",
        "Replace lines of a file, given as blocks: a line '<<<<<<< SEARCH', the lines to find, a "
        "line '=======', the lines to put there, a line '>>>>>>> REPLACE'. The lines to find must "
        "stand in one place only. An empty search makes a new file.",
        _object(
            {
                "path": _PATH,
                "diff": {"type": "string", "description": "One block or more, in order."},
                "base": _BASE,
            },
            "path",
            "diff",
        ),
        {
            "path": "greet.py",
            "diff": "<<<<<<< SEARCH\n    return f'Hi {name}'\n=======\n"
            "    return f'Hello {name}'\n>>>>>>> REPLACE\n",
        },
        """\
- In prose, put the path of the file alone on the line above each block.
- Markers stand alone on their lines: `<<<<<<< SEARCH`, `=======`, `>>>>>>> REPLACE`.
- Search for whole lines, copied from the file with their indentation: those to change and one to
  three around them, as many as make them unique.
- Several small blocks are better than a large one; they run in order. Merge changes that are
  within five lines of each other.
- An empty search makes a new file; an empty replacement deletes the lines.
""",
    ),
    "apply-patch": Tool(
        "apply_patch",
        "Apply a patch in an envelope: '*** Begin Patch', then for each file '*** Add File: PATH', "
        "'*** Delete File: PATH' or '*** Update File: PATH' (with '*** Move to: PATH' to rename), "
        "then '*** End Patch'. All of it is applied or nothing.",
        _object(
            {"input": {"type": "string", "description": "The patch, with its envelope."}},
            "input",
        ),
        {
            "input": "*** Begin Patch\n*** Update File: greet.py\n@@ def greet(name):\n"
            "-    return f'Hi {name}'\n+    return f'Hello {name}'\n*** End Patch\n"
        },
        """\
- Every line of an added file begins with `+`.
- In an updated file each hunk begins with `@@`, behind which the line of a function or class may
  stand that the hunk is in; its lines begin with a blank, `-` or `+`.
- Give three unchanged lines above and below a change, copied from the file.
- `*** End of File` below a hunk says that it is the last of the file.
""",
    ),
}
"""The formats, by the names that `--format` takes."""

_GENERAL = """\
# Editing files

- Read a file before you edit it, and copy from it what you quote: exactly, with its indentation
  and without line numbers.
- Choose anchors that stand in the file once. One to four lines are enough; if they are not unique,
  take other lines rather than many.
- Merge changes that are within five lines of each other into one.
- Never mix `write` with another edit of the same file in one call, and never leave code out of
  new text: a placeholder such as `... rest of code` is refused.
- A call is applied whole or not at all.
"""

_REFUSED = """\
# When an edit is refused

Nothing was changed. The answer holds a block from `@retry_context` to `@end retry_context`: for
each edit that failed the reason, the nearest real text of the file behind line numbers, and the
edit as it was. Correct what it names and send all edits of the call again.

- not_found: copy the old text anew from the lines shown, without their numbers.
- ambiguous: the text stands in several places; add a line above or below that tells them apart.
- overlap: merge the changes that share lines.
- stale, conflict: the file has changed; read it again and make the edit anew.
- already_applied: the file has the change; go on with the next one.
- missing_file, exists: check the path; a new file needs `write`, an existing one an edit.
- invalid_input: correct the form, then send the same edit.
- mixed_write: send either the whole file or edits of it.
- outside_worktree, binary: leave that file alone.
- locked: wait, then send the same call.
"""


def guidance(names: tuple[str, ...] = ()) -> str:
    """What a system prompt should say of editing; Markdown.

    Args:
        names: the formats that the model may use; none for all of them.
    """
    parts = [f"# {name}: `{TOOLS[name].name}`\n\n{TOOLS[name].guide}" for name in names or TOOLS]
    return "\n".join((_GENERAL, *parts, _REFUSED))
