"""click, taught to speak as git does: usage lines, exit codes, lazily loaded commands."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any, NamedTuple

import click
from click.core import augment_usage_errors

from git_boocode.cli.output import print_text
from git_boocode.repo.errors import EXIT_USAGE, UsageError, shortened
from git_boocode.repo.ids import MOST_DIGITS

# The options for help are our own: click's would not notice that standard output is full.
SETTINGS: dict[str, Any] = {"help_option_names": [], "max_content_width": 100}

AFTER_DASHES = "git_boocode.after_dashes"

json_option = click.option(
    "--json", "as_json", is_flag=True, help="Answer with one JSON object on standard output."
)


class GitHelpFormatter(click.HelpFormatter):
    """Writes usage lines in git's spelling."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """Write `usage: git boocode COMMAND …`."""
        super().write_usage(prog, args, prefix or "usage: ")


class GitContext(click.Context):
    """A context whose help is formatted as git's."""

    formatter_class = GitHelpFormatter


def _print_help(context: click.Context, option: click.Parameter, wanted: bool) -> None:
    """Print help; the exit code for `-h` is 129, as for every git command."""
    if wanted:
        print_text(context.get_help())
        context.exit(EXIT_USAGE if option.opts == ["-h"] else 0)


def _help_options(params: list[click.Parameter]) -> list[click.Parameter]:
    """The parameters of a command, and `-h` and `--help`."""
    options = (
        click.Option(
            [name],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            hidden=name == "-h",
            help="Show this message and exit.",
            callback=_print_help,
        )
        for name in ("-h", "--help")
    )
    return [*params, *options]


class Command(click.Command):
    """A command with `-h` and usage lines as git's.

    Args:
        surplus: the hint for whoever gives it an argument too many; `{}` stands for that.
    """

    context_class = GitContext
    # So that it is us who say what is wrong with them.
    allow_extra_args = True

    def __init__(self, *args: Any, surplus: str = "", **kwargs: Any) -> None:  # noqa: ANN401 - click's own signature
        self._surplus = surplus
        kwargs["params"] = _help_options(list(kwargs.get("params") or []))
        kwargs.setdefault("options_metavar", "[<options>]")
        kwargs["context_settings"] = {**SETTINGS, **(kwargs.get("context_settings") or {})}
        super().__init__(*args, **kwargs)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse, and note how many arguments stood behind `--`, which click forgets."""
        if "--" in args:
            ctx.meta[AFTER_DASHES] = len(args) - args.index("--") - 1
        # Or click does not know whose usage line belongs to an option without its value.
        with augment_usage_errors(ctx):
            rest = super().parse_args(ctx, args)
        if rest and not ctx.resilient_parsing:
            raise self._too_many(ctx, rest[0])
        return rest

    def _too_many(self, context: click.Context, argument: str) -> click.UsageError:
        error = click.UsageError(f"'{argument}' is an argument too many", context)
        hint = self._surplus.replace("{}", argument)
        error.hints = (hint,) if hint and argument else ()  # type: ignore[attr-defined]
        return error


class AtLeast(click.IntRange):
    """A whole number with a least value, of which click says that it is "no valid integer range".

    Args:
        least: the smallest number that is taken.
    """

    def __init__(self, least: int) -> None:
        super().__init__(min=least)
        self._least = least

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401 - click's own signature
        """Read the number, or say what would be one."""
        shown = shortened(str(value))
        # Python 3.11 and newer convert no more than 4,300 digits.
        if len(str(value)) > MOST_DIGITS:
            said = f"'{shown}' is longer than {MOST_DIGITS} digits"
            raise click.BadParameter(said, ctx, param)
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            said = f"'{shown}' is no whole number of at least {self._least}"
            raise click.BadParameter(said, ctx, param) from None


class Entry(NamedTuple):
    """A command as data: where it lives and what the list of commands says of it."""

    module: str
    attribute: str
    summary: str


class LazyGroup(click.Group):
    """A group that imports a command's module only when that command is called.

    Args:
        entries: the commands by name, in the order in which they are listed.
    """

    context_class = GitContext

    def __init__(self, *args: Any, entries: dict[str, Entry], **kwargs: Any) -> None:  # noqa: ANN401
        kwargs["params"] = _help_options(list(kwargs.get("params") or []))
        kwargs.setdefault("options_metavar", "[<options>]")
        super().__init__(*args, context_settings=SETTINGS, **kwargs)
        self.entries = entries

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse; click before 8.2 takes a missing command for a call for help."""
        if not args and not ctx.resilient_parsing:
            raise UsageError(f"no command given\n{ctx.get_help()}")
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in their own order."""
        return list(self.entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        entry = self.entries.get(cmd_name)
        if entry is None:
            return None
        command: click.Command = getattr(import_module(entry.module), entry.attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the arguments name, or say which comes nearest."""
        name = args[0]
        if name not in self.entries and not name.startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(name, self.entries, n=1)
            error = click.UsageError(f"'{name}' is not a {ctx.command_path} command", ctx)
            error.hints = tuple(f"the most similar command is: {found}" for found in near)  # type: ignore[attr-defined]
            raise error
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in self.entries.items()])


def stdin_bytes() -> bytes:
    """All of standard input."""
    return sys.stdin.buffer.read()
