"""Plan the installation and removal of git hooks, and report their status.

Git 2.54 and newer run hooks from the configuration. For older versions, marked lines are inserted
at the top of the hook's shell script; a hook of any other type must be changed by the user.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import NamedTuple

from git_boocode.agents.config_program import installed_command
from git_boocode.agents.file_edits import FileEdit, read_file
from git_boocode.agents.git_hooks import ALL_EVENTS, EVENTS, FINISHED_MESSAGE, chosen_events
from git_boocode.checkpoints.turn_commits import POST_COMMIT
from git_boocode.repo.durable import is_blocked
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.files import Symlink
from git_boocode.repo.lock import scratch_directory
from git_boocode.repo.process import read_umask
from git_boocode.repo.repository import Repository

# The first version of git that runs configured hooks; older ones ignore them.
_CONFIGURED_SINCE = (2, 54)
_VERSION = re.compile(r"(\d{1,9})\.(\d{1,9})")
_HOOKS_PATH = "core.hooksPath"
_OWN_HOOKS = (
    f"'git config {_HOOKS_PATH} \"$(git rev-parse --path-format=absolute --git-common-dir)/hooks\"'"
    " gives this repository hooks of its own, instead of those"
)
_CALL_IT = (
    "or call it from the hooks there yourself, for all repositories: "
    'git boocode hook git <event> "$@" </dev/null || :'
)

_BEGIN = b"# >>> git-boocode"
_END = b"# <<< git-boocode <<<"
_MADE = b": it made this file >>>"
_SHEBANG = b"#!/bin/sh\n"
_SHELL = re.compile(
    rb"#![ \t]*(?:\S*/)?(?:env[ \t]+(?:-S[ \t]+)?(?:\S*/)?)?(?:ba|da|k|z)?sh(?=\s|\Z)"
)
# Only the first lines of a script that executes itself with another interpreter are shell.
_HANDS_OVER = re.compile(rb"""\bexec\b[^\n$`]{0,500}\$(0|\{0\})["'\s]|^''':|^":"|^=begin""", re.M)
_PART_BEGINS = re.compile(rb"^%s[^\r\n]*\r?\n" % _BEGIN, re.MULTILINE)
_PART_ENDS = re.compile(rb"^%s(?:\r?\n|\Z)" % _END, re.MULTILINE)

_INSTALLED, _OTHER, _MISSING = "installed", "other", "missing"


class GitHookState(NamedTuple):
    """How one git hook is installed.

    `state` is `installed`, `other` if it calls another command than an installation would write
    now, or `missing`; `place` is `config`, `file`, or empty; `path` is the file of the hook. `note`
    is for the user, and `chosen` is set if `boocode.gitHooks` contains the event.
    """

    event: str
    state: str
    place: str
    path: str
    note: str
    chosen: bool = False


class _Part(NamedTuple):
    """A hook with our lines, of which `body` is all between the first and the last one."""

    before: bytes
    begin: bytes
    body: bytes
    end: bytes
    after: bytes

    @property
    def made_the_file(self) -> bool:
        """Whether the whole file is ours."""
        return self.before == _SHEBANG and not self.after and _MADE in self.begin


def git_version(repository: Repository) -> tuple[int, int]:
    """The version of git; (0, 0) if unknown."""
    found = _VERSION.search(repository.git.line("version"))
    return (int(found[1]), int(found[2])) if found else (0, 0)


def plan_git_hooks(repository: Repository, *, remove: bool) -> list[FileEdit]:
    """The ordered changes that install or remove git hooks.

    `boocode.gitHooks` chooses the events; our other hooks are removed.

    Raises RefusedError if the directory of hooks serves other repositories as well
    (`shared_hooks`), if hooks are switched off (`no_hooks`), or if one is not a shell script
    (`unusable_file`).
    """
    wanted = () if remove else chosen_events(repository.config)
    configured = git_version(repository) >= _CONFIGURED_SINCE
    directory = os.path.dirname(repository.hook_path("pre-commit"))
    usual = os.path.join(repository.common_dir, "hooks")
    if wanted and not configured:
        _refuse_shared(repository, directory)
    edits: list[FileEdit] = []
    for event in ALL_EVENTS:
        if os.path.realpath(directory) != os.path.realpath(usual):
            edits += _plan_removal(repository, event, os.path.join(usual, event))
        path = os.path.join(directory, event)
        install = event in wanted and not configured
        edits += (_plan_file if install else _plan_removal)(repository, event, path)
    return edits + _plan_config(repository, wanted if configured else ())


def git_hooks_status(repository: Repository) -> list[GitHookState]:
    """The status of each git hook here; FatalError if a file cannot be read."""
    chosen, there = chosen_events(repository.config), _configured(repository)
    directory = os.path.dirname(repository.hook_path("pre-commit"))
    is_read = git_version(repository) >= _CONFIGURED_SINCE
    states = []
    for event in ALL_EVENTS:
        found = _status_in_config(repository, event, there, is_read=is_read)
        if found is None or not is_read:
            in_file = _status_in_file(repository, event, os.path.join(directory, event))
            found = found if found and in_file.state == _MISSING else in_file
        # What is opt-in is listed only where it is wanted, or left over.
        if event in (*EVENTS, *chosen) or found.state != _MISSING:
            states.append(found._replace(chosen=event in chosen))
    return states


def _call(event: str) -> str:
    """The command line of a hook: it never fails, prints nothing, and does not read stdin."""
    command = installed_command("hook", "git", event)
    if event == POST_COMMIT:
        # Nobody waits for it, so HEAD may have moved on before it starts.
        head = "boocode_commit=$(git rev-parse -q --verify HEAD) || :"
        return f'{head}; {command} "$boocode_commit" </dev/null >/dev/null 2>&1 & :'
    call = f'{command} "$@" </dev/null >/dev/null 2>&1 || :'
    if event == FINISHED_MESSAGE:
        # Most messages propose no trailers; skip them without starting Python.
        return f'! grep -q "   Agent-Turn: " "${{1-}}" || {call}'
    if event == "post-checkout":
        # Git runs this hook for each checked-out file; skip those calls without starting Python.
        return f'[ "${{3-}}" = 0 ] || [ "${{1-}}" = "${{2-}}" ] || {call}'
    return call


# In files.


def find_part(content: bytes | None) -> _Part | None:
    """Find our lines in a hook, or None."""
    if content is None or isinstance(content, Symlink):
        return None
    begin = _PART_BEGINS.search(content)
    end = _PART_ENDS.search(content, begin.end()) if begin else None
    if begin is None or end is None:
        return None
    body, after = content[begin.end() : end.start()], content[end.end() :]
    return _Part(content[: begin.start()], begin[0], body, end[0], after)


def is_shell_script(content: bytes) -> bool:
    """Whether our lines can be added to a hook."""
    is_shell = b"\0" not in content and _SHELL.match(content)
    return bool(is_shell) and not _HANDS_OVER.search(content)


def insert(content: bytes, call: str, note: bytes = b" >>>") -> bytes:
    """Insert our lines into a shell script, after its first line.

    At the end, they might follow an `exit` or `exec`, and the checkpoint must be taken before the
    script changes files.
    """
    lines = b"%s%s\n%s\n%s\n" % (_BEGIN, note, os.fsencode(call), _END)
    first, newline, rest = content.partition(b"\n")
    return first + b"\n" + (lines + rest if newline else lines.removesuffix(b"\n"))


def renew(content: bytes, call: str) -> bytes:
    """Change the command line in our lines; the rest is unchanged."""
    part = find_part(content)
    assert part is not None
    return part.before + part.begin + os.fsencode(call) + b"\n" + part.end + part.after


def remove(content: bytes) -> bytes:
    """Remove our lines."""
    part = find_part(content)
    assert part is not None
    # Installing added a missing final newline to the script.
    ended = part.end.endswith(b"\n")
    return (part.before if ended else part.before.removesuffix(b"\n")) + part.after


def _plan_file(repository: Repository, event: str, path: str) -> list[FileEdit]:
    content, call, title = _read(path), _call(event), _title(repository, event, path)
    if content is None:
        made = insert(_SHEBANG, call, _MADE)
        return [_edit(path, None, made, title, 0o777 & ~read_umask() | 0o700)]
    if find_part(content):
        renewed = renew(content, call)
        return [] if renewed == content else [_edit(path, content, renewed, title)]
    reason = _why_not(path, content)
    if reason and not _calls_us(path, event):
        raise RefusedError(
            f"cannot install the git hook '{path}': {reason}; nothing was changed",
            code="unusable_file",
            hints=(f"call this from it yourself: {call}",),
        )
    return [] if reason else [_edit(path, content, insert(content, call), title)]


def _why_not(path: str, content: bytes) -> str:
    """Why our lines cannot be added to a hook; empty if they can."""
    if isinstance(content, Symlink):
        return "it is a symlink"
    if not is_shell_script(content):
        return "it is not a script with a shell in its first line"
    return "" if os.access(path, os.X_OK) else "it is not executable, so git ignores it"


def _calls_us(path: str, event: str) -> bool:
    """Whether the user has added the call to a hook by hand."""
    content, words = read_file(path) or b"", (b"boocode", b"hook", event.encode())
    return all(word in content for word in words) and os.access(path, os.X_OK)


def _plan_removal(repository: Repository, event: str, path: str) -> list[FileEdit]:
    content = None if is_blocked(os.path.dirname(path)) else _read(path)
    part = find_part(content)
    if content is None or part is None:
        return []
    title = _title(repository, event, path)
    after = None if part.made_the_file else remove(content)
    return [_edit(path, content, after, title)]


def _edit(
    path: str, before: bytes | None, after: bytes | None, title: str, mode: int | None = None
) -> FileEdit:
    return FileEdit(path, before, after, mode, title, replace_link=True)


def _read(path: str) -> bytes | None:
    return read_file(path, replace_link=True)


def _title(repository: Repository, event: str, path: str) -> str:
    """The title of a hook, with a note if it is in the worktree."""
    title = f"git hook {event}"
    top, directory = repository.worktree, os.path.dirname(path)
    if not _is_below(directory, top) or _is_below(directory, repository.common_dir):
        return title
    git = repository.git.bind(GIT_LITERAL_PATHSPECS="1")
    if git.attempt("ls-files", "--error-unmatch", "--", path).status == 0:
        return f"{title} (tracked: others get it, too, once it is committed)"
    if repository.git.attempt("check-ignore", "-q", "--", path).status == 0:
        return title
    return f"{title} (in the worktree: it can be committed)"


def _refuse_shared(repository: Repository, directory: str) -> None:
    """Refuse a hooks directory that other repositories use as well.

    A directory that this repository's own configuration names is the user's choice.
    """
    own = (repository.worktree, repository.git_dir, repository.common_dir)
    named, directory = os.path.normpath(directory), os.path.realpath(directory)
    is_own = any(_is_below(directory, top) for top in own)
    code, replace = "no_hooks", "replace it with a directory"
    if os.path.islink(named) and not os.path.lexists(directory):
        raise RefusedError(
            f"'{named}' is a symlink that leads nowhere", code=code, hints=(replace,)
        )
    if not is_own and any(os.path.commonpath((named, top)) == top for top in own):
        message = f"'{named}' is a symlink that leads out of the repository, to '{directory}'"
        hints = (f"{replace} to give this repository hooks of its own", _CALL_IT)
        raise RefusedError(message, code="shared_hooks", hints=hints)
    setting = repository.config.setting(_HOOKS_PATH)
    if setting is None:
        return
    if directory == os.path.dirname(directory) or is_blocked(directory):
        message = f"git hooks are switched off: {_HOOKS_PATH} is '{setting.value or ''}'"
        raise RefusedError(message, code=code, hints=(_OWN_HOOKS,))
    if setting.scope not in ("local", "worktree") and not is_own:
        origin = setting.origin.removeprefix("file:")
        message = f"the hooks in '{directory}' serve other repositories as well"
        message = f"{message}: {_HOOKS_PATH} is set in {origin}"
        raise RefusedError(message, code="shared_hooks", hints=(_OWN_HOOKS, _CALL_IT))


def _is_below(path: str, top: str) -> bool:
    top = os.path.realpath(top)
    return os.path.commonpath((os.path.realpath(path), top)) == top


def _status_in_file(repository: Repository, event: str, path: str) -> GitHookState:
    missing = GitHookState(event, _MISSING, "", path, "")
    if is_blocked(os.path.dirname(path)):
        return missing._replace(note=f"hooks are switched off by {_HOOKS_PATH}")
    content = _read(path)
    if content is not None and find_part(content):
        is_right = renew(content, _call(event)) == content
        title = _title(repository, event, path)
        note = title.partition("(")[2].removesuffix(")")
        note = note if os.access(path, os.X_OK) else "not executable, so that git ignores it"
        return GitHookState(event, _INSTALLED if is_right else _OTHER, "file", path, note)
    if content is not None and _why_not(path, content) and _calls_us(path, event):
        return GitHookState(event, _INSTALLED, "file", path, "added by hand")
    return missing


# In the configuration.


def _configured_command(event: str) -> str:
    # Git adds the arguments behind the command, so they go through a function: nothing that is
    # wrong with us may make the hook fail.
    return f"boocode() {{ {_call(event)}; }}; boocode"


def _plan_config(repository: Repository, wanted: Sequence[str]) -> list[FileEdit]:
    changes = []
    there = _configured(repository)
    for event in ALL_EVENTS:
        section = f"hook.boocode-{event}"
        right = {f"{section}.event": event, f"{section}.command": _configured_command(event)}
        for key, value in right.items():
            if event in wanted and there.get(key) != [value]:
                changes.append([event, "--replace-all", key, value])
            elif event not in wanted and key in there:
                changes.append([event, "--unset-all", key])
    path = os.path.join(repository.common_dir, "config")
    before = read_file(path) if changes else None
    if before is None:
        return []
    # Git changes a copy of the file.
    with scratch_directory(repository.state_dir) as scratch:
        copy = os.path.join(scratch, "config")
        with open(copy, "wb") as file:
            file.write(before)
        for _, *arguments in changes:
            repository.git.run("config", "-f", copy, *arguments)
        with open(copy, "rb") as file:
            after = file.read()
    title = f"git hooks in the configuration: {', '.join(dict.fromkeys(e for e, *_ in changes))}"
    return [FileEdit(path, before, after, None, title)]


def _configured(repository: Repository) -> dict[str, list[str]]:
    """The hooks in the repository's own configuration, by key."""
    path = os.path.join(repository.common_dir, "config")
    done = repository.git.attempt("config", "-f", path, "--null", "--get-regexp", r"^hook\.")
    found: dict[str, list[str]] = {}
    for record in os.fsdecode(done.stdout).split("\0")[:-1]:
        key, _, value = record.partition("\n")
        found.setdefault(key, []).append(value)
    return found


def _status_in_config(
    repository: Repository, event: str, there: dict[str, list[str]], *, is_read: bool
) -> GitHookState | None:
    command = there.get(f"hook.boocode-{event}.command")
    if not command or event not in there.get(f"hook.boocode-{event}.event", ()):
        return None
    state = _INSTALLED if command == [_configured_command(event)] else _OTHER
    note = "" if is_read else "this git ignores hooks in the configuration"
    return GitHookState(event, state, "config", os.path.join(repository.common_dir, "config"), note)
