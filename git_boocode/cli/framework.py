"""The table of commands, and click adapted to the manners of git: usage, help, errors."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import wraps
from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click.core import augment_usage_errors

from git_boocode import __version__
from git_boocode.cli.candidates import agents, paths
from git_boocode.cli.options import (
    AFTER_DASHES,
    DIRECTORY,
    JSON,
    OUTPUT,
    Option,
    add_output_options,
    change_directory,
    output_options,
    set_output_options,
)
from git_boocode.cli.output import print_text
from git_boocode.repo.errors import (
    EXIT_USAGE,
    NEEDS,
    ArgumentError,
    FatalError,
    UsageError,
    shortened,
)
from git_boocode.repo.ids import MOST_DIGITS

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# The options for help are our own: click's would not notice that standard output is full.
SETTINGS: dict[str, Any] = {"help_option_names": [], "max_content_width": 100}

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def option(spelling: str, help_: str, name: str = "", **more: Any) -> Decorator:  # noqa: ANN401 - click's
    """A decorator that gives a command an `Option`; `more` are click's own settings."""
    return _decorator(Option(spelling, help_, name), **more)


def _decorator(option: Option, **more: Any) -> Decorator:  # noqa: ANN401 - click's
    return click.option(*option.names, option.parameter, **_settings(option), **more)


def _settings(option: Option) -> dict[str, Any]:
    is_flag = None if option.metavar else True
    return {"help": option.help, "metavar": option.metavar or None, "is_flag": is_flag}


def gathered(parameter: str, make: Callable[..., object], *options: Decorator) -> Decorator:
    """A decorator that gives a command some options, of which `make` makes one argument."""
    names = signature(make).parameters

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def with_argument(**given: Any) -> Any:  # noqa: ANN401 - click's
            made = make(**{name: given.pop(name) for name in names if name in given})
            return command(**given, **{parameter: made})

        decorated: Callable[..., Any] = with_argument
        for each in reversed(options):
            decorated = each(decorated)
        return decorated

    return decorate


def _set_json(_: click.Context, __: click.Parameter, wanted: bool) -> None:
    # Until the command line is parsed, a `--json` may be an argument of another command.
    set_output_options(output_options()._replace(as_json=wanted))


json_option = _decorator(JSON, expose_value=False, callback=_set_json)


class GitHelpFormatter(click.HelpFormatter):
    """Writes usage lines in git's spelling: `usage: git boocode COMMAND …`."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """Write a usage line."""
        super().write_usage(prog, args, prefix or "usage: ")


class GitContext(click.Context):
    """A context whose help is formatted as git's."""

    formatter_class = GitHelpFormatter


def _print_help(context: click.Context, option: click.Parameter, wanted: bool) -> None:
    """Print help, or open the manual page; the exit code for `-h` is 129, as for git's commands."""
    if not wanted or context.resilient_parsing:
        return
    if option.opts == ["--help"] and sys.stdout.isatty():
        import_module(COMMANDS["help"].module).open_page("".join(context.command_path.split()[2:3]))
    print_text(context.get_help())
    context.exit(EXIT_USAGE if option.opts == ["-h"] else 0)


def _add_output_option(_: click.Context, option: click.Parameter, wanted: bool) -> None:
    if wanted:
        add_output_options((option.name or "",))


def _with_common(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments that make a command or group, and the options that all have."""
    output = (
        click.Option(
            [*each.names, each.parameter],
            expose_value=False,
            callback=_add_output_option,
            **_settings(each),
        )
        for each in OUTPUT
    )
    help_options = (
        click.Option(
            [name],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            hidden=name == "-h",
            help="Open the manual page.",
            callback=_print_help,
        )
        for name in ("-h", "--help")
    )
    return {
        "options_metavar": "[<options>]",
        **arguments,
        "params": [*(arguments.get("params") or []), *output, *help_options],
        "context_settings": {**SETTINGS, **(arguments.get("context_settings") or {})},
    }


def misused(message: str, *hints: str, context: click.Context | None = None) -> click.UsageError:
    """The error of a command that is called wrongly; by default, the one that is running."""
    error = click.UsageError(message, context or click.get_current_context())
    error.hints = hints  # type: ignore[attr-defined]
    return error


class Command(click.Command):
    """A command with `-h` and usage lines as git's.

    `surplus` makes the hint for an unexpected argument.
    """

    context_class = GitContext
    # Unexpected arguments are reported here, not by click.
    allow_extra_args = True

    def __init__(
        self,
        *args: Any,  # noqa: ANN401 - click's own signature
        surplus: Callable[[str], str] | None = None,
        **kwargs: Any,  # noqa: ANN401 - click's own signature
    ) -> None:
        self._surplus = surplus
        super().__init__(*args, **_with_common(kwargs))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse, and note how many arguments follow `--`, which click forgets."""
        if "--" in args:
            ctx.meta[AFTER_DASHES] = len(args) - args.index("--") - 1
        # Otherwise click does not know whose usage line belongs to an option without its value.
        with augment_usage_errors(ctx):
            rest = super().parse_args(ctx, args)
        if rest and not ctx.resilient_parsing:
            hints = [self._surplus(rest[0])] if self._surplus and rest[0] else []
            raise misused(f"unexpected argument '{rest[0]}'", *hints, context=ctx)
        return rest

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - click's own signature
        """Call the command, and report invalid arguments of its service by the options' names."""
        try:
            return super().invoke(ctx)
        except ArgumentError as error:
            options = {}
            for parameter in self.params:
                if isinstance(parameter, click.Option):
                    typed = max(parameter.opts, key=len)
                    options[parameter.name] = options[typed.lstrip("-").replace("-", "_")] = typed
            quote = str if error.problem == NEEDS else "'{}'".format
            names = [quote(options[name]) if name in options else name for name in error.names]
            combined = len(names) > 1 and error.problem != NEEDS
            plural = "options " if combined and options.keys() >= {*error.names} else ""
            raise click.UsageError(plural + error.problem.format(*names), ctx) from None


def _command(function: Callable[..., int], options: Iterable[Option]) -> Command:
    """A command with options that are also read without click, and with paths."""
    more: dict[str, Any] = {
        "agent": {"shell_complete": agents},
        "meta": {"multiple": True, "callback": pairs},
        JSON.parameter: {"expose_value": False, "callback": _set_json},
    }
    path_type = click.Path(readable=False)
    made = click.argument("paths", nargs=-1, type=path_type, metavar="[--] [<path>...]")(function)
    for each in reversed([*options]):
        made = _decorator(each, **more.get(each.parameter, {}))(made)
    return click.command(cls=Command)(made)


def pairs(_: click.Context, option: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    """A callback of an option that takes a key with a value, several times."""
    found = {}
    for pair in given:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise click.BadParameter(f"'{pair}' is not of the form {option.metavar}")
        found[key] = value
    return found


class AtLeast(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """A whole number of at least `least`; click's own range is no more than "x>=1" to a user."""

    name = "integer"

    def __init__(self, least: int) -> None:
        self.least = least

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401 - click's own signature
        """Read the number (click.BadParameter)."""
        shown = shortened(str(value))
        # Python 3.11 and newer convert no more than 4,300 digits.
        if len(str(value)) > MOST_DIGITS:
            raise click.BadParameter(f"'{shown}' is longer than {MOST_DIGITS} digits", ctx, param)
        with suppress(ValueError):
            if (number := int(value)) >= self.least:
                return number
        wanted = f"a whole number of at least {self.least}"
        raise click.BadParameter(f"'{shown}' is not {wanted}", ctx, param)


class CommandInfo(NamedTuple):
    """An entry of the table of commands: where it is defined, and its line in the list."""

    module: str
    attribute: str
    summary: str


class LazyGroup(click.Group):
    """A group that imports a command's module only when that command is called."""

    context_class = GitContext

    def __init__(self, *args: Any, entries: dict[str, CommandInfo], **kwargs: Any) -> None:  # noqa: ANN401
        super().__init__(*args, **_with_common(kwargs))
        self.entries = entries

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse; click before 8.2 prints help if the command is missing."""
        if not args and not ctx.resilient_parsing:
            raise UsageError("no command given", usage=ctx.get_help())
        with augment_usage_errors(ctx):
            return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in their own order."""
        return list(self.entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        entry = self.entries.get(cmd_name)
        if entry is None:
            return None
        module = import_module(entry.module)
        found = getattr(module, entry.attribute)
        return found if isinstance(found, click.Command) else _command(found, module.OPTIONS)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Offer the commands without importing them, and options."""
        from click.shell_completion import CompletionItem

        commands = (item for item in self.entries.items() if item[0].startswith(incomplete))
        found = [CompletionItem(name, help=each.summary.rstrip(".")) for name, each in commands]
        return found + click.Command.shell_complete(self, ctx, incomplete)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the arguments name, or hint at the one that may be meant."""
        name = args[0]
        if name not in self.entries and not name.startswith("-"):
            from git_boocode.cli.synonyms import command_hints

            hints = command_hints(ctx.info_name or "", name, self.entries)
            if name in TOPICS:
                hints = (f"'git boocode help {name}' opens that page",)
            hints = hints or (f"'{ctx.command_path} -h' lists the commands",)
            raise misused(f"'{name}' is not a {ctx.command_path} command", *hints, context=ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them, those of git boocode by what they are for."""
        summaries = {name: entry.summary for name, entry in self.entries.items()}
        groups = GROUPS if self.entries is COMMANDS else {"Commands": summaries}
        # All in one column, as in one table.
        width = max(map(len, summaries))
        for title, group in groups.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), group[name]) for name in group])


GROUPS = {
    "Go back": {
        "log": "List the checkpoints, newest first.",
        "show": "Show a checkpoint and what it changes.",
        "diff": "Compare a checkpoint with the worktree.",
        "restore": "Take files, staging and conversation back.",
        "revert": "Take back what turns changed, and keep all other work.",
        "pick": "Do here what turns changed elsewhere or before.",
        "fork": "Try a turn again in a worktree of its own.",
        "undo": "Undo the latest restore.",
        "redo": "Redo a restore that was undone.",
        "view": "Show all turns as a page in the browser.",
        "blame": "Show which turn wrote each line of a file.",
        "attribute": "Note which turns wrote the lines of commits.",
    },
    "Record": {
        "checkpoint": "Record the worktree and the staging area.",
        "run": "Take a checkpoint, then run a command.",
        "status": "Show proposals, hooks and checkpoints at a glance.",
    },
    "Edit": {
        "apply-edit": "Apply a model's edit although it has drifted.",
        "read": "Print the lines of a file and the version to edit.",
        "rewind": "Undo an applied edit, although the files have changed since.",
    },
    "Proposals for editors": {
        "propose": "Store a model's edits beside the files.",
        "preview": "Print a file as it is proposed.",
        "accept": "Write what is proposed to the files.",
        "discard": "Drop what is proposed.",
        "sync": "Make the files the context of a proposal.",
        "turn": "Mark a model's turn as running.",
    },
    "Agents and hooks": {
        "hooks": "Have agents and git take checkpoints themselves.",
        "serve": "Serve editors and agents by the Model Context Protocol.",
        "tools": "Print the edit formats as tools for a model.",
    },
    "Share and keep": {
        "push": "Push checkpoints to a remote.",
        "fetch": "Fetch checkpoints from a remote.",
        "drop": "Delete checkpoints by name.",
        "prune": "Delete checkpoints that are too old or too many.",
        "doctor": "Repair what interrupted commands left behind.",
        "uninstall": "Remove hooks, checkpoints, settings and private files.",
    },
    "Plumbing": {
        "locate": "Find where drifted text occurs in a file.",
        "hook": "Take the checkpoint of a turn; hooks call it.",
        "demo": "Show the main jobs in a scratch repository.",
        "completion": "Print the completion script of a shell.",
        "help": "Open the manual page of a command.",
        "version": "Print the version.",
    },
}
"""The commands and their lines in lists, by what they are for; what is used daily comes first."""
# Commands that are in the module of another one; the module of `hook` itself is free of click.
_MODULES = {
    "locate": "apply_edit",
    "undo": "restore",
    "redo": "restore",
    "pick": "revert",
    "discard": "accept",
    "sync": "accept",
    "preview": "propose",
    "turn": "propose",
    "blame": "show",
    "drop": "prune",
    "fetch": "push",
    "version": "help",
    "tools": "tool_definitions",
    "hook": "hooks",
}
COMMANDS = {
    name: CommandInfo(f"git_boocode.cli.{_MODULES.get(name, function)}", function, summary)
    for group in GROUPS.values()
    for name, summary in group.items()
    for function in (name.replace("-", "_"),)
}
# As a function, it would hide Python's own.
COMMANDS["help"] = COMMANDS["help"]._replace(attribute="help_")
# Manual pages that describe no command, and their section.
_TOPICS = "json callback editors formats compatibility faq troubleshooting internals"
TOPICS = dict.fromkeys(_TOPICS.split(), "7")


def _print_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        print_text(f"git-boocode version {__version__}")
        context.exit(0)


def _change_directory(_: click.Context, __: click.Parameter, directories: tuple[str, ...]) -> None:
    change_directory(directories)


@click.group(cls=LazyGroup, entries=COMMANDS, subcommand_metavar="<command> [<args>]")
@_decorator(
    DIRECTORY,
    multiple=True,
    expose_value=False,
    callback=_change_directory,
    shell_complete=paths,
)
@option(
    "--version", "Print the version.", is_eager=True, expose_value=False, callback=_print_version
)
def boocode() -> None:
    """Apply a model's drifted edits, and checkpoint the worktree, in plain git."""


def commands_of(name: str) -> Iterator[tuple[str, click.Command]]:
    """A command of the table, or the commands of a group."""
    command = boocode.get_command(click.Context(boocode), name)
    assert command is not None
    if not isinstance(command, LazyGroup):
        yield name, command
        return
    for inner in command.entries:
        found = command.get_command(click.Context(command), inner)
        assert found is not None
        yield f"{name} {inner}", found


def dispatch(argv: list[str]) -> int:
    """Run the command that the arguments name and return its exit code (BoocodeError)."""
    # Not click's own `main`: it would handle a closed pipe and other system errors itself.
    try:
        with boocode.make_context("git boocode", list(argv)) as context:
            result = boocode.invoke(context)
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.UsageError as error:
        raise _usage_error(error) from None
    except click.ClickException as error:
        raise FatalError(error.format_message(), code="fatal") from None
    return result if isinstance(result, int) else 0


def _usage_error(error: click.UsageError) -> UsageError:
    message = error.format_message().strip()
    usage = error.ctx.get_usage() if error.ctx else "usage: git boocode <command> [<args>]"
    hints: tuple[str, ...] = getattr(error, "hints", ())
    if isinstance(error, click.NoSuchOption):
        message = f"unknown option '{error.option_name}'"
        hints = _option_hints(error)
    elif isinstance(error, click.BadOptionUsage):
        message = message.replace("requires an argument", "requires a value")
        message = message.replace("does not take a value", "takes no value")
    sentence = message[:1].lower() + message[1:].removesuffix(".")
    return UsageError(sentence, usage=usage, hints=hints)


def _option_hints(error: click.NoSuchOption) -> tuple[str, ...]:
    """What to use instead of an option that does not exist."""
    from git_boocode.cli.synonyms import OPTION_HINTS, most_similar

    command = error.ctx.command if error.ctx else None
    if error.option_name == "--json" and command is boocode:
        return ("it goes after the command: git boocode <command> --json",)
    near = most_similar(error.option_name, error.possibilities or ())
    path = error.ctx.command_path if error.ctx else "git boocode"
    hint = f"the most similar option is: {near}" if near else f"'{path} -h' lists the options"
    return OPTION_HINTS.get((command.name or "" if command else "", error.option_name), (hint,))


def split_at_dashes(arguments: Sequence[str]) -> tuple[list[str], list[str] | None]:
    """The arguments of the running command before `--`, and those after it; None without it."""
    after: int | None = click.get_current_context().meta.get(AFTER_DASHES)
    if after is None:
        return [*arguments], None
    count = len(arguments) - after
    return [*arguments[:count]], [*arguments[count:]]


def refuse_together(*given: tuple[str, object]) -> None:
    """Refuse options and arguments of which only one may be given, as git does (UsageError).

    Each comes with its name and whether it is given.
    """
    names = [f"'{name}'" if name.startswith("-") else name for name, value in given if value]
    if len(names) > 1:
        *first, last = names
        options = "options " if all(name.startswith("'") for name in names) else ""
        raise click.UsageError(f"{options}{', '.join(first)} and {last} cannot be used together")
