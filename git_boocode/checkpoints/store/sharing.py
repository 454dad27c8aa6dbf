"""Move checkpoints over any git remote; what comes from there is not trusted.

A push writes `refs/boocode/checkpoints/<id>` of the remote, and never over another commit. A fetch
writes `refs/boocode/remotes/<remote>/<id>` here, and nothing else: it lists what the remote has,
gets the objects that are missing, looks at them, and only then names them itself. So no name that
a remote makes up ever becomes our own. Until then `git gc` may run: what came is kept from it.
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
from git_boocode.repo.metadata import Unusable, ambiguous_name, patiently, refs_beginning
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

# So many refs go to `git push` at a time.
_AT_ONCE = 1000
# No genuine checkpoint's metadata is that long. In bytes.
_LARGEST_COMMIT = 16 << 20
# So often a fetch that was given unsound objects is tried again in halves, to find the sound ones.
_TRIES = 64


class Rejected(NamedTuple):
    """A ref that was not taken, by the remote or by us, and why.

    `name` is the part below `refs/boocode/checkpoints/`; it need not be an id.
    """

    name: str
    reason: str


class Pushed(NamedTuple):
    """What a push did, or would do."""

    remote: str
    ids: list[str]  # the checkpoints that the remote did not have
    rejected: list[Rejected]
    first: bool  # the remote had none
    dry_run: bool


class Fetched(NamedTuple):
    """What a fetch did, or would do; in a dry run nothing was looked at."""

    remote: str
    ids: list[str]  # new here
    moved: list[str]  # another commit now
    pruned: list[str]  # gone with those of the remote
    differing: list[str]  # have the id of a checkpoint taken here, which is another commit
    rejected: list[Rejected]
    dry_run: bool


class Sharing(NamedTuple):
    """How to push or fetch."""

    everywhere: bool = False  # push the checkpoints of all worktrees, not of this one alone
    verify: bool = True  # let the user's `pre-push` hook run
    prune: bool = False  # also delete what was fetched earlier and is gone on the remote
    dry_run: bool = False
    show: Show | None = None  # takes git's progress; None where nobody watches


def push(
    repository: Repository, given: str | None, names: Sequence[str], options: Sharing
) -> Pushed:
    """Push the named checkpoints, or all of this worktree, that a remote does not have.

    `given` is the remote, None for git's own choice; the names are for `Catalog.find`. RefusedError
    if there is no such remote or checkpoint, or a hook here said no.
    """
    remote = find_remote(repository, given, pushing=True)
    if os.environ.get(INSIDE_PUSH):
        # A `pre-push` hook pushes checkpoints, and this is the push that it started.
        return Pushed(remote.shown, [], [], first=False, dry_run=options.dry_run)
    catalog = Catalog(repository)
    # Named first: for what is not here, no connection is made.
    named = {_pushable(catalog, name, remote) for name in names}
    transport = Transport(repository, remote, options.show)
    places = [transport.listing(CHECKPOINTS, each) for each in push_addresses(repository, remote)]
    refs = catalog.store.refs(CHECKPOINTS)
    missing = [ref for ref in refs if any(each.get(ref.id) != ref.target for each in places)]
    if named:
        wanted = [ref for ref in missing if ref in named]
    else:
        entries = catalog.entries(ref for ref in missing if ID.fullmatch(ref.id))
        usable = (entry for entry in entries if isinstance(entry, Checkpoint))
        ours = (entry for entry in usable if options.everywhere or catalog.is_ours(entry))
        wanted = [Ref(entry.ref, entry.commit.id) for entry in ours]
    # What the remote has otherwise is never overwritten.
    other = {
        ref for ref in wanted if any(each.get(ref.id, ref.target) != ref.target for each in places)
    }
    why = "the remote has another commit under this id"
    rejected = [Rejected(ref.id, why) for ref in wanted if ref in other]
    free = [ref for ref in wanted if ref not in other]
    ids = [ref.id for ref in free]
    if not options.dry_run:
        ids, refused = _push(transport, [ref.name for ref in free], verify=options.verify)
        rejected += refused
    return Pushed(remote.shown, ids, rejected, not any(places), options.dry_run)


def _pushable(catalog: Catalog, name: str, remote: Remote) -> Ref:
    found = catalog.find(name)
    if found.ref.startswith(CHECKPOINTS) and ID.fullmatch(found.id):
        return Ref(found.ref, found.commit.id)
    by_hand = f"git push {remote.shown} {found.commit.id}:{CHECKPOINTS}{found.id}"
    raise RefusedError(
        f"'{name}' is not among the checkpoints of this repository: {found.ref}",
        code="not_found",
        hints=(
            "safety checkpoints, archived and fetched ones are not pushed",
            f"git itself pushes anything: {by_hand}",
        ),
    )


def _push(
    transport: Transport, names: list[str], *, verify: bool
) -> tuple[list[str], list[Rejected]]:
    done: dict[str, None] = {}
    refused: dict[str, str] = {}
    for start in range(0, len(names), _AT_ONCE):
        for answer in transport.push(names[start : start + _AT_ONCE], verify=verify):
            name = answer.ref.removeprefix(CHECKPOINTS)
            if answer.flag == "!":
                refused[name] = answer.reason
            elif answer.flag != "=":
                done[name] = None
    # One remote may stand for several places, and each answers for itself.
    ids = [name for name in done if name not in refused]
    return ids, [Rejected(*each) for each in refused.items()]


def fetch(
    repository: Repository, given: str | None, names: Sequence[str], options: Sharing
) -> Fetched:
    """Fetch all checkpoints of a remote that are not here, or the named ones.

    `given` is the name of the remote, None for git's own choice; the names are the beginnings of
    ids or commits. RefusedError if there is no such remote or checkpoint.
    """
    remote = named_remote(repository, given)
    if os.environ.get("GIT_QUARANTINE_PATH"):
        raise RefusedError(
            "nothing can be fetched while a push is being received",
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
    known = _known(catalog, below)
    # What was taken here comes back from the remote if it was pushed.
    taken = {ref.id: ref.target for ref in catalog.store.refs(ARCHIVE, CHECKPOINTS)}
    wanted = {
        name: target
        for name, target in sorted(chosen.items())
        if target not in (known.get(name), taken.get(name))
    }
    gone = sorted(known.keys() - offered) if options.prune else []
    if not options.dry_run:
        with incoming(repository) as (git, release):
            unsound = _get(transport, list(dict.fromkeys(wanted.values())), git)
            release()
            flaws = {name: unsound[target] for name, target in wanted.items() if target in unsound}
            come = [
                Ref(below + name, target) for name, target in wanted.items() if name not in flaws
            ]
            flaws |= _flaws(repository.git, catalog, come)
            rejected += [Rejected(*each) for each in flaws.items()]
            wanted = {name: target for name, target in wanted.items() if name not in flaws}
            targets = {**dict.fromkeys(gone), **wanted}
            patiently(lambda: _update(catalog, below, targets), ("conflict", "locked"))
        pack_many_refs(repository)
    return Fetched(
        remote=remote.name,
        ids=[name for name in wanted if name not in known],
        moved=[name for name in wanted if name in known],
        pruned=gone,
        differing=[name for name in wanted if name in taken],
        rejected=rejected,
        dry_run=options.dry_run,
    )


def _known(catalog: Catalog, below: str) -> dict[str, str]:
    """What was fetched from a remote; another one's name may begin with its name."""
    refs = catalog.store.refs(below)
    return {ref.id: ref.target for ref in refs if ref.name == f"{below}{ref.id}"}


def _get(transport: Transport, ids: list[str], into: Git) -> dict[str, str]:
    """Get the objects that are sound; of the others, what is wrong.

    One that is not makes git reject all that come with it.
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
                many = f"too many are unsound to look at each by itself: {error.message}"
                wrong |= dict.fromkeys(some, many)
            else:
                middle = len(some) // 2
                pending += [some[middle:], some[:middle]]
    return wrong


def _flaws(git: Git, catalog: Catalog, refs: list[Ref]) -> dict[str, str]:
    """What keeps objects that have come from being the checkpoints that refs would name, by id."""
    flaws = {}
    # Of a size that can be read.
    asked = "".join(f"{ref.target}\n" for ref in refs).encode()
    check = "--batch-check=%(objecttype) %(objectsize)"
    for ref, answer in zip(
        refs, git.line("cat-file", check, stdin=asked).split("\n"), strict=False
    ):
        kind, _, size = answer.partition(" ")
        if kind != "commit":
            flaws[ref.id] = "it names no commit"
        elif int(size) > _LARGEST_COMMIT:
            flaws[ref.id] = f"its message has {size} bytes"
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
    """Write and delete refs, all or none; a fetch that runs beside this one writes the same."""
    known = _known(catalog, below)
    changes = [
        RefChange(below + name, target, known.get(name))
        for name, target in wanted.items()
        if known.get(name) != target
    ]
    catalog.store.update_refs(changes)


def _choose(names: Iterable[str], offered: Mapping[str, str], remote: str) -> dict[str, str]:
    """The checkpoints of a remote that a user names by the beginnings of ids or commits."""
    chosen = {}
    refs = list(map(Ref._make, offered.items()))
    for name in names:
        found = refs_beginning(name.lower(), refs)
        if not found:
            raise RefusedError(
                f"no checkpoint of '{remote}' has an id or commit that begins with '{name}'",
                code="not_found",
                hints=("ids need at least 4 characters; -n lists what there is",),
            )
        if len(found) > 1:
            raise ambiguous_name(name, found, f"checkpoints of '{remote}'")
        chosen[found[0].name] = found[0].target
    return chosen
