"""Imports go down only, and never in a circle: each layer names those below it that it may use."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

TOP = Path(__file__).parents[1]
SERVICES = {"workflows", "proposals", "checkpoints", "editing"}
MAY_IMPORT: dict[str, set[str]] = {
    "__main__": {"agents", "cli", "repo"},
    "__init__": {"api", "proposal_api", "checkpoints", "matching", "repo"},
    "proposal_api": {"api", "repo"} | SERVICES,
    "api": {"repo"} | SERVICES,
    "cli": {"server", "agents", "matching", "repo"} | SERVICES,
    "server": {"repo"} | SERVICES,
    "workflows": {"agents", "proposals", "checkpoints", "editing", "repo"},
    "agents": {"proposals", "checkpoints", "editing", "repo"},
    "proposals": {"checkpoints", "editing", "repo"},
    "checkpoints": {"repo"},
    "editing": {"matching", "repo"},
    "repo": set(),
    "matching": set(),
}
SOURCES = {
    path.relative_to(TOP): path.read_text(encoding="utf-8")
    for path in sorted((TOP / "git_boocode").rglob("*.py"))
}
NAMES = {".".join(path.with_suffix("").parts).removesuffix(".__init__"): path for path in SOURCES}


def layer_of(path: Path) -> str:
    return path.parts[1].removesuffix(".py")


@cache
def imported(path: Path) -> list[str]:
    """What a module imports, wherever in the module it does so."""
    names: list[str] = []
    for node in ast.walk(ast.parse(SOURCES[path])):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} uses a relative import"
            names += (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            names += (alias.name for alias in node.names)
    return names


def modules_imported(path: Path) -> set[Path]:
    """The modules of ours that a module imports, itself and the package aside."""
    found = {NAMES.get(name) or NAMES.get(name.rpartition(".")[0]) for name in imported(path)}
    return {each for each in found if each is not None} - {path, Path("git_boocode/__init__.py")}


def test_every_layer_is_known() -> None:
    assert {layer_of(path) for path in SOURCES} == MAY_IMPORT.keys()


def test_imports_go_down_only() -> None:
    for path in SOURCES:
        layer = layer_of(path)
        ours = {name.split(".")[1] for name in imported(path) if name.startswith("git_boocode.")}
        wrong = ours - MAY_IMPORT[layer] - {layer, "__version__"}
        assert not wrong, f"{path} imports from {sorted(wrong)}"


def test_no_module_imports_another_in_a_circle() -> None:
    """Not lazily either, nor for the sake of types."""
    above: dict[Path, set[Path]] = {path: modules_imported(path) for path in SOURCES}
    while lowest := {path for path, below in above.items() if not below}:
        above = {path: below - lowest for path, below in above.items() if path not in lowest}
    assert not above, f"a circle of imports is among {sorted(map(str, above))}"


def test_only_repo_runs_git_or_uses_libgit2() -> None:
    """Other programs run in four places: the demo's commands, the pager, `man`, the callback."""
    cli = {f"git_boocode/cli/{name}.py" for name in ("demo", "help", "output")}
    exempt = {*map(Path, cli), Path("git_boocode/checkpoints/callback.py")}
    for path, source in SOURCES.items():
        if layer_of(path) != "repo" and path not in exempt:
            assert "subprocess" not in source, path
            assert "pygit2" not in source, path


def test_only_the_picker_uses_prompt_toolkit() -> None:
    """It takes longer to load than all else that a command needs."""
    users = [path for path in SOURCES if any("prompt_toolkit" in name for name in imported(path))]
    names = ("picker", "picker_filter", "picker_screen")
    assert users == [Path(f"git_boocode/cli/{name}.py") for name in names]


def test_only_the_command_line_uses_click() -> None:
    for path in SOURCES:
        names = {name.split(".")[0] for name in imported(path)}
        assert layer_of(path) == "cli" or "click" not in names, path
