"""Entry point of `git boocode`, of `python -m git_boocode`, and of this file run as a script."""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress

_STREAMS = 3
_OBJECTS = 100_000
"""So many more objects make Python look for garbage; loading us makes half of that."""


def program() -> None:
    """Run the command line as a process of its own, and end that."""
    _open_standard_streams()
    # What is loaded stays until the end, which comes soon: to look for garbage in it again and
    # again, and to take it apart in the end, would be a seventh of the time of a short command.
    gc.set_threshold(_OBJECTS)
    code = main()
    # What could not be written has been handled where it was written.
    with suppress(OSError, ValueError):
        sys.stdout.flush()
    with suppress(OSError, ValueError):
        sys.stderr.flush()
    os._exit(code)


def _open_standard_streams() -> None:
    """Open /dev/null for each standard stream that is closed, as git does.

    Otherwise the next file that is opened would become that stream.
    """
    descriptor = os.open(os.devnull, os.O_RDWR)
    while descriptor < _STREAMS:
        os.set_inheritable(descriptor, True)  # noqa: FBT003 - it takes no keyword
        descriptor = os.open(os.devnull, os.O_RDWR)
    os.close(descriptor)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            mode = "w" if number else "r"
            stream = open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)


def main() -> int:
    """Run the command line and return its exit code."""
    if sys.argv[1:] == ["--version"]:
        # Answered before click is imported: start-up is a feature, and hosts probe the version.
        return _print_version()
    from git_boocode.cli.options import split_leading
    from git_boocode.repo.process import exit_at_once, on_signals, stop

    *_, rest = split_leading(sys.argv[1:])
    on_signals(exit_at_once if rest[:1] == ["hook"] else stop)
    from git_boocode.cli.entry import run

    return run(sys.argv[1:])


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
