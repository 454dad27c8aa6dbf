"""One engine for the patches of one file: hunks in, the places where they belong and the new text.

`model` says what a hunk is, `rows` how a file's lines are looked up, `task` where one hunk may
stand, `placing` where all of them do; `tolerant` and `gaps` are the looser ways of finding them,
`search` goes through them in order, and `patch` is the action that formats hand out.
"""

from __future__ import annotations

from git_boocode.editing.hunks.model import Hunk, Line
from git_boocode.editing.hunks.patch import Patch

__all__ = ["Hunk", "Line", "Patch"]
