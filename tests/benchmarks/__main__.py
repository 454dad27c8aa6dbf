"""`python -m tests.benchmarks NAME [ARGUMENT…]`: run one benchmark; without a name, list them."""

from __future__ import annotations

import os
import sys
from importlib import import_module

BENCHMARKS = {
    "startup": "what git-boocode's own start costs, against the bare interpreter and click",
    "checkpoints": "checkpoint and restore, against git status and the plain shell recipe",
    "revert": "a turn taken back beside a restore of the same files, and an idle hook",
    "hooks": "what a hook costs at every turn, beside a checkpoint and the bare interpreter",
    "proposals": "status of a proposal beside git status, propose and accept beside git commit",
    "server": "the server's start, edits, searches and checkpoints, beside one-shot commands",
    "budget": "a disk budget over 5,000 turns: what is kept, and what the repository takes",
    "refs": "ten thousand checkpoints beside git's own commands, packed, loose and in reftables",
    "sharing": "very many checkpoints on one remote: push, fetch, and git's own work beside them",
    "secrets": "secrets found before a push, innocent texts let through, and what it costs",
    "accuracy": "drifted edits: how many land byte for byte, kind by kind",
    "patches": "whole-file edits in every format and drift, beside git apply and GNU patch",
    "attribution": "lines of commits beside their known turns, over random histories",
    "view": "a page of 1,000 turns, beside git log -p over as many commits",
    "hops": "modules and hops of one edit, from standard input to the answer",
    "speed": "drifted edits in files of many sizes, against one pass of str.strip over the lines",
}


def main() -> int:
    """Run the benchmark that the command line names."""
    name, *arguments = sys.argv[1:] or [""]
    if name not in BENCHMARKS:
        for known, about in BENCHMARKS.items():
            print(f"{known:<12} {about}")
        return 0 if not name else 2
    # As it is installed: nobody compiles the program anew for every command.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    import_module(f"tests.benchmarks.{name}").run(arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main())
