"""Read objects and refs, and move refs, with git's plumbing commands.

Git starts in 1 to 3 ms, while importing pygit2 takes about 80 ms, so plumbing is faster in a
short-lived process. A long-running one opens a store with the same interface, see
`git_boocode.repo.libgit2.open_store`, in which at most one git keeps running.
"""

from __future__ import annotations

import os
import subprocess
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from io import BytesIO
from itertools import islice
from threading import Lock
from typing import NamedTuple, TypeGuard, TypeVar

from git_boocode.repo.config import Identity
from git_boocode.repo.durable import sync_refs
from git_boocode.repo.errors import (
    MAKE_ROOM,
    RETRY,
    BoocodeError,
    FatalError,
    NextStep,
    RefusedError,
    from_os,
)
from git_boocode.repo.git import Git, RawObject, batch_request, nul_records, read_batch
from git_boocode.repo.ids import ID, OBJECT_ID, SHORT_ID, new_id
from git_boocode.repo.layout import ALL_REFS, NEWEST_ID, REMOTE_PROPOSALS, REMOTES
from git_boocode.repo.location import Location
from git_boocode.repo.lock import file_lock
from git_boocode.repo.messages import REF_CHANGED, REF_LOCKED, failure_reason, is_disk_full, says
from git_boocode.repo.object_writer import raw_commit

_FETCHED = (REMOTES, REMOTE_PROPOSALS)
# Characters; the name of a ref is at most as long as a path.
_LONGEST_REF = 8192
_ID_LENGTH = 36
_PATIENCE = 10.0  # seconds
_KINDS = {"040000": "tree", "160000": "commit"}
_REF_FORMAT = "%(refname)%00%(objectname)%00%(tree)%00%(parent)%00%(contents)%00"
_CHECK = "--batch-check=%(objecttype) %(objectname) %(objectsize)"
# In bytes; git's default is 96 MB, and a server may have many repositories open.
_CACHE = "core.deltaBaseCacheLimit=8m"
# Ids that are sent at once: they fit into a pipe, so that git never waits for us to read.
_CHUNK = 32
_MOST_TAGS = 16  # maximum length of a chain of tags
_ARGUMENTS = 500  # maximum number of paths on a command line
_Result = TypeVar("_Result")


class Ref(NamedTuple):
    """A ref and the object that it names."""

    name: str
    target: str

    @property
    def id(self) -> str:
        """The last component of its name; an id for most of our refs."""
        return self.name.rpartition("/")[2]


class Commit(NamedTuple):
    """A stored commit; undecodable bytes of the message become surrogates."""

    id: str
    tree: str
    parents: tuple[str, ...]
    message: str


class TreeEntry(NamedTuple):
    """An entry of a tree, without its name."""

    mode: str  # six octal digits
    kind: str  # `blob`, `tree`, or `commit` for a submodule
    id: str


class ObjectInfo(NamedTuple):
    """The type of an object, its id, and its size in bytes."""

    kind: str
    id: str
    size: int


class RefChange(NamedTuple):
    """One step of a ref transaction; if `new` equals `old`, the ref is only verified."""

    name: str  # the full name of the ref
    new: str | None  # the new object id; None to delete the ref
    old: str | None  # the expected object id; None if the ref must not exist


def parse_commit(identifier: str, raw: bytes) -> Commit | None:
    """Parse a commit object; None if it is malformed."""
    head, _, message = raw.decode("utf-8", "surrogateescape").partition("\n\n")
    tree, parents = "", list[str]()
    for line in head.split("\n"):
        key, _, value = line.partition(" ")
        if key == "parent":
            parents.append(value)
        elif key == "tree":
            tree = value
    return Commit(identifier, tree, tuple(parents), message) if tree else None


def tree_entries(tree: RawObject) -> Iterator[tuple[str, TreeEntry]]:
    """The names and the entries of a tree object (ValueError if it is malformed)."""
    body, position, size = tree.body, 0, len(tree.id) // 2
    while position < len(body):
        end = body.index(b"\0", position)
        mode, _, name = os.fsdecode(body[position:end]).partition(" ")
        position = end + 1 + size
        mode, identifier = mode.zfill(6), body[end + 1 : position].hex()
        yield name, TreeEntry(mode, _KINDS.get(mode, "blob"), identifier)


class Store:
    """The objects and refs of a repository, of any kind that git supports.

    `Repository.store` is the store of a repository. A missing or damaged object is None.
    """

    # Enough for a page of `log`; a longer list is read in batches.
    BATCH = 32
    # A batch is held in memory.
    LARGEST_BATCH = 1024

    def __init__(self, repository: Location) -> None:
        self._repository = repository

    def refs(self, *prefixes: str, newest: int = 0) -> list[Ref]:
        """The refs below some prefixes, in descending order of name; at most `newest`, 0 for all.

        A prefix is a full name, or ends in `/`.
        """
        if not prefixes:
            return []
        if len(prefixes) == 1 and (target := loose_ref(self._repository, prefixes[0])):
            # Without starting git: it reads the same file first.
            return [Ref(prefixes[0], target)]
        form = ("--sort=-refname", "--format=%(objectname) %(refname)", f"--count={newest}")
        listing = self._repository.git.line("for-each-ref", *form, *prefixes)
        # Git also lists what is below a whole name.
        below = tuple(prefix for prefix in prefixes if prefix.endswith("/"))
        found = []
        # Not `splitlines`: a name may contain Python's other line separators.
        for line in filter(None, listing.split("\n")):
            target, _, name = line.partition(" ")
            if name in prefixes or name.startswith(below):
                found.append(Ref(name, target))
        return found

    def new_id(self) -> str:
        """An id greater than all earlier ones of this repository, also if the clock was set back.

        The newest one is known from a private file, or else from the refs. RefusedError (`locked`)
        if another process held that file for long.
        """
        path = os.path.join(self._repository.common_state_dir, NEWEST_ID)
        with file_lock(path, patience=_PATIENCE) as descriptor:
            newest = os.pread(descriptor, _ID_LENGTH, 0).decode("ascii", "replace")
            if not ID.fullmatch(newest):
                refs = (ref for ref in self.refs(ALL_REFS) if not ref.name.startswith(_FETCHED))
                newest = max((ref.id for ref in refs if ID.fullmatch(ref.id)), default="")
            made = new_id(after=newest)
            os.pwrite(descriptor, made.encode("ascii"), 0)
        return made

    def commits(self, ids: Iterable[str]) -> Iterator[Commit | None]:
        """Commits in the given order; None also for other objects."""
        remaining = iter(ids)
        size = self.BATCH
        while batch := list(islice(remaining, size)):
            for found in self._read(batch):
                yield parse_commit(found.id, found.body) if _is(found, "commit") else None
            size = min(size * 3, self.LARGEST_BATCH)

    def newest(self, count: int, *prefixes: str) -> list[tuple[Ref, Commit]]:
        """The newest refs by their ids, whatever their prefix, and the commits that they name."""
        options = ("--sort=-refname:lstrip=3", f"--count={count}", f"--format={_REF_FORMAT}")
        git = self._repository.git.bind(GIT_NO_LAZY_FETCH="1")
        listed = git.attempt("for-each-ref", *options, *prefixes).stdout
        fields = iter(os.fsdecode(listed).replace("\0\n", "\0").split("\0")[:-1])
        return [
            (Ref(name, target), Commit(target, tree, tuple(parents.split()), message))
            for name, target, tree, parents, message in zip(*[fields] * 5, strict=False)
            if tree
        ]

    def lookup(self, names: Sequence[str]) -> list[ObjectInfo | None]:
        """What names such as `HEAD`, `HEAD:path` or `:0:path` lead to; None if it is not here.

        Nothing is fetched into a partial clone. Git finds no path with a newline.
        """
        git = self._repository.git.bind(GIT_NO_LAZY_FETCH="1")
        output = git.attempt("cat-file", _CHECK, stdin=batch_request(names)).stdout
        rows = (os.fsdecode(row).split(" ") for row in output.split(b"\n")[:-1])
        found = [
            ObjectInfo(row[0], row[1], int(row[2])) if row[-1].isdigit() else None for row in rows
        ]
        # Git stops at a damaged object.
        return [*found, *[None] * (len(names) - len(found))]

    def commit(self, name: str) -> Commit | None:
        """The commit that a ref, `HEAD` or an id names; None if it or its tree is missing."""
        found, tree = self._read([f"{name}^{{commit}}", f"{name}^{{tree}}"])
        return parse_commit(found.id, found.body) if _is(found, "commit") and tree else None

    def blobs(self, ids: Sequence[str]) -> list[bytes | None]:
        """The bytes of blobs, in the given order; None also for other objects."""
        return [found.body if _is(found, "blob") else None for found in self._read(ids)]

    def tree(self, treeish: str, paths: Sequence[str] | None = None) -> dict[str, TreeEntry]:
        """All files in a tree or commit by path, or the entries of any kind at literal `paths`.

        GitError if a tree is missing or damaged.
        """
        git, found = self._repository.git, dict[str, TreeEntry]()
        if paths is None:
            listings = iter([git.run("ls-tree", "-r", "-z", treeish)])
        else:
            # A tree that is asked for is listed although a path below it is asked for as well.
            command = ("ls-tree", "-t", "-z", treeish, "--")
            git, starts = git.bind(GIT_LITERAL_PATHSPECS="1"), range(0, len(paths), _ARGUMENTS)
            listings = (git.run(*command, *paths[at : at + _ARGUMENTS]) for at in starts)
        for record in (record for listing in listings for record in nul_records(listing)):
            fields, _, path = record.partition("\t")
            found[path] = TreeEntry(*fields.split(" "))
        return found if paths is None else {path: found[path] for path in paths if path in found}

    def directories(
        self, treeish: str, paths: Sequence[str]
    ) -> dict[str, tuple[str, dict[str, TreeEntry]]]:
        """The ids of those of some directories that exist, and their entries; `""` is the top.

        FatalError if a tree is missing or damaged.
        """
        below = {
            path: entry.id
            for path, entry in self.tree(treeish, [path for path in paths if path]).items()
            if entry.kind == "tree"
        }
        found = {}
        names = [f"{treeish}^{{tree}}", *below.values()]
        for path, each in zip(("", *below), self._read(names), strict=True):
            try:
                entries = dict(tree_entries(each)) if _is(each, "tree") else None
            except ValueError:
                entries = None
            if each is None or entries is None:
                raise FatalError(f"cannot read a tree of {treeish}", code="missing_objects")
            found[path] = each.id, entries
        return found

    def file(self, treeish: str, path: str) -> bytes:
        """The bytes of a file in a tree or commit; GitError if it is missing or damaged."""
        return self._repository.git.run("cat-file", "blob", f"{treeish}:{path}")

    def _read(self, names: Sequence[str]) -> Sequence[RawObject | None]:
        """Objects by their ids, or by other names that git resolves."""
        if not names:
            return []
        done = self._repository.git.attempt("cat-file", "--batch", stdin=batch_request(names))
        if done.status == 0:
            output = BytesIO(done.stdout)
            return [read_batch(output) for _ in names]
        # Git stops at a damaged object and does not read the rest of the request.
        middle = len(names) // 2
        return [*self._read(names[:middle]), *self._read(names[middle:])] if middle else [None]

    def write_commit(
        self, tree: str, parents: Sequence[str], message: str, by: Identity, when: float
    ) -> str:
        """Store a commit by `by`, made `when` (seconds since 1970), and return its id."""
        raw = raw_commit(tree, parents, message, by, when)
        return self._repository.git.line("hash-object", "-t", "commit", "-w", "--stdin", stdin=raw)

    def update_refs(self, changes: Sequence[RefChange]) -> None:
        """Apply all changes or none, each only if the ref has the expected value.

        RefusedError (`conflict`) if another process created, moved or deleted a ref.
        """
        if not changes:
            return
        script = os.fsencode("".join(map(self._instruction, changes)))
        command = ("update-ref", "--no-deref", "-z", "--stdin")
        done = self._repository.git.attempt(*command, stdin=script)
        if done.status:
            raise ref_error(os.fsdecode(done.stderr))
        written = [change.name for change in changes if change.new not in (None, change.old)]
        deletes = any(change.new is None for change in changes)
        try:
            sync_refs(self._repository.common_dir, written, packed=deletes)
        except OSError as error:
            raise from_os(error) from error

    def _instruction(self, change: RefChange) -> str:
        old = change.old or self._repository.zero_id
        if change.new == old:
            return f"verify {change.name}\0{old}\0"
        if change.new is None:
            return f"delete {change.name}\0{old}\0"
        return f"update {change.name}\0{change.new}\0{old}\0"


class CatFile:
    """A `git cat-file --batch` that keeps running. Threads may share it."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def read(self, names: Sequence[str]) -> list[RawObject | None]:
        """Objects by their ids, or a single one by a name that git resolves."""
        found: list[RawObject | None] = []
        with self._lock:
            while len(found) < len(names):
                some = names[len(found) : len(found) + _CHUNK]
                # The process may have been killed since the last request. A second failure means
                # that the object is damaged.
                found += self._ask(some) or self._ask(some) or [None]
        return found

    def close(self) -> None:
        """Stop git; the next request starts it again."""
        with self._lock:
            self._stop()

    def __del__(self) -> None:
        # A store goes without `close` when the last request has used it.
        self._stop()

    def _ask(self, names: Sequence[str]) -> list[RawObject | None]:
        """The objects before the first one at which git exits."""
        process = self._process = self._process or self._git.converse("cat-file", "--batch")
        assert process.stdin is not None
        assert process.stdout is not None
        found: list[RawObject | None] = []
        try:
            process.stdin.write(batch_request(names))
            process.stdin.flush()
            for _ in names:
                found.append(read_batch(process.stdout))  # noqa: PERF401 - what came before an error
        except (BrokenPipeError, EOFError):
            self._stop()
        except BaseException:
            # The next request would get the rest of this answer.
            self._stop()
            raise
        return found

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        for pipe in (process.stdin, process.stdout):
            with suppress(BrokenPipeError):
                if pipe is not None:
                    pipe.close()
        process.wait()


class PersistentStore(Store):
    """The store of a long-running process: one git keeps running and reads all objects.

    Threads may share it.
    """

    # Reading ahead saves nothing.
    BATCH = 1

    def __init__(self, repository: Location) -> None:
        super().__init__(repository)
        self._objects = os.path.join(repository.common_dir, "objects")
        self._cat_file = CatFile(repository.git.bind(_CACHE, cwd=repository.git_dir))
        self._packs = self._packs_state()
        self._directories = _directories_of(repository)

    def is_of(self, repository: Location) -> bool:
        """Whether it was opened for this repository, configured as it is now."""
        own = self._repository
        return (
            (own.worktree, own.git_dir, own.common_dir)
            == (repository.worktree, repository.git_dir, repository.common_dir)
            and own.config.settings == repository.config.settings
            and self._directories == _directories_of(repository)
        )

    def close(self) -> None:
        """Release processes and files; the next request opens them again."""
        self._cat_file.close()

    def newest(self, count: int, *prefixes: str) -> list[tuple[Ref, Commit]]:
        """See `Store.newest`."""
        refs = [ref for prefix in prefixes for ref in self.refs(prefix, newest=count)]
        refs = sorted(refs, key=lambda ref: ref.id, reverse=True)[:count]
        commits = self.commits(ref.target for ref in refs)
        return [(ref, commit) for ref, commit in zip(refs, commits, strict=True) if commit]

    def commit(self, name: str) -> Commit | None:
        """See `Store.commit`."""
        found = self._peeled(name)
        if found is None or found.kind != "commit":
            return None
        commit = parse_commit(found.id, found.body)
        return commit if commit and self._named(commit.tree) else None

    def _peeled(self, name: str) -> RawObject | None:
        """The object that a name or an annotated tag names."""
        # Git would keep each commit in memory that it finds by `<name>^{commit}`.
        found = self._named(name)
        for _ in range(_MOST_TAGS):
            if found is None or found.kind != "tag":
                break
            line = found.body.partition(b"\n")[0]
            (found,) = self._read([os.fsdecode(line.removeprefix(b"object "))])
        return found

    def _named(self, name: str) -> RawObject | None:
        (found,) = self._read([name])
        return found

    def _read(self, names: Sequence[str]) -> Sequence[RawObject | None]:
        self.refresh()
        return self._cat_file.read(names)

    def refresh(self) -> None:
        """Notice new and removed packs and alternates."""
        now = self._packs_state()
        if now != self._packs:
            # A running git keeps deleted packs open, and some versions miss new alternates.
            self._packs = now
            self.close()

    def _packs_state(self) -> tuple[tuple[int, ...], ...]:
        paths = (os.path.join(self._objects, name) for name in ("pack", "info/alternates"))
        return tuple(map(_state, paths))


def _directories_of(repository: Location) -> list[tuple[int, int]]:
    """Which directories a repository consists of."""
    found = map(os.stat, (repository.git_dir, repository.common_dir))
    return [(each.st_dev, each.st_ino) for each in found]


def _state(path: str) -> tuple[int, ...]:
    """Changes with a file or a directory; empty if it does not exist."""
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return found.st_mtime_ns, found.st_ino, found.st_size


def _is(found: RawObject | None, kind: str) -> TypeGuard[RawObject]:
    return found is not None and found.kind == kind


def retry_conflicts(
    change: Callable[[], _Result], codes: Collection[str] = ("conflict",), attempts: int = 3
) -> _Result:
    """Call a function that reads and changes refs; retry if another process changes them, too.

    RefusedError if every attempt was refused with one of the codes.
    """
    try:
        return change()
    except RefusedError as error:
        if error.code not in codes or attempts == 1:
            raise
    return retry_conflicts(change, codes, attempts - 1)


def ref_error(stderr: str) -> BoocodeError:
    """The error for a failed ref update, according to git's error output."""
    reason = failure_reason(stderr)
    if says(reason, REF_CHANGED):
        return RefusedError(
            f"a ref was changed by another process: {reason.splitlines()[0]}",
            code="conflict",
            hints=(NextStep("nothing was changed; run the command again", RETRY),),
        )
    if says(reason, REF_LOCKED):
        return RefusedError(
            f"a ref is locked: {reason.splitlines()[0]}",
            code="locked",
            hints=(
                NextStep(
                    "try again; if it stays locked, 'git boocode doctor' names the lock file", RETRY
                ),
            ),
        )
    if is_disk_full(reason):
        return FatalError(f"cannot update refs: {reason}", code="disk_full", hints=(MAKE_ROOM,))
    return FatalError(f"cannot update refs: {reason}", code="refs")


class ShortIds:
    """The ids of a repository, each abbreviated to what is unique in it.

    All refs are listed when the first one is asked for.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def __call__(self, identifier: str) -> str:
        """The shortest unique prefix of an id; other names of refs as they are."""
        ids = self._ids
        at = bisect_left(ids, identifier)
        near = [each for each in ids[max(at - 1, 0) : at + 2] if each != identifier]
        sizes = range(SHORT_ID, len(identifier))
        starts = (identifier[:size] for size in sizes)
        return next((s for s in starts if not any(n.startswith(s) for n in near)), identifier)

    @cached_property
    def _ids(self) -> list[str]:
        return sorted({ref.id for ref in self._store.refs(ALL_REFS)})


def loose_ref(location: Location, name: str) -> str | None:
    """The object that a loose ref names; None if it cannot be read as a file."""
    if not location.has_plain_refs:
        return None
    target = read_ref_file(os.path.join(location.common_dir, name))
    return target if OBJECT_ID.fullmatch(target) else None


def read_ref_file(path: str) -> str:
    """What the file of a ref holds; empty if it cannot be read as a file."""
    with suppress(OSError):
        if not os.path.islink(path):
            with open(path, encoding="utf-8", errors="surrogateescape") as file:
                return file.read(_LONGEST_REF).strip()
    return ""
