"""The hook of a tool: most calls have nothing to do, and end before anything else is loaded."""

from __future__ import annotations

from collections.abc import Sequence

from git_boocode.agents.idle_hook import unserved_input


def payload_to_serve(arguments: Sequence[str]) -> bytes | None:
    """What an agent sent for a tool event that has to be served; None for any other event.

    Does not return if there is nothing to do.
    """
    return unserved_input(arguments)


def serve_tool(arguments: Sequence[str], payload: bytes) -> int:
    """Serve a tool event of an agent, which has its answer."""
    from git_boocode.agents.hook_call import run_hook

    return run_hook(arguments, lambda: None, payload)
