"""The diffs on the page of `git boocode view`, and what can be done with a part of them."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.browser.kit import PHONE, Browser, served
from tests.checkpoints.kit import take
from tests.repo_kit import Repo

pytestmark = pytest.mark.slow

ESCAPE = "\ue00c"
LINES = "".join(f"line {number}\n" for number in range(1, 61))
PICTURE = (
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\6\0\0\0\x1f\x15\xc4\x89\0\0\0\rIDATx"
    b"\x9cc\xf8\xcf\xc0\xf0\x1f\0\5\0\1\xff\x89\x99=\x1d\0\0\0\0IEND\xaeB`\x82"
)


@pytest.fixture
def work(repo: Repo) -> Repo:
    """A turn that changes two places of a file, then one that changes another."""
    repo.commit(**{"long.py": LINES, "other": "o\n"})
    take(label="first", agent="codex")
    changed = LINES.replace("line 5\n", 'def five():  # "5"\n').replace("line 50\n", "fifty\n")
    repo.write("long.py", changed)
    take(label="second", agent="codex")
    repo.write("other", "other\n")
    take(label="third", agent="codex")
    return repo


def opened(page: Browser, url: str, label: str, size: tuple[int, int] = (1280, 800)) -> None:
    """Open the turn with a label."""
    page.open(url, size)
    page.until(lambda: [row for row in page.all(".row") if label in row.text])[0].click()
    page.until(lambda: page.texts("#turn h2") == [label])
    page.one("#turn .diff")


def test_added_and_removed_lines_differ_without_colours(page: Browser, work: Repo) -> None:
    with served(work.top) as url:
        for size in (PHONE, (1280, 800), (1900, 900)):
            opened(page, url, "first", size)
            assert page.texts(".removed-line .sign") == ["−", "−"]
            assert page.texts(".added-line .sign") == ["+", "+"]
            heard = page.run("return document.querySelector('.removed-line').textContent")
            assert heard == "−removed: line 5"
            headers = page.run("return document.querySelectorAll('.diff th[scope=col]').length")
            # Side by side only where both sides have room.
            assert headers == (4 if size[0] == 1900 else 3)
            assert page.run("return document.documentElement.scrollWidth") <= size[0]


def test_code_has_colours_and_more_lines(page: Browser, work: Repo) -> None:
    with served(work.top) as url:
        opened(page, url, "first")
        painted = (page.texts(f".added-line .is-{kind}") for kind in ("keyword", "comment"))
        assert [*painted] == [["def"], ['# "5"']]
        shown = len(page.all(".diff .code"))
        page.one(".gap button[title='Show all lines that are hidden here']").click()
        page.until(lambda: len(page.all(".diff .code")) > shown)
        assert "line 1" in page.texts(".diff .code")


def test_all_files_open_and_close_and_are_filtered(page: Browser, repo: Repo) -> None:
    take(label="many")
    for number in range(12):
        repo.write(f"deep/er/f{number}.txt", f"text of {number}\n")
    with served(repo.top) as url:
        page.open(url)
        page.one(".row").click()
        page.until(lambda: len(page.all("#turn .toggle")) == 12)
        expanded = "#turn .toggle[aria-expanded=true]"
        assert page.all(expanded) == []
        tools = {each.text: each for each in page.all(".files-tools button")}
        tools["Open all"].click()
        assert len(page.all(expanded)) == 12
        tools["Close all"].click()
        assert page.all(expanded) == []
        assert page.texts(".tree summary .path") == ["deep/er"]
        page.one(".files-tools input[type=search]").send_keys("TEXT of 7")
        page.until(lambda: page.texts("#turn .toggle") == ["deep/er/f7.txt"])


def test_what_cannot_be_seen_is_shown_by_its_number(page: Browser, repo: Repo) -> None:
    take(label="hidden")
    repo.write("a", "x\u200by\u2060z\ufeff\U000e0041\u202e\n")
    with served(repo.top) as url:
        opened(page, url, "hidden")
        [line] = page.texts(".added-line")
        assert "x⟨U+200B⟩y⟨U+2060⟩z⟨U+FEFF⟩⟨U+E0041⟩⟨U+202E⟩" in line


def test_a_newline_in_the_name_of_a_file(page: Browser, repo: Repo) -> None:
    take(label="names")
    for path in ("a\nb", "a b", "d\ne/it's\u202e\\", "d\ne/\udcff"):
        repo.write(path, "new\n")
    with served(repo.top) as url:
        opened_names = ["a b", "a\u240ab", "d\u240ae/it's⟨U+202E⟩\\", "d\u240ae/⟨0xFF⟩"]
        page.open(url)
        page.one(".row").click()
        page.until(lambda: sorted(page.texts("#turn .toggle")) == opened_names)
        assert page.texts(".tree summary .path") == ["d\u240ae"]
        leaves = ["it's⟨U+202E⟩\\", "⟨0xFF⟩", "a\u240ab", "a b"]
        assert page.texts(".tree .leaf .path") == leaves
        page.all(".tree .leaf .path")[2].click()
        page.until(lambda: page.texts("#turn .toggle[aria-expanded=true]") == ["a\u240ab"])
        page.one("#home").click()
        page.until(lambda: "a\u240ab" in page.texts(".ranking .link"))
        next(each for each in page.all(".ranking .link") if each.text == "a\u240ab").click()
        page.until(lambda: page.texts(".row .label") == ["names"])
    repo.boocode("view", "-o", ".git/page.html")
    page.open((repo.top / ".git/page.html").as_uri())
    page.one(".row").click()
    for number, path in enumerate(("a\nb", "a b", "d\ne/it's\u202e\\", "d\ne/\udcff")):
        page.until(lambda: len(page.all("#turn .toggle")) == 4)
        page.all("#turn .commands-button")[number].click()
        command = page.texts("#dialog .commands code")[0]
        assert os.path.exists(repo.top / path)
        subprocess.run(["bash", "-c", command], cwd=repo.top, check=True)
        assert not os.path.exists(repo.top / path)
        page.press(ESCAPE)
        page.until(lambda: not page.all("#dialog"))


def test_pictures_are_shown(page: Browser, repo: Repo) -> None:
    take(label="draw")
    (repo.top / "dot.png").write_bytes(PICTURE)
    with served(repo.top) as url:
        page.open(url)
        page.one(".row").click()
        source = page.one("#turn .pictures img").get_attribute("src")
        assert source.startswith("data:image/png;base64,")


def test_a_hunk_is_restored_and_another_stays(page: Browser, work: Repo) -> None:
    with served(work.top) as url:
        opened(page, url, "first")
        buttons = "#turn .hunk-restore"
        page.run(f"document.querySelectorAll('{buttons}')[1].click()")
        page.until(lambda: page.all("#dialog .part"))
        assert page.one("#dialog h2").text == "Restore a hunk of long.py to before “first”?"
        page.one("#confirm").click()
        page.until(lambda: "Restored" in page.texts("#notice span")[0])
        text = work.read("long.py").decode()
        assert "line 50\n" in text
        assert "def five()" in text
        page.one("#notice button:not(.close)").click()
        page.until(lambda: page.texts("#notice span")[0].startswith("Undone"))
        assert "fifty" in work.read("long.py").decode()


def test_a_file_of_a_turn_is_taken_back(page: Browser, work: Repo) -> None:
    work.write("long.py", work.read("long.py").decode() + "by hand\n")
    with served(work.top) as url:
        opened(page, url, "first")
        page.one("#turn .revert-file").click()
        page.until(lambda: len(page.all("#dialog .part")) == 2)
        page.one("#confirm").click()
        page.until(lambda: "Taken back" in page.texts("#notice span")[0])
        assert work.read("long.py").decode() == LINES + "by hand\n"


def test_two_states_are_compared(page: Browser, work: Repo) -> None:
    with served(work.top) as url:
        opened(page, url, "first")
        page.one("#compare").click()
        page.one("#confirm").click()
        page.until(lambda: page.texts("#turn h2") == ["From before “first” to now"])
        page.until(lambda: page.texts("#turn .toggle") == ["long.py", "other"])
        page.driver.back()
        page.until(lambda: page.texts("#turn h2") == ["first"])
        page.driver.forward()
        page.until(lambda: page.texts("#turn .toggle") == ["long.py", "other"])


def test_the_search_finds_texts_of_diffs(page: Browser, work: Repo) -> None:
    with served(work.top) as url:
        page.open(url)
        page.one(".row")
        page.one("#search").send_keys("fifty")
        assert page.texts(".row .label") == []
        page.one("#search-diffs").click()
        page.until(lambda: page.texts(".row .label") == ["first"])
    work.boocode("view", "-o", ".git/page.html")
    page.open((work.top / ".git/page.html").as_uri())
    page.one("#search").send_keys("fifty")
    assert page.texts(".row .label") == ["first"]


def test_a_large_diff_is_loaded_when_it_is_opened(page: Browser, repo: Repo) -> None:
    """The diff of every turn can be seen, however much the page has."""
    take(label="much")
    repo.write(
        "big", "".join(f"{number} of many lines with some text\n" for number in range(20000))
    )
    with served(repo.top) as url:
        opened(page, url, "much")
        assert len(page.all("#turn .diff tr")) > 1000
        assert "Show 2,000 more rows of" in page.all("#turn .gap button")[-1].text


def test_line_ends_and_empty_sides_are_left_out(page: Browser, repo: Repo) -> None:
    repo.commit(crlf="one\r\ntwo\r\n", mixed="one\r\ntwo\r\n")
    take(label="ends")
    repo.write("crlf", "one\r\n2\r\n")
    repo.write("mixed", "one\r\ntwo\n")
    repo.write("new", "new\n")
    with served(repo.top) as url:
        opened(page, url, "ends", (1900, 900))
        columns = "return [...document.querySelectorAll('.diff')].map((each) => each.tHead.rows[0]"
        assert page.run(f"{columns}.cells.length)") == [4, 4, 3]
        shown = ["one", "one", "−removed: two", "+added: 2", "one␍", "one␍", "−removed: two␍"]
        found = page.run(
            "return [...document.querySelectorAll('.diff .code:not(.absent)')]"
            ".map((each) => each.textContent)"
        )
        assert found == [*shown, "+added: two", "+added: new"]


def test_a_last_line_without_an_end_shows_no_other_ends(page: Browser, repo: Repo) -> None:
    repo.commit(both="one\r\ntwo", last="one\r\ntwo\r\n", new="one\r\ntwo")
    take(label="ends")
    repo.write("both", "1\r\ntwo")
    repo.write("last", "one\r\ntwo")
    repo.write("new", "one\r\ntwo\n")
    with served(repo.top) as url:
        opened(page, url, "ends")
        texts = page.run(
            "return [...document.querySelectorAll('.diff')].map((each) => each.textContent)"
        )
        assert ["␍" in text for text in texts] == [False, False, True]
