from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

from tests.cli.test_completion import PATHS, offered
from tests.repo_kit import Repo
from tests.terminal_kit import Terminal


def newest(repo: Repo) -> dict[str, object]:
    shown = repo.boocode("show", "--json").json["checkpoint"]
    assert isinstance(shown, dict)
    return shown


def refs(repo: Repo) -> list[str]:
    return repo.git("for-each-ref", "refs/boocode").splitlines()


def test_what_git_offers_no_hook_for_can_be_undone(repo: Repo) -> None:
    repo.commit(a="a\n")
    repo.write("a", "precious\n")
    repo.write("new", "untracked\n")
    done = repo.installed("run", "--", "git", "reset", "--hard")
    assert (done.code, done.out) == (0, repo.git("log", "-1", "--format=HEAD is now at %h %s"))
    assert repo.read("a") == b"a\n"
    checkpoint = newest(repo)
    assert checkpoint["trigger"] == "run"
    assert checkpoint["label"] == "git reset --hard"
    restore = f"git boocode restore {checkpoint['id']}"
    assert done.err == f"hint: '{restore}' goes back to before the command\n"
    repo.boocode(*restore.split()[2:])
    assert repo.read("a") == b"precious\n"


def test_without_a_command_nothing_is_recorded(repo: Repo) -> None:
    done = repo.boocode("run")
    assert done.code == 129
    assert done.err == (
        "error: no command given\nusage: git boocode run [<options>] [--] <command> [<args>...]\n"
    )
    assert refs(repo) == []


def test_as_an_alias(repo: Repo) -> None:
    repo.commit(a="a\n")
    repo.git("config", "alias.hard", "!git boocode run -- git reset --hard")
    repo.write("sub/a", "changed\n")
    repo.write("a", "changed\n")
    subprocess.run(["git", "hard", "-q"], cwd=repo.top / "sub", check=True)
    assert repo.read("a") == b"a\n"
    assert newest(repo)["label"] == "git reset --hard -q"


def test_streams_arguments_and_exit_code_are_the_commands_own(repo: Repo) -> None:
    repo.write("a")
    script = 'cat; printf "%s|" "$@"; echo to stderr >&2; exit 7'
    for dashes in ([], ["--"]):
        command = [*dashes, "sh", "-c", script, "x", "--json", "", "a b", "--", "-m"]
        done = repo.boocode("run", *command, stdin="given\n")
        assert (done.code, done.out) == (7, "given\n--json||a b|--|-m|")
        assert done.err.endswith("\nto stderr\n")


def test_the_label(repo: Repo) -> None:
    repo.write("a")
    repo.boocode("run", "-m", "before it", "true")
    assert newest(repo)["label"] == "before it"
    repo.write("a", "1")
    repo.boocode("run", "sh", "-c", "true\n#" + "x" * 200)
    label = newest(repo)["label"]
    assert isinstance(label, str)
    assert label.startswith("sh -c 'true #xxx")
    assert (len(label), label[-1]) == (100, "…")


def test_where_nothing_has_changed(repo: Repo) -> None:
    repo.write("a")
    first = repo.boocode("checkpoint").out.strip()
    done = repo.boocode("run", "true")
    assert done.err == (
        "hint: nothing has changed since the latest checkpoint: "
        f"'git boocode restore {first}' goes back to before the command\n"
    )
    assert len(refs(repo)) == 1
    repo.git("config", "advice.boocode", "false")
    assert repo.boocode("run", "true").err == ""


def test_the_json_answer_comes_first(repo: Repo) -> None:
    repo.write("a")
    done = repo.boocode("run", "--json", "echo", "--json")
    first, rest = done.out.split("\n", 1)
    assert (done.code, rest, done.err) == (0, "--json\n", "")
    assert list(json.loads(first)) == [
        *("ok", "id", "commit", "ref", "tree", "changed", "skipped"),
    ]


def test_from_a_subdirectory(repo: Repo) -> None:
    repo.write("sub/a")
    repo.write("b")
    done = repo.boocode("run", "pwd", cwd="sub")
    assert done.out == f"{repo.top}/sub\n"
    tree = repo.git("ls-tree", "-r", "--name-only", refs(repo)[0].split()[0])
    assert tree.split() == ["b", "sub/a"]


def test_a_command_that_cannot_be_run(repo: Repo) -> None:
    repo.write("a")
    repo.write("sub/b")
    for command, code, message in (
        (("no-such-command",), 127, "cannot run 'no-such-command': command not found"),
        (("",), 127, "cannot run '': command not found"),
        (("./nothing",), 127, "cannot run './nothing': command not found"),
        (("./a",), 126, "cannot run './a': permission denied"),
        (("./sub",), 126, "cannot run './sub': it is a directory"),
    ):
        done = repo.boocode("run", *command)
        assert (done.code, done.out) == (code, "")
        assert done.err.startswith(f"error: {message}\n")
        assert refs(repo) == []
        as_json = repo.boocode("run", "--json", *command)
        assert (as_json.code, as_json.json["error"]["message"]) == (code, message)
        not_meant = repo.boocode("run", *command, "--json")
        assert (not_meant.code, not_meant.out) == (code, "")


def test_scripts_with_odd_beginnings(repo: Repo) -> None:
    repo.write("plain", 'echo "$0" "$@"\n', 0o755)
    assert repo.boocode("run", "./plain", "1", "a b").out == "./plain 1 a b\n"
    repo.write("odd", "#!/no/such/interpreter\n", 0o755)
    done = repo.boocode("run", "./odd")
    assert done.code == 126
    assert done.err.endswith("error: cannot run './odd': no such file or directory\n")


def test_usage_errors(repo: Repo) -> None:
    for args in ((), ("--",), ("-m", "x"), ("--nonsense", "true"), ("-m",)):
        done = repo.boocode("run", *args)
        assert (done.code, done.out) == (129, "")
        assert "usage: git boocode run [<options>] [--] <command> [<args>...]" in done.err
        assert refs(repo) == []


def test_without_the_checkpoint_it_is_not_run(repo: Repo, tmp_path: Path) -> None:
    env = {"HOME": str(repo.top)}
    done = repo.boocode("run", "touch", "ran", env=env)
    assert (done.code, done.out) == (1, "")
    assert "is the home directory" in done.err
    elsewhere = repo.boocode("run", "--json", "touch", "ran", cwd=tmp_path)
    assert (elsewhere.code, elsewhere.json["error"]["code"]) == (128, "not_a_repository")
    assert not (repo.top / "ran").exists()
    assert not (tmp_path / "ran").exists()
    assert repo.boocode("run", "--allow-home", "touch", "ran", env=env).code == 0
    assert len(refs(repo)) == 1


def test_best_effort_runs_it_all_the_same(repo: Repo, tmp_path: Path) -> None:
    done = repo.boocode("run", "--best-effort", "sh", "-c", "echo ran; exit 3", cwd=tmp_path)
    assert (done.code, done.out) == (3, "ran\n")
    assert done.err.startswith("fatal: not a git repository")


def test_signals_are_the_commands_own(repo: Repo) -> None:
    repo.write("a")
    # What Python ignores for itself the command must not ignore.
    status = 'grep SigIgn /proc/self/status || echo "SigIgn: 0"'
    ignored = repo.installed("run", "sh", "-c", status).out.split()[-1]
    bare = subprocess.run(["git", "-c", f"alias.x=!{status}", "x"], capture_output=True, text=True)
    assert ignored == bare.stdout.split()[-1]
    program = Path(sys.executable).parent / "git-boocode"
    killed = subprocess.run([program, "run", "sh", "-c", "kill -TERM $$"], capture_output=True)
    assert killed.returncode == -signal.SIGTERM


def test_the_terminal_is_the_commands_own(repo: Repo) -> None:
    repo.write("a")
    script = "test -t 0 && test -t 1 && test -t 2"
    assert Terminal("git", "boocode", "run", "sh", "-c", script).end()[0] == 0


def test_completion_leaves_the_command_to_others(repo: Repo) -> None:
    assert {"--label", "--best-effort"} <= set(offered(repo, "run", "--"))
    assert offered(repo, "run", "--", "git", "") == [PATHS]
    assert offered(repo, "run", "--", "git", "--") == [PATHS]
