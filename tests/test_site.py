"""The documentation as a site: complete, and every link in it leads somewhere."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import git_boocode
from git_boocode.agents.registry import AGENTS
from git_boocode.cli.framework import COMMANDS
from man.generate import TOP
from man.site.links import broken_links
from man.site.sources import SITE, places, write
from tests.links import broken
from tests.test_manual import ALL_COMMANDS


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All documents of the site, as Sphinx gets them."""
    directory = tmp_path_factory.mktemp("sources")
    write(directory)
    return directory


def test_every_document_is_in_the_table_of_contents(sources: Path) -> None:
    listed = set()
    for document in sources.rglob("*.md"):
        for tree in re.findall(r"^```{toctree}\n(.*?)^```", document.read_text(), re.M | re.S):
            for line in re.findall(r"^(?:.*<)?([\w*][\w/*-]*)>?$", tree, re.MULTILINE):
                listed |= {path.relative_to(sources) for path in sources.glob(f"{line}.md")}
    made = {path.relative_to(sources) for path in sources.rglob("*.md")}
    assert made - listed == {Path("index.md")}
    assert made == {Path(f"{place}.md") for place in places().values()}


def test_links_of_the_documents_lead_somewhere(sources: Path) -> None:
    assert list(broken(sources.rglob("*.md"), sources)) == []


def test_no_mark_is_left(sources: Path) -> None:
    for document in sources.rglob("*.md"):
        text = re.sub(r"^```.*?^```$", "", document.read_text(encoding="utf-8"), flags=re.M | re.S)
        assert not re.search(r"^@[a-z]", text, re.MULTILINE), document


def test_every_command_and_agent_is_shown(sources: Path) -> None:
    for name in COMMANDS:
        page = (sources / f"commands/{name}.md").read_text(encoding="utf-8")
        assert page.startswith(f"# git boocode {name}\n")
    shown = (sources / "guide/set-up-your-agent.md").read_text(encoding="utf-8")
    assert [name for name in AGENTS if f"| `{name}` |" not in shown] == []


def test_commands_of_the_guide_are_commands() -> None:
    """What it quotes of sessions is under test there."""
    for page in sorted((SITE / "guide").glob("*.md")):
        text = page.read_text(encoding="utf-8")
        found = re.findall(r"(?:^|`|(?<=\| )|(?<=\$ ))git boocode ([^`|#\n]+)", text, re.MULTILINE)
        assert found, page
        for words in map(shlex.split, found):
            name = " ".join(words[:2]) if words[0] in ("hooks", "turn") else words[0]
            assert name in ALL_COMMANDS, page
            if arguments := words[len(name.split()) :]:
                ALL_COMMANDS[name].make_context(name, arguments)


def test_every_key_of_every_answer_is_shown(sources: Path) -> None:
    page = (sources / "reference/json.md").read_text(encoding="utf-8")
    schemas = json.loads((TOP / "git_boocode/answers.json").read_text(encoding="utf-8"))
    objects = [*schemas["$defs"].values()]
    objects += [each for answer in schemas["answers"].values() for each in answer.values()]
    keys = {key for each in objects for key in each.get("properties", {})}
    assert len(keys) > 100
    assert [key for key in keys if f"\n| `{key}` |" not in page] == []


def test_the_whole_python_api_is_shown(sources: Path) -> None:
    page = (sources / "api.md").read_text(encoding="utf-8")
    shown = re.findall(r"auto(?:function|class|exception):: git_boocode\.(\w+)$", page, re.M)
    assert sorted(shown) == sorted(set(git_boocode.__all__) - {"__version__"})


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    """The build also checks every link of the pages, and that they load nothing from elsewhere."""
    if not importlib.util.find_spec("furo"):
        pytest.skip("the tools of the extra 'docs' are not installed")
    site = tmp_path / "site"
    command = [sys.executable, "-m", "man.site", str(site)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=TOP)
    assert (done.returncode, done.stderr) == (0, "")
    api = (site / "api.html").read_text(encoding="utf-8")
    assert [text for text in ("ForwardRef", "~git_boocode", "factory") if text in api] == []
    # A browser reads no other files from a file, so the words to search are in a script.
    assert "Search.setIndex(" in (site / "searchindex.js").read_text(encoding="utf-8")


def test_what_is_wrong_with_a_page_is_found(tmp_path: Path) -> None:
    page = '<h1 id="top"></h1><a href="{}">x</a>'
    for link in ("#top", "", "b.html", "b.html#top", "https://example.org/", "data:,"):
        (tmp_path / "a.html").write_text(page.format(link))
        (tmp_path / "b.html").write_text(page.format("a.html"))
        assert list(broken_links(tmp_path)) == [], link
    for link in ("#bottom", "b.html#bottom", "c.html", "b.htm"):
        (tmp_path / "a.html").write_text(page.format(link))
        assert [line.split()[1] for line in broken_links(tmp_path)] == [link]
    (tmp_path / "a.html").write_text('<script src="//cdn.example.org/x.js"></script>')
    (tmp_path / "a.css").write_text('@font-face { src: url("https://example.org/x.woff2") }')
    assert [line.split(" ", 1)[0] for line in broken_links(tmp_path)] == ["a.html:", "a.css"]
