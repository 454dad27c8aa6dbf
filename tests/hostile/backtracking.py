"""Finds regular expressions whose backtracking takes more than linear time on some input.

A pattern becomes an automaton that counts the ways in which it can read a text. Where a loop reads
one text in two ways the work doubles with every turn; where a text can end up in a later loop after
any number of turns of an earlier one, the work is at least quadratic (N. Weideman et al.,
"Analyzing Matching Time Behavior of Backtracking Regular Expression Matchers", 2016). What look-
arounds, boundaries and back references exclude is not considered, so that some patterns are
accused that are harmless.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any, NamedTuple

# Before Python 3.11 they were modules of their own.
parser: Any = getattr(re, "_parser", None) or import_module("sre_parse")
op: Any = getattr(re, "_constants", None) or import_module("sre_constants")

UNROLLED = 9
"""More than so many repetitions are a loop."""
BOUNDED = 1_000
"""Up to so many of a single character are none: they take so many times longer at the worst."""

_SAMPLES = "".join(map(chr, range(128))) + "éÉß²٣\u00a0\u2028…→：•“”\ufeff\udc80\U0001f600"
_BEGIN, _LINE, _END = "begin", "line", "end"
"""What is read where a text begins, behind each line feed, and where the text ends."""

Chars = frozenset[Any]
_CATEGORIES = {
    op.CATEGORY_DIGIT: r"\d",
    op.CATEGORY_NOT_DIGIT: r"\D",
    op.CATEGORY_SPACE: r"\s",
    op.CATEGORY_NOT_SPACE: r"\S",
    op.CATEGORY_WORD: r"\w",
    op.CATEGORY_NOT_WORD: r"\W",
}
_FREE = {op.AT_BOUNDARY, op.AT_NON_BOUNDARY}
_BEGINS = {op.AT_BEGINNING, op.AT_BEGINNING_STRING}


class _Automaton:
    """States with steps that read a character and steps that read none."""

    def __init__(self, pattern: str | bytes, flags: int) -> None:
        tree = parser.parse(pattern, flags)
        self.flags = tree.state.flags
        samples = map(chr, range(256)) if isinstance(pattern, bytes) else _SAMPLES
        self.all: Chars = frozenset(map(ord, samples))
        self.free: dict[int, list[int]] = defaultdict(list)
        self.reads: dict[int, tuple[Chars, int]] = {}
        self.count = 0
        self.inner: list[Any] = []  # the bodies of lookarounds
        self.tree = tree

    def state(self) -> int:
        self.count += 1
        return self.count

    def read(self, start: int, chars: Iterable[Any]) -> int:
        middle, end = self.state(), self.state()
        self.free[start].append(middle)
        self.reads[middle] = frozenset(chars), end
        return end

    def sequence(self, items: Iterable[Any], start: int) -> int:
        for kind, value in items:
            start = self.item(kind, value, start)
        return start

    def item(self, kind: Any, value: Any, start: int) -> int:  # noqa: C901
        if kind in (op.LITERAL, op.NOT_LITERAL, op.IN, op.ANY):
            return self.read(start, self.chars(kind, value))
        if kind is op.BRANCH:
            end = self.state()
            for branch in value[1]:
                first = self.state()
                self.free[start].append(first)
                self.free[self.sequence(branch, first)].append(end)
            return end
        if kind is op.SUBPATTERN:
            return self.sequence(value[-1], start)
        if kind is getattr(op, "ATOMIC_GROUP", None):
            return self.sequence(value, start)
        if kind in (op.MAX_REPEAT, op.MIN_REPEAT, getattr(op, "POSSESSIVE_REPEAT", None)):
            return self.repeat(value, start)
        if kind in (op.ASSERT, op.ASSERT_NOT):
            self.inner.append(value[1])
            return start
        if kind is op.AT:
            return self.place(value, start)
        if kind is op.GROUPREF:
            return self.read(start, self.all)
        raise NotImplementedError(str(kind))

    def place(self, value: Any, start: int) -> int:
        if value in _FREE:
            return start
        if value not in _BEGINS:
            return self.read(start, [_END])
        lines = value is op.AT_BEGINNING and self.flags & re.MULTILINE
        return self.read(start, [_BEGIN, _LINE] if lines else [_BEGIN])

    def anything(self, start: int) -> int:
        """Any characters, as a search passes them over."""
        end = self.state()
        self.free[start].append(end)
        after = self.read(end, [*self.all, _BEGIN, _LINE])
        self.free[after].append(end)
        return end

    def repeat(self, value: tuple[int, Any, Any], start: int) -> int:
        least, most, body = value
        if most is not op.MAXREPEAT and most <= BOUNDED and _is_single(body):
            least, most = min(least, UNROLLED), min(most, UNROLLED)
        if most is not op.MAXREPEAT and most <= UNROLLED:
            for _ in range(least):
                start = self.sequence(body, start)
            end = self.state()
            for _ in range(most - least):
                self.free[start].append(end)
                start = self.sequence(body, start)
            self.free[start].append(end)
            return end
        for _ in range(min(least, UNROLLED)):
            start = self.sequence(body, start)
        loop, first, end = self.state(), self.state(), self.state()
        self.free[start].append(loop)
        self.free[loop] += [first, end]
        self.free[self.sequence(body, first)].append(loop)
        return end

    def chars(self, kind: Any, value: Any) -> Chars:
        if kind is op.ANY:
            return self.all | {_LINE} if self.flags & re.DOTALL else self.all - {10}
        items = [(op.LITERAL, value)] if kind is not op.IN else value
        found: set[int] = set()
        for what, given in items:
            if what is op.LITERAL:
                found.add(given)
                self.all |= {given}
            elif what is op.RANGE:
                found |= {given[0], given[1], *(c for c in self.all if given[0] <= c <= given[1])}
            elif what is op.CATEGORY:
                category = re.compile(_CATEGORIES[given], self.flags & re.ASCII)
                found |= {c for c in self.all if category.match(chr(c))}
        if self.flags & re.IGNORECASE:
            found |= {ord(c) for f in found for c in (chr(f).lower(), chr(f).upper()) if len(c) < 2}
        negated = kind is op.NOT_LITERAL or (kind is op.IN and items[0][0] is op.NEGATE)
        chars = self.all - found if negated else frozenset(found)
        return chars | {_LINE} if 10 in chars else chars


def _is_single(body: Any) -> bool:
    return len(body) == 1 and body[0][0] in (op.LITERAL, op.NOT_LITERAL, op.IN, op.ANY)


class _Graph(NamedTuple):
    """Reading states only: the ways from one to the next, and what each reads.

    `last` are those that may be the last; `all` are the characters of the samples.
    """

    reads: dict[int, Chars]
    ways: dict[int, Counter[int]]
    last: set[int]
    all: Chars


def _graph(made: _Automaton, end: int) -> _Graph:
    def ways_from(state: int, seen: tuple[int, ...] = ()) -> Iterator[int]:
        if state in seen:
            return
        if state in made.reads or state == end:
            yield state
        for after in made.free.get(state, ()):
            yield from ways_from(after, (*seen, state))

    ways = {state: Counter(ways_from(after)) for state, (_, after) in made.reads.items()}
    last = {state for state, after in ways.items() if after.pop(end, 0)}
    reads = {state: chars for state, (chars, _) in made.reads.items()}
    return _Graph(reads, ways, last, made.all)


def trouble(pattern: str | bytes, flags: int, methods: Iterable[str]) -> str | None:
    """What is wrong with a pattern of which these methods are called; None if nothing is."""
    for method in methods:
        made = _Automaton(pattern, flags)
        start = made.state()
        if method in ("match", "fullmatch"):
            begin = made.read(start, [_BEGIN])
            made.free[start].append(begin)
        else:
            begin = made.anything(start)
        end = made.sequence(made.tree, begin)
        end = made.read(end, [_END]) if method == "fullmatch" else end
        found = _ambiguity(_graph(made, end))
        for inner in made.inner:
            made = _Automaton(pattern, flags)
            start = made.state()
            found = found or _ambiguity(_graph(made, made.sequence(inner, start)))
        if found:
            return f"{found} in {method}"
    return None


def _ambiguity(graph: _Graph) -> str | None:
    loops = _components(graph.ways)
    if any(_twice_a_turn(graph, loop) for loop in loops):
        return "exponential backtracking"
    for loop in loops:
        reach = _reachable(graph.ways, loop)
        later = (other for other in loops if other is not loop and reach & other)
        if any(_later_turn(graph, loop, other) for other in later):
            return "quadratic backtracking"
    return None


def _twice_a_turn(graph: _Graph, loop: set[int]) -> bool:
    """Whether a loop reads a text in two ways, where something behind it may fail.

    If the pattern may end in every turn, nothing behind it can.
    """
    twice = any(count > 1 and b in loop for a in loop for b, count in graph.ways[a].items())
    if twice and not loop & graph.last:
        return True
    for together in _components(_pairs(graph, loop, loop)):
        apart = {a == b for a, b in together}
        if apart == {True, False} and not any(a in graph.last for a, _ in together):
            return True
    return False


def _later_turn(graph: _Graph, loop: set[int], other: set[int]) -> bool:
    """Whether a text that goes round both loops also leads from the first to the second."""
    for together in _components(_pairs(graph, loop, other)):
        if any(right in graph.last or _never_fails(graph, right) for _, right in together):
            continue
        if any(_leads(graph, left, right, loop, other) for left, right in together):
            return True
    return False


def _never_fails(graph: _Graph, state: int) -> bool:
    """Whether a loop, or one that may come next, reads whatever there is up to the end."""

    def ends(state: int) -> bool:
        return any(graph.reads[last] == {_END} for last in graph.ways[state].keys() & graph.last)

    reads_all = {after for after in graph.ways[state] if graph.reads[after] >= graph.all}
    return any(after in graph.ways[after] and ends(after) for after in reads_all)


def _leads(graph: _Graph, left: int, right: int, loop: set[int], other: set[int]) -> bool:
    goal = (left, right, right)
    todo, seen = [(left, left, right)], set()
    while todo:
        here = todo.pop()
        for a in graph.ways[here[0]]:
            for b in graph.ways[here[1]]:
                for c in graph.ways[here[2]]:
                    after = (a, b, c)
                    if a not in loop or c not in other or after in seen:
                        continue
                    if graph.reads[a] & graph.reads[b] & graph.reads[c]:
                        if after == goal:
                            return True
                        seen.add(after)
                        todo.append(after)
    return False


def _pairs(graph: _Graph, left: set[int], right: set[int]) -> dict[Any, dict[Any, int]]:
    """What two walks, each round its loop, can read together."""
    return {
        (a, b): {
            (c, d): 1
            for c in graph.ways[a]
            for d in graph.ways[b]
            if c in left and d in right and graph.reads[c] & graph.reads[d]
        }
        for a in left
        for b in right
        if graph.reads[a] & graph.reads[b]
    }


def _reachable(ways: dict[Any, Any], start: set[int]) -> set[int]:
    todo, seen = [*start], set(start)
    while todo:
        for after in ways[todo.pop()]:
            if after not in seen:
                seen.add(after)
                todo.append(after)
    return seen


def _components(ways: dict[Any, Any]) -> list[set[Any]]:
    """The sets of nodes that lead to each other, as deep as they are found (S. Kosaraju)."""
    back: dict[Any, list[Any]] = defaultdict(list)
    for node, after in ways.items():
        for other in after:
            back[other].append(node)
    found: list[set[Any]] = []
    placed: set[Any] = set()
    for node in reversed(_finished(ways)):
        component = {node} - placed
        todo = [*component]
        while todo:
            fresh = set(back[todo.pop()]) - placed - component
            component |= fresh
            todo += fresh
        placed |= component
        if len(component) > 1 or (component and node in ways[node]):
            found.append(component)
    return found


def _finished(ways: dict[Any, Any]) -> list[Any]:
    """The nodes in the order in which a search in depth is done with them."""
    done: list[Any] = []
    seen: set[Any] = set()
    for root, after in ways.items():
        work = [] if root in seen else [(root, iter(after))]
        seen.add(root)
        while work:
            node, rest = work[-1]
            fresh = next((other for other in rest if other not in seen), None)
            if fresh is None:
                done.append(node)
                work.pop()
            else:
                seen.add(fresh)
                work.append((fresh, iter(ways[fresh])))
    return done
