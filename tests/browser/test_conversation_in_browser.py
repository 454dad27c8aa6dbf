"""The conversation of a turn on the page, in a real browser."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.agents.kit import fire, prompted
from tests.browser.kit import PHONE, Browser, served
from tests.repo_kit import Repo

pytestmark = pytest.mark.slow

HOSTILE = "</script><img src=x onerror=alert(1)><!--\u202e\x1b[2J<b>&amp;"
TOKEN = f"ghp_{'a1B2' * 9}"
WIDE = (1800, 900)
PROMPT = "Count the rows\n\nand do not forget the last one"


@pytest.fixture
def transcript(repo: Repo, sealed: Path) -> Path:
    """A session of Claude Code with two turns."""
    path = sealed / ".claude/projects/shop/s1.jsonl"
    path.parent.mkdir(parents=True)
    repo.commit(a="a\n")

    def turn(identifier: str, prompt: str, *said: tuple[str, object]) -> None:
        told = {"prompt_id": identifier, "transcript_path": str(path)}
        begun = prompted(repo, prompt=prompt, **told)
        fire(repo, "claude-code", "UserPromptSubmit", payload=begun)
        rows = ({"type": role, "message": {"role": role, "content": text}} for role, text in said)
        with path.open("a") as file:
            file.writelines(f"{json.dumps(row)}\n" for row in rows)
        repo.write(identifier, "new\n")
        fire(repo, "claude-code", "Stop", payload=prompted(repo, **told))

    call = {"type": "tool_use", "id": "c", "name": "Bash", "input": {"command": "make all"}}
    result = {"type": "tool_result", "tool_use_id": "c", "content": f"built {HOSTILE}\nall"}
    turn(
        *("one", PROMPT, ("user", PROMPT)),
        ("assistant", [{"type": "text", "text": f"I *count*. {HOSTILE}"}, call]),
        ("user", [result]),
        ("assistant", f"Done with {TOKEN}. " + "x" * 5000),
    )
    turn("two", "Go on", ("user", "Go on"))
    return path


def test_it_loads_on_demand(page: Browser, repo: Repo, transcript: Path) -> None:
    with served(repo.top) as url:
        page.open(url)
        page.until(lambda: len(page.all(".row")) == 2)
        page.until(lambda: page.all(".row")[1]).click()
        summary = page.one(".conversation > summary")
        assert page.texts(".said .text") == []
        assert (page.one("#turn h2").text, page.one(".prompt").text) == ("Count the rows", PROMPT)
        summary.click()
        page.until(lambda: len(page.texts(".said .text")) == 3)
        # It begins with the prompt, which need not be there twice.
        assert page.all(".prompt") == []
        first, second, third = page.texts(".said .text")
        assert first == PROMPT
        assert second == (
            "I *count*. </script><img src=x onerror=alert(1)><!--⟨U+202E⟩␛[2J<b>&amp;"
        )
        assert "⟨masked: GitHub token⟩" in third
        assert len(third) < 2000
        assert page.texts(".said-facts") == ["3 messages, 1 tool"]
        assert page.texts(".said > .remark") == ["1 secret masked."]
        page.one("button.all").click()
        assert page.texts(".said .text")[2].endswith("x" * 5000)
        [tool] = page.texts(".said details.tool > summary")
        assert tool.startswith("Bashmake all\nbuilt </script>") or "make all" in tool
        page.one(".said details.tool > summary").click()
        page.until(lambda: page.texts(".tool .key") == ["command", "Result"])
        assert page.texts(".tool .text")[0] == "make all"
        # While the turn is drawn again, what the reader has opened stays so.
        assert repo.boocode("revert", "@~1").code == 0
        page.until(lambda: "reverted" in page.one("#turn").text)
        assert page.texts(".tool .key") == ["command", "Result"]
        # What the reader has opened is open in the next turn.
        page.until(lambda: page.all(".row")[0]).click()
        page.until(lambda: page.texts(".said .text") == ["Go on"])
        transcript.unlink()
        page.until(lambda: page.all(".row")[1]).click()
        page.until(lambda: any("does not exist" in each for each in page.texts(".said > .remark")))


def test_it_is_beside_the_diff_in_a_wide_pane(page: Browser, repo: Repo, transcript: Path) -> None:
    with served(repo.top) as url:
        page.open(url, WIDE)
        page.until(lambda: len(page.all(".row")) == 2)
        page.until(lambda: page.all(".row")[1]).click()
        page.until(lambda: len(page.texts(".said .text")) == 3)
        beside, changes = page.one(".conversation").rect, page.one(".changes").rect
        assert beside["x"] >= changes["x"] + changes["width"]
        page.look(PHONE)
        above, below = page.one(".conversation").rect, page.one(".changes").rect
        assert above["y"] + above["height"] <= below["y"]
        assert page.run("return document.documentElement.scrollWidth") <= PHONE[0]


def test_a_written_page_has_it_only_if_asked(page: Browser, repo: Repo, transcript: Path) -> None:
    path = repo.top / ".git/page.html"
    assert repo.boocode("view", "-o", str(path)).code == 0
    assert "I *count*" not in path.read_text()
    page.open(path.as_uri())
    page.all(".row")[1].click()
    page.one(".conversation > summary").click()
    [command] = page.until(lambda: page.texts(".said code"))
    assert repo.boocode(*command.split()[2:]).code == 0
    assert repo.boocode("view", "--conversation", "-o", str(path)).code == 0
    assert TOKEN not in path.read_text()
    page.open(path.as_uri())
    page.all(".row")[1].click()
    page.one(".conversation > summary").click()
    assert page.until(lambda: page.texts(".said .text")[0]) == PROMPT
