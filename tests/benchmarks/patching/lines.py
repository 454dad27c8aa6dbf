"""Changes by line numbers, which count in the version that the model has read."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence

from tests.benchmarks.hunks import picked, require
from tests.benchmarks.patching import drifts
from tests.benchmarks.patching.cases import Case, Kinds, Told, as_json, case_of, files
from tests.benchmarks.patching.edits import Change, Edit, hunks_of

KINDS = Kinds()


def version(text: str) -> str:
    """The version that `read` prints."""
    data = text.encode()
    return hashlib.sha1(b"blob %d\0%b" % (len(data), data)).hexdigest()[:12]


def _told(edit: Edit, rng: random.Random) -> list[Change]:
    """The changes as a model tells them: with up to three lines around each, which stay."""
    hunks = hunks_of(edit, rng.randrange(4))
    return [Change(hunk.start, hunk.stop, hunk.new) for hunk in hunks]


def _as_sent(change: Change, content: object = None) -> dict[str, object]:
    content = [line.rstrip("\n") for line in change.new] if content is None else content
    if change.start == change.stop:
        return {"after_line": change.start, "content": content}
    return {"start_line": change.start + 1, "end_line": change.stop, "content": content}


def _sent(edit: Edit, changes: Sequence[Change], **more: object) -> str:
    sent = {"path": edit.path, "base": version(edit.before), **more}
    return as_json({**sent, "changes": list(map(_as_sent, changes))})


def _case(edit: Edit, now: Edit, sent: str, *, land: bool = True) -> Case:
    """An edit of what was read, for the file as it is now."""
    case = case_of(Told(now, ()), sent, land=land)
    return case._replace(read=files((edit.path, edit.before)) if now != edit else {})


@KINDS.lands("clean")
def _clean(edit: Edit, other: Edit, rng: random.Random) -> Case:
    return _case(edit, edit, _sent(edit, _told(edit, rng)))


@KINDS.lands("in another order")
def _shuffled(edit: Edit, other: Edit, rng: random.Random) -> Case:
    changes = _told(edit, rng)
    require(len(changes) > 1)
    return _case(edit, edit, _sent(edit, changes[::-1]))


@KINDS.lands("content as one text")
def _as_text(edit: Edit, other: Edit, rng: random.Random) -> Case:
    changes = _told(edit, rng)
    # A text cannot say of a blank line at its end whether it is one.
    require(all(change.new and change.new[-1].strip() for change in changes))
    sent = [_as_sent(change, "".join(change.new).removesuffix("\n")) for change in changes]
    whole = {"path": edit.path, "base": version(edit.before), "changes": sent}
    return _case(edit, edit, as_json(whole))


@KINDS.lands("as edits of one call")
def _as_edits(edit: Edit, other: Edit, rng: random.Random) -> Case:
    sent = [
        {"path": edit.path, "base": version(edit.before), **_as_sent(change)}
        for change in _told(edit, rng)
    ]
    return _case(edit, edit, as_json({"edits": sent}))


def _operation(change: Change) -> str:
    if not change.new:
        return f"CUT {change.start + 1}.={change.stop}\n"
    place = f"{change.start + 1}.={change.stop}"
    if change.start == change.stop:
        place = f">{change.start}" if change.start else "<1"
    return f"PUT {place}:\n" + "".join(f"+{line}" for line in change.new)


def _hashline(edit: Edit, rng: random.Random) -> str:
    """The same as a text of hashline."""
    operations = "".join(map(_operation, _told(edit, rng)))
    return f"[{edit.path}#{version(edit.before)}]\n{operations}"


@KINDS.lands("as hashline")
def _as_hashline(edit: Edit, other: Edit, rng: random.Random) -> Case:
    return _case(edit, edit, _hashline(edit, rng))


@KINDS.lands("stale: as hashline, other lines changed since")
def _stale_hashline(edit: Edit, other: Edit, rng: random.Random) -> Case:
    return _case(edit, _apart(edit, rng), _hashline(edit, rng))


@KINDS.lands("several files")
def _several(edit: Edit, other: Edit, rng: random.Random) -> Case:
    sent = f"[{_sent(edit, _told(edit, rng))}, {_sent(other, _told(other, rng))}]".encode()
    before = files((edit.path, edit.before), (other.path, other.before))
    return Case(before, files((edit.path, edit.after), (other.path, other.after)), sent)


@KINDS.lands("CRLF file, LF content")
def _crlf(edit: Edit, other: Edit, rng: random.Random) -> Case:
    file = edit.mapped(lambda line: line.replace("\n", "\r\n"))
    return _case(file, file, _sent(edit, _told(edit, rng), base=version(file.before)))


@KINDS.lands("no newline at the end of the file")
def _no_newline(edit: Edit, other: Edit, rng: random.Random) -> Case:
    require(edit.changes[-1].stop < len(edit.lines))
    file = edit._replace(lines=(*edit.lines[:-1], edit.lines[-1].removesuffix("\n")))
    return _case(file, file, _sent(file, _told(edit, rng)))


@KINDS.lands("the numbers of the lines before the content")
def _numbered(edit: Edit, other: Edit, rng: random.Random) -> Case:
    def numbers(change: Change) -> Change:
        lines = enumerate(change.new, change.start + 1)
        return change._replace(new=tuple(f"{number}| {line}" for number, line in lines))

    changes = _told(edit, rng)
    require(all(change.start < change.stop and change.new for change in changes))
    return _case(edit, edit, _sent(edit, list(map(numbers, changes))))


@KINDS.lands("stale: moved by other edits since")
def _moved(edit: Edit, other: Edit, rng: random.Random) -> Case:
    return _case(edit, drifts.moved_since(edit, rng).edit, _sent(edit, _told(edit, rng)))


def _apart(edit: Edit, rng: random.Random) -> Edit:
    """The file as it is when others have changed, deleted and added lines elsewhere."""
    near = {n for each in edit.changes for n in range(each.start - 5, each.stop + 5)}
    apart = [number for number in range(len(edit.lines)) if number not in near]
    require(len(apart) > 8)
    chosen = rng.sample(apart, rng.randint(1, 8))
    return edit.with_lines({at: rng.choice(("", f"changed_{at} = 1\n")) for at in chosen})


@KINDS.lands("stale: other lines changed since")
def _others_changed(edit: Edit, other: Edit, rng: random.Random) -> Case:
    return _case(edit, _apart(edit, rng), _sent(edit, _told(edit, rng)))


@KINDS.lands("stale: other changes of the same commit since")
def _half_applied(edit: Edit, other: Edit, rng: random.Random) -> Case:
    require(len(edit.changes) > 1)
    mine = sorted(rng.sample(edit.changes, rng.randrange(1, len(edit.changes))))
    theirs = edit._replace(changes=tuple(each for each in edit.changes if each not in mine))
    own = edit._replace(changes=tuple(mine))
    return Case(
        files((edit.path, theirs.after)),
        files((edit.path, edit.after)),
        _sent(own, _told(own, rng)).encode(),
        read=files((edit.path, edit.before)),
    )


@KINDS.lands("stale: several changes and files")
def _stale_several(edit: Edit, other: Edit, rng: random.Random) -> Case:
    now, beside = _apart(edit, rng), _apart(other, rng)
    sent = f"[{_sent(edit, _told(edit, rng))}, {_sent(other, _told(other, rng))}]".encode()
    return Case(
        files((edit.path, now.before), (other.path, beside.before)),
        files((edit.path, now.after), (other.path, beside.after)),
        sent,
        read=files((edit.path, edit.before), (other.path, other.before)),
    )


@KINDS.lands("stale: CRLF since")
def _crlf_since(edit: Edit, other: Edit, rng: random.Random) -> Case:
    now = edit.mapped(lambda line: line.replace("\n", "\r\n"))
    return _case(edit, now, _sent(edit, _told(edit, rng)))


@KINDS.refused("stale: a line of the change changed since")
def _touched(edit: Edit, other: Edit, rng: random.Random) -> Case:
    at = picked([at for each in edit.changes for at in range(each.start, each.stop)], rng)
    now = edit.with_lines({at: f"changed_{at} = 1\n"})
    return _case(edit, now, _sent(edit, _told(edit, rng)), land=False)


@KINDS.refused("stale: a hunk deleted since")
def _deleted(edit: Edit, other: Edit, rng: random.Random) -> Case:
    now = drifts.deleted_since(edit, rng).edit
    return _case(edit, now, _sent(edit, _told(edit, rng)), land=False)


@KINDS.refused("another file's")
def _elsewhere(edit: Edit, other: Edit, rng: random.Random) -> Case:
    sent = _sent(edit._replace(path=other.path), _told(edit, rng))
    return _case(edit, other, sent, land=False)


@KINDS.refused("a missing file")
def _missing(edit: Edit, other: Edit, rng: random.Random) -> Case:
    return _case(edit, other, _sent(edit, _told(edit, rng)), land=False)


@KINDS.refused("a version that git does not hold")
def _unknown(edit: Edit, other: Edit, rng: random.Random) -> Case:
    return _case(edit, other, _sent(other, _told(other, rng), base="0123456789ab"), land=False)


@KINDS.refused("no version")
def _unversioned(edit: Edit, other: Edit, rng: random.Random) -> Case:
    sent = as_json({"path": edit.path, "changes": list(map(_as_sent, _told(edit, rng)))})
    return _case(edit, edit, sent, land=False)


@KINDS.refused("lines below the end of the file")
def _below(edit: Edit, other: Edit, rng: random.Random) -> Case:
    far = Change(len(edit.lines), len(edit.lines) + rng.randint(1, 9), ("end = 1\n",))
    return _case(edit, edit, _sent(edit, [*_told(edit, rng), far]), land=False)


@KINDS.refused("changes that overlap")
def _overlapping(edit: Edit, other: Edit, rng: random.Random) -> Case:
    changes = _told(edit, rng)
    require(changes[0].start < changes[0].stop)
    again = changes[0]._replace(new=("something_else = entirely()\n",))
    return _case(edit, edit, _sent(edit, [*changes, again]), land=False)


@KINDS.refused("one bad file among good ones")
def _bad_file(edit: Edit, other: Edit, rng: random.Random) -> Case:
    bad = _sent(other, _told(other, rng), base="0123456789ab")
    sent = f"[{_sent(edit, _told(edit, rng))}, {bad}]".encode()
    return Case(files((edit.path, edit.before), (other.path, other.before)), None, sent)


def _slip(name: str, start: int, stop: int) -> None:
    """Register a range that is off by so many lines at its start and its end."""

    def kind(edit: Edit, other: Edit, rng: random.Random) -> Case:
        changes = _told(edit, rng)
        at = rng.randrange(len(changes))
        wrong = changes[at]._replace(start=changes[at].start + start, stop=changes[at].stop + stop)
        require(0 <= wrong.start < wrong.stop <= len(edit.lines))
        changes[at] = wrong
        return _case(edit, edit, _sent(edit, changes), land=False)

    KINDS.slips[name] = kind


_slip("one line too low", 1, 1)
_slip("one line too high", -1, -1)
_slip("the first line left out", 1, 0)
_slip("the last line left out", 0, -1)
_slip("a line above taken in", -1, 0)
_slip("a line below taken in", 0, 1)


@KINDS.slip("an insertion that repeats the line above")
def _repeated(edit: Edit, other: Edit, rng: random.Random) -> Case:
    added = [each for each in edit.changes if each.start == each.stop and each.start]
    change = picked(added, rng)
    twice = change._replace(new=(edit.lines[change.start - 1], *change.new))
    return _case(edit, edit, _sent(edit, [twice]), land=False)


@KINDS.slip("the indentation left out of the content")
def _dedented(edit: Edit, other: Edit, rng: random.Random) -> Case:
    told = drifts.dedented(edit, rng)
    changes = [Change(hunk.start, hunk.stop, hunk.new) for hunk in told.hunks]
    return _case(edit, edit, _sent(edit, changes), land=False)
