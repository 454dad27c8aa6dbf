"""Imports go down only: each layer names the ones below it that it may use."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "git_boocode"
SERVICES = {"workflows", "proposals", "checkpoints", "editing"}
MAY_IMPORT: dict[str, set[str]] = {
    "cli": {"server", "agents", "matching", "repo"} | SERVICES,
    "server": {"api", "repo"} | SERVICES,
    "workflows": {"agents", "proposals", "checkpoints", "editing", "repo"},
    "agents": {"proposals", "checkpoints", "editing", "repo"},
    "proposals": {"checkpoints", "editing", "repo"},
    "checkpoints": {"repo"},
    "editing": {"matching", "repo"},
    "repo": set(),
    "matching": set(),
}
MODULES = sorted(path.relative_to(PACKAGE) for path in PACKAGE.glob("*/**/*.py"))


def imported(path: Path) -> Iterator[str]:
    """The names of the layers that a module imports, wherever in the module it does so."""
    for node in ast.walk(ast.parse((PACKAGE / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} uses a relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            parts = name.split(".")
            if parts[0] == "git_boocode" and len(parts) > 1:
                yield parts[1]


def test_every_layer_is_a_package() -> None:
    assert {path.parent.name for path in PACKAGE.glob("*/__init__.py")} == set(MAY_IMPORT)


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_imports_go_down_only(module: Path) -> None:
    layer = module.parts[0]
    wrong = set(imported(module)) - MAY_IMPORT[layer] - {layer, "__version__"}
    assert not wrong, f"{module} imports from {sorted(wrong)}"


def test_only_repo_runs_git_or_uses_libgit2() -> None:
    """Other programs run in four places: the demo's commands, the pager, `man`, the callback."""
    cli = {Path("cli/demo.py"), Path("cli/manual_page.py"), Path("cli/output.py")}
    exempt = {*cli, Path("checkpoints/callback.py")}
    for module in MODULES:
        if module.parts[0] == "repo" or module in exempt:
            continue
        source = (PACKAGE / module).read_text(encoding="utf-8")
        assert "subprocess" not in source, module
        assert "pygit2" not in source, module


def test_only_the_picker_uses_prompt_toolkit() -> None:
    """It takes longer to load than all else that a command needs."""
    sources = {module: (PACKAGE / module).read_text(encoding="utf-8") for module in MODULES}
    users = [module for module, source in sources.items() if "import prompt_toolkit" in source]
    users += [module for module, source in sources.items() if "from prompt_toolkit" in source]
    assert users == [Path("cli/picker.py")]


@pytest.mark.parametrize("layer", sorted(set(MAY_IMPORT) - {"cli"}))
def test_services_know_nothing_of_the_command_line(layer: str) -> None:
    for module in (path for path in MODULES if path.parts[0] == layer):
        tree = ast.parse((PACKAGE / module).read_text(encoding="utf-8"))
        names = {name.split(".")[0] for node in ast.walk(tree) for name in _modules(node)}
        assert "click" not in names, module


def _modules(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) else []
