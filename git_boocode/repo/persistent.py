"""The store of a long-running process, in which one git keeps running and reads all objects."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import suppress
from threading import Lock

from git_boocode.repo.git import Git, RawObject, batch_request, read_batch
from git_boocode.repo.location import Location
from git_boocode.repo.store import Commit, Ref, Store, TreeEntry, parse_commit, tree_entries

# In bytes; git's default is 96 MB, and a server may have many repositories open.
_CACHE = "core.deltaBaseCacheLimit=8m"
# Ids that are sent at once: they fit into a pipe, so that git never waits for us to read.
_CHUNK = 32
_MOST_TAGS = 16  # maximum length of a chain of tags
# Above this, git lists a tree faster.
_MOST_TREES = 64


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
    """Reads objects without starting a process. Threads may share it."""

    # Reading ahead saves nothing.
    BATCH = 1

    def __init__(self, repository: Location) -> None:
        super().__init__(repository)
        self._objects = os.path.join(repository.common_dir, "objects")
        self._cat_file = CatFile(repository.git.bind(_CACHE, cwd=repository.git_dir))
        self._packs = self._packs_state()

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

    def tree(self, treeish: str, paths: Sequence[str] | None = None) -> dict[str, TreeEntry]:
        """See `Store.tree`."""
        if paths is not None and not paths:
            return {}
        try:
            found = dict(self._walk(self._tree_id(treeish), paths))
        except ValueError:
            # Too large for this, or git reports what is wrong.
            return super().tree(treeish, paths)
        return found if paths is None else {path: found[path] for path in paths if path in found}

    def _tree_id(self, treeish: str) -> str:
        found = self._peeled(treeish)
        if found is not None and found.kind == "commit":
            commit = parse_commit(found.id, found.body)
            return commit.tree if commit else ""
        if found is None or found.kind != "tree":
            raise ValueError(treeish)
        return found.id

    def _walk(self, tree: str, paths: Sequence[str] | None) -> Iterator[tuple[str, TreeEntry]]:
        """All files of a tree, or its entries in the directories of some paths (ValueError)."""
        above = None if paths is None else {*_directories(paths)}
        stack, read = [("", self._entries(tree))], 1
        while stack:
            base, entries = stack[-1]
            name, entry = next(entries, ("", None))
            if entry is None:
                stack.pop()
                continue
            path = base + name
            if entry.kind != "tree" or above is not None:
                yield path, entry
            if entry.kind == "tree" and (above is None or path in above):
                read += 1
                if read > _MOST_TREES:
                    raise ValueError(tree)
                stack.append((f"{path}/", self._entries(entry.id)))

    def _entries(self, tree: str) -> Iterator[tuple[str, TreeEntry]]:
        (found,) = self._read([tree])
        if found is None or found.kind != "tree":
            raise ValueError(tree)
        return tree_entries(found)

    def directories(
        self, treeish: str, paths: Sequence[str]
    ) -> dict[str, tuple[str, dict[str, TreeEntry]]]:
        """See `Store.directories`."""
        found = dict[str, tuple[str, dict[str, TreeEntry]]]()
        try:
            top = self._tree_id(treeish)
            found[""] = top, dict(self._entries(top))
            # Each directory after its parent.
            for path in sorted({*paths, *_directories(paths)} - {""}):
                parent, _, name = path.rpartition("/")
                entry = found[parent][1].get(name) if parent in found else None
                if entry is not None and entry.kind == "tree":
                    found[path] = entry.id, dict(self._entries(entry.id))
        except ValueError:
            # Git says what is wrong.
            return super().directories(treeish, paths)
        return {path: found[path] for path in ("", *paths) if path in found}

    def file(self, treeish: str, path: str) -> bytes:
        """See `Store.file`."""
        entry = self.tree(treeish, [path]).get(path)
        (body,) = self.blobs([entry.id]) if entry else (None,)
        return super().file(treeish, path) if body is None else body

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


def _state(path: str) -> tuple[int, ...]:
    """Changes with a file or a directory; empty if it does not exist."""
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return found.st_mtime_ns, found.st_ino, found.st_size


def _directories(paths: Sequence[str]) -> Iterator[str]:
    """The directories above some paths."""
    for path in paths:
        while path := path.rpartition("/")[0]:
            yield path
