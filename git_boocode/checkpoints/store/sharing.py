"""Push and fetch checkpoints over any git remote, without trusting the remote.

A push writes `refs/boocode/checkpoints/<id>` on the remote and never overwrites another commit. A
fetch writes only `refs/boocode/remotes/<remote>/<id>` here: it lists the remote's refs, fetches the
missing objects, checks them, and only then creates its own refs, so that a remote cannot choose
their names. Meanwhile the fetched objects are protected from `git gc`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from git_boocode.checkpoints.store.catalog import ARCHIVE, CHECKPOINTS, REMOTES, Catalog, Checkpoint
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.gc import incoming, pack_many_refs
from git_boocode.repo.git import Git
from git_boocode.repo.ids import ID
from git_boocode.repo.metadata import Unusable, ambiguous_name, refs_beginning, retry_conflicts
from git_boocode.repo.remotes import (
    INSIDE_PUSH,
    ObjectsError,
    Remote,
    Show,
    Transport,
    find_remote,
    named_remote,
    push_addresses,
)
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import Ref, RefChange

# The number of refs for one `git push`.
_AT_ONCE = 1000
# The maximum size of a checkpoint's metadata, in bytes.
_LARGEST_COMMIT = 16 << 20
# The number of failed fetches that are split in halves to isolate invalid objects.
_TRIES = 64


class Rejected(NamedTuple):
    """A ref that the remote, or a fetch here, rejected, and why.

    `name` is the part below `refs/boocode/checkpoints/`; it need not be an id.
    """

    name: str
    reason: str


class Pushed(NamedTuple):
    """The result of a push, or of its dry run."""

    remote: str
    ids: list[str]  # the checkpoints that the remote did not have
    rejected: list[Rejected]
    first: bool  # the remote had no checkpoints
    dry_run: bool


class Fetched(NamedTuple):
    """The result of a fetch, or of its dry run, which checks no objects."""

    remote: str
    ids: list[str]  # new here
    moved: list[str]  # name another commit now
    pruned: list[str]  # deleted here, because the remote no longer has them
    differing: list[str]  # have the id of a local checkpoint, but another commit
    rejected: list[Rejected]
    dry_run: bool


class Sharing(NamedTuple):
    """The options of a push or fetch."""

    everywhere: bool = False  # push the checkpoints of all worktrees, not only of this one
    verify: bool = True  # run the user's `pre-push` hook
    prune: bool = False  # delete fetched checkpoints that the remote no longer has
    dry_run: bool = False
    show: Show | None = None  # receives git's progress; None for no progress


def push(
    repository: Repository, remote_name: str | None, names: Sequence[str], options: Sharing
) -> Pushed:
    """Push the named checkpoints, or all of this worktree, that the remote lacks.

    `remote_name` is None for git's default; the names are those of `Catalog.find`. RefusedError if
    the remote or a checkpoint does not exist, or a local hook rejected the push.
    """
    remote = find_remote(repository, remote_name, pushing=True)
    if os.environ.get(INSIDE_PUSH):
        # A `pre-push` hook that pushes checkpoints would start itself again.
        return Pushed(remote.shown, [], [], first=False, dry_run=options.dry_run)
    catalog = Catalog(repository)
    # Find the names before connecting to the remote.
    named = {_pushable(catalog, name, remote) for name in names}
    transport = Transport(repository, remote, options.show)
    listed = [transport.listing(CHECKPOINTS, each) for each in push_addresses(repository, remote)]
    refs = catalog.store.refs(CHECKPOINTS)
    missing = [ref for ref in refs if any(each.get(ref.id) != ref.target for each in listed)]
    if named:
        wanted = [ref for ref in missing if ref in named]
    else:
        entries = catalog.entries(ref for ref in missing if ID.fullmatch(ref.id))
        usable = (entry for entry in entries if isinstance(entry, Checkpoint))
        own = (entry for entry in usable if options.everywhere or catalog.is_ours(entry))
        wanted = [Ref(entry.ref, entry.commit.id) for entry in own]
    # Never overwrite another commit.
    taken = {
        ref for ref in wanted if any(each.get(ref.id, ref.target) != ref.target for each in listed)
    }
    reason = "the remote has another commit under this id"
    rejected = [Rejected(ref.id, reason) for ref in wanted if ref in taken]
    new = [ref for ref in wanted if ref not in taken]
    ids = [ref.id for ref in new]
    if not options.dry_run:
        ids, refused = _push(transport, [ref.name for ref in new], verify=options.verify)
        rejected += refused
    return Pushed(remote.shown, ids, rejected, not any(listed), options.dry_run)


def _pushable(catalog: Catalog, name: str, remote: Remote) -> Ref:
    found = catalog.find(name)
    if found.ref.startswith(CHECKPOINTS) and ID.fullmatch(found.id):
        return Ref(found.ref, found.commit.id)
    by_hand = f"git push {remote.shown} {found.commit.id}:{CHECKPOINTS}{found.id}"
    raise RefusedError(
        f"'{name}' is not among the checkpoints of this repository: {found.ref}",
        code="not_found",
        hints=(
            "safety, archived and fetched checkpoints are not pushed",
            f"to push it anyway: {by_hand}",
        ),
    )


def _push(
    transport: Transport, names: list[str], *, verify: bool
) -> tuple[list[str], list[Rejected]]:
    pushed: dict[str, None] = {}
    refused: dict[str, str] = {}
    for start in range(0, len(names), _AT_ONCE):
        for answer in transport.push(names[start : start + _AT_ONCE], verify=verify):
            name = answer.ref.removeprefix(CHECKPOINTS)
            if answer.flag == "!":
                refused[name] = answer.reason
            elif answer.flag != "=":
                pushed[name] = None
    # A remote may have several URLs, each of which answers.
    ids = [name for name in pushed if name not in refused]
    return ids, [Rejected(*each) for each in refused.items()]


def fetch(
    repository: Repository, remote_name: str | None, names: Sequence[str], options: Sharing
) -> Fetched:
    """Fetch the named checkpoints of a remote, or all that are missing here.

    `remote_name` is None for git's default; the names are prefixes of ids or commits. RefusedError
    if the remote or a checkpoint does not exist.
    """
    remote = named_remote(repository, remote_name)
    if os.environ.get("GIT_QUARANTINE_PATH"):
        raise RefusedError(
            "cannot fetch while a push is being received",
            code="locked",
            hints=("fetch in a post-receive hook, not in pre-receive",),
        )
    transport = Transport(repository, remote, options.show)
    listed = transport.listing(CHECKPOINTS)
    offered = {name: target for name, target in listed.items() if ID.fullmatch(name)}
    odd = [] if names else sorted(listed.keys() - offered)
    rejected = [Rejected(name, "its name is not a checkpoint id") for name in odd]
    chosen = _choose(names, offered, remote.name) if names else offered
    catalog, below = Catalog(repository), f"{REMOTES}{remote.name}/"
    fetched = _fetched_targets(catalog, below)
    # The remote also has the local checkpoints that were pushed.
    local = {ref.id: ref.target for ref in catalog.store.refs(ARCHIVE, CHECKPOINTS)}
    wanted = {
        name: target
        for name, target in sorted(chosen.items())
        if target not in (fetched.get(name), local.get(name))
    }
    gone = sorted(fetched.keys() - offered) if options.prune else []
    if not options.dry_run:
        with incoming(repository) as (git, release):
            invalid = _get(transport, list(dict.fromkeys(wanted.values())), git)
            release()
            flaws = {name: invalid[target] for name, target in wanted.items() if target in invalid}
            valid = [
                Ref(below + name, target) for name, target in wanted.items() if name not in flaws
            ]
            flaws |= _flaws(repository.git, catalog, valid)
            rejected += [Rejected(*each) for each in flaws.items()]
            wanted = {name: target for name, target in wanted.items() if name not in flaws}
            targets = {**dict.fromkeys(gone), **wanted}
            retry_conflicts(lambda: _update(catalog, below, targets), ("conflict", "locked"))
        pack_many_refs(repository)
    return Fetched(
        remote=remote.name,
        ids=[name for name in wanted if name not in fetched],
        moved=[name for name in wanted if name in fetched],
        pruned=gone,
        differing=[name for name in wanted if name in local],
        rejected=rejected,
        dry_run=options.dry_run,
    )


def _fetched_targets(catalog: Catalog, below: str) -> dict[str, str]:
    """The commits of the checkpoints that were fetched from a remote, by id."""
    # Without the refs of remotes whose name begins with this one's name.
    refs = catalog.store.refs(below)
    return {ref.id: ref.target for ref in refs if ref.name == f"{below}{ref.id}"}


def _get(transport: Transport, ids: list[str], into: Git) -> dict[str, str]:
    """Fetch commits; returns the invalid ones, each with what is wrong.

    Git rejects a whole fetch if one object in it is invalid.
    """
    wrong: dict[str, str] = {}
    pending = [ids] if ids else []
    tries = _TRIES
    while pending:
        some = pending.pop()
        try:
            transport.fetch(some, into)
        except ObjectsError as error:
            tries -= 1
            if len(some) == 1:
                wrong[some[0]] = error.message
            elif tries < 0:
                message = f"not checked, because too many are invalid: {error.message}"
                wrong |= dict.fromkeys(some, message)
            else:
                middle = len(some) // 2
                pending += [some[middle:], some[:middle]]
    return wrong


def _flaws(git: Git, catalog: Catalog, refs: list[Ref]) -> dict[str, str]:
    """The reasons why fetched objects are not the checkpoints that refs would name, by id."""
    flaws = {}
    # Check the size before reading the messages.
    targets = "".join(f"{ref.target}\n" for ref in refs).encode()
    check = "--batch-check=%(objecttype) %(objectsize)"
    for ref, answer in zip(
        refs, git.line("cat-file", check, stdin=targets).split("\n"), strict=False
    ):
        kind, _, size = answer.partition(" ")
        if kind != "commit":
            flaws[ref.id] = "its ref does not point to a commit"
        elif int(size) > _LARGEST_COMMIT:
            flaws[ref.id] = f"its message is too long: {size} bytes"
    commits = [ref for ref in refs if ref.id not in flaws]
    for ref, entry in zip(commits, catalog.entries(commits), strict=True):
        if isinstance(entry, Unusable):
            flaws[ref.id] = entry.why.message
        elif entry.meta.text("id") != ref.id:
            flaws[ref.id] = "its message has another id"
        elif entry.meta.text("kind") != "checkpoint":
            flaws[ref.id] = "its message has another kind"
    return flaws


def _update(catalog: Catalog, below: str, wanted: Mapping[str, str | None]) -> None:
    """Write and delete refs, all or none; a parallel fetch may have written the same refs."""
    fetched = _fetched_targets(catalog, below)
    changes = [
        RefChange(below + name, target, fetched.get(name))
        for name, target in wanted.items()
        if fetched.get(name) != target
    ]
    catalog.store.update_refs(changes)


def _choose(names: Iterable[str], offered: Mapping[str, str], remote: str) -> dict[str, str]:
    """The checkpoints of a remote that a user names by prefixes of ids or commits."""
    chosen = {}
    refs = list(map(Ref._make, offered.items()))
    for name in names:
        found = refs_beginning(name.lower(), refs)
        if not found:
            raise RefusedError(
                f"no checkpoint of '{remote}' matches '{name}'",
                code="not_found",
                hints=("ids need at least 4 characters; -n lists the checkpoints",),
            )
        if len(found) > 1:
            raise ambiguous_name(name, found, f"checkpoints of '{remote}'")
        chosen[found[0].name] = found[0].target
    return chosen
