"""What the page of `git boocode view` offers when something is refused, in a real browser."""

from __future__ import annotations

import pytest

from tests.agents.kit import Turns
from tests.browser.kit import PHONE, Browser, served
from tests.checkpoints.kit import take
from tests.repo_kit import Repo

pytestmark = pytest.mark.slow

UNKNOWN = "01a22687-3634-7f9e-9718-4a5f92340545"
ESCAPE = "\ue00c"
HUNK_TITLE = "Take back what “first” did in a hunk of a?"


@pytest.fixture
def overlapping(repo: Repo) -> Repo:
    """Two turns that were open at the same time; nothing says which of them wrote `a`."""
    repo.commit(a="a\n")
    turns = Turns(repo)
    turns.begin("first", "s1")
    turns.begin("second", "s2")
    repo.write("a", "either\n")
    turns.end("first", "s1")
    turns.end("second", "s2")
    return repo


def opened(page: Browser, url: str, label: str) -> None:
    page.open(url)
    page.until(lambda: [row for row in page.all(".row") if label in row.text])[0].click()
    page.until(lambda: page.texts("#turn h2") == [label])


def button(page: Browser, place: str, text: str) -> None:
    """Click on the button with a text, for which it waits."""
    page.until(lambda: [each for each in page.all(f"{place} button") if each.text == text])[
        0
    ].click()


def test_files_that_turns_share_are_named(page: Browser, overlapping: Repo) -> None:
    overlapping.boocode("view", "-o", ".git/page.html")
    opened(page, (overlapping.top / ".git/page.html").as_uri(), "first")
    assert page.texts(".shared li") == ["a: this turn, or “second”"]
    assert page.all(".shared button") == []
    with served(overlapping.top) as url:
        opened(page, url, "first")
        assert page.texts(".row .facts")[0].endswith("1 shared file")
        page.until(lambda: page.texts(".shared li") == ["a: this turn, or “second”"])
        button(page, ".shared", "Take back these 2 turns…")
        page.until(lambda: page.texts("#dialog h2") == ["Take back 2 turns?"])
        page.one("#confirm").click()
        page.until(lambda: page.texts("#notice span")[0].startswith("2 turns taken back"))
        assert overlapping.read("a") == b"a\n"


def test_a_shared_file_is_taken_back_if_one_says_so(page: Browser, overlapping: Repo) -> None:
    with served(overlapping.top) as url:
        opened(page, url, "first")
        page.one("#revert").click()
        page.until(lambda: page.texts("#dialog h2") == ["This did not work"])
        assert "'a' was changed while" in page.one("#dialog .warning").text
        assert page.texts("#dialog .next button") == [
            "Take back 2 turns…",
            "Take these files as well…",
        ]
        button(page, "#dialog", "Take these files as well…")
        page.until(lambda: page.texts("#dialog h2") == ["Take back “first”?"])
        assert overlapping.read("a") == b"either\n"
        page.one("#confirm").click()
        page.until(lambda: page.texts("#notice span")[0].startswith("The turn taken back"))
        assert overlapping.read("a") == b"a\n"


def test_a_comparison_that_is_refused_says_so(page: Browser, repo: Repo) -> None:
    first = take(label="first")
    repo.write("a", "new\n")
    with served(repo.top) as url:
        page.open(f"{url}#compare/{UNKNOWN}/before/now")
        page.until(lambda: UNKNOWN in page.texts("#turn .warning")[0])
        assert page.all("#turn .loading") == []
        assert page.texts("#turn .next code") == ["git boocode log"]
        button(page, "#turn", "Try again")
        page.until(lambda: UNKNOWN in page.texts("#turn .warning")[0])
        page.one("#turn .close").click()
        page.until(lambda: page.all(".numbers"))
        page.open(f"{url}#compare/{first.id}/before/now")
        page.until(lambda: page.texts("#turn .toggle") == ["a"])


def test_a_turn_that_is_not_loaded_says_so(page: Browser, repo: Repo) -> None:
    first = take(label="first")
    repo.write("a", "new\n")
    with served(repo.top) as url:
        page.open(url)
        page.one(".row")
        # Before the next question for news.
        repo.boocode("drop", first.id)
        page.one(".row").click()
        page.until(lambda: "no longer among" in page.texts("#turn .changes .warning")[0])


def test_a_running_turn_offers_what_works(page: Browser, repo: Repo) -> None:
    take(label="first")
    repo.write("a", "new\n")
    assert repo.boocode("turn", "begin", "-m", "fix").code == 0
    with served(repo.top) as url:
        opened(page, url, "first")
        page.one("#restore").click()
        page.one("#confirm").click()
        page.until(lambda: page.texts("#dialog h2") == ["This did not work"])
        assert (repo.top / "a").exists()
        assert page.texts("#dialog .next code") == ["git boocode turn end"]
        button(page, "#dialog", "Continue while it runs…")
        page.until(lambda: page.texts("#dialog h2") == ["Restore to before “first”?"])
        page.one("#confirm").click()
        page.until(lambda: "Restored 1 file" in page.texts("#notice span")[0])
        assert not (repo.top / "a").exists()


def test_a_restore_offers_to_leave_the_work_of_others(page: Browser, repo: Repo) -> None:
    repo.commit(a="a\n")
    turns = Turns(repo)
    turns.whole("first", "s1", one="1\n")
    turns.whole("second", "s2", two="2\n")
    with served(repo.top) as url:
        opened(page, url, "first")
        page.one("#restore").click()
        warning = page.one("#dialog .warning").text
        assert warning == (
            "This also removes the work of another session: “second” of claude-code."
        )
        button(page, "#dialog", "Take back “first”…")
        page.until(lambda: page.texts("#dialog h2") == ["Take back “first”?"])
        page.one("#confirm").click()
        page.until(lambda: page.texts("#notice span")[0].startswith("The turn taken back"))
        assert (repo.top / "two").exists()
        assert not (repo.top / "one").exists()


def test_what_was_taken_back_meanwhile_can_be_picked(page: Browser, repo: Repo) -> None:
    repo.commit(a="one\n")
    take(label="first")
    repo.write("a", "two\n")
    with served(repo.top) as url:
        opened(page, url, "first")
        page.one("#revert").click()
        page.one("#confirm")
        assert repo.boocode("revert", "@").code == 0
        repo.write("a", "three\n")
        page.one("#confirm").click()
        page.until(lambda: "already reverted" in page.texts("#dialog .warning")[0])
        button(page, "#dialog .next", "Pick “first”…")
        page.until(lambda: page.texts("#dialog h2") == ["“first” cannot be picked"])
        assert repo.read("a") == b"three\n"


def test_lines_of_later_turns_are_taken_back_with_a_file(page: Browser, repo: Repo) -> None:
    lines = [f"{number}\n" for number in range(100)]
    repo.commit(a="".join(lines), other="o\n")
    take(label="first")
    repo.write("a", "".join(f"first {line}" if line[-2] == "5" else line for line in lines))
    repo.write("other", "first\n")
    take(label="second")
    repo.write("a", repo.read("a").decode().replace("first 5\n", "second 5\n"))
    take(label="last")
    with served(repo.top) as url:
        opened(page, url, "first")
        page.one(".revert-file").click()
        page.until(lambda: len(page.all("#dialog .part")) == 9)
        assert "changed since, “second”" in page.one("#dialog .conflicts").text
        # Whoever chose a hunk is not asked about other lines of the file.
        page.press(ESCAPE)
        page.until(lambda: not page.all("#dialog"))
        page.all(".hunk-revert")[0].click()
        page.until(lambda: page.texts("#dialog h2") == [HUNK_TITLE])
        assert page.all("#dialog .conflicts")
        assert page.texts("#dialog button") == ["Cancel", "Take back"]
        page.press(ESCAPE)
        page.until(lambda: not page.all("#dialog"))
        page.one(".revert-file").click()
        # It is read from its beginning.
        shown = "return document.querySelector('#dialog').scrollTop"
        assert page.run(shown) == 0
        button(page, "#dialog", "Take back these lines, too…")
        page.until(lambda: page.texts("#dialog h2") == ["“first” in a cannot be taken back alone"])
        page.one("#confirm").click()
        page.until(lambda: page.texts("#dialog h2") == ["Take back 2 turns in a?"])
        page.one("#confirm").click()
        page.until(lambda: page.texts("#notice span")[0].startswith("2 turns taken back"))
        assert (repo.read("a").decode(), repo.read("other")) == ("".join(lines), b"first\n")


def test_a_file_with_too_many_hunks_names_the_command(page: Browser, repo: Repo) -> None:
    lines = [f"{number}\n" for number in range(1100)]
    repo.commit(a="".join(lines))
    first = take(label="first")
    repo.write("a", "".join(f"new {line}" if line[-2] in "05" else line for line in lines))
    with served(repo.top) as url:
        opened(page, url, "first")
        page.one(".parts").click()
        page.until(lambda: page.texts("#dialog h2") == ["This did not work"])
        assert page.texts("#dialog .next code") == [f"git boocode restore -p {first.id} -- a"]


def test_what_was_not_shown_is_shown_before_it_is_restored(page: Browser, repo: Repo) -> None:
    repo.commit(a="a\n")
    take(label="first")
    repo.write("a", "new\n")
    with served(repo.top) as url:
        opened(page, url, "first")
        page.one("#restore").click()
        page.until(lambda: page.texts("#dialog li.path") == ["modify a +1 −1"])
        repo.write("later", "later\n")
        page.one("#confirm").click()
        page.until(lambda: page.texts("#dialog h2") == ["This did not work"])
        assert page.one("#dialog .warning").text.startswith("Files have changed since you looked")
        button(page, "#dialog", "Look again")
        page.until(lambda: page.texts("#dialog li.path")[1:] == ["delete later +0 −1"])
        assert (repo.read("a"), repo.read("later")) == (b"new\n", b"later\n")


def test_a_dialog_stays_where_it_was_read(page: Browser, repo: Repo) -> None:
    repo.commit(a="a\n")
    take(label="first")
    repo.write("a", "new\n")
    with served(repo.top) as url:
        opened(page, url, "first")
        page.look((PHONE[0], 250))
        page.run("document.querySelector('#restore').click()")
        page.until(lambda: page.texts("#dialog h2") == ["Restore to before “first”?"])
        assert page.run("return document.querySelector('#dialog').scrollTop") == 0
        page.run("document.querySelector('#dialog').scrollTop = 40")
        page.run("document.querySelector('#dialog h2').dataset.before = 'click'")
        page.run("document.querySelector('#dialog input').click()")
        page.until(lambda: not page.all("#dialog h2[data-before]"))
        assert page.run("return document.querySelector('#dialog').scrollTop") == 40


def test_a_server_that_ended_is_missed(page: Browser, repo: Repo) -> None:
    take(label="first")
    with served(repo.top) as url:
        opened(page, url, "first")
        page.until(lambda: page.texts("#generated") == ["Live"])
    page.until(lambda: page.texts("#generated.problem")[0].startswith("The server does not answer"))
    with served(repo.top) as again:
        assert again == url
        page.until(lambda: page.texts("#generated:not(.problem)") == ["Live"])
