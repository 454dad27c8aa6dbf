"""Files to draw edits on: those of this machine, of a repository, or invented ones.

The invented ones are the same everywhere.
"""

from __future__ import annotations

import os
import random
import sysconfig
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from string import Template

from tests.benchmarks.hunks import TEXT, git, text_of

_THINGS = ("order", "invoice", "session", "parser", "buffer", "token", "record", "packet", "cache")
_ACTIONS = ("load", "store", "merge", "check", "render", "split", "count", "flush", "encode")
_TRAITS = ("pending", "visible", "stale", "remote", "partial", "sorted", "empty", "locked")
_CHECKOUT = Path(__file__).parents[2]
_SYSTEM = ("/usr/lib/node_modules", "/usr/include", "/usr/share/doc", "/usr/local/go/src")
_MARKUP = (".html", ".css", ".tsx", ".yaml", ".mjs")
_MOST_FILES = 20_000
_REMARKS = ("The caller holds the lock.", "Keep the order of the input.", "Cheap, so done twice.")


def library(rng: random.Random) -> Iterator[tuple[str, str]]:
    """Names and texts out of Python's own library, without end."""
    top = sysconfig.get_path("stdlib")
    names = [name for name in sorted(os.listdir(top)) if name.endswith(".py")]
    while True:
        name = rng.choice(names)
        with open(os.path.join(top, name), "rb") as file:
            yield name, text_of(file.read())


def installed(rng: random.Random) -> Iterator[tuple[str, str]]:
    """Names and texts in the languages of this machine's files, each as often, without end."""
    by_suffix: dict[str, list[str]] = {}
    for top in (sysconfig.get_path("stdlib"), str(_CHECKOUT), *_SYSTEM):
        walk = (Path(place, name) for place, _, names in os.walk(top) for name in names)
        for path in islice(walk, _MOST_FILES):
            if path.suffix in (*TEXT, *_MARKUP) and ".venv" not in path.parts:
                by_suffix.setdefault(path.suffix, []).append(str(path))
    names = {suffix: sorted(paths) for suffix, paths in sorted(by_suffix.items())}
    while True:
        path = Path(rng.choice(names[rng.choice([*names])]))
        yield path.name, text_of(path.read_bytes()) if path.is_file() else ""


def tracked(git_dir: str, rng: random.Random) -> Iterator[tuple[str, str]]:
    """Names and texts of the files that a repository tracks, without end."""
    paths = git(git_dir, "ls-tree", "-r", "--name-only", "-z", "HEAD").decode().split("\0")
    paths = [path for path in paths if path.endswith((*TEXT, *_MARKUP))]
    while True:
        path = rng.choice(paths)
        yield path, text_of(git(git_dir, "cat-file", "blob", f"HEAD:{path}"))


def invented_in_languages(rng: random.Random) -> Iterator[tuple[str, str]]:
    """Names and texts of invented files in several languages; the same for the same `rng`."""
    while True:
        yield next(invented(rng))
        for suffix, template in _LANGUAGES.items():
            head, block, foot = template.split("---\n")
            blocks = (Template(block).substitute(_names(rng)) for _ in range(rng.randint(5, 9)))
            yield f"invented{suffix}", "".join((head, *blocks, foot))


def _names(rng: random.Random) -> dict[str, str]:
    thing, other = rng.sample(_THINGS, 2)
    return {
        "thing": thing,
        "other": other,
        "Thing": thing.title(),
        "Other": other.title(),
        "action": rng.choice(_ACTIONS),
        "trait": rng.choice(_TRAITS),
        "remark": rng.choice(_REMARKS),
        "n": str(rng.randrange(10, 5000)),
    }


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


_LANGUAGES = {
    ".ts": """\
import { strict as assert } from 'node:assert';
---

/** The ${trait} ${thing}s, as the ${other} has them. */
export async function ${action}${Thing}${n}(${thing}: ${Thing}, limit = ${n}): Promise<${Other}[]> {
\tconst ${other}s = await ${thing}.${action}('${trait} ${other}', { limit, retries: 3 });
\tif (${thing}.state !== 'ready' && ${other}s.length > ${n}) {
\t\tthrow new Error(`no ${other} for ${n}`);
\t}
\tassert.equal(${thing}.size, ${n});  // ${remark}
\tfor (const ${other} of ${other}s) {
\t\t${thing}.${trait} = ${other}.name ?? 'none';
\t\tawait ${other}.${action}(${thing}, ${n}).catch(() => undefined);
\t}
\treturn ${other}s.filter((${other}) => ${other}.${trait});
}
---
export default {};
""",
    ".rs": """\
use std::collections::HashMap;
---

impl ${Thing}${n} {
    /// ${remark}
    pub fn ${action}_${other}(&mut self, ${other}: &${Other}, limit: usize) -> Result<usize> {
        let ${trait} = self.${other}s.get(&${other}.id).map(|found| found.${action}(limit));
        if ${other}.depth > ${n} || self.${trait} == Some("${other} ${n}") {
            return Err(anyhow!("no ${trait} {} in {}", ${other}.name, ${n}));
        }
        self.${thing}s
            .iter()
            .filter(|${thing}| ${thing}.${trait}_size >= ${n})
            .for_each(|${thing}| ${other}.push(${thing}.clone()));
        match ${other}.kind {
            Kind::${Thing} => self.${action}(limit + ${n}),
            _ => Ok(${n}), // ${remark}
        }
    }
}
---
""",
    ".go": """\
package invented
---

// ${action}${Thing}${n} is called for every ${trait} ${other}.
func ${action}${Thing}${n}(ctx context.Context, ${thing} *${Thing}, limit int) ([]${Other}, error) {
\t${other}s, err := ${thing}.${Other}s(ctx, "${trait}", limit+${n})
\tif err != nil || len(${other}s) == ${n} {
\t\treturn nil, fmt.Errorf("${action} ${thing} %d: %w", ${n}, err)
\t}
\tfor index, ${other} := range ${other}s {
\t\t// ${remark}
\t\t${thing}.seen[${other}.Name] = index*2 + ${n}
\t}
\treturn ${other}s[:limit], nil
}
---
""",
    ".c": """\
#include <stdio.h>
---

/*
 * ${remark}
 *   ${thing}:        ${n}
 *   ${trait}:     the ${other} that it is in
 */
static int ${action}_${thing}_${n}(struct ${thing} *${thing}, const char *${trait}, size_t size)
{
\tint ${other} = ${thing}->${other}s + ${n};

\tif (!${trait} || strcmp(${trait}, "${other} ${n}"))
\t\treturn error("no ${trait} ${other} in %s", ${thing}->name);
\tfor (size_t i = 0; i < size; i++)
\t\t${thing}->${trait}[i] = ${action}_${other}(${thing}, i, ${n});
\t${thing}->${other}s   = ${other} & 0x${n};
\treturn ${other} < ${n} ? -1 : 0;
}
---
""",
    ".html": """\
<!doctype html>
<main>
---
  <section class="${thing} ${trait}" id="${thing}-${n}">
    <h2>The ${trait} ${thing}s of ${other} ${n}</h2>
    <p>${remark} It's the ${other}'s own, and <a href="/${other}/${n}">${action}</a> says more.</p>
    <ul>
      <li data-${other}="${n}">${Thing} and ${other}, ${trait}</li>
      <li><img src="${thing}${n}.png" alt="a ${trait} ${thing}"></li>
    </ul>
  </section>
---
</main>
""",
    ".yaml": """\
version: 2
jobs:
---
  ${action}-${thing}-${n}:
    runs-on: ${trait}-${other}
    # ${remark}
    env: {LIMIT: ${n}, NAME: '${thing} ${other}'}
    steps:
      - name: ${action} the ${trait} ${thing}
        run: make ${action} ${other}=${n} > ${thing}.log
      - uses: invented/${other}@v${n}
        with:
          ${trait}: "${thing}, ${other}"
---
""",
}
