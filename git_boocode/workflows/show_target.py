"""What a name shows: a checkpoint with its turn, a file of a checkpoint, or an applied edit."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from git_boocode.checkpoints.commit_notes import NotedCommit, attribute, commits_of
from git_boocode.checkpoints.own_changes import OwnTurns, own_turn_of
from git_boocode.checkpoints.store.catalog import Catalog, Checkpoint, tree_changes, without_index
from git_boocode.checkpoints.turn_changes import rename_option
from git_boocode.checkpoints.turn_words import REVERTED
from git_boocode.checkpoints.turns import NOW, Turn
from git_boocode.checkpoints.worktree.scan import current_tree
from git_boocode.checkpoints.worktree_log import WorktreeLog
from git_boocode.editing.records import EditRecord, Records
from git_boocode.editing.text_changes import quoted
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.git import nul_records
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import ShortIds

_SHOWN_EDITS = 3


def _files(
    repository: Repository, old: str, new: str, paths: Sequence[str] = ()
) -> list[dict[str, object]]:
    """The changed files; one that was renamed counts once if `diff.renames` says so."""
    changes = tree_changes(repository.git, old, new, paths)
    if not {"create", "delete"} <= {each.action for each in changes}:
        return [each.as_json() for each in changes]
    options = ("-r", "-z", "--name-status", "--diff-filter=R", rename_option(repository))
    found = without_index(repository.git).run("diff-tree", *options, old, new, "--", *paths)
    records = nul_records(found)
    sources = dict(zip(records[2::3], records[1::3], strict=True))
    moved = {*sources.values()}
    return [
        each.as_json()
        if each.path not in sources
        else {**each.as_json(), "action": "rename", "from": sources[each.path]}
        for each in changes
        if each.action != "delete" or each.path not in moved
    ]


class CheckpointTarget(NamedTuple):
    """A checkpoint, and the trees or commits to compare: those of its turn, or HEAD and itself.

    `turn` is None if only HEAD is asked for; its end may be unknown, and HEAD is compared then.
    `state` is that of `TurnStates`, and `is_open` whether the turn runs.
    """

    checkpoint: Checkpoint
    turn: Turn | None
    old: str
    new: str
    paths: list[str]
    state: str = ""
    is_open: bool = False

    @property
    def ended(self) -> Turn | None:
        """The turn whose beginning and end are compared."""
        return self.turn if self.turn is not None and self.turn.after else None

    def as_json(self, repository: Repository) -> dict[str, object]:
        """The JSON answer."""
        found, ended = self.checkpoint, self.ended
        is_temporary = ended is not None and (ended.end == NOW or ended.own is not None)
        shared = [
            {"path": p, "turns": [*ids]} for p, ids in (ended.shared if ended else {}).items()
        ]
        own = {"id": found.id, "commit": found.commit.id, "tree": found.tree}
        return {
            "ok": True,
            "checkpoint": {**found.meta.values_shown, **own},
            "end": ended.end if ended else None,
            # A state of the worktree, or one that is made of several, has only temporary objects.
            "before": None if ended and ended.own else self.old,
            "after": None if is_temporary else self.new,
            "files": _files(repository, self.old, self.new, self.paths),
            **({"state": self.state} if self.state else {}),
            **({"open": True} if self.is_open else {}),
            **({"reverted": True} if self.state == REVERTED else {}),
            **({"shared": shared} if shared else {}),
        }


class FileTarget(NamedTuple):
    """A path of a checkpoint, empty for its top; `kind` is `blob` or `tree`."""

    checkpoint: Checkpoint
    path: str
    kind: str

    @property
    def object_name(self) -> str:
        """The name of the object for git."""
        return f"{self.checkpoint.commit.id}:{self.path}"

    def as_json(self, repository: Repository) -> dict[str, object]:
        """The JSON answer, with the text of the file; bytes that are not UTF-8 are surrogates."""
        git, name = repository.git, self.object_name
        answer: dict[str, object] = {
            "ok": True,
            "checkpoint_id": self.checkpoint.id,
            "path": self.path,
        }
        if self.kind == "tree":
            answer["entries"] = nul_records(git.run("ls-tree", "-z", "--name-only", name))
        else:
            content = git.run("cat-file", "blob", name)
            answer["content"] = content.decode("utf-8", "surrogateescape")
        return answer


class EditTarget(NamedTuple):
    """An edit record, and the trees of its files before and after the edit."""

    record: EditRecord
    before: str
    after: str

    def as_json(self, repository: Repository) -> dict[str, object]:
        """The JSON answer."""
        record = self.record
        diff = repository.git.run("diff-tree", "-r", "-p", "-M", self.before, self.after, "--")
        own = {"id": record.id, "commit": record.commit.id, "rewound": record.rewound}
        return {
            "ok": True,
            "edit": {**record.meta.values, **own},
            "files": [file.as_json() for file in record.files],
            "diff": diff.decode("utf-8", "surrogateescape"),
        }


class CommitTarget(NamedTuple):
    """A commit with the turns that wrote its lines, and what it is compared with."""

    noted: NotedCommit
    before: str
    subject: str

    def as_json(self, repository: Repository) -> dict[str, object]:
        """The JSON answer."""
        noted = self.noted.as_json()
        return {
            "ok": True,
            "commit": self.noted.commit,
            "attribution": noted["files"],
            "trace": noted["trace"],
            "files": _files(repository, self.before, self.noted.commit),
        }


def find_target(
    repository: Repository, name: str, *, head: bool = False
) -> CheckpointTarget | FileTarget | EditTarget | CommitTarget:
    """Find what a name means: of a checkpoint, `<checkpoint>:<path>`, an edit's id, or a commit.

    With `head`, a checkpoint is compared with HEAD. Reading the worktree, at the end of the latest
    turn, writes objects: see `temporary_objects`. RefusedError if nothing has the name
    (`not_found`, `missing_file`), or several have (`ambiguous`).
    """
    records, catalog = Records(repository), Catalog(repository)
    if is_file_name(name):
        start, _, path = name.partition(":")
        return _file(repository, catalog.find(start or "@"), path)
    if not is_edit(repository, name):
        try:
            found = catalog.find(name)
        except RefusedError as error:
            target = _commit(repository, name) if error.code == "not_found" else None
            if target is None:
                raise
            return target
        return _checkpoint(catalog, found, head=head)
    edits = records.matching(name)
    if len(edits) > 1:
        raise records.ambiguous(name, edits)
    record = records.usable(edits[0])
    return EditTarget(record, *records.sides(record))


def _commit(repository: Repository, name: str) -> CommitTarget | None:
    """A commit by a name of git's, with what is noted of it, or can be; None if there is none."""
    if name.startswith(("@", "label:", "message:")):
        return None
    try:
        commits = commits_of(repository, [name])
    except RefusedError:
        return None
    if len(commits) != 1:
        return None
    [noted] = attribute(repository, commits, dry_run=True)
    form = ("show", "-s", "--no-show-signature", "--format=%P%x00%s", noted.commit, "--")
    parents, _, subject = repository.git.line(*form).partition("\0")
    before = parents.split()[0] if parents else repository.empty_tree
    return CommitTarget(noted, before, subject)


def is_edit(repository: Repository, name: str) -> bool:
    """Whether a name is that of edits; RefusedError (`ambiguous`) if also that of a checkpoint."""
    edits = Records(repository).matching(name)
    if not edits:
        return False
    if not (checkpoints := Catalog(repository).matching(name)):
        return True
    shown = [f"the edit {ref.id}" for ref in edits[:_SHOWN_EDITS]]
    several = len(checkpoints) > 1
    shown.append("several checkpoints" if several else f"the checkpoint {checkpoints[0].id}")
    raise RefusedError(
        f"'{name}' is ambiguous: it matches a checkpoint and an edit record",
        code="ambiguous",
        hints=(f"candidates: {', '.join(shown)}",),
    )


def is_file_name(name: str) -> bool:
    """Whether a name is that of a file, `<checkpoint>:<path>`."""
    start, colon, _ = name.partition(":")
    return bool(colon) and start not in ("label", "message")


def _checkpoint(catalog: Catalog, found: Checkpoint, *, head: bool) -> CheckpointTarget:
    repository = catalog.repository
    now = partial(current_tree, repository)
    beside = WorktreeLog(OwnTurns(catalog, now))
    about = (beside.states.of(found), beside.is_open(found))
    turn = None if head else own_turn_of(catalog, found, now)
    if turn is not None and turn.after:
        old, new, _, *paths = turn.compared()
        return CheckpointTarget(found, turn, old, new, paths, *about)
    old = found.head or repository.empty_tree
    return CheckpointTarget(found, turn, old, found.tree, [], *about)


def _file(repository: Repository, found: Checkpoint, path: str) -> FileTarget:
    """A file as it was; a path counts from the top, or after `./` from the directory."""
    if path.startswith(("./", "../")) or path in (".", ".."):
        path = posixpath.normpath(posixpath.join(repository.prefix, path))
    path = "" if path == "." else path.rstrip("/")
    return FileTarget(found, path, _kind_of(repository, found, path))


def _kind_of(repository: Repository, found: Checkpoint, path: str) -> str:
    """The type of the object at a path: `blob` or `tree`; RefusedError if it cannot be shown."""
    if not path:
        return "tree"
    shown, short = quoted(path), ShortIds(repository.store)(found.id)
    outside = path.startswith(("/", "../"))
    entry = None if outside else repository.store.tree(found.tree, [path]).get(path)
    if entry is None:
        raise _missing_file(repository, found, path, short)
    _, kind, identifier = entry
    if kind == "commit":
        message = f"'{shown}' is a submodule or a nested repository, at commit {identifier}"
        raise RefusedError(message, code="missing_file")
    if repository.git.attempt("cat-file", "-e", identifier).status:
        message = f"the object of '{shown}' in checkpoint {short} is missing"
        hint = "'git boocode doctor' lists what is missing"
        raise RefusedError(message, code="missing_file", hints=(hint,))
    return kind


def _missing_file(repository: Repository, found: Checkpoint, path: str, short: str) -> RefusedError:
    """The error for a path that a checkpoint does not have, with the nearest that it has."""
    # Only here.
    from difflib import get_close_matches

    names = repository.store.tree(found.tree)
    here = posixpath.normpath(posixpath.join(repository.prefix, path))
    near = [here] if here in names else get_close_matches(path, names, 1)
    hints = tuple(f"did you mean '{short}:{quoted(each)}'?" for each in near)
    message = f"'{quoted(path)}' is not in checkpoint {short}"
    return RefusedError(message, code="missing_file", hints=hints)
