"""Nothing that lies in a worktree runs inside our processes, whatever the environment says."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from git_boocode.repo.files import shipped_file
from tests.repo_kit import Repo

pytestmark = pytest.mark.slow

LAUNCHER = Path(shipped_file("git-boocode"))
MODULES = ("json", "re", "os", "sitecustomize", "usercustomize", "click", "pygit2", "rapidfuzz")
PACKAGES = ("encodings", "git_boocode", "importlib")
PAYLOAD = b'{"session_id": "s", "prompt": "x", "cwd": "."}'


@pytest.fixture
def ran(repo: Repo, tmp_path: Path) -> Path:
    """A file that is there as soon as a module of the worktree has run."""
    trace = tmp_path / "ran"
    code = f"open({str(trace)!r}, 'a').write(__name__ + chr(10))\n"
    for name in MODULES:
        repo.write(f"{name}.py", code)
    for name in PACKAGES:
        repo.write(f"{name}/__init__.py", code)
    return trace


def environment(name: str, value: str) -> dict[str, str]:
    return {**os.environ, name: value}


def test_the_installed_command_is_isolated(repo: Repo, ran: Path) -> None:
    for name in ("PYTHONPATH", "PYTHONHOME", "PYTHONPLATLIBDIR", "PYTHONUSERBASE"):
        for value in (".", str(repo.top)):
            for arguments in (("checkpoint",), ("hook", "claude-code", "UserPromptSubmit")):
                done = subprocess.run(
                    ["git", "boocode", *arguments],
                    input=PAYLOAD,
                    env=environment(name, value),
                    capture_output=True,
                )
                assert done.returncode == 0, done
    assert not ran.exists(), ran.read_text()


@pytest.mark.parametrize("name", ["PYTHONEXECUTABLE", "__PYVENV_LAUNCHER__"])
def test_no_environment_of_the_worktree_is_used(repo: Repo, tmp_path: Path, name: str) -> None:
    trace = tmp_path / "ran"
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    home = os.path.dirname(os.path.realpath(sys.executable))
    repo.write("pyvenv.cfg", f"home = {home}\n")
    code = f"open({str(trace)!r}, 'a').write(__name__)\n"
    repo.write(f"lib/{version}/site-packages/sitecustomize.py", code)
    for value in ("bin/python", str(repo.top / "bin/python")):
        env = environment(name, value)
        for arguments in (("checkpoint",), ("hook", "claude-code", "UserPromptSubmit")):
            done = subprocess.run(
                ["git", "boocode", *arguments], input=PAYLOAD, env=env, capture_output=True
            )
            assert done.returncode == 0, done
    assert not trace.exists()


def test_git_hooks_are_isolated(repo: Repo, ran: Path) -> None:
    assert repo.boocode("hooks", "install", "--git").code == 0
    env = environment("PYTHONPATH", ".")
    subprocess.run(["git", "add", "-A"], env=env, check=True)
    subprocess.run(["git", "commit", "-q", "-m", "x"], env=env, check=True)
    assert not ran.exists(), ran.read_text()
    assert "before a commit" in repo.boocode("log").out


def test_a_module_is_isolated_once_it_runs(repo: Repo, tmp_path: Path) -> None:
    trace = tmp_path / "ran"
    # Python has imported neither by itself.
    for name in ("json", "click"):
        repo.write(f"{name}.py", f"open({str(trace)!r}, 'a').write({name!r})\n")
    (repo.top / "sub").mkdir()
    command = [sys.executable, "-m", "git_boocode", "show", "--json"]
    for cwd, path in ((".", ""), ("sub", str(repo.top)), ("sub", "..")):
        env = environment("PYTHONPATH", path)
        done = subprocess.run(command, cwd=cwd, env=env, capture_output=True)
        assert done.returncode == 1, done
    assert not trace.exists(), trace.read_text()


@pytest.mark.parametrize("shebang", ["/usr/bin/env python3", f"{sys.executable} -B"])
def test_a_callback_imports_nothing_of_the_worktree(repo: Repo, ran: Path, shebang: str) -> None:
    repo.boocode("checkpoint")
    repo.write("new")
    program = repo.write(".git/callback", f"#!{shebang}\nimport json\nprint('{{}}')\n", 0o755)
    for path in (".", str(repo.top), f".{os.pathsep}/nowhere"):
        env = environment("PYTHONPATH", path)
        done = repo.installed("restore", "@", "--callback", str(program), env=env)
        assert done.code == 0, done
    assert not ran.exists(), ran.read_text()


def test_a_shipped_callback_is_isolated(repo: Repo, ran: Path) -> None:
    for name in ("claude-code", "http", "sqlite", "trim-jsonl"):
        program = shipped_file(f"callbacks/{name}")
        env = environment("PYTHONPATH", ".")
        done = subprocess.run([program], input=b"{}", env=env, capture_output=True)
        assert b"exec" not in done.stderr
        assert not ran.exists(), ran.read_text()


def fake_python(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('#!/bin/sh\nprintf "%s\\n" "$0" "$@"\n')
    path.chmod(0o755)


def launched(path: Path, **env: str) -> list[str]:
    """The words that the launcher starts Python with."""
    done = subprocess.run(
        [str(path), "log", "a b"], env={**os.environ, **env}, capture_output=True, text=True
    )
    assert done.returncode == 0, done
    return done.stdout.splitlines()


@pytest.fixture
def launcher(tmp_path: Path) -> Path:
    """The launcher in a prefix of its own, with an unusual name."""
    path = tmp_path / "a prefix" / "bin" / "git-boocode"
    path.parent.mkdir(parents=True)
    shutil.copy(LAUNCHER, path)
    return path


def test_it_starts_the_python_of_its_virtual_environment(launcher: Path) -> None:
    (launcher.parents[1] / "pyvenv.cfg").touch()
    fake_python(launcher.parent / "python")
    words = launched(launcher)
    assert words[:3] == [str(launcher.parent / "python"), "-I", "-c"]
    assert words[-3:] == [str(launcher), "log", "a b"]


def test_it_follows_links(launcher: Path, tmp_path: Path) -> None:
    (launcher.parents[1] / "pyvenv.cfg").touch()
    fake_python(launcher.parent / "python")
    links = tmp_path / "links"
    links.mkdir()
    (links / "one").symlink_to(os.path.relpath(launcher, links))
    (links / "git-boocode").symlink_to("one")
    for words in (launched(links / "git-boocode"), launched(Path(os.path.relpath(links / "one")))):
        assert os.path.samefile(words[0], launcher.parent / "python")


@pytest.mark.parametrize("below", ["lib/python3.99/site-packages", "lib/python3.99/dist-packages"])
@pytest.mark.parametrize("beside", [True, False])
def test_it_finds_the_python_of_its_prefix(
    launcher: Path, tmp_path: Path, below: str, beside: bool
) -> None:
    site = launcher.parents[1] / below
    (site / "git_boocode-1.dist-info").mkdir(parents=True)
    (launcher.parents[1] / "lib/python3.10/site-packages").mkdir(parents=True)
    directory = launcher.parent if beside else tmp_path / "elsewhere"
    fake_python(directory / "python3.99")
    words = launched(launcher, PATH=f".{os.pathsep}{directory}{os.pathsep}/usr/bin:/bin")
    assert words[:3] == [str(directory / "python3.99"), "-I", "-c"]
    assert "site.addsitedir" in words[3]
    assert os.path.samefile(words[4], site)
    assert words[5:] == [str(launcher), "log", "a b"]


def test_it_starts_the_newest_of_several_pythons(launcher: Path) -> None:
    versions = ("python3.99", "python3.100", "python3.101", "python3.102")
    for name in versions:
        site = launcher.parents[1] / "lib" / name / "site-packages"
        (site / "git_boocode-1.dist-info").mkdir(parents=True)
    # That of the newest is gone.
    for name in versions[:-1]:
        fake_python(launcher.parent / name)
    words = launched(launcher)
    assert words[0] == str(launcher.parent / "python3.101")
    assert os.path.samefile(words[4], launcher.parents[1] / "lib/python3.101/site-packages")


def test_it_finds_the_python_of_a_framework(tmp_path: Path) -> None:
    prefix = tmp_path / "Library/Python/3.99"
    (prefix / "lib/python/site-packages/git_boocode-1.dist-info").mkdir(parents=True)
    (prefix / "bin").mkdir()
    shutil.copy(LAUNCHER, prefix / "bin/git-boocode")
    fake_python(tmp_path / "elsewhere/python3.99")
    words = launched(
        prefix / "bin/git-boocode", PATH=f"{tmp_path / 'elsewhere'}{os.pathsep}/usr/bin:/bin"
    )
    assert words[:2] == [str(tmp_path / "elsewhere/python3.99"), "-I"]


def test_it_runs_no_python_by_a_relative_path(launcher: Path, repo: Repo) -> None:
    (launcher.parents[1] / "lib/python3.99/site-packages/git_boocode-1.dist-info").mkdir(
        parents=True
    )
    fake_python(repo.top / "python3.99")
    done = subprocess.run(
        [launcher], env={"PATH": ".:/usr/bin:/bin"}, capture_output=True, text=True
    )
    assert done.returncode == 128
    assert done.stderr.startswith("fatal: cannot find the Python")
    assert done.stdout == ""
