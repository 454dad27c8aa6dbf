"""One sealed repository for every test: nothing of the machine's own git reaches it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.memory import use_memory
from tests.repo_kit import DEFAULTS, Repo, seal, sealed_environment

try:
    import pytest_git
except ImportError:
    # Distributions that do not package it run the tests as well.
    pytest_git = None

use_memory()

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


def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores: some tests wait for something most of the time."""
    return (os.cpu_count() or 1) + 1


def pytest_configure(config: pytest.Config) -> None:
    """Few examples of each property, unless the slow tests run as well."""
    usual = "quick" if config.option.markexpr == "not slow" else "steady"
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", usual))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is slow by its nature; other slow tests say so themselves."""
    shown = set[tuple[Path, str]]()
    for item in items:
        if item.get_closest_marker("variants") and not item.get_closest_marker("slow"):
            test = (item.path, item.name.partition("[")[0])
            if test in shown:
                item.add_marker("slow")
            shown.add(test)
        top, *_ = item.path.relative_to(Path(__file__).parent).parts
        if top in ("benchmarks", "hooks", "hostile") and not item.get_closest_marker("quick"):
            item.add_marker("slow")


def pytest_make_parametrize_id(val: object) -> str | None:
    """A short name for a long value: pytest puts the name of a test into the environment, and
    Linux starts no program with a variable of more than 128 KiB.
    """
    if isinstance(val, str | bytes) and len(val) > 200:
        return f"{val[:40]!r}... {len(val)}"
    return None


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where tests have their home directories; pytest would list them all to number the next."""
    return tmp_path_factory.mktemp("homes")


@pytest.fixture(autouse=True)
def sealed(request: pytest.FixtureRequest, homes: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own, a fixed identity, fixed dates, and no inherited GIT_ variable."""
    home = Path(tempfile.mkdtemp(dir=homes))
    environment = sealed_environment(home)
    for mark, key in (("ref_files", "GIT_DEFAULT_REF_FORMAT"), ("sha1", "GIT_DEFAULT_HASH")):
        if request.node.get_closest_marker(mark):
            environment.pop(key, None)
    seal(environment, monkeypatch)
    return home


@contextmanager
def _git_repo() -> Iterator[Path]:
    """The repository of pytest-git, or one that git makes alike."""
    if pytest_git is not None:
        with pytest_git.GitRepo() as made:
            yield Path(made.workspace)
        return
    with tempfile.TemporaryDirectory() as top:
        subprocess.run(["git", "init", "-q", top], check=True)
        yield Path(top)


@pytest.fixture(scope="session")
def empty_repository() -> Iterator[Callable[..., Path]]:
    """Creates an empty repository, once for each of the defaults that git takes from variables."""
    with ExitStack() as stack:

        @cache
        def create(*defaults: str | None) -> Path:
            top = stack.enter_context(_git_repo())
            for sample in top.glob(".git/hooks/*.sample"):
                sample.unlink()
            return top

        yield create


@pytest.fixture
def repo(
    sealed: Path,
    empty_repository: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Repo]:
    """A new, empty repository; the test runs inside it."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as made:
        top = Path(os.path.realpath(made))
        shutil.copytree(empty_repository(*map(os.environ.get, DEFAULTS)), top, dirs_exist_ok=True)
        monkeypatch.chdir(top)
        yield Repo(top)
        # A test may have left a directory that cannot be entered; this one must go all the same.
        for directory, _, _ in os.walk(top):
            Path(directory).chmod(0o700)
