"""What completion offers for the arguments and options of commands."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any

from git_boocode.cli.options import AFTER_DASHES

if TYPE_CHECKING:
    import click
    from click.shell_completion import CompletionItem

    from git_boocode.repo.entries import EntryCatalog

_SHOWN = 25
_COMMIT_LENGTH = 10
_LONGEST = 100

Callback = Callable[["click.Context", "click.Parameter", str], "list[CompletionItem]"]


def one_of(words: Iterable[str]) -> Callback:
    """Offer some words, also behind a comma."""

    def complete(_: click.Context, __: click.Parameter, begun: str) -> list[CompletionItem]:
        head = begun[: begun.rfind(",") + 1]
        return [_item(head + word) for word in words if (head + word).startswith(begun)]

    return complete


def paths(_: click.Context, __: click.Parameter, begun: str) -> list[CompletionItem]:
    """Offer what the shell offers."""
    return [_item(begun, type="file")]


def proposed(context: click.Context, argument: click.Parameter, begun: str) -> list[CompletionItem]:
    """Offer the files that a proposal changes, and paths."""
    found: list[CompletionItem] = []
    # Outside a repository, there are still paths.
    with suppress(Exception):
        from git_boocode.editing.workspace import Workspace
        from git_boocode.proposals.local_files import file_statuses

        workspace = Workspace.here()
        pending = [each for each in file_statuses(workspace) if each.file.is_pending]
        names = [(os.path.relpath(e.file.path, workspace.prefix or "."), e) for e in pending]
        found = [_item(name, e.letters) for name, e in names if name.startswith(begun)]
    return [*found, *paths(context, argument, begun)]


def agents(_: click.Context, __: click.Parameter, begun: str) -> list[CompletionItem]:
    """Offer the agents that are known."""
    from git_boocode.agents.registry import AGENTS

    known = [agent for agent in AGENTS.values() if agent.name.startswith(begun)]
    return [_item(agent.name, agent.title) for agent in known]


def server_agents(_: click.Context, __: click.Parameter, begun: str) -> list[CompletionItem]:
    """Offer the agents and editors that can start our server."""
    from git_boocode.agents.registry import SERVER_AGENTS

    known = [agent for agent in SERVER_AGENTS.values() if agent.name.startswith(begun)]
    return [_item(agent.name, agent.title) for agent in known]


def callbacks(context: click.Context, option: click.Parameter, begun: str) -> list[CompletionItem]:
    """Offer the callbacks that are shipped, and paths."""
    from git_boocode.checkpoints.callback import SHIPPED

    return one_of(SHIPPED)(context, option, begun) + paths(context, option, begun)


def profiles(context: click.Context, option: click.Parameter, begun: str) -> list[CompletionItem]:
    """Offer the profiles of the matcher."""
    from git_boocode.matching.rungs import PROFILES

    return one_of(PROFILES)(context, option, begun)


def remotes(_: click.Context, __: click.Parameter, begun: str) -> list[CompletionItem]:
    """Offer the remotes of the repository."""
    from git_boocode.repo.repository import Repository

    names = Repository.discover().git.line("remote").split("\n")
    return [_item(name) for name in names if name and name.startswith(begun)]


def branches(_: click.Context, __: click.Parameter, begun: str) -> list[CompletionItem]:
    """Offer the branches of the repository."""
    return [_item(name) for name in _refs("refs/heads") if name.startswith(begun)]


def commits(_: click.Context, __: click.Parameter, begun: str) -> list[CompletionItem]:
    """Offer HEAD, branches and tags, also as the second commit of a range."""
    first, dots, second = begun.rpartition("..")
    names = ("HEAD", *_refs("refs/heads", "refs/remotes", "refs/tags"))
    return [_item(first + dots + name) for name in names if name.startswith(second)]


def _refs(*prefixes: str) -> list[str]:
    from git_boocode.repo.repository import Repository

    form = "--format=%(refname:lstrip=2)"
    return Repository.discover().git.line("for-each-ref", form, *prefixes).split()


def checkpoints(
    context: click.Context, argument: click.Parameter, begun: str
) -> list[CompletionItem]:
    """Offer the newest checkpoints by place, and with some characters of an id those that match."""
    from git_boocode.checkpoints.store.catalog import Catalog
    from git_boocode.cli.output import label_of
    from git_boocode.repo.repository import Repository

    catalog = Catalog(Repository.discover())
    return _entries(catalog, begun, label_of, _given(context, argument))


def edits(context: click.Context, argument: click.Parameter, begun: str) -> list[CompletionItem]:
    """Offer the edit records in the same way; their description is the files."""
    from git_boocode.cli.output import quote_path
    from git_boocode.editing.records import EditRecord, Records
    from git_boocode.repo.repository import Repository

    def describe(record: EditRecord) -> str:
        return ", ".join(quote_path(file.path) for file in record.files)

    records = Records(Repository.discover())
    return _entries(records, begun, describe, _given(context, argument))


def checkpoint_or_range(
    context: click.Context, argument: click.Parameter, begun: str
) -> list[CompletionItem]:
    """Offer checkpoints, also as the second one of `<checkpoint>..<checkpoint>`."""
    first, dots, second = begun.partition("..")
    if not dots or "/" in begun:
        return checkpoints(context, argument, begun)
    found = checkpoints(context, argument, second)
    return [_item(first + dots + item.value, item.help or "") for item in found]


def _files_in(begun: str) -> list[CompletionItem]:
    """Offer the files of `<checkpoint>:<path>`, and directories with a slash."""
    from git_boocode.checkpoints.store.catalog import Catalog
    from git_boocode.repo.git import nul_records
    from git_boocode.repo.repository import Repository

    name, _, path = begun.partition(":")
    repository = Repository.discover()
    tree = Catalog(repository).find(name or "@").tree
    directory, slash, _ = path.rpartition("/")
    listed = nul_records(repository.git.run("ls-tree", "-z", f"{tree}:{directory}"))
    # Each has a mode, a type, an id, and behind a tab the name.
    rows = (row.partition("\t") for row in listed)
    offered = (
        f"{name}:{directory}{slash}{entry}{'/' if ' tree ' in about else ''}"
        for about, _, entry in rows
    )
    return [_item(each) for each in offered if each.startswith(begun)]


def checkpoint_or_edit(
    context: click.Context, argument: click.Parameter, begun: str
) -> list[CompletionItem]:
    """Offer checkpoints, their files, and with some characters also edit records and commits."""
    if ":" in begun:
        return _files_in(begun)
    found = checkpoints(context, argument, begun)
    if not begun or begun.startswith("@"):
        return found
    return [*found, *edits(context, argument, begun), *commits(context, argument, begun)]


def or_paths(complete: Callback, most: int) -> Callback:
    """Offer paths, and before any of them and before `--` what `complete` offers, `most` times."""

    def both(context: click.Context, argument: click.Parameter, begun: str) -> list[CompletionItem]:
        given = _given(context, argument)
        found: list[CompletionItem] = []
        is_path = AFTER_DASHES in context.meta or any(map(os.path.lexists, given))
        if not is_path and len(given) < most:
            # Outside a repository, there are still paths.
            with suppress(Exception):
                found = complete(context, argument, begun)
        return [*found, *paths(context, argument, begun)]

    return both


def _given(context: click.Context, argument: click.Parameter) -> Sequence[str]:
    """The values that an argument has already."""
    value = context.params.get(argument.name or "")
    return value if isinstance(value, tuple) else ()


def _entries(
    catalog: EntryCatalog[Any], begun: str, describe: Callable[[Any], str], given: Sequence[str]
) -> list[CompletionItem]:
    by_place = not begun or begun.startswith("@")
    found = _by_place(catalog) if by_place else _by_id(catalog, begun.lower())
    shown: list[CompletionItem] = []
    for name, entry in found:
        if name.startswith(begun) and name not in given:
            text = " ".join(describe(entry).split())[:_LONGEST]
            shown.append(_item(name, "  ".join(filter(None, (age_of(entry.id), text)))))
    return shown


def _by_place(catalog: EntryCatalog[Any]) -> Iterator[tuple[str, Any]]:
    for number, entry in enumerate(islice(catalog.history(), _SHOWN)):
        yield f"@~{number}" if number else "@", entry


def _by_id(catalog: EntryCatalog[Any], begun: str) -> Iterator[tuple[str, Any]]:
    from git_boocode.repo.entries import Unusable
    from git_boocode.repo.store import ShortIds

    refs = catalog.store.refs(*catalog.prefixes)
    matching = [ref for ref in refs if ref.id.startswith(begun) or ref.target.startswith(begun)]
    # The newest of all kinds.
    matching.sort(key=lambda ref: ref.id, reverse=True)
    # One that is archived may have been kept, too.
    some = list({ref.id: ref for ref in matching[: 2 * _SHOWN]}.values())[:_SHOWN]
    short = ShortIds(catalog.store)
    for ref, entry in zip(some, catalog.entries(some), strict=True):
        if not isinstance(entry, Unusable):
            part, whole = short(ref.id), ref.id
            if not ref.id.startswith(begun):
                part, whole = ref.target[:_COMMIT_LENGTH], ref.target
            yield part if part.startswith(begun) else whole, entry


def age_of(identifier: str) -> str:
    """How long ago an id was made, such as `4 min ago`; empty for what is no id."""
    from git_boocode.repo.ids import ago, time_of

    when = time_of(identifier)
    return ago(when) if when else ""


def _item(word: str, description: str = "", **more: str) -> CompletionItem:
    from click.shell_completion import CompletionItem

    return CompletionItem(word, help=description or None, **more)
