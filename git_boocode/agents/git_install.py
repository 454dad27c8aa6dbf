"""Plan what installs and removes git hooks: changes of files, which the caller makes."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from git_boocode.agents import hook_script
from git_boocode.agents.edits import Edit, read_file
from git_boocode.agents.git_hooks import EVENTS, chosen_events
from git_boocode.agents.program import installed_command
from git_boocode.repo.errors import RefusedError, UsageError
from git_boocode.repo.files import Symlink
from git_boocode.repo.repository import Repository

# The first git that runs hooks which are configured; older ones pass them over in silence.
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


_INSTALLED, _OTHER, _MISSING = "installed", "other", "missing"


class Status(NamedTuple):
    """How one git hook is installed.

    Attributes:
        event: the name of the hook.
        state: `installed`, `other` if it calls another command than an installation would write
            now, or `missing`.
        place: `config`, `file`, or empty if it is not installed.
        path: the file that holds it, or would.
        note: what else a user should know; empty for nothing.
        chosen: whether `boocode.gitHooks` asks for it.
    """

    event: str
    state: str
    place: str
    path: str
    note: str
    chosen: bool = False


class _Place(NamedTuple):
    """Where the file of a hook is, or is to come.

    Attributes:
        event: its name.
        path: the file.
        remark: what to say of it; empty for nothing.
        named: where a link to a hook that was moved keeps its name; empty if nowhere.
    """

    event: str
    path: str
    remark: str = ""
    named: str = ""

    @property
    def chained(self) -> str:
        return self.path + hook_script.CHAINED

    @property
    def title(self) -> str:
        return f"git hook {self.event}{f' ({self.remark})' if self.remark else ''}"


def git_version(repository: Repository) -> tuple[int, int]:
    """The version of the git that is used here; (0, 0) if it does not tell."""
    found = _VERSION.search(repository.git.line("version"))
    return (int(found[1]), int(found[2])) if found else (0, 0)


def plan_git_hooks(
    repository: Repository, events: Sequence[str] | None, *, remove: bool
) -> list[Edit]:
    """Plan to install git hooks, or to remove them.

    Git 2.54 and newer get them as configuration; for older ones, our part goes to the front of the
    hook's script, and a hook that is no shell script is moved aside and called by ours. What is
    there already stays as it is, so that the plan of a second installation is empty.

    Args:
        repository: where.
        events: the names of the hooks; None for those that `boocode.gitHooks` chooses, and then
            others of ours go, and for all of them if they are to be removed.
        remove: whether to remove them.

    Returns:
        The changes, in the order in which they are to be made.

    Raises:
        UsageError: there is no such hook.
        RefusedError: the directory of the hooks serves other repositories as well
            (`shared_hooks`), hooks are switched off (`no_hooks`), or what stands in the way of a
            hook is neither ours nor a file (`conflict`, `unusable_file`).
        FatalError: a file cannot be read, or the configuration makes no sense.
    """
    wanted = () if remove else _wanted(repository, events)
    touched = tuple(EVENTS) if events is None else _known(events)
    configured = git_version(repository) >= _CONFIGURED_SINCE
    directory = _directory(repository)
    if wanted and not configured:
        _refuse_shared(repository, directory)
    edits = []
    for event in touched:
        current, *former = _places(repository, directory, event)
        for place in former:
            edits += _plan_removal(place)
        install = event in wanted and not configured
        edits += _plan_file(current) if install else _plan_removal(current)
    return edits + _plan_config(repository, touched, wanted if configured else ())


def git_hooks_status(repository: Repository) -> list[Status]:
    """How each of the git hooks is installed here.

    Raises:
        FatalError: a file cannot be read, or the configuration makes no sense.
    """
    chosen = chosen_events(repository.config)
    there, directory = _configured(repository), _directory(repository)
    is_read = git_version(repository) >= _CONFIGURED_SINCE
    states = []
    for event in EVENTS:
        found = _status_in_config(repository, event, there, is_read=is_read)
        if found is None or not is_read:
            in_file = _status_in_file(_places(repository, directory, event)[0])
            found = found if found and in_file.state == _MISSING else in_file
        states.append(found._replace(chosen=event in chosen))
    return states


def _wanted(repository: Repository, events: Sequence[str] | None) -> tuple[str, ...]:
    return chosen_events(repository.config) if events is None else _known(events)


def _known(events: Sequence[str]) -> tuple[str, ...]:
    for event in events:
        if event not in EVENTS:
            raise UsageError(
                f"no git hook of ours is called '{event}'",
                hints=(f"these are: {' '.join(EVENTS)}",),
            )
    return tuple(event for event in EVENTS if event in events)


def _command(event: str) -> str:
    command = f'{installed_command("hook", "git", event)} "$@"'
    if event == "post-checkout":
        # Git tells of every file that is checked out; that is not worth starting us.
        return f'[ "${{3-}}" = 0 ] || [ "${{1-}}" = "${{2-}}" ] || {command}'
    return command


# In files.


def _directory(repository: Repository) -> str:
    """Where git looks for hooks."""
    return os.path.dirname(repository.hook_path("pre-commit"))


def _places(repository: Repository, directory: str, event: str) -> list[_Place]:
    """Where git looks for a hook, and where it would without `core.hooksPath`."""
    here = os.path.join(directory, event)
    usual = os.path.join(repository.common_dir, "hooks", event)
    # Where the shim looks for it; in worktrees there may be several hooks of one name.
    named = os.path.join(repository.common_state_dir, event)
    if os.path.realpath(directory) == os.path.realpath(os.path.dirname(usual)):
        return [_Place(event, here, named=named)]
    return [_Place(event, here, _remark(repository, here)), _Place(event, usual, named=named)]


def _plan_file(place: _Place) -> list[Edit]:
    content = _read(place.path)
    command = _command(place.event)
    if content is None:
        _refuse_leftover(place)
        return [_edit(place, None, hook_script.new_script(command), _mode_of_new())]
    if not isinstance(content, Symlink) and hook_script.find_part(content):
        renewed = hook_script.renew(content, command)
        return [] if renewed == content else [_edit(place, content, renewed)]
    mode = _mode(place.path)
    if not isinstance(content, Symlink) and mode & 0o100 and hook_script.is_shell_script(content):
        return [_edit(place, content, hook_script.insert(content, command))]
    _refuse_leftover(place)
    kept = None if isinstance(content, Symlink) else mode
    shim = hook_script.shim(place.event, command)
    return [
        _chained(place, None, content, kept),
        *_naming(place, _link_by_name(place)),
        _edit(place, content, shim, _mode_of_new()),
    ]


def _plan_removal(place: _Place) -> list[Edit]:
    if _is_no_directory(os.path.dirname(place.path)):
        return []
    content = _read(place.path)
    if content is None or isinstance(content, Symlink) or not hook_script.find_part(content):
        return []
    if not hook_script.is_ours_alone(content):
        return [_edit(place, content, hook_script.remove(content))]
    original = _read(place.chained) if hook_script.is_chaining(content) else None
    if original is None:
        return [_edit(place, content, None)]
    mode = None if isinstance(original, Symlink) else _mode(place.chained)
    return [
        _edit(place, content, original, mode),
        *_naming(place, None),
        _chained(place, original, None),
    ]


def _naming(place: _Place, after: Symlink | None) -> list[Edit]:
    """Let a link with a hook's own name lead to where it was moved, or take it away."""
    if not place.named or (os.path.lexists(place.named) and not os.path.islink(place.named)):
        return []
    before = _read(place.named)
    if before == after:
        return []
    return [Edit(place.named, before, after, None, "", replace_link=True)]


def _link_by_name(place: _Place) -> Symlink | None:
    """What gives a hook that is moved aside its own name; None if it is better off without."""
    try:
        with open(place.path, "rb") as file:
            program = file.read()
    except OSError:
        # A link that leads nowhere yet; for an installation, the hook itself has been read.
        program = b""
    if not place.named or hook_script.needs_its_directory(program):
        return None
    return Symlink(os.fsencode(_way(place.named, place.chained)))


def _way(link: str, to: str) -> str:
    """What a link has to hold to lead to a file."""
    return os.path.relpath(to, os.path.realpath(os.path.dirname(link)))


def _edit(
    place: _Place, before: bytes | None, after: bytes | None, mode: int | None = None
) -> Edit:
    return Edit(place.path, before, after, mode, place.title, replace_link=True)


def _chained(
    place: _Place, before: bytes | None, after: bytes | None, mode: int | None = None
) -> Edit:
    title = f"{place.title}, the one that was there"
    return Edit(place.chained, before, after, mode, title, replace_link=True)


def _read(path: str) -> bytes | None:
    return read_file(path, replace_link=True)


def _mode(path: str) -> int:
    return stat.S_IMODE(os.lstat(path).st_mode)


def _mode_of_new() -> int:
    """The permission bits of a program that is made now."""
    umask = os.umask(0o077)
    os.umask(umask)
    return 0o777 & ~umask | 0o700


def _refuse_leftover(place: _Place) -> None:
    if os.path.lexists(place.chained):
        raise RefusedError(
            f"'{place.chained}' is in the way: an earlier installation moved a hook there, and "
            f"'{place.path}' does not call it any more",
            code="conflict",
            hints=(f"move it back to '{place.path}', or away; nothing was changed",),
        )


def _remark(repository: Repository, path: str) -> str:
    """What to say of a hook that lies in the worktree."""
    top = os.path.realpath(repository.worktree)
    directory = os.path.realpath(os.path.dirname(path))
    if not _is_below(directory, top) or _is_below(directory, repository.common_dir):
        return ""
    git = repository.git.bind(GIT_LITERAL_PATHSPECS="1")
    if git.attempt("ls-files", "--error-unmatch", "--", path).status == 0:
        return "tracked: others get it, too, once it is committed"
    if repository.git.attempt("check-ignore", "-q", "--", path).status == 0:
        return ""
    return "in the worktree: it can be committed"


def _refuse_shared(repository: Repository, directory: str) -> None:
    """Refuse a directory of hooks that is not this repository's own.

    Its other users have not been asked. Whoever configures one for this very repository has.
    """
    own = (repository.worktree, repository.git_dir, repository.common_dir)
    named, directory = os.path.normpath(directory), os.path.realpath(directory)
    is_own = any(_is_below(directory, top) for top in own)
    if os.path.islink(named) and not os.path.lexists(directory):
        raise RefusedError(
            f"'{named}' is a symlink that leads nowhere",
            code="no_hooks",
            hints=("replace it with a directory",),
        )
    if not is_own and any(os.path.commonpath((named, top)) == top for top in own):
        raise RefusedError(
            f"'{named}' is a symlink that leads out of the repository, to '{directory}'",
            code="shared_hooks",
            hints=(
                "replace it with a directory to give this repository hooks of its own",
                _CALL_IT,
            ),
        )
    setting = repository.config.setting(_HOOKS_PATH)
    if setting is None:
        return
    if directory == os.path.dirname(directory) or _is_no_directory(directory):
        raise RefusedError(
            f"git hooks are switched off: {_HOOKS_PATH} is '{setting.value or ''}'",
            code="no_hooks",
            hints=(_OWN_HOOKS,),
        )
    if setting.scope in ("local", "worktree") or is_own:
        return
    raise RefusedError(
        f"the hooks in '{directory}' serve other repositories as well: {_HOOKS_PATH} is set in "
        f"{setting.origin.removeprefix('file:')}",
        code="shared_hooks",
        hints=(_OWN_HOOKS, _CALL_IT),
    )


def _is_no_directory(path: str) -> bool:
    return os.path.lexists(path) and not os.path.isdir(path)


def _is_below(path: str, top: str) -> bool:
    top = os.path.realpath(top)
    return os.path.commonpath((os.path.realpath(path), top)) == top


# In the configuration.


def _section(event: str) -> str:
    return f"hook.boocode-{event}"


def _configured_command(event: str) -> str:
    # Git adds the arguments behind the command, so they go through a function: nothing that is
    # wrong with us may make the hook fail.
    return f"boocode() {{ {_command(event)} </dev/null >/dev/null 2>&1 || :; }}; boocode"


def _plan_config(
    repository: Repository, touched: Sequence[str], wanted: Sequence[str]
) -> list[Edit]:
    path = _config_path(repository)
    changes = list(_config_changes(repository, touched, wanted))
    before = read_file(path) if changes else None
    if not changes or before is None:
        return []
    after = _with_changes(repository, before, changes)
    told = [event for event in touched if any(_section(event) in key for _, key, *_ in changes)]
    return [Edit(path, before, after, None, f"git hooks in the configuration: {', '.join(told)}")]


def _config_path(repository: Repository) -> str:
    return os.path.join(repository.common_dir, "config")


def _config_changes(
    repository: Repository, touched: Sequence[str], wanted: Sequence[str]
) -> Iterator[tuple[str, ...]]:
    """The arguments of `git config` for each change that is needed."""
    there = _configured(repository)
    for event in touched:
        section = _section(event)
        right = {f"{section}.event": event, f"{section}.command": _configured_command(event)}
        for key, value in right.items():
            if event in wanted and there.get(key) != [value]:
                yield ("--replace-all", key, value)
            elif event not in wanted and key in there:
                yield ("--unset-all", key)


def _configured(repository: Repository) -> dict[str, list[str]]:
    """The hooks that the repository's own configuration holds, by key."""
    path = _config_path(repository)
    done = repository.git.attempt("config", "-f", path, "--null", "--get-regexp", r"^hook\.")
    found: dict[str, list[str]] = {}
    for record in os.fsdecode(done.stdout).split("\0")[:-1]:
        key, _, value = record.partition("\n")
        found.setdefault(key, []).append(value)
    return found


def _with_changes(
    repository: Repository, content: bytes, changes: Sequence[tuple[str, ...]]
) -> bytes:
    """A configuration file after changes, which git makes in a copy."""
    from git_boocode.repo.scratch import scratch_directory

    with scratch_directory(repository.state_dir) as scratch:
        path = os.path.join(scratch, "config")
        with open(path, "wb") as file:
            file.write(content)
        for change in changes:
            repository.git.run("config", "-f", path, *change)
        with open(path, "rb") as file:
            return file.read()


# What is there.


def _status_in_config(
    repository: Repository, event: str, there: Mapping[str, list[str]], *, is_read: bool
) -> Status | None:
    """What the configuration says of a hook; None if it is not there."""
    command = there.get(f"{_section(event)}.command")
    if not command or event not in there.get(f"{_section(event)}.event", ()):
        return None
    state = _INSTALLED if command == [_configured_command(event)] else _OTHER
    note = "" if is_read else "this git passes over hooks in the configuration"
    return Status(event, state, "config", _config_path(repository), note)


def _status_in_file(place: _Place) -> Status:
    event = place.event
    if _is_no_directory(os.path.dirname(place.path)):
        note = f"hooks are switched off by {_HOOKS_PATH}"
        return Status(event, _MISSING, "", place.path, note)
    content = _read(place.path)
    if content is None or isinstance(content, Symlink) or not hook_script.find_part(content):
        return Status(event, _MISSING, "", place.path, "")
    is_right = hook_script.renew(content, _command(event)) == content
    is_run = _mode(place.path) & 0o100
    note = place.remark if is_run else "not executable, so that git passes over it"
    return Status(event, _INSTALLED if is_right else _OTHER, "file", place.path, note)
