"""What is recorded of a prompt: its text, as far as `boocode.prompts` says, and its first words."""

from __future__ import annotations

import re

from git_boocode.repo.config import Config

_LONGEST_LABEL = 60
# The label of a turn is taken from this many characters of the prompt, which may be huge.
_PROMPT_START = 4096
# Bytes of UTF-8 that are kept of a prompt.
_LARGEST_PROMPT = 64 << 10
FULL, FIRST_LINE, NONE = "full", "first-line", "none"
# Characters that control a terminal or the text direction, and surrogates.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
_HALVES = re.compile("[\ud800-\udfff]")

# Elements that agents add before a prompt.
_ELEMENTS = (
    *("system-reminder", "environment_context", "user_instructions", "session_context"),
    *("user_info", "rules", "task-notification", "local-command-caveat", "skills_instructions"),
    *("permissions instructions", "current_datetime", "ide_opened_file", "ide_selection"),
    *("manually_attached_skills", "git_status", "turn_aborted", "hook_context"),
)
_ADDED = (
    rf"(?s)\s*(?:<({'|'.join(_ELEMENTS)})\b[^>]*>.*?</\1>"
    r"|# AGENTS\.md instructions .*?</INSTRUCTIONS>)\s*"
)


def wanted_prompts(config: Config) -> str:
    """How much of prompts to keep, as configured (FatalError)."""
    # The setting of older versions, which kept the first words.
    old = config.boolean("boocode.promptLabels", default=True)
    return config.word("boocode.prompts", (FULL, FIRST_LINE, NONE), FULL if old else NONE)


def kept_prompt(prompt: str, wanted: str = FULL) -> str:
    """What is kept of a prompt, at most 64 KiB: all of it, its first line, or nothing."""
    if wanted == NONE:
        return ""
    prompt = prompt.strip()
    if len(prompt) > 1 and prompt[0] == prompt[-1] == '"' and '"' not in prompt[1:-1]:
        # As `opencode run` hands it over.
        prompt = prompt[1:-1].strip()
    # No character has less than a byte.
    prompt = prompt[:_LARGEST_PROMPT]
    if wanted == FIRST_LINE:
        prompt = next(iter(prompt.splitlines()), "").rstrip()
    text = _HALVES.sub("?", prompt).encode()[:_LARGEST_PROMPT]
    return text.decode("utf-8", "ignore")


def label_of(prompt: str) -> str:
    """The first words of a prompt that `kept_prompt` returned, safe to print."""
    prompt = (own_words(prompt) or prompt)[:_PROMPT_START]
    words = " ".join(_CONTROL.sub(" ", prompt).split())
    if len(words) <= _LONGEST_LABEL:
        return words
    whole = words[: _LONGEST_LABEL + 1].rpartition(" ")[0]
    return f"{whole or words[:_LONGEST_LABEL]} …"


def own_words(prompt: str) -> str:
    """What a person wrote of a prompt, without what the agent has added before it."""
    while prompt.lstrip().startswith(("<", "#")) and (added := re.match(_ADDED, prompt)):
        prompt = prompt[added.end() :]
    return prompt.strip()
