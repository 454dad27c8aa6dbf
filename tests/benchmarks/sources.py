"""Files to draw edits on: Python's own library, or invented ones that are the same everywhere."""

from __future__ import annotations

import os
import random
import sysconfig
from collections.abc import Iterable, Iterator

from tests.benchmarks.hunks import text_of

_THINGS = ("order", "invoice", "session", "parser", "buffer", "token", "record", "packet", "cache")
_ACTIONS = ("load", "store", "merge", "check", "render", "split", "count", "flush", "encode")
_TRAITS = ("pending", "visible", "stale", "remote", "partial", "sorted", "empty", "locked")
_REMARKS = ("The caller holds the lock.", "Keep the order of the input.", "Cheap, so done twice.")


def library(rng: random.Random) -> Iterator[tuple[str, str]]:
    """Names and texts out of Python's own library, without end."""
    top = sysconfig.get_path("stdlib")
    names = [name for name in sorted(os.listdir(top)) if name.endswith(".py")]
    while True:
        name = rng.choice(names)
        with open(os.path.join(top, name), "rb") as file:
            yield name, text_of(file.read())


def invented(rng: random.Random) -> Iterator[tuple[str, str]]:
    """Names and texts of invented programs, without end; the same for the same `rng`."""
    while True:
        thing = rng.choice(_THINGS)
        lines = ["import logging", "", "", f"class {thing.title()}Service:", ""]
        for number in range(rng.randint(9, 14)):
            lines += [*_method(rng.choice(_ACTIONS), number, rng), ""]
        yield f"{thing}_{rng.randrange(1000)}.py", "\n".join(lines)


def _method(action: str, number: int, rng: random.Random) -> Iterator[str]:
    thing, trait = rng.choice(_THINGS), rng.choice(_TRAITS)
    yield f"    def {action}_{thing}_{number}(self, {thing}s, {trait}=None):"
    yield f'        """{action.title()} every {trait} {thing}; the count is returned."""'
    yield f"        {trait}_{thing}s = []"
    for _ in range(rng.randint(1, 3)):
        yield from (f"        {line}".rstrip() for line in _block(thing, trait, rng))
    yield f"        return len({trait}_{thing}s) + {rng.randrange(10, 500)}"


def _block(thing: str, trait: str, rng: random.Random) -> Iterable[str]:
    other, action, number = rng.choice(_THINGS), rng.choice(_ACTIONS), rng.randrange(10, 500)
    blocks = (
        [
            f"for {thing} in {thing}s:",
            f"    # {rng.choice(_REMARKS)}",
            f"    if {thing}.{other}_size > {number} and not {thing}.is_{rng.choice(_TRAITS)}:",
            f"        {trait}_{thing}s.append({thing}.{action}('{other}', limit={number}))",
            "        continue",
            f"    self.{other}s[{thing}.name] = {thing}",
        ],
        [
            "try:",
            f"    {other} = self.{action}_{other}({thing}s, {number})",
            "except KeyError as error:",
            f'    logging.warning("no {other} to {action}: %s", error)',
            f"    {other} = None",
            "else:",
            f"    {trait}_{thing}s += {other}.{thing}s",
        ],
        [
            f"{other} = self.find(",
            f"    name='{trait}-{other}',",
            f"    {thing}s={thing}s,",
            f"    limit={number},",
            ")",
            f"{other}.{action}()",
        ],
        [
            f"while self.{other}_depth < {number}:",
            f"    self.{other}_depth += 1",
            f"    {trait}_{thing}s.extend(self.{action}_{other}(self.{other}_depth))",
            "",
        ],
    )
    return rng.choice(blocks)
