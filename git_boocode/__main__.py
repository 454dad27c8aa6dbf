"""Entry point of `git boocode` and of `python -m git_boocode`."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line and return its exit code."""
    if sys.argv[1:] == ["--version"]:
        # Answered before click is imported: start-up is a feature, and hosts probe the version.
        from git_boocode import __version__

        print(f"git-boocode version {__version__}")
        return 0
    from git_boocode.cli.main import run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
