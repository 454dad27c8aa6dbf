"""Entry point of `git boocode` and of `python -m git_boocode`."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line and return its exit code."""
    if sys.argv[1:] == ["--version"]:
        # Answered before click is imported: start-up is a feature, and hosts probe the version.
        return _print_version()
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


if __name__ == "__main__":
    sys.exit(main())
