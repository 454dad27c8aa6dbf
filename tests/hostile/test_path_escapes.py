"""No edit and no command writes outside the worktree or into its git directory.

Each path below, in each of the formats, is either refused or names a file of the worktree.
"""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from git_boocode.repo.errors import RefusedError
from tests.editing.kit import apply
from tests.repo_kit import Repo, examples

OUTSIDE = "{outside}"
OLD = "3367afdbbf91e638efe983616377c60477cc6612"  # The blob "old\n".

PATHS = (
    *("../outside/f", "sub/../../outside/f", "sub/../sub/../../outside/f", "./.././outside/f"),
    *("sub//..//..//outside//f", OUTSIDE + "/f", "/" + OUTSIDE + "/f", OUTSIDE + "/../outside/f"),
    *("out/f", "out/new/f", "sub/up/../../outside/f", "sub/up/outside/f", "chain/f", "file-out"),
    *(".git/config", ".git/hooks/pre-commit", ".GIT/config", ".git/", ".git", "sub/.git/config"),
    *(".git./config", ".git /config", ".git::$INDEX_ALLOCATION/config", "git~1/config"),
    *(".g\u200cit/config", "\uff0egit/config", ".git\\config", "sub/../.git/f"),
    *("..\\outside\\f", "C:\\outside\\f", "\\\\host\\share\\f", "~/f", "$HOME/f", "file:///f"),
    *("a\0b", "\0", "", ".", "..", "/", "sub/", "sub/..", "a/f/g", "-n", "--", "@{-1}", ":(top)f"),
    *("in-git/f", "in-git/config", "in-git/hooks/x"),
    *("f\n../outside/f", "f\r", "\x1b[31mf", "\u202ef", "x" * 300, "d/" * 3000 + "f"),
    *("/dev/null", "/dev/stdout", "/proc/self/environ", "/proc/self/cwd/../outside/f"),
)  # fmt: skip

FORMATS: dict[str, Callable[[str], object]] = {
    "string": lambda path: {"path": path, "old_string": "old", "new_string": "evil"},
    "create": lambda path: {"path": path, "command": "create", "file_text": "evil\n"},
    "multi": lambda path: {"path": path, "edits": [{"old_string": "old", "new_string": "evil"}]},
    "region": lambda path: {"path": path, "changes": [{"start": ["old"], "content": ["evil"]}]},
    "write": lambda path: {"path": path, "content": "evil\n"},
    "lines": lambda path: {"path": path, "base": OLD, "start_line": 1, "content": ["evil"]},
    "hashline": lambda path: f"[{path}#{OLD}]\nPUT 1:\n+evil\n",
    "hashline, move": lambda path: f"[a#{OLD}]\nMV {path}\n",
    "hashline, remove": lambda path: f"[{path}#{OLD}]\nREM\n",
    "unified": lambda path: f"--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-old\n+evil\n",
    "unified, new": lambda path: f"--- /dev/null\n+++ {path}\n@@ -0,0 +1 @@\n+evil\n",
    "git rename": lambda path: (
        f"diff --git a/a b/{path}\nsimilarity index 100%\nrename from a\nrename to {path}\n"
    ),
    "search-replace": lambda path: (
        f"{path}\n```\n<<<<<<< SEARCH\nold\n=======\nevil\n>>>>>>> REPLACE\n```\n"
    ),
    "add": lambda path: f"*** Begin Patch\n*** Add File: {path}\n+evil\n*** End Patch\n",
    "delete": lambda path: f"*** Begin Patch\n*** Delete File: {path}\n*** End Patch\n",
    "move": lambda path: (
        f"*** Begin Patch\n*** Update File: a\n*** Move to: {path}\n"
        "@@\n-old\n+evil\n*** End Patch\n"
    ),
}

COMMANDS = (
    *(
        "checkpoint {}",
        "restore @ {}",
        "restore -n @ {}",
        "diff {}",
        "log {}",
        "locate {}",
        "read {}",
    ),
    *("rewind @ {}", "apply-edit --path {} --old old --new evil"),
)


class Place:
    """A worktree beside a directory that no command may write to."""

    def __init__(self, repo: Repo, outside: Path) -> None:
        self.repo = repo
        self.outside = outside
        outside.mkdir()
        (outside / "f").write_text("old\n")
        repo.commit(**{"a": "old\n", "sub/f": "old\n"})
        links = {"out": outside, "chain": "out", "file-out": outside / "f", "sub/up": "../.."}
        for link, target in {**links, "in-git": ".git"}.items():
            (repo.top / link).symlink_to(str(target))
        repo.commit("links")
        repo.write(".git/f", "old\n")
        self.before = self.look()

    def look(self) -> dict[str, bytes]:
        """The files outside, and those of the git directory that are not ours."""
        git_dir = self.repo.top / ".git"
        found = {str(path): b"" for path in self.outside.parent.iterdir()}
        for top in (self.outside, git_dir / "hooks", git_dir / "info", *git_dir.glob("[cf]*")):
            for path in (top, *top.rglob("*")):
                found[str(path)] = path.read_bytes() if path.is_file() else b""
        return found

    def edit(self, make: Callable[[str], object], pattern: str, *, index: bool) -> None:
        """Try an edit of a path, and look whether it went astray."""
        edit = make(pattern.replace(OUTSIDE, str(self.outside)))
        data = edit.encode("utf-8", "surrogateescape") if isinstance(edit, str) else edit
        with suppress(RefusedError):
            apply(data, index=index)
        assert self.look() == self.before, pattern
        self.repo.git("reset", "-q", "--hard")
        self.repo.git("clean", "-qffdx")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    subprocess.run(["git", "init", "-q", tmp_path / "top"], check=True)
    monkeypatch.chdir(tmp_path / "top")
    return Place(Repo(tmp_path / "top"), tmp_path / "outside")


@pytest.mark.parametrize("form", FORMATS)
def test_a_sample_of_edits(place: Place, form: str) -> None:
    for number, pattern in enumerate(random.Random(form).sample(PATHS, 24)):
        place.edit(FORMATS[form], pattern, index=number % 3 == 0)


PARTS = st.sampled_from(
    ["..", ".", "", ".git", ".GIT", "git~1", ".git ", ".g\u200dit", "config", "hooks", "f", "a",
     "sub", "up", "out", "chain", "in-git", "outside", OUTSIDE, "~", "C:", "\\", "new"]
)  # fmt: skip


@pytest.mark.quick
@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(parts=st.lists(PARTS, min_size=1, max_size=7), form=st.sampled_from(sorted(FORMATS)))
def test_edits_of_any_path(place: Place, parts: list[str], form: str) -> None:
    place.edit(FORMATS[form], "/".join(parts), index=False)


@pytest.mark.parametrize("command", COMMANDS)
def test_commands(place: Place, command: str) -> None:
    repo = place.repo
    assert repo.boocode("checkpoint").code == 0
    edit = json.dumps({"path": "a", "old_string": "old", "new_string": "new"})
    assert repo.boocode("apply-edit", stdin=edit).code == 0
    before = place.look()
    possible = [path for path in PATHS if path and "\0" not in path]
    for pattern in random.Random(command).sample(possible, 12):
        path = pattern.replace(OUTSIDE, str(place.outside))
        done = repo.boocode(*[path if part == "{}" else part for part in command.split()])
        assert done.code in (0, 1, 128, 129), (pattern, done)
        assert "Traceback" not in done.err, pattern
        assert "this is a bug" not in done.err, (pattern, done)
        assert place.look() == before, pattern
