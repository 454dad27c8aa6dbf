"""Find settings of git-boocode that have no effect: an unknown name, or an invalid value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches

from git_boocode.agents.git_hooks import chosen_events
from git_boocode.agents.hook_call import hook_timeout, per_tool
from git_boocode.checkpoints.callback import find_callback, timeout_of
from git_boocode.checkpoints.checkup import Finding
from git_boocode.checkpoints.prompt import FIRST_LINE, FULL, NONE
from git_boocode.checkpoints.store.shared_notes import shares_notes
from git_boocode.editing.tool_schemas import allowed_tools
from git_boocode.repo.config import Setting, configured
from git_boocode.repo.errors import BoocodeError, shell_command, shortened
from git_boocode.repo.path_rule import PathRule
from git_boocode.repo.repository import Repository
from git_boocode.repo.user_patterns import UserPatterns

_OPTIONS = ("global", "system", "worktree")  # scopes that git config needs as options
_Check = Callable[[Repository, str], object]


def _any(_: Repository, __: str) -> None:
    """Whatever is given is valid, or only a callback knows."""


def _boolean(repository: Repository, key: str) -> None:
    repository.config.boolean(key, default=False)


def _age(repository: Repository, key: str) -> None:
    repository.config.age(key, default=None)


def _number(default: int) -> _Check:
    return lambda repository, key: repository.config.integer(key, default=default)


def _size(repository: Repository, key: str) -> None:
    repository.config.size(key, default=0)


def _words(*words: str) -> _Check:
    return lambda repository, key: repository.config.word(key, words, words[0])


def _pathspecs(repository: Repository, key: str) -> None:
    rule = PathRule.read(repository, key)
    if rule.specs:
        rule.listed(repository.git, "ls-files", "-z")


def _patterns(repository: Repository, key: str) -> None:
    UserPatterns(configured(repository.git, key), key)


SETTINGS: Mapping[str, _Check] = {
    "boocode.allowHome": _boolean,
    "boocode.callback": lambda repository, _: find_callback(repository, None),
    "boocode.callbackTimeout": lambda repository, _: timeout_of(repository),
    "boocode.callbackUrl": _any,
    "boocode.commitMessage": lambda repository, _: chosen_events(repository.config),
    "boocode.editsMaxAge": _age,
    "boocode.exclude": _pathspecs,
    "boocode.formats": lambda repository, _: allowed_tools(repository.config),
    "boocode.gitHooks": lambda repository, _: chosen_events(repository.config),
    "boocode.hookTimeout": lambda repository, _: hook_timeout(repository.config),
    "boocode.include": _pathspecs,
    "boocode.keep": _number(1000),
    "boocode.keepEdits": _number(1000),
    "boocode.maxAge": _age,
    "boocode.maxDisk": _size,
    "boocode.maxFileSize": _size,
    "boocode.maxIncludedSize": _size,
    "boocode.perTool": lambda repository, _: per_tool(repository.config),
    "boocode.promptLabels": _boolean,
    "boocode.prompts": _words(FULL, FIRST_LINE, NONE),
    "boocode.safetyMaxAge": _age,
    "boocode.secret": _patterns,
    "boocode.shareNotes": lambda repository, _: shares_notes(repository.config),
    "boocode.sqliteChat": _any,
    "boocode.sqliteDatabase": _any,
    "boocode.sqliteId": _any,
    "boocode.sqliteOrder": _any,
    "boocode.sqliteTable": _any,
    "boocode.transcripts": _any,
    "boocode.turnTimeout": _age,
}
"""What raises BoocodeError if the value of a setting is invalid, by the setting."""
_PREFIX = "boocode."
_NAMES = {name.lower(): name for name in SETTINGS}


def check_settings(repository: Repository) -> list[Finding]:
    """The settings of this repository and user that have no effect."""
    findings: dict[str, Finding] = {}
    for key, setting in sorted(repository.config.settings.items()):
        if key.startswith(_PREFIX):
            finding = _checked(repository, key, setting)
            if finding is not None:
                # One message may be about several settings.
                findings.setdefault(finding.message, finding)
    return [*findings.values()]


def _checked(repository: Repository, key: str, setting: Setting) -> Finding | None:
    name = _NAMES.get(key)
    if name is None:
        return _unknown(key, setting)
    try:
        SETTINGS[name](repository, name)
    except BoocodeError as error:
        remedy = error.hints[0] if error.hints else f"git config {name} <value>"
        return Finding("bad_setting", error.message, (), remedy)
    return None


def _unknown(key: str, setting: Setting) -> Finding:
    where = f" in {setting.origin.removeprefix('file:').rstrip(':')}"
    scope = (f"--{setting.scope}",) if setting.scope in _OPTIONS else ()
    remedy = f"'{shell_command('git', 'config', *scope, '--unset-all', key)}' removes it"
    # Compared without the part that all have in common.
    known = [name.removeprefix(_PREFIX) for name in _NAMES]
    if near := get_close_matches(key.removeprefix(_PREFIX), known, n=1):
        remedy = f"did you mean '{_NAMES[_PREFIX + near[0]]}'? {remedy}"
    message = f"'{shortened(key)}'{where} is not a setting of git-boocode"
    return Finding("unknown_setting", message, (), remedy)
