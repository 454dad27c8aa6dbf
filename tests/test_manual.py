"""The manual pages are complete, and as `python -m man.generate` writes them."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from git_boocode import __version__
from git_boocode.cli.framework import COMMANDS, commands_of
from man.generate import PAGES, TOP, page, path_of, source_of
from tests.repo_kit import Repo

ALL_COMMANDS = {name: found for each in COMMANDS for name, found in commands_of(each)}


def text_of(name: str) -> str:
    return path_of(name).read_text(encoding="utf-8")


def plain(name: str) -> str:
    """A page without what roff does to hyphens and fonts."""
    return re.sub(r"\\f[BIR]", "", text_of(name)).replace("\\-", "-")


def test_every_page_is_what_its_source_says() -> None:
    outdated = [name for name in PAGES if text_of(name) != page(name)]
    assert not outdated, "python -m man.generate writes the pages"


def test_every_page_and_source_is_known() -> None:
    assert sorted((TOP / "man").glob("man*/*")) == sorted(map(path_of, PAGES))
    assert sorted((TOP / "man").glob("*.md")) == sorted(map(source_of, PAGES))


def test_every_option_is_described() -> None:
    for name, command in ALL_COMMANDS.items():
        described = plain(f"git-boocode-{name.split(maxsplit=1)[0]}.1")
        assert f"\ngit boocode {name} " in described.split('.SH "DESCRIPTION"')[0], name
        options = described.split('.SH "OPTIONS"\n')[1].split("\n.SH")[0]
        if " " in name:
            options = options.split(f'.SS "{name}"')[1].split("\n.SS")[0]
        for parameter in command.params:
            if isinstance(parameter, click.Option) and not parameter.hidden:
                value = f" {parameter.metavar}" if parameter.metavar else ""
                terms = ", ".join(f"{option}{value}" for option in parameter.opts)
                found = re.search(rf"^\.TP\n{re.escape(terms)}\n[A-Z]", options, re.MULTILINE)
                assert found, (name, terms)


def test_pages_name_the_commands_without_json() -> None:
    without = sorted(
        name
        for name, command in ALL_COMMANDS.items()
        if name in COMMANDS and not any("--json" in each.opts for each in command.params)
    )
    *first, last = without
    named = f"Every command except {', '.join(first)} and {last} accepts --json"
    for name in ("git-boocode.1", "git-boocode-json.7"):
        assert named in plain(name), name


def test_every_page_has_its_sections() -> None:
    for name, subject in PAGES.items():
        headings = re.findall(r'^\.SH "(.+)"$', text_of(name), re.MULTILINE)
        assert headings[:3] == ["NAME", "SYNOPSIS", "DESCRIPTION"], name
        assert headings[-1] == "SEE ALSO", name
        assert len(set(headings)) == len(headings), name
        if subject in COMMANDS:
            assert (headings[3], headings[-2]) == ("OPTIONS", "EXAMPLES"), name
        assert f'"git-boocode {__version__}"' in plain(name).split("\n")[1], name


def test_links_lead_to_pages() -> None:
    for name in PAGES:
        for target, section in re.findall(r"\b(git-boocode(?:-[a-z-]+)?)\((\d)\)", plain(name)):
            assert f"{target}.{section}" in PAGES, f"{name}: {target}({section})"


def test_json_and_callback_are_reached_from_the_first_page() -> None:
    for name in PAGES:
        if name.endswith(".7"):
            assert name.replace(".7", "(7)") in plain("git-boocode.1")


def commands_in(name: str) -> Iterator[list[str]]:
    """The `git boocode …` lines of the examples of a page's source."""
    source = source_of(name).read_text(encoding="utf-8")
    begin = r"(?:^ {4,}(?:\$ )?|\| (?:xargs )?)"
    for line in re.findall(begin + r"git boocode (.+)$", source, re.MULTILINE):
        yield shlex.split(re.split(r" [|<>\\]", line)[0])


def test_examples_are_commands() -> None:
    refused = []
    for words in (words for name in PAGES for words in commands_in(name)):
        known = " ".join(words[:2]) if words[0] in ("hooks", "turn") else words[0]
        try:
            ALL_COMMANDS[known].make_context(known, words[len(known.split()) :])
        except click.UsageError as error:
            refused.append((words, error.format_message()))
    assert refused == []


@pytest.mark.slow
def test_every_page_is_clean_roff() -> None:
    if not shutil.which("man"):
        pytest.skip("there is no man on this machine")
    for name in PAGES:
        command = ["man", "--warnings", "-l", str(path_of(name))]
        done = subprocess.run(command, capture_output=True, text=True)
        if "unrecognized option" in done.stderr or "illegal option" in done.stderr:
            pytest.skip("this man cannot check a page")
        assert done.stderr == "", name
        assert "SEE ALSO" in done.stdout, name


def test_the_messages_that_troubleshooting_explains_exist() -> None:
    """In the code, or as a test expects them; without what differs from message to message."""
    text = (TOP / "man/troubleshooting.md").read_text(encoding="utf-8")
    ours = text.partition("# NOTHING IS RECORDED\n")[2].partition("# THE PROGRAM IS NOT FOUND\n")[0]
    messages = re.findall(r"^`(?!git )([^`]+)`\n: ", ours, re.MULTILINE)
    assert len(messages) > 30
    sources = [*(TOP / "git_boocode").rglob("*.py"), *(TOP / "tests").rglob("*.py")]
    known = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    known = re.sub(r"\"\n *f?\"", "", known) + "dubious ownership"
    for message in messages:
        pieces = [piece.strip(" '") for piece in re.split(r"<[^>]+>", message)]
        missing = [piece for piece in pieces if len(piece) > 3 and piece not in known]
        assert not missing, message


def test_every_setting_and_variable_is_described() -> None:
    files = [*(TOP / "git_boocode").rglob("*.py"), *(TOP / "hooks/callbacks").iterdir()]
    code = "\n".join(path.read_text(encoding="utf-8") for path in files if path.is_file())
    named = re.findall(r"[\"']((?:boocode\.[a-z][A-Za-z]+|GIT_BOOCODE_[A-Z]+))[\"']", code)
    described = "".join(map(plain, PAGES))
    assert len(set(named)) > 15
    assert [name for name in named if name not in described] == []


def test_the_callback_of_the_manual_works(repo: Repo, sealed: Path) -> None:
    source = (TOP / "man/callback.md").read_text(encoding="utf-8")
    [example] = re.findall(r"^    #!/usr/bin/env python3\n(?:    .*\n|\n(?=    ))+", source, re.M)
    lines = [line[4:] for line in example.split("\n")]
    assert len([line for line in lines if line]) <= 15
    callback = repo.write(".git/callback", "\n".join(lines), 0o755)
    chat = sealed / ".my-agent/c1.jsonl"
    chat.parent.mkdir()
    whole = "".join(f'{{"id": "m{number}"}}\n' for number in range(1, 5))
    chat.write_text(whole)
    repo.commit(a="one\n")
    repo.git("config", "boocode.callback", str(callback))
    whose = ("--agent", "my-agent", "--chat", "c1", "--message-id", "m3")
    repo.boocode("turn", "begin", *whose)
    repo.write("a", "two\n")
    repo.boocode("turn", "end")
    for command in (["restore", "@"], ["redo"]):
        done = repo.boocode(*command, "--json").json
        assert (done["ok"], done["messages_deleted"], repo.read("a")) == (True, 2, b"one\n")
        assert chat.read_text() == '{"id": "m1"}\n{"id": "m2"}\n'
        assert repo.boocode("undo", "--json").json["ok"]
        assert (chat.read_text(), repo.read("a")) == (whole, b"two\n")
    chat.write_text('{"id": "m1"}\n')
    refused = repo.boocode("restore", "@", "--json")
    assert (refused.code, refused.json["error"]["code"]) == (1, "vetoed")
    assert repo.read("a") == b"two\n"
    by_hand = repo.boocode("checkpoint").out.strip()
    repo.write("a", "three\n")
    assert repo.boocode("restore", by_hand).code == 0
    assert (chat.read_text(), repo.read("a")) == ('{"id": "m1"}\n', b"two\n")


@pytest.mark.slow
def test_internals_describes_the_keys_of_metadata(repo: Repo) -> None:
    text = (TOP / "man/internals.md").read_text(encoding="utf-8").split("# METADATA\n")[1]
    terms = re.findall(r"^(`.+`)\n: ", text.split("\n# ")[0], re.MULTILINE)
    described = {name for term in terms for name in re.findall(r"`(\w+)`", term)}
    repo.commit(a="one\n")
    repo.write("a", "two\n")
    repo.git("stash")
    repo.git("config", "boocode.exclude", "b")
    repo.boocode("checkpoint", "--agent", "me", "-m", "first")
    repo.write("a", "three\n")
    repo.boocode("checkpoint", "a")
    assert repo.boocode("restore", "@~1").code == 0
    refs = repo.git("for-each-ref", "--format=%(contents:body)%00", "refs/boocode").split("\0")
    found = {key for body in refs if body.strip() for key in json.loads(body)}
    assert {"restore", "partial", "stashes", "excluded"} < found
    assert found - described == set()


def test_the_sample_event_has_the_keys_of_a_real_one(repo: Repo) -> None:
    source = (TOP / "man/callback.md").read_text(encoding="utf-8")
    described = set(re.findall(r'^    [ {]"([a-z_]+)":', source.split("## prepare")[0], re.M))
    callback = repo.write(
        ".git/callback", "#!/bin/sh\ntee -a .git/events >/dev/null\necho {}\n", 0o755
    )
    repo.commit(a="one\n")
    repo.boocode("checkpoint")
    repo.write("a", "two\n")
    for command in (["restore", "@"], ["undo"]):
        assert repo.boocode(*command, "--callback", str(callback)).code == 0
    events = [json.loads(line) for line in repo.read(".git/events").splitlines()]
    assert [event["event"] for event in events] == ["prepare", "trim", "prepare", "undo"]
    for event in events:
        assert event.keys() == described
