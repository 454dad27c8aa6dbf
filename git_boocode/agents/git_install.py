"""Plan how git hooks are installed and removed, and say what is installed.

Git 2.54 and newer get them as configuration. For older ones, marked lines go to the front of the
hook's own shell script; a hook that is anything else is left to its user.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence
from typing import NamedTuple

from git_boocode.agents.config_program import installed_command
from git_boocode.agents.file_edits import FileEdit, read_file
from git_boocode.agents.git_hooks import EVENTS, chosen_events
from git_boocode.repo.durable import is_blocked
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.files import Symlink
from git_boocode.repo.lock import scratch_directory
from git_boocode.repo.repository import Repository

# The first git that runs configured hooks; older ones ignore them silently.
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
# Written by earlier versions, which moved a hook aside that was not a shell script and called it.
_MOVED = b": it moved the hook that was here to "
_CHAINED = ".boocode-chained"
_SHEBANG = b"#!/bin/sh\n"
_SHELL = re.compile(
    rb"#![ \t]*(?:\S*/)?(?:env[ \t]+(?:-S[ \t]+)?(?:\S*/)?)?(?:ba|da|k|z)?sh(?=\s|\Z)"
)
# A script that hands itself over to another interpreter is only in its first lines for the shell.
_HANDS_OVER = re.compile(rb"""\bexec\b[^\n$`]{0,500}\$(0|\{0\})["'\s]|^''':|^":"|^=begin""", re.M)
_PART_BEGINS = re.compile(rb"^%s([^\r\n]*)\r?\n" % _BEGIN, re.MULTILINE)
_PART_ENDS = re.compile(rb"^%s(?:\r?\n|\Z)" % _END, re.MULTILINE)

_INSTALLED, _OTHER, _MISSING = "installed", "other", "missing"


class Status(NamedTuple):
    """How one git hook is installed.

    `state` is `installed`, `other` if it calls another command than an installation would write
    now, or `missing`; `place` is `config`, `file`, or empty; `path` is the file that holds it, or
    would. `note` is for the user, and `chosen` says whether `boocode.gitHooks` asks for the event.
    """

    event: str
    state: str
    place: str
    path: str
    note: str
    chosen: bool = False


class _Part(NamedTuple):
    """A hook with our lines: what `begin` says besides is `note`, and `chain` follows the call."""

    before: bytes
    begin: bytes
    note: bytes
    call: bytes
    chain: bytes
    end: bytes
    after: bytes


def git_version(repository: Repository) -> tuple[int, int]:
    """The version of the git that is used here; (0, 0) if it does not say."""
    found = _VERSION.search(repository.git.line("version"))
    return (int(found[1]), int(found[2])) if found else (0, 0)


def plan_git_hooks(repository: Repository, *, remove: bool) -> list[FileEdit]:
    """The changes that install git hooks, or remove them, in the order in which to make them.

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
    for event in EVENTS:
        if os.path.realpath(directory) != os.path.realpath(usual):
            edits += _plan_removal(repository, event, os.path.join(usual, event))
        path = os.path.join(directory, event)
        install = event in wanted and not configured
        edits += (_plan_file if install else _plan_removal)(repository, event, path)
    return edits + _plan_config(repository, wanted if configured else ())


def git_hooks_status(repository: Repository) -> list[Status]:
    """How each of the git hooks is installed here; FatalError if a file cannot be read."""
    chosen, there = chosen_events(repository.config), _configured(repository)
    directory = os.path.dirname(repository.hook_path("pre-commit"))
    is_read = git_version(repository) >= _CONFIGURED_SINCE
    states = []
    for event in EVENTS:
        found = _status_in_config(repository, event, there, is_read=is_read)
        if found is None or not is_read:
            in_file = _status_in_file(repository, event, os.path.join(directory, event))
            found = found if found and in_file.state == _MISSING else in_file
        states.append(found._replace(chosen=event in chosen))
    return states


def _call(event: str) -> str:
    """The line that calls us: it never fails, prints nothing, and leaves standard input alone."""
    command = installed_command("hook", "git", event)
    call = f'{command} "$@" </dev/null >/dev/null 2>&1 || :'
    if event == "post-checkout":
        # Git calls it for every file that is checked out; that is not worth starting us.
        return f'[ "${{3-}}" = 0 ] || [ "${{1-}}" = "${{2-}}" ] || {call}'
    return call


# In files.


def find_part(content: bytes | None) -> _Part | None:
    """Find our lines in a hook; None if there are none."""
    if content is None or isinstance(content, Symlink):
        return None
    begin = _PART_BEGINS.search(content)
    end = _PART_ENDS.search(content, begin.end()) if begin else None
    if begin is None or end is None:
        return None
    before, body, after = content[: begin.start()], content[begin.end() : end.start()], end.end()
    return _Part(before, begin[0], begin[1], *body.partition(b"\n")[::2], end[0], content[after:])


def is_shell_script(content: bytes) -> bool:
    """Whether our lines can be among those of a hook."""
    is_shell = b"\0" not in content and _SHELL.match(content)
    return bool(is_shell) and not _HANDS_OVER.search(content)


def insert(content: bytes, call: str, note: bytes = b" >>>") -> bytes:
    """Put our lines into a shell script, behind its first line.

    At its end an `exit` or `exec` might cut them off, and the checkpoint has to hold what was there
    before the script changes files.
    """
    lines = b"%s%s\n%s\n%s\n" % (_BEGIN, note, os.fsencode(call), _END)
    first, newline, rest = content.partition(b"\n")
    return first + b"\n" + (lines + rest if newline else lines.removesuffix(b"\n"))


def renew(content: bytes, call: str) -> bytes:
    """Let our lines call us by another command line; everything else stays."""
    part = find_part(content)
    assert part is not None
    line = os.fsencode(call) + b"\n"
    return part.before + part.begin + line + part.chain + part.end + part.after


def remove(content: bytes) -> bytes:
    """Remove our lines; what calls a hook that was moved aside stays."""
    part = find_part(content)
    assert part is not None
    if part.note.startswith(_MOVED):
        return part.before + part.chain + part.after
    # A script without a newline at its end got one to separate ours.
    ended = part.end.endswith(b"\n")
    return (part.before if ended else part.before.removesuffix(b"\n")) + part.after


def _plan_file(repository: Repository, event: str, path: str) -> list[FileEdit]:
    content, call, title = _read(path), _call(event), _title(repository, event, path)
    if content is None:
        umask = os.umask(0o077)
        os.umask(umask)
        made = insert(_SHEBANG, call, _MADE)
        return [_edit(path, None, made, title, 0o777 & ~umask | 0o700)]
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
    """Why our lines cannot go into a hook; empty if they can."""
    if isinstance(content, Symlink):
        return "it is a symlink"
    if not is_shell_script(content):
        return "it is not a script with a shell in its first line"
    return "" if os.access(path, os.X_OK) else "it is not executable, so git ignores it"


def _calls_us(path: str, event: str) -> bool:
    """Whether users have added the call themselves to a hook that we leave to them."""
    content, words = read_file(path) or b"", (b"boocode", b"hook", event.encode())
    return all(word in content for word in words) and os.access(path, os.X_OK)


def _plan_removal(repository: Repository, event: str, path: str) -> list[FileEdit]:
    content = None if is_blocked(os.path.dirname(path)) else _read(path)
    part = find_part(content)
    if content is None or part is None:
        return []
    title = _title(repository, event, path)
    is_whole = part.before == _SHEBANG and not part.after
    if not is_whole or not part.note.startswith((_MADE, _MOVED)):
        return [_edit(path, content, remove(content), title)]
    chained = path + _CHAINED
    original = _read(chained) if part.note.startswith(_MOVED) else None
    if original is None:
        return [_edit(path, content, None, title)]
    mode = None if isinstance(original, Symlink) else stat.S_IMODE(os.lstat(chained).st_mode)
    edits = [
        _edit(path, content, original, title, mode),
        _edit(chained, original, None, f"{title}, the one that was there"),
    ]
    # A link that let the moved hook keep its name.
    named = os.path.join(os.path.realpath(repository.common_state_dir), event)
    link = _read(named) if os.path.islink(named) else None
    is_ours = link == os.fsencode(os.path.relpath(chained, os.path.dirname(named)))
    return [*edits, _edit(named, link, None, "")] if is_ours else edits


def _edit(
    path: str, before: bytes | None, after: bytes | None, title: str, mode: int | None = None
) -> FileEdit:
    return FileEdit(path, before, after, mode, title, replace_link=True)


def _read(path: str) -> bytes | None:
    return read_file(path, replace_link=True)


def _title(repository: Repository, event: str, path: str) -> str:
    """What to call a hook, and a remark on one that lies in the worktree."""
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
    """Refuse a directory of hooks that is not this repository's own.

    Its other users have not been asked. Whoever configures one for this very repository has.
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


def _status_in_file(repository: Repository, event: str, path: str) -> Status:
    missing = Status(event, _MISSING, "", path, "")
    if is_blocked(os.path.dirname(path)):
        return missing._replace(note=f"hooks are switched off by {_HOOKS_PATH}")
    content = _read(path)
    if content is not None and find_part(content):
        is_right = renew(content, _call(event)) == content
        title = _title(repository, event, path)
        note = title.partition("(")[2].removesuffix(")")
        note = note if os.access(path, os.X_OK) else "not executable, so that git ignores it"
        return Status(event, _INSTALLED if is_right else _OTHER, "file", path, note)
    if content is not None and _why_not(path, content) and _calls_us(path, event):
        return Status(event, _INSTALLED, "file", path, "added by hand")
    return missing


# In the configuration.


def _configured_command(event: str) -> str:
    # Git adds the arguments behind the command, so they go through a function: nothing that is
    # wrong with us may make the hook fail.
    return f"boocode() {{ {_call(event)}; }}; boocode"


def _plan_config(repository: Repository, wanted: Sequence[str]) -> list[FileEdit]:
    changes = []
    there = _configured(repository)
    for event in EVENTS:
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
    # Git makes the changes, in a copy.
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
    """The hooks that the repository's own configuration holds, by key."""
    path = os.path.join(repository.common_dir, "config")
    done = repository.git.attempt("config", "-f", path, "--null", "--get-regexp", r"^hook\.")
    found: dict[str, list[str]] = {}
    for record in os.fsdecode(done.stdout).split("\0")[:-1]:
        key, _, value = record.partition("\n")
        found.setdefault(key, []).append(value)
    return found


def _status_in_config(
    repository: Repository, event: str, there: dict[str, list[str]], *, is_read: bool
) -> Status | None:
    command = there.get(f"hook.boocode-{event}.command")
    if not command or event not in there.get(f"hook.boocode-{event}.event", ()):
        return None
    state = _INSTALLED if command == [_configured_command(event)] else _OTHER
    note = "" if is_read else "this git ignores hooks in the configuration"
    return Status(event, state, "config", os.path.join(repository.common_dir, "config"), note)
