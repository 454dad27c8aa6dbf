from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.repo_kit import Repo, sealed_environment
from tests.server.kit import Client, SharedServer, serving

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
def own_client(work: Repo, serve: Serve) -> Client:
    """A server in the repository, with a session, that the test may end, kill or configure."""
    started = serve()
    started.begin()
    return started


@pytest.fixture(scope="session")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedServer]:
    """The server of all tests that neither end nor configure it."""
    server = SharedServer(sealed_environment(tmp_path_factory.mktemp("server")))
    yield server
    server.end()


@pytest.fixture
def rooted(sealed: Path, shared_server: SharedServer) -> Iterator[Serve]:
    """Begins a session of the shared server, whose client names some roots."""
    yield shared_server.begin
    shared_server.settle()


@pytest.fixture
def client(work: Repo, rooted: Serve) -> Client:
    """The shared server with a session in the repository."""
    return rooted(work.top)
