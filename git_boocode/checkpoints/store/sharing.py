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
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import NamedTuple

from git_boocode.checkpoints.store.catalog import (
    TURN_END_KIND,
    Catalog,
    Checkpoint,
    turn_end_ref,
    without_index,
)
from git_boocode.checkpoints.store.notes import notes_tip
from git_boocode.checkpoints.store.secret_scan import (
    Finding,
    Outgoing,
    find_secrets,
    outgoing,
)
from git_boocode.checkpoints.store.shared_notes import fetch_notes, push_notes, shares_notes
from git_boocode.repo.entries import Unusable, ambiguous_name, refs_beginning
from git_boocode.repo.errors import RefusedError, shell_command
from git_boocode.repo.gc import incoming, pack_many_refs
from git_boocode.repo.git import Git
from git_boocode.repo.ids import ID, OBJECT_ID
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
from git_boocode.repo.masking import masker_of
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
# The number of checkpoints that are searched first for an untracked file.
_FIRST_READ = 64
_PROPOSAL = "proposal"
# What may have the history of checkpoints.
_PUBLISHED = ("refs/heads/", "refs/tags/")
# The number of the remote's newest checkpoints whose files are not looked at again.
_COMPARED = 200
# Of a nested repository, git only lists the commit.
_NO_FILE = b":000000 160000 "


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
    SharedKind(_PROPOSAL, PROPOSALS, REMOTE_PROPOSALS),
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
    # Called with the remote and the secrets in what would go there, if there are any; a
    # RefusedError from it ends the push. Without it, nothing looks for secrets.
    found_secrets: Callable[[str, Sequence[Finding]], None] | None = None
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
    tips = set[str].intersection(*(set(each.values()) for each in listed))
    listed = [{n: t for n, t in each.items() if n.startswith(ALL_REFS)} for each in listed]
    refs = catalog.store.refs(*below)
    there = {ref for ref in refs if all(each.get(ref.name) == ref.target for each in listed)}
    missing = [ref for ref in refs if ref not in there and ID.fullmatch(ref.id)]
    if named:
        named |= {turn_end_ref(name) for name in named}
        wanted = [ref for ref in missing if ref.name in named]
    else:
        usable = (each for each in catalog.entries(missing) if isinstance(each, Checkpoint))
        own = (entry for entry in usable if options.everywhere or catalog.is_ours(entry))
        wanted = [Ref(entry.ref, entry.commit.id) for entry in own]
    # Never overwrite another commit, except the earlier end of a turn.
    taken = {
        ref.name
        for ref in wanted
        if not ref.name.startswith(TURN_ENDS)
        and any(each.get(ref.name, ref.target) != ref.target for each in listed)
    }
    going = [ref for ref in wanted if ref.name not in taken]
    begun = {turn_end_ref(ref.name) for ref in (*there, *going) if _is_checkpoint(ref)}
    going = [ref for ref in going if ref.name in begun or not ref.name.startswith(TURN_ENDS)]
    rejected = dict.fromkeys(taken, "the remote has another commit under this id")
    new = [ref.name for ref in going]
    shares = options.notes and not names and shares_notes(repository.config)
    if options.found_secrets:
        notes_here = [notes_tip(repository)] if shares else []
        targets = [ref.target for ref in going] + [*filter(None, notes_here)]
        edges = [*filter(None, notes_there), *_newest_targets(listed)]
        if found := _secrets(repository, outgoing(repository, targets, tips, edges)):
            options.found_secrets(remote.shown, found)
    if not options.dry_run:
        if options.confirm and (files := _first_untracked(catalog, going, there)):
            options.confirm(remote.shown, files)
        new, refused = _push(transport, new, verify=options.verify)
        rejected |= refused
    notes, no_notes = False, ""
    if shares:
        notes, no_notes = push_notes(
            repository, transport, notes_there, verify=options.verify, dry_run=options.dry_run
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
        proposals=tuple(proposals),
        rejected_proposals=tuple(others),
        turn_ends=tuple(ends),
        rejected_turn_ends=tuple(no_ends),
        notes=notes,
        rejected_notes=no_notes,
    )


def _newest_targets(listed: Sequence[Mapping[str, str]]) -> list[str]:
    """The newest of our commits that all addresses of a remote have."""
    common = set[tuple[str, str]].intersection(*(set(each.items()) for each in listed))
    newest = sorted(common, key=lambda each: each[0].rpartition("/")[2], reverse=True)
    return [target for _, target in newest[:_COMPARED]]


def _secrets(repository: Repository, going: Outgoing) -> list[Finding]:
    """The secrets in what a push sends."""
    git = without_index(repository.git)
    objects = going.objects(git) if going.targets else ()
    return [*find_secrets(git, objects, masker_of(git))]


def _is_checkpoint(ref: Ref) -> bool:
    return ref.name.startswith(CHECKPOINTS)


def _first_untracked(catalog: Catalog, going: Iterable[Ref], there: Iterable[Ref]) -> list[str]:
    """The untracked files among what is about to be pushed, if the remote has none from here."""
    if next(_untracked(catalog, going), None) is None:
        return []
    if next(_untracked(catalog, there), None) is not None:
        return []
    return sorted(set(_untracked(catalog, going)))


def _untracked(catalog: Catalog, refs: Iterable[Ref]) -> Iterator[str]:
    """The untracked files in checkpoints and in the contexts of proposals, quoted as git does.

    A file of several of them comes several times. The newest ones are read first: who wants only
    one file need not wait for the others.
    """
    newest = sorted(refs, key=lambda ref: ref.id, reverse=True)
    for some in (newest[:_FIRST_READ], newest[_FIRST_READ:]):
        entries = (each for each in catalog.entries(some) if isinstance(each, Checkpoint))
        pairs = dict(map(_tracked_and_all, entries))
        pairs.pop("", None)
        unknown = yield from _added(catalog.repository, pairs)
        # Their staging area is not there, or they record none.
        yield from _added(catalog.repository, filter(None, map(pairs.get, unknown)))


def _added(repository: Repository, pairs: Iterable[str]) -> Generator[str, None, set[str]]:
    """The files that git finds added in pairs of objects.

    Returns the pairs of which git knows no difference.
    """
    left = set(pairs)
    request = "".join(f"{pair}\n" for pair in left)
    if not request:
        return left
    git = without_index(repository.git).bind("core.quotePath=false")
    options = ("-r", "--raw", "--no-renames", "--diff-filter=A", "--ignore-submodules=none")
    arguments, buffer = ("diff-tree", "--stdin", "--root", *options), b""
    with closing(git.pieces(*arguments, stdin=request.encode())) as pieces:
        for piece in pieces:
            *lines, buffer = (buffer + piece).split(b"\n")
            for line in lines:
                about, tab, path = line.partition(b"\t")
                if not tab:
                    left.discard(about.decode("ascii"))
                elif not about.startswith(_NO_FILE):
                    yield path.decode("utf-8", "surrogateescape")
    return left


def _tracked_and_all(entry: Checkpoint) -> tuple[str, str]:
    """What git compares to find untracked files, and what instead if it cannot; empty for nothing.

    The latter also finds files that were added to the staging area.
    """
    meta, commit = entry.meta, entry.commit
    if meta.text("kind") == _PROPOSAL:
        # A model has seen untracked files if the context of its proposal adds files to the base.
        context, base = next(iter(commit.parents), ""), meta.text("base")
        base = base if OBJECT_ID.fullmatch(base) else ""
        return "" if context == base else f"{context} {base}".rstrip(), ""
    since_head, index = f"{commit.id} {entry.head or ''}".rstrip(), meta.part("index", "tree") or ""
    if not OBJECT_ID.fullmatch(index):
        return since_head, ""
    return "" if index == entry.tree else f"{index} {entry.tree}", since_head


def _pushable(catalog: Catalog, name: str, remote: Remote) -> Ref:
    found = catalog.find(name)
    if found.ref.startswith(CHECKPOINTS) and ID.fullmatch(found.id):
        return Ref(found.ref, found.commit.id)
    refspec = f"{found.commit.id}:{CHECKPOINTS}{found.id}"
    by_hand = shell_command("git", "push", remote.shown, refspec)
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
) -> tuple[list[str], dict[str, str]]:
    """Push some refs; returns those that the remote has taken, and why it has not taken others."""
    pushed: dict[str, None] = {}
    refused: dict[str, str] = {}
    # A later end of a turn replaces the earlier one, which it does not descend from.
    specs = [f"+{name}" if name.startswith(TURN_ENDS) else name for name in names]
    for start in range(0, len(names), _AT_ONCE):
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
    plans = [_plan(kind, remote, listed, here) for kind in kinds]
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
) -> FetchPlan:
    """What to fetch of one kind, and what to delete; `here` are the refs that are there now."""
    on_remote = {each: listed[kind.prefix + each] for each in _ids(listed, kind.prefix)}
    offered = {name: target for name, target in on_remote.items() if ID.fullmatch(name)}
    below, *others = kind.here(remote)
    fetched = _fetched_targets(below, here)
    # The remote also has what was pushed from here.
    local = {ref.id: ref.target for ref in here if ref.name.startswith(tuple(others))}
    wanted = {
        name: target
        for name, target in sorted(offered.items())
        if target not in (fetched.get(name), local.get(name))
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
    targets = "".join(f"{ref.target}\n" for ref in refs).encode()
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
