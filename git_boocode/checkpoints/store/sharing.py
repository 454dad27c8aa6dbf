"""Push and fetch checkpoints and proposals over any git remote, without trusting the remote.

A push writes `refs/boocode/checkpoints/<id>` and `refs/boocode/proposals/<id>` on the remote and
never overwrites another commit. The recorded end of a turn goes with its checkpoint, to
`refs/boocode/turn-ends/<id>`; a later end replaces an earlier one there, too. A fetch writes only
`refs/boocode/remotes/<remote>/<id>`, `refs/boocode/remote-turn-ends/<remote>/<id>` and
`refs/boocode/remote-proposals/<remote>/<id>` here: it lists the remote's refs, fetches the missing
objects, checks them, and only then creates its own refs, so that a remote cannot choose their
names. Meanwhile the fetched objects are protected from `git gc`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import NamedTuple

from git_boocode.checkpoints.store.catalog import (
    INCLUDED,
    TURN_END_KIND,
    Catalog,
    Checkpoint,
    texts_of,
    turn_end_ref,
    without_index,
)
from git_boocode.checkpoints.store.notes import notes_tip
from git_boocode.checkpoints.store.secret_scan import (
    FoundSecret,
    Outgoing,
    find_secrets,
    outgoing,
)
from git_boocode.checkpoints.store.shared_notes import fetch_notes, push_notes, shares_notes
from git_boocode.checkpoints.store.twins import (
    Rewriter,
    Twins,
    known_twins,
    private_paths,
    remember_twins,
)
from git_boocode.checkpoints.store.untracked_files import PROPOSAL, first_untracked
from git_boocode.checkpoints.worktree.staging import decode_special
from git_boocode.repo.entries import Metadata, Unusable, ambiguous_name, refs_beginning
from git_boocode.repo.errors import RefusedError, shell_command
from git_boocode.repo.gc import incoming, pack_many_refs
from git_boocode.repo.git import Git, id_lines, nul_lines, nul_records
from git_boocode.repo.head import read_head
from git_boocode.repo.ids import ID
from git_boocode.repo.layout import (
    ALL_REFS,
    ARCHIVE,
    CHECKPOINTS,
    COMMIT_NOTES,
    PROPOSALS,
    REMOTE_PROPOSALS,
    REMOTE_TURN_ENDS,
    REMOTES,
    TURN_ENDS,
)
from git_boocode.repo.lock import scratch_directory
from git_boocode.repo.masking import masker_of
from git_boocode.repo.object_writer import Quarantine, temporary_objects
from git_boocode.repo.path_rule import EXCLUDE, INCLUDE, PathRule
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
from git_boocode.repo.store import Ref, RefChange, retry_conflicts

# The number of refs for one `git push`.
_AT_ONCE = 1000
# The maximum size of the metadata of a checkpoint or a proposal, in bytes.
_LARGEST_COMMIT = 16 << 20
# The number of failed fetches that are split in halves to isolate invalid objects.
_TRIES = 64
# What may have the history of checkpoints.
_PUBLISHED = ("refs/heads/", "refs/tags/")
# The number of the remote's newest checkpoints whose files are not looked at again.
_COMPARED = 200


class SharedKind(NamedTuple):
    """What is pushed and fetched below one prefix of the remote's refs, which is also the own one.

    `noun` is the kind in its metadata, `key` is where that has the id of the ref. What comes from a
    remote is `fetched` below that remote's name; `more` are prefixes of others that may have been
    pushed.
    """

    noun: str
    prefix: str
    fetched: str
    more: tuple[str, ...] = ()
    key: str = "id"

    def here(self, remote: Remote) -> tuple[str, ...]:
        """The prefixes of the refs here: of those fetched from a remote, and of the local ones."""
        return (f"{self.fetched}{remote.name}/", self.prefix, *self.more)


# In the order of the fields of `Pushed` and `Fetched`; a named checkpoint brings the first two.
_KINDS = (
    SharedKind("checkpoint", CHECKPOINTS, REMOTES, (ARCHIVE,)),
    SharedKind(TURN_END_KIND, TURN_ENDS, REMOTE_TURN_ENDS, key="turn"),
    SharedKind(PROPOSAL, PROPOSALS, REMOTE_PROPOSALS),
)


class Rejected(NamedTuple):
    """A ref that the remote, or a fetch here, rejected, and why.

    `name` is the part below the prefix of its kind; it need not be an id.
    """

    name: str
    reason: str


class Pushed(NamedTuple):
    """The result of a push, or of its dry run."""

    remote: str
    ids: list[str]  # the checkpoints that the remote did not have
    rejected: list[Rejected]
    first: bool  # the remote had nothing of the kind
    dry_run: bool
    redacted: tuple[str, ...] = ()  # those that went without their secrets
    proposals: tuple[str, ...] = ()  # the proposals that it did not have
    rejected_proposals: tuple[Rejected, ...] = ()
    turn_ends: tuple[str, ...] = ()  # the checkpoints whose turn's end it did not have
    rejected_turn_ends: tuple[Rejected, ...] = ()
    notes: bool = False  # whether notes of commits went there
    rejected_notes: str = ""  # why not


class Fetched(NamedTuple):
    """The result of a fetch, or of its dry run, which checks no objects."""

    remote: str
    ids: list[str]  # the checkpoints that are new here
    moved: list[str]  # name another commit now
    pruned: list[str]  # deleted here, because the remote no longer has them
    differing: list[str]  # have the id of a local checkpoint, but another commit
    rejected: list[Rejected]
    dry_run: bool
    proposals: tuple[str, ...] = ()  # new here, or another commit now
    pruned_proposals: tuple[str, ...] = ()
    rejected_proposals: tuple[Rejected, ...] = ()
    turn_ends: tuple[str, ...] = ()  # the checkpoints whose turn's end is new or another one now
    rejected_turn_ends: tuple[Rejected, ...] = ()
    notes: bool = False  # whether there are new notes of commits
    rejected_notes: str = ""  # why not


class Sharing(NamedTuple):
    """The options of a push or fetch."""

    everywhere: bool = False  # push those of all worktrees, not only of this one
    verify: bool = True  # run the user's `pre-push` hook
    prune: bool = False  # delete what was fetched and that the remote no longer has
    dry_run: bool = False
    notes: bool = True  # take the notes of commits along, unless checkpoints are named
    show: Show | None = None  # receives git's progress; None for no progress
    redact: bool = False  # replace secrets in what is pushed
    # Called with the remote and the secrets in what would go there, if there are any; a
    # RefusedError from it ends the push. Without it, nothing looks for secrets.
    found_secrets: Callable[[str, Sequence[FoundSecret]], None] | None = None
    # Called with the remote and paths before untracked files go to it for the first time; a
    # RefusedError from it ends the push.
    confirm: Callable[[str, Sequence[str]], None] | None = None


def push(
    repository: Repository, remote_name: str | None, names: Sequence[str], options: Sharing
) -> Pushed:
    """Push the named checkpoints, or all checkpoints and proposals of this worktree.

    What the remote has is left out. `remote_name` is None for git's default; the names are those of
    `Catalog.find`. RefusedError if the remote or a checkpoint does not exist, or a local hook
    rejected the push.
    """
    remote = find_remote(repository, remote_name, pushing=True)
    if os.environ.get(INSIDE_PUSH):
        # A `pre-push` hook that pushes checkpoints would start itself again.
        return Pushed(remote.shown, [], [], first=False, dry_run=options.dry_run)
    catalog = Catalog(repository)
    # Find the names before connecting to the remote.
    named = {_pushable(catalog, name, remote).name for name in names}
    transport = Transport(repository, remote, options.show)
    below = [kind.prefix for kind in (_KINDS[:2] if names else _KINDS)]
    addresses = push_addresses(repository, remote)
    asked = (*below, COMMIT_NOTES, *_PUBLISHED)
    listed = [transport.listing(*asked, address=address) for address in addresses]
    notes_there = [each.get(COMMIT_NOTES) for each in listed]
    tips = _common(listed, _PUBLISHED)
    listed = [{n: t for n, t in each.items() if n.startswith(ALL_REFS)} for each in listed]
    refs = catalog.store.refs(*below)
    twins = known_twins(repository)
    there = {
        ref
        for ref in refs
        if _is_there(ref, {ref.target, twins.get(ref.target, ref.target)}, listed)
    }
    missing = [ref for ref in refs if ref not in there and ID.fullmatch(ref.id)]
    entries = _chosen(catalog, missing, named, everywhere=options.everywhere)
    shares = options.notes and not names and shares_notes(repository.config)
    notes, no_notes = False, ""
    edges = [*filter(None, notes_there), *_newest_targets(listed)]
    promised = addresses == [remote.address] and remote.is_promisor(repository)
    limits = partial(outgoing, repository, tips=[*tips.values()], edges=edges, promised=promised)
    tip = notes_tip(repository) if shares else None
    with temporary_objects(repository) if options.dry_run else nullcontext():
        going = limits([entry.commit.id for entry in entries])
        made = _make_twins(repository, entries, going, redact=options.redact)
        plan = _plan_push(entries, listed, there, made)
        if options.found_secrets:
            found, in_notes = (
                _secrets(repository, limits(each)) if each else []
                for each in ([*plan.commits.values()], [tip] if tip else [])
            )
            in_notes = [each.of_note() for each in in_notes]
            if in_notes and options.redact:
                tip, in_notes, no_notes = None, [], "there are secrets in them"
            if found or in_notes:
                options.found_secrets(remote.shown, [*found, *in_notes])
        new, rejected = [*plan.commits], plan.rejected
        if not options.dry_run:
            present = plan.present(twins)
            if options.confirm and (files := first_untracked(catalog, plan.sent, present)):
                options.confirm(remote.shown, files)
            new, refused = _push(transport, plan.refspecs, verify=options.verify)
            rejected |= refused
            remember_twins(repository, plan.twins_of(new))
    if tip:
        notes, no_notes = push_notes(
            repository, transport, tip, notes_there, verify=options.verify, dry_run=options.dry_run
        )
    (ids, not_taken), (ends, no_ends), (proposals, others) = (
        ([*_ids(new, kind.prefix)], _rejected(rejected, kind.prefix)) for kind in _KINDS
    )
    return Pushed(
        remote.shown,
        ids,
        not_taken,
        first=not any(listed),
        dry_run=options.dry_run,
        redacted=plan.redacted(new),
        proposals=tuple(proposals),
        rejected_proposals=tuple(others),
        turn_ends=tuple(ends),
        rejected_turn_ends=tuple(no_ends),
        notes=notes,
        rejected_notes=no_notes,
    )


def _chosen(
    catalog: Catalog, refs: Iterable[Ref], named: Collection[str], *, everywhere: bool
) -> list[Checkpoint]:
    """The entries of some refs that are to be pushed: named ones, or those of this worktree."""
    with_ends = {*named, *map(turn_end_ref, named)}
    wanted = (ref for ref in refs if not named or ref.name in with_ends)
    usable = (each for each in catalog.entries(wanted) if isinstance(each, Checkpoint))
    own = [each for each in usable if named or everywhere or catalog.is_ours(each)]
    private = _private_proposals(catalog.repository, own)
    return [each for each in own if each.ref not in private]


def _private_proposals(repository: Repository, entries: Iterable[Checkpoint]) -> set[str]:
    """The refs of proposals that are never pushed.

    They are for files of `boocode.exclude`, or for those of `boocode.include` and ignored ones that
    HEAD does not have.
    """
    proposals = {e.ref: {*_paths_of(e.meta)} for e in entries if e.meta.text("kind") == PROPOSAL}
    paths = {path for each in proposals.values() for path in each}
    if not paths:
        return set()
    excluded, included = (PathRule.read(repository, each) for each in (EXCLUDE, INCLUDE))
    private = _ignored(repository, sorted(paths))
    with scratch_directory(repository.state_dir) as scratch:
        private |= included.matching(repository, scratch, paths)
        private -= repository.store.tree(read_head(repository).tree, [*private]).keys()
        private |= excluded.matching(repository, scratch, paths)
    return {ref for ref, each in proposals.items() if private & each}


def _ignored(repository: Repository, paths: Sequence[str]) -> set[str]:
    """Those of some paths that git ignores, or of which it cannot say it."""
    command = ("check-ignore", "--no-index", "-z", "--stdin")
    done = repository.git.attempt(*command, stdin=nul_lines(paths))
    if done.status <= 1:
        return {*nul_records(done.stdout)}
    if len(paths) == 1:
        return {*paths}
    # It fails for all if one is beyond a symbolic link or in a submodule.
    half = len(paths) // 2
    return _ignored(repository, paths[:half]) | _ignored(repository, paths[half:])


def _paths_of(proposal: Metadata) -> Iterator[str]:
    """The paths of the files of a proposal, also those from which it moves files."""
    given = (row.get(key) for row in proposal.tables("files") for key in ("path", "from"))
    return (path for path in given if isinstance(path, str))


class PushPlan(NamedTuple):
    """What a push does with the refs that a remote lacks."""

    going: list[Ref]
    commits: dict[str, str]  # what is pushed, by the names of the refs
    there: set[Ref]  # the refs that the remote has
    rejected: dict[str, str]  # why others are not pushed, by their names
    twins: Twins

    @property
    def sent(self) -> list[Ref]:
        """The refs with what the remote gets."""
        return [Ref(ref.name, self.commits[ref.name]) for ref in self.going]

    def present(self, twins: Mapping[str, str]) -> list[Ref]:
        """The refs with what the remote has; `twins` are those that it got earlier."""
        every = {**twins, **self.twins.commits}
        return [Ref(ref.name, every.get(ref.target, ref.target)) for ref in self.there]

    @property
    def refspecs(self) -> list[str]:
        """The arguments for git; a ref goes by its name, unless it has a twin or may move."""
        # A later end of a turn replaces the earlier one, which it does not descend from. One that
        # is recorded meanwhile was not searched for secrets.
        return [
            f"+{self.commits[name]}:{name}"
            if name.startswith(TURN_ENDS)
            else f"{self.commits[name]}:{name}"
            if target in self.twins.commits
            else name
            for name, target in self.going
        ]

    def twins_of(self, pushed: Collection[str]) -> dict[str, str]:
        """The twins that the remote has now, by the commits that they stand for."""
        targets = {ref.target for ref in self.there}
        targets |= {ref.target for ref in self.going if ref.name in pushed}
        return {each: twin for each, twin in self.twins.commits.items() if each in targets}

    def redacted(self, pushed: Collection[str]) -> tuple[str, ...]:
        """The ids of those pushed refs whose secrets were replaced."""
        gone = (ref for ref in self.going if ref.name in pushed)
        return tuple(dict.fromkeys(ref.id for ref in gone if ref.target in self.twins.redacted))


def _plan_push(
    entries: Sequence[Checkpoint],
    listed: Sequence[Mapping[str, str]],
    there: Collection[Ref],
    twins: Twins,
) -> PushPlan:
    """What to push of some entries that the remote lacks, unless it has their twins."""
    wanted = [Ref(entry.ref, entry.commit.id) for entry in entries]
    commits = {ref.name: twins.commits.get(ref.target, ref.target) for ref in wanted}
    present = {ref for ref in wanted if _is_there(ref, {commits[ref.name]}, listed)}
    # Never overwrite another commit, except the earlier end of a turn.
    taken = {
        name
        for name, commit in commits.items()
        if not name.startswith(TURN_ENDS)
        and any(each.get(name, commit) != commit for each in listed)
    }
    going = [ref for ref in wanted if ref not in present and ref.name not in taken]
    present |= set(there)
    begun = {turn_end_ref(ref.name) for ref in (*present, *going) if _is_checkpoint(ref)}
    going = [ref for ref in going if ref.name in begun or not ref.name.startswith(TURN_ENDS)]
    rejected = dict.fromkeys(taken, "the remote has another commit under this id")
    return PushPlan(going, {ref.name: commits[ref.name] for ref in going}, present, rejected, twins)


def _make_twins(
    repository: Repository, entries: Sequence[Checkpoint], going: Outgoing, *, redact: bool
) -> Twins:
    """The commits to push instead of others: without private files, and without secrets."""
    private, hidden = dict[str, Collection[str]](), set[str]()
    for each in entries:
        if paths := private_paths(each.meta):
            private[each.commit.id] = paths
            if staged := each.meta.part("index", "commit"):
                private[staged] = paths
                if not paths.isdisjoint(_special_paths(repository, each)):
                    hidden.add(staged)
    if not (private or redact) or not entries:
        return Twins()
    git = without_index(repository.git)
    with scratch_directory(repository.state_dir) as scratch:
        quarantine = Quarantine(repository, scratch)
        mask = masker_of(git) if redact else None
        twins = Rewriter(git, quarantine, going, private, hidden, mask).twins()
        quarantine.release()
    return twins


def _special_paths(repository: Repository, entry: Checkpoint) -> set[str]:
    """The files of which a staging area has more than a tree can hold."""
    details = entry.meta.part("index", "details")
    if details is None:
        return set()
    return {each.path for each in decode_special(repository.store.file(details, "entries"))}


def _is_there(ref: Ref, targets: Collection[str], listed: Sequence[Mapping[str, str]]) -> bool:
    return all(each.get(ref.name) in targets for each in listed)


def _newest_targets(listed: Sequence[Mapping[str, str]]) -> list[str]:
    """The newest of our commits that all addresses of a remote have."""
    common = _common(listed, (ALL_REFS,))
    names = sorted(common, key=lambda name: name.rpartition("/")[2], reverse=True)
    return [common[name] for name in names[:_COMPARED]]


def _common(listed: Sequence[Mapping[str, str]], below: tuple[str, ...]) -> dict[str, str]:
    """The refs below some prefixes that all addresses of a remote have alike."""
    first, *others = listed
    return {
        name: target
        for name, target in first.items()
        if name.startswith(below) and all(each.get(name) == target for each in others)
    }


def _secrets(repository: Repository, going: Outgoing) -> list[FoundSecret]:
    """The secrets in what a push sends."""
    git = without_index(repository.git)
    objects = going.objects(git) if going.targets else ()
    return [*find_secrets(git, objects, masker_of(git))]


def _is_checkpoint(ref: Ref) -> bool:
    return ref.name.startswith(CHECKPOINTS)


def _pushable(catalog: Catalog, name: str, remote: Remote) -> Ref:
    found = catalog.find(name)
    if found.ref.startswith(CHECKPOINTS) and ID.fullmatch(found.id):
        return Ref(found.ref, found.commit.id)
    refspec = f"{found.commit.id}:{CHECKPOINTS}{found.id}"
    by_hand = shell_command("git", "push", remote.shown, refspec)
    private = texts_of(found.meta, INCLUDED)
    ways = (f"to push it anyway: {by_hand}",) if not private else ()
    raise RefusedError(
        f"'{name}' is not among the checkpoints of this repository: {found.ref}",
        code="not_found",
        hints=(
            "safety, archived and fetched checkpoints are not pushed",
            *ways,
        ),
    )


def _push(
    transport: Transport, specs: Sequence[str], *, verify: bool
) -> tuple[list[str], dict[str, str]]:
    """Push some refspecs; returns the refs that were taken, and why others were not."""
    pushed: dict[str, None] = {}
    refused: dict[str, str] = {}
    for start in range(0, len(specs), _AT_ONCE):
        for answer in transport.push(specs[start : start + _AT_ONCE], verify=verify):
            if answer.flag == "!":
                refused[answer.ref] = answer.reason
            elif answer.flag != "=":
                pushed[answer.ref] = None
    # A remote may have several URLs, each of which answers.
    return [name for name in pushed if name not in refused], refused


def _ids(names: Iterable[str], below: str) -> Iterator[str]:
    """The rests of the refs' names below a prefix."""
    return (name.removeprefix(below) for name in names if name.startswith(below))


def _rejected(reasons: Mapping[str, str], below: str) -> list[Rejected]:
    """The refs below a prefix among those that were rejected."""
    return [Rejected(name, reasons[below + name]) for name in _ids(reasons, below)]


class FetchPlan(NamedTuple):
    """What a fetch does with the refs of one kind; refs here are by their ids."""

    kind: SharedKind
    below: str  # the prefix of its refs here
    wanted: dict[str, str]  # the commits to fetch
    fetched: dict[str, str]  # the commits that earlier fetches brought
    gone: list[str]  # to delete
    local: dict[str, str]  # the commits of those that were made here or pushed from here
    rejected: list[Rejected]

    @property
    def refs(self) -> list[Ref]:
        """The refs to write."""
        return [Ref(self.below + name, target) for name, target in self.wanted.items()]

    def with_checkpoints(self, checkpoints: FetchPlan) -> FetchPlan:
        """A copy for the ends of turns, without those whose checkpoints were not fetched."""
        known = checkpoints.wanted.keys() | checkpoints.fetched
        return self._replace(wanted={k: v for k, v in self.wanted.items() if k in known})

    def without(self, flaws: Mapping[str, str]) -> FetchPlan:
        """A copy that rejects some refs, each with the reason."""
        wanted = {ref.id: ref.target for ref in self.refs if ref.name not in flaws}
        return self._replace(
            wanted=wanted, rejected=[*self.rejected, *_rejected(flaws, self.below)]
        )


def fetch(
    repository: Repository, remote_name: str | None, names: Sequence[str], options: Sharing
) -> Fetched:
    """Fetch the named checkpoints of a remote, or all checkpoints and proposals missing here.

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
    kinds = _KINDS[:2] if names else _KINDS
    offered = transport.listing(*(kind.prefix for kind in kinds), COMMIT_NOTES)
    listed = {name: target for name, target in offered.items() if name.startswith(ALL_REFS)}
    if names:
        chosen = _choose(names, listed, remote.name)
        listed = {
            name: target for name, target in listed.items() if name.rpartition("/")[2] in chosen
        }
    catalog = Catalog(repository)
    here = catalog.store.refs(*(each for kind in kinds for each in kind.here(remote)))
    # The end of a turn goes with its checkpoint.
    orphans = {TURN_ENDS + each for each in _ids(listed, TURN_ENDS)}
    orphans -= {turn_end_ref(name) for name in listed if name.startswith(CHECKPOINTS)}
    listed = {name: target for name, target in listed.items() if name not in orphans}
    twins = known_twins(repository)
    plans = [_plan(kind, remote, listed, here, twins) for kind in kinds]
    plans[1] = plans[1].with_checkpoints(plans[0])
    if not options.prune:
        plans = [plan._replace(gone=[]) for plan in plans]
    if not options.dry_run:
        with incoming(repository) as (git, release):
            refs = [ref for plan in plans for ref in plan.refs]
            invalid = _get(transport, list(dict.fromkeys(ref.target for ref in refs)), git)
            release()
            flaws = {ref.name: invalid[ref.target] for ref in refs if ref.target in invalid}
            valid = [ref for ref in refs if ref.name not in flaws]
            flaws |= _flaws(repository.git, catalog, valid)
            plans = [plan.without(flaws) for plan in plans]
            plans[1] = plans[1].with_checkpoints(plans[0])
            retry_conflicts(lambda: _update(catalog, plans), ("conflict", "locked"))
        pack_many_refs(repository)
    notes, no_notes = False, ""
    if options.notes and not names and shares_notes(repository.config):
        notes, no_notes = fetch_notes(repository, transport, offered, dry_run=options.dry_run)
    checkpoints, ends, *others = plans
    return Fetched(
        remote=remote.name,
        ids=[name for name in checkpoints.wanted if name not in checkpoints.fetched],
        moved=[name for name in checkpoints.wanted if name in checkpoints.fetched],
        pruned=checkpoints.gone,
        differing=[name for name in checkpoints.wanted if name in checkpoints.local],
        rejected=checkpoints.rejected,
        dry_run=options.dry_run,
        proposals=tuple(name for plan in others for name in plan.wanted),
        pruned_proposals=tuple(name for plan in others for name in plan.gone),
        rejected_proposals=tuple(each for plan in others for each in plan.rejected),
        turn_ends=tuple(ends.wanted),
        rejected_turn_ends=tuple(ends.rejected),
        notes=notes,
        rejected_notes=no_notes,
    )


def _plan(
    kind: SharedKind,
    remote: Remote,
    listed: Mapping[str, str],
    here: Sequence[Ref],
    twins: Mapping[str, str],
) -> FetchPlan:
    """What to fetch of one kind, and what to delete; `here` are the refs that are there now.

    `twins` were pushed from here, instead of other commits.
    """
    on_remote = {each: listed[kind.prefix + each] for each in _ids(listed, kind.prefix)}
    offered = {name: target for name, target in on_remote.items() if ID.fullmatch(name)}
    below, *others = kind.here(remote)
    fetched = _fetched_targets(below, here)
    # The remote also has what was pushed from here, or its twin.
    local = {ref.id: ref.target for ref in here if ref.name.startswith(tuple(others))}
    wanted = {
        name: target
        for name, target in sorted(offered.items())
        if target not in (fetched.get(name), local.get(name), twins.get(local.get(name, "")))
    }
    reason = f"its name is not a {kind.noun} id"
    rejected = [Rejected(name, reason) for name in sorted(on_remote.keys() - offered)]
    gone = sorted(fetched.keys() - offered)
    return FetchPlan(kind, below, wanted, fetched, gone, local, rejected)


def _fetched_targets(below: str, refs: Iterable[Ref]) -> dict[str, str]:
    """The commits of what was fetched from a remote, by id."""
    # Without the refs of remotes whose name begins with this one's name.
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
    """The reasons why fetched objects are not what refs would name, by the names of the refs."""
    flaws = {}
    # Check the size before reading the messages.
    targets = id_lines(ref.target for ref in refs)
    check = "--batch-check=%(objecttype) %(objectsize)"
    for ref, answer in zip(
        refs, git.line("cat-file", check, stdin=targets).split("\n"), strict=False
    ):
        type_, _, size = answer.partition(" ")
        if type_ != "commit":
            flaws[ref.name] = "its ref does not point to a commit"
        elif int(size) > _LARGEST_COMMIT:
            flaws[ref.name] = f"its message is too long: {size} bytes"
    commits = [ref for ref in refs if ref.name not in flaws]
    for ref, entry in zip(commits, catalog.entries(commits), strict=True):
        if isinstance(entry, Unusable):
            flaws[ref.name] = entry.why.message
            continue
        kind = next(kind for kind in _KINDS if ref.name.startswith(kind.fetched))
        if entry.meta.text(kind.key) != ref.id:
            flaws[ref.name] = "its message has another id"
        elif entry.meta.text("kind") != kind.noun:
            flaws[ref.name] = "its message has another kind"
    return flaws


def _update(catalog: Catalog, plans: Sequence[FetchPlan]) -> None:
    """Write and delete refs, all or none; a parallel fetch may have written the same refs."""
    refs = catalog.store.refs(*(plan.below for plan in plans))
    changes = []
    for plan in plans:
        fetched = _fetched_targets(plan.below, refs)
        targets = {**dict.fromkeys(plan.gone), **plan.wanted}
        changes += [
            RefChange(plan.below + name, target, fetched.get(name))
            for name, target in targets.items()
            if fetched.get(name) != target
        ]
    catalog.store.update_refs(changes)


def _choose(names: Iterable[str], listed: Mapping[str, str], remote: str) -> set[str]:
    """The ids of a remote's checkpoints that a user names by prefixes of ids or commits."""
    chosen = set()
    offered = [Ref(name, target) for name, target in listed.items() if name.startswith(CHECKPOINTS)]
    refs = [ref for ref in offered if ID.fullmatch(ref.name.removeprefix(CHECKPOINTS))]
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
        chosen.add(found[0].id)
    return chosen
