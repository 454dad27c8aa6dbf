// What stands between turns: operations, commits, changes by hand, and where this worktree is.

const MOST_COMMITS = 3; // one after the other that have lines of their own
const COMMITTED = {
  commit: "committed", amend: "amended", merge: "merged", "cherry-pick": "cherry-picked", revert: "committed", rebase: "rebased",
  am: "applied", pull: "pulled", checkout: "checked out", reset: "reset to",
};
const NEVER = 1e12; // seconds, later than all that is listed

// A link goes to its address by itself, and Back returns.
const turnLink = (id, text) => make("a", { href: `#${id}` }, text);

function quoted(turn) {
  return turn ? turnLink(turn.id, `“${oneLine(turn.label) || turn.short}”`) : "a turn that is not listed";
}

const entry = (kind, symbol, time, ...parts) => make("li", { class: `entry ${kind}` },
  make("span", { class: "symbol", "aria-hidden": "true" }, symbol), make("span", { class: "what" }, ...parts), time ? timeOf(time) : null);

function operationText({ command, partial, side, turns, targets }) {
  const [first] = targets;
  const known = turnOf(turns?.[0]);
  const one = known ? quoted(known) : `“${oneLine(first.label) || first.short}”`;
  const what = targets.length > 1 ? counted(targets.length, "turn") : one;
  if (command === "restore") return [`restored ${partial ? "some files " : ""}to ${side || "before"} `, what];
  return [`${command}ed ${partial ? "a part of " : ""}`, what];
}

const operationEntry = (operation) => entry(`operation ${operation.state ? "gone" : ""}`, "↺", operation.time,
  make("span", {}, operationText(operation)), operation.state ? make("span", { class: "mark" }, STATE_MARKS[operation.state]) : null);

function commitEntry(commit) {
  return entry("commit", "◆", commit.time, `${COMMITTED[commit.kind] ?? commit.kind} `, copyable(make("code", {}, commit.short), commit.id, "the id"), " ", oneLine(commit.subject));
}

function commitRun(commits) {
  const [newest, oldest] = [commits[0], commits.at(-1)];
  return entry("commit", "◆", newest.time, `${counted(commits.length, "commit")}, `, make("code", {}, oldest.short), " to ",
    make("code", {}, newest.short), " ", oneLine(newest.subject));
}

function byHandEntry(change) {
  const counts = change.files === null ? [" (changes unknown)"] : [` ${counted(change.files, "file")} `, ...lineCounts(change).flatMap((each) => [each, " "])];
  const path = change.operation ? "" : byHandPath(change);
  const name = path && data.served
    ? make("a", { href: `#${path}` }, "by hand") : make("b", {}, "by hand");
  const paths = change.paths.slice(0, 10).map(oneLine).join("\n");
  const made = entry(`by-hand ${change.state ? "gone" : ""}`, "✎", change.before || change.operation ? null : change.time, name, counts,
    change.state ? make("span", { class: "mark" }, STATE_MARKS[change.state]) : null);
  made.title = paths;
  return made;
}

function hereText({ turn, side, files, added, removed }, isBack) {
  const since = files && isBack ? [`, and ${counted(files, "file")} `, ...lineCounts({ added, removed }), " by hand"] : [];
  return [`${side} this turn, `, quoted(turnOf(turn)), ...since];
}

// Whether a restore went back there; else it is above all turns.
const isBackAt = ({ turn, side }) => data.turns.find((each) => each.here && !each.in_turn)?.id !== turn || side === "before";

const hereEntry = (here) => entry("here", "➤", null, make("b", {}, "you are here"), ": ", hereText(here, isBackAt(here)));

// All entries with the time at which each stands in the list.
function entriesToList() {
  const times = new Map(data.turns.map((turn) => [turn.id, turn.started]));
  for (const operation of data.operations) times.set(operation.id, operation.time);
  const listed = data.operations.map((each) => ({ time: each.time, order: 2, made: () => operationEntry(each) }));
  for (const each of data.by_hand) {
    const until = each.before || each.operation;
    listed.push({ time: until ? times.get(until) ?? each.time : NEVER, order: 0, made: () => byHandEntry(each) });
  }
  // A commit has any time that its author wishes; it came after the state that was recorded before it.
  for (const each of data.commits) listed.push({ time: each.since, order: 1, commit: each, made: () => commitEntry(each) });
  if (data.here) {
    const { turn, side } = data.here;
    const at = times.get(turn);
    const place = !isBackAt(data.here) || at === undefined ? { time: NEVER, order: 3 } : { time: at, order: side === "before" ? -1 : 3 };
    listed.push({ ...place, made: () => hereEntry(data.here) });
  }
  return listed.sort((one, other) => other.time - one.time || other.order - one.order);
}

// The entries that are newer than a time, and no longer to be listed.
function takeEntries(listed, isNewer) {
  const taken = [];
  while (listed.length && isNewer(listed[0])) taken.push(listed.shift());
  const made = [];
  for (let at = 0; at < taken.length; at++) {
    let end = at;
    while (taken[at].commit && end < taken.length && taken[end].commit) end++;
    if (end - at > MOST_COMMITS) {
      made.push({ time: taken[at].time, made: commitRun(taken.slice(at, end).map((each) => each.commit)) });
      at = end - 1;
    } else {
      made.push({ time: taken[at].time, made: taken[at].made() });
    }
  }
  return made;
}
