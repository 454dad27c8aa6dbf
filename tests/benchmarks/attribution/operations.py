"""What turns and people do in a random history, with nothing of others coming in."""

from __future__ import annotations

import re

from tests.benchmarks.attribution.history import History
from tests.benchmarks.attribution.place import Place


def turn(history: History, place: Place | None = None) -> None:
    """A turn that edits, now and then commits, and ends."""
    place = place or history.here
    identifier = history.begin(place)
    history.edit(place, identifier)
    if place is history.here and history.chance(0.2):
        history.commit("commit in a turn", states=True)
        history.edit(place, identifier)
    history.end(identifier, place)


def turn_without_end(history: History) -> None:
    """A turn whose end nobody records, as of a checkpoint taken by a command."""
    identifier = history.begin()
    history.edit(history.here, identifier)
    if history.chance(0.4):
        history.commit("commit in a turn without end")
        history.edit(history.here, identifier)
    history.leave(identifier)


def turn_of_commits(history: History) -> None:
    """A turn that makes several commits, amends one, and formats, in any order."""
    operation = "several commits in a turn"
    identifier = history.begin()
    for _ in range(history.random.randint(2, 4)):
        history.edit(history.here, identifier)
        if history.chance(0.2):
            history.reformat(history.here, identifier)
        history.pass_time()
        if history.chance(0.25) and not history.here.is_clean():
            history.here.git("commit", "-qa", "--amend", "-m", f"amended {history.number}")
            history.made("amend in a turn")
        else:
            history.commit(operation, states=True)
    if history.chance(0.3):
        history.edit(history.here, identifier)
    history.end(identifier)


def turn_of_new_files(history: History) -> None:
    """A turn that writes only new files, and may commit them before it ends."""
    operation = "new files of a turn"
    identifier = history.begin()
    for _ in range(history.random.randint(1, 3)):
        history.new_file(history.here, identifier, operation)
    if history.chance(0.6):
        history.commit(operation, states=True)
    if history.chance(0.8):
        history.end(identifier)
    else:
        history.leave(identifier)


def turn_with_renames(history: History) -> None:
    """A turn that renames files and edits them before or after."""
    identifier = history.begin()
    operation = "rename in a turn"
    for old in history.random.sample(history.here.paths(), 2):
        history.number += 1
        new = f"renamed/{history.number}.txt"
        history.truth.renamed(old, new)
        if history.chance(0.5):
            history.edit(history.here, identifier, operation, [old])
        history.here.write(new, history.here.read(old))
        (history.here.top / old).unlink()
        if history.chance(0.7):
            history.edit(history.here, identifier, operation, [new])
    if history.chance(0.4):
        history.commit(operation, states=True)
    history.end(identifier)


def two_sessions(history: History) -> None:
    """Turns of two sessions at the same time, of which tool calls are recorded."""
    operation = "two sessions"
    turns = [history.begin(session=each) for each in ("s1", "s2")]
    for _ in range(history.random.randint(3, 5)):
        identifier = history.random.choice(turns)

        def work(identifier: str = identifier) -> None:
            history.edit(history.here, identifier, operation)
            if history.chance(0.3):
                history.commit(operation)

        history.call(identifier, work)
        history.pass_time()
        if history.chance(0.3):
            history.edit(history.here, "", "by hand beside two sessions")
    for identifier in history.random.sample(turns, 2):
        history.end(identifier)


def by_hand(history: History) -> None:
    """A person edits, or writes a file."""
    history.by_hand()
    if history.chance(0.2):
        history.new_file(history.here, "")


def commit(history: History) -> None:
    """Everything is committed, and the state before recorded as by a hook, or not."""
    history.commit("commit", states=True)


def commit_some_files(history: History) -> None:
    """One file is committed."""
    changed = history.here.git("diff", "--name-only", "--diff-filter=M").split()
    if changed:
        history.here.git("add", history.random.choice(changed))
        history.here.git("commit", "-qm", "part")
        history.made("commit of some files")


def commit_some_hunks(history: History) -> None:
    """Some hunks are committed, as by `git add -p`."""
    diff = history.here.git("diff", "-U0", "--diff-filter=M")
    chosen = ""
    for patch in re.split(r"^(?=diff --git )", diff, flags=re.MULTILINE)[1:]:
        head, *hunks = re.split(r"^(?=@@ )", patch, flags=re.MULTILINE)
        some = [hunk for hunk in hunks if history.chance(0.5)]
        chosen += head + "".join(some) if some else ""
    staged = ("apply", "-q", "--cached", "--unidiff-zero")
    if chosen and history.here.attempt(*staged, stdin=chosen.encode()):
        history.here.git("commit", "-qm", "hunks")
        history.made("commit of some hunks")


def reformatted(history: History) -> None:
    """A formatter runs, and everything is committed."""
    history.settle()
    history.reformat(history.here, "", "formatter")
    history.commit("formatter")


def amend(history: History) -> None:
    """A person edits and amends the last commit."""
    history.by_hand()
    history.here.git("commit", "-qa", "--amend", "-m", f"amended {history.number}")
    history.made("amend")


def squash(history: History) -> None:
    """The last two commits become one."""
    history.commit("commit")
    if history.here.depth() > 3:
        history.here.git("reset", "-q", "--soft", "HEAD~2")
        history.here.git("commit", "-qm", f"squashed {history.number}", "--allow-empty")
        history.made("squash by reset")


def rebase_interactively(history: History) -> None:
    """The last commits are reordered, squashed, fixed up or edited, in a turn or by hand."""
    operation = "rebase -i"
    history.settle()
    history.commit("commit")
    identifier = history.begin() if history.chance(0.4) else ""
    if identifier:
        history.edit(history.here, identifier)
        history.commit("commit in a turn")
    count = min(history.here.depth() - 2, 4)
    if count > 1:
        listed = history.here.git("rev-list", "--reverse", f"HEAD~{count}..HEAD").split()
        if history.chance(0.4):
            listed[-1], listed[-2] = listed[-2], listed[-1]
        words = ("pick", "pick", "squash", "fixup", "edit")
        todo = [
            f"{history.random.choice(words) if at else 'pick'} {each}\n"
            for at, each in enumerate(listed)
        ]
        (history.top / "todo").write_text("".join(todo))
        history.here.git("config", "sequence.editor", f"cp '{history.top}/todo'")
        done = history.here.attempt("rebase", "-q", "-i", f"HEAD~{count}", GIT_EDITOR="true")
        while done and (history.here.top / ".git/rebase-merge").exists():
            history.edit(history.here, identifier)
            history.here.git("commit", "-qa", "--amend", "--no-edit")
            done = history.here.attempt("rebase", "--continue", GIT_EDITOR="true")
        if not done:
            history.here.attempt("rebase", "--abort")
    history.made(operation)
    if identifier:
        history.end(identifier)


def _upstream(history: History) -> str:
    """A commit of somebody else on the commit before the last one."""
    history.settle()
    history.commit("commit")
    base = "HEAD~1" if history.here.depth() > 1 else "HEAD"
    history.here.git("checkout", "-q", "--detach", base)
    path = history.random.choice(history.here.paths())
    lines = history.here.read(path)
    first, last = (history.line(history.here, path, "") for _ in range(2))
    history.here.write(path, [first, *lines, last])
    history.commit("upstream")
    return history.here.head()


def rebase(history: History) -> None:
    """The last commit is put on somebody else's."""
    upstream = _upstream(history)
    history.here.git("checkout", "-q", "main")
    if history.here.attempt("rebase", "-q", upstream):
        history.made("rebase")
    else:
        history.here.attempt("rebase", "--abort")


def cherry_pick(history: History) -> None:
    """The last commit is picked on somebody else's."""
    _upstream(history)
    if not history.here.attempt("cherry-pick", "main"):
        history.here.attempt("cherry-pick", "--abort")
    history.made("cherry-pick of turns")
    if history.chance(0.5):
        history.here.git("branch", f"picked-{history.number}")
    history.here.git("checkout", "-q", "main")


def merge_squash(history: History) -> None:
    """Two turns on a branch become one commit on main, where somebody else worked."""
    history.settle()
    history.commit("commit")
    topic = f"topic-{history.number}"
    history.here.git("checkout", "-q", "-b", topic)
    for _ in range(2):
        turn(history)
        history.commit("commit")
    history.here.git("checkout", "-q", "main")
    history.by_hand()
    history.commit("commit")
    if history.here.attempt("merge", "-q", "--squash", topic):
        history.commit("merge --squash of turns", states=True)
    else:
        history.here.git("reset", "-q", "--hard")


OPERATIONS = (
    *(turn,) * 5,
    *(by_hand, commit, commit_some_files, amend) * 2,
    *(turn_without_end, turn_of_commits, turn_of_new_files, turn_with_renames),
    *(two_sessions, commit_some_hunks, reformatted),
    *(squash, rebase, rebase_interactively, cherry_pick, merge_squash),
)
