"""Run the commands of a transcript, and put in what they print.

A transcript is Markdown. Each block of the kind `console` holds commands, after `$ ` and for more
lines after `> `, and below each the whole of what it prints, standard error included; `[1]` is the
status of a command that failed. All commands of a transcript run in one shell, in a new repository
below a new home directory. What differs from run to run is replaced: ids are numbered in order of
appearance, and times stand still.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.repo_kit import sealed_environment

HERE = Path(__file__).parent
TRANSCRIPTS = sorted(HERE.glob("*.md"))
_BLOCK = re.compile(r"(?<=^```console\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)
_END = "=== end of a command:"
_ID = re.compile(r"\b([0-9a-f]{8}-[0-9a-f]{4})(-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})?\b")
_STEADY = (
    (re.compile(r"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z"), "2026-11-27T10:00:00.000Z"),
    (re.compile(r"\b20\d\d-\d\d-\d\d \d\d:\d\d"), "2026-11-27 10:00"),
    (re.compile(r"since (2026-11-27 )?\d\d:\d\d"), "since 10:00"),
    (re.compile(r"[\d.]+ KiB on disk"), "2.00 KiB on disk"),
    (re.compile(r"(checkpoints|proposals) [\d.]+ (?:KiB|bytes)\b"), r"\1 1.00 KiB"),
    (re.compile(r"[\d.]+ (?:KiB|bytes) of private files"), "1.00 KiB of private files"),
    (re.compile(r'(?<="commit": ")[0-9a-f]{40}'), f"{0x5EED:040x}"),
)
# Of the agents, in `programs/claude`.
_SESSIONS = {"8f4c2a1e-5b7d-4c3f-9a61-0d2e4f6b8c10", "b2d0c7aa-91f3-4f0e-8c55-7a1e3d9c6f42"}
_PRICES = """\
def total(rows):
    result = 0
    for row in rows:
        result = result + row.amount
    return result
"""


def rerun(transcript: str, home: Path) -> str:
    """The transcript with what its commands print now; `home` is an empty directory."""
    blocks = [_commands(block) for block in _BLOCK.findall(transcript)]
    outputs = iter(_run([command for block in blocks for command in block], home))
    made = iter("".join(f"{_typed(each)}{next(outputs)}" for each in block) for block in blocks)
    return _BLOCK.sub(lambda _: next(made), transcript)


def _commands(block: str) -> list[str]:
    commands: list[str] = []
    above = ""
    for line in block.splitlines():
        if line.startswith("$ "):
            commands.append(line[2:])
        elif line.startswith("> ") and above.startswith(("$ ", "> ")):
            commands[-1] += "\n" + line[2:]
        above = line
    return commands


def _typed(command: str) -> str:
    return "$ " + command.replace("\n", "\n> ") + "\n"


def _run(commands: list[str], home: Path) -> list[str]:
    top = home / "shop"
    top.mkdir()
    (top / "prices.py").write_text(_PRICES)
    (top / "menu.txt").write_text("tea 2\ncoffee 3\nmilk 1\nwater 0\n")
    environment = sealed_environment(home)
    environment["PATH"] = f"{HERE / 'programs'}{os.pathsep}{environment['PATH']}"
    for words in ("init -q", "add .", "commit -q -m Start"):
        subprocess.run(["git", *words.split()], cwd=top, env=environment, check=True)
    script = "".join(
        f"{{ {command}\n}} </dev/null 2>&1\nprintf '%s %s\\n' '{_END}' $?\n" for command in commands
    )
    done = subprocess.run(
        ["bash", "-c", script], cwd=top, env=environment, stdout=subprocess.PIPE, check=True
    )
    said = _made_steady(done.stdout.decode("utf-8"), home)
    *outputs, rest = re.split(rf"{_END} (\d+)\n", said)
    assert not rest, rest
    pairs = zip(outputs[::2], outputs[1::2], strict=True)
    return [output + (f"[{status}]\n" if status != "0" else "") for output, status in pairs]


def _just_now(found: re.Match[str]) -> str:
    spaces, time = found.groups()
    in_a_column = len(spaces) > 1
    return "just now".rjust(len(spaces + time)) if in_a_column else f"{spaces}just now"


def _made_steady(said: str, home: Path) -> str:
    """Output without what differs from run to run."""
    program = shutil.which("git-boocode", path=str(Path(sys.executable).parent))
    said = said.replace(str(program), "/home/ada/.local/bin/git-boocode")
    said = said.replace(str(home), "/home/ada")
    said = re.sub(r"( *)\b(\d+ s ago)", _just_now, said)
    for pattern, steady in _STEADY:
        said = pattern.sub(steady, said)
    numbers: dict[str, int] = {}

    def numbered(found: re.Match[str]) -> str:
        if found[0] in _SESSIONS:
            return found[0]
        number = numbers.setdefault(found[1], len(numbers) + 1)
        return f"01a20055-{number:04x}" + (f"-7000-8000-{number:012x}" if found[2] else "")

    return _ID.sub(numbered, said)
