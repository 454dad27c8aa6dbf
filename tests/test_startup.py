"""What an import or a command loads: start-up is a feature."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.repo_kit import Repo

_REPORT = "import json, sys; json.dump(sorted(sys.modules), sys.stderr)"
_RUN = """
import json, os, sys
# A hook lets nothing be said on standard error.
said = os.fdopen(os.dup(2), "w")
sys.argv = ["git-boocode", *{arguments!r}]
from git_boocode.__main__ import main
main()
said.write("\\n" + json.dumps(sorted(sys.modules)))
"""


def modules_after(code: str) -> set[str]:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(done.stderr.strip().splitlines()[-1]))


def modules_of_command(*arguments: str) -> set[str]:
    return modules_after(_RUN.format(arguments=list(arguments)))


def test_the_version_costs_not_even_click() -> None:
    loaded = modules_of_command("--version")
    assert "click" not in loaded
    assert {name for name in loaded if name.startswith("git_boocode.")} == {"git_boocode.__main__"}


def test_importing_the_package_loads_nothing() -> None:
    loaded = modules_after(f"import git_boocode; {_REPORT}")
    assert not {name for name in loaded if name.startswith("git_boocode.")}


def test_the_matcher_loads_neither_click_nor_git() -> None:
    code = "from git_boocode import locate_match; locate_match('a\\nb\\n', 'b')"
    loaded = modules_after(f"{code}; {_REPORT}")
    assert not loaded & {"click", "pygit2", "rapidfuzz", "subprocess", "dataclasses", "difflib"}
    assert not {name for name in loaded if name.startswith("git_boocode.repo")}


def test_help_imports_no_command() -> None:
    loaded = modules_of_command("--help")
    assert "click" in loaded
    unused = ("git_boocode.check", "git_boocode.edit")
    assert not {name for name in loaded if name.startswith(unused)}


@pytest.mark.parametrize(
    "command", [("checkpoint",), ("log",), ("undo", "-n"), ("restore", "-n", "@")]
)
def test_checkpoint_commands_load_no_editing(repo: Repo, command: tuple[str, ...]) -> None:
    repo.write("a", "a\n")
    repo.boocode("checkpoint")
    loaded = modules_of_command(*command)
    heavy = {"pygit2", "rapidfuzz", "importlib.metadata"}
    assert not loaded & heavy
    unused = ("git_boocode.editing", "git_boocode.matching", "git_boocode.agents.")
    # A restore chooses the callback of the agent whose conversation it is, and spares its hooks.
    names = ("agent", "own_hooks", "registry")
    spares = {f"git_boocode.agents.{name}" for name in names}
    used = spares if {"undo", "restore"} & {*command} else set()
    assert {name for name in loaded if name.startswith(unused)} == used


def test_a_checkpoint_loads_nothing_for_pruning_but_once_a_day(repo: Repo) -> None:
    repo.write("a", "a\n")
    module = "git_boocode.checkpoints.store.retention"
    assert [module in modules_of_command("checkpoint") for _ in range(2)] == [True, False]


@pytest.mark.parametrize("command", [("checkpoint", "-m", "x", "--json"), ("checkpoint", "a")])
def test_what_is_called_at_every_turn_costs_no_click(repo: Repo, command: tuple[str, ...]) -> None:
    repo.write("a", "a\n")
    repo.boocode("checkpoint")
    loaded = modules_of_command(*command)
    assert not loaded & {"click", "shutil", "hashlib", "inspect", "dataclasses", "difflib", "uuid"}


def test_a_log_loads_little_beside_click(repo: Repo) -> None:
    repo.write("a", "a\n")
    repo.boocode("checkpoint")
    assert not modules_of_command("log") & {"hashlib", "dataclasses", "pygit2", "rapidfuzz"}


def test_a_hook_loads_what_a_checkpoint_loads_and_little_of_agents(repo: Repo) -> None:
    repo.write("a", "a\n")
    repo.boocode("checkpoint")
    loaded = modules_of_command("hook", "claude-code", "UserPromptSubmit")
    heavy = {"pygit2", "rapidfuzz", "importlib.metadata", "shutil", "tomllib", "hashlib"}
    assert not loaded & {"click", "inspect", "dataclasses", "difflib", "uuid", *heavy}
    unused = ("git_boocode.editing", "git_boocode.matching")
    assert not {name for name in loaded if name.startswith(unused)}
    ours = {name for name in loaded if name.startswith("git_boocode.agents.")}
    assert not {name for name in ours if "install" in name or "config" in name}
    checkpoint = modules_of_command("checkpoint")
    assert not {name for name in loaded - checkpoint if name.startswith("git_boocode.checkp")}


def test_an_exact_edit_loads_no_checkpoints(repo: Repo) -> None:
    repo.write("a", "a\n")
    loaded = modules_of_command(
        "apply-edit", "--path", "a", "--old", "a", "--new", "b", "--no-record"
    )
    assert repo.read("a") == b"b\n"
    assert not loaded & {"pygit2", "rapidfuzz", "importlib.metadata"}
    assert not {name for name in loaded if name.startswith("git_boocode.checkpoints")}


@pytest.mark.parametrize(
    "command", [("checkpoint",), ("hook", "claude-code", "Stop"), ("apply-edit", "--json", "edit")]
)
def test_what_is_called_at_every_turn_loads_nothing_of_the_page(
    repo: Repo, command: tuple[str, ...]
) -> None:
    repo.write("a", "a\n")
    repo.boocode("checkpoint")
    repo.write("edit", '{"path": "a", "old_string": "a", "new_string": "b"}')
    names = {name.rpartition(".")[2] for name in modules_of_command(*command)}
    page = {"timeline", "turns", "view", "view_data", "view_page", "view_server", "refusals"}
    assert not names & {*page, "line_origin", "webbrowser", "socketserver"}


def test_a_git_hook_loads_what_a_checkpoint_loads(repo: Repo) -> None:
    repo.write("a", "a\n")
    repo.boocode("checkpoint")
    repo.write("a", "b\n")
    loaded = modules_of_command("hook", "git", "pre-commit")
    assert "git_boocode.checkpoints.capture" in loaded
    heavy = {"click", "pygit2", "shutil", "hashlib", "inspect", "dataclasses", "difflib"}
    unused = ("git_boocode.editing", "git_boocode.matching")
    assert not [name for name in loaded if name in heavy or name.startswith(unused)]
    assert not loaded & {"git_boocode.agents.git_install", "git_boocode.agents.program"}
