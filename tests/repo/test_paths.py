from pathlib import Path

import pytest

from git_boocode.repo.errors import RefusedError
from git_boocode.repo.files import inside_worktree, is_dot_git


@pytest.fixture
def top(tmp_path: Path) -> str:
    (tmp_path / "top/sub").mkdir(parents=True)
    (tmp_path / "top/.git").mkdir()
    (tmp_path / "elsewhere").mkdir()
    return str(tmp_path / "top")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a.txt", "a.txt"),
        ("sub/a.txt", "sub/a.txt"),
        ("./sub//a.txt", "sub/a.txt"),
        ("sub/../a.txt", "a.txt"),
        ("not/there/yet", "not/there/yet"),
        (".github/a", ".github/a"),
        (".gitignore", ".gitignore"),
        ("-n", "-n"),
        ("a\nb", "a\nb"),
        ("\udcff", "\udcff"),
    ],
)
def test_a_path_inside_is_normalised(top: str, path: str, expected: str) -> None:
    assert inside_worktree(top, path) == expected


def test_an_absolute_path_inside_becomes_relative(top: str) -> None:
    assert inside_worktree(top, f"{top}/sub/a.txt") == "sub/a.txt"


@pytest.mark.parametrize(
    "path",
    ["../a", "sub/../../a", "/etc/passwd", ".git/config", "sub/.GIT/x", ".git", "GIT~1/config",
     ".git./config", ".git /x", ".g\u200cit/config", ".git::$INDEX_ALLOCATION/x",
     ".git\\config", ".GIT\\hooks\\x", "sub\\.git\\x", "git~1\\config", ".git. .\\x", ".git\\"],
)  # fmt: skip
def test_a_path_that_leaves_is_refused(top: str, path: str) -> None:
    with pytest.raises(RefusedError) as caught:
        inside_worktree(top, path)
    assert caught.value.code == "outside_worktree"


@pytest.mark.parametrize("path", ["", "a\0b", ".", "sub/"])
def test_what_names_no_file_is_invalid(top: str, path: str) -> None:
    with pytest.raises(RefusedError) as caught:
        inside_worktree(top, path)
    assert caught.value.code == "invalid_input"


@pytest.mark.parametrize(
    ("target", "path"),
    [("../elsewhere", "link/a"), ("/", "link/etc"), (".git", "link/config"), ("../../x", "link")],
)
def test_a_symlink_that_leads_out_is_refused(top: str, target: str, path: str) -> None:
    Path(top, "link").symlink_to(target)
    with pytest.raises(RefusedError, match="symlink"):
        inside_worktree(top, path)


def test_a_symlink_that_stays_inside_is_fine(top: str) -> None:
    Path(top, "link").symlink_to("sub")
    assert inside_worktree(top, "link/a") == "link/a"


def test_names_that_only_resemble_dot_git_are_fine() -> None:
    assert not any(map(is_dot_git, ("git", ".gitx", ".git2", "x.git", "git~2")))
