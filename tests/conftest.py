"""One sealed repository for every test: nothing of the machine's own git reaches it."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.memory import use_memory
from tests.repo_kit import Repo

use_memory()

# Without compiled files, every worker would rewrite the assertions of all tests again, and every
# program that a test starts would be compiled again.
sys.dont_write_bytecode = False

# A parent such as `nohup` ignores these signals, and every program that a test starts would too.
signal.signal(signal.SIGINT, signal.default_int_handler)
for number in (signal.SIGHUP, signal.SIGTERM):
    signal.signal(number, signal.SIG_DFL)

# The same examples in every run, so that a result never depends on luck. Generating them is slow
# on a busy machine. To look for new examples: HYPOTHESIS_PROFILE=explore.
_STEADY: dict[str, Any] = {
    "derandomize": True,
    "deadline": None,
    "suppress_health_check": [HealthCheck.too_slow],
}
settings.register_profile("quick", max_examples=15, **_STEADY)
settings.register_profile("steady", max_examples=100, **_STEADY)
settings.register_profile("explore", max_examples=2000, deadline=None)

# How `git init` makes a repository; see CONTRIBUTING.md.
_KEPT = ("GIT_DEFAULT_REF_FORMAT", "GIT_DEFAULT_HASH")

_DROPPED = ("GIT_", "XDG_", "LC_", "CLAUDE", "_GIT_BOOCODE", "PYTHONDONTWRITE")

_SEALED = {
    # No colour but where a test asks for it.
    "TERM": "dumb",
    "NO_COLOR": "",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "A U Thor",
    "GIT_AUTHOR_EMAIL": "author@example.com",
    "GIT_COMMITTER_NAME": "C O Mitter",
    "GIT_COMMITTER_EMAIL": "committer@example.com",
    "GIT_AUTHOR_DATE": "2026-01-02T03:04:05Z",
    "GIT_COMMITTER_DATE": "2026-01-02T03:04:05Z",
    "LANG": "C.UTF-8",
    "TZ": "UTC",
}


def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores: some tests wait for something most of the time."""
    return (os.cpu_count() or 1) + 1


def pytest_configure(config: pytest.Config) -> None:
    """Few examples of each property, unless the slow tests run as well."""
    usual = "quick" if config.option.markexpr == "not slow" else "steady"
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", usual))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is slow by its nature; other slow tests say so themselves."""
    for item in items:
        top, *_ = item.path.relative_to(Path(__file__).parent).parts
        if top in ("benchmarks", "hooks", "hostile") and not item.get_closest_marker("quick"):
            item.add_marker("slow")


@pytest.fixture(autouse=True)
def sealed(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    """A home of its own, a fixed identity, fixed dates, and no inherited GIT_ variable."""
    for key in list(os.environ):
        if key not in _KEPT and key.startswith(_DROPPED):
            monkeypatch.delenv(key)
    for mark, key in zip(("ref_files", "sha1"), _KEPT, strict=True):
        if request.node.get_closest_marker(mark):
            monkeypatch.delenv(key, raising=False)
    home = tmp_path_factory.mktemp("home")
    for key, value in {
        **_SEALED,
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
    }.items():
        monkeypatch.setenv(key, value)
    # `git boocode` must find the program under test, installed beside this interpreter.
    bin_dir = Path(sys.executable).parent
    monkeypatch.setenv("PATH", f"{bin_dir}{os.pathsep}{os.environ['PATH']}")
    (home / ".gitconfig").write_text("[init]\n\tdefaultBranch = main\n[gc]\n\tauto = 0\n")
    return home


@pytest.fixture
def repo(sealed: Path, git_repo: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Repo]:
    """A new, empty repository; the test runs inside it."""
    top = Path(os.path.realpath(git_repo.workspace))
    monkeypatch.chdir(top)
    yield Repo(top)
    # A test may have left a directory that cannot be entered; the workspace must go all the same.
    for directory, _, _ in os.walk(top):
        Path(directory).chmod(0o700)
