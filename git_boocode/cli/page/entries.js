// What stands between turns: operations, commits, changes by hand, and where this worktree is.

const MOST_COMMITS = 3; // one after the other that have lines of their own
const COMMITTED = {
  commit: "committed", amend: "amended", merge: "merged", "cherry-pick": "cherry-picked", revert: "committed", rebase: "rebased",
  am: "applied", pull: "pulled", checkout: "checked out", reset: "reset to",
};
const ARRIVALS = ["checkout", "reset"]; // moves of HEAD that make no commit
const NEWEST = "~"; // greater than all ids
const TURN_ORDER = 2; // of a turn among the entries of the same id, which are above it if theirs is greater

// A link goes to its address by itself, and Back returns.
const turnLink = (id, text) => make("a", { href: `#${id}` }, text);

function quoted(turn) {
  return turn ? turnLink(turn.id, `“${oneLine(turn.label) || turn.short}”`) : "a turn that is not listed";
}

const entry = (kind, symbol, time, ...parts) => make("li", { class: `entry ${kind}` },
  make("span", { class: "symbol", "aria-hidden": "true" }, symbol), make("span", { class: "what" }, ...parts), time ? timeOf(time) : null);

function operationText({ command, partial, conversation_only: isTalk, side, turns, targets }) {
  const [first] = targets;
  const known = turnOf(turns?.[0]);
  const one = known ? quoted(known) : `“${oneLine(first.label) || first.short}”`;
  const what = targets.length > 1 ? counted(targets.length, "turn") : one;
  if (command === "restore") return [`restored ${isTalk ? "the conversation " : partial ? "some files " : ""}to ${side || "before"} `, what];
  return [`${command}ed ${partial ? "a part of " : ""}`, what];
}

const operationEntry = (operation) => entry(`operation ${operation.state ? "gone" : ""}`, "↺", operation.time,
  make("span", {}, operationText(operation)), operation.state ? make("span", { class: "mark" }, STATE_MARKS[operation.state]) : null);

function commitParts({ id, short, kind, branch, subject }) {
  return [`${COMMITTED[kind] ?? kind} ${branch ? `${oneLine(branch)}: ` : ""}`, copyable(make("code", {}, short), id, "the id"), " ", oneLine(subject)];
}

const commitEntry = (commit) => entry("commit", "◆", commit.time, ...commitParts(commit));

function commitRun(commits) {
  const [newest, oldest] = [commits[0], commits.at(-1)];
  if (commits.some(({ kind }) => ARRIVALS.includes(kind))) {
    return entry("commit", "◆", newest.time, `${counted(commits.length, "move")} of HEAD, the last: `, ...commitParts(newest));
  }
  return entry("commit", "◆", newest.time, `${counted(commits.length, "commit")}, `, make("code", {}, oldest.short), " to ",
    make("code", {}, newest.short), " ", oneLine(newest.subject));
}

function byHandEntry(change) {
  const counts = change.files === null ? [" (changes unknown)"] : [` ${counted(change.files, "file")} `, ...lineCounts(change).flatMap((each) => [each, " "])];
  const path = byHandPath(change);
  const name = path && data.served
    ? make("a", { href: `#${path}` }, "by hand") : make("b", {}, "by hand");
  const paths = change.paths.slice(0, 10).map(oneLine).join("\n");
  const made = entry(`by-hand ${change.state ? "gone" : ""}`, "✎", change.before || change.operation ? null : change.time, name, counts,
    change.state ? make("span", { class: "mark" }, STATE_MARKS[change.state]) : null);
  made.title = paths;
  return made;
}

function hereText({ turn, side, files, added, removed }, withHand) {
  const lines = lineCounts({ added, removed }).filter(Boolean).flatMap((count) => [" ", count]);
  const since = files && withHand ? [`, and ${counted(files, "file")}`, ...lines, " by hand"] : [];
  const state = side === "after" && turnOf(turn)?.state;
  return [`${side} this turn, `, quoted(turnOf(turn)), state ? ` ${STATE_MARKS[state]}` : "", ...since];
}

function hereEntry(here) {
  const isOfAll = !here.at && here.side === "after";
  // Of several turns that overlapped, another one than the newest ended last.
  const isPlain = isOfAll && data.turns.find((each) => each.here && !each.in_turn)?.id !== here.turn;
  return entry("here", "➤", null, make("b", {}, "you are here"), ...(isPlain ? [] : [": ", ...hereText(here, here.at)]));
}

// All entries in the order of `git boocode log`: each with the id of the state above which it is, and its order among those of the same id.
function entriesToList() {
  const listed = data.operations.map((each) => ({ id: each.id, order: TURN_ORDER, made: () => operationEntry(each) }));
  for (const each of data.by_hand) listed.push({ id: each.operation || each.before || NEWEST, order: 0, made: () => byHandEntry(each) });
  for (const each of data.commits) listed.push({ id: each.since, order: 3, commit: each, made: () => commitEntry(each) });
  if (data.here) listed.push({ id: data.here.at || NEWEST, order: 1, made: () => hereEntry(data.here) });
  return listed.sort((one, other) => (other.id > one.id) - (other.id < one.id) || other.order - one.order);
}

// The time of the day under which an entry is listed, in seconds.
const timeAt = (id) => (id === NEWEST ? Date.now() / 1000 : timeOfId(id));

// The entries that are newer than a time, and no longer to be listed.
function takeEntries(listed, isNewer) {
  const taken = [];
  while (listed.length && isNewer(listed[0])) taken.push(listed.shift());
  const made = [];
  for (let at = 0; at < taken.length; at++) {
    let end = at;
    while (taken[at].commit && end < taken.length && taken[end].commit) end++;
    if (end - at > MOST_COMMITS) {
      made.push({ time: timeAt(taken[at].id), made: commitRun(taken.slice(at, end).map((each) => each.commit)) });
      at = end - 1;
    } else {
      made.push({ time: timeAt(taken[at].id), made: taken[at].made() });
    }
  }
  return made;
}
