"""A case: files, what a model sends, and the files as they must be afterwards."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import NamedTuple

from tests.benchmarks.hunks import Unfit
from tests.benchmarks.patching.edits import Edit, Hunk, hunks_of

Files = Mapping[str, bytes]


class Case(NamedTuple):
    """One call to try.

    Attributes:
        before: the files, by path.
        expected: the files as they must be; None if all of it must be refused.
        sent: what the model sends.
        patch: the same for programs that read patches alone; None where it is nothing for them.
        strip: how many leading parts of its paths such a program is told to leave out.
        read: the files as the model has read them, which git holds; empty where there is no git.
    """

    before: Files
    expected: Files | None
    sent: bytes
    patch: bytes | None = None
    strip: int = 1
    read: Files = MappingProxyType({})


class Told(NamedTuple):
    """An edit as it must land, and its hunks as the model tells them."""

    edit: Edit
    hunks: tuple[Hunk, ...]


Drift = Callable[[Edit, random.Random], Told]
Kind = Callable[[Edit, Edit, random.Random], Case]
"""Makes a case of an edit, and of one of another file (Unfit if there is nothing to drift)."""


class Kinds:
    """The kinds of cases of a format."""

    def __init__(self) -> None:
        self.recover: dict[str, Kind] = {}
        self.refuse: dict[str, Kind] = {}
        self.slips: dict[str, Kind] = {}

    def lands(self, name: str) -> Callable[[Kind], Kind]:
        """Register a kind whose edits must land."""
        return _registering(self.recover, name)

    def refused(self, name: str) -> Callable[[Kind], Kind]:
        """Register a kind whose edits must be refused."""
        return _registering(self.refuse, name)

    def slip(self, name: str) -> Callable[[Kind], Kind]:
        """Register a slip that should be refused, and of which the edit itself tells little."""
        return _registering(self.slips, name)

    def drifts(
        self, named: Mapping[str, Drift], send: Callable[[Told], str], *, land: bool = True
    ) -> None:
        """Register drifts that are of no format, sent in one."""
        for name, drift in named.items():
            (self.recover if land else self.refuse)[name] = drifting(drift, send, land=land)

    def clean(self, named: Mapping[str, Callable[[Told], str]], *, land: bool = True) -> None:
        """Register ways to send an edit that has not drifted."""
        for name, send in named.items():
            self.drifts({name: lambda edit, _: Told(edit, hunks_of(edit))}, send, land=land)

    def elsewhere(self, send: Callable[[Told], str]) -> None:
        """Register edits that are sent for another file, and for one that is missing."""

        def others(edit: Edit, other: Edit, rng: random.Random) -> Case:
            told = Told(edit._replace(path=other.path), hunks_of(edit))
            return case_of(Told(other, ()), send(told), land=False)

        def missing(edit: Edit, other: Edit, rng: random.Random) -> Case:
            return case_of(Told(other, ()), send(Told(edit, hunks_of(edit))), land=False)

        self.refuse.update({"another file's": others, "a missing file": missing})

    def cases(self, name: str, edits: list[Edit], rng: random.Random) -> list[Case]:
        """The cases of a kind that the edits give."""
        kind = {**self.recover, **self.refuse, **self.slips}[name]
        others = [*edits[1:], edits[0]]
        found = []
        for edit, other in zip(edits, others, strict=True):
            if edit.path != other.path:
                with suppress(Unfit):
                    found.append(kind(edit, other, rng))
        # What would change nothing proves nothing.
        return [case for case in found if case.before != case.expected]


def _registering(kinds: dict[str, Kind], name: str) -> Callable[[Kind], Kind]:
    def register(kind: Kind) -> Kind:
        kinds[name] = kind
        return kind

    return register


def drifting(drift: Drift, send: Callable[[Told], str], *, land: bool = True) -> Kind:
    """The kind that sends what a drift made of an edit."""

    def kind(edit: Edit, other: Edit, rng: random.Random) -> Case:
        told = drift(edit, rng)
        return case_of(told, send(told), land=land)

    return kind


def case_of(told: Told, sent: str, *, land: bool = True, strip: int = 1) -> Case:
    """The case of one file, whose text patch programs read as well."""
    expected = files((told.edit.path, told.edit.after)) if land else None
    before = files((told.edit.path, told.edit.before))
    return Case(before, expected, sent.encode(), sent.encode(), strip)


def files(*named: tuple[str, str]) -> Files:
    """Files by their paths."""
    return {path: text.encode() for path, text in named}


def as_json(value: object) -> str:
    """A value as JSON."""
    return json.dumps(value, ensure_ascii=False)
