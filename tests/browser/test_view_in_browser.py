"""The page of `git boocode view` in a real browser."""

from __future__ import annotations

import json
import time

import pytest

from tests.agents.kit import fire, prompted
from tests.benchmarks.view import make_turns
from tests.browser.kit import PHONE, Browser, served
from tests.checkpoints.kit import take
from tests.repo_kit import Repo

pytestmark = pytest.mark.slow

HOSTILE = "</script><img src=x onerror=alert(1)><!--\u2028\u202e\x1b[2J<b>&amp;"
ESCAPE, ENTER, DOWN, UP = "\ue00c", "\ue007", "\ue015", "\ue013"
# The elements that only the page itself has.
COUNTS = "return [...document.querySelectorAll('script, img, b, iframe')].map((e) => e.tagName)"


def written(repo: Repo, *options: str) -> str:
    assert repo.boocode("view", "-o", ".git/page.html", *options).code == 0
    return (repo.top / ".git/page.html").as_uri()


@pytest.fixture
def work(repo: Repo) -> Repo:
    """Turns of two sessions, one with edits, the other by hand."""
    repo.commit(**{"a.py": "def total(rows):\n    return sum(rows) * 2\n", "b": "b\n"})
    begun = prompted(repo, prompt_id="one", prompt="Count the rows, too")
    fire(repo, "claude-code", "UserPromptSubmit", payload=begun)
    edit = {"path": "a.py", "old_string": "sum(rows) * 2", "new_string": "sum(rows) * len(rows)"}
    repo.boocode("apply-edit", stdin=json.dumps(edit))
    repo.boocode("apply-edit", stdin=json.dumps({**edit, "old_string": "nowhere at all"}))
    fire(repo, "claude-code", "Stop", payload=prompted(repo, prompt_id="one"))
    take(label="by hand", session="mine")
    repo.write("c", "new\n")
    take(label="the newest", prompt="the newest\nwithout <b>empty</b> rows, twice")
    return repo


def test_a_turn_opens_with_its_diff_edits_and_command(page: Browser, work: Repo) -> None:
    page.open(written(work))
    assert page.texts(".row .label") == ["the newest", "by hand", "Count the rows, too"]
    assert page.texts("#summary") == ["3 turns"]
    page.all(".row")[2].click()
    assert page.one("#turn h2").text == "Count the rows, too"
    [ins], [removed] = page.texts(".diff ins"), page.texts(".diff del")
    assert (ins, removed) == ("len(rows)", "2")
    assert page.texts(".about-edits .facts > span") == ["1 edit applied", "1 refused"]
    page.one(".about-edits summary").click()
    assert page.texts("#edits li") == ["a.py: line 2"]
    [refused] = page.texts("#refusals li")
    assert refused.startswith("a.py: ")
    page.one(".menu summary").click()
    [command] = page.texts("#command")
    assert work.boocode(*command.split()[2:], "-n").code == 0
    page.one(".blame-file").click()
    assert page.texts(".blame .who button") == ["Count the rows, too"]
    assert page.texts(".prompt") == []
    page.all(".row")[0].click()
    page.until(lambda: page.texts(".prompt") == ["the newest\nwithout <b>empty</b> rows, twice"])


def test_the_search_filters(page: Browser, work: Repo) -> None:
    page.open(written(work))
    for words, expected in (
        ("count ROWS", ["Count the rows, too"]),
        ("a.py", ["Count the rows, too"]),
        ("claude", ["Count the rows, too"]),
        ("EMPTY twice", ["the newest"]),
        ("nothing like it", []),
    ):
        page.one("#search").clear()
        page.one("#search").send_keys(words)
        assert page.texts(".row .label") == expected
    assert page.texts("#empty") == ["No turn matches."]
    page.press(ESCAPE)
    assert len(page.all(".row")) == 3
    page.run(
        "const s = document.getElementById('scope'); s.value = 'session mine';"
        "s.dispatchEvent(new Event('change'))"
    )
    assert page.texts(".row .label") == ["by hand"]


def test_the_keyboard_does_everything(page: Browser, work: Repo) -> None:
    page.open(written(work))
    page.press("j", "j", ENTER)
    assert page.one("#turn h2").text == "by hand"
    page.press("c")
    page.until(lambda: page.texts("#notice span") == ["Copied."])
    copied = page.driver.execute_async_script(
        "navigator.clipboard.readText().then(arguments[0], (e) => arguments[0](String(e)))"
    )
    page.one(".menu summary").click()
    assert copied == page.one("#command").text
    page.press("k", ENTER)
    assert page.one("#turn h2").text == "the newest"
    page.press(ESCAPE)
    assert page.texts("#turn h2") == []
    page.press(DOWN, DOWN, DOWN, UP, ENTER)
    assert page.one("#turn h2").text == "by hand"
    page.press("/", "t", "o", "o")
    assert page.texts(".row .label") == ["Count the rows, too"]
    page.press(ENTER, ENTER)
    assert page.one("#turn h2").text == "Count the rows, too"


def test_on_a_phone_a_turn_takes_the_whole_width(page: Browser, work: Repo) -> None:
    page.open(written(work), PHONE)
    assert page.run("return document.documentElement.scrollWidth") == 390
    assert page.all("#turn") == []
    page.all(".row")[2].click()
    assert page.one("#turn h2").text == "Count the rows, too"
    assert page.all("#timeline") == []
    assert page.run("return document.documentElement.scrollWidth") == 390
    removed, added = page.one("td.code.removed-line"), page.one("td.code.added-line")
    assert removed.rect["y"] < added.rect["y"]
    assert removed.rect["width"] > 250
    page.one(".heading button").click()
    assert len(page.all(".row")) == 3


@pytest.mark.parametrize("dark", [False, True])
def test_colours_follow_the_system(page: Browser, work: Repo, dark: bool) -> None:
    page.open(written(work), dark=dark)
    ground = page.run("return getComputedStyle(document.body).backgroundColor")
    light = sum(map(int, ground.removeprefix("rgb(").removesuffix(")").split(","))) > 384
    assert light is not dark


@pytest.mark.parametrize("is_served", [False, True])
def test_hostile_texts_stay_texts(page: Browser, repo: Repo, is_served: bool) -> None:
    name = HOSTILE.replace("/", "_")
    repo.write(name, "one\n")
    repo.write("binary", b"\0")
    take(label="first")
    repo.write(name, f"{HOSTILE}\n\x9b \udcff\n".encode("utf-8", "surrogateescape"))
    edit = {"path": name, "old_string": HOSTILE * 2, "new_string": HOSTILE}
    repo.boocode("apply-edit", stdin=json.dumps(edit))
    take(label=HOSTILE, agent=HOSTILE, session=HOSTILE)
    repo.write(name, "three\n")
    take(label="last")

    def check(url: str) -> None:
        page.open(url)
        before = page.run(COUNTS)
        assert before.count("SCRIPT") == 5
        shown = "</script><img src=x onerror=alert(1)><!--⟨U+2028⟩⟨U+202E⟩␛[2J<b>&amp;"
        assert page.texts(".row .label")[1] == shown
        for number in range(3):
            page.all(".row")[number].click()
            page.until(lambda: page.all("#turn h2"))
            page.until(lambda n=number: page.all(".row")[n].get_attribute("aria-current"))
            time.sleep(0.2)
            for button in page.all(".blame-file"):
                button.click()
            time.sleep(0.2)
        if is_served:
            page.one(".parts").click()
            page.until(lambda: page.all("#dialog .part"))
            page.press(ESCAPE)
            page.until(lambda: not page.all("#dialog"))
        page.all(".row")[1].click()
        page.until(lambda: page.texts("#turn h2") == [shown])
        assert [tag for tag in page.run(COUNTS) if tag != "B"] == [t for t in before if t != "B"]
        assert page.run("return document.querySelectorAll('img, iframe').length") == 0

    if is_served:
        with served(repo.top) as url:
            check(url)
    else:
        check(written(repo))


def test_a_thousand_turns_load_at_once(
    page: Browser, repo: Repo, capsys: pytest.CaptureFixture[str]
) -> None:
    make_turns(repo.top, 1000)
    url = written(repo)
    page.open(url)
    assert page.run("return document.querySelectorAll('.row').length") == 1000
    loaded = page.run("return performance.getEntriesByType('navigation')[0].domComplete")
    opened = page.run(
        "const begun = performance.now(); document.querySelectorAll('.row')[500].click();"
        "return new Promise((done) => requestAnimationFrame(() => setTimeout(() =>"
        " done(performance.now() - begun))))"
    )
    searched = page.run(
        "const begun = performance.now(); const s = document.getElementById('search');"
        "s.value = 'module 7'; s.dispatchEvent(new Event('input'));"
        "document.body.offsetHeight; return performance.now() - begun"
    )
    with capsys.disabled():
        print(f"\n1,000 turns, in ms: load {loaded:.0f}, open {opened:.0f}, search {searched:.0f}")
    assert loaded < 5000
    assert opened < 2000
    assert searched < 1000


def test_a_served_page_shows_new_turns(page: Browser, work: Repo) -> None:
    with served(work.top) as url:
        page.open(url)
        page.all(".row")[2].click()
        assert page.one("#turn h2").text == "Count the rows, too"
        work.write("d", "d\n")
        take(label="arrived")
        page.until(lambda: page.texts(".row .label")[0] == "arrived")
        assert page.texts("#turn h2") == ["Count the rows, too"]
        page.one(".blame-file").click()
        page.until(lambda: page.texts(".blame .who button") == ["Count the rows, too"])


def test_restore_to_here_and_undo(page: Browser, work: Repo) -> None:
    with served(work.top) as url:
        page.open(url)
        page.all(".row")[2].click()
        page.one("#restore").click()
        page.until(lambda: "modify a.py +1 −1" in page.texts("#dialog li"))
        page.press(ESCAPE)
        page.until(lambda: not page.all("#dialog"))
        assert "len" in work.read("a.py").decode()
        page.one("#restore").click()
        page.one("#confirm").click()
        page.one("#undo")
        assert "len" not in work.read("a.py").decode()
        assert not (work.top / "c").exists()
        page.one("#undo").click()
        page.until(lambda: page.texts("#notice span")[0].startswith("Undone"))
        assert "len" in work.read("a.py").decode()
        assert work.read("c") == b"new\n"


def test_a_moved_head_is_offered(page: Browser, work: Repo) -> None:
    before = work.git("rev-parse", "HEAD")
    work.git("commit", "-q", "--allow-empty", "-m", "later")
    with served(work.top) as url:
        page.open(url)
        page.all(".row")[2].click()
        page.one("#restore").click()
        page.until(lambda: page.texts("#dialog label")[1:] == ["Move HEAD back, too"])
        page.all("#dialog input")[1].click()
        page.until(lambda: page.all("#dialog input:checked")[1:])
        later = work.git("rev-parse", "HEAD")[:9]
        assert page.one("#dialog .warning").text == (
            f"1 commit would leave the branch: {later} later. "
            f"A branch keeps them: git branch NAME {later}"
        )
        page.one("#confirm").click()
        page.one("#undo")
        assert work.git("rev-parse", "HEAD") == before


def test_undo_asks_before_it_replaces_later_changes(page: Browser, work: Repo) -> None:
    with served(work.top) as url:
        page.open(url)
        page.all(".row")[2].click()
        page.one("#restore").click()
        page.one("#confirm").click()
        undo = page.one("#undo")
        work.write("a.py", "later\n")
        undo.click()
        assert "later changes: 'a.py'" in page.one("#dialog .warning").text
        assert work.read("a.py") == b"later\n"
        page.one("#confirm").click()
        page.until(lambda: page.texts("#notice span")[0].startswith("Undone"))
        assert "len" in work.read("a.py").decode()


def test_undo_stays_until_it_is_done(page: Browser, work: Repo) -> None:
    with served(work.top) as url:
        page.open(url)
        page.all(".row")[2].click()
        assert page.all("#undo") == []
        page.one("#restore").click()
        page.one("#confirm").click()
        page.one("#undo")
        page.press("c")
        page.open(url)
        page.one("#undo").click()
        page.until(lambda: page.texts("#notice span")[0].startswith("Undone"))
        assert page.all("#undo") == []
        assert "len" in work.read("a.py").decode()


def test_what_is_open_in_a_turn_stays_open_when_it_changes(page: Browser, work: Repo) -> None:
    take(label="goes on")
    for number in range(6):
        work.write(f"many{number}", "1\n")
    with served(work.top) as url:
        page.open(url)
        page.all(".row")[0].click()
        page.one("#turn .toggle")
        files = page.all("#turn .toggle")
        assert len(files) > 3
        files[1].click()
        page.until(lambda: len(page.all("#turn .toggle[aria-expanded=true]")) == 1)
        before = page.texts("#turn .facts")
        work.write("many0", "1\n2\n")
        page.until(lambda: page.texts("#turn .facts") != before)
        assert len(page.all("#turn .toggle[aria-expanded=true]")) == 1


def test_undo_asks_again_if_turns_came_since(page: Browser, work: Repo) -> None:
    with served(work.top) as url:
        page.open(url)
        page.all(".row")[2].click()
        page.one("#restore").click()
        page.one("#confirm").click()
        page.one("#undo")
        work.write("new", "work\n")
        take(label="since")
        page.one("#undo").click()
        page.until(lambda: "A turn was recorded" in page.texts("#dialog .warning")[0])
        assert "delete new" in page.one("#dialog ul").text
        assert (work.top / "new").exists()
        page.one("#confirm").click()
        page.until(lambda: page.texts("#notice span")[0].startswith("Undone"))
        assert not (work.top / "new").exists()


def test_hunks_of_a_file_are_restored(page: Browser, repo: Repo) -> None:
    numbers = "".join(f"{number}\n" for number in range(1, 21))
    repo.commit(a=numbers)
    take(label="change it")
    changed = numbers.replace("3\n", "three\n", 1).replace("18\n", "eighteen\n")
    repo.write("a", changed)
    with served(repo.top) as url:
        page.open(url)
        page.all(".row")[0].click()
        page.one(".parts").click()
        page.until(lambda: page.texts("#dialog label") == ["Hunk 1", "Hunk 2"])
        assert "three" in page.texts("#dialog .diff")[0]
        boxes = page.all("#dialog input")
        for box in boxes:
            box.click()
        page.until(lambda: not page.one("#confirm").is_enabled())
        boxes[1].click()
        page.one("#confirm").click()
        page.one("#undo")
        assert repo.read("a").decode() == numbers.replace("3\n", "three\n", 1)
        page.one("#undo").click()
        page.until(lambda: page.texts("#notice span")[0].startswith("Undone"))
        assert repo.read("a").decode() == changed


def test_a_turn_is_taken_back_and_other_work_stays(page: Browser, work: Repo) -> None:
    work.write("d", "by hand\n")
    with served(work.top) as url:
        page.open(url)
        page.all(".row")[2].click()
        page.one("#revert").click()
        page.until(lambda: page.texts("#dialog li") == ["modify a.py +1 −1"])
        page.one("#confirm").click()
        page.one("#undo")
        assert "len" not in work.read("a.py").decode()
        assert (work.read("c"), work.read("d")) == (b"new\n", b"by hand\n")
        page.until(lambda: "reverted" in page.texts(".row")[2])
        page.until(lambda: not page.all("#revert"))
        said = ["reverted “Count the rows, too”"]
        page.until(lambda: page.texts(".operation .what > span") == said)


def test_a_turn_with_a_later_change_goes_back_with_that(page: Browser, repo: Repo) -> None:
    repo.commit(a="one\n")
    take(label="first")
    repo.write("a", "two\n")
    take(label="second")
    repo.write("a", "three\n")
    take(label="third")
    with served(repo.top) as url:
        page.open(url)
        page.all(".row")[2].click()
        page.one("#revert").click()
        conflict = "a, line 1: changed since, “second”"
        markers = "Write both versions, with conflict markers…"
        page.until(lambda: page.texts("#dialog li") == [conflict, markers])
        page.one("#dialog .next button").click()
        page.until(lambda: page.texts("#dialog h2") == ["Take back “first”?"])
        assert "between conflict markers" in page.one("#dialog .warning").text
        page.one("#confirm").click()
        page.until(lambda: page.texts("#notice span")[0].startswith("The turn taken back"))
        assert b"<<<<<<<" in repo.read("a")
        page.one("#undo").click()
        page.until(lambda: page.texts("#notice span")[0].startswith("Undone"))
        page.one("#revert").click()
        page.until(lambda: page.texts("#dialog li") == [conflict, markers])
        page.one("#confirm").click()
        page.until(lambda: page.texts("#dialog h2") == ["Take back 2 turns?"])
        page.one("#confirm").click()
        page.one("#undo")
        assert repo.read("a") == b"one\n"


def test_the_page_of_a_range_is_about_its_commits(page: Browser, repo: Repo) -> None:
    repo.commit("base", a="1\n")
    take(label=f"write it {HOSTILE}", agent="claude-code")
    repo.commit(f"first {HOSTILE}", a="1\ntwo\n", **{f"{HOSTILE.replace('/', '')}\n": "new\n"})
    take(label="next", agent="claude-code")
    repo.commit("second", a="1\ntwo\nthree\n")
    page.open(written(repo, "HEAD~2..HEAD"))
    before = page.run(COUNTS)
    assert page.texts("#repository")[0].endswith(" HEAD~2..HEAD")
    assert page.texts("#turn > .facts span") == ["2 commits", "3 lines added", "3 by 2 turns"]
    subjects = page.texts(".commits .subject")
    assert subjects[0] == "second"
    assert subjects[1].startswith("first </script><img src=x onerror=alert(1)>")
    page.all(".commits button")[1].click()
    assert page.one("#turn h2").text.startswith("write it </script>")
    assert page.texts(".commits .places li")[-1] == "a: line 2"
    page.press(ESCAPE)
    assert page.texts(".commits .subject") == subjects
    assert page.run(COUNTS) == before
    page.look(PHONE, dark=True)
    assert page.texts(".commits .subject") == subjects
    repo.boocode("attribute", "HEAD~2..HEAD")
    for each in repo.git("for-each-ref", "--format=%(refname)", "refs/boocode").split():
        repo.git("update-ref", "-d", each)
    page.open(written(repo, "HEAD~2..HEAD"))
    assert page.texts("#turn > .facts span") == ["2 commits", "3 lines added", "3 by 2 turns"]
    page.all(".row")[0].click()
    assert "known from notes only" in page.texts(".row .facts span")
    assert page.texts(".commits .places li") == ["a: line 3"]
    repo.git("notes", "--ref=boocode", "add", "-f", "-m", '{"files": ' + "[" * 20_000, "HEAD")
    page.open(written(repo, "HEAD~2..HEAD"))
    assert "was not read" in page.one("#turn .warning").text
    page.open(written(repo, "HEAD..HEAD"))
    assert page.texts("#empty") == ["No turn wrote lines of these commits."]
