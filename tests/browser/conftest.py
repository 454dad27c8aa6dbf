"""The browser of the tests of a module."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.browser.kit import Browser


@pytest.fixture(scope="module")
def chrome(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    # Without selenium, its import skips the tests, but must not skip this file.
    from tests.browser.kit import browser

    with browser(tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.fixture
def page(chrome: Browser) -> Iterator[Browser]:
    """The browser; at the end, nothing must have gone wrong in it."""
    yield chrome
    assert chrome.problems() == []
