from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.repo_kit import Repo
from tests.server.kit import Client, serving

Serve = Callable[..., Client]


@pytest.fixture
def work(repo: Repo) -> Repo:
    """A repository with a commit; the test runs inside it."""
    repo.commit("Begin", **{"a": "one\ntwo\nthree\n", "sub/b": "b\n"})
    return repo


@pytest.fixture
def serve(sealed: Path) -> Iterator[Serve]:
    """Starts servers, by default in the current directory; at the end, none must have failed."""
    with ExitStack() as stack:

        def start(*options: str, cwd: str | Path = ".", **how: Any) -> Client:
            return stack.enter_context(serving(*options, cwd=cwd, **how))

        yield start


@pytest.fixture
def client(work: Repo, serve: Serve) -> Client:
    """A server in the repository, with a session."""
    started = serve()
    started.begin()
    return started
