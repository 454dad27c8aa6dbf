"""Run one `git boocode` command: the one place where errors become exit codes."""

from __future__ import annotations

import os

from git_boocode import __version__
from git_boocode.cli.output import discard_output, print_json, report
from git_boocode.repo.errors import BoocodeError, FatalError, from_os

# Set by the completion script, as click expects it.
COMPLETION = "_GIT_BOOCODE_COMPLETE"
# What agents call at every turn; most spellings of it do without click.
OFTEN_CALLED = ("checkpoint", "hook")


def run(argv: list[str]) -> int:
    """Run one command and return its exit code.

    Args:
        argv: the arguments after `git boocode`.
    """
    if wanted := os.environ.get(COMPLETION):
        from git_boocode.cli.main import complete

        return complete(COMPLETION, wanted)
    as_json = _wants_json(argv)
    try:
        return _answered(argv, as_json=as_json)
    except BrokenPipeError:
        return _reader_is_gone()
    except BoocodeError as error:
        # There is no room for the answer, not even for that it failed.
        return report(error, as_json=False)


def _wants_json(argv: list[str]) -> bool:
    """Whether the arguments ask for JSON, known even when they cannot be parsed."""
    options = argv[: argv.index("--")] if "--" in argv else argv
    return "--json" in options


def _answered(argv: list[str], *, as_json: bool) -> int:
    try:
        return _dispatch(argv)
    except BoocodeError as error:
        return report(error, as_json=as_json)
    except KeyboardInterrupt:
        return _ended(130, as_json=as_json)
    except SystemExit as end:
        return _ended(end.code if isinstance(end.code, int) else 128, as_json=as_json)
    except BrokenPipeError:
        raise
    except OSError as error:
        return report(from_os(error), as_json=as_json)
    except Exception as error:  # noqa: BLE001 - the one net under everything: no user sees a traceback
        return report(_unexpected(error), as_json=as_json)


def _dispatch(argv: list[str]) -> int:
    if argv and argv[0] in OFTEN_CALLED:
        from git_boocode.cli.direct import direct_call

        if call := direct_call(argv):
            return call()
    from git_boocode.cli.main import dispatch

    return dispatch(argv)


def _ended(code: int, *, as_json: bool) -> int:
    """What a shell shows for a signal; who waits for JSON gets an object all the same."""
    if as_json:
        print_json(FatalError(f"ended by signal {code - 128}", code="interrupted").as_json())
    return code


def _unexpected(error: Exception) -> FatalError:
    hints = [f"this is a bug in git-boocode {__version__}; please report the command and the error"]
    if os.environ.get("GIT_BOOCODE_DEBUG", "0") != "0":
        import traceback

        traceback.print_exc()
    else:
        hints.append("GIT_BOOCODE_DEBUG=1 shows where it happened")
    name = type(error).__name__
    return FatalError(f"unexpected {name}: {error}", code="bug", hints=tuple(hints))


def _reader_is_gone() -> int:
    discard_output()
    # What a shell shows for SIGPIPE.
    return 141
