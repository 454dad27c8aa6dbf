"""Entry point of `git boocode`, of `python -m git_boocode`, and of this file run as a script."""

from __future__ import annotations

import gc
import os
import sys

_OBJECTS = 100_000
"""So many more objects make Python look for garbage; loading us makes half of that."""


def program() -> None:
    """Run the command line as a process of its own, and end that."""
    # What is loaded stays until the end, which comes soon: to look for garbage in it again and
    # again, and to take it apart in the end, would be a seventh of the time of a short command.
    gc.set_threshold(_OBJECTS)
    code = main()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        # Python's own way to say so.
        sys.exit(code)
    os._exit(code)


def main() -> int:
    """Run the command line and return its exit code."""
    if sys.argv[1:] == ["--version"]:
        # Answered before click is imported: start-up is a feature, and hosts probe the version.
        return _print_version()
    if sys.argv[1:2] == ["hook"]:
        _end_well()
    from git_boocode.cli.entry import run

    return run(sys.argv[1:])


def _end_well() -> None:
    """Let a hook that is told to end while it loads do so with exit code 0, as it always ends."""
    import signal

    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda *_: os._exit(0))


def _print_version() -> int:
    from git_boocode import __version__

    try:
        print(f"git-boocode version {__version__}", flush=True)
    except OSError:
        from git_boocode.cli.entry import run

        # It knows how to say what is wrong with standard output.
        return run(["--version"])
    return 0


def _drop_worktree_from_path() -> None:
    """Import nothing from the current worktree, as under `python -I`.

    What Python has imported before this line cannot be helped; the installed program has `-I`.
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
    given = (here, *os.environ.get("PYTHONPATH", "").split(os.pathsep))
    real = {os.path.realpath(path) for path in given}
    inside = {path for path in real if os.path.commonpath((path, top)) == top}
    sys.path[:] = [path for path in sys.path if os.path.realpath(path) not in inside]


if __name__ == "__main__":
    _drop_worktree_from_path()
    if not __package__:
        sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    program()
