"""The agents: how each is configured and started, so that it talks to the scripted model alone.

In all texts, `{url}` is the model's address and `{top}` the top of the worktree.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from git_boocode.server.tools import AGENT_TOOLS
from tests.agents.real.model import ToolCall


class RealPlugin(NamedTuple):
    """How an agent installs and uninstalls our plugin, from the marketplace in `{plugin}`.

    `served` is what it then calls the tool `{tool}` of our server, where that differs.
    """

    install: tuple[str, ...]
    uninstall: str
    served: str = ""


class RealAgent(NamedTuple):
    """An agent, by its name in git-boocode.

    `first` and `later` are its arguments for a turn with `{prompt}`, in a new session or in
    `{session}`, if it can. The model writes the file `{path}` with one line, `{text}`, by `tool`,
    whose `arguments` are an object or plain text. `files` are in the home directory, or in the
    worktree if they begin with `{top}`. `served` is what it calls the tool `{tool}` of our server,
    with a namespace before a dot; without it, the server is not tried. Such a tool may have to be
    found by the tool `search`, and then be called by the tool `wrapper`. `plugin` is how it takes
    our plugin, if it can. `delegate` is the tool that starts a subagent, and `talk` are the
    arguments with which it reads prompts as it works, as objects on lines of standard input.
    """

    name: str
    first: tuple[str, ...]
    later: tuple[str, ...]
    tool: str
    arguments: Mapping[str, str] | str
    environment: Mapping[str, str] = {}
    files: Mapping[str, object] = {}
    served: str = ""
    search: str = ""
    wrapper: str = ""
    plugin: RealPlugin | None = None
    delegate: ToolCall | None = None
    talk: tuple[str, ...] = ()

    def calls(self, wanted: Mapping[str, Mapping[str, Any]]) -> list[ToolCall]:
        """The calls of some tools of our server."""
        names = {tool: filled(self.served, tool=tool).rpartition(".") for tool in wanted}
        calls = [ToolCall(name, wanted[tool], space) for tool, (space, _, name) in names.items()]
        query = ",".join(call.tool for call in calls)
        if self.wrapper:
            calls = [
                ToolCall(self.wrapper, {"name": call.tool, "arguments": call.arguments})
                for call in calls
            ]
        found = [ToolCall(self.search, {"query": f"select:{query}"})] if self.search else []
        return found + calls

    @property
    def program(self) -> str:
        return self.name.removesuffix("-code")


_CLAUDE = (
    "--print",
    "--permission-mode",
    "acceptEdits",
    "--allowedTools=mcp__boocode,mcp__plugin_boocode_boocode",
)
_TASK = {"description": "Help", "prompt": "Please help"}
# Nobody is there to trust the hooks; which they are is known here.
_CODEX = ("--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust")
_GEMINI = (
    "-m",
    "gemini-2.5-pro",
    "--approval-mode",
    "auto_edit",
    f"--allowed-tools={','.join(f'mcp_boocode_{tool}' for tool in AGENT_TOOLS)}",
    "-p",
    "{prompt}",
)
_QWEN = (
    "--approval-mode",
    "auto-edit",
    f"--allowed-tools={','.join(f'mcp__boocode__{tool}' for tool in AGENT_TOOLS)}",
    "-p",
    "{prompt}",
)
_COPILOT = ("--prompt", "{prompt}")

_CODEX_CONFIG = """\
model = "gpt-5.5"
model_provider = "scripted"
[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
wire_api = "responses"
[analytics]
enabled = false
# The project's own hooks count only where the project is trusted.
[projects."{top}"]
trust_level = "trusted"
"""


def _gemini_settings(kind: str) -> dict[str, object]:
    return {
        "security": {"auth": {"selectedType": kind}, "folderTrust": {"enabled": False}},
        "general": {"enableAutoUpdate": False},
        "privacy": {"usageStatisticsEnabled": False},
    }


_OPENCODE_PROVIDER = {
    "npm": "@ai-sdk/openai-compatible",
    "options": {"baseURL": "{url}/v1", "apiKey": "none"},
    "models": {"scripted": {"tool_call": True}},
}
_OPENCODE_CONFIG = {
    # It adds this to files that lack it.
    "$schema": "https://opencode.ai/config.json",
    **dict.fromkeys(("model", "small_model"), "scripted/scripted"),
    "provider": {"scripted": _OPENCODE_PROVIDER},
}
# Qwen Code adds the version to settings that lack it.
_QWEN_VERSION = {"$version": 4}
_CLINE_PROVIDER = {
    "settings": {"apiKey": "none", "model": "scripted", "baseUrl": "{url}/v1"}
    | {"provider": "openai-compatible"},
    # Without these keys it ignores the settings.
    "updatedAt": "2026-01-01T00:00:00.000Z",
    "tokenSource": "manual",
}
_CLINE_CONFIG = {
    "version": 1,
    "lastUsedProvider": "openai-compatible",
    "providers": {"openai-compatible": _CLINE_PROVIDER},
}

_PI = ("--approve", "--print")
_PI_CONFIG = {
    "baseUrl": "{url}/v1",
    "apiKey": "none",
    "api": "openai-completions",
    "models": [{"id": "scripted"}],
}
_KIMI_CONFIG = """\
default_model = "scripted"
telemetry = false

[providers.scripted]
type = "openai"
base_url = "{url}/v1"
api_key = "none"

[models.scripted]
provider = "scripted"
model = "scripted"
max_context_size = 200000
"""
_GROK = ("--trust", "--yolo", "--no-auto-update", "--single", "{prompt}")
_GROK_CONFIG = """\
[models]
default = "scripted"

[model.scripted]
model = "scripted"
name = "scripted"
base_url = "{url}/v1"
api_key = "none"
context_window = 200000
api_backend = "chat_completions"
"""
_DROID = ("exec", "--auto", "high", "-m", "custom:scripted-0")
_DROID_MODEL = {
    "model": "scripted",
    "displayName": "scripted",
    "baseUrl": "{url}/v1",
    "apiKey": "none",
    "provider": "generic-chat-completion-api",
    "maxOutputTokens": 8000,
}

REAL_AGENTS = (
    RealAgent(
        "claude-code",
        (*_CLAUDE, "{prompt}"),
        (*_CLAUDE, "--resume", "{session}", "{prompt}"),
        "Write",
        {"file_path": "{top}/{path}", "content": "{text}\n"},
        {
            "ANTHROPIC_BASE_URL": "{url}",
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        },
        served="mcp__boocode__{tool}",
        search="ToolSearch",
        delegate=ToolCall("Agent", {**_TASK, "subagent_type": "general-purpose"}),
        talk=(
            *_CLAUDE[:-1],
            "--allowedTools=Bash",
            *("--input-format", "stream-json", "--output-format", "stream-json", "--verbose"),
        ),
        plugin=RealPlugin(
            (
                "claude plugin marketplace add {plugin}",
                "claude plugin install boocode@git-boocode",
            ),
            "claude plugin uninstall boocode@git-boocode",
            served="mcp__plugin_boocode_boocode__{tool}",
        ),
    ),
    RealAgent(
        "codex",
        ("exec", *_CODEX, "{prompt}"),
        ("exec", "resume", *_CODEX, "{session}", "{prompt}"),
        "apply_patch",
        "*** Begin Patch\n*** Add File: {path}\n+{text}\n*** End Patch\n",
        files={".codex/config.toml": _CODEX_CONFIG},
        served="mcp__boocode.{tool}",
        plugin=RealPlugin(
            ("codex plugin marketplace add {plugin}", "codex plugin add boocode@git-boocode"),
            "codex plugin remove boocode@git-boocode",
        ),
    ),
    RealAgent(
        "gemini",
        _GEMINI,
        ("--resume", "{session}", *_GEMINI),
        "write_file",
        {"file_path": "{top}/{path}", "content": "{text}\n"},
        {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": "{url}"},
        {".gemini/settings.json": _gemini_settings("gemini-api-key")},
        served="mcp_boocode_{tool}",
        plugin=RealPlugin(
            ("gemini extensions install --consent {plugin}/hooks/plugin/portable",),
            "gemini extensions uninstall boocode",
        ),
    ),
    RealAgent(
        "qwen",
        _QWEN,
        ("--resume", "{session}", *_QWEN),
        "write_file",
        {"file_path": "{top}/{path}", "content": "{text}\n"},
        {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": "{url}/v1", "OPENAI_MODEL": "scripted"},
        {
            ".qwen/settings.json": _gemini_settings("openai") | _QWEN_VERSION,
            "{top}/.qwen/settings.json": _QWEN_VERSION,
        },
        served="mcp__boocode__{tool}",
        search="tool_search",
        delegate=ToolCall("agent", {**_TASK, "subagent_type": "general-purpose"}),
        wrapper="tool_call",
        plugin=RealPlugin(
            ("qwen extensions install --consent {plugin}:boocode",),
            "qwen extensions uninstall boocode",
        ),
    ),
    RealAgent(
        "copilot",
        _COPILOT,
        ("--resume={session}", *_COPILOT),
        "create",
        {"path": "{top}/{path}", "file_text": "{text}\n"},
        {
            # Exactly this value also trusts the directory, and with it the project's hooks.
            "COPILOT_ALLOW_ALL": "true",
            "COPILOT_OFFLINE": "true",
            "COPILOT_PROVIDER_BASE_URL": "{url}/v1",
            "COPILOT_MODEL": "scripted",
        },
        served="boocode-{tool}",
        delegate=ToolCall("task", {**_TASK, "agent_type": "general-purpose", "name": "helper"}),
        plugin=RealPlugin(
            (
                "copilot plugin marketplace add {plugin}",
                "copilot plugin install boocode@git-boocode",
            ),
            "copilot plugin uninstall boocode@git-boocode",
        ),
    ),
    RealAgent(
        "opencode",
        ("run", "{prompt}"),
        ("run", "--session", "{session}", "{prompt}"),
        "write",
        {"filePath": "{top}/{path}", "content": "{text}\n"},
        # It installs packages beside plugins, and waits for that; here the attempt fails soon.
        {"OPENCODE_DISABLE_MODELS_FETCH": "1", "npm_config_fetch_retries": "0"},
        {".config/opencode/opencode.json": _OPENCODE_CONFIG},
        served="boocode_{tool}",
        delegate=ToolCall("task", {**_TASK, "subagent_type": "general"}),
    ),
    RealAgent(
        "cline",
        ("{prompt}",),
        (),
        "editor",
        {"path": "{top}/{path}", "new_text": "{text}\n"},
        # Otherwise it leaves a server behind, on a port that all sessions share.
        {"CLINE_SESSION_BACKEND_MODE": "local"},
        {".cline/data/settings/providers.json": _CLINE_CONFIG},
        served="boocode__{tool}",
        delegate=ToolCall("spawn_agent", {"task": "Please help", "systemPrompt": "You help"}),
    ),
    RealAgent(
        "pi",
        (*_PI, "{prompt}"),
        (*_PI, "--session", "{session}", "{prompt}"),
        "write",
        {"path": "{top}/{path}", "content": "{text}\n"},
        {"PI_OFFLINE": "1"},
        {
            ".pi/agent/models.json": {"providers": {"scripted": _PI_CONFIG}},
            ".pi/agent/settings.json": {"defaultProvider": "scripted", "defaultModel": "scripted"},
        },
    ),
    RealAgent(
        "kimi",
        ("--prompt", "{prompt}"),
        ("--session", "{session}", "--prompt", "{prompt}"),
        "Write",
        {"path": "{top}/{path}", "content": "{text}\n"},
        {},
        {".kimi-code/config.toml": _KIMI_CONFIG},
        served="mcp__boocode__{tool}",
    ),
    RealAgent(
        "grok",
        _GROK,
        ("--resume", "{session}", *_GROK),
        "write",
        {"file_path": "{top}/{path}", "content": "{text}\n"},
        {},
        {".grok/config.toml": _GROK_CONFIG},
    ),
    RealAgent(
        "droid",
        (*_DROID, "{prompt}"),
        (),
        "Create",
        {"file_path": "{top}/{path}", "content": "{text}\n"},
        {"FACTORY_API_KEY": "fk-none"},
        {".factory/settings.json": {"customModels": [_DROID_MODEL]}},
    ),
)


def filled(value: object, **names: str) -> str:
    """The text of a value, JSON unless it is text, with the names in braces filled in."""
    text = value if isinstance(value, str) else json.dumps(value)
    for name, given in names.items():
        text = text.replace(f"{{{name}}}", given)
    return text
