"""How long a hook may take."""

from __future__ import annotations

import re

from git_boocode.repo.config import Config
from git_boocode.repo.errors import FatalError

TIMEOUT = 5.0
_HOUR = 3600.0
_SECONDS = re.compile(r"[0-9]{1,4}(\.[0-9]{1,6})?", re.ASCII)


def hook_timeout(config: Config) -> float:
    """How long a hook may take, in seconds: `boocode.hookTimeout`.

    Raises:
        FatalError: the setting makes no sense (`bad_config`).
    """
    text = config.text("boocode.hookTimeout")
    if text is None:
        return TIMEOUT
    seconds = float(text) if _SECONDS.fullmatch(text) else 0.0
    if not 0 < seconds <= _HOUR:
        raise FatalError(
            f"bad value '{text}' for 'boocode.hookTimeout': seconds, more than 0, at most 3600",
            code="bad_config",
            hints=("git config boocode.hookTimeout 5",),
        )
    return seconds
