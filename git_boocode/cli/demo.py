"""`git boocode demo`: the main jobs, run with the real commands in a scratch repository."""

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

from git_boocode.cli.framework import Command, json_option, option
from git_boocode.cli.output import config_here, output_style, print_json, print_text, wants_json
from git_boocode.repo.errors import FatalError
from git_boocode.repo.process import isolated_command

_REPORT = """\
def summary(rows):
\t\"\"\"Say how many rows there are – “3 rows, 42 in all”.\"\"\"
\ttotal = sum(row.amount for row in rows)
\treturn f"{len(rows)} rows, {total} in all" if rows else "nothing"
"""
# The model saw the file through a lens that made tabs four spaces and quotes and dashes plain.
_OLD = """\
    \"\"\"Say how many rows there are - "3 rows, 42 in all".\"\"\"
    total = sum(row.amount for row in rows)
"""
_NEW = f'{_OLD}    if total < 0:\n        return "more spent than earned"\n'
_MENU = "tea 2\ncoffee 3\nmilk 1\n"
_FILES = {"report.py": _REPORT, "shop.py": "", "menu.txt": _MENU, "notes": "n\n"}
_WORK = "echo 'water 0' >> menu.txt; git add menu.txt; echo ask > todo.txt"
_MESS = "rm notes todo.txt; echo 'print(1)' > shop.py; echo 'x = 1' > new.py; git add -A"
_STATUS = ("git", "status", "--short")
_CALLBACK = ("--callback", "trim-jsonl")
_SUMMARY = """\
git-boocode undoes what a coding agent did, takes back one turn and keeps the others, and applies
a model's edit although its text has drifted. Here it does all three, with the real commands, in a
scratch repository; that takes some seconds. Your own repositories are not touched."""


class _Demo:
    """The scratch repository, and everything that happened in it."""

    def __init__(self, scratch: Path) -> None:
        self.top = scratch / "shop"
        self.steps: list[dict[str, Any]] = []
        self._style = output_style(config_here())
        shim = scratch / "git-boocode"
        shim.write_text(f'#!/bin/sh\nexec {shlex.join(isolated_command())} "$@"\n')
        shim.chmod(0o755)
        # The reader's environment without configuration; `git boocode` is this very program.
        env = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
        env |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        for name in ("AUTHOR_NAME", "AUTHOR_EMAIL", "COMMITTER_NAME", "COMMITTER_EMAIL"):
            env[f"GIT_{name}"] = "demo"
        self._env = {**env, "PATH": f"{scratch}{os.pathsep}{env.get('PATH', os.defpath)}"}

    def say(self, text: str) -> None:
        """Begin a step of the story."""
        self.steps.append({"title": text, "commands": []})
        self._print("")
        self._print(f"# {text}", "bold")

    def run(self, *command: str, edit: tuple[str, str] = ("", ""), code: int = 0) -> str:
        """Run a command as the reader would, and show it with what it prints, tabs as arrows."""
        for name, text in zip(("old", "new"), edit, strict=True):
            for line in text.splitlines():
                self._print(f"  {name} | {line}")
        shown = command[-1] if command[:2] == ("sh", "-c") else shlex.join(command)
        self._print(f"$ {shown}", "yellow")
        given = {"path": "report.py", "old_string": edit[0], "new_string": edit[1]}
        done = subprocess.run(
            command,
            cwd=self.top,
            env=self._env,
            input=json.dumps(given).encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        output = done.stdout.decode("utf-8", "replace")
        if done.returncode != code:
            raise FatalError(f"exit code {done.returncode} of {command}: {output}", code="demo")
        for line in output.splitlines():
            self._print("  " + line.replace("\t", "→   "))
        self.steps[-1]["commands"].append({"command": list(command), "output": output})
        return output

    def check(self, what: str, holds: object) -> None:
        """Print what holds; the demo fails if it does not."""
        if not holds:
            raise FatalError(f"this does not hold: {what}", code="demo")
        self._print(f"✓ {what}", "green")

    def _print(self, line: str, colour: str = "") -> None:
        if not wants_json():
            print_text(self._style(line, colour) if colour else line)


@click.command(cls=Command)
@option("--keep", "Keep the scratch repository.")
@json_option
def demo(keep: bool) -> int:
    """Show the main jobs in a scratch repository, with the real commands.

    An agent makes a mess: files, staging and conversation are restored, and the restore is undone.
    One of two turns is taken back, and a drifted edit is applied.
    """
    if not wants_json():
        print_text(_SUMMARY)
    scratch = Path(tempfile.mkdtemp(prefix="git-boocode-demo-")).resolve()
    try:
        story = _Demo(scratch)
        _undo(story)
        _take_back(story)
        _edit(story)
    finally:
        if not keep:
            shutil.rmtree(scratch, ignore_errors=True)
    if wants_json():
        print_json({"ok": True, "path": str(story.top) if keep else None, "steps": story.steps})
    elif keep:
        print_text(f"\nthe repository is in {story.top}")
    return 0


def _undo(story: _Demo) -> None:
    chat = ".git/chat.jsonl"
    story.say("Some work is staged, some is new, and an agent's hook takes a checkpoint")
    story.top.mkdir()
    for name, text in _FILES.items():
        (story.top / name).write_text(text, encoding="utf-8")
    story.run("sh", "-c", "git init -q && git add . && git commit -q -m shop")
    (story.top / chat).write_text("".join(f'{{"id": "m{number}"}}\n' for number in range(1, 5)))
    story.run("sh", "-c", _WORK)
    before = story.run(*_STATUS)
    anchor = ("--chat", "demo", "--message", "m3", "--meta", f"transcript={chat}")
    story.run("git", "boocode", "checkpoint", "-m", "tidy up", *anchor)
    story.say("The agent tidies up: it deletes, rewrites, adds and stages")
    story.run("sh", "-c", _MESS)
    mess = story.run(*_STATUS)
    story.say("Undo the agent: its files, the staging area, and the conversation")
    story.run("git", "boocode", "restore", *_CALLBACK, "@")
    story.check("git status is byte for byte as before the turn", story.run(*_STATUS) == before)
    story.check("the transcript ends before m3", story.run("cat", chat).count("\n") == 2)
    story.say("That can be undone as well")
    story.run("git", "boocode", "undo", *_CALLBACK)
    story.check("git status is byte for byte as the agent left it", story.run(*_STATUS) == mess)
    story.check("the transcript is whole again", "m4" in story.run("cat", chat))


def _take_back(story: _Demo) -> None:
    story.say("Two sessions change the same file, one after the other")
    for label, session, command in (
        ("raise the prices", "one", "sed -i.old s/2/3/ menu.txt && rm menu.txt.old"),
        ("add cake", "two", "echo 'cake 5' >> menu.txt"),
    ):
        turn = ("--agent", "claude-code", "--session", session)
        story.run("git", "boocode", "checkpoint", "-m", label, *turn)
        story.run("sh", "-c", command)
    story.run("git", "boocode", "log")
    story.say("Take back the first turn, and keep the second one")
    story.run("git", "boocode", "revert", "@~1")
    menu = story.run("cat", "menu.txt")
    story.check("tea costs 2 again, and there is cake", menu == f"{_MENU}water 0\ncake 5\n")


def _edit(story: _Demo) -> None:
    story.say("A file is indented by tabs (→) and speaks in curly quotes")
    story.run("cat", "report.py")
    story.say("A model's edit: it saw four spaces, plain quotes, a hyphen – none is in the file")
    story.run("git", "boocode", "apply-edit", "--diff", edit=(_OLD, _NEW))
    text = story.run("cat", "report.py")
    story.check("the docstring kept its dash and quotes", "– “3 rows, 42 in all”" in text)
    story.check("the new lines are indented by tabs", '\n\t\treturn "more spent' in text)
    story.say("An edit that could belong to two places is refused, and nothing is changed")
    story.run("git", "boocode", "apply-edit", edit=("return ", "yield "), code=1)
    story.check("the file is untouched", story.run("cat", "report.py") == text)
    story.say("Checkpoints are plain commits under refs/boocode; branches and HEAD never moved")
    story.run("git", "log", "--oneline")
