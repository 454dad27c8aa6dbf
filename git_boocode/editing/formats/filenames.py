"""Find the name of a file in the prose above an edit."""

from __future__ import annotations

import re
from collections.abc import Sequence

_FILE = re.compile(
    r"(?:GNUm|M)akefile|(?:Docker|Container|Jenkins|Vagrant|Proc|Gem|Rake|Brew|[Jj]ust)file"
    r"|LICENSE|COPYING|README|CHANGELOG|AUTHORS|NOTICE|VERSION|BUILD|WORKSPACE|CODEOWNERS"
    # Only a known extension tells a file from `object.method` in prose.
    r"|(?i:.*\.(?:pyi?|[cm]?[jt]s|[jt]sx|vue|svelte|astro|java|kts?|scala|groovy|gradle|go|rs"
    r"|c|h|cc|hh|[ch](?:pp|xx)|mm?|cs|fs|vb|swift|rb|erb|php|p[lm]|lua|r|jl|dart|exs?|erl|hs|mli?"
    r"|cljs?|edn|elm|nim|zig|sol|sh|bash|zsh|fish|ps1|bat|sql|html?|xml|svg|css|s[ac]ss|less"
    r"|json[c5]?|ya?ml|toml|ini|cfg|conf|env|properties|lock|mdx?|rst|txt|tex|adoc|[ct]sv|proto"
    r"|graphql|tf|hcl|nix|cmake|mk|make|dockerfile|gitignore|in|j2|tmpl|ipynb|asm|sv?|v|vhd"
    r"|patch|diff))",
    re.DOTALL,
)
_NO_FILE = re.compile(
    r"\w{1,40}://\S+|\b(?:node|next|nuxt|vue|react|three|express|d3|chart|moment|ember)\.js\b",
    re.IGNORECASE,
)
"""Addresses and names of libraries, which look like files in prose."""
_NEVER = re.compile(r"[<>|*?\"`\x00-\x1f]|://|^\W+$|\(\)$|^\(.*\)$|[.,;!]$")
_LEAD = re.compile(r"(?:(?:#{1,6}|--|[*+•-]|\(?\d{1,3}[.):])(?=\s)|//|;|<!--|/\*)\s*")
_LABEL = re.compile(r"(?:[\w-]+\s+){0,3}?(?:file|path) ?(?:name|path)?\s*[:=]\s*", re.IGNORECASE)
_VERB = re.compile(
    r"(?:in|for|add|create|modify|edit(?:ing)?|updat(?:e|ing)|change(?:s (?:to|in|for))?|new file)"
    r"(?:\s*:|\s+)\s*(?:the\s+)?(?:file\s+)?(?=[`\"'*\w./])",
    re.IGNORECASE,
)
_REMARK = re.compile(
    r"[(\[](?:new|creat|modif|updat|edit|chang|exist|cont)[\w']*\.?(?: file)?[)\]]$", re.IGNORECASE
)
_LINES = re.compile(r":\d+(?:[-:]\d+)?$")
_LINK = re.compile(r"\[([^\]]+)\]\([^)\s]*\)")
_QUOTE = re.compile(r"\*\*?|__|``?|[\"'“<]")
_CLOSING = {"“": "”", "<": ">"}
_CODE = re.compile(r"`([^`\n]+)`")
_WORDS = re.compile(r"[^\s`\"'“”*<>|,;:()!?]+")
_FEW_WORDS = 4
_IN_SENTENCES = re.compile(
    r"an?|and|apply|are|at|below|block|changes?|edit|file|finally|first|for|from|here(?:'s)?|in"
    r"|into|its?|is|last|let(?:'s)?|make|modify|new|next|now|of|on|open|path|second|see|the|then"
    r"|third|this|to|update|with",
    re.IGNORECASE,
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
        text = _LEAD.sub("", text, count=1) if _LEAD.match(text) else text
        text = text.removesuffix("-->").removesuffix("*/").strip().rstrip(":：").rstrip()
        text = _REMARK.sub("", text).rstrip()
        text = _LINES.sub("", text) if is_path(_LINES.sub("", text)) else text
        link = _LINK.fullmatch(text)
        text = link[1] if link else text
        label = _LABEL.match(text) or _VERB.match(text)
        if label and label.end() < len(text):
            labelled = labelled or ":" in label[0] or "=" in label[0]
            text = text[label.end() :]
        text, inner = _unquoted(text)
        quoted = quoted or inner
    if not text or _NEVER.search(text):
        return None
    if re.search(r"\s", text):
        return text if quoted and is_path(text) else None
    is_name = labelled or is_path(text) or ("." in text.strip(".") and not text.endswith(")"))
    return text if is_name else None


def _unquoted(text: str) -> tuple[str, bool]:
    """A text without the marks around it, and whether they are quotes."""
    found = _QUOTE.match(text)
    left = found[0] if found else ""
    right = _CLOSING.get(left, left)
    inner = text[len(left) : len(text) - len(right)]
    if not left or not text.endswith(right) or left in inner or not inner.strip():
        return text, False
    return inner.strip(), left[0] in "`\"'“"


def is_path(text: str) -> bool:
    """Whether a text is most likely a path: by its last part, or by a slash and a dot."""
    if not text or _NEVER.search(text):
        return False
    name = re.split(r"[/\\]", text)[-1]
    if _FILE.fullmatch(name):
        return True
    return "." in name and re.search(r"\w/\w|^\.{0,2}/\w", text) is not None


def name_in_info(info: str) -> str | None:
    """The file that the info string of a fence names."""
    words = (re.sub(r"^(?:\w+=|[\w+#-]+:)", "", word).strip("\"'`{}") for word in info.split())
    return next(filter(is_path, words), None)


def names_in_prose(lines: Sequence[str]) -> list[str]:
    """The files that some lines of prose mention, each once."""
    found: list[str] = []
    for line in lines:
        if len(line) > _LONGEST:
            continue
        words = [name_in_line(line) or ""]
        if not is_path(words[0]):
            words = [code.strip() for code in _CODE.findall(line)]
            rest = _NO_FILE.sub(" ", _CODE.sub(" ", line))
            words += [word.rstrip(".") for word in _WORDS.findall(rest)]
        found += filter(is_path, words)
    return list(dict.fromkeys(found))


def path_with_spaces(lines: Sequence[str]) -> str | None:
    """The whole last line, if it can be a path of a few words and is not a sentence."""
    line = next((line.strip() for line in reversed(lines) if line.strip()), "")
    words = line.split()
    if not 1 < len(words) <= _FEW_WORDS or not is_path(line):
        return None
    return None if any(map(_IN_SENTENCES.fullmatch, words[:-1])) else line
