"""Find the repository and the worktree of a directory, and run git there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

from git_boocode.repo.config import Config
from git_boocode.repo.durable import worktree_id
from git_boocode.repo.errors import FatalError
from git_boocode.repo.git import (
    NEEDED_GIT,
    OVERRIDES,
    Completed,
    Git,
    Observer,
    Watcher,
    clean_environment,
)
from git_boocode.repo.layout import PRIVATE
from git_boocode.repo.messages import DUBIOUS_OWNERSHIP, failure_reason, says
from git_boocode.repo.process import isolated_command, start_detached

_L = TypeVar("_L", bound="Location")
_QUESTIONS = (
    "--is-bare-repository",
    "--is-inside-git-dir",
    "--show-object-format=storage",
    "--git-dir",
    "--git-common-dir",
)
_DISCOVERY = ("rev-parse", "--path-format=absolute", *_QUESTIONS, "--show-toplevel")
_LOCATION = ("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR")
# The ids of the empty tree and of the empty blob in each object format.
_EMPTY = {
    "sha1": (
        "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
        "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    ),
    "sha256": (
        "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
        "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
    ),
}
_MAIN = "main"


class Location:
    """Where a repository and its worktree are, and the git that runs there; see `Repository`.

    `worktree` is its top directory, `git_dir` its git directory, and `common_dir` the git directory
    that all worktrees share; all are absolute and without symlinks. `prefix` is the caller's
    directory relative to the top, `""` or `"sub/dir/"`. Private files are in `state_dir`, those
    common to all worktrees in `common_state_dir`, which is also the main worktree's `state_dir`.
    `index_path` is the user's index; if that is a symlink, its target, which git replaces.
    `empty_tree` and `empty_blob` are built into git; `zero_id` means no object. `recorded_path` is
    what metadata names as the worktree's path.
    """

    def __init__(
        self, worktree: str, git_dir: str, common_dir: str, prefix: str, object_format: str
    ) -> None:
        self.worktree = self.recorded_path = worktree
        self.git_dir = git_dir
        self.common_dir = common_dir
        self.prefix = prefix
        self.object_format = object_format
        self.empty_tree, self.empty_blob = _EMPTY[object_format]
        self.zero_id = "0" * len(self.empty_blob)
        self.state_dir = os.path.join(git_dir, PRIVATE)
        self.common_state_dir = os.path.join(common_dir, PRIVATE)
        path = os.path.join(git_dir, "index")
        self.index_path = os.path.realpath(path) if os.path.islink(path) else path
        self._config: Config | None = None
        self._git: Git | None = None
        self._bound: dict[str, str] = {}
        self._observer: Observer | None = None
        self._watcher: Watcher | None = None
        self._linked_dir = os.path.join(common_dir, "worktrees")
        # Git's name for a linked worktree.
        self._link = "" if git_dir == common_dir else os.path.basename(git_dir)

    @classmethod
    def discover(cls: type[_L], cwd: str | None = None) -> _L:  # noqa: PYI019 - typing.Self came with Python 3.11
        """Find the repository of a directory (by default the current one), as git does.

        If `GIT_DIR` names the repository of the directory itself, as in a hook, it is ignored, so
        that a subdirectory does not become the worktree; otherwise it is respected. FatalError if
        no repository or no worktree is found.
        """
        try:
            here = os.getcwd() if cwd is None else cwd
        except FileNotFoundError:
            raise FatalError("the current directory does not exist", code="no_directory") from None
        environ = clean_environment(os.environ)
        location = {key: os.environ[key] for key in _LOCATION if key in os.environ}
        if "GIT_DIR" in location and "GIT_WORK_TREE" not in location:
            with suppress(FatalError):
                plain = _parse(cls, git := Git(here, environ), git.attempt(*_DISCOVERY))
                if plain.git_dir == os.path.realpath(os.path.join(here, location["GIT_DIR"])):
                    return plain
        git = Git(here, {**environ, **location})
        return _parse(cls, git, git.attempt(*_DISCOVERY))

    @property
    def config(self) -> Config:
        """The configuration that applies in this worktree."""
        if self._config is None:
            self._config = Config.read(Git(self.worktree, self._environment()))
        return self._config

    @property
    def git(self) -> Git:
        """Git for internal use: at the top of the worktree, without hooks and prompts."""
        if self._git is None:
            environ, overrides = self._environment(), self._overrides()
            self._git = Git(
                self.worktree, environ, overrides, observer=self._observer, watcher=self._watcher
            )
        return self._git

    @property
    def directory(self) -> str:
        """The caller's directory, to which pathspecs are relative."""
        return os.path.join(self.worktree, self.prefix)

    @property
    def users_git(self) -> Git:
        """Git with the user's configuration, for output that the user reads."""
        environ = self._environment()
        for key in ("LC_ALL", "LC_MESSAGES", "LANGUAGE", "GIT_EXTERNAL_DIFF", "GIT_DIFF_OPTS"):
            environ.pop(key, None)
            if key in os.environ:
                environ[key] = os.environ[key]
        overrides = ("core.hooksPath=/dev/null", *self._without_configured_hooks())
        return Git(self.worktree, environ, overrides)

    @contextmanager
    def bound(self, **env: str) -> Iterator[None]:
        """Set environment variables for all git commands in a `with` block."""
        before, self._bound, self._git = self._bound, {**self._bound, **env}, None
        try:
            yield
        finally:
            self._bound, self._git = before, None

    @contextmanager
    def observed(self, observer: Observer) -> Iterator[None]:
        """Let an observer take counts of what may take long, for a while."""
        self._observer = observer
        try:
            # Whoever observes decides when something has taken long enough to be shown.
            with self.bound(GIT_PROGRESS_DELAY="0"):
                yield
        finally:
            self._observer = None

    def watch(self, watcher: Watcher) -> None:
        """Let a watcher see each git command that starts from now on; see `Git`."""
        self._watcher, self._git = watcher, None

    @property
    def worktree_key(self) -> str:
        """Identifies this worktree in metadata; empty if nothing was ever recorded here.

        A linked worktree has an id in its private directory, because its name can be reused after
        git has removed the worktree with that directory. If the id is damaged, the name is the key.
        """
        if not self._link:
            return _MAIN
        if not os.path.isdir(self.state_dir):
            return ""
        return worktree_id(self.state_dir) or self.worktree_name

    @property
    def worktree_name(self) -> str:
        """`main`, or git's name for a linked worktree, which does not change if it is moved.

        A linked worktree that git calls `main` is `worktrees/main`, unless the repository is bare
        and has no main worktree.
        """
        return self._linked_name(self._link) if self._link else _MAIN

    def _linked_name(self, name: str) -> str:
        if name != _MAIN or self.config.boolean("core.bare", default=False):
            return name
        # Git's names contain no slash.
        return f"worktrees/{name}"

    def worktree_json(self) -> dict[str, str]:
        """This worktree in the format of the metadata; see `Metadata.worktree_key`."""
        identifier = worktree_id(self.state_dir)
        more = {"id": identifier} if identifier else {}
        return {"name": self.worktree_name, "path": self.recorded_path, **more}

    def worktree_keys(self) -> set[str]:
        """The keys of all worktrees, or their names where nothing was recorded.

        A worktree that was deleted by hand is included until `git worktree prune` removes it.
        """
        return {*self.worktree_heads()}

    def worktree_heads(self) -> dict[str, str]:
        """By the key of a worktree, git's name for its HEAD."""
        linked = zip(self._linked(), self.state_dirs()[1:], strict=True)
        return {
            _MAIN: f"{_MAIN}-worktree/HEAD",
            **{
                worktree_id(state) or self._linked_name(name): f"worktrees/{name}/HEAD"
                for name, state in linked
            },
        }

    def state_dirs(self) -> list[str]:
        """The private directories of all worktrees, the main one first; they need not exist yet."""
        below = (os.path.join(self._linked_dir, name, PRIVATE) for name in self._linked())
        return [self.common_state_dir, *below]

    def _linked(self) -> list[str]:
        """Git's names for the linked worktrees."""
        return sorted(os.listdir(self._linked_dir)) if os.path.isdir(self._linked_dir) else []

    def hook_path(self, name: str) -> str:
        """The path of a git hook, according to `core.hooksPath`; it need not exist."""
        git = Git(self.worktree, self._environment())
        # Not `--path-format=absolute`, which fails if `core.hooksPath` is /dev/null.
        return os.path.join(self.worktree, git.line("rev-parse", "--git-path", f"hooks/{name}"))

    def start_detached(self, *words: str) -> None:
        """Let this program run in the worktree, with arguments, in the background."""
        start_detached((*isolated_command(), *words), self.worktree, self._environment())

    def _environment(self) -> dict[str, str]:
        location = {"GIT_DIR": self.git_dir, "GIT_WORK_TREE": self.worktree}
        return {**clean_environment(os.environ), **location, **self._bound}

    def _overrides(self) -> tuple[str, ...]:
        overrides: tuple[str, ...] = OVERRIDES
        fsmonitor = self.config.setting("core.fsmonitor")
        if fsmonitor is None or not fsmonitor.is_trusted:
            # The configuration of a copied repository could run any program.
            overrides += ("core.fsmonitor=false",)
        if not self.config.boolean("core.fileMode", default=True) and self._has_modes():
            # The user wants git to ignore modes, but a restore must bring them back.
            overrides += ("core.fileMode=true",)
        return overrides + self._without_configured_hooks()

    def _without_configured_hooks(self) -> tuple[str, ...]:
        """Settings that disable configured hooks, which git 2.54 runs with any hooks path."""
        found = []
        for key, _ in self.config.section("hook", ".event"):
            # A name with `=` cannot be set on the command line.
            if "=" not in key:
                found.append(f"{key.removesuffix('.event')}.enabled=false")
        return tuple(found)

    @property
    def has_plain_refs(self) -> bool:
        """Whether refs and HEAD can be read as files in the git directory.

        Since git 2.54 they can be in another directory, while stale files remain here.
        """
        storage = self.config.text("extensions.refStorage") or "files"
        return storage == "files" and not os.environ.get("GIT_REFERENCE_BACKEND")

    @property
    def index_knows_modes(self) -> bool:
        """Whether the index contains modes that the file system cannot represent."""
        if not self.config.boolean("core.symlinks", default=True):
            return True
        return not self.config.boolean("core.fileMode", default=True) and not self._has_modes()

    def _has_modes(self) -> bool:
        """Whether the file system supports modes; if not, every file appears executable."""
        with suppress(OSError):
            return not os.stat(os.path.join(self.git_dir, "HEAD")).st_mode & 0o111
        return False


def _parse(kind: type[_L], git: Git, done: Completed) -> _L:
    """The repository of `git.cwd`, from the result of `_DISCOVERY`."""
    answers = os.fsdecode(done.stdout).removesuffix("\n").split("\n")
    if answers[0].startswith("--path-format"):
        # Git before 2.31 prints an option that it does not know.
        raise FatalError("git is too old", code="no_git", hints=(NEEDED_GIT,))
    if len(answers) > len(_QUESTIONS) + 1:
        # A path contains a newline, so the output is ambiguous: run a command for each question.
        questions = _QUESTIONS if done.status else (*_QUESTIONS, "--show-toplevel")
        answers = [git.line("rev-parse", "--path-format=absolute", each) for each in questions]
    if done.status == 0:
        _, _, object_format, git_dir, common_dir, top = answers
        below = os.path.relpath(os.path.realpath(git.cwd), top)
        outside = below == "." or below.partition("/")[0] == ".."
        return kind(top, git_dir, common_dir, "" if outside else f"{below}/", object_format)
    if len(answers) < len(_QUESTIONS):
        stderr = os.fsdecode(done.stderr)
        set_by = os.environ.get("GIT_DIR")
        hint = f"GIT_DIR is set to '{set_by}'; unset it to use the current directory"
        dubious = says(stderr, DUBIOUS_OWNERSHIP)
        raise FatalError(
            failure_reason(stderr) or "not a git repository",
            code="dubious_ownership" if dubious else "not_a_repository",
            hints=() if set_by is None else (hint,),
        )
    bare = answers[0] == "true"
    raise FatalError(
        f"'{answers[3]}' has no worktree" if bare else f"'{git.cwd}' is outside the worktree",
        code="no_worktree",
        hints=("run the command in a worktree; 'git worktree list' shows them",),
    )
