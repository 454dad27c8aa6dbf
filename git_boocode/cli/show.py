"""`git boocode show`."""

from __future__ import annotations

import json
from collections.abc import Iterator

import click

from git_boocode.checkpoints.line_origin import COMMIT, LATER, LineOrigin, blamed_ranges
from git_boocode.checkpoints.line_origin import blame as blame_file
from git_boocode.checkpoints.store.catalog import (
    EXCLUDED,
    INCLUDED,
    REDACTED,
    WITHHELD,
    Catalog,
    Checkpoint,
    texts_of,
)
from git_boocode.checkpoints.turn_changes import ChangeCounts, count_changes
from git_boocode.checkpoints.turn_words import AFTER, BEFORE, SIDES, state_words
from git_boocode.checkpoints.turns import CHECKPOINT, NOW, RECORDED, RESTORE, Turn
from git_boocode.cli.attribute import noted_lines
from git_boocode.cli.candidates import age_of, checkpoint_or_edit, paths
from git_boocode.cli.diff import READER_GONE, print_page
from git_boocode.cli.framework import Command, json_option, option, refuse_together
from git_boocode.cli.output import (
    Style,
    counted,
    encode_text,
    first_lines,
    label_of,
    output_style,
    paged,
    print_json,
    printable,
    progress,
    quote_path,
    wants_json,
    warn,
)
from git_boocode.cli.timeline_rows import counts_text
from git_boocode.cli.turn_rows import Dates, edit_state, fitted, prompt_lines
from git_boocode.editing.records import EditRecord
from git_boocode.matching.text import lines_of
from git_boocode.repo.entries import Metadata
from git_boocode.repo.errors import EXIT_FATAL, shell_command
from git_boocode.repo.ids import ID, SHORT_ID, timestamp
from git_boocode.repo.layout import ARCHIVE, CHECKPOINTS, SAFETY
from git_boocode.repo.object_writer import temporary_objects
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import ShortIds
from git_boocode.workflows.show_target import (
    CheckpointTarget,
    CommitTarget,
    EditTarget,
    FileTarget,
    find_target,
    is_file_name,
)

_SHOWN_EDITS = 3
_ENDS = {
    RECORDED: "its recorded end",
    CHECKPOINT: "the next checkpoint",
    RESTORE: "the restore after it",
    NOW: "now",
}
_LINES = ("agent", "session", "chat", "message", "trigger", "state")


@click.command(cls=Command)
@click.argument(
    "name",
    metavar="[<checkpoint>[:<path>] | <edit> | <commit>]",
    default="@",
    shell_complete=checkpoint_or_edit,
)
@option("--stat", "Show a summary of the changes instead.")
@option("-p, --patch", "Show the changes, which is the default, also with --stat.")
@option("--head", "Show what differs from HEAD instead of the turn.")
@option("--conversation", "Show what was said in the turn instead.")
@json_option
def show(name: str, stat: bool, patch: bool, head: bool, conversation: bool) -> int:
    """Show a checkpoint's metadata and what its turn changed; by default the newest.

    With a path behind a colon, show that file as it was. Of an applied edit, show where it landed
    and what it changed; of a commit, which turns wrote its lines.
    """
    repository = Repository.discover()
    if is_file_name(name):
        refuse_together(("--stat", stat), ("--head", head), ("<checkpoint>:<path>", True))
        refuse_together(("--conversation", conversation), ("<checkpoint>:<path>", True))
    refuse_together(("--conversation", conversation), ("--stat", stat), ("--head", head))
    refuse_together(("--conversation", conversation), ("--patch", patch))
    formats = [*(["--stat"] if stat else []), *(["--patch"] if patch else [])]
    if conversation:
        # Only here: it loads what reads transcripts.
        from git_boocode.cli.conversation_text import show_conversation

        return show_conversation(repository, name)
    with temporary_objects(repository):
        with progress(repository, "reading the worktree"):
            found = find_target(repository, name, head=head)
        if wants_json():
            print_json(found.as_json(repository))
            return 0
        if isinstance(found, CheckpointTarget):
            return _show_checkpoint(repository, found, formats)
        if isinstance(found, EditTarget):
            return _show_edit(repository, found, formats)
        if isinstance(found, CommitTarget):
            return _show_commit(repository, found, formats)
        return _show_file(repository, found)


def _show_checkpoint(repository: Repository, found: CheckpointTarget, formats: list[str]) -> int:
    checkpoint, turn = found.checkpoint, found.turn
    [counts] = count_changes(repository, [found.ended]) if found.ended else [None]
    [date] = Dates(repository, default="iso")([checkpoint])
    state, short = state_words(found.state, is_open=found.is_open), ShortIds(repository.store)
    if checkpoint.in_turn:
        state = f"taken during {short(checkpoint.in_turn)}"
    more = {"date": date, "changes": _changes(turn, counts), "turn": state}
    more |= _ways_back(Catalog(repository), found, short(checkpoint.id))
    more["shared"] = "\n            ".join(
        f"{quote_path(path)}, also of {', '.join(map(short, ids))}"
        for path, ids in (found.ended.shared if found.ended else {}).items()
    )
    arguments = [*formats, found.old, found.new, "--", *found.paths]
    return print_page(repository, lambda style: _text(checkpoint, more, style), arguments)


def _ways_back(catalog: Catalog, found: CheckpointTarget, name: str) -> dict[str, str]:
    """The commands that go back to the states of a turn of this worktree."""
    checkpoint = found.checkpoint
    is_local = checkpoint.ref.startswith((CHECKPOINTS, ARCHIVE)) and catalog.is_ours(checkpoint)
    is_turn = found.turn is not None and not checkpoint.in_turn
    if not (is_local and is_turn and ID.fullmatch(checkpoint.id)):
        return {}
    ways = {"before": f"git boocode restore {name} ({SIDES[BEFORE]})"}
    if found.ended and found.ended.end != NOW:
        ways["after"] = f"git boocode restore --after {name} ({SIDES[AFTER]})"
    return ways


def _changes(turn: Turn | None, counts: ChangeCounts | None) -> str:
    """What the diff below shows."""
    if turn is None:
        return "since HEAD"
    if turn.checkpoint.in_turn or turn.checkpoint.ref.startswith(SAFETY):
        return "since HEAD, as it began no turn"
    if not turn.after:
        return "since HEAD, as it is unknown how the turn ended"
    number = "unknown files" if counts is None else counts_text(counts)
    return f"{number}, until {_ENDS[turn.end]}"


def _text(found: Checkpoint, more: dict[str, str], style: Style) -> str:
    meta, asked = found.meta, prompt_lines(found)
    shared = more.pop("shared", "")
    values = {**more, **{key: meta.shown(key) for key in _LINES}, "label": label_of(found)}
    lines = [_row(key, printable(value)) for key, value in values.items() if value]
    lines += [_row("shared", shared)] if shared else []
    ref = printable(meta.part("head", "ref") or "detached")
    lines.append(_row("head", f"{ref} {found.head or '(unborn)'}"))
    if origin := meta.table("forked_from"):
        end = "the end of " if origin.get("after") else ""
        where = f"{end}{origin.get('turn')}, worktree {origin.get('worktree')}"
        lines.append(_row("forked from", printable(where)))
    if table := meta.table("meta"):
        lines.append(_row("meta", printable(meta.masked(json.dumps(table)))))
    if base := meta.part("partial", "base"):
        only = meta.table("partial").get("paths")
        paths = printable(json.dumps(only)) if only else "private files"
        lines.append(_row("only", f"{paths}, the rest as in {printable(base)}"))
    lines += (_row(key, value) for key, value in _held(meta).items())
    for row in meta.tables("skipped"):
        path, reason = (row.get(key) for key in ("path", "reason"))
        why = f" ({printable(reason)})" if isinstance(reason, str) else ""
        lines.append(_row("not kept", quote_path(path if isinstance(path, str) else "?") + why))
    lines += ["\n", *(f"    {line}".rstrip() + "\n" for line in asked)] if asked else []
    return _head("checkpoint", found, style) + "".join(lines) + "\n"


def _held(meta: Metadata) -> dict[str, str]:
    """What a checkpoint does not hold, by the user's wish, or is never pushed."""
    found = {}
    if meta.values.get(REDACTED):
        found["redacted"] = "secrets were replaced when it was pushed"
    if isinstance(withheld := meta.values.get(WITHHELD), int):
        found["withheld"] = f"{counted(withheld, 'private file')} (never pushed)"
    if specs := texts_of(meta, EXCLUDED):
        found["excluded"] = printable(" ".join(map(shell_command, specs)))
    if paths := texts_of(meta, INCLUDED):
        found["private"] = f"{' '.join(map(quote_path, paths))} (never pushed)"
    return found


def _show_file(repository: Repository, found: FileTarget) -> int:
    status = repository.users_git.run_in_foreground("show", found.object_name)
    if status in READER_GONE:
        raise BrokenPipeError
    return EXIT_FATAL if status else 0


def _show_commit(repository: Repository, found: CommitTarget, formats: list[str]) -> int:
    lines = noted_lines(found.noted, ShortIds(repository.store))
    if found.noted.problem:
        warn(found.noted.problem)
    rows = [_row("subject", printable(found.subject)), *(_row("turns", line) for line in lines)]
    body = "".join(rows if lines else [*rows, _row("turns", "none wrote any of its lines")])
    arguments = [*formats, found.before, found.noted.commit, "--"]
    title = f"commit {found.noted.commit}"
    return print_page(repository, lambda style: f"{style(title, 'yellow')}\n{body}\n", arguments)


def _head(kind: str, found: Checkpoint | EditRecord, style: Style) -> str:
    return style(f"{kind} {found.id}", "yellow") + "\n" + _row("commit", found.commit.id)


def _row(key: str, value: str) -> str:
    return f"{key:<11} {value}\n"


def _show_edit(repository: Repository, found: EditTarget, formats: list[str]) -> int:
    # As in the JSON answer, whatever `diff.renames` says: the record knows of renames.
    arguments = ["-M", *formats, found.before, found.after, "--"]
    [date] = Dates(repository, default="iso")([found.record])
    return print_page(repository, lambda style: _edit_text(found.record, date, style), arguments)


def _edit_text(record: EditRecord, date: str, style: Style) -> str:
    values = {
        "date": date,
        "worktree": record.meta.worktree_name,
        "rewinds": record.rewinds or "",
        "state": edit_state(record),
    }
    lines = [_row(key, printable(value)) for key, value in values.items() if value]
    for file in record.files:
        source = f"{quote_path(file.source)} -> " if file.source else ""
        lines.append(_row("file", f"{source}{quote_path(file.path)}: {file.action}"))
    lines += [_row("edit", line) for line in _edit_lines(record)]
    return _head("edit", record, style) + "".join(lines) + "\n"


def _edit_lines(record: EditRecord) -> Iterator[str]:
    """Each edit on one line; the message may be of any program's making."""
    for edit in record.edits:
        texts = (edit.get(key) for key in ("path", "kind", "rung"))
        path, kind, rung = (value if isinstance(value, str) else "?" for value in texts)
        parts = [kind if kind == rung else f"{kind} ({rung})"]
        start, end, notes = (edit.get(key) for key in ("start_line", "end_line", "notes"))
        if isinstance(start, int) and isinstance(end, int):
            parts.append(lines_of(start, end))
        parts += map(str, notes) if isinstance(notes, list) else []
        yield f"{quote_path(path)}: {printable(', '.join(parts))}"


# Columns.
_WHO, _LABEL, _AGE = 12, 24, 13


@click.command(cls=Command)
@option("-L <range>", "Only these lines, as in git blame.", "lines", default="")
@click.argument("path", metavar="<path>", shell_complete=paths)
@json_option
def blame(path: str, lines: str) -> int:
    """Show which turn of which agent wrote each line of a file.

    Each line has the checkpoint at which its turn began, the agent, the label, and the age. Lines
    that were written after a turn had ended are marked 'by hand', those of older commits with their
    author. Lines that are not committed are included.
    """
    repository = Repository.discover()
    with progress(repository, "reading the worktree"):
        found = blame_file(repository, path, lines)
    if wants_json():
        print_json({"ok": True, "path": path, "ranges": blamed_ranges(found)})
        return 0
    style = output_style(repository.config)
    short = ShortIds(repository.store)
    width = len(str(found[-1].number)) if found else 1
    with paged(repository.users_git) as stream:
        for line in found:
            name, who, label, age = _columns(line.origin, short)
            about = (
                f"{fitted(who, _WHO)} {fitted(label, _LABEL)} {age:>{_AGE}} {line.number:>{width}}"
            )
            place = style(f"{name:<{SHORT_ID}} ({about})", "yellow")
            stream.write(encode_text(f"{place} {printable(line.text)}\n"))
    problems = dict.fromkeys(line.origin.problem for line in found)
    for problem in first_lines([each for each in problems if each]):
        warn(problem)
    return 0


def _columns(origin: LineOrigin, short: ShortIds) -> tuple[str, str, str, str]:
    """The abbreviated id or commit, the author, the label and the age of a line."""
    if origin.source == COMMIT:
        author, date = printable(origin.author), timestamp(origin.time)[:10]
        return origin.commit[:SHORT_ID], author, "", date
    if noted := origin.noted:
        return (
            noted.id[:SHORT_ID],
            printable(noted.agent),
            printable(noted.prompt),
            age_of(noted.id),
        )
    if origin.checkpoint is None:
        return "", "uncommitted", "", ""
    meta, identifier = origin.checkpoint.meta, origin.checkpoint.id
    who = "by hand" if origin.source == LATER else printable(meta.text("agent") or "-")
    label = printable(meta.shown("label"))
    return short(identifier), who, label, age_of(identifier)
