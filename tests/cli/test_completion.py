"""Completion: what is offered, and what the scripts make of it in the shells that are here."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from git_boocode.cli.framework import COMMANDS
from git_boocode.repo.ids import new_id
from tests.checkpoints.kit import take
from tests.repo_kit import Repo
from tests.terminal_kit import Terminal

pytestmark = pytest.mark.slow

SCRIPTS = Path(__file__).parents[2] / "hooks/completion"
SHELLS = {"bash": "git-boocode.bash", "zsh": "_git-boocode", "fish": "git-boocode.fish"}
PATHS = ""


@pytest.fixture
def turns(repo: Repo) -> Repo:
    """Three turns, a remote and an applied edit."""
    repo.commit(a="0\n", **{"my notes": "n\n"})
    for label in ("first", "second: why", "before\tthe\nrefactoring"):
        repo.write("a", f"{label}\n")
        take(label=label)
    repo.write("a", "last\n")
    repo.boocode("apply-edit", "--path", "a", "--old", "last", "--new", "lost")
    repo.git("remote", "add", "origin", "/nowhere")
    return repo


def described(repo: Repo, *words: str, cwd: str | Path = "") -> dict[str, str]:
    """The words that are offered, in their order, and their descriptions."""
    done = repo.boocode("completion", "--candidates", *words, cwd=cwd)
    assert (done.code, done.err) == (0, "")
    pairs = (line.split("\t") for line in done.out.splitlines())
    return {word: text for word, text in pairs}  # noqa: C416 - each line has two parts


def offered(repo: Repo, *words: str, cwd: str | Path = "") -> list[str]:
    return list(described(repo, *words, cwd=cwd))


# What is offered.


def test_commands_with_their_summary(repo: Repo) -> None:
    expected = {name: entry.summary.rstrip(".") for name, entry in COMMANDS.items()}
    assert described(repo, "") == expected


def test_words(repo: Repo) -> None:
    expected: list[tuple[list[str], list[str]]] = [
        (["re"], ["restore", "revert", "redo", "read", "rewind"]),
        (["x"], []),
        (["nonsense", ""], []),
        (["hooks", ""], ["install", "status", "uninstall"]),
        (["turn", ""], ["begin", "end", "status"]),
        (
            ["hooks", "install", "--agent", "c"],
            ["claude-code", "codex", "cursor", "copilot", "cline"],
        ),
        (["checkpoint", "--agent=cl"], ["--agent=claude-code", "--agent=cline"]),
        (["checkpoint", ""], [PATHS]),
        (["restore", "--force", "o"], ["other-worktree", "other-session", "other-repository"]),
        (["restore", "--force", "other-session,i"], ["other-session,ignored"]),
        (["restore", "--callback", "c"], ["claude-code", PATHS]),
        (["undo", "--force=l"], ["--force=later-changes"]),
        (["apply-edit", "--format", "s"], ["string", "search-replace"]),
        (["apply-edit", ""], [PATHS]),
        (["read", ""], [PATHS]),
        (["locate", "--profile", "op"], ["opencode-3", "opencode-9"]),
        (["tools", "s"], ["string", "search-replace"]),
        (["completion", ""], ["bash", "zsh", "fish"]),
        (["help", "c"], ["checkpoint", "completion", "callback", "compatibility"]),
        (["help", "j"], ["json"]),
    ]
    for words, found in expected:
        assert offered(repo, *words) == found, words


def test_options_of_a_command(repo: Repo) -> None:
    found = described(repo, "restore", "--")
    assert {"--dry-run", "--callback", "--files-only", "--json"} <= found.keys()
    assert found["--dry-run"] == "Only show what would change"
    assert not {"-h", "--no-head"} & found.keys()


def test_help_and_version_do_nothing_but_stand_there(turns: Repo) -> None:
    assert offered(turns, "restore", "--help", "") == ["@", "@~1", "@~2"]
    assert offered(turns, "--version", "pru") == ["prune"]


def test_checkpoints_with_age_and_label(turns: Repo) -> None:
    expected = ["before the refactoring", "second: why", "first"]
    for command in ("restore", "show", "drop"):
        found = described(turns, command, "")
        assert list(found) == ["@", "@~1", "@~2"]
        for text, label in zip(found.values(), expected, strict=True):
            assert re.fullmatch(rf"(just now|\d+ s ago)  {re.escape(label)}", text)


def test_the_beginning_of_an_id_or_a_commit_gives_the_shortest_unique_id(turns: Repo) -> None:
    entry = take(label="another")
    short = offered(turns, "restore", entry.id[:6])
    assert len(short) == 4
    for name in (*short, *offered(turns, "restore", entry.commit.id[:5])):
        assert turns.boocode("show", "--stat", name).code == 0
        assert len(name) < 30
    assert offered(turns, "restore", entry.id[:-1]) == [entry.id]
    assert offered(turns, "restore", entry.commit.id[:12]) == [entry.commit.id]


def test_safety_checkpoints_and_edits_are_found_by_id(turns: Repo) -> None:
    turns.write("a", "mess\n")
    turns.boocode("restore", "@")
    texts = " ".join(described(turns, "show", "0").values())
    assert "before the restore to" in texts
    assert re.search(r"ago  a$|now  a$|ago  a | now  a ", texts)


def test_of_many_that_match_the_newest_are_offered(turns: Repo) -> None:
    old = turns.git("for-each-ref", "--format=%(objectname)", "--count=1", "refs/boocode").strip()
    made = (new_id(10**18 + number * 10**9) for number in range(40))
    lines = "".join(f"create refs/boocode/safety/{each} {old}\n" for each in made)
    turns.git("update-ref", "--stdin", stdin=lines)
    entry = take(label="newest of all")
    assert next(iter(described(turns, "restore", "0").values())).endswith("  newest of all")
    assert len(offered(turns, "restore", "0")) == 25
    assert entry.id.startswith(offered(turns, "restore", "0")[0])


def test_several_checkpoints_and_then_paths(turns: Repo) -> None:
    assert offered(turns, "diff", "") == ["@", "@~1", "@~2", PATHS]
    assert offered(turns, "diff", "@", "") == ["@~1", "@~2", PATHS]
    for before in (["@", "@~1"], ["a"], ["--"]):
        assert offered(turns, "diff", *before, "") == [PATHS]
    assert offered(turns, "drop", "@~1", "@", "") == ["@~2"]
    assert offered(turns, "restore", "@", "") == [PATHS]


def test_files_of_a_checkpoint(turns: Repo) -> None:
    turns.write("dir/sub/b c", "b\n")
    turns.write("dir/a", "a\n")
    take()
    assert offered(turns, "show", "@:") == ["@:a", "@:dir/", "@:my notes"]
    assert offered(turns, "show", "@:dir/") == ["@:dir/a", "@:dir/sub/"]
    assert offered(turns, "show", "@:dir/sub/b") == ["@:dir/sub/b c"]
    assert offered(turns, "show", "@~1:d") == offered(turns, "show", "@~9:") == []


def test_ranges_of_checkpoints(turns: Repo) -> None:
    found = described(turns, "diff", "@~1..")
    assert [*found][:3] == ["@~1..@", "@~1..@~1", "@~1..@~2"]
    assert found["@~1..@"] == described(turns, "diff", "")["@"]


def test_branches_and_commits(turns: Repo) -> None:
    turns.git("branch", "topic/one")
    turns.git("tag", "v1")
    assert offered(turns, "fork", "@", "-b", "t") == ["topic/one"]
    assert offered(turns, "fork", "") == ["@", "@~1", "@~2"]
    assert offered(turns, "attribute", "") == ["HEAD", "main", "topic/one", "v1"]
    assert offered(turns, "attribute", "main", "main..t") == ["main..topic/one"]
    assert offered(turns, "view", "main...to") == ["main...topic/one"]
    assert offered(turns, "show", "HE") == ["HEAD"]
    assert "main..topic/one" in offered(turns, "log", "main..t")
    assert offered(turns, "log", "--", "t") == [PATHS]


def test_edits_and_remotes(turns: Repo) -> None:
    found = described(turns, "rewind", "")
    assert list(found) == ["@", PATHS]
    assert found["@"].endswith("  a")
    for words in (["push", ""], ["fetch", "o"], ["log", "--remote", ""]):
        assert offered(turns, *words) == ["origin"]
    assert offered(turns, "push", "origin", "@~") == ["@~1", "@~2"]


def test_outside_a_repository_or_in_a_broken_one_nothing_is_printed(
    turns: Repo, tmp_path: Path
) -> None:
    assert offered(turns, "restore", "", cwd=tmp_path) == []
    assert offered(turns, "diff", "", cwd=tmp_path) == [PATHS]
    turns.write(".git/HEAD", "garbage\n")
    assert offered(turns, "restore", "") == []
    assert offered(turns, "push", "") == []


def test_nothing_is_written(turns: Repo) -> None:
    turns.git("worktree", "add", "-q", "--detach", "linked")

    def files() -> dict[Path, int]:
        return {path: path.lstat().st_mtime_ns for path in turns.top.rglob("*")}

    before = files()
    for where in ("", "linked"):
        for words in (["checkpoint", ""], ["restore", ""], ["show", "0"], ["rewind", ""]):
            offered(turns, *words, cwd=where)
    assert files() == before


def test_a_git_that_hangs_is_given_up(turns: Repo, tmp_path: Path) -> None:
    hanging = tmp_path / "git"
    hanging.write_text("#!/bin/sh\nexec sleep 600\n")
    hanging.chmod(0o755)
    command = ["git-boocode", "completion", "--candidates", "restore", ""]
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    # What it has started holds the output as well, and would keep the shell waiting.
    done = subprocess.run(
        command, cwd=turns.top, env={**os.environ, "PATH": path}, capture_output=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


# The scripts.


def test_the_script_of_a_shell_is_printed(repo: Repo) -> None:
    for shell, name in SHELLS.items():
        script = (SCRIPTS / name).read_text(encoding="utf-8")
        assert repo.boocode("completion", shell) == (0, script, "")
        assert script.count("completion --candidates") == (2 if shell == "fish" else 1)
        assert "2>/dev/null" in script
    for arguments, said in ([], "no shell given"), (["tcsh"], "unknown shell 'tcsh'"):
        hint = "hint: the shells are: bash, zsh, fish\n"
        assert repo.boocode("completion", *arguments) == (129, "", f"error: {said}\n{hint}")


def test_the_bash_script_needs_nothing_that_bash_3_lacks() -> None:
    script = (SCRIPTS / SHELLS["bash"]).read_text(encoding="utf-8")
    code = re.sub(r"^\s*#.*", "", script, flags=re.MULTILINE)
    newer = r"mapfile|readarray|declare -A|local -[nA]|\[-1\]|\$\{[^}]*(,,|\^\^|@[A-Z])|\|&|&>>"
    assert not re.search(newer, code)
    # It is there from bash 4 on, and its absence does no harm.
    assert all("2>/dev/null" in line for line in code.splitlines() if "compopt" in line)


def program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"there is no {name}")
    return found


def bash(line: str, parts: Sequence[str], *, alone: bool = False, listing: bool = False) -> str:
    """What bash offers for a line whose parts are as bash, or git's completion, has parted it."""
    words = " ".join(f"'{part}'" for part in parts)
    array = "COMP_WORDS" if alone else "words"
    script = f"""
        COMP_WORDBREAKS=$' \\t\\n"\\'@><=;|&(:'
        . '{SCRIPTS}/git-boocode.bash'
        COMP_LINE='{line}' COMP_POINT={len(line)} COMP_TYPE={9 if listing else 37} COLUMNS=40
        {array}=({words}) cword={len(parts) - 1} COMP_CWORD={len(parts) - 1}
        {"__git_boocode_alone" if alone else "_git_boocode"}
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    command = [program("bash"), "-c", script]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_bash_lists_with_descriptions_and_inserts_without(turns: Repo) -> None:
    line = "git boocode restore @"
    parts = line.split()
    assert bash(line, parts).splitlines() == ["@", "@~1", "@~2"]
    listed = bash(line, parts, listing=True).splitlines()
    assert all(re.match(r"@(~\d)? +(just|\d)", each) and len(each) < 40 for each in listed)
    assert listed[2].endswith("  first")
    assert listed[0].startswith("@ ")
    assert bash(f"{line}~1", [*parts[:-1], "@~1"], listing=True) == "@~1 \n"


def test_bash_takes_words_together_that_it_has_parted(turns: Repo) -> None:
    parts = ["git-boocode", "drop", "@", "~1", "@", "~"]
    assert bash("git-boocode drop @~1 @~", parts, alone=True) == "@~2 \n"
    parts = ["git-boocode", "restore", "--force", "=", "ig"]
    assert bash("git-boocode restore --force=ig", parts, alone=True) == "ignored \n"


def test_bash_goes_on_behind_a_colon(turns: Repo) -> None:
    turns.write("dir/a", "a\n")
    take()
    parts = ["git-boocode", "show", "@", ":", "di"]
    assert bash("git-boocode show @:di", parts, alone=True) == "dir/\n"
    parts[-1] = "dir/"
    assert bash("git-boocode show @:dir/", parts, alone=True) == "dir/a \n"


def test_bash_completes_paths_itself(turns: Repo) -> None:
    line = "git boocode restore @ my"
    assert bash(line, line.split()) == "\n"


def test_fish(turns: Repo) -> None:
    fish = program("fish")

    def complete(line: str) -> list[str]:
        script = f"source '{SCRIPTS}/git-boocode.fish'; complete -C '{line}'"
        done = subprocess.run([fish, "-c", script], capture_output=True, text=True)
        assert done.stderr == ""
        return [part.partition("\t")[0] for part in done.stdout.splitlines()]

    for command in ("git-boocode", "git boocode"):
        assert complete(f"{command} restore ") == ["@", "@~1", "@~2"]
        assert complete(f"{command} restore @ m") == ["my notes"]
        assert complete(f"{command} restore --force=ig") == ["--force=ignored"]


@pytest.fixture
def startup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory whose startup files set up completion and a plain prompt."""
    lines = ["PS1='ready> '", 'eval "$(git boocode completion zsh)"']
    (tmp_path / ".zshrc").write_text("\n".join(["autoload -Uz compinit", "compinit -D", *lines]))
    git = "/usr/share/bash-completion/completions/git"
    (tmp_path / ".bashrc").write_text(
        f"PS1='ready> '\n[ ! -e {git} ] || . {git}\n" + 'eval "$(git boocode completion bash)"\n'
    )
    monkeypatch.setenv("ZDOTDIR", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("shell", ["bash", "zsh"])
@pytest.mark.parametrize("command", ["git-boocode", "git boocode"])
def test_a_terminal(shell: str, command: str, turns: Repo, startup: Path) -> None:
    rest = ["--rcfile", str(startup / ".bashrc"), "-i"] if shell == "bash" else ["-d", "-i"]
    if shell == "bash" and not Path("/usr/share/bash-completion/completions/git").exists():
        pytest.skip("there is no completion of git for bash")
    terminal = Terminal(program(shell), *rest)
    terminal.wait_for("ready> ")
    terminal.type(f"{command} restore @\t\t")
    terminal.wait_for("second: why")
    # What is in the line by then is printed, as the shell takes it.
    for typed in ("~1\t", "m\t", "--force=ig\t"):
        terminal.type(typed)
    terminal.type("\x01printf '<%s>' \x05\n")
    terminal.wait_for("<restore><@~1><my notes><--force=ignored>")
    terminal.type("exit\n")
    terminal.end()


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_a_path_of_a_checkpoint_on_a_terminal(shell: str, turns: Repo, startup: Path) -> None:
    turns.write("dir/a", "a\n")
    take()
    rest = ["--rcfile", str(startup / ".bashrc"), "-i"] if shell == "bash" else ["-d", "-i"]
    terminal = Terminal(program(shell), *rest)
    terminal.wait_for("ready> ")
    terminal.type("git-boocode show @:di\t\t")
    terminal.type("\x01printf '<%s>' \x05\n")
    terminal.wait_for("<show><@:dir/a>")
    terminal.type("exit\n")
    terminal.end()
