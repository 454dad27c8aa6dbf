"""The timeline of `git boocode view`, its overview, and how one moves in it, in a real browser."""

from __future__ import annotations

import re
from itertools import pairwise
from unicodedata import normalize

import pytest

from tests.agents.kit import Turns, fire, prompted
from tests.browser.kit import PHONE, WIDE, Browser, served
from tests.checkpoints.kit import take
from tests.repo_kit import Repo

pytestmark = pytest.mark.slow

ESCAPE, ENTER, RIGHT = "\ue00c", "\ue007", "\ue014"
LEFT_OF = "return document.querySelector(arguments[0]).getBoundingClientRect()"


def turn(repo: Repo, agent: str, number: int, **files: str) -> None:
    """A turn of an agent that writes files."""
    own = {"turn_id": str(number), "session_id": agent}
    payload = {**prompted(repo, prompt_id=str(number), prompt=f"Turn {number}"), **own}
    fire(repo, agent, "UserPromptSubmit", payload=payload)
    for path, text in files.items():
        repo.write(path, text)
    fire(repo, agent, "Stop", payload={**prompted(repo, prompt_id=str(number)), **own})


@pytest.fixture
def work(repo: Repo) -> Repo:
    """Two turns of two agents, with a change by hand and a commit between them."""
    repo.commit(a="a\n")
    turn(repo, "claude-code", 1, one="1\n")
    repo.write("a", "by hand\n")
    repo.commit("What was done by hand", a="by hand\n")
    turn(repo, "codex", 2, two="2\n2\n2\n")
    return repo


def timeline(page: Browser) -> list[str]:
    """The entries of the timeline in a line each, without their times."""
    script = """
    return [...document.querySelectorAll("#timeline li")].filter((each) => !each.hidden)
      .map((each) => [...each.querySelectorAll(".agent, .label, .line .mark, .what")]
        .map((part) => part.innerText.trim()).join(" | "));
    """
    found: list[str] = page.run(script)
    return found


def test_the_timeline_has_what_happened_between_turns(page: Browser, work: Repo) -> None:
    with served(work.top) as url:
        page.open(url)
        here, newest, by_hand, committed, oldest = page.until(
            lambda: len(timeline(page)) == 5 and timeline(page)
        )
        assert here == "you are here: after this turn, “Turn 2”"
        assert newest == "Cx | Turn 2"
        assert by_hand == "by hand 1 file +1 −1"
        assert oldest == "Cl | Turn 1"
        assert committed.endswith("What was done by hand")
        assert page.texts("#timeline h2") == ["Today"]
        times = page.texts("#timeline time")
        assert all(one != other for one, other in pairwise(times))


def test_a_restore_says_where_one_is_and_what_is_away(page: Browser, work: Repo) -> None:
    with served(work.top) as url:
        page.open(url)
        page.all(".row")[-1].click()
        page.one("#restore-after").click()
        assert page.one("#dialog h2").text == "Restore to after “Turn 1”?"
        page.one("#confirm").click()
        page.until(lambda: "Restored" in page.texts("#notice span")[0])
        page.until(lambda: "restored to after “Turn 1”" in timeline(page)[0])
        assert timeline(page)[1] == "Cx | Turn 2 | (restored away)"
        at = next(row for row in timeline(page) if row.startswith("you are here"))
        assert at == "you are here: after this turn, “Turn 1”"
        assert not (work.top / "two").exists()
        assert (work.top / "one").exists()
        # The notice offers to undo it, and so does every other tab; then it can be redone.
        page.one("#notice button:not(.close)").click()
        page.until(lambda: page.texts("#notice span")[0].startswith("Undone"))
        assert (work.top / "two").exists()
        assert page.all("#undo") == []
        assert page.one("#redo").text == "Redo restore"
        page.one("#redo").click()
        page.until(lambda: page.texts("#notice span")[0].startswith("Redone"))
        assert not (work.top / "two").exists()


def test_the_mark_is_above_turns_that_overlapped(page: Browser, repo: Repo) -> None:
    turns = Turns(repo)
    turns.begin("first", "s1")
    turns.whole("second", "s2", a="1\n")
    turns.end("first", "s1")
    with served(repo.top) as url:
        page.open(url)
        page.until(lambda: timeline(page) == ["you are here", "Cl | second", "Cl | first"])
        turns.whole("third", "s2", b="1\n")
        repo.boocode("restore", "--after", turns["first"], "--files-only")
        repo.write("c", "by hand\n")
        page.until(lambda: timeline(page)[0] == "by hand 1 file +1")
        assert timeline(page)[2:] == [
            "Cl | third | (restored away)",
            "you are here: after this turn, “first”, and 1 file +1 by hand",
            "Cl | second",
            "Cl | first",
        ]
        # What the link shows are the states of the entry, not those of the latest turn.
        page.one(".by-hand a").click()
        page.until(lambda: "From after the restore of" in page.one("#turn h2").text)
        assert page.texts("#turn .file .path") == ["c"]


def test_moves_of_head_are_not_all_commits(page: Browser, work: Repo) -> None:
    work.git("branch", "other", "HEAD~1")
    for name in ("other", "main", "other", "main", "other"):
        work.git("checkout", "-q", "-f", name)
    with served(work.top) as url:
        page.open(url)
        moves = page.until(lambda: [row for row in timeline(page) if "of HEAD" in row])
        assert re.match("\\d moves of HEAD, the last: checked out (main|other): ", moves[0])


def test_a_step_made_elsewhere_can_be_undone_here(page: Browser, work: Repo) -> None:
    with served(work.top) as url:
        page.open(url)
        assert page.all("#undo") == []
        assert work.boocode("revert", "@").code == 0
        assert page.one("#undo").text == "Undo revert"
        assert page.one(".attention .undo").text.startswith("Can be undone: revert of “Turn 2”")
        page.one("#undo").click()
        page.until(lambda: page.texts("#notice span")[0].startswith("Undone"))
        assert (work.top / "two").exists()


def test_the_overview_counts_the_day(page: Browser, work: Repo) -> None:
    with served(work.top) as url:
        page.open(url)
        page.one(".numbers")
        assert page.texts(".numbers b") == ["2", "2", "+4", "−0"]
        assert page.texts(".ranking .link")[-2:] == ["two", "one"]
        page.all(".ranking .link")[-1].click()
        page.until(lambda: page.texts(".row .label") == ["Turn 1"])
        page.press(ESCAPE)
        page.one(".card").click()
        page.until(lambda: page.texts("#turn h2") == ["Turn 2"])


def test_any_address_shows_something(page: Browser, work: Repo) -> None:
    with served(work.top) as url:
        for address in ("#%", "#%ff", "#compare/%"):
            page.open(url + address)
            page.until(lambda: page.texts(".numbers b")[:1] == ["2"])
        page.all(".row")[0].click()
        page.until(lambda: page.texts("#turn .toggle") == ["two"])


def test_the_overview_filters_by_agent(page: Browser, work: Repo) -> None:
    with served(work.top) as url:
        page.open(url)
        page.one(".numbers")
        page.one(".ranking .link").click()
        page.until(lambda: page.texts(".row .label") == ["Turn 2"])
        assert page.run("return document.getElementById('scope').value") == "agent codex"
        # On a phone the list is a page of its own.
        page.open(f"{url}#overview", PHONE)
        page.one(".ranking .link").click()
        page.until(lambda: page.texts(".row .label") == ["Turn 2"])


def test_a_single_agent_is_no_filter(page: Browser, repo: Repo) -> None:
    repo.commit(a="a\n")
    turn(repo, "codex", 1, one="1\n")
    with served(repo.top) as url:
        page.open(url)
        page.one(".numbers")
        assert page.texts(".ranking .link")[0].endswith("codex")
        assert len(page.all(".ranking button")) == 1
        assert page.run("return document.getElementById('scope').selectedIndex") == 0


def test_the_search_finds_any_case(page: Browser, repo: Repo) -> None:
    for label in (
        "E\u0301t\u00e9",
        "Stra\u00dfe",
        "\u0130stanbul",
        "\u039f\u03b4\u03cc\u03c2",
        "half \ud800",
    ):
        take(label=label)
    with served(repo.top) as url:
        page.open(url)
        page.one(".row")
        for words, expected in (
            ("\u00c9T\u00c9", "\u00c9t\u00e9"),
            ("STRA\u1e9eE", "Stra\u00dfe"),
            ("istanbul", "\u0130stanbul"),
            ("\u039f\u0394\u038c\u03a3", "\u039f\u03b4\u03cc\u03c2"),
            ("HALF", "half \u27e8U+D800\u27e9"),
        ):
            page.one("#search").clear()
            page.one("#search").send_keys(words)
            until_found(page, expected)


def until_found(page: Browser, label: str) -> None:
    """Wait until the list has one turn alone."""
    page.until(lambda: [normalize("NFC", each) for each in page.texts(".row .label")] == [label])


def test_back_returns_to_where_one_was(page: Browser, work: Repo) -> None:
    with served(work.top) as url:
        page.open(url)
        page.all(".row")[0].click()
        page.all(".row")[1].click()
        page.until(lambda: page.texts("#turn h2") == ["Turn 1"])
        page.driver.back()
        page.until(lambda: page.texts("#turn h2") == ["Turn 2"])
        page.driver.back()
        page.until(lambda: page.all(".numbers"))
        page.driver.forward()
        page.until(lambda: page.texts("#turn h2") == ["Turn 2"])
        address = page.driver.current_url
        page.open(address)
        page.until(lambda: page.texts("#turn h2") == ["Turn 2"])
        page.open(url, PHONE)
        page.one(".row").click()
        page.until(lambda: page.texts("#turn h2") == ["Turn 2"])
        assert page.all("#timeline") == []
        page.driver.back()
        page.until(lambda: len(page.all(".row")) == 2)
        page.one("#home").click()
        page.until(lambda: page.all(".numbers"))
        page.driver.back()
        page.until(lambda: len(page.all(".row")) == 2)


def test_single_keys_can_be_turned_off(page: Browser, work: Repo) -> None:
    with served(work.top) as url:
        page.open(url)
        page.one(".row")
        page.press("?")
        assert "move between turns" in page.one("#dialog dl").text
        page.one("#dialog input").click()
        page.press(ESCAPE)
        page.until(lambda: not page.all("#dialog"))
        page.press("j", ENTER)
        assert page.texts("#turn h2") == []
        page.one("#help").click()
        page.one("#dialog input").click()
        page.press(ESCAPE)
        page.until(lambda: not page.all("#dialog"))
        page.run("document.activeElement.blur()")
        page.press("j", ENTER)
        page.until(lambda: page.texts("#turn h2") == ["Turn 2"])


def test_a_new_turn_does_not_move_what_one_reads(page: Browser, repo: Repo) -> None:
    for number in range(40):
        take(label=f"turn {number}")
    with served(repo.top) as url:
        page.open(url, WIDE)
        page.until(lambda: len(page.run("return [...document.querySelectorAll('.row')]")) == 40)
        page.run(
            "document.querySelector('.row[data-turn]').parentElement.parentElement"
            ".children[20].scrollIntoView()"
        )
        top = (
            "return [...document.querySelectorAll('.row')]"
            ".find((each) => each.innerText.includes('turn 19')).getBoundingClientRect().top"
        )
        before = page.run(top)
        take(label="arrived")
        page.until(
            lambda: page.run("return document.querySelector('.row').innerText").startswith("·")
        )
        page.until(lambda: "arrived" in page.run("return document.querySelector('.row').innerText"))
        assert abs(page.run(top) - before) < 2


def test_news_leave_the_reader_where_they_are(page: Browser, repo: Repo) -> None:
    """The focus, what is typed and what is open stay when the list and the turn are drawn anew."""
    repo.commit(a="a\n")
    turn(repo, "codex", 1, one="1\n")
    take(label="goes on")
    for number in range(5):
        repo.write(f"f{number}", "1\n")
    focused = "const f = document.activeElement; return [f.tagName, f.textContent, f.value]"

    def news(number: int) -> None:
        """Let the turn that is open change, and wait until that is shown."""
        repo.write("f0", "1\n" * number)
        said = f"+{number + 4}"
        page.until(
            lambda: said in page.texts(".row .plus") and said in page.texts("#turn > .facts .plus")
        )

    with served(repo.top) as url:
        page.open(url)
        page.one(".row").click()
        page.one(".files-tools input[type=search]").send_keys("F3")
        page.press("\ue012")
        page.one("#search").send_keys("goes")
        page.one(".files-tools input[type=search]").click()
        page.run("document.activeElement.setSelectionRange(1, 1)")
        page.one(".menu summary").click()
        page.run("document.querySelector('.files-tools input[type=search]').focus()")
        news(2)
        assert page.run(focused) == ["INPUT", "", "F3"]
        page.press("x")
        assert page.run(focused) == ["INPUT", "", "Fx3"]
        page.press("\ue003")
        assert page.texts("#turn .toggle") == ["f3"]
        assert page.texts(".row .label") == ["goes on"]
        for button in ("Restore…", "Take back…"):
            page.run(
                "[...document.querySelectorAll('#turn .file:not([hidden]) button')]"
                f".find((each) => each.textContent === '{button}').focus()"
            )
            news(3 if button == "Restore…" else 4)
            assert page.run(focused)[1] == button
        assert page.run("return document.activeElement.closest('.file').ariaLabel") == "f3"
        for number, selector in ((7, ".ranking .path"), (8, "#timeline .entry a")):
            page.one("#search").clear()
            page.one("#home").click()
            page.one(selector)
            page.run(f"document.querySelector('{selector}').focus()")
            before = page.run(focused)
            repo.write(f"g{number}", "1\n")
            page.until(lambda n=number: page.texts(".numbers b")[1] == str(n))
            assert page.run(focused) == before
            assert page.run(f"return document.activeElement.matches('{selector}')")


def test_the_list_takes_the_width_that_one_wants(page: Browser, work: Repo) -> None:
    with served(work.top) as url:
        page.open(url)
        page.one(".row")
        before = page.one("#timeline").rect["width"]
        page.run("document.getElementById('divider').focus()")
        page.press(RIGHT, RIGHT)
        wider = page.one("#timeline").rect["width"]
        assert wider > before + 30
        page.open(url)
        page.one(".row")
        assert page.one("#timeline").rect["width"] == wider
        page.run("document.getElementById('divider').focus()")
        page.press("\ue012", "\ue012")


def test_the_filter_knows_agents(page: Browser, work: Repo) -> None:
    with served(work.top) as url:
        page.open(url)
        page.one(".row")
        groups = page.run(
            "return [...document.querySelectorAll('#scope optgroup')].map(g => g.label)"
        )
        assert groups[:2] == ["Agents", "Sessions"]
        page.run(
            "const s = document.getElementById('scope'); s.value = 'agent codex';"
            "s.dispatchEvent(new Event('change'))"
        )
        assert page.texts(".row .label") == ["Turn 2"]
        assert page.all(".entry") == []


def test_on_paper_there_is_the_turn_alone(page: Browser, work: Repo) -> None:
    with served(work.top) as url:
        page.open(url)
        page.one(".row").click()
        page.until(lambda: page.texts("#turn h2") == ["Turn 2"])
        page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        assert page.all("#timeline, #search, .turn-actions, footer") == []
        assert page.texts("#turn h2") == ["Turn 2"]
        page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_a_turn_that_was_taken_back_is_done_again(page: Browser, work: Repo) -> None:
    before = work.read("two")
    work.boocode("revert", "@")
    with served(work.top) as url:
        page.open(url)
        page.until(lambda: timeline(page)[0].endswith("“Turn 2” (reverted)"))
        page.all(".row")[0].click()
        page.one(".pick-file").click()
        page.until(lambda: page.texts("#dialog h2") == ["Do here what “Turn 2” did in two?"])
        page.press(ESCAPE)
        page.until(lambda: not page.all("#dialog"))
        page.one("#pick").click()
        page.one("#confirm").click()
        page.until(lambda: page.texts("#notice span")[0].startswith("The turn picked"))
        assert work.read("two") == before


def test_without_turns_a_phone_says_how_to_get_some(page: Browser, repo: Repo) -> None:
    with served(repo.top) as url:
        page.open(url, PHONE)
        assert page.one(".welcome code").text == "git boocode hooks install"
        take(label="first")
        page.until(lambda: page.texts(".row .label") == ["first"])
        assert page.all(".welcome") == []


def test_without_turns_a_phone_lists_what_else_happened(page: Browser, repo: Repo) -> None:
    first = take(label="first")
    repo.write("a", "a\n")
    assert repo.boocode("restore", first.id).code == 0
    assert repo.boocode("drop", "--even-needed", first.id).code == 0
    with served(repo.top) as url:
        page.open(url, PHONE)
        page.until(lambda: len(page.texts("#timeline .entry")) == 1)
        assert page.all(".row") == []


def test_a_list_that_began_on_a_phone_gets_its_width(page: Browser, work: Repo) -> None:
    with served(work.top) as url:
        page.open(url, PHONE)
        page.one(".row")
        page.look(WIDE)
        assert page.run("return document.getElementById('timeline').clientWidth") == 432
