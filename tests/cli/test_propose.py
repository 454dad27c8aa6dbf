"""What a user sees of proposals, from `propose` to `accept`, `discard` and `sync`."""

from __future__ import annotations

import json

import pytest

from tests.repo_kit import Repo
from tests.terminal_kit import Terminal

pytestmark = pytest.mark.slow

NUMBERS = "".join(f"{number}\n" for number in range(1, 21))
EDITS = json.dumps(
    [
        {"path": "a.txt", "old_string": "2\n3\n", "new_string": "2\nTHREE\n"},
        {"path": "a.txt", "old_string": "18\n", "new_string": ""},
        {"path": "sub/new.txt", "content": "new\n"},
    ]
)
PARTS = {"first": NUMBERS.replace("\n3\n", "\nTHREE\n"), "second": NUMBERS.replace("\n18\n", "\n")}


@pytest.fixture
def proposed(repo: Repo) -> Repo:
    """A repository with a proposal for two files."""
    repo.commit(**{"a.txt": NUMBERS, "b.txt": "b\n"})
    done = repo.boocode("propose", stdin=EDITS)
    assert done.code == 0
    return repo


def test_a_proposal_is_described_and_no_file_changes(repo: Repo) -> None:
    repo.commit(**{"a.txt": NUMBERS})
    before = repo.files()
    done = repo.boocode("propose", stdin=EDITS)
    assert done.out.startswith(
        " M a.txt: lines 2-3\n M a.txt: line 18\n A sub/new.txt: new file\nproposed as "
    )
    again = repo.boocode("propose", "-n", stdin=EDITS)
    assert (again.code, again.out.count("already applied")) == (0, 2)
    assert repo.files() == before


def test_status_lists_what_is_proposed(proposed: Repo) -> None:
    assert "proposal:\n  M  a.txt\n  A  sub/new.txt\n" in proposed.boocode("status").out
    assert proposed.boocode("status", "sub").out == "A  sub/new.txt\n"
    proposed.write("a.txt", "mine\n")
    proposed.write("sub/new.txt", "mine\n")
    assert proposed.boocode("status", "--porcelain").out == "~M a.txt\n!A sub/new.txt\n"
    assert proposed.boocode("status", "-z").out == "~M a.txt\0!A sub/new.txt\0"
    assert proposed.boocode("status", "../elsewhere").code == 1


def test_a_subdirectory_is_where_paths_count_from(proposed: Repo) -> None:
    (proposed.top / "sub").mkdir()
    sub = Repo(proposed.top / "sub")
    assert sub.boocode("status", "new.txt").out == "A  sub/new.txt\n"
    assert sub.boocode("status", "../a.txt").out == "M  a.txt\n"
    assert sub.boocode("preview", "new.txt").out == "new\n"
    assert sub.boocode("accept", "new.txt").code == 0
    assert proposed.read("sub/new.txt") == b"new\n"


def test_diff_and_preview_show_what_is_proposed(proposed: Repo) -> None:
    shown = proposed.boocode("diff", "--proposal", "a.txt").out
    assert "-3\n+THREE\n" in shown
    assert "new.txt" not in shown
    assert proposed.boocode("diff", "--proposal", "--name-only").out == "a.txt\nsub/new.txt\n"
    refused = proposed.boocode("diff", "--proposal", "b.txt")
    assert (refused.code, refused.err.splitlines()[0]) == (
        1,
        "error: no change of these files is proposed",
    )
    assert "THREE" in proposed.boocode("preview", "a.txt").out
    other = proposed.boocode("preview", "b.txt")
    assert (other.code, other.out) == (0, "b\n")
    assert "not part of a proposal" in other.err
    assert proposed.boocode("preview", "c.txt").code == 1


def test_accept_says_what_it_wrote_and_undo_what_it_took_back(proposed: Repo) -> None:
    assert proposed.boocode("accept").out == " M a.txt\n A sub/new.txt\n"
    assert proposed.read("sub/new.txt") == b"new\n"
    nothing = proposed.boocode("accept")
    assert nothing.code == 1
    assert nothing.err.startswith("error: there is nothing to accept: no change is proposed\n")
    assert proposed.boocode("undo").out.endswith("took back 'accept' of 2 files\n")
    assert proposed.boocode("status", "--porcelain").out == "M  a.txt\nA  sub/new.txt\n"
    assert not (proposed.top / "sub").exists()


def test_a_conflict_is_named_with_its_lines(proposed: Repo) -> None:
    mine = NUMBERS.replace("\n3\n", "\nmine\n")
    proposed.write("a.txt", mine)
    refused = proposed.boocode("accept")
    assert refused.code == 1
    assert refused.err.startswith("error: 'a.txt': you have changed it since\nhint: --merge ")
    refused = proposed.boocode("accept", "--merge")
    assert "'a.txt': your changes conflict with the proposal: line 3" in refused.err
    assert proposed.read("a.txt").decode() == mine
    assert proposed.boocode("accept", "--merge", "--markers").code == 0
    marked = "<<<<<<< local\nmine\n=======\nTHREE\n>>>>>>> proposal\n"
    assert proposed.read("a.txt").decode() == PARTS["second"].replace("3\n", marked, 1)


@pytest.mark.parametrize(("number", "part"), [("1", "first"), ("2", "second")])
def test_one_hunk_is_accepted(proposed: Repo, number: str, part: str) -> None:
    assert proposed.boocode("accept", "--hunk", number, "a.txt").code == 0
    assert proposed.read("a.txt").decode() == PARTS[part]
    assert proposed.boocode("status", "a.txt").out == "M  a.txt\n"
    assert proposed.boocode("discard", "--hunk", "1", "a.txt").out == "   a.txt\n"
    assert proposed.read("a.txt").decode() == PARTS[part]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--hunk", "3", "a.txt"), 1, "'a.txt' has only 2 hunks, not a hunk 3"),
        (("--hunk", "0", "a.txt"), 129, "'0' is not a whole number of at least 1"),
        (("--hunk", "1"), 129, "--hunk takes hunks of one file"),
        (("--hunk", "1", "-p", "a.txt"), 129, "options '--hunk' and '--patch' cannot be used"),
        (("-p",), 129, "--patch asks questions, which needs a terminal"),
        (("b.txt",), 1, "no change of 'b.txt' is proposed"),
        (("/etc/passwd",), 1, "'/etc/passwd' is outside the worktree"),
    ],
)
@pytest.mark.parametrize("command", ["accept", "discard"])
def test_nonsense_is_refused(
    proposed: Repo, command: str, arguments: tuple[str, ...], code: int, message: str
) -> None:
    before = proposed.files()
    done = proposed.boocode(command, *arguments)
    assert done.code == code
    assert message in done.err
    assert proposed.files() == before
    assert proposed.boocode("status", "--porcelain").out == "M  a.txt\nA  sub/new.txt\n"


def test_markers_need_a_merge(proposed: Repo) -> None:
    assert "--markers needs --merge" in proposed.boocode("accept", "--markers").err
    assert proposed.boocode("accept", "--merge", "--overwrite").code == 129


def test_hunks_are_chosen_on_a_terminal(proposed: Repo) -> None:
    terminal = Terminal("git-boocode", "accept", "-p")
    assert "+THREE" in terminal.wait_for("(1/2) Accept this hunk [y,n,q,a,d,?]?")
    terminal.type("?\n")
    terminal.wait_for("y - accept this hunk")
    terminal.wait_for("(1/2) Accept this hunk [y,n,q,a,d,?]?")
    terminal.type("n\n")
    assert "-18" in terminal.wait_for("(2/2) Accept this hunk")
    terminal.type("y\n")
    terminal.wait_for("(1/1) Accept this hunk")
    terminal.type("q\n")
    assert terminal.end()[0] == 0
    assert proposed.read("a.txt").decode() == PARTS["second"]
    assert proposed.boocode("status", "--porcelain").out == "M  a.txt\nA  sub/new.txt\n"


def test_quitting_chooses_nothing(proposed: Repo) -> None:
    before = proposed.files()
    terminal = Terminal("git-boocode", "discard", "-p", "a.txt")
    terminal.wait_for("(1/2) Discard this hunk")
    terminal.type("q\n")
    code, shown = terminal.end()
    assert (code, shown.splitlines()[-1]) == (1, "nothing was discarded")
    assert proposed.files() == before
    assert proposed.boocode("status", "a.txt").out == "M  a.txt\n"


def test_sync_adds_files_and_warns_of_conflicts(proposed: Repo) -> None:
    assert proposed.boocode("sync", "b.txt").out == "   b.txt\n"
    proposed.write("b.txt", "mine\n")
    proposed.write("a.txt", "mine\n")
    listed = proposed.boocode("status", "--porcelain").out
    assert listed == "~M a.txt\n~  b.txt\nA  sub/new.txt\n"
    synced = proposed.boocode("sync")
    assert "accepting 'a.txt' now replaces your changes" in synced.err
    assert proposed.boocode("status", "a.txt", "b.txt").out == "M  a.txt\n   b.txt\n"
    assert proposed.boocode("sync", "nowhere").code == 1
    assert proposed.boocode("undo").out == "took back 'sync' of 3 files\n"
    assert proposed.boocode("status", "b.txt").out == "~  b.txt\n"


def test_a_retry_names_the_refused_attempt(proposed: Repo) -> None:
    wrong = json.dumps({"path": "a.txt", "old_string": "no such line", "new_string": "x"})
    refused = proposed.boocode("propose", "--json", "--retry-context", "why", stdin=wrong)
    assert refused.code == 1
    assert "no such line" in proposed.read("why").decode()
    again = json.dumps({"path": "a.txt", "old_string": "20\n", "new_string": "x\n"})
    made = proposed.boocode(
        "propose", "--json", "--retry-of", refused.json["id"], stdin=again
    ).json["id"]
    message = proposed.git("log", "-1", "--format=%B", f"refs/boocode/proposals/{made}")
    assert json.loads(message.partition("\n\n")[2])["retry_of"] == refused.json["id"]
    unknown = proposed.boocode("propose", "--retry-of", "nothing", stdin=again)
    assert unknown.code == 1
    assert unknown.err.startswith("error: no proposal matches 'nothing' (ids need at least 4 ")


def test_what_is_accepted_belongs_to_the_turn(proposed: Repo) -> None:
    proposed.boocode("checkpoint", "-m", "turn")
    proposed.boocode("accept")
    proposed.write("b.txt", "later\n")
    [turn] = proposed.boocode("log", "--json").json["checkpoints"]
    assert (turn["files"], turn["end"]) == (3, "now")
    safety = proposed.git("for-each-ref", "--format=%(refname:lstrip=3)", "refs/boocode/safety/")
    shown = proposed.boocode("show", safety.strip()).out
    assert "before 'accept' of a proposal" in shown


def test_a_turn_keeps_reviews_away(proposed: Repo) -> None:
    proposed.boocode("turn", "begin", "-m", "more")
    proposed.write("a.txt", "typed meanwhile\n")
    for command in ("accept", "discard", "sync"):
        done = proposed.boocode(command, "--json")
        assert (done.code, done.json["error"]["code"]) == (1, "locked")
        assert "'more'" in done.json["error"]["message"]
    edit = {"path": "b.txt", "old_string": "b", "new_string": "c"}
    proposed.write("b.txt", "typed\n")
    assert proposed.boocode("propose", stdin=json.dumps(edit)).code == 0
    assert proposed.boocode("status", "b.txt").out == "~M b.txt\n"
    assert proposed.boocode("discard", "--force", "b.txt").code == 0
    proposed.boocode("turn", "end")
    assert proposed.boocode("accept", "--overwrite").code == 0


def test_a_turn_begins_with_unsaved_text(repo: Repo) -> None:
    repo.commit(a="saved\n")
    repo.write("../unsaved", "typed\n")
    repo.boocode("turn", "begin", "--buffer", "a=../unsaved")
    edit = json.dumps({"path": "a", "old_string": "typed", "new_string": "proposed"})
    assert repo.boocode("propose", stdin=edit).code == 0
    repo.boocode("turn", "end")
    assert repo.boocode("status", "--porcelain").out == "~M a\n"
    assert repo.boocode("status", "--porcelain", "--buffer", "a=../unsaved").out == "M  a\n"
    done = repo.boocode("accept", "--buffer", "a=../unsaved", "--json").json
    assert (done["files"][0]["text"], repo.read("a")) == ("proposed\n", b"saved\n")


def test_a_file_that_no_checkpoint_records_is_not_replaced(repo: Repo) -> None:
    repo.commit(a="a\n")
    (repo.top / "nested").mkdir()
    nested = Repo(repo.top / "nested")
    nested.git("init", "-q")
    nested.commit(x="precious\n")
    edits = [
        {"path": "nested/x", "old_string": "precious", "new_string": "new"},
        {"path": "a", "old_string": "a", "new_string": "b"},
    ]
    assert repo.boocode("propose", stdin=json.dumps(edits)).code == 0
    refused = repo.boocode("accept", "--overwrite")
    assert refused.code == 1
    assert "'nested/x' cannot be replaced, because no checkpoint can record it" in refused.err
    assert (nested.read("x"), repo.read("a")) == (b"precious\n", b"a\n")
    assert repo.git("for-each-ref", "refs/boocode/safety/") == ""


def test_hunks_are_those_that_were_shown(proposed: Repo) -> None:
    terminal = Terminal("git-boocode", "accept", "-p", "a.txt")
    terminal.wait_for("(1/2) Accept this hunk")
    edit = {"path": "a.txt", "old_string": "10\n", "new_string": "TEN\n"}
    assert proposed.boocode("propose", stdin=json.dumps(edit)).code == 0
    terminal.type("n\n")
    terminal.wait_for("(2/2) Accept this hunk")
    terminal.type("y\n")
    code, shown = terminal.end()
    assert (code, "the proposal has changed since you looked at it" in shown) == (1, True)
    assert proposed.read("a.txt").decode() == NUMBERS


def test_only_the_expected_proposal_is_decided_about(proposed: Repo) -> None:
    seen = proposed.boocode("status", "--porcelain", "--json").json["proposal"]
    assert proposed.boocode("status", "--json").json["proposal"]["id"] == seen
    assert proposed.boocode("preview", "--json", "a.txt").json["proposal"] == seen
    edit = {"path": "a.txt", "old_string": "10\n", "new_string": "TEN\n"}
    assert proposed.boocode("propose", stdin=json.dumps(edit)).code == 0
    for command in ("accept", "discard"):
        for more in ((), ("--hunk", "1", "a.txt")):
            refused = proposed.boocode(command, "--expect", seen, "--json", *more)
            assert (refused.code, refused.json["error"]["code"]) == (1, "stale")
        # Nothing was seen, as a script with an empty variable says.
        assert proposed.boocode(command, "--expect", "").code == 129
    assert proposed.read("a.txt").decode() == NUMBERS
    now = proposed.boocode("status", "--porcelain", "--json").json["proposal"]
    done = proposed.boocode("accept", "--expect", now, "--json").json
    assert done["proposal"] == done["id"] != now


def test_questions_and_json_exclude_each_other(proposed: Repo) -> None:
    for command in ("accept", "discard"):
        assert proposed.boocode(command, "-p", "--json").code == 129


def test_what_was_proposed_since_survives_an_undo(proposed: Repo) -> None:
    assert proposed.boocode("accept", "sub").code == 0
    assert proposed.boocode("accept", "a.txt").code == 0
    edit = {"path": "a.txt", "old_string": "10\n", "new_string": "TEN\n"}
    assert proposed.boocode("propose", stdin=json.dumps(edit)).code == 0
    assert proposed.boocode("undo").code == 0
    assert proposed.read("a.txt").decode() == NUMBERS
    assert proposed.boocode("status", "a.txt").out == "~M a.txt\n"
    assert proposed.boocode("accept", "--merge").code == 0
    assert b"\nTEN\n" in proposed.read("a.txt")
    assert b"\n3\n" in proposed.read("a.txt")


def test_a_sync_keeps_what_the_proposal_does_not_touch(proposed: Repo) -> None:
    mine = NUMBERS.replace("\n3\n", "\nmine\n").replace("\n10\n", "\nalso mine\n")
    proposed.write("a.txt", mine)
    assert "replaces your changes: line 3" in proposed.boocode("sync", "a.txt").err
    assert proposed.boocode("accept", "a.txt").code == 0
    expected = PARTS["second"].replace("\n3\n", "\nTHREE\n").replace("\n10\n", "\nalso mine\n")
    assert proposed.read("a.txt").decode() == expected


def test_a_deletion_has_one_hunk(proposed: Repo) -> None:
    patch = "*** Begin Patch\n*** Delete File: b.txt\n*** End Patch\n"
    assert proposed.boocode("propose", stdin=patch).code == 0
    assert proposed.boocode("accept", "--hunk", "2", "b.txt").code == 1
    assert proposed.read("b.txt") == b"b\n"
    assert proposed.boocode("accept", "--hunk", "1", "b.txt").code == 0
    assert not (proposed.top / "b.txt").exists()


def test_the_id_of_a_proposal_is_not_taken_for_a_checkpoint(proposed: Repo) -> None:
    name = proposed.git("for-each-ref", "--format=%(refname:lstrip=3)", "refs/boocode/proposals")
    for command in ("show", "restore", "drop"):
        done = proposed.boocode(command, name.strip())
        assert (done.code, "is a proposal, not a checkpoint" in done.err) == (1, True)
