"""Entry point of `git boocode`, of `python -m git_boocode`, and of this file run as a script."""

from __future__ import annotations

import gc
import os
import sys

_STREAMS = 3
_GC_THRESHOLD = 100_000
"""New objects before Python collects garbage; our imports alone create about half as many."""


def program() -> None:
    """Run the command line and exit the process."""
    _open_standard_streams()
    # A short command spends a seventh of its time on garbage collection and interpreter shutdown,
    # although nearly everything it loads stays in use until it exits.
    gc.set_threshold(_GC_THRESHOLD)
    code = main()
    # Not at the top: a hook of a tool that has nothing to do ends before this.
    from contextlib import suppress

    # The writers have already handled their own errors.
    with suppress(OSError, ValueError):
        sys.stdout.flush()
    with suppress(OSError, ValueError):
        sys.stderr.flush()
    os._exit(code)


def _open_standard_streams() -> None:
    """Open /dev/null for each closed standard stream, as git does.

    Otherwise the next opened file would become that stream.
    """
    descriptor = os.open(os.devnull, os.O_RDWR)
    while descriptor < _STREAMS:
        os.set_inheritable(descriptor, True)  # noqa: FBT003 - positional-only
        descriptor = os.open(os.devnull, os.O_RDWR)
    os.close(descriptor)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            mode = "w" if number else "r"
            stream = open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)


def main() -> int:
    """Run the command line and return its exit code."""
    arguments = sys.argv[1:]
    if arguments == ["--version"]:
        # Answered before click is imported: start-up is a feature, and hosts probe the version.
        return _print_version()
    if arguments[:1] == ["hook"] and not "".join(arguments[1:2]).startswith("-"):
        return _serve_hook(arguments[1:])
    from git_boocode.cli.options import split_leading
    from git_boocode.repo.process import exit_at_once, on_signals, stop

    *_, rest = split_leading(arguments)
    on_signals(exit_at_once if rest[:1] == ["hook"] else stop)
    from git_boocode.cli.entry import run

    return run(arguments)


def _serve_hook(arguments: list[str]) -> int:
    """Serve a hook without the command line, which every turn and tool of an agent would load."""
    from git_boocode.agents.idle_note import begin_input

    # These do not return if there is nothing to do.
    begun = begin_input(arguments)
    from git_boocode.agents.idle_hook import unserved_input

    payload = unserved_input(arguments, begun)
    from git_boocode.repo.process import exit_at_once, on_signals

    on_signals(exit_at_once)
    from git_boocode.agents.hook_call import run_hook

    return run_hook(arguments, lambda: None, payload)


def _print_version() -> int:
    from git_boocode import __version__

    try:
        print(f"git-boocode version {__version__}", flush=True)
    except OSError:
        from git_boocode.cli.entry import run

        # It reports why standard output failed.
        return run(["--version"])
    return 0


def _drop_worktree_from_path() -> None:
    """Import nothing from the current worktree, as under `python -I`.

    This is too late for modules that Python has already imported; the installed program runs with
    `-I`.
    """
    if sys.flags.isolated:
        return
    try:
        here = os.getcwd()
    except FileNotFoundError:
        return
    top = here
    while top != os.sep and not os.path.lexists(os.path.join(top, ".git")):
        top = os.path.dirname(top)
    if top == os.sep:
        top = here
    entries = (here, *os.environ.get("PYTHONPATH", "").split(os.pathsep))
    real = {os.path.realpath(path) for path in entries}
    inside = {path for path in real if os.path.commonpath((path, top)) == top}
    sys.path[:] = [path for path in sys.path if os.path.realpath(path) not in inside]


if __name__ == "__main__":
    _drop_worktree_from_path()
    if not __package__:
        sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    program()
