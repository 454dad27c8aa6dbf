"""The callback for messages in an SQLite database, through real restores."""

from __future__ import annotations

import signal
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from git_boocode.repo.repository import Repository
from git_boocode.workflows.fork_turn import ForkRequest, fork
from tests.checkpoints.kit import back, interrupted, redone, seen, sound, take, undone
from tests.hooks.kit import callback, failing, failing_afterwards, faulty, refused
from tests.kill_kit import killed_at
from tests.repo_kit import Repo

PROGRAM = callback("sqlite")
ROWS = "SELECT rowid, *, typeof(text) FROM messages ORDER BY rowid"
PLAIN = "CREATE TABLE messages (id TEXT PRIMARY KEY, chat_id TEXT, text)"
Rows = list[tuple[Any, ...]]


class Scene:
    """Two chats in a database, a checkpoint before message m2 of the first, and a mess."""

    def __init__(
        self, repo: Repo, schema: str = PLAIN, message: str = "m2", rows: str = ROWS
    ) -> None:
        self._rows = rows
        self.repo = repo
        self.path = repo.write(".git/chats.db", "")
        self.run(schema)
        for name, chat in (("m1", "c"), ("x1", "x"), ("m2", "c"), ("m3", "c"), ("x2", "x")):
            self.say(name, chat)
        repo.git("config", "boocode.sqliteDatabase", ".git/chats.db")
        repo.commit("base", a="1\n")
        take(chat="c", message=message)
        repo.write("a", "2\n")
        self.mess = seen(repo)
        self.whole = self.rows()

    def run(self, query: str, values: Iterable[Any] = ()) -> Rows:
        with closing(sqlite3.connect(self.path, isolation_level=None)) as database:
            return database.execute(query, tuple(values)).fetchall()

    def say(self, name: str, chat: str = "c", text: Any = b"\xff\x00") -> None:
        self.run("INSERT INTO messages (id, chat_id, text) VALUES (?, ?, ?)", (name, chat, text))

    def rows(self) -> Rows:
        return self.run(self._rows)

    def names(self, chat: str = "c") -> str:
        found = self.run("SELECT id FROM messages WHERE chat_id = ? ORDER BY rowid", (chat,))
        return " ".join(str(row[0]) for row in found)

    def tables(self) -> list[str]:
        """The tables that the callback made, without ids."""
        query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name != 'messages'"
        return sorted(row[0][:13] + row[0][13 + 36 :] for row in self.run(query))

    def untouched(self) -> None:
        assert (self.rows(), self.tables(), seen(self.repo)) == (self.whole, [], self.mess)
        sound(self.repo)


@pytest.fixture
def scene(repo: Repo) -> Scene:
    return Scene(repo)


def test_back_and_forth(scene: Scene) -> None:
    answer = back(callback=PROGRAM).answer
    assert answer is not None
    assert (answer.messages_deleted, answer.backend_reset) == (2, True)
    assert (scene.names(), scene.names("x"), scene.repo.read("a")) == ("m1", "x1 x2", b"1\n")
    for _ in range(2):
        undone(callback=PROGRAM)
        assert (scene.rows(), seen(scene.repo)) == (scene.whole, scene.mess)
        redone(callback=PROGRAM)
        assert (scene.names(), scene.repo.read("a")) == ("m1", b"1\n")


def test_every_state_comes_back(scene: Scene) -> None:
    take(session="c", message="m1", label="start")
    first = back("@~1", callback=PROGRAM).undo or ""
    scene.say("n2")
    second = back("label:start", callback=PROGRAM).undo or ""
    assert scene.names() == ""
    third = back(first, callback=PROGRAM).undo or ""
    assert scene.rows() == scene.whole
    back(second, callback=PROGRAM)
    assert scene.names() == "m1 n2"
    back(third, callback=PROGRAM)
    assert scene.names() == ""


def test_rows_come_back_as_they_were(repo: Repo) -> None:
    scene = Scene(repo, PLAIN.replace("text)", "text NUMERIC, more REAL DEFAULT 3)"))
    for number, text in enumerate(
        (None, 7, 0.5, 2.0, "", "1e3", "é\0", b"", 1 << 62, float("inf"))
    ):
        scene.say(f"n{number}", text=text)
    scene.run("UPDATE messages SET text = CAST(x'ff' AS TEXT) WHERE id = 'm3'")
    hexed = "SELECT rowid, id, hex(text), typeof(text), more FROM messages"
    whole = scene.run(hexed)
    assert len({row[3] for row in whole}) == 5
    back(callback=PROGRAM)
    assert scene.names() == "m1"
    undone(callback=PROGRAM)
    assert scene.run(hexed) == whole


def test_another_chat_has_been_given_the_rowids(scene: Scene) -> None:
    """SQLite gives the rowids of deleted rows again."""
    scene.run("DELETE FROM messages WHERE id = 'x2'")
    back(callback=PROGRAM)
    scene.say("x3", "x")
    scene.say("n2")
    undone(callback=PROGRAM)
    assert (scene.names(), scene.names("x")) == ("m1 m2 m3", "x1 x3")
    redone(callback=PROGRAM)
    assert (scene.names(), scene.names("x")) == ("m1", "x1 x3")


def test_a_key_that_another_chat_has_been_given(repo: Repo) -> None:
    schema = "CREATE TABLE messages (n INTEGER PRIMARY KEY, id, chat_id, text)"
    scene = Scene(repo, schema)
    scene.run("DELETE FROM messages WHERE id = 'x2'")
    back(callback=PROGRAM)
    scene.say("x3", "x")
    after = scene.rows()
    with pytest.raises(Exception, match="UNIQUE constraint failed"):
        undone(callback=PROGRAM)
    assert (scene.rows(), repo.read("a")) == (after, b"1\n")


def test_rows_that_stay_are_not_touched(repo: Repo) -> None:
    scene = Scene(repo)
    scene.run("UPDATE messages SET text = 7")
    scene.whole = scene.rows()
    scene.run("CREATE TABLE log (what)")
    scene.run(
        "CREATE TRIGGER d AFTER DELETE ON messages BEGIN INSERT INTO log VALUES (old.id); END"
    )
    back(callback=PROGRAM)
    scene.run("UPDATE messages SET text = 7.0 WHERE id = 'm1'")
    undone(callback=PROGRAM)
    assert scene.run("SELECT what FROM log") == [("m2",), ("m3",), ("m1",)]
    assert scene.rows() == scene.whole


@pytest.mark.parametrize(
    "schema",
    [
        "CREATE TABLE messages (id TEXT, chat_id, text, PRIMARY KEY (chat_id, id)) WITHOUT ROWID",
        "CREATE TABLE messages (id TEXT COLLATE NOCASE, chat_id, text, at AS (id))",
        'CREATE TABLE messages (id, chat_id, text, "rowid" INT, "select ""me" DEFAULT 1)',
    ],
)
def test_odd_tables(repo: Repo, schema: str) -> None:
    repo.git("config", "boocode.sqliteOrder", "id")
    scene = Scene(repo, schema, rows="SELECT * FROM messages ORDER BY chat_id, id")
    back(callback=PROGRAM)
    assert scene.run("SELECT id FROM messages WHERE chat_id = 'c'") == [("m1",)]
    undone(callback=PROGRAM)
    assert scene.rows() == scene.whole


def test_what_belongs_to_a_message_stays_for_the_undo(scene: Scene) -> None:
    scene.run("CREATE TABLE files (id REFERENCES messages ON DELETE CASCADE, path)")
    scene.run("INSERT INTO files VALUES ('m2', 'a')")
    back(callback=PROGRAM)
    assert scene.run("SELECT * FROM files") == [("m2", "a")]


def test_a_column_added_since(scene: Scene) -> None:
    back(callback=PROGRAM)
    scene.run("ALTER TABLE messages ADD COLUMN stars DEFAULT 5")
    undone(callback=PROGRAM)
    assert scene.run("SELECT id, stars FROM messages WHERE chat_id = 'c' ORDER BY rowid") == [
        ("m1", 5), ("m2", 5), ("m3", 5),
    ]  # fmt: skip


def test_names_from_the_environment(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene(repo)
    scene.run('ALTER TABLE messages RENAME TO "my ""posts"')
    scene.run('ALTER TABLE "my ""posts" RENAME COLUMN chat_id TO talk')
    repo.git("config", "boocode.sqliteChat", "talk")
    monkeypatch.setenv("BOOCODE_SQLITE_TABLE", 'my "posts')
    back(callback=PROGRAM)
    assert scene.run('SELECT id FROM "my ""posts" WHERE talk = \'c\'') == [("m1",)]


def test_one_chat_alone(repo: Repo) -> None:
    scene = Scene(repo)
    repo.git("config", "boocode.sqliteChat", "")
    back(callback=PROGRAM)
    assert scene.run("SELECT id FROM messages") == [("m1",), ("x1",)]
    undone(callback=PROGRAM)
    assert scene.rows() == scene.whole


VETOES = [
    ("Database", "", "no database is configured"),
    ("Database", ".git/none.db", "unable to open database file"),
    ("Database", ".git/config", "file is not a database"),
    ("Table", "posts", "has no table 'posts'"),
    ("Id", "uuid", "has no column 'uuid'"),
    ("Order", "created", "has no column 'created'"),
    ("Order", "chat_id", "does not order the message 'm2'"),
    ("Chat", "text", "no message 'm2'"),
    ("Id", "chat_id", "no message 'm2'"),
]


def test_vetoes(scene: Scene) -> None:
    before = scene.repo.read(".git/config")
    for setting, value, reason in VETOES:
        scene.repo.git("config", f"boocode.sqlite{setting}", value)
        assert reason in refused(PROGRAM)
        scene.untouched()
        scene.repo.write(".git/config", before)
    assert not (scene.repo.top / ".git/none.db").exists()


def test_a_link_out_of_the_worktree_is_not_followed(scene: Scene, sealed: Path) -> None:
    own = scene.path.rename(sealed / "chats.db")
    (scene.repo.top / "chats.db").symlink_to(own)
    scene.repo.git("config", "boocode.sqliteDatabase", "chats.db")
    assert "leads out of the worktree" in refused(PROGRAM)
    scene.repo.git("config", "boocode.sqliteDatabase", "~/chats.db")
    assert back(callback=PROGRAM).answer is not None


def test_no_view_is_touched(repo: Repo) -> None:
    scene = Scene(repo)
    scene.run("CREATE VIEW posts AS SELECT * FROM messages")
    repo.git("config", "boocode.sqliteTable", "posts")
    assert "has no table 'posts'" in refused(PROGRAM)


def test_checkpoints_that_do_not_say_where(scene: Scene) -> None:
    for told, reason in (
        ({"chat": "c"}, "names no message"),
        ({"message": "m2"}, "names no chat"),
        ({"chat": "x", "message": "m2"}, "the chat 'x' has no message 'm2'"),
        ({"session": "c", "message": "m4"}, "no message 'm4'"),
    ):
        take(**told)
        assert reason in refused(PROGRAM)
        scene.untouched()


def test_two_messages_of_one_id(repo: Repo) -> None:
    scene = Scene(repo, "CREATE TABLE messages (id, chat_id, text)")
    scene.say("m2")
    assert "has 2 messages 'm2'" in refused(PROGRAM)


def test_others_who_write_are_waited_for(scene: Scene) -> None:
    program = scene.repo.write(
        ".git/impatient", Path(PROGRAM).read_text().replace("BUSY = 20", "BUSY = 0.01"), 0o755
    )
    with closing(sqlite3.connect(scene.path, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        assert "database is locked" in refused(str(program))
    scene.untouched()
    back(callback=str(program))
    assert scene.names() == "m1"


def test_a_later_step_fails(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    failing_afterwards(monkeypatch, PROGRAM)
    scene.untouched()


@pytest.mark.parametrize("when", ["COMMIT", "afterwards"])
def test_killed(scene: Scene, when: str) -> None:
    for death in ("die", "die_with_the_restore"):
        code = f"json.dump = {death}"
        if when == "COMMIT":
            watch = f"lambda text: text == 'COMMIT' and {death}()"
            code = (
                "import sqlite3; connect = sqlite3.connect; "
                "sqlite3.connect = lambda *args, **more: "
                f"[it := connect(*args, **more), it.set_trace_callback({watch})][0]"
            )
        program = faulty(scene.repo, "sqlite", "trim", code)
        if death == "die":
            assert "killed by signal 9" in failing(program)
            scene.untouched()
        else:
            done = scene.repo.boocode("restore", "@", "--callback", program)
            assert done.code == -signal.SIGKILL
    back(callback=PROGRAM)
    assert (scene.names(), scene.tables()) == ("m1", ["boocode_kept_"])
    while seen(scene.repo) != scene.mess:
        undone(callback=PROGRAM)
    assert scene.rows() == scene.whole


def test_what_was_said_after_a_kill_is_not_lost(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted(monkeypatch, lambda: back(callback=PROGRAM))
    scene.say("n2")
    back(callback=PROGRAM)
    assert scene.names() == "m1"
    assert scene.tables() == ["boocode_kept_", "boocode_kept__after"]
    (name,) = (
        row[0] for row in scene.run("SELECT name FROM sqlite_master WHERE name GLOB '*_after'")
    )
    assert scene.run(f'SELECT id FROM "{name}"') == [("m1",), ("n2",)]


SESSIONS = """
CREATE TABLE session (id TEXT PRIMARY KEY, directory TEXT, title TEXT);
CREATE TABLE messages (
  id TEXT PRIMARY KEY, chat_id TEXT REFERENCES session (id), text);
CREATE TABLE part (id TEXT PRIMARY KEY, message TEXT REFERENCES messages (id), chat TEXT, data);
INSERT INTO session VALUES ('c', '/old', 'a title'), ('x', '/old', 'another');
"""


def test_a_fork_is_a_copy_with_all_that_belongs_to_it(repo: Repo, tmp_path: Path) -> None:
    first, second = (f"msg_2243d0e0700{n}a6ha2tgqwOCxQL" for n in (1, 2))
    path = repo.write(".git/chats.db", "")
    with closing(sqlite3.connect(path)) as database:
        database.executescript(SESSIONS)
        for name, text in ((first, f'{{"cwd": "/old", "says": "{second}?"}}'), (second, "2")):
            database.execute("INSERT INTO messages VALUES (?, 'c', ?)", (name, text))
        database.execute("INSERT INTO messages VALUES ('other', 'x', '')")
        for n, name in enumerate((first, first, second)):
            data = f'{{"of": "{name}"}}'
            database.execute("INSERT INTO part VALUES (?, ?, 'c', ?)", (f"p{n}", name, data))
        database.commit()
    repo.git("config", "boocode.sqliteDatabase", ".git/chats.db")
    repo.git("config", "boocode.callback", "sqlite")
    repo.commit("base", a="1\n")
    take(chat="c", message=second)
    dump = set(dump_of(path))
    top = tmp_path / "fork"
    assert repo.boocode("fork", "@", str(top), "--json").json["conversation"]["forked"]
    with closing(sqlite3.connect(path)) as database:
        [chat] = database.execute("SELECT id, title FROM session WHERE directory = ?", (str(top),))
        query = "SELECT id, text FROM messages WHERE chat_id = ?"
        [(message, text)] = database.execute(query, (chat[0],))
        assert (chat[1], message[:16]) == ("a title", first[:16])
        assert text == f'{{"cwd": "{top}", "says": "{second}?"}}'
        parts = database.execute("SELECT message, chat, data FROM part WHERE chat = ?", (chat[0],))
        assert parts.fetchall() == [(message, chat[0], f'{{"of": "{message}"}}')] * 2
    # What was there is as it was, and a killed fork leaves nothing.
    assert dump <= set(dump_of(path))
    before = dump_of(path)

    def act() -> None:
        fork(Repository.discover(), "@", ForkRequest(str(tmp_path / "killed")))

    assert killed_at("rename", 3, act)
    assert repo.boocode("doctor", "--fix").code == 0
    assert dump_of(path) == before


def dump_of(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as database:
        return sorted(database.iterdump())


def test_a_chat_with_other_ids_is_not_copied(repo: Repo, tmp_path: Path) -> None:
    schema = "CREATE TABLE messages (id INTEGER PRIMARY KEY, chat_id TEXT, text)"
    path = repo.write(".git/chats.db", "")
    with closing(sqlite3.connect(path)) as database:
        database.execute(schema)
        database.execute("INSERT INTO messages VALUES (1, 'c', ''), (2, 'c', '')")
        database.commit()
    repo.git("config", "boocode.sqliteDatabase", ".git/chats.db")
    repo.commit("base", a="1\n")
    take(chat="c", message="2")
    done = repo.boocode("fork", "@", str(tmp_path / "fork"), "--callback", "sqlite")
    assert done.code == 0
    assert "no texts, so that none can be copied" in done.err
