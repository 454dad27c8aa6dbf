"""Hints for commands and options of other tools; loaded only when a hint is printed."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_ACCEPT = "'git boocode accept' writes what is proposed to the files"
_APPLY = "'git boocode apply-edit' applies a model's edit"
_ATTRIBUTE = "'git boocode attribute' notes which turns wrote the lines of commits"
_BEGIN = "'git boocode turn begin' takes a checkpoint and marks a turn as running"
_BLAME = "'git boocode blame <path>' shows which turn wrote each line"
_CHECKPOINT = "'git boocode checkpoint' records the worktree and the staging area"
_CONFIG = "'git config boocode.<name> <value>' changes a setting; 'git boocode help' lists them"
_DIFF = "'git boocode diff' shows what changed since the newest checkpoint"
_DISCARD = "'git boocode discard' drops what is proposed"
_DOCTOR = "'git boocode doctor' finds problems, and with --fix repairs them"
_DROP = "'git boocode drop <checkpoint>' deletes a checkpoint"
_END = "'git boocode turn end' ends the running turn"
_FETCH = "'git boocode fetch' fetches checkpoints from a remote"
_FORK = "'git boocode fork <turn>' makes a worktree in the state of a turn"
_HELP = "'git boocode help <command>' opens the manual page of a command"
_INSTALL = "'git boocode hooks install' has agents and git take checkpoints"
_LOG = "'git boocode log' lists the checkpoints"
_OVERVIEW = "'git boocode status' shows proposals, hooks, checkpoints and what was interrupted"
_PICK = "'git boocode pick <turn>' does here what a turn changed"
_PROPOSE = "'git boocode propose' stores a model's edits beside the files"
_PRUNE = "'git boocode prune' deletes checkpoints that are too old or too many"
_READ = "'git boocode read <path>' prints the lines of a file and its version"
_RESTORE = "'git boocode restore <checkpoint>' takes files, staging and conversation back"
_REVERT = "'git boocode revert <turn>' takes back what a turn changed, and keeps all other work"
_REVIEW = "'git boocode view <base>..<head>' shows the turns in a range of commits"
_RUNNING = "'git boocode turn status' shows the running turn"
_SERVE = "'git boocode serve --install <agent>' has an agent or editor start the MCP server"
_SHOW = "'git boocode show <checkpoint>' shows a checkpoint and what it changes"
_STATUS = "'git boocode hooks status' shows what is installed"
_UNINSTALL = "'git boocode hooks uninstall' removes what was installed"
_VIEW = "'git boocode view' shows all turns in the browser"

OF_BOOCODE = {
    **dict.fromkeys(("apply", "edit", "patch"), (_APPLY,)),
    **dict.fromkeys(("merge", "approve", "keep"), (_ACCEPT,)),
    **dict.fromkeys(("reject", "decline"), (_DISCARD,)),
    **dict.fromkeys(("suggest", "proposals", "stage"), (_PROPOSE,)),
    **dict.fromkeys(
        ("backup", "commit", "create", "save", "snapshot", "stash", "take"), (_CHECKPOINT,)
    ),
    **dict.fromkeys(("config", "set", "settings"), (_CONFIG,)),
    **dict.fromkeys(("compare", "changes"), (_DIFF,)),
    **dict.fromkeys(("check", "fix", "fsck", "repair", "verify"), (_DOCTOR,)),
    **dict.fromkeys(("delete", "forget", "remove", "rm"), (_DROP,)),
    **dict.fromkeys(("clean", "cleanup", "clear", "expire", "gc"), (_PRUNE, _DROP)),
    "pull": (_FETCH,),
    **dict.fromkeys(("man", "manual"), (_HELP,)),
    **dict.fromkeys(("enable", "init", "install", "setup"), (_INSTALL,)),
    "disable": (_UNINSTALL,),
    **dict.fromkeys(("checkpoints", "history", "list", "ls", "turns"), (_LOG,)),
    **dict.fromkeys(
        ("back", "checkout", "goto", "recover", "reset", "rollback", "switch"),
        (_RESTORE, _LOG),
    ),
    **dict.fromkeys(("take-back", "undo-turn", "unapply"), (_REVERT,)),
    **dict.fromkeys(("attempt", "branch", "clone", "retry", "worktree"), (_FORK,)),
    **dict.fromkeys(("cherry-pick", "reapply", "replay"), (_PICK,)),
    "cat": (_READ, _SHOW),
    "inspect": (_SHOW,),
    **dict.fromkeys(("browse", "gui", "instaweb", "timeline", "ui", "web"), (_VIEW,)),
    **dict.fromkeys(("pr", "review"), (_REVIEW,)),
    **dict.fromkeys(("annotate", "author", "who"), (_BLAME,)),
    **dict.fromkeys(("attribution", "note", "notes", "trace"), (_ATTRIBUTE,)),
    "agents": (_STATUS,),
    **dict.fromkeys(("daemon", "lsp", "mcp", "register", "server"), (_SERVE,)),
    **dict.fromkeys(("info", "overview"), (_OVERVIEW,)),
}

OF_HOOKS = {
    **dict.fromkeys(("add", "enable", "init", "setup"), (_INSTALL,)),
    **dict.fromkeys(("delete", "disable", "remove", "rm"), (_UNINSTALL,)),
    **dict.fromkeys(("list", "ls", "show"), (_STATUS,)),
}

OF_TURN = {
    **dict.fromkeys(("new", "start"), (_BEGIN,)),
    **dict.fromkeys(("cancel", "close", "done", "finish", "release", "stop"), (_END,)),
    **dict.fromkeys(("info", "show"), (_RUNNING,)),
}

_OF_GROUPS = {"hooks": OF_HOOKS, "turn": OF_TURN}

_SOURCE = "the checkpoint is the first argument: git boocode restore <checkpoint> [--] <path>..."

OPTION_HINTS = {
    **dict.fromkeys((("restore", "-s"), ("restore", "--source")), (_SOURCE,)),
    ("restore", "--before"): ("without --after, a turn is restored to before it",),
    ("prune", "--max-age"): ("the option is: --older-than <age>",),
}


# 'lgo' is meant as 'log', but 'frobnicate' not as 'locate', and '--bogus' not as '--verbose'.
_SIMILAR = 0.65


def most_similar(name: str, names: Iterable[str]) -> str:
    """The one of some names that is meant by a misspelt one, or an empty text."""
    return "".join(get_close_matches(name, names, n=1, cutoff=_SIMILAR))


def command_hints(group: str, name: str, commands: Iterable[str]) -> tuple[str, ...]:
    """What to type instead of a name that is not a command of a group."""
    known = _OF_GROUPS.get(group, OF_BOOCODE)
    if name in known:
        return known[name]
    if near := most_similar(name, commands):
        return (f"the most similar command is: {near}",)
    return next((known[word] for word in get_close_matches(name, known, n=1)), ())
