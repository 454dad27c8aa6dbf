"""Git configuration, read once, with the origin of each value."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from operator import itemgetter
from typing import NamedTuple

from git_boocode.repo.errors import FatalError, shortened
from git_boocode.repo.git import Git, nul_records

_LISTING = ("config", "--list", "-z", "--show-scope", "--show-origin")
_TRUE = frozenset(("true", "yes", "on", "1"))
_FALSE = frozenset(("false", "no", "off", "0", ""))
# Limited, because Python 3.11 and newer convert at most 4,300 digits.
_INTEGER = r"(?ai)\s*([+-]?)(0x[0-9a-f]{1,99}|[0-9]{1,99})([kmg]?)"
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
# "30d", and the forms of git's own settings: "2.weeks.ago", "90 days".
_AGE = r"(?a)([0-9]{1,9})[. ]*([a-z]+)([. ]+ago)?"
_SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86_400, "w": 604_800, "y": 31_557_600}
_SECONDS |= {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800}
_SECONDS |= {"month": 2_629_800, "year": 31_557_600}
_NOT_IN_IDENTITIES = str.maketrans("", "", "<>\n\0")


class Identity(NamedTuple):
    """The name and email address of an author or a committer."""

    name: str
    email: str


FALLBACK_IDENTITY = Identity("git-boocode", "git-boocode@localhost")


class Setting(NamedTuple):
    """One configured value; None for a bare key, which git reads as true.

    `scope` is `system`, `global`, `local`, `worktree` or `command`; `origin` is, for example,
    `file:PATH`.
    """

    value: str | None
    scope: str
    origin: str

    @property
    def is_trusted(self) -> bool:
        """Whether it was set outside the repository, so that it cannot come from a clone."""
        return self.scope in ("system", "global", "command")


class Config:
    """All settings of a repository; for repeated keys, the last value."""

    def __init__(self, settings: dict[str, Setting]) -> None:
        self.settings = settings

    @classmethod
    def read(cls, git: Git) -> Config:
        """Read all configuration in one call of git."""
        records = nul_records(git.run(*_LISTING))
        settings = {}
        for scope, origin, entry in zip(records[::3], records[1::3], records[2::3], strict=True):
            key, newline, value = entry.partition("\n")
            settings[key] = Setting(value if newline else None, scope, origin)
        return cls(settings)

    def setting(self, key: str) -> Setting | None:
        """The setting of `section[.subsection].name`; only the subsection is case-sensitive."""
        front, _, name = key.rpartition(".")
        section, dot, subsection = front.partition(".")
        return self.settings.get(f"{section.lower()}{dot}{subsection}.{name.lower()}")

    def section(self, name: str, end: str = "") -> list[tuple[str, str | None]]:
        """The keys of a section that end in `end`, sorted, with their values."""
        found = []
        for key, setting in self.settings.items():
            if key.startswith(f"{name}.") and key.endswith(end):
                found.append((key, setting.value))
        return sorted(found, key=itemgetter(0))

    def text(self, key: str, default: str | None = None) -> str | None:
        """A value as text."""
        found = self.setting(key)
        return default if found is None else (found.value or "")

    def word(self, key: str, words: Sequence[str], default: str) -> str:
        """A value that is one of some words, in any case (FatalError)."""
        found = self.setting(key)
        if found is None:
            return default
        word = (found.value or "").lower()
        if word not in words:
            raise _bad_value(key, found, f"one of {', '.join(words)}")
        return word

    def boolean(self, key: str, *, default: bool) -> bool:
        """A value in git's boolean syntax (FatalError)."""
        found = self.setting(key)
        if found is None:
            return default
        word = "true" if found.value is None else found.value.lower()
        if word in _TRUE or word in _FALSE:
            return word in _TRUE
        number = parse_integer(word)
        if number is not None:
            return number != 0
        raise _bad_value(key, found, "a boolean such as 'true' or 'false'")

    def integer(self, key: str, *, default: int, least: int = 0) -> int:
        """A value of at least `least` in git's integer syntax, with k, m and g (FatalError)."""
        expected = f"a whole number of at least {least}, such as '{default}'"
        return self._number(key, default, least, expected)

    def size(self, key: str, *, default: int) -> int:
        """A value in bytes, in the same syntax (FatalError)."""
        return self._number(key, default, 0, "a size in bytes, or with k, m or g such as '500m'")

    def _number(self, key: str, default: int, least: int, expected: str) -> int:
        found = self.setting(key)
        if found is None:
            return default
        number = parse_integer(found.value or "")
        if number is None or number < least:
            raise _bad_value(key, found, expected)
        return number

    def age(self, key: str, *, default: float | None) -> float | None:
        """A value in the syntax of `parse_age`; 0 also means no limit (FatalError)."""
        found = self.setting(key)
        if found is None:
            return default
        value = found.value or ""
        if parse_integer(value) == 0:
            return None
        try:
            return parse_age(value)
        except ValueError:
            raise _bad_value(key, found, "an age such as '12h', '30d', '2w' or 'never'") from None

    def path(self, key: str) -> str | None:
        """A value as a path; a leading `~/` is the home directory."""
        value = self.text(key)
        return os.path.expanduser(value) if value else None

    def identity(self) -> Identity:
        """The user's identity by git's own order of precedence; `FALLBACK_IDENTITY` if incomplete.

        Git would derive one from the login and the host name. That can fail (`user.useConfigOnly`),
        and it would put a host name into shared history.
        """
        environ, text = os.environ.get, self.text
        name = environ("GIT_COMMITTER_NAME") or text("committer.name") or text("user.name")
        email = environ("GIT_COMMITTER_EMAIL") or text("committer.email") or text("user.email")
        name = (name or "").translate(_NOT_IN_IDENTITIES).strip()
        email = (email or environ("EMAIL") or "").translate(_NOT_IN_IDENTITIES).strip()
        return Identity(name, email) if name and email else FALLBACK_IDENTITY


def configured(git: Git, key: str) -> list[str]:
    """All values of a setting that can be given several times."""
    return nul_records(git.attempt("config", "--null", "--get-all", key).stdout)


def parse_age(text: str) -> float | None:
    """An age in seconds: `12h`, `30d`, `2w`, or git's forms `2.weeks.ago`, `now`, `never`.

    `m` alone is invalid, because it could mean minutes or months. None for `never`, and for its
    synonym in git, `false`. ValueError if the text is not an age.
    """
    word = text.strip().lower()
    if word in ("never", "false"):
        return None
    if word == "now":
        return 0.0
    found = re.fullmatch(_AGE, word)
    unit = found[2] if found else ""
    unit = unit.removesuffix("s") or unit
    if found is None or unit not in _SECONDS:
        raise ValueError(text)
    return float(int(found[1]) * _SECONDS[unit])


def parse_integer(word: str) -> int | None:
    """An integer in git's syntax, with k, m and g, `0x` and a leading `0`; None if invalid."""
    found = re.fullmatch(_INTEGER, word)
    if found is None:
        return None
    sign, digits, unit = found.groups()
    base = 16 if digits[:2] in ("0x", "0X") else 8 if digits[0] == "0" else 10
    try:
        return int(f"{sign}{digits}", base) * _UNITS[unit.lower()]
    except ValueError:
        return None


def _bad_value(key: str, setting: Setting, expected: str) -> FatalError:
    value = setting.value
    problem = "missing value" if value is None else f"bad value '{shortened(value)}'"
    origin = setting.origin.removeprefix("file:").removesuffix(":")
    return FatalError(
        f"{problem} for '{key}' in {origin}",
        code="bad_config",
        hints=(f"set it to {expected}: git config {key} <value>",),
    )
