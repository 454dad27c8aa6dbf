"""`propose`: every format, all or nothing, beside the worktree, each call on top of the last."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from git_boocode.editing.answer import EditsRefusedError
from git_boocode.proposals.review import preview
from git_boocode.repo.errors import RefusedError
from tests.checkpoints.kit import refs
from tests.proposals import kit
from tests.proposals.kit import content_of, edit, letters, newest, propose
from tests.repo_kit import Repo

LINES = "1\n2\n3\n4\n5\n"
MODEL = "1\nmodel\n3\n4\n5\n"


def envelope(*lines: str) -> str:
    """An `apply-patch` input."""
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch", ""])


FORMATS: dict[str, Any] = {
    "string": edit("a", "2", "model"),
    "multi": {"path": "a", "edits": [{"old_string": "2", "new_string": "model"}]},
    "region": {"path": "a", "changes": [{"start": ["2"], "content": ["model"]}]},
    "write": {"path": "a", "content": MODEL},
    "unified": "--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n 1\n-2\n+model\n 3\n",
    "search-replace": "File: a\n<<<<<<< SEARCH\n2\n=======\nmodel\n>>>>>>> REPLACE\n",
    "apply-patch": envelope("*** Update File: a", "@@", " 1", "-2", "+model", " 3"),
}


def output(repo: Repo, path: str, *, side: str = "output") -> bytes | None:
    """What is stored of a file in the newest proposal."""
    found = newest()
    assert found is not None
    return content_of(repo, found, path, side=side)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.variants
def test_formats(repo: Repo, name: str) -> None:
    repo.commit(a=LINES, b=LINES)
    repo.write("b", "staged\n")
    repo.git("add", "b")
    repo.write("untracked", "u\n")
    before = kit.everything(repo)
    answer = propose(FORMATS[name], format=name)
    assert kit.everything(repo) == before
    assert (answer.applied, len(answer.files)) == (False, 1)
    assert answer.id is not None
    assert (output(repo, "a"), output(repo, "a", side="context")) == (
        MODEL.encode(),
        LINES.encode(),
    )
    ref = f"refs/boocode/proposals/{answer.id}"
    assert repo.git("diff", "--name-status", f"{ref}^", ref) == "M\ta\n"
    assert letters() == {"a": "M"}


@pytest.mark.parametrize("dry_run", [False, True])
def test_all_or_nothing(repo: Repo, dry_run: bool) -> None:
    repo.commit(a=LINES, b=LINES)
    propose(edit("b", "1", "one"))
    before, known = kit.everything(repo), refs(repo)
    with pytest.raises(EditsRefusedError):
        propose([edit("a", "2", "model"), edit("b", "nowhere", "x")], dry_run=dry_run)
    assert (kit.everything(repo), refs(repo)) == (before, known)
    assert letters() == {"b": "M"}
    assert propose(edit("a", "2", "x"), dry_run=True).id is None
    assert refs(repo) == known


def test_a_dry_run_and_a_refusal_leave_no_object(repo: Repo) -> None:
    repo.commit(a=LINES)
    objects = repo.git("count-objects", "-v")
    propose(edit("a", "2", "unheard of"), dry_run=True)
    with pytest.raises(EditsRefusedError):
        propose([edit("a", "2", "unheard of"), edit("a", "nowhere", "x")])
    assert repo.git("count-objects", "-v") == objects


def test_an_attempt_after_a_refused_one(repo: Repo) -> None:
    repo.commit(a=LINES)
    repo.write("edits", json.dumps(edit("a", "nowhere", "x")))
    done = repo.boocode("propose", "--json", "--retry-context", "retry", "edits")
    assert done.code == 1
    answer = done.json
    assert (answer["ok"], answer["applied"]) == (False, False)
    assert "nowhere" in answer["retry_context"]
    assert repo.read("retry").decode() == answer["retry_context"]
    again = repo.boocode(
        "propose", "--json", "--retry-of", answer["id"], stdin=json.dumps(edit("a", "2", "model"))
    ).json
    found = newest()
    assert found is not None
    assert (found.id, found.meta.text("retry_of")) == (again["id"], answer["id"])
    more = repo.boocode(
        "propose", "--json", "--retry-of", again["id"][:13], stdin=json.dumps(edit("a", "4", "x"))
    )
    assert more.code == 0
    found = newest()
    assert found is not None
    assert found.meta.text("retry_of") == again["id"]
    with pytest.raises(RefusedError):
        propose(edit("a", "3", "y"), retry_of="no such id")


def test_calls_build_on_each_other(repo: Repo) -> None:
    repo.commit(a=LINES)
    propose(edit("a", "2", "two"))
    propose(edit("a", "two\n3", "two\nthree"))
    assert output(repo, "a") == b"1\ntwo\nthree\n4\n5\n"
    assert output(repo, "a", side="context") == LINES.encode()
    # The user types on; the model sees what it has proposed.
    repo.write("a", "the user's\n")
    propose(edit("a", "4", "four"))
    assert output(repo, "a") == b"1\ntwo\nthree\nfour\n5\n"
    assert letters() == {"a": "~M"}
    # Back to where it began.
    propose({"path": "a", "content": LINES})
    assert letters() == {"a": "~"}


def blob(repo: Repo, text: str, *, write: bool = False) -> str:
    """The id of a blob."""
    options = ("-w",) if write else ()
    return repo.git("hash-object", *options, "--stdin", stdin=text).strip()


def test_base(repo: Repo) -> None:
    repo.commit(a=LINES)
    propose(edit("a", "2", "two", base=blob(repo, LINES)))
    # Of the context, although there is an output.
    propose(edit("a", "4", "four", base=blob(repo, LINES)))
    assert output(repo, "a") == b"1\ntwo\n3\nfour\n5\n"
    # Of an earlier output.
    propose(edit("a", "1", "one", base=blob(repo, LINES.replace("2", "two"))))
    assert output(repo, "a") == b"one\ntwo\n3\nfour\n5\n"
    # Of the newest one.
    propose(edit("a", "5", "five", base=blob(repo, "one\ntwo\n3\nfour\n5\n")))
    assert output(repo, "a") == b"one\ntwo\n3\nfour\nfive\n"
    known = refs(repo)
    for base in ("1" * 40, blob(repo, "never stored\n")):
        with pytest.raises(EditsRefusedError) as error:
            propose(edit("a", "3", "three", base=base))
        assert error.value.failures[0].code == "stale"
    with pytest.raises(EditsRefusedError) as error:
        # Both have changed the line since.
        propose(edit("a", "2", "TWO", base=blob(repo, LINES)))
    assert error.value.failures[0].code == "stale"
    assert refs(repo) == known


def test_lines_of_the_file_and_of_what_is_proposed(repo: Repo) -> None:
    repo.commit(a=LINES)
    for line in (2, 4):
        base = blob(repo, LINES)[:12]
        propose({"path": "a", "base": base, "start_line": line, "content": f"line {line}"})
    version = "1\nline 2\n3\nline 4\n5\n"
    assert output(repo, "a") == version.encode()
    propose({"path": "a", "base": blob(repo, version)[:12], "after_line": 5, "content": "6"})
    assert output(repo, "a") == f"{version}6\n".encode()


def test_base_of_the_users_file(repo: Repo) -> None:
    many = "".join(f"{number}\n" for number in range(1, 10))
    repo.commit(a=many)
    propose(edit("a", "2", "two"))
    typed = many.replace("9", "user")
    repo.write("a", typed)
    # The model has read the file again; what it means of it is merged into what it has proposed.
    propose(edit("a", "5", "five", base=blob(repo, typed, write=True)))
    assert output(repo, "a") == many.replace("2", "two").replace("5", "five").encode()
    assert letters() == {"a": "~M"}
    # A line that only the user has cannot be changed.
    with pytest.raises(EditsRefusedError) as error:
        propose(edit("a", "user", "x", base=blob(repo, typed)))
    assert error.value.failures[0].code == "stale"


def test_a_rename_then_an_edit_of_the_new_name(repo: Repo) -> None:
    repo.commit(a=LINES)
    propose(envelope("*** Update File: a", "*** Move to: b", "@@", " 1", "-2", "+two", " 3"))
    propose(edit("b", "4", "four"))
    assert output(repo, "b") == b"1\ntwo\n3\nfour\n5\n"
    assert letters() == {"b": "R"}
    with pytest.raises(EditsRefusedError):
        propose(edit("a", "1", "x"))
    propose(envelope("*** Update File: b", "*** Move to: sub/c", "@@", " 1", "-two", "+2", " 3"))
    assert letters() == {"sub/c": "R"}
    found = newest()
    assert found is not None
    assert [(file.source, file.path) for file in found.files] == [("a", "sub/c")]
    kit.accept()
    assert {path for path in repo.files() if path != ".gitignore"} == {"sub/c"}
    kit.undo()
    assert repo.read("a") == LINES.encode()
    # And back to its own name.
    propose(envelope("*** Update File: sub/c", "*** Move to: a", "@@", " 1", "-2", "+two", " 3"))
    assert letters() == {"a": "M"}


def test_add_and_delete(repo: Repo) -> None:
    repo.commit(a=LINES)
    propose({"path": "new", "content": "n\n"})
    assert letters() == {"new": "A"}
    propose(envelope("*** Delete File: new"))
    assert letters() == {}
    propose(envelope("*** Delete File: a"))
    assert letters() == {"a": "D"}
    with pytest.raises(EditsRefusedError):
        propose(edit("a", "2", "x"))
    propose({"path": "a", "content": "again\n"})
    assert letters() == {"a": "M"}
    assert output(repo, "a", side="context") == LINES.encode()
    kit.accept()
    assert repo.read("a") == b"again\n"


def test_a_rename_is_forgotten_with_one_of_its_names(repo: Repo) -> None:
    repo.commit(a=LINES)
    move = envelope("*** Update File: a", "*** Move to: b", "@@", " 1", "-2", "+two", " 3")
    propose(move)
    propose(envelope("*** Delete File: b"))
    assert letters() == {"a": "D"}
    kit.discard()
    propose(move)
    propose({"path": "a", "content": "another\n"})
    assert letters() == {"a": "M", "b": "A"}
    kit.accept("b")
    assert letters() == {"a": "M", "b": ""}
    kit.undo()
    assert letters() == {"a": "M", "b": "A"}


def test_a_turn_holds_what_the_model_sees(repo: Repo) -> None:
    repo.commit(a=LINES, b=LINES)
    repo.write("untracked", LINES)
    repo.write("b", LINES.replace("5", "before"))
    assert repo.boocode("turn", "begin").code == 0
    for path in ("a", "b", "untracked"):
        repo.write(path, "typed\n")
    repo.write("late", "typed\n")
    propose([edit(path, "2", "two") for path in ("a", "b", "untracked")])
    assert output(repo, "a") == LINES.replace("2", "two").encode()
    assert output(repo, "b") == b"1\ntwo\n3\n4\nbefore\n"
    assert letters() == {"a": "~M", "b": "~M", "untracked": "~M"}
    # It did not exist when the turn began.
    propose({"path": "late", "content": "model\n"})
    assert letters("late") == {"late": "!A"}
    for refused in (kit.accept, kit.discard, kit.sync):
        with pytest.raises(RefusedError, match="turn") as error:
            refused()
        assert error.value.code == "locked"
    kit.discard("late", force=True)
    assert repo.boocode("turn", "end").code == 0
    # Now the file counts.
    propose(edit("late", "typed", "model"))
    assert letters("late") == {"late": "M"}


def test_the_next_turn_sees_what_the_user_typed_meanwhile(repo: Repo) -> None:
    repo.commit(a=LINES)
    propose(edit("a", "2", "two"))
    kit.accept()
    repo.write("a", LINES.replace("5", "user"))
    assert repo.boocode("turn", "begin").code == 0
    repo.write("a", "typed\n")
    propose(edit("a", "user", "the user"))
    assert output(repo, "a") == b"1\n2\n3\n4\nthe user\n"
    assert output(repo, "a", side="context") == b"1\n2\n3\n4\nuser\n"


def test_a_buffer_is_what_the_model_sees(repo: Repo) -> None:
    repo.commit(a=LINES)
    typed = {"a": LINES.replace("5", "typed").encode()}
    propose(edit("a", "2", "two"), buffers=typed)
    assert output(repo, "a") == b"1\ntwo\n3\n4\ntyped\n"
    assert letters(buffers=typed) == {"a": "M"}
    assert letters() == {"a": "~M"}


def test_a_proposal_of_nothing(repo: Repo) -> None:
    repo.commit(a=LINES)
    answer = propose({"path": "a", "content": LINES})
    assert answer.id is None
    assert refs(repo, "proposals") == []


def test_executable_files(repo: Repo) -> None:
    repo.write("a", LINES, 0o755)
    repo.commit()
    propose(edit("a", "2", "two"))
    kit.accept()
    assert (repo.top / "a").stat().st_mode & 0o111
    propose("diff --git a/a b/a\nold mode 100755\nnew mode 100644\n")
    assert letters() == {"a": "M"}
    kit.accept()
    assert not (repo.top / "a").stat().st_mode & 0o111
    kit.undo()
    assert (repo.top / "a").stat().st_mode & 0o111


def test_next_steps_of_refusals(repo: Repo) -> None:
    repo.commit(a=LINES, b=LINES)

    def steps(act: Callable[..., object], *paths: str, **options: Any) -> tuple[str, ...]:
        with pytest.raises(RefusedError) as error:
            act(*paths, **options)
        return tuple(each.name for each in error.value.next_steps)

    assert steps(kit.accept) == steps(kit.discard) == ("propose",)
    assert steps(kit.sync) == ("paths",)
    assert steps(partial(preview, kit.workspace()), "no such file") == ("status",)
    propose(edit("a", "2", "model"))
    assert steps(kit.accept, "b") == steps(kit.sync, "no such file") == ("status",)
    assert steps(kit.discard, hunks={"a": {7}}) == ("preview",)
    assert steps(kit.accept, of="an earlier one") == ("status",)
    repo.write("a", "the user's\n")
    assert steps(kit.accept) == ("merge", "overwrite")
    assert steps(kit.accept, merge=True) == ("markers", "overwrite")


def test_a_hunk_that_nobody_saw_is_not_accepted(repo: Repo) -> None:
    repo.commit(a=LINES)
    propose(edit("a", "3", "seen"))
    seen = preview(kit.workspace(), "a").proposal
    propose(edit("a", "1", "nobody saw this"))
    for act in (kit.accept, kit.discard):
        for hunks in (None, {"a": {1}}):
            with pytest.raises(RefusedError) as error:
                act("a", hunks=hunks, of=seen)
            assert error.value.code == "stale"
    newest = kit.newest()
    assert newest is not None
    assert kit.accept("a", hunks={"a": {2}}, of=newest.id).applied
    assert (b"seen" in repo.read("a"), b"nobody" in repo.read("a")) == (True, False)


def test_a_buffer_gives_a_hunk_no_other_meaning(repo: Repo) -> None:
    repo.commit(a=LINES)
    propose(edit("a", "2", "two"), edit("a", "5", "five"))
    seen = preview(kit.workspace(), "a")
    # Above the hunks, the user types what would be a hunk of its own.
    typed = f"typed\n{LINES}".encode()
    done = kit.accept("a", hunks={"a": {1}}, of=seen.proposal, buffers={"a": typed}, merge=True)
    [file] = done.files
    assert file.edited is not None
    assert file.edited.text is not None
    assert file.edited.text.text == typed.decode().replace("2\n", "two\n")


def test_what_is_proposed_no_more_is_not_the_expected(repo: Repo) -> None:
    repo.commit(a=LINES)
    propose(edit("a", "2", "two"))
    seen = preview(kit.workspace(), "a").proposal
    done = kit.discard()
    assert done.proposal == done.id != seen
    with pytest.raises(RefusedError) as error:
        kit.accept(of=seen)
    assert error.value.code == "stale"


def test_a_hint_with_a_name_like_its_place(repo: Repo) -> None:
    repo.commit(**{"a{}": LINES, "b": LINES})
    propose(edit("a{}", "2", "model"))
    with pytest.raises(RefusedError) as error:
        kit.accept("b")
    assert error.value.hints == ("changes are proposed of 'a{}'",)
