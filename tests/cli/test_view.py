"""`git boocode view`: one file that loads nothing, in which no text can become markup."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from git_boocode.cli import view_page
from git_boocode.cli.view_page import embedded_json, page_html
from tests.checkpoints.kit import take
from tests.repo_kit import Repo

pytestmark = pytest.mark.slow

PAGE = Path(view_page.__file__).with_name("page")
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)><!--\u2028{{style}}&lt;"
# All that could make markup or code of a text.
DANGEROUS = re.compile(
    r"innerHTML|outerHTML|insertAdjacent|document\.write|srcdoc|DOMParser|createContextualFragment"
    r"|\beval\b|new Function|javascript:|setHTML|\.href\b|\.src\b"
)


class Elements(HTMLParser):
    """The elements of a page, with their attributes, and the text of scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, str] = {}
        self._inside = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.found.append((tag, values))
        self._inside = values.get("id") or tag if tag in ("script", "style") else ""

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.texts[self._inside] = self.texts.get(self._inside, "") + data

    def count(self, tag: str) -> int:
        return sum(found == tag for found, _ in self.found)

    @property
    def policy(self) -> str:
        metas = (values for tag, values in self.found if tag == "meta")
        return next(v["content"] or "" for v in metas if v.get("http-equiv"))


def hashed(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def written(repo: Repo, *options: str) -> Elements:
    assert repo.boocode("view", "--output", "page.html", *options).code == 0
    return Elements((repo.top / "page.html").read_text(encoding="utf-8"))


def test_hostile_texts_stay_data(repo: Repo) -> None:
    repo.write("a", "one\n")
    take(label=HOSTILE, agent=HOSTILE, session=HOSTILE)
    repo.write(HOSTILE.replace("/", "_"), HOSTILE)
    take()
    plain = Elements(page_html({"turns": []}, served=False).decode())
    page = written(repo)
    assert [tag for tag, _ in page.found] == [tag for tag, _ in plain.found]
    data = json.loads(page.texts["data"])
    assert data["turns"][1]["label"] == HOSTILE
    details = json.loads(page.texts["details"])[data["turns"][1]["id"]]
    assert details["files"][0]["diff"].splitlines()[1].startswith("+</script>")
    assert page.texts["script"] == plain.texts["script"]


def test_json_in_the_page_has_no_character_of_markup() -> None:
    text = embedded_json({"<!--": [HOSTILE, "\udcff\x00"]})
    assert text.isascii()
    assert not set(text) & set("<>&")
    assert json.loads(text) == {"<!--": [HOSTILE, "\udcff\x00"]}


def test_the_page_loads_nothing_and_runs_only_its_own_script() -> None:
    for served in (False, True):
        page = Elements(page_html({"turns": []}, served=served).decode())
        rules = dict(rule.split(" ", 1) for rule in page.policy.split("; "))
        assert rules["default-src"] == "'none'"
        assert rules["script-src"] == f"'sha256-{hashed(page.texts['script'])}'"
        assert rules["style-src"] == f"'sha256-{hashed(page.texts['style'])}'"
        assert rules.get("connect-src") == ("'self'" if served else None)
        for tag, values in page.found:
            assert not {name for name in values if name.startswith("on") or name == "style"}, tag
            links = [values[name] for name in ("src", "href") if values.get(name)]
            assert all((link or "").startswith("data:") for link in links)
        assert "url(" not in page.texts["style"]
        assert "@import" not in page.texts["style"]


def test_the_script_makes_only_text_of_texts() -> None:
    scripts = list(PAGE.glob("*.js"))
    assert len(scripts) > 1
    for script in scripts:
        assert DANGEROUS.findall(script.read_text(encoding="utf-8")) == []


def test_without_options_the_page_is_a_private_file(repo: Repo) -> None:
    take()
    answer = repo.boocode("view", "--json", "--no-open").json
    path = Path(answer["path"])
    assert path == repo.top / ".git/boocode/view.html"
    assert answer["turns"] == 1
    assert path.stat().st_mode & 0o777 == 0o600
    done = repo.boocode("view", "--no-open")
    assert (done.code, done.out) == (0, f"{path}\n")


def test_a_browser_is_opened_where_there_is_one(repo: Repo) -> None:
    opened = repo.top / "opened"
    browser = repo.write("browser", f'#!/bin/sh\necho "$1" > {opened}\n', 0o755)
    done = repo.boocode("view", env={"BROWSER": str(browser)})
    assert done.out.startswith(f"opened {repo.top}/.git/boocode/view.html")
    assert opened.read_text() == (repo.top / ".git/boocode/view.html").as_uri() + "\n"
    for variables in ({"BROWSER": "no-such-browser"}, {}):
        environ = {"DISPLAY": "", "WAYLAND_DISPLAY": "", **variables}
        assert repo.boocode("view", env=environ).out == f"{repo.top}/.git/boocode/view.html\n"


def test_the_page_goes_to_a_file_or_to_standard_output(repo: Repo) -> None:
    take()
    environ = {"BROWSER": "false"}
    done = repo.boocode("view", "-o", "page.html", env=environ)
    assert (done.code, done.out) == (0, f"wrote {repo.top}/page.html (1 turn)\n")
    assert (repo.top / "page.html").stat().st_mode & 0o777 == 0o600
    assert repo.boocode("view", "-o", "page.html", env=environ).code == 0
    printed = repo.boocode("view", "-o", "-", env=environ).out
    assert printed.startswith("<!doctype html>\n")
    assert len(json.loads(Elements(printed).texts["data"])["turns"]) == 1


def test_other_files_are_not_replaced(repo: Repo) -> None:
    repo.write("notes", "mine\n")
    repo.write("directory/file", "mine\n")
    for name in ("notes", "directory", "/dev/null"):
        done = repo.boocode("view", "--output", name)
        assert done.code == 129
        assert "is not a page of git boocode view" in done.err
    assert repo.read("notes") == repo.read("directory/file") == b"mine\n"
    assert repo.boocode("view", "--output", "no/such/directory").code == 128


def test_options_that_do_not_fit_are_refused(repo: Repo) -> None:
    for options in (
        ("--serve", "--output", "x"),
        ("--port", "1"),
        ("--serve", "--port", "65536"),
        ("-n", "0"),
        ("--json", "--output", "-"),
    ):
        assert repo.boocode("view", *options).code == 129


def test_the_number_of_turns_is_limited(repo: Repo) -> None:
    for _ in range(3):
        take()
    data = json.loads(written(repo, "-n", "2").texts["data"])
    assert (len(data["turns"]), data["more"]) == (2, True)


def test_a_server_ends_quietly_after_ctrl_c(repo: Repo) -> None:
    take()
    command = ["git-boocode", "view", "--serve", "--json", "--no-open"]
    with subprocess.Popen(
        command, cwd=repo.top, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        answer: dict[str, Any] = json.loads(process.stdout.readline())
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{43}/", answer["url"])
        taken = repo.boocode("view", "--serve", "--port", answer["url"].split(":")[2].split("/")[0])
        assert (taken.code, "cannot listen on port" in taken.err) == (128, True)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
        assert (process.stdout.read(), process.stderr.read()) == (b"", b"")


def test_an_open_tab_goes_on_with_the_next_server(repo: Repo) -> None:
    take()
    kept = repo.top / ".git/boocode/view-serve.json"

    @contextmanager
    def address() -> Iterator[str]:
        command = ["git-boocode", "view", "--serve", "--json", "--no-open"]
        with subprocess.Popen(command, cwd=repo.top, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())["url"]
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 0

    with address() as first:
        assert kept.stat().st_mode & 0o777 == 0o600
    with address() as again:
        assert again == first
        # The port is taken.
        with address() as beside:
            assert beside != first
    for wrong in ('{"port": 99999, "token": "' + "x" * 43 + '"}', '{"port": 1, "token": ""}', "["):
        kept.write_text(wrong)
        with address() as fresh:
            assert fresh != first


def test_the_address_reaches_the_browser_by_a_private_file(repo: Repo) -> None:
    seen = repo.top / "seen"
    script = f'#!/bin/sh\ncp -p "${{1#file://}}" {seen}.new\nmv {seen}.new {seen}\n'
    browser = repo.write("browser", script, 0o755)
    with subprocess.Popen(
        ["git-boocode", "view", "--serve"],
        cwd=repo.top,
        stdout=subprocess.PIPE,
        env={**os.environ, "BROWSER": str(browser)},
    ) as process:
        assert process.stdout is not None
        url = process.stdout.readline().decode().strip()
        deadline = time.monotonic() + 20
        while not seen.exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        assert f'content="0;url={url}"' in seen.read_text()
        assert seen.stat().st_mode & 0o777 == 0o600
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
    assert not (repo.top / ".git/boocode/view-serve.html").exists()
