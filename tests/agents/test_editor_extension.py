"""The extension for VS Code: packed without Node, and installed by the editor's own program."""

from __future__ import annotations

import io
import json
import os
import stat
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pytest

import git_boocode
from git_boocode.agents.vsix import packed
from tests.repo_kit import Repo

TOP = Path(__file__).parents[2]
SOURCE = TOP / "hooks/editors/vscode"
EXTENSION = "git-boocode.git-boocode"
INSTALL = ("hooks", "install", "--editor", "vscode")


def stub(directory: Path, name: str, script: str = "exit 0") -> None:
    """A program of an editor that notes its arguments and copies the package."""
    path = directory / name
    copy = f'[ "$1" != --install-extension ] || cp "$2" {directory}/installed.vsix'
    path.write_text(f'#!/bin/sh\necho "{name} $1 $3" >>{directory}/calls\n{copy}\n{script}\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory on the PATH, for programs of editors; the home directory is empty."""
    home, directory = tmp_path / "home", tmp_path / "programs"
    home.mkdir()
    directory.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", f"{directory}{os.pathsep}{os.environ['PATH']}")
    return directory


def calls(programs: Path) -> list[str]:
    return [line.strip() for line in (programs / "calls").read_text().splitlines()]


def test_the_package_has_what_runs() -> None:
    data = packed(SOURCE, TOP / "LICENSE")
    assert data == packed(SOURCE, TOP / "LICENSE")
    package = zipfile.ZipFile(io.BytesIO(data))
    names = package.namelist()
    assert {f"extension/src/{path.name}" for path in SOURCE.glob("src/*.js")} <= {*names}
    about = json.loads(package.read("extension/package.json"))
    assert f"extension/{about['main'].removeprefix('./')}" in names
    assert about["version"] == git_boocode.__version__
    manifest = ElementTree.fromstring(package.read("extension.vsixmanifest"))
    [identity] = manifest.findall(".//{*}Identity")
    assert identity.attrib["Version"] == about["version"]
    assert f"{identity.attrib['Publisher']}.{identity.attrib['Id']}" == EXTENSION
    assert all(asset.attrib["Path"] in names for asset in manifest.findall(".//{*}Asset"))
    types = ElementTree.fromstring(package.read("[Content_Types].xml"))
    known = {each.attrib["Extension"] for each in types}
    assert {Path(name).suffix for name in names if name != "[Content_Types].xml"} == known


def test_each_editor_that_is_there_installs_it(repo: Repo, programs: Path) -> None:
    stub(programs, "code")
    stub(programs, "codium")
    done = repo.boocode(*INSTALL)
    assert done.code == 0, done.err
    called = [f"{name} --install-extension --force" for name in ("code", "codium")]
    assert calls(programs) == called
    assert zipfile.is_zipfile(programs / "installed.vsix")
    assert "installed the extension in code\n" in done.out + done.err
    (programs / "calls").unlink()
    answer = repo.boocode(*INSTALL, "--program", "codium", "--json").json
    assert answer["editors"] == [{"program": "codium", "version": None}]
    assert calls(programs) == called[1:]


def test_it_is_listed_and_removed(repo: Repo, programs: Path) -> None:
    stub(programs, "code")
    stub(programs, "cursor")
    Path.home().joinpath(f".cursor/extensions/{EXTENSION}-0.0.9").mkdir(parents=True)
    assert "extension in cursor: version 0.0.9\n" in repo.boocode("hooks", "status").out
    listed = repo.boocode("hooks", "status", "--json").json["editors"]
    assert listed == [{"program": "cursor", "version": "0.0.9"}]
    assert repo.boocode("hooks", "uninstall", "--editor", "vscode", "-n").code == 0
    assert not (programs / "calls").exists()
    assert repo.boocode("hooks", "uninstall", "--editor", "vscode").code == 0
    assert calls(programs) == ["cursor --uninstall-extension"]


def test_other_directories_of_extensions(
    repo: Repo, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def listed() -> list[dict[str, str]]:
        found: list[dict[str, str]] = repo.boocode("hooks", "status", "--json").json["editors"]
        return found

    Path.home().joinpath(f".vscode-server/extensions/{EXTENSION}-0.0.8").mkdir(parents=True)
    assert listed() == [{"program": "code", "version": "0.0.8"}]
    chosen = programs / "extensions"
    (chosen / f"{EXTENSION}-0.0.9").mkdir(parents=True)
    monkeypatch.setenv("VSCODE_EXTENSIONS", str(chosen))
    assert listed() == [{"program": "code", "version": "0.0.9"}]
    stub(programs, "code")
    assert repo.boocode("hooks", "uninstall", "--editor", "vscode").code == 0
    assert calls(programs) == ["code --uninstall-extension"]


def test_what_goes_wrong_is_said(repo: Repo, programs: Path) -> None:
    missing = repo.boocode(*INSTALL, "--program", "no-such-editor")
    assert (missing.code, "no-such-editor" in missing.err) == (1, True)
    stub(programs, "code", "echo 'disk is full'; exit 3")
    failed = repo.boocode(*INSTALL)
    assert (failed.code, "disk is full" in failed.err) == (128, True)
    for wrong in (("--git",), ("--agent", "codex"), ("--user",), ("--exclude",)):
        assert repo.boocode(*INSTALL, *wrong).code == 129
    assert repo.boocode("hooks", "install", "--program", "code").code == 129
    assert repo.boocode("hooks", "install", "--editor", "ed").code == 129
