"""Whatever a clone brings along runs no program, writes nothing outside, and breaks no command.

A clone brings tracked files of any name and content, branch names, and refs below refs/boocode/.
"""

from __future__ import annotations

import json
import os
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from git_boocode.repo.ids import new_id
from tests.repo_kit import Repo

OWNED = "owned"

COMMANDS = (
    *(
        "log --all",
        "log --edits",
        "show --json @",
        "diff",
        "checkpoint",
        "checkpoint --if-changed .",
    ),
    *("doctor", "restore -n @", "restore @", "undo", "redo", "undo -n", "restore @ .", "rewind"),
    *("hooks status", "hooks install -n --git", "tools", "prune -n --keep 1", "locate a", "read a"),
    *("apply-edit --path a --old a --new b", "doctor --fix", "run -- git version"),
    *("push -n origin", "fetch origin", "drop @", "prune --keep 1"),
)

MODULES = ("json", "re", "click", "pygit2", "rapidfuzz", "sitecustomize", "tomllib")
PROGRAMS = ("git", "git-boocode", "python3", "sh", "env", "cat", "less", "vi", "ssh", "hooks/x")


class Clone:
    """A hostile origin, and a clone of it.

    Attributes:
        origin: where the clone comes from.
        repo: the clone.
        outside: a directory beside it.
    """

    def __init__(self, directory: Path) -> None:
        self.outside = directory / "outside"
        self.outside.mkdir()
        (self.outside / "f").write_text("outside\n")
        subprocess.run(["git", "init", "-q", directory / "origin"], check=True)
        self.origin = Repo(directory / "origin")
        self.repo = Repo(directory / "clone")
        self.evil = f"touch '{directory / OWNED}'"

    def clone(self) -> Repo:
        """Clone it, the refs of git-boocode included."""
        command = ["git", "-c", "core.protectNTFS=false", "clone", "-q"]
        subprocess.run([*command, self.origin.top, self.repo.top], check=True)
        self.repo.git("fetch", "-q", "origin", "+refs/boocode/*:refs/boocode/*")
        return self.repo

    def survive(self, *commands: str, cwd: str = "") -> None:
        """Run commands; each ends as a command ends, and nothing happens elsewhere."""
        before = self.look()
        for command in commands:
            done = self.repo.boocode(*command.split(), cwd=cwd)
            assert done.code in (0, 1, 128, 129), (command, done)
            for sign in ("Traceback", "this is a bug"):
                assert sign not in done.err, (command, done)
            assert self.look() == before, command

    def look(self) -> dict[str, bytes]:
        """What is beside the clone, and the hooks and settings that git would use."""
        git_dir = self.repo.top / ".git"
        found = {str(path): b"" for path in self.outside.parent.iterdir()}
        for path in (*self.outside.rglob("*"), git_dir / "config"):
            found[str(path)] = path.read_bytes() if path.is_file() else b""
        return found


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Clone:
    made = Clone(tmp_path)
    monkeypatch.chdir(tmp_path)
    return made


def test_programs_and_modules_of_the_worktree_are_not_run(clone: Clone) -> None:
    script = f"#!/bin/sh\n{clone.evil}\n"
    for name in PROGRAMS:
        clone.origin.write(name, script, 0o755)
    python = f"import os\nos.system({clone.evil!r})\n"
    for name in MODULES:
        clone.origin.write(f"{name}.py", python)
    clone.origin.write("git_boocode/__init__.py", python)
    clone.origin.write("git_boocode/__main__.py", python)
    clone.origin.commit(a="a\n")
    repo = clone.clone()
    repo.write("a", "b\n")
    before = clone.look()
    for command in COMMANDS[::2]:
        done = repo.installed(*command.split())
        assert "Traceback" not in done.err, command
        assert clone.look() == before, command


def test_settings_in_tracked_files_are_not_read(clone: Clone) -> None:
    evil = clone.evil
    keys = ("pager", "editor", "fsmonitor", "sshCommand", "hooksPath", "askPass", "gitProxy")
    settings = "[core]\n" + "".join(f'\t{key} = "{evil}; :"\n' for key in keys)
    settings += f'[boocode]\n\tcallback = hooks/callback\n[alias]\n\tboocode = "!{evil}"\n'
    settings += f'[filter "evil"]\n\tclean = "{evil}"\n\tsmudge = "{evil}"\n'
    for name in (".gitconfig", ".config/git/config", "config", ".git-config", ".boocode"):
        clone.origin.write(name, settings)
    for name in ("hooks/callback", "hooks/boocode-restore", ".githooks/post-commit"):
        clone.origin.write(name, f"#!/bin/sh\n{evil}\necho '{{}}'\n", 0o755)
    clone.origin.write(
        ".gitattributes",
        "* filter=evil diff=evil merge=evil text=auto eol=crlf ident export-subst\n"
        "f* working-tree-encoding=UTF-99\n[attr]x -x\n" + "y" * 5000 + " z\n",
    )
    clone.origin.write(".gitmodules", f'[submodule "s"]\n\tpath = s\n\turl = ext::sh -c "{evil}"\n'
                       "\tignore = none\n")  # fmt: skip
    for name in (".lfsconfig", ".mailmap", ".gitignore"):
        clone.origin.write(name, settings)
    clone.origin.write("f", "x\n")
    clone.origin.commit(a="a\n")
    link = clone.origin.git("rev-parse", "HEAD").strip()
    clone.origin.git("update-index", "--add", "--cacheinfo", f"160000,{link},s")
    clone.origin.git("commit", "-q", "-m", "submodule")
    repo = clone.clone()
    repo.write("a", "b\n")
    clone.survive(*COMMANDS)


AGENTS = ("claude-code", "cline", "codex", "copilot", "cursor", "gemini", "opencode", "windsurf")
AGENT_FILES = (
    *(".claude/settings.json", ".claude/settings.local.json", ".cursor/hooks.json"),
    *(".gemini/settings.json", ".codex/hooks.json", ".codex/config.toml", ".windsurf/hooks.json"),
    *(".github/hooks/git-boocode.json", ".clinerules/hooks/PreToolUse", ".opencode/plugin/x.ts"),
)
GARBAGE = (
    b"[" * 20_000,
    b"\xff\0",
    b"[]",
    b'{"hooks": [[], 1, {"hooks": null}]}',
    b"= [",
    b"9" * 5000,
)


def hooks(*verbs: str) -> list[str]:
    return [f"hooks {verb} --project --agent {name}" for name in AGENTS for verb in verbs]


@pytest.mark.parametrize("number", range(len(GARBAGE)))
def test_settings_of_agents_may_be_garbage(clone: Clone, number: int) -> None:
    for name in AGENT_FILES:
        clone.origin.write(name, GARBAGE[number])
    clone.origin.commit(a="a\n")
    clone.clone()
    verbs = ("install", "uninstall") if number % 2 else ("install -n", "uninstall -n")
    clone.survive("hooks status", *hooks(*verbs))


@pytest.mark.parametrize("target", ["../outside", "../outside/f", "/dev/zero", ".git"])
def test_settings_of_agents_may_be_links(clone: Clone, target: str) -> None:
    for name in AGENT_FILES:
        top = name.split("/")[0] if target != "../outside/f" else name
        path = clone.origin.top / top
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_symlink():
            path.symlink_to(os.path.relpath(clone.outside / "f", path.parent)
                            if target == "../outside/f" else target)  # fmt: skip
    clone.origin.commit(a="a\n")
    clone.clone()
    verbs = ("install", "uninstall")
    clone.survive("hooks status", *hooks(*verbs))


NAMES = (
    *("-rf", "--help", "--upload-pack=touch owned", "$(touch owned)", ";touch owned;", "`touch x`"),
    *("a\nb", "\x1b[31m", "\udcff", "\u202e", " ", "'", '"', "\\", ":(top)x", ":!a"),
    *("x" * 255, "d/" * 120 + "f", "refs/boocode/x", "HEAD", "@", "@{u}", ".gitx", "\r", "~", "%s"),
    *("a\tb", "[", "*"),
)  # fmt: skip


def test_file_names_are_not_pathspecs(clone: Clone) -> None:
    clone.origin.write("a", "a\n")
    for name in NAMES:
        clone.origin.write(name, "x\n")
    for name, target in (("out", ".."), ("loop", "loop"), ("null", "/dev/null"), ("git", ".git")):
        (clone.origin.top / name).symlink_to(target)
    clone.origin.commit("\x1b]0;evil\x07$(touch owned)")
    for branch in ("$(touch${IFS}owned)", ";touch${IFS}owned", "\u202e", "\udcff"):
        clone.origin.git("branch", "--", branch)
    clone.origin.git("checkout", "-q", "$(touch${IFS}owned)")
    repo = clone.clone()
    clone.survive("checkpoint")
    for name in NAMES:
        repo.write(name, "y\n")
    clone.survive(*COMMANDS)


@pytest.mark.ref_files
def test_a_repository_below_the_worktree_is_not_recorded(clone: Clone) -> None:
    """A tracked bare repository, whose settings name programs."""
    evil = clone.evil
    clone.origin.git("init", "-q", "--bare", "inner")
    clone.origin.git("-C", "inner", "config", "core.fsmonitor", evil)
    clone.origin.git("-C", "inner", "config", "core.bare", "false")
    clone.origin.git("-C", "inner", "config", "core.worktree", "..")
    clone.origin.git("-C", "inner", "config", "boocode.callback", "evil")
    for name in ("inner/refs/heads/x", "inner/objects/info/x"):
        clone.origin.write(name)
    clone.origin.commit(a="a\n")
    clone.clone().write("inner/new", "x\n")
    clone.survive(*COMMANDS)


LEADING_OUT = (
    "../outside/f",
    "{outside}/f",
    ".git/config",
    ".git/hooks/post-commit",
    "out/f",
    "..",
)


def forged_edit(clone: Clone, path: str) -> None:
    """A record of an edit that nobody made."""
    repo = clone.origin
    blob = repo.git("hash-object", "-w", "--stdin", stdin="outside\n").strip()
    tree = repo.git("rev-parse", "HEAD:").strip()
    for side in ("after", "before"):
        flat = repo.git("mktree", stdin=f"100755 blob {blob}\tf\n").strip()
        tree = repo.git("mktree", stdin=f"040000 tree {flat}\t{side}\n").strip()
    for action in ("modify", "create", "delete", "rename"):
        files = [{"path": path, "action": action, "mode": "0755", "from": path}]
        forge(repo, "edits", tree, {"kind": "edit", "files": files, "edits": []})


def forge(repo: Repo, below: str, tree: str, values: dict[str, Any]) -> str:
    """A ref of ours with any metadata."""
    name = new_id()
    defaults = {"boocode": 1, "id": name, "worktree": {"name": "main"}, **values}
    commit = repo.git("commit-tree", tree, stdin=f"s\n\n{json.dumps(defaults)}\n").strip()
    repo.git("update-ref", f"refs/boocode/{below}/{name}", commit)
    return name


@pytest.mark.parametrize("path", LEADING_OUT)
def test_forged_edits_are_not_rewound(clone: Clone, path: str) -> None:
    (clone.origin.top / "out").symlink_to(clone.outside)
    clone.origin.commit(a="a\n")
    forged_edit(clone, path.format(outside=clone.outside))
    clone.clone()
    assert len(clone.repo.boocode("log", "--edits", "--json").json["edits"]) == 4
    clone.survive("log --edits", *(f"rewind @~{number}" for number in range(4)), "doctor", "rewind")


def test_forged_checkpoints_have_no_effect(clone: Clone) -> None:
    repo, outside = clone.origin, str(clone.outside)
    commit = repo.commit(a="a\n")
    tree = repo.git("rev-parse", "HEAD:").strip()
    blob = repo.git("rev-parse", "HEAD:a").strip()
    row = f"M 100755 {blob} 0\t../outside/f\0"
    record = repo.git("hash-object", "-w", "--stdin", stdin=row).strip()
    details = repo.git("mktree", stdin=f"100644 blob {record}\tentries\n").strip()
    anchor = {"agent": "claude-code", "session": "../../../outside", "path": f"{outside}/f",
              "offset": 0, "hash": None}  # fmt: skip
    common = {
        "kind": "checkpoint", "agent": "claude-code", "session": "../..", "chat": "../..",
        "anchor": anchor, "callback": f"{outside}/f", "message": "--help",
        "skipped": [{"path": "../outside/f", "reason": "x"}],
    }  # fmt: skip
    first = forge(repo, "checkpoints", tree, common)
    for more in (
        {"worktree": {"name": "../..", "path": outside}},
        {"head": {"ref": "refs/../../config", "commit": commit}},
        {"head": {"ref": "--help", "commit": "--help"}},
        {"index": {"tree": tree, "details": details}},
    ):
        forge(repo, "checkpoints", tree, {**common, **more})
    for operation in ("restore", "undo", "redo"):
        restore = {
            "operation": operation, "target": first, "of": first, "prefix": "../outside/",
            "before": "../outside", "over": "../x", "id": "../../outside", "head": "--help",
            "paths": ["../outside/f"], "archived": ["../../heads/main"],
        }  # fmt: skip
        forge(repo, "safety", tree, {**common, "kind": "pre-restore", "restore": restore})
    forge(repo, "archive/x", tree, common)
    forge(repo, "remotes/evil", tree, common)
    clone.clone().write("a", "b\n")
    assert len(clone.repo.boocode("log", "--json").json["checkpoints"]) == 4
    verbs = ("show", "restore -n", "restore --head", "restore", "restore --conversation-only")
    clone.survive(*("undo -n", "undo", "undo", "redo", "redo", "doctor --fix"))
    clone.survive(*(f"{verb} @~{number}" for verb in verbs for number in range(4)), *COMMANDS)
    assert clone.repo.git("rev-parse", "origin/main").strip() == commit


@pytest.mark.quick
def test_the_clone_itself_can_be_hostile_to_paths(clone: Clone) -> None:
    """What is a file in one commit is a symlink to somewhere else in the next."""
    clone.origin.commit(**{"d/f": "1\n", "a": "a\n"})
    clone.origin.git("rm", "-rq", "d")
    (clone.origin.top / "d").symlink_to(clone.outside)
    clone.origin.commit("link")
    repo = clone.clone()
    clone.survive("checkpoint")
    repo.git("checkout", "-q", "HEAD~1")
    clone.survive("checkpoint", "restore @~1", "restore @~1 d", "undo", "restore @ d/f", "undo")
    repo.git("checkout", "-qf", "main")
    edit = json.dumps({"path": "d/f", "content": "evil\n"})
    before = clone.look()
    assert repo.boocode("apply-edit", stdin=edit).code == 1
    assert clone.look() == before
    assert stat.S_ISLNK((repo.top / "d").lstat().st_mode)
