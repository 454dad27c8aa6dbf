"""Run one `git boocode` command: the one place where errors become exit codes."""

from __future__ import annotations

from functools import partial

from git_boocode.cli.options import (
    OutputOptions,
    add_output_options,
    change_directory,
    plain_values,
    set_output_options,
    split_leading,
)
from git_boocode.cli.output import begin_answer, discard_output, print_failure, report, wants_json
from git_boocode.repo.errors import BoocodeError, FatalError, unexpected
from git_boocode.repo.process import work_is_done

# What a shell shows for SIGPIPE.
_READER_GONE = 141


def run(argv: list[str]) -> int:
    """Run the command of the arguments after `git boocode` and return its exit code."""
    options = argv[: argv.index("--")] if "--" in argv else argv
    # Needed even if the command line cannot be parsed.
    named = {"no_color": "--no-color" in options, "as_json": "--json" in options}
    set_output_options(OutputOptions(**named))
    begin_answer(argv)
    try:
        return _answered(argv)
    except BrokenPipeError:
        discard_output()
        return 0 if work_is_done() else _READER_GONE
    except BoocodeError as error:
        # Standard output takes no answer, not even that of the failure.
        return report(error)


def _answered(argv: list[str]) -> int:
    try:
        return _dispatch(argv)
    except BoocodeError as error:
        return report(error)
    except KeyboardInterrupt:
        return _ended(130)
    except SystemExit as end:
        return _ended(end.code if isinstance(end.code, int) else 128)
    except BrokenPipeError:
        raise
    except OSError as error:
        return report(error)
    except Exception as error:  # noqa: BLE001 - the one net under everything: no user sees a traceback
        return report(unexpected(error))


def _dispatch(given: list[str]) -> int:
    directories, output, argv = split_leading(given)
    if output:
        add_output_options(output)
    if argv[:1] == ["hook"] and not "".join(argv[1:2]).startswith("-"):
        from git_boocode.agents.hook_call import run_hook

        return run_hook(argv[1:], partial(change_directory, directories))
    if directories:
        change_directory(directories)
    if argv[:2] == ["completion", "--candidates"]:
        from git_boocode.cli.completion import print_candidates

        return print_candidates(argv[2:])
    if argv[:1] == ["checkpoint"]:
        from git_boocode.cli import checkpoint

        values = plain_values(checkpoint.OPTIONS, argv[1:])
        if values is not None:
            add_output_options(values.pop("output"))
            return checkpoint.checkpoint(**values)
    from git_boocode.cli import framework

    return framework.dispatch(argv)


def _ended(code: int) -> int:
    """The exit code after a signal; a reader of JSON gets an object anyway."""
    if wants_json():
        print_failure(FatalError(f"ended by signal {code - 128}", code="interrupted"))
    return code
