"""`git boocode apply-edit`: apply a model's edits, all or none; `git boocode locate`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import NamedTuple, NoReturn

import click

from git_boocode.cli.buffers import BufferOptions, buffer_options, encoding_option
from git_boocode.cli.candidates import one_of, paths, profiles
from git_boocode.cli.framework import (
    AtLeast,
    Command,
    gathered,
    json_option,
    option,
    refuse_together,
)
from git_boocode.cli.hunk_choice import LETTERS, diff_option
from git_boocode.cli.output import (
    diff_painter,
    encode_json,
    print_feedback,
    print_json,
    print_text,
    printable,
    progress,
    quote_path,
    wants_json,
)
from git_boocode.editing.answer import BEGIN, Answer, EditsRefusedError, describe, diff_of, numbered
from git_boocode.editing.edits import (
    DEFAULT_PROFILE,
    PLACES_NOTES,
    AppliedEdit,
    EditedFile,
    MatchOptions,
    MissError,
)
from git_boocode.editing.formats import FORMATS
from git_boocode.editing.inputs import Source
from git_boocode.editing.service import Options, apply_edits
from git_boocode.editing.service import locate as find_text
from git_boocode.editing.text_changes import without_common_indentation
from git_boocode.editing.workspace import Workspace
from git_boocode.matching import Candidate
from git_boocode.matching.text import lines_of
from git_boocode.repo.config import Config
from git_boocode.repo.durable import write_private
from git_boocode.repo.errors import NextStep, RefusedError, UsageError, shell_command

_CANDIDATE_LINES = 8
_LOCATED_LINES = 12
_CANDIDATES = 3
_DONE = {"write": "rewritten", "delete": "deleted", "rename": "renamed"}
_MADE = dict.fromkeys(("write", "create", "exact"), "new file")


profile_option = option(
    "--profile <name>", "How tolerantly to match.", default="default", shell_complete=profiles
)
trim_option = option(
    "--trim", "Show the diff without the indentation that all lines of a hunk share."
)


class EditRequest(NamedTuple):
    """The options of a command that takes a model's edits."""

    files: tuple[str, ...]
    format_: str | None
    dry_run: bool
    show_diff: bool
    trim: bool
    profile: str
    verbatim: bool
    path: str | None
    old: str | None
    new: str | None
    replace_all: bool
    retry_context: str | None
    buffers: BufferOptions

    def sources(self, command: str) -> list[Source]:
        """The inputs of a command, which is named in hints; UsageError if options do not fit."""
        check_profile(self.profile)
        if self.format_ is not None and self.format_ not in FORMATS:
            hint = f"the formats are: {', '.join(FORMATS)}"
            raise UsageError(f"unknown format '{self.format_}'", hints=(hint,))
        texts = {"--path": self.path, "--old": self.old, "--new": self.new}
        if self.replace_all or any(text is not None for text in texts.values()):
            if self.files:
                given = [(name, text is not None) for name, text in texts.items()]
                refuse_together(*given, ("--replace-all", self.replace_all), ("<file>", True))
            return [self._from_options()]
        names = self.files or ("-",)
        if self.buffers.read_standard_input and "-" in names:
            hint = f"give the edits as a file: git boocode {command} --buffers - EDITS.json"
            message = "edits and buffers cannot both come on standard input"
            raise UsageError(message, hints=(hint,))
        return [_from_file(name, command) for name in names]

    def _from_options(self) -> Source:
        if self.path is None or self.old is None or self.new is None:
            raise click.UsageError("options '--path', '--old' and '--new' must be used together")
        edit: dict[str, object] = {
            "path": self.path,
            "old_string": self.old,
            "new_string": self.new,
        }
        if self.replace_all:
            edit["replace_all"] = True
        return Source("the command line", encode_json(edit))

    def filled(self, workspace: Workspace) -> Workspace:
        """A workspace with the buffers, in which a --path counts from the current directory."""
        return self.buffers.fill(workspace._replace(from_here=self.path is not None))

    @contextmanager
    def explaining(self, workspace: Workspace) -> Iterator[None]:
        """Write the retry context of a refusal in the block, and describe it for people."""
        _check_retry_context(self.retry_context)
        _keep_retry_context(self.retry_context, "")
        try:
            yield
        except EditsRefusedError as error:
            word = partial(_typed_here, workspace)
            _keep_retry_context(self.retry_context, error.worded(word))
            if wants_json():
                raise
            error.hints = tuple(map(word, error.hints))
            refuse(error)


edit_options = gathered(
    "request",
    EditRequest,
    click.argument("files", nargs=-1, metavar="[<file>... | -]", shell_complete=paths),
    option(
        "--format <name>",
        "Accept edits in this format only: string, multi, write, region, lines, unified, "
        "search-replace or apply-patch.",
        "format_",
        shell_complete=one_of(FORMATS),
    ),
    option("-n, --dry-run", "Only show what would be done."),
    diff_option,
    trim_option,
    profile_option,
    option("--verbatim", "Paste new text as given, without refitting it."),
    option("--path <path>", "Edit this file, with --old and --new.", shell_complete=paths),
    option("--old <text>", "The text to replace."),
    option("--new <text>", "The replacement text."),
    option("--replace-all", "Replace every occurrence of --old."),
    option(
        "--retry-context <file>",
        "On refusal, write a report for the model to this file.",
        shell_complete=paths,
    ),
    buffer_options,
)
"""Of a command that takes a model's edits; the argument is `request`."""


@click.command("apply-edit", cls=Command)
@edit_options
@encoding_option
@json_option
@option("--no-record", "Do not record the edit; it cannot be rewound then.")
@option("--session <id>", "The agent's session, as turn begin and checkpoint name it.", default="")
@option("--no-index", "Work in the current directory, without git.")
def apply_edit(
    request: EditRequest, no_record: bool, session: str, no_index: bool, encoding: str
) -> int:
    """Apply a model's edits to files although its text has drifted, all of them or none.

    Edits are read from each <file>, or from standard input. Paths in them count from the top of the
    worktree, a --path from the current directory.
    """
    sources, workspace = (
        request.sources("apply-edit"),
        request.filled(Workspace.find(index=not no_index)),
    )
    how = MatchOptions(request.profile, request.verbatim)
    options = Options(how, request.format_, request.dry_run, not no_record, session=session)
    with (
        request.explaining(workspace),
        progress(workspace.repository, "applying edits"),
    ):
        answer = apply_edits(sources, workspace, options)
    if wants_json():
        print_json(answer.as_json(encoding))
    else:
        _print_answer(answer, workspace, request)
    return 0


def check_profile(profile: str) -> None:
    """Refuse the name of a profile that does not exist (UsageError)."""
    if profile == DEFAULT_PROFILE:
        return
    # Imported late: an edit by line numbers needs no matcher.
    from git_boocode.matching.rungs import PROFILES

    if profile not in PROFILES:
        known = ", ".join(PROFILES)
        raise UsageError(f"unknown profile '{profile}'", hints=(f"the profiles are: {known}",))


def _from_file(name: str, command: str) -> Source:
    if name != "-":
        with open(name, "rb") as stream:
            return Source(name, stream.read())
    require_input("the edits", f"git boocode {command} EDITS.json")
    return Source("standard input", sys.stdin.buffer.read())


def require_input(what: str, example: str) -> None:
    """Refuse a terminal as standard input (UsageError), with a command line that gives `what`."""
    if sys.stdin.isatty():
        hint = f"pipe it in, or name a file, as in: {example}"
        raise UsageError(f"{what} must come on standard input, which is a terminal", hints=(hint,))


def _check_retry_context(name: str | None) -> None:
    """Refuse to overwrite a file that is not an earlier retry context."""
    if name is None or not os.path.isfile(name):
        return
    with open(name, "rb") as stream:
        start = stream.read(len(BEGIN))
    if start not in (b"", BEGIN.encode()):
        raise UsageError(
            f"'{name}' exists and is not a retry context",
            hints=("name a file that does not exist, or is empty",),
        )


def _keep_retry_context(name: str | None, text: str) -> None:
    """Write a retry context, or empty the file: one from an earlier call must not reach a model.

    It quotes files, so only the user may read it.
    """
    if name is None:
        return
    data = text.encode("utf-8", "backslashreplace")
    if os.path.exists(name) and not os.path.isfile(name):
        # Such as /dev/stderr. A FIFO that nobody reads would block for ever.
        descriptor = os.open(name, os.O_WRONLY | os.O_NONBLOCK)
        os.set_blocking(descriptor, True)
        with open(descriptor, "wb") as stream:
            stream.write(data)
    else:
        write_private(os.path.realpath(name), data, to_disk=False)


def _print_answer(answer: Answer, workspace: Workspace, request: EditRequest) -> None:
    print_edits(answer, workspace, request)
    for file in answer.files:
        if file.in_buffer:
            print_feedback(f"{quote_path(file.path)} is a buffer, which --json prints; not written")
    if not answer.applied:
        print_text("dry run: nothing was written")
    if answer.id:
        print_feedback(f"recorded as {answer.id}")


def print_edits(answer: Answer, workspace: Workspace, request: EditRequest) -> None:
    """Print a line for each edit, and the diffs if they are wanted.

    A file has its new version where an edit names the old one.
    """
    for file in answer.files:
        done = _MADE if file.action == "create" else _DONE
        lines = [summary(file, applied, done) for _, applied in file.applied]
        if file.version and any(edit.base for edit, _ in file.applied):
            lines[-1] += f", now {file.version}"
        for line in lines:
            print_feedback(line, dry_run=not answer.applied)
    if request.show_diff or request.trim:
        config = workspace.repository.config if workspace.repository else Config({})
        print_diffs(answer, config, trim=request.trim)


def _typed_here(workspace: Workspace, hint: str) -> str:
    """A hint whose command to read a file works where the user is."""
    if not isinstance(hint, NextStep) or hint.name != "read":
        return hint
    path = hint.value
    with suppress(MissError):
        path = os.path.relpath(workspace.target(path).path, workspace.prefix or ".")
    options = () if workspace.repository else ("--no-index",)
    ends_options = ("--",) if path.startswith("-") else ()
    return hint.worded(shell_command("git", "boocode", "read", *options, *ends_options, path))


def refuse(error: EditsRefusedError) -> NoReturn:
    """Raise a refusal again, with every failure described for people."""
    blocks = []
    for failure in error.failures:
        head = describe(failure, many=error.edits > 1)
        if failure.code == "stale" and failure.format == "lines" and failure.candidates:
            head += f", now {failure.version}"
        lines = [head]
        for candidate in failure.candidates[:_CANDIDATES]:
            lines += candidate_lines(candidate, _CANDIDATE_LINES)
        blocks.append("\n".join(lines))
    raise RefusedError("\nerror: ".join(blocks), code=error.code, hints=error.hints) from None


def candidate_lines(candidate: Candidate, most: int) -> list[str]:
    """A candidate as people read it: where it is, and its numbered lines."""
    where = candidate.where or lines_of(candidate.start_line, candidate.end_line)
    head = f"  {where} (similarity {candidate.similarity:.2f}):"
    lines = numbered(candidate.text, candidate.start_line, most)
    return [head, *(f"  {line.expandtabs(4)}" for line in lines)]


def print_diffs(answer: Answer, config: Config, *, trim: bool) -> None:
    """Print the diff of each file, with `trim` without the indentation that its lines share."""
    paint = diff_painter(config)
    for file in answer.files:
        diff = diff_of(file)
        for line in (without_common_indentation(diff) if trim else diff).split("\n")[:-1]:
            print_text(paint(line))


def summary(file: EditedFile, applied: AppliedEdit, done: Mapping[str, str]) -> str:
    """What one edit did to a file, in one line; `done` replaces the lines, by the rung."""
    letter = LETTERS[file.action] if file.changes else "="
    where = lines_of(applied.start_line, applied.end_line)
    places = [note for note in applied.notes if note.startswith(PLACES_NOTES)]
    if places:
        where = f"{applied.count} places, {where}: {places[0].partition(': ')[2]}"
    elif applied.count > 1:
        where = f"{applied.count} places, first {where}"
    parts = [done.get(applied.rung) or where]
    if applied.kind == "fuzzy":
        parts.append(f"fuzzy ({applied.rung} {applied.similarity:.2f})")
    path = quote_path(file.path)
    if file.moved_from is not None:
        path = f"{quote_path(file.moved_from)} -> {path}"
    parts += [note for note in applied.notes if note not in places]
    return f" {letter} {path}: {printable(', '.join(parts))}"


@click.command(cls=Command)
@click.argument("path", metavar="<path>", shell_complete=paths)
@profile_option
@option(
    "--start-line <n>", "The expected line; decides between equally good places.", type=AtLeast(1)
)
@option("--no-index", "Work in the current directory, without git.")
@buffer_options
@json_option
def locate(
    path: str,
    profile: str,
    start_line: int | None,
    no_index: bool,
    buffers: BufferOptions,
) -> int:
    """Find the text on standard input in the file <path>, although it has drifted."""
    check_profile(profile)
    if buffers.read_standard_input:
        message = "the text to find and buffers cannot both come on standard input"
        raise UsageError(message, hints=("give the buffers as a file: --buffers BUFFERS.json",))
    require_input("the text to find", "git boocode locate <path> < needle.txt")
    workspace = buffers.fill(Workspace.find(index=not no_index, from_here=True))
    needle = sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
    found = find_text(workspace, path, needle, profile, start_line)
    if not found.found:
        refusal = found.refusal()
        for candidate in () if wants_json() else found.match.candidates:
            lines = candidate_lines(candidate, _LOCATED_LINES)
            refusal.message = "\n".join((refusal.message, *lines))
        raise refusal
    if wants_json():
        print_json(found.as_json())
    else:
        match = found.match
        fuzzy = f"fuzzy ({match.rung} {match.similarity:.2f})"
        where = lines_of(match.start_line or 1, match.end_line or 0)
        how = fuzzy if match.kind == "fuzzy" else "exact"
        print_text(f"{quote_path(found.path)}: {where}, {how}")
    return 0
