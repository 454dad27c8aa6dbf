"""What every command shares: exit codes, messages, hints, JSON errors."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from git_boocode import __version__
from git_boocode.cli import entry, synonyms
from git_boocode.cli.framework import COMMANDS
from git_boocode.cli.hooks import COMMANDS as HOOKS_COMMANDS
from tests.repo_kit import Repo


def test_version(repo: Repo) -> None:
    assert repo.boocode("--version") == (0, f"git-boocode version {__version__}\n", "")


def test_version_as_a_command(repo: Repo) -> None:
    line = f"git-boocode version {__version__}\n"
    assert repo.boocode("version") == (0, line, "")
    assert repo.boocode("version", "--json").json == {"ok": True, "version": __version__}
    verbose = repo.boocode("version", "-v").out
    assert verbose.startswith(f"{line}python version 3.")
    assert verbose.endswith(f"\n{repo.git('version')}")


def test_version_among_other_arguments(repo: Repo) -> None:
    assert repo.boocode("--version", "log").out == f"git-boocode version {__version__}\n"


def test_without_a_command_it_prints_the_usage(repo: Repo) -> None:
    result = repo.boocode()
    assert result.code == 129
    assert result.err.startswith("error: no command given\nusage: git boocode")
    assert result.out == ""


def test_json_is_asked_of_a_command(repo: Repo) -> None:
    for argv in (("--json",), ("--json", "log")):
        done = repo.boocode(*argv)
        assert (done.code, done.err) == (129, "")
        error = done.json["error"]
        assert error == {
            "code": "usage",
            "message": "unknown option '--json'",
            "usage": "usage: git boocode [<options>] <command> [<args>]",
            "hint": "it goes after the command: git boocode <command> --json",
        }


def test_an_unknown_command_names_the_nearest(repo: Repo) -> None:
    result = repo.boocode("chekpoint")
    assert result.code == 129
    assert result.err == (
        "error: 'chekpoint' is not a git boocode command\n"
        "usage: git boocode [<options>] <command> [<args>]\n"
        "hint: the most similar command is: checkpoint\n"
    )


@pytest.mark.parametrize(
    ("argv", "hint"),
    [
        (("log", "--pach"), "the most similar option is: --patch"),
        (("log", "--bogus"), "'git boocode log -h' lists the options"),
        (("hooks", "bogus"), "'git boocode hooks -h' lists the commands"),
        (("hooks", "install", "--bogus"), "'git boocode hooks install -h' lists the options"),
        (("prune", "--max-age", "3d"), "the option is: --older-than <age>"),
        (("frobnicate",), "'git boocode -h' lists the commands"),
        (("faq",), "'git boocode help faq' opens that page"),
    ],
)
def test_what_is_unknown_gets_a_hint(repo: Repo, argv: tuple[str, ...], hint: str) -> None:
    done = repo.boocode(*argv)
    assert done.code == 129
    assert done.err.splitlines()[2:] == [f"hint: {hint}"]


def test_a_word_of_another_tool_gets_a_hint(repo: Repo) -> None:
    for word, hint in (
        ("info", "'git boocode status' "),
        ("list", "'git boocode log' "),
        ("save", "'git boocode checkpoint' "),
        ("rollback", "'git boocode restore <checkpoint>' "),
        ("rolback", "'git boocode restore <checkpoint>' "),
        ("edit", "'git boocode apply-edit' "),
        ("gc", "'git boocode prune' "),
        ("lgo", "the most similar command is: log\n"),
    ):
        assert f"\nhint: {hint}" in repo.boocode(word).err
        assert f"\nhint: {hint}" in repo.boocode("help", word).err


def test_hints_name_commands_that_exist() -> None:
    hints = [*synonyms.OF_BOOCODE.values(), *synonyms.OF_HOOKS.values()]
    text = "\n".join(line for lines in (*hints, *synonyms.OPTION_HINTS.values()) for line in lines)
    assert set(re.findall(r"git boocode (\w[\w-]*)", text)) < set(COMMANDS)
    assert set(re.findall(r"git boocode hooks (\w+)", text)) == set(HOOKS_COMMANDS)
    assert not set(synonyms.OF_BOOCODE) & set(COMMANDS)
    assert not set(synonyms.OF_HOOKS) & set(HOOKS_COMMANDS)


def test_an_option_that_others_would_have_gets_a_hint(repo: Repo) -> None:
    assert "git boocode restore <checkpoint> [--]" in repo.boocode("restore", "--source", "@").err
    assert "hint: without --after, a turn" in repo.boocode("restore", "--before", "@").err


def test_a_rewind_of_a_checkpoint_is_a_restore(repo: Repo) -> None:
    repo.write("a", "a\n")
    checkpoint = repo.boocode("checkpoint").out.strip()
    for arguments in ((), ("@",), (checkpoint,)):
        done = repo.boocode("rewind", *arguments)
        assert done.code == 1
        name = arguments[0] if arguments else "<checkpoint>"
        assert f"hint: 'git boocode restore {name}' goes back to a checkpoint\n" in done.err


def test_a_restore_of_an_edit_is_a_rewind(repo: Repo) -> None:
    repo.write("a", "a\n")
    repo.boocode("checkpoint")
    edit = repo.boocode("apply-edit", "--path", "a", "--old", "a", "--new", "b", "--json").json[
        "id"
    ]
    done = repo.boocode("restore", edit)
    assert (done.code, repo.read("a")) == (1, b"b\n")
    assert f"hint: '{edit}' is an edit: 'git boocode rewind {edit}' undoes it\n" in done.err


def test_an_unknown_option_is_a_usage_error(repo: Repo) -> None:
    for command in COMMANDS:
        plain = repo.boocode(command, "--no-such-option")
        assert (plain.code, plain.out) == (129, ""), command
        said = "error: unknown option '--no-such-option'\nusage: git boocode "
        assert plain.err.startswith(said), command
        answer = repo.boocode(command, "--json", "--no-such-option")
        error = answer.json["error"]
        assert (answer.code, answer.err, error["code"]) == (129, "", "usage"), command
        # A hook, help and a group have no JSON answer but this one.
        assert error["message"].startswith("unknown option '--"), command
        assert error["usage"].startswith(f"usage: git boocode {command} "), command


REPOSITORY_COMMANDS = {
    "apply-edit": ["--path", "a", "--old", "b", "--new", "c"],
    "read": ["a"],
    "locate": ["a"],
    "checkpoint": [],
    "log": [],
    "show": [],
    "diff": [],
    "restore": ["@"],
    "undo": [],
    "drop": ["@"],
    "prune": [],
    "doctor": [],
}


def test_outside_a_repository(
    sealed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    for command, arguments in REPOSITORY_COMMANDS.items():
        plain = Repo(tmp_path).boocode(command, *arguments)
        assert plain.code == 128
        assert plain.err.startswith("fatal: not a git repository")
        answer = Repo(tmp_path).boocode(command, "--json", *arguments)
        assert answer.code == 128
        assert answer.json["error"]["code"] == "not_a_repository"
        assert answer.err == ""


def test_a_bare_repository_is_refused(repo: Repo) -> None:
    repo.git("init", "-q", "--bare", "bare.git")
    for command in [name for name in REPOSITORY_COMMANDS if name != "locate"]:
        result = repo.boocode(command, *REPOSITORY_COMMANDS[command], cwd="bare.git")
        assert result.code == 128
        assert "has no worktree" in result.err


def test_hints_can_be_silenced(repo: Repo) -> None:
    assert "hint: " in repo.boocode("restore", "nowhere").err
    repo.git("config", "advice.boocode", "false")
    assert "hint: " not in repo.boocode("restore", "nowhere").err


def test_an_unexpected_error_is_no_traceback(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(_: object) -> int:
        raise ZeroDivisionError("by design")

    monkeypatch.setattr(entry, "_dispatch", broken)
    assert entry.run(["log"]) == 128
    shown = capsys.readouterr().err
    assert shown.startswith("fatal: unexpected ZeroDivisionError: by design\n")
    assert "please report" in shown
    assert "Traceback" not in shown
    monkeypatch.setenv("GIT_BOOCODE_DEBUG", "1")
    entry.run(["log"])
    assert "Traceback" in capsys.readouterr().err


def test_a_missing_package_is_not_reported_as_a_bug() -> None:
    start = "import sys; sys.modules['click'] = None\nfrom git_boocode.__main__ import program\n"
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"{start}program()", "log"], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (128, "")
    assert done.stderr == (
        f"fatal: the Python '{sys.executable}' lacks the package 'click'\n"
        "hint: install git-boocode into an environment of its own: pipx install git-boocode\n"
    )


def test_an_error_of_the_system_names_file_and_reason(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(_: object) -> int:
        raise OSError(28, "No space left on device", "/somewhere/file")

    monkeypatch.setattr(entry, "_dispatch", full)
    assert entry.run(["checkpoint"]) == 128
    shown = capsys.readouterr().err
    assert shown == (
        "fatal: cannot use '/somewhere/file': no space left on device\n"
        "hint: free some space on the disk of the repository, then run the command again\n"
    )


def test_a_reader_that_left_is_no_error(repo: Repo) -> None:
    repo.write("a", "a\n")
    for _ in range(3):
        repo.boocode("checkpoint", "-m", "x" * 70)
    script = f"{sys.executable} -m git_boocode log 2>err | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
    assert done.stdout.strip() in ("0", "141")
    assert (repo.top / "err").read_text() == ""


def test_python_m_is_the_same_program(repo: Repo) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "git_boocode", "log", "--json"], capture_output=True, text=True
    )
    assert done.stdout == repo.boocode("log", "--json").out == '{"ok": true, "checkpoints": []}\n'


def test_output_is_utf8_in_any_locale(repo: Repo) -> None:
    repo.write("a", "a\n")
    environ = {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    assert repo.boocode("checkpoint", "-m", "– “é”", env=environ).code == 0
    assert "– “é”" in repo.boocode("log", env=environ).out
    assert os.environ["LANG"] == "C.UTF-8"


@pytest.mark.parametrize(("end", "code"), [(KeyboardInterrupt(), 130), (SystemExit(143), 143)])
def test_what_is_ended_by_a_signal_still_answers_json(
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
    end: BaseException,
    code: int,
) -> None:
    def ended(_: object) -> int:
        raise end

    monkeypatch.setattr(entry, "_dispatch", ended)
    assert entry.run(["checkpoint"]) == code
    assert capfdbinary.readouterr().out == b""
    assert entry.run(["checkpoint", "--json"]) == code
    answer = json.loads(capfdbinary.readouterr().out)
    assert (answer["ok"], answer["error"]["code"]) == (False, "interrupted")
