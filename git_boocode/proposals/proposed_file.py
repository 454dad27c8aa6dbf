"""What an editor shows of a proposed file, beside what the user has."""

from __future__ import annotations

from typing import NamedTuple

from git_boocode.editing.edits import DEFAULT_ENCODING
from git_boocode.editing.text_changes import LineMap, TextHunk, text_edits
from git_boocode.editing.textfile import FileText, decode
from git_boocode.editing.workspace import Workspace
from git_boocode.proposals.local_files import OTHER, letters_of, tree_path
from git_boocode.proposals.proposal import ContextFile
from git_boocode.proposals.review import LocalFile, Review, irregular
from git_boocode.repo.errors import RefusedError

OUTPUT, CONTEXT = "output", "context"


class Preview(NamedTuple):
    """A file as it is proposed, or its context with a warning.

    `hunks` are those of the proposed change; their old lines are of the user's file.
    """

    path: str
    letters: str
    source: str  # `output` or `context`
    data: bytes
    local: FileText | None
    hunks: tuple[TextHunk, ...] = ()
    warning: str = ""

    def as_json(self, encoding: str = DEFAULT_ENCODING) -> dict[str, object]:
        """The JSON answer; its text edits lead from the user's text to the shown one."""
        text = decode(self.data).text
        return {
            "ok": True,
            "path": self.path,
            "status": self.letters,
            "source": self.source,
            "text": text,
            "text_edits": text_edits(self.local.text if self.local else "", text, encoding),
            "hunks": [hunk._asdict() for hunk in self.hunks],
            **({"warning": self.warning} if self.warning else {}),
        }


def preview(workspace: Workspace, path: str) -> Preview:
    """The output of a file, or its context if no content is proposed.

    `path` is of the command line. RefusedError (`missing_file`) if there is no such file.
    """
    review = Review(workspace)
    name = tree_path(workspace, path)
    files = (file for file in review.state.files() if name in file.paths)
    file = next(files, ContextFile(name, "", None, None))
    known = file.paths[0] in review.state.context
    locals_ = review.locals_of(file)
    local = locals_[file.paths[0]]
    if not known:
        if local.version == OTHER:
            raise irregular(path)
        if local.state is None:
            raise _missing(workspace, path)
        warning = "the file is not part of a proposal; this is the file as it is"
        return Preview(name, "", CONTEXT, local.state.data, local.text, warning=warning)
    letters = letters_of(file, {each: found.version for each, found in locals_.items()})
    hunks = tuple(_hunks(review, file, local))
    if file.is_pending and file.output is not None:
        data = review.bytes_of(file.path, file.output)
        return Preview(file.path, letters, OUTPUT, data, local.text, hunks)
    data = review.bytes_of(file.path, file.context) if file.context else b""
    proposed = "the proposal deletes the file" if file.is_pending else "no change is proposed"
    warning = f"{proposed}; this is what the model has seen"
    return Preview(file.path, letters, CONTEXT, data, local.text, hunks, warning)


def _hunks(review: Review, file: ContextFile, local: LocalFile) -> list[TextHunk]:
    """The hunks with the lines that they have in the user's file."""
    if not file.is_pending:
        return []
    try:
        hunks = review.hunks_of(file)
    except RefusedError:
        # A renamed or a binary file has none.
        return []
    old, _ = review.sides(file)
    if local.text is None or local.text.text == old.text:
        return hunks
    lines = LineMap()
    lines.follow(local.text.text, old.text)
    ranges = [lines.original_range(hunk.start_line, hunk.end_line) for hunk in hunks]
    return [
        hunk._replace(start_line=start, end_line=end)
        for hunk, (start, end) in zip(hunks, ranges, strict=True)
    ]


def _missing(workspace: Workspace, path: str) -> RefusedError:
    """The error for a file that neither exists nor is proposed."""
    miss = workspace._replace(from_here=True).missing_file(path)
    hints = (miss.hint,) if miss.hint else ("'git boocode status' lists the files of a proposal",)
    return RefusedError(f"'{path}': {miss.message}", code=miss.code, hints=hints)
