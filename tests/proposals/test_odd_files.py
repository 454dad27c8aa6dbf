"""Proposals of files that are renamed, converted, in the way of each other, or oddly named."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from git_boocode.proposals import review
from git_boocode.proposals.acceptance import AcceptRefusedError
from git_boocode.proposals.review import ReviewResult
from git_boocode.repo.errors import FatalError, RefusedError
from tests.proposals import kit
from tests.proposals.kit import ProposedFile, Version, edit, found_at, letters, put
from tests.repo_kit import Repo

pytestmark = pytest.mark.slow

LINES = "1\n2\n3\n4\n5\n"
MODEL = "1\nmodel\n3\n4\n5\n"
BOTH = "1\nmodel\n3\n4\nuser\n"
MOVE = """*** Begin Patch
*** Update File: a
*** Move to: sub/b
@@
 1
-2
+model
 3
*** End Patch
"""
WAYS: tuple[dict[str, Any], ...] = ({}, {"merge": True}, {"overwrite": True})


def there_and_back(repo: Repo, before: dict[str, Version | None]) -> None:
    """Undo brings files and letters back, redo does it again, and undo once more."""
    after, shown = {path: found_at(repo.top, path) for path in before}, letters()
    for _ in range(2):
        kit.undo()
        assert {path: found_at(repo.top, path) for path in before} == before
        kit.redo()
        assert {path: found_at(repo.top, path) for path in before} == after
        assert letters() == shown


RENAMES = {
    # The user's files at the old and the new path; letter; accepted; merged; overwritten.
    "untouched": (LINES, None, "R", MODEL, MODEL, MODEL),
    "done": (None, MODEL, "~", MODEL, MODEL, MODEL),
    "copied": (LINES, MODEL, "R", MODEL, MODEL, MODEL),
    "changed": (LINES.replace("5", "user"), None, "~R", "", BOTH, MODEL),
    "clash": (LINES.replace("2", "user"), None, "~R", "", "", MODEL),
    "gone": (None, None, "~R", "", "", MODEL),
    "exists": (LINES, "the user's\n", "!R", "", "", MODEL),
    "only new": (None, "the user's\n", "!R", "", "", MODEL),
    "both": (LINES.replace("5", "user"), "the user's\n", "!R", "", "", MODEL),
}


@pytest.mark.parametrize("name", RENAMES)
def test_renames(repo: Repo, name: str) -> None:
    old, new, letter, *results = RENAMES[name]
    repo.commit(a=LINES)
    kit.propose(MOVE)
    local = {
        path: None if text is None else Version(text.encode())
        for path, text in (("a", old), ("sub/b", new))
    }
    for path, version in local.items():
        put(repo, path, version)
    assert letters() == {"sub/b": letter}
    before = kit.everything(repo)
    for how, result in zip(WAYS, results, strict=True):
        if not result:
            with pytest.raises(AcceptRefusedError):
                kit.accept(**how)
            assert kit.everything(repo) == before
            continue
        kit.accept(**how)
        assert found_at(repo.top, "a") is None
        assert found_at(repo.top, "sub/b") == Version(result.encode())
        assert letters() == {"sub/b": ""}
        there_and_back(repo, local)
        kit.undo()
        assert letters() == {"sub/b": letter}
    kit.discard()
    assert letters() == {"a": "" if old == LINES else "~"}
    there_and_back(repo, local)
    kit.undo()
    synced = kit.sync()
    risky = old is None or new is not None or name == "clash"
    assert bool(synced.warnings) == (risky and letter not in ("~", "R")), synced.warnings
    there_and_back(repo, local)
    shown = letters()
    if name in ("changed", "clash"):
        assert shown == {"sub/b": "R"}
        kit.accept()
        assert repo.read("sub/b") == (BOTH if name == "changed" else MODEL).encode()


def test_a_mode_that_the_user_sets_survives_hunks(repo: Repo) -> None:
    repo.commit(a="".join(f"{number}\n" for number in range(20)))
    kit.propose([edit("a", "2\n3\n4", "2\nx\n4"), edit("a", "15\n16", "15\ny")])
    (repo.top / "a").chmod(0o755)
    assert letters() == {"a": "~M"}
    kit.accept(merge=True, hunks={"a": {1}})
    assert letters() == {"a": "~M"}
    kit.accept(merge=True)
    found = found_at(repo.top, "a")
    assert found is not None
    assert found.mode == "100755"
    assert b"\nx\n" in found.data
    assert b"\ny\n" in found.data
    assert letters() == {"a": ""}


@pytest.mark.parametrize("setting", ["true", "input"])
def test_files_committed_with_crlf(repo: Repo, setting: str) -> None:
    repo.commit(a=LINES.replace("\n", "\r\n"), b=LINES)
    repo.git("config", "core.autocrlf", setting)
    for line in (LINES, LINES.replace("\n", "\r\n")):
        repo.write("a", LINES.replace("\n", "\r\n"))
        repo.write("b", line)
        if line != LINES and setting == "input":
            continue
        kit.propose([edit("a", "2", "model"), edit("b", "2", "model")])
        assert letters() == {"a": "M", "b": "M"}
        kit.accept()
        assert repo.read("a") == MODEL.replace("\n", "\r\n").encode()
        assert repo.read("b") == line.encode().replace(b"2", b"model")
        assert letters() == {"a": "", "b": ""}
        kit.undo()
        assert letters() == {"a": "M", "b": "M"}
        kit.discard()


def turn_begin(repo: Repo) -> None:
    assert repo.boocode("turn", "begin").code == 0


def test_a_turn_with_a_file_committed_with_crlf(repo: Repo) -> None:
    repo.commit(a=LINES.replace("\n", "\r\n"))
    repo.git("config", "core.autocrlf", "true")
    turn_begin(repo)
    kit.propose(edit("a", "2", "model"))
    assert letters() == {"a": "M"}
    repo.write("a", BOTH.replace("model", "2").replace("\n", "\r\n"))
    assert letters() == {"a": "~M"}
    repo.write("a", LINES.replace("\n", "\r\n"))
    assert letters() == {"a": "M"}
    assert repo.boocode("turn", "end").code == 0
    kit.accept()
    assert repo.read("a") == MODEL.replace("\n", "\r\n").encode()
    assert letters() == {"a": ""}


def test_mixed_line_endings_stay(repo: Repo) -> None:
    repo.commit(a="1\r\n2\n3\r\n4\n5\r\n", **{".gitattributes": "* text=auto\n"})
    repo.git("config", "core.autocrlf", "true")
    repo.write("a", "1\r\n2\n3\r\n4\n5\r\n")
    kit.propose(edit("a", "3", "model"))
    assert letters() == {"a": "M"}
    kit.accept()
    assert repo.read("a") == b"1\r\n2\nmodel\r\n4\n5\r\n"
    kit.undo()
    assert repo.read("a") == b"1\r\n2\n3\r\n4\n5\r\n"


def test_a_file_system_without_modes(repo: Repo) -> None:
    repo.commit(a=LINES, b=LINES)
    (repo.top / "b").chmod(0o755)
    repo.git("config", "core.fileMode", "false")
    kit.propose([edit("a", "2", "model"), edit("b", "2", "model")])
    assert letters() == {"a": "M", "b": "M"}
    (repo.top / "a").chmod(0o755)
    assert letters() == {"a": "M", "b": "M"}
    kit.accept()
    assert letters() == {"a": "", "b": ""}
    assert repo.read("b") == MODEL.encode()
    turn_begin(repo)
    kit.propose([edit("a", "model", "again"), edit("b", "model", "again")])
    assert letters() == {"a": "M", "b": "M"}


def test_another_encoding(repo: Repo) -> None:
    latin = "1\n2\ncafé\n4\n5\n6\n7\n8\n".encode("latin-1")
    repo.write("a", latin)
    repo.commit()
    kit.store_state([ProposedFile("a", Version(latin), Version(latin + b"caf\xe9\n"))])
    repo.write("a", latin.decode("latin-1").encode())
    before = kit.everything(repo)
    with pytest.raises(AcceptRefusedError, match="encoding"):
        kit.accept(merge=True)
    assert kit.everything(repo) == before
    assert "now replaces your changes" in kit.sync().warnings[0]


@pytest.mark.parametrize(
    "options", [{}, {"merge": True}, {"overwrite": True}, {"merge": True, "hunks": {"a": {1}}}]
)
def test_a_buffer_gets_no_bytes_that_are_not_utf_8(repo: Repo, options: dict[str, Any]) -> None:
    text = "grüße\nline three\nfour\nfive\n"
    repo.write("a", text.encode("latin-1"))
    repo.commit()
    kit.propose(edit("a", "line three", "line 3"))
    buffers = {"a": f"{text}mine\n".encode()}
    before = kit.everything(repo)
    shown = review.preview(kit.workspace(buffers), "a").as_json()
    assert (shown["text_edits"], shown["warning"]) == ([], review.FOREIGN)
    with pytest.raises(AcceptRefusedError) as refused:
        kit.accept(buffers=buffers, **options)
    assert kit.everything(repo) == before
    assert "save the buffer in the editor, and accept without it" in refused.value.hints
    assert "overwrite" not in [step.name for step in refused.value.next_steps]
    repo.write("a", f"{text}mine\n".encode("latin-1"))
    kit.accept(merge=True)
    assert repo.read("a") == "grüße\nline 3\nfour\nfive\nmine\n".encode("latin-1")


def test_a_buffer_that_has_such_bytes_itself(repo: Repo) -> None:
    latin = "grüße\nline three\nfour\nfive\n".encode("latin-1")
    repo.write("a", latin)
    repo.commit()
    kit.propose(edit("a", "line three", "line 3"))
    [file] = kit.accept(buffers={"a": latin + b"mine\n"}, merge=True).files
    assert file.edited is not None
    assert file.edited.text is not None
    assert file.edited.text.encode() == "grüße\nline 3\nfour\nfive\nmine\n".encode("latin-1")


def test_a_change_of_the_encoding_is_reported(repo: Repo) -> None:
    text = "grüße\nline three\n"
    repo.write("a", text.encode("latin-1"))
    repo.commit()
    kit.propose(edit("a", "line three", "line 3"), buffers={"a": text.encode()})
    done = kit.accept(overwrite=True)
    assert repo.read("a") == "grüße\nline 3\n".encode()
    assert done.warnings == ("'a' was not UTF-8, and is now",)


def test_the_byte_order_mark_of_a_buffer(repo: Repo) -> None:
    repo.commit(a="\ufeffone\ntwo\n3\n4\n")
    kit.propose(edit("a", "two", "2"))
    buffers = {"a": "\ufeffone\ntwo\n3\n4\nmine\n".encode()}
    answer: Any = kit.accept(buffers=buffers, merge=True, dry_run=True).as_json()
    assert answer["files"][0]["text"] == "\ufeffone\n2\n3\n4\nmine\n"


@pytest.mark.parametrize("change", ["rename", "delete"])
def test_a_buffer_is_not_renamed_or_deleted(repo: Repo, change: str) -> None:
    repo.commit(a=LINES)
    new = Version(LINES.encode())
    if change == "rename":
        kit.store_state([ProposedFile("b", new, new, "a")])
    else:
        kit.store_state([ProposedFile("a", new, None)])
    for options in WAYS:
        for text in (LINES, LINES + "mine\n"):
            with pytest.raises(AcceptRefusedError, match="its buffer is not saved"):
                kit.accept(buffers={"a": text.encode()}, **options)


def test_a_directory_that_the_user_deleted(repo: Repo) -> None:
    repo.commit(**{"deep/er/a": LINES, "deep/b": LINES})
    kit.propose([edit("deep/er/a", "2", "model"), edit("deep/b", "2", "model")])
    repo.git("rm", "-rq", "deep")
    assert letters() == {"deep/b": "~M", "deep/er/a": "~M"}
    with pytest.raises(AcceptRefusedError, match="you have deleted"):
        kit.accept()
    kit.accept(overwrite=True)
    assert repo.read("deep/er/a") == MODEL.encode()
    there_and_back(repo, {"deep/er/a": None, "deep/b": None})


def test_a_file_in_the_place_of_a_directory(repo: Repo) -> None:
    repo.commit(**{"d/a": LINES, "d/b": LINES})
    kit.propose(edit("d/a", "2", "model"))
    repo.git("rm", "-rq", "d")
    repo.write("d", "the user's\n")
    assert letters() == {"d/a": "~M"}
    with pytest.raises(AcceptRefusedError, match="in its place") as error:
        kit.accept(overwrite=True)
    # What would not help is not suggested.
    assert not any("--overwrite" in hint for hint in error.value.hints)
    assert repo.read("d") == b"the user's\n"
    kit.discard()
    # The file can be proposed although HEAD has a directory there.
    kit.propose(edit("d", "the user's", "the model's"))
    assert letters() == {"d": "M", "d/a": "~"}
    kit.accept()
    assert repo.read("d") == b"the model's\n"


def test_a_directory_in_the_place_of_a_file(repo: Repo) -> None:
    repo.commit(d=LINES)
    (repo.top / "d").unlink()
    repo.write("d/a", LINES)
    kit.propose(edit("d/a", "2", "model"))
    assert letters() == {"d/a": "M"}
    kit.accept()
    there_and_back(repo, {"d/a": Version(LINES.encode())})


def test_below_a_symbolic_link(repo: Repo) -> None:
    repo.commit(**{"d/a": LINES})
    kit.propose(edit("d/a", "2", "model"))
    (repo.top / "d").rename(repo.top / "other")
    (repo.top / "d").symlink_to("other")
    assert letters() == {"d/a": "~M"}
    with pytest.raises(AcceptRefusedError, match="below a symlink"):
        kit.accept(overwrite=True)
    assert repo.read("other/a") == LINES.encode()


def test_a_read_only_file(repo: Repo) -> None:
    repo.commit(a=LINES, b=LINES)
    repo.boocode("propose", stdin=json.dumps([edit("a", "2", "model"), edit("b", "2", "model")]))
    (repo.top / "b").chmod(0o444)
    before = kit.everything(repo)
    done = repo.unprivileged("accept")
    assert done.code == 128
    assert "read-only" in done.err
    assert kit.everything(repo) == before
    assert letters() == {"a": "M", "b": "M"}
    assert repo.git("for-each-ref", "refs/boocode/safety") == ""


def test_an_unreadable_file_does_not_change_the_letters_of_others(repo: Repo) -> None:
    repo.commit(a=LINES, b=LINES, c=LINES)
    edits = [edit(path, "2", "model") for path in "abc"]
    repo.boocode("propose", stdin=json.dumps(edits))
    (repo.top / "b").chmod(0)
    shown = repo.unprivileged("status", "--porcelain")
    assert shown.out == "M  a\n~M b\nM  c\n"


def test_a_filter_that_fails(repo: Repo) -> None:
    repo.commit(a=LINES, **{"f.x": LINES, ".gitattributes": "*.x filter=bad\n"})
    kit.propose([edit("a", "2", "model"), edit("f.x", "2", "model")])
    repo.git("config", "filter.bad.clean", "false")
    repo.git("config", "filter.bad.required", "true")
    assert letters() == {"a": "M", "f.x": "~M"}
    with pytest.raises((FatalError, RefusedError)):
        kit.accept("f.x")
    kit.accept("a")
    assert repo.read("a") == MODEL.encode()


def test_an_unborn_branch(repo: Repo) -> None:
    repo.write("a", LINES)
    kit.propose([edit("a", "2", "model"), {"path": "new/b", "content": "new\n"}])
    assert letters() == {"a": "M", "new/b": "A"}
    kit.accept()
    there_and_back(repo, {"a": Version(LINES.encode()), "new/b": None})


def test_from_a_subdirectory(repo: Repo) -> None:
    repo.commit(a=LINES, **{"sub/a": LINES, "sub/b": LINES})
    kit.propose([edit(path, "2", "model") for path in ("a", "sub/a", "sub/b")])
    done = repo.boocode("accept", "--json", "a", cwd="sub")
    assert [file["path"] for file in done.json["files"]] == ["sub/a"]
    assert repo.boocode("status", "--porcelain", ".", cwd="sub").out == "   sub/a\nM  sub/b\n"
    assert repo.boocode("accept", "../a", cwd="sub").code == 0
    assert repo.read("a") == MODEL.encode()
    assert repo.boocode("undo", cwd="sub").code == 0
    assert repo.read("a") == LINES.encode()
    assert letters() == {"a": "M", "sub/a": "", "sub/b": "M"}


@pytest.mark.parametrize(
    "name", ["with space", "line\nbreak", "tab\t", 'quo"te', "latin\udce9", "*", ":x"]
)
def test_names(repo: Repo, name: str) -> None:
    repo.write(name, LINES)
    repo.commit()
    done = repo.boocode("propose", "--json", stdin=json.dumps(edit(name, "2", "model")))
    assert done.code == 0, done
    assert repo.boocode("status", "-z").out == f"M  {name}\0"
    assert repo.boocode("status", "--json").json["files"][0]["path"] == name
    done = repo.boocode("accept", "--json", "--", name)
    assert done.json["files"][0]["path"] == name
    assert repo.read(name) == MODEL.encode()
    there_and_back(repo, {name: Version(LINES.encode())})
    assert repo.boocode("preview", "--json", name).json["path"] == name


def shown_text(result: ReviewResult) -> object:
    """The new text of the first file in an answer, for the editor."""
    return result.as_json()["files"][0]["text"]  # type: ignore[index]


def test_buffers(repo: Repo) -> None:
    repo.commit(a=LINES, b=LINES)
    kit.propose([edit("a", "2", "model"), edit("b", "2", "model")])
    typed = {"a": LINES.replace("5", "user").encode()}
    assert letters(buffers=typed) == {"a": "~M", "b": "M"}
    with pytest.raises(AcceptRefusedError):
        kit.accept(buffers=typed)
    before = kit.everything(repo)
    done = kit.accept("a", buffers=typed, merge=True)
    assert kit.everything(repo) == before
    assert shown_text(done) == BOTH
    # The editor saves it.
    assert letters(buffers={"a": BOTH.encode()}) == {"a": "", "b": "M"}
    assert letters() == {"a": "~", "b": "M"}
    kit.undo()
    assert kit.everything(repo) == before
    assert letters(buffers=typed) == {"a": "~M", "b": "M"}
    # One in a buffer and one on disk.
    kit.accept(buffers=typed, overwrite=True)
    assert (repo.read("a"), repo.read("b")) == (LINES.encode(), MODEL.encode())
    kit.undo()
    synced = kit.sync(buffers=typed)
    assert not synced.warnings
    assert letters(buffers=typed) == {"a": "M", "b": "M"}


def test_a_buffer_of_a_file_that_is_not_on_disk(repo: Repo) -> None:
    repo.commit(a=LINES)
    kit.propose({"path": "new", "content": "model\n"})
    assert letters(buffers={"new": b"user\n"}) == {"new": "!A"}
    assert letters(buffers={"new": b"model\n"}) == {"new": "~"}
    done = kit.accept(buffers={"new": b"user\n"}, overwrite=True)
    assert shown_text(done) == "model\n"
    assert not os.path.exists("new")


def test_ignore_rules_that_the_model_changes(repo: Repo) -> None:
    repo.commit(**{".gitignore": "secret\n", "a": LINES})
    repo.write("secret", "the user's\n")
    kit.propose([{"path": ".gitignore", "content": "*.log\n"}, {"path": "x.log", "content": "n\n"}])
    before = repo.files()
    kit.accept()
    after = repo.files()
    assert set(after) - set(before) == {"x.log"}
    for _ in range(2):
        kit.undo()
        assert repo.files() == before
        kit.redo()
        assert repo.files() == after


def test_an_ignored_file_that_changes_after_an_accept(repo: Repo) -> None:
    repo.commit(**{".gitignore": "*.log\n"})
    repo.write("x.log", LINES)
    kit.propose(edit("x.log", "2", "model"))
    kit.accept()
    repo.write("x.log", "typed since\n")
    done = repo.boocode("undo")
    # Git does not know the file, so it is not replaced without being asked for.
    assert repo.read("x.log") == b"typed since\n"
    assert "x.log" in done.out + done.err
    assert "--force ignored" in done.out + done.err


def test_permissions_survive(repo: Repo) -> None:
    repo.commit(a=LINES, b=LINES)
    for path in "ab":
        (repo.top / path).chmod(0o600)
    kit.propose(edit("a", "2", "model"))
    kit.propose("*** Begin Patch\n*** Delete File: b\n*** End Patch\n")

    def modes() -> list[int]:
        return [
            (repo.top / path).stat().st_mode & 0o777 for path in "ab" if (repo.top / path).exists()
        ]

    kit.accept()
    assert modes() == [0o600]
    kit.undo()
    assert modes() == [0o600, 0o600]


def test_hunks_of_texts_in_different_encodings(repo: Repo) -> None:
    old = "".join(f"{number}\n" for number in range(12)).encode()
    new = old.replace(b"2\n", b"caf\xe9\n", 1).replace(b"9\n", "é\n".encode())
    for context, output in ((old, new), (new, old)):
        repo.write("a", context)
        kit.store_state([ProposedFile("a", Version(context), Version(output))])
        kit.accept(hunks={"a": {1}})
        kit.discard(hunks={"a": {1}})
        assert letters() == {"a": ""}
        kit.undo()
        kit.accept(hunks={"a": {1}})
        assert repo.read("a") == output
