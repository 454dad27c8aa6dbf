"""Find the name of a file in the prose above an edit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_KNOWN = re.compile(
    r"(?:Makefile|GNUmakefile|Dockerfile|Containerfile|Jenkinsfile|Vagrantfile|Procfile|Gemfile"
    r"|Rakefile|Brewfile|Justfile|justfile|LICENSE|COPYING|README|CHANGELOG|AUTHORS|NOTICE|VERSION"
    r"|BUILD|WORKSPACE|CODEOWNERS)"
)
_EXTENSION = re.compile(
    r"\.(?:py|pyi|js|mjs|cjs|jsx|ts|tsx|mts|cts|vue|svelte|astro|java|kt|kts|scala|groovy|gradle|go"
    r"|rs|c|h|cc|cpp|cxx|hpp|hh|hxx|m|mm|cs|fs|vb|swift|rb|erb|php|pl|pm|lua|r|jl|dart|ex|exs|erl"
    r"|hs|ml|mli|clj|cljs|edn|elm|nim|zig|sol|sh|bash|zsh|fish|ps1|bat|sql|html|htm|xml|svg|css"
    r"|scss|sass|less|json|jsonc|json5|yaml|yml|toml|ini|cfg|conf|env|properties|lock|md|mdx|rst"
    r"|txt|tex|adoc|csv|tsv|proto|graphql|tf|hcl|nix|cmake|mk|make|dockerfile|gitignore|in|j2|tmpl"
    r"|ipynb|asm|s|v|sv|vhd|patch|diff)",
    re.IGNORECASE,
)
_LEAD = re.compile(r"(?:#{1,6}(?=\s)|//|--(?=\s)|;|<!--|/\*|[*+•-](?=\s)|\(?\d{1,3}[.):](?=\s))\s*")
_LABEL = re.compile(
    r"(?:[\w-]+\s+){0,3}?(?:file|path|file ?name|file ?path)(?:\s+(?:name|path))?\s*[:=]\s*",
    re.IGNORECASE,
)
_VERB = re.compile(
    r"(?:in|edit|editing|update|updating|modify|change|changes (?:to|in|for)|create|new file|add"
    r"|for)"
    r"(?:\s*:|\s+)\s*(?:the\s+)?(?:file\s+)?(?=[`\"'*\w./])",
    re.IGNORECASE,
)
_REMARK = re.compile(
    r"[(\[](?:new(?: file)?|create[ds]?|modif(?:y|ied)|update[ds]?|edit(?:ed)?|changed?"
    r"|existing(?: file)?|cont(?:inued|\.|'d)?)[)\]]$",
    re.IGNORECASE,
)
_LINES = re.compile(r":\d+(?:[-:]\d+)?$")
_LINK = re.compile(r"\[([^\]]+)\]\([^)\s]*\)")
_PAIRS = (("**", "**"), ("__", "__"), ("``", "``"), ("`", "`"), ("*", "*"), ('"', '"'), ("'", "'"),
          ("“", "”"), ("<", ">"))  # fmt: skip
_QUOTED = re.compile(r"`([^`\n]+)`")
_WORDS = re.compile(r"[^\s`\"'“”*<>|,;:()!?]+")
_NO_FILES = re.compile(
    r"\w{1,40}://\S+|\b(?:node|next|nuxt|vue|react|three|express|d3|chart|moment|ember)\.js\b",
    re.IGNORECASE,
)
"""Addresses and names of libraries, which look like files in prose."""
_NEVER = re.compile(r"[<>|*?\"`\x00-\x1f]|://|^\W+$|\(\)$|^\(.*\)$|[.,;!]$")


_FEW_WORDS = 4
_IN_SENTENCES = frozenset(
    (
        *("a", "an", "and", "apply", "are", "at", "below", "block", "change", "changes", "edit"),
        *("file", "finally", "first", "for", "from", "here", "here's", "in", "into", "is", "it"),
        *("its", "last", "let", "let's", "make", "modify", "new", "next", "now", "of", "on"),
        *("open", "path", "second", "see", "the", "then", "third", "this", "to", "update", "with"),
    )
)
"""Words that occur before the name of a file in prose, and hardly ever in a name."""
_LONGEST = 1_000
"""Characters of a line; a longer one is not prose and names nothing."""


def name_in_line(line: str) -> str | None:
    """The file that a line consists of, in any of the usual decorations."""
    text, was = line.strip(), ""
    if len(text) > _LONGEST:
        return None
    labelled = quoted = False
    while text != was:
        was = text
        bare = _LEAD.sub("", text, count=1) if _LEAD.match(text) else text
        bare = bare.removesuffix("-->").removesuffix("*/").strip()
        bare = _REMARK.sub("", bare.rstrip(":：").rstrip()).rstrip()
        bare = _LINES.sub("", bare) if is_path(_LINES.sub("", bare)) else bare
        link = _LINK.fullmatch(bare)
        bare = link[1] if link else bare
        label = _LABEL.match(bare) or _VERB.match(bare)
        if label and label.end() < len(bare):
            labelled = labelled or ":" in label[0] or "=" in label[0]
            bare = bare[label.end() :]
        text, inner = _unquoted(bare)
        quoted = quoted or inner
    return text if _is_name(text, labelled=labelled, quoted=quoted) else None


def _unquoted(text: str) -> tuple[str, bool]:
    for left, right in _PAIRS:
        inner = text[len(left) : len(text) - len(right)]
        if len(text) > 2 and text.startswith(left) and text.endswith(right) and inner.strip():
            if left in inner:
                continue
            return inner.strip(), left in ("`", "``", '"', "'", "“")
    return text, False


def _is_name(text: str, *, labelled: bool, quoted: bool) -> bool:
    if not text or _NEVER.search(text):
        return False
    if re.search(r"\s", text):
        return quoted and is_path(text)
    return labelled or is_path(text) or ("." in text.strip(".") and not text.endswith(")"))


def is_path(text: str) -> bool:
    """Whether a word is most likely a path: it has a slash or a common extension."""
    if not text or _NEVER.search(text):
        return False
    name = re.split(r"[/\\]", text)[-1]
    _, dot, ending = name.rpartition(".")
    if _KNOWN.fullmatch(name) or (dot and _EXTENSION.fullmatch(dot + ending)):
        return True
    return bool(re.search(r"\w/\w|^\.{0,2}/\w", text)) and not text.endswith("/") and "." in name


def name_in_info(info: str) -> str | None:
    """The file that the info string of a fence names."""
    for word in info.split():
        value = re.sub(r"^(?:\w+=|[\w+#-]+:)", "", word).strip("\"'`{}")
        if is_path(value):
            return value
    return None


def names_in_prose(lines: Sequence[str]) -> list[str]:
    """The files that some lines of prose mention, each once."""
    return list(dict.fromkeys(name for line in lines for name in _names(line)))


def path_with_spaces(lines: Sequence[str]) -> str | None:
    """The whole last line, if it can be a path of a few words and is not a sentence."""
    line = next((line.strip() for line in reversed(lines) if line.strip()), "")
    words = line.split()
    if not 1 < len(words) <= _FEW_WORDS or not is_path(line):
        return None
    return None if _IN_SENTENCES.intersection(map(str.lower, words[:-1])) else line


def _names(line: str) -> Iterator[str]:
    if len(line) > _LONGEST:
        return
    alone = name_in_line(line)
    if alone is not None and is_path(alone):
        yield alone
        return
    for quoted in _QUOTED.findall(line):
        if is_path(quoted.strip()):
            yield quoted.strip()
    for word in _WORDS.findall(_NO_FILES.sub(" ", _QUOTED.sub(" ", line))):
        bare = word.rstrip(".")
        if is_path(bare):
            yield bare
