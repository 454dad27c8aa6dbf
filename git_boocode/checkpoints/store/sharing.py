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
from git_boocode.repo.gc import Incoming, incoming, pack_many_refs
from git_boocode.repo.git import Git
from git_boocode.repo.ids import ID, ID_PART
from git_boocode.repo.metadata import Unusable, ambiguous_name
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

# So many refs go to `git push` by name; for more, it has one pattern.
_BY_NAME = 1000
# No genuine checkpoint's metadata is that long. In bytes.
_LARGEST_COMMIT = 16 << 20
# So often a fetch that was given unsound objects is tried again in halves, to find the sound ones.
_TRIES = 64
# Other commands write refs as well: how often to look again and go on.
_ROUNDS = 3


class Rejected(NamedTuple):
    """A ref that was not taken, by the remote or by us, and why.

    `name` is the part below `refs/boocode/checkpoints/`; it need not be an id.
    """

    name: str
    reason: str


class Pushed(NamedTuple):
    """What a push did, or would do.

    `ids` are the checkpoints that the remote did not have; `first` is set if it had none.
    """

    remote: str
    ids: list[str]
    rejected: list[Rejected]
    first: bool
    dry_run: bool


class Fetched(NamedTuple):
    """What a fetch did, or would do; in a dry run nothing was looked at.

    `ids` are new here, `moved` are another commit now, `pruned` are gone with those of the remote.
    Each of `differing` has the id of a checkpoint taken here, which is another commit.
    """

    remote: str
    ids: list[str]
    moved: list[str]
    pruned: list[str]
    differing: list[str]
    rejected: list[Rejected]
    dry_run: bool


class Sharing(NamedTuple):
    """How to push or fetch.

    Attributes:
        everywhere: push the checkpoints of all worktrees, not of this one alone.
        verify: let the user's `pre-push` hook run.
        prune: also delete what was fetched earlier and is gone on the remote.
        dry_run: only report what would be pushed or fetched.
        show: takes git's progress; None where nobody watches.
    """

    everywhere: bool = False
    verify: bool = True
    prune: bool = False
    dry_run: bool = False
    show: Show | None = None


def push(
    repository: Repository, given: str | None, names: Sequence[str], options: Sharing
) -> Pushed:
    """Push the named checkpoints, or all of this worktree, that a remote does not have.

    `given` is the remote, None for git's own choice; the names are for `Catalog.find`.

    Raises:
        RefusedError: there is no such remote or checkpoint, or a hook here said no.
        FatalError: the remote cannot be reached, or written.
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
    wanted = named or set(_usable(catalog, missing, everywhere=options.everywhere))
    # What the remote has otherwise is never overwritten.
    free, rejected, others = [], [], []
    for ref in missing:
        if ref not in wanted:
            others.append(ref)
        elif any(place.get(ref.id, ref.target) != ref.target for place in places):
            others.append(ref)
            reason = "the remote has another commit under this id"
            rejected.append(Rejected(ref.id, reason))
        else:
            free.append(ref)
    ids = [ref.id for ref in free]
    if not options.dry_run:
        ids, refused = _push(transport, free, others, verify=options.verify)
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


def _usable(catalog: Catalog, refs: Iterable[Ref], *, everywhere: bool) -> Iterable[Ref]:
    """Those that can be used, and belong to this worktree if only its own are wanted."""
    for entry in catalog.entries(ref for ref in refs if ID.fullmatch(ref.id)):
        if isinstance(entry, Checkpoint) and (everywhere or catalog.is_ours(entry)):
            yield Ref(entry.ref, entry.commit.id)


def _push(
    transport: Transport, wanted: list[Ref], others: list[Ref], *, verify: bool
) -> tuple[list[str], list[Rejected]]:
    """Push refs; `others` are those that the remote lacks or has otherwise, and is not given."""
    names = [ref.name for ref in wanted]
    calls = [names[start : start + _BY_NAME] for start in range(0, len(names), _BY_NAME)]
    if len(names) > _BY_NAME >= len(others):
        calls = [[f"{CHECKPOINTS}*:{CHECKPOINTS}*", *(f"^{ref.name}" for ref in others)]]
    done: dict[str, None] = {}
    refused: dict[str, str] = {}
    for refspecs in calls:
        for answer in transport.push(refspecs, verify=verify):
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
    ids or commits.

    Raises:
        RefusedError: there is no such remote or checkpoint.
        FatalError: the remote cannot be reached or read, or nothing can be written here.
    """
    remote = named_remote(repository, given)
    if os.environ.get("GIT_QUARANTINE_PATH"):
        raise RefusedError(
            "nothing can be fetched while a push is being received",
            code="locked",
            hints=("fetch in a post-receive hook, not in pre-receive",),
        )
    return _Fetch(repository, remote, options).run(names)


class _Fetch:
    """One fetch."""

    def __init__(self, repository: Repository, remote: Remote, options: Sharing) -> None:
        self._git = repository.git
        self._repository = repository
        self._catalog = Catalog(repository)
        self._remote = remote
        self._options = options
        self._transport = Transport(repository, remote, options.show)
        self._below = f"{REMOTES}{remote.name}/"

    def run(self, names: Sequence[str]) -> Fetched:
        """Do it."""
        listed = self._transport.listing(CHECKPOINTS)
        offered = {name: target for name, target in listed.items() if ID.fullmatch(name)}
        odd = [] if names else sorted(listed.keys() - offered)
        rejected = [Rejected(name, "its name is not a checkpoint id") for name in odd]
        chosen = _choose(names, offered, self._remote.name) if names else offered
        known = self._known()
        # What was taken here comes back from the remote if it was pushed.
        taken = {ref.id: ref.target for ref in self._catalog.store.refs(ARCHIVE, CHECKPOINTS)}
        wanted = {
            name: target
            for name, target in sorted(chosen.items())
            if target not in (known.get(name), taken.get(name))
        }
        gone = sorted(known.keys() - offered) if self._options.prune else []
        if not self._options.dry_run:
            with incoming(self._repository) as arrived:
                flaws = self._take(wanted, arrived)
                rejected += [Rejected(name, reason) for name, reason in flaws.items()]
                wanted = {name: target for name, target in wanted.items() if name not in flaws}
                self._name(wanted, gone)
        return Fetched(
            remote=self._remote.name,
            ids=[name for name in wanted if name not in known],
            moved=[name for name in wanted if name in known],
            pruned=gone,
            differing=[name for name in wanted if name in taken],
            rejected=rejected,
            dry_run=self._options.dry_run,
        )

    def _known(self) -> dict[str, str]:
        """What was fetched from this remote; another one's name may begin with its name."""
        refs = self._catalog.store.refs(self._below)
        return {ref.id: ref.target for ref in refs if ref.name == f"{self._below}{ref.id}"}

    def _take(self, wanted: Mapping[str, str], arrived: Incoming) -> dict[str, str]:
        """Get the objects; what is wrong with those that cannot be taken, by name."""
        missing = self._get(list(dict.fromkeys(wanted.values())), arrived.git)
        arrived.release()
        flaws = {name: missing[target] for name, target in wanted.items() if target in missing}
        here = [Ref(f"{self._below}{name}", target) for name, target in wanted.items()]
        here = [ref for ref in here if ref.target not in missing]
        # Of a size that can be read.
        asked = "".join(f"{ref.target}\n" for ref in here).encode()
        check = "--batch-check=%(objecttype) %(objectsize)"
        answers = self._git.line("cat-file", check, stdin=asked).split("\n")
        for ref, answer in zip(here, answers, strict=False):
            kind, _, size = answer.partition(" ")
            if kind != "commit":
                flaws[ref.id] = "it names no commit"
            elif int(size) > _LARGEST_COMMIT:
                flaws[ref.id] = f"its message has {size} bytes"
        commits = [ref for ref in here if ref.id not in flaws]
        for ref, entry in zip(commits, self._catalog.entries(commits), strict=True):
            if flaw := _flaw(ref.id, entry):
                flaws[ref.id] = flaw
        return flaws

    def _get(self, ids: list[str], into: Git) -> dict[str, str]:
        """Get the objects that are sound; of the others, what is wrong.

        One that is not makes git reject all that come with it.
        """
        wrong: dict[str, str] = {}
        pending = [ids] if ids else []
        tries = _TRIES
        while pending:
            some = pending.pop()
            try:
                self._transport.fetch(some, into)
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

    def _name(self, wanted: Mapping[str, str], gone: Iterable[str]) -> None:
        """Write the refs, all or none; a fetch that runs beside this one writes the same."""
        for rounds_left in reversed(range(_ROUNDS)):
            known = self._known()
            targets = {**{name: None for name in gone if name in known}, **wanted}
            changes = [
                RefChange(f"{self._below}{name}", target, known.get(name))
                for name, target in targets.items()
                if known.get(name) != target
            ]
            try:
                self._catalog.store.update_refs(changes)
                break
            except RefusedError:
                if not rounds_left:
                    raise
        pack_many_refs(self._repository)


def _choose(names: Iterable[str], offered: Mapping[str, str], remote: str) -> dict[str, str]:
    """The checkpoints of a remote that a user names by the beginnings of ids or commits."""
    chosen = {}
    for name in names:
        beginning = name.lower()
        found = [
            Ref(each, target)
            for each, target in offered.items()
            if each.startswith(beginning) or target.startswith(beginning)
        ]
        if not found or not ID_PART.fullmatch(beginning):
            raise RefusedError(
                f"no checkpoint of '{remote}' has an id or commit that begins with '{name}'",
                code="not_found",
                hints=("ids need at least 4 characters; -n lists what there is",),
            )
        if len(found) > 1:
            raise ambiguous_name(name, found, f"checkpoints of '{remote}'")
        chosen[found[0].name] = found[0].target
    return chosen


def _flaw(name: str, entry: Checkpoint | Unusable) -> str:
    """What keeps a commit from being the checkpoint that its ref's name says; empty if nothing."""
    if isinstance(entry, Unusable):
        return entry.why.message
    if entry.meta.text("id") != name:
        return "its message has another id"
    if entry.meta.text("kind") != "checkpoint":
        return "its message has another kind"
    return ""
