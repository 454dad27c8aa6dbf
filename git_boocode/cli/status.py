"""`git boocode status`: an overview, or the files of a proposal."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

import click

from git_boocode.checkpoints.store.catalog import Catalog
from git_boocode.checkpoints.worktree.pathspecs import unrecorded_repositories
from git_boocode.cli.buffers import BufferOptions, buffer_options
from git_boocode.cli.candidates import age_of, proposed
from git_boocode.cli.framework import Command, json_option, option
from git_boocode.cli.output import (
    encode_text,
    first_lines,
    label_of,
    print_hints,
    print_json,
    print_text,
    printable,
    progress,
    quote_path,
    wants_json,
    write_output,
)
from git_boocode.editing.workspace import Workspace
from git_boocode.proposals.local_files import FileStatus, ProposalStatus, proposal_status
from git_boocode.repo.disk import by_kind, disk_usage, human_size, private_bytes
from git_boocode.repo.entries import MAX_DISK
from git_boocode.repo.errors import FatalError, shell_command
from git_boocode.repo.layout import (
    ALL_REFS,
    ARCHIVE,
    CHECKPOINTS,
    COMMIT_NOTES,
    EDITS,
    REMOTES,
    SAFETY,
)
from git_boocode.repo.path_rule import EXCLUDE, INCLUDE, PathRule
from git_boocode.repo.repository import Repository
from git_boocode.repo.running_turn import end_hints, running_turns
from git_boocode.repo.store import Ref, ShortIds


@click.command(cls=Command)
@click.argument("paths", nargs=-1, metavar="[--] [<path>...]", shell_complete=proposed)
@option("--porcelain", "List only the files of the proposal, for scripts.")
@option("-z", "End each file with NUL; implies --porcelain.", "nul")
@option("--exit-code", "Exit with 1 if a change of a file is proposed.")
@buffer_options
@json_option
def status(
    paths: tuple[str, ...], porcelain: bool, nul: bool, exit_code: bool, buffers: BufferOptions
) -> int:
    """Show what is proposed, hooks, checkpoints and what was interrupted, as far as there is any.

    With <path>, show only these files of the proposal.
    """
    workspace = buffers.fill(Workspace.here())
    assert workspace.repository is not None
    with progress(workspace.repository, "comparing files"):
        found = proposal_status(workspace, paths)
    if not (paths or porcelain or nul):
        # Loading what it needs of hooks takes longer than all that an editor asks for.
        show_overview(workspace.repository, found)
    elif wants_json():
        print_json(found.as_json())
    elif nul:
        write_output(encode_text("".join(map(_nul_terminated, found.files))))
    else:
        for file in found.files:
            print_text(file_line(file))
    undecided = [each for each in found.files if each.letters not in ("", "~")]
    return int(exit_code and bool(undecided))


def _nul_terminated(status: FileStatus) -> str:
    """A file as `git status -z` has it: the old path follows, and nothing is quoted."""
    names = [path for path in (status.file.path, status.file.source) if path]
    return f"{status.letters:2} " + "".join(f"{name}\0" for name in names)


def file_line(status: FileStatus) -> str:
    """A file of a proposal: its letters, and its path."""
    return f"{status.letters:2} {' -> '.join(map(quote_path, status.file.paths))}"


def file_lines(files: Sequence[FileStatus]) -> list[str]:
    """The files for which there is anything to say."""
    return [file_line(file) for file in files if file.letters]


_SEE_DOCTOR = "'git boocode doctor' says more"
_KINDS = {
    "count": (CHECKPOINTS, "checkpoint", "checkpoints"),
    "safety": (SAFETY, "safety checkpoint", "safety checkpoints"),
    "archived": (ARCHIVE, "archived", "archived"),
    "fetched": (REMOTES, "fetched", "fetched"),
}


class OverviewSection(NamedTuple):
    """A part of the overview: `value` under its name in JSON, and lines and hints for people.

    Without lines there is nothing to say.
    """

    name: str
    value: object
    lines: list[str]
    hints: list[str]


def show_overview(repository: Repository, found: ProposalStatus) -> None:
    """Print the overview, with the newest proposal."""
    with progress(repository, "counting"):
        sections = [_proposal(found), *_sections(repository)]
    if wants_json():
        values = {section.name.replace(" ", "_"): section.value for section in sections}
        print_json({**found.as_json(), **values})
        return
    for section in sections:
        if section.lines:
            print_text(f"{section.name}:")
        for line in section.lines:
            print_text(f"  {printable(line)}")
    if not any(section.lines for section in sections):
        print_text("no hooks are installed, and nothing is recorded")
    print_hints(tuple(dict.fromkeys(hint for section in sections for hint in section.hints)))


def _proposal(found: ProposalStatus) -> OverviewSection:
    """The files that are proposed or differ; the others are only counted."""
    files = found.files
    shown = file_lines(files)
    proposed = any(each.file.is_pending for each in files)
    hint = "'git boocode accept' writes what is proposed; 'git boocode discard' drops it"
    hints = [hint] if proposed else []
    pending = sum(each.file.is_pending for each in files)
    value = {"id": found.id, "files": len(files), "pending": pending}
    return OverviewSection("proposal", value, [*first_lines(shown)] if shown else [], hints)


def _sections(repository: Repository) -> Iterator[OverviewSection]:
    # Its readers of hooks and journals are expensive to import; --porcelain needs none of them.
    from git_boocode.cli.doctor import interruptions

    refs = repository.store.refs(ALL_REFS, COMMIT_NOTES)
    found = interruptions(repository)
    rows = [finding._asdict() for finding in found]
    remedies = [finding.remedy for finding in found]
    yield OverviewSection("interrupted", rows, [finding.message for finding in found], remedies)
    turns = running_turns(repository)
    lines = [turn.describe() for turn in turns]
    latest = turns[-1].as_json() if turns else None
    yield OverviewSection("turn", latest, lines, [*end_hints(turns)])
    yield _settings(repository)
    try:
        hooks = _hooks(repository)
    except FatalError as error:
        if error.code != "bad_config":
            raise
        hooks = OverviewSection("hooks", dict.fromkeys(_HOOKS, ()), [error.message], [_SEE_DOCTOR])
    yield hooks
    yield _checkpoints(repository, refs)
    nested = unrecorded_repositories(repository)
    lines = [f"{quote_path(path)}: {reason}" for path, reason in nested]
    rows = [each._asdict() for each in nested]
    yield OverviewSection("not recorded", rows, [*first_lines(lines)] if lines else [], [])
    excluded = PathRule.read(repository, EXCLUDE).specs
    lines = [f"{spec} ({EXCLUDE})" for spec in excluded]
    yield OverviewSection("excluded", [*excluded], [*first_lines(lines)] if lines else [], [])
    included = PathRule.read(repository, INCLUDE).specs
    lines = [f"{spec} ({INCLUDE}, never pushed)" for spec in included]
    yield OverviewSection("private", [*included], [*first_lines(lines)] if lines else [], [])
    edits = sum(ref.name.startswith(EDITS) for ref in refs)
    lines = [_counted(edits, "edit record", "edit records")] if edits else []
    yield OverviewSection("edits", {"count": edits}, lines, [])
    yield _storage(repository, refs)


_STORED = {
    "checkpoints": "checkpoints",
    "safety": "safety checkpoints",
    "archive": "archived checkpoints",
    "edits": "edit records",
    "reads": "versions that were read",
    "proposals": "proposals",
    "remotes": "what was fetched",
    "other": "other refs",
}


def _storage(repository: Repository, refs: list[Ref]) -> OverviewSection:
    usage, files = disk_usage(repository, refs), private_bytes(repository)
    limit = None
    with suppress(FatalError):
        # That it is invalid is among the settings.
        limit = repository.config.size(MAX_DISK, default=0) or None
    kinds = None if usage is None else by_kind(usage)
    total = None if kinds is None else sum(kinds.values())
    lines, hints = list[str](), list[str]()
    if refs:
        lines.append("size unknown" if total is None else f"{human_size(total)} on disk")
        shares = {kind: size for kind, size in (kinds or {}).items() if size}
        if len(shares) > 1:
            listed = (f"{_STORED[kind]} {human_size(size)}" for kind, size in shares.items())
            lines[-1] += f": {', '.join(listed)}"
        lines.append(f"{human_size(files)} of private files")
    if kinds and total and limit and total - kinds["remotes"] > limit:
        lines.append(f"more than {MAX_DISK}, {human_size(limit)}")
        hints.append(_SEE_DOCTOR)
    value = {"bytes": total, "kinds": kinds, "files": files, "limit": limit}
    return OverviewSection("storage", value, lines, hints)


def _settings(repository: Repository) -> OverviewSection:
    from git_boocode.workflows.settings_checkup import check_settings

    found = check_settings(repository)
    hints = [_SEE_DOCTOR] if found else []
    lines = [each.message for each in found]
    rows = [each._asdict() for each in found]
    return OverviewSection("settings", rows, [*first_lines(lines)] if lines else [], hints)


_HOOKS = ("agents", "plugins", "git", "missing", "gone", "failed")


def _hooks(repository: Repository) -> OverviewSection:
    # The readers of settings are expensive to import; the server and --porcelain need none.
    from git_boocode.agents.config_files import Locations
    from git_boocode.agents.git_install import git_hooks_status
    from git_boocode.agents.hook_state import PROBLEM_DAYS, failed_calls
    from git_boocode.agents.install import NOT_INSTALLED, OTHER_COMMAND, PARTLY, State, states_here
    from git_boocode.agents.plugins import PluginState, plugins_here
    from git_boocode.agents.registry import AGENTS
    from git_boocode.agents.worktree_hooks import missing_hooks, vanished_hooks
    from git_boocode.cli.hooks_status import git_row, last_called, trust_advice

    def described(state: State | PluginState) -> str:
        distrust = "not trusted yet, " if state.untrusted else ""
        renewal = "not up to date, " if state in outdated else ""
        return f"{renewal}{distrust}{last_called(state)}"

    locations = Locations.of(repository)
    states = states_here(locations, repository.config)
    plugins = [state for state in plugins_here(locations) if state.enabled]
    installed = [state for state in states if state.state != NOT_INSTALLED]
    git = [each for each in git_hooks_status(repository) if each.state != "missing"]
    outdated = [state for state in installed if state.state in (OTHER_COMMAND, PARTLY)]
    lines = [
        f"{each.title} ({each.scope}): {each.message or described(each)}" for each in installed
    ]
    lines += [f"{each.title} (plugin): {described(each)}" for each in plugins]
    if git:
        lines.append(f"git: {', '.join(each.event for each in git)}")
    hints = trust_advice([*installed, *plugins])
    if outdated or any(each.state != "installed" for each in git):
        hints.append("'git boocode hooks status' says how to renew the hooks")
    missing = missing_hooks(repository, repository.worktree)
    hints += missing.hints if missing else ()
    failed = failed_calls(repository, since=time.time() - PROBLEM_DAYS * 86_400)
    failed = [entry for entry in failed if entry.agent in AGENTS]
    lines += [
        f"{AGENTS[each.agent].title}: its last call failed: {each.message}" for each in failed
    ]
    hints += [_SEE_DOCTOR] if failed else []
    vanished = vanished_hooks(repository)
    for agent in vanished:
        lines.append(f"{agent.title}: the hooks are gone, so nothing is recorded any more")
        install = shell_command("git", "boocode", "hooks", "install", "--agent", agent.name)
        hints.append(f"'{install}' installs the hooks of {agent.title} again")
    if not (installed or plugins or missing or vanished):
        hints.append("'git boocode hooks install' has agents take checkpoints")
    value = {
        "agents": [state._asdict() for state in installed],
        "plugins": [state._asdict() for state in plugins],
        "git": [git_row(each) for each in git],
        "missing": [*missing.agents] if missing else [],
        "gone": [agent.name for agent in vanished],
        "failed": [
            {
                "agent": each.agent,
                "event": each.event,
                "time": each.time,
                "code": each.what,
                "message": each.message,
            }
            for each in failed
        ],
    }
    return OverviewSection("hooks", value, lines, hints)


def _checkpoints(repository: Repository, refs: list[Ref]) -> OverviewSection:
    catalog = Catalog(repository)
    counts = {
        key: sum(ref.name.startswith(prefix) for ref in refs)
        for key, (prefix, *_) in _KINDS.items()
    }
    latest, newest, lines = catalog.latest(), None, []
    if latest is not None:
        newest = {"id": latest.id, **{key: text or None for key, text in latest.texts.items()}}
        short = ShortIds(catalog.store)(latest.id)
        label = label_of(latest)
        lines.append(f"newest: {short}, {age_of(latest.id)}{label and f': {label}'}")
    listed = (_counted(counts[key], *nouns) for key, (_, *nouns) in _KINDS.items() if counts[key])
    if any(counts.values()):
        lines.append(", ".join(listed))
    return OverviewSection("checkpoints", {"newest": newest, **counts}, lines, [])


def _counted(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"
