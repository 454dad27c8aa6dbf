"""`git boocode demo`: the main job, run with the real commands in a scratch repository."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import click

from git_boocode.agents.config_program import isolated_command
from git_boocode.cli.framework import Command, json_option
from git_boocode.cli.output import print_json, print_text
from git_boocode.repo.errors import FatalError

_REPORT = """\
def summary(rows):
\t\"\"\"Say how many rows there are – “3 rows, 42 in all”.\"\"\"
\ttotal = sum(row.amount for row in rows)
\tif not rows:
\t\treturn "nothing"
\treturn f"{len(rows)} rows, {total} in all"
"""
# The model saw the file through a lens that made tabs four spaces and quotes and dashes plain.
_OLD = """\
    \"\"\"Say how many rows there are - "3 rows, 42 in all".\"\"\"
    total = sum(row.amount for row in rows)
    if not rows:
        return "nothing"
"""
_NEW = """\
    \"\"\"Say how many rows there are - "3 rows, 42 in all".\"\"\"
    if not rows:
        return "no rows"
    total = sum(row.amount for row in rows)
    if total < 0:
        return "more spent than earned"
"""
_TRANSCRIPT = (
    {"id": "m1", "role": "user", "text": "write a report"},
    {"id": "m2", "role": "agent", "text": "done"},
    {"id": "m3", "role": "user", "text": "now tidy everything up"},
    {"id": "m4", "role": "agent", "text": "I deleted what looked unused"},
)


class _Demo:
    """The scratch repository, and everything that happened in it."""

    def __init__(self, scratch: Path, *, quiet: bool) -> None:
        self.top = scratch / "shop"
        self.transcript = scratch / "chat.jsonl"
        self.steps: list[dict[str, Any]] = []
        self._quiet = quiet
        self._env = _environment(scratch)

    def say(self, text: str) -> None:
        """A line of the story."""
        self.steps.append({"title": text, "commands": []})
        self._print(f"\n# {text}")

    def run(self, *command: str, stdin: str = "", code: int = 0) -> str:
        """Run a command as the reader would, and show it with what it prints."""
        self._print(f"$ {_shown(command)}")
        output = self.quietly(*command, stdin=stdin, code=code)
        for line in _short(output).splitlines():
            self._print(f"  {line}")
        self.steps[-1]["commands"].append({"command": list(command), "output": output})
        return output

    def quietly(self, *command: str, stdin: str = "", code: int = 0) -> str:
        """Run a command without showing it."""
        done = subprocess.run(
            command,
            cwd=self.top,
            env=self._env,
            input=stdin.encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        output = done.stdout.decode("utf-8", "replace")
        if done.returncode != code:
            raise FatalError(
                f"'{_shown(command)}' ended with {done.returncode} instead of {code}\n{output}",
                code="demo",
            )
        return output

    def quote(self, name: str, text: str) -> None:
        """Show a part of the model's edit."""
        for line in text.splitlines():
            self._print(f"  {name} | {line}")

    def show(self, path: Path) -> str:
        """Show a file, with tabs made visible."""
        text = path.read_text(encoding="utf-8")
        self._print(f"$ cat {os.path.relpath(path, self.top)}")
        for line in text.splitlines():
            self._print("  " + line.replace("\t", "→   "))
        self.steps[-1]["commands"].append({"command": ["cat", path.name], "output": text})
        return text

    def check(self, what: str, *, holds: bool) -> None:
        """Say what was found to hold; the demo fails where it does not."""
        if not holds:
            raise FatalError(f"this does not hold: {what}", code="demo")
        self._print(f"✓ {what}")

    def _print(self, line: str) -> None:
        if not self._quiet:
            print_text(line)


@click.command(cls=Command)
@click.option("--keep", is_flag=True, help="Leave the scratch repository there to look at.")
@json_option
def demo(keep: bool, as_json: bool) -> int:
    """Show the main job in a scratch repository, with the real commands.

    A drifted edit is applied, a checkpoint taken, an agent makes a mess, files, staging and
    conversation are restored, and the restore is undone.
    """
    if shutil.which("git") is None:
        raise FatalError("cannot run git", code="no_git", hints=("git must be on the PATH",))
    scratch = Path(tempfile.mkdtemp(prefix="git-boocode-demo-")).resolve()
    try:
        story = _Demo(scratch, quiet=as_json)
        _tell(story)
    finally:
        if not keep:
            shutil.rmtree(scratch, ignore_errors=True)
    if as_json:
        print_json({"ok": True, "path": str(story.top) if keep else None, "steps": story.steps})
    elif keep:
        print_text(f"\nthe repository is in {story.top}")
    return 0


def _tell(story: _Demo) -> None:
    _set_up(story)
    _apply_a_drifted_edit(story)
    _refuse_an_uncertain_edit(story)
    before = _take_a_checkpoint(story)
    mess = _make_a_mess(story)
    _restore(story, before)
    _undo(story, mess)


def _set_up(story: _Demo) -> None:
    story.top.mkdir()
    story.say("A small repository whose code is indented by tabs (→) and speaks in curly quotes")
    story.quietly("git", "init", "-q")
    for name, text in (("report.py", _REPORT), ("prices.txt", "tea 3\ncake 4\n"), ("notes", "n\n")):
        (story.top / name).write_text(text, encoding="utf-8")
    story.quietly("git", "add", ".")
    story.quietly("git", "commit", "-q", "-m", "shop")
    story.show(story.top / "report.py")


def _apply_a_drifted_edit(story: _Demo) -> None:
    story.say("A model's edit: it saw four spaces, plain quotes, a hyphen – none is in the file")
    edit = {"path": "report.py", "old_string": _OLD, "new_string": _NEW}
    story.quote("old", _OLD)
    story.quote("new", _NEW)
    story.run("git", "boocode", "apply-edit", "--diff", stdin=json.dumps(edit))
    text = story.show(story.top / "report.py")
    story.check("the docstring kept its dash and quotes", holds="– “3 rows, 42 in all”" in text)
    story.check("the new lines are indented by tabs", holds='\n\t\treturn "more spent' in text)


def _refuse_an_uncertain_edit(story: _Demo) -> None:
    story.say("An edit that could belong to two places is refused, and nothing is changed")
    edit = {"path": "report.py", "old_string": 'return "', "new_string": 'yield "'}
    story.quote("old", edit["old_string"])
    text = (story.top / "report.py").read_bytes()
    story.run("git", "boocode", "apply-edit", stdin=json.dumps(edit), code=1)
    story.check("the file is untouched", holds=(story.top / "report.py").read_bytes() == text)


def _take_a_checkpoint(story: _Demo) -> str:
    story.say("Before the agent's next turn: some work is staged, some is new, and a checkpoint")
    (story.top / "prices.txt").write_text("tea 3\ncake 5\n")
    story.quietly("git", "add", "prices.txt")
    (story.top / "todo.txt").write_text("ask about cake\n")
    story.transcript.write_text("".join(f"{json.dumps(line)}\n" for line in _TRANSCRIPT))
    before = story.run("git", "status", "--short")
    story.run(
        *("git", "boocode", "checkpoint", "-m", "before tidying up", "--chat", "demo"),
        *("--message", "m3", "--meta", "transcript=../chat.jsonl"),
    )
    return before


def _make_a_mess(story: _Demo) -> str:
    story.say("The agent tidies up: it deletes, rewrites, adds and stages")
    (story.top / "notes").unlink()
    (story.top / "todo.txt").unlink()
    (story.top / "report.py").write_text("print('simplified')\n")
    (story.top / "helpers").mkdir()
    (story.top / "helpers" / "new.py").write_text("x = 1\n")
    story.quietly("git", "add", "-A")
    mess = story.run("git", "status", "--short")
    story.show(story.transcript)
    return mess


def _restore(story: _Demo, before: str) -> None:
    story.say("First a look at what a restore would do, then the restore, with a callback")
    story.run("git", "boocode", "restore", "-n", "--files-only", "@")
    story.run("git", "boocode", "restore", "--callback", _callback(), "@")
    after = story.run("git", "status", "--short")
    story.check("git status is byte for byte as at the checkpoint", holds=after == before)
    kept = story.show(story.transcript)
    story.check("the transcript ends before m3", holds=kept.count("\n") == 2)


def _undo(story: _Demo, mess: str) -> None:
    story.say("A restore can itself be undone: files, staging and conversation come back")
    story.run("git", "boocode", "undo", "--callback", _callback())
    after = story.run("git", "status", "--short")
    story.check("git status is byte for byte as the agent left it", holds=after == mess)
    story.check("the transcript is whole again", holds="m4" in story.transcript.read_text())
    story.say("Checkpoints are plain commits under refs/boocode; branches and HEAD never moved")
    story.run("git", "boocode", "log")
    story.run("git", "log", "--oneline")


def _callback() -> str:
    from git_boocode.agents.config_program import shipped_hook

    return shipped_hook("callbacks/trim-jsonl")


def _environment(scratch: Path) -> dict[str, str]:
    """The reader's environment, in which `git boocode` is this very program."""
    binaries = scratch / "bin"
    binaries.mkdir()
    shim = binaries / "git-boocode"
    shim.write_text(f'#!/bin/sh\nexec {shlex.join(isolated_command())} "$@"\n')
    shim.chmod(0o755)
    kept = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    settings = {"commit.gpgSign": "false", "core.hooksPath": os.devnull, "core.autocrlf": "false"}
    for number, (key, value) in enumerate(settings.items()):
        kept |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    identity = {
        f"GIT_{who}_{what}": "demo" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    return {
        **kept,
        **identity,
        "GIT_CONFIG_COUNT": str(len(settings)),
        "GIT_CEILING_DIRECTORIES": str(scratch),
        "PATH": f"{binaries}{os.pathsep}{kept.get('PATH', os.defpath)}",
    }


def _shown(command: tuple[str, ...]) -> str:
    return _short(shlex.join(command))


def _short(text: str) -> str:
    """Text for people, who need not know where the callback is."""
    return text.replace(os.path.dirname(_callback()), "…") if "callback" in text else text
