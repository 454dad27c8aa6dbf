// The article of one turn.

const UNENDED = {
  checkpoint: "The end of this turn was not recorded: what changed until the next checkpoint is shown.",
  restore: "The end of this turn was not recorded: what changed until the next restore is shown.",
  now: "The end of this turn was not recorded: what changed until now is shown.",
  "": "The end of this turn is not known.",
};

// A label that was made of the prompt has its first words, of several lines; the first line is whole.
function titleOf(turn) {
  const label = turn.label.trim();
  const words = label.replace(/\s*(…|\.\.\.)$/, "");
  const first = turn.prompt.trim().split("\n", 1)[0].trim();
  const plain = first.replace(/\s+/g, " ");
  return plain && (plain.startsWith(words) || words.startsWith(plain)) ? first : label;
}

function turnParts(turn, found) {
  const title = titleOf(turn);
  return [
    make("div", { class: "heading" }, agentMark(turn),
      make("h2", { class: title ? "" : "none" }, title || "no label"),
      make("button", { type: "button", class: "close", "aria-label": "Close this turn", onclick: closeTurn }, "×")),
    aboutOf(turn),
    stateOf(turn),
    actionsOf(turn),
    turn.prompt.trim() !== title && turn.prompt ? make("p", { class: "prompt" }, turn.prompt) : null,
    attemptsOf(turn),
    commitsOf(turn),
    remarkOf(turn),
    make("div", { class: "beside" }, conversationOf(turn),
      make("div", { class: "changes" }, found ? changesParts(turn, found) : loading())),
  ].filter(Boolean);
}

const loading = () => make("p", { class: "remark loading" }, "Loading…");
const changesParts = (turn, found) => [...eventsOf(turn, found), sharedOf(turn, found.shared ?? []), ...filesOf(turn, found)].filter(Boolean);

// The files of which nothing says whether this turn or another one changed them, and what that means.
function sharedOf(turn, shared) {
  if (!shared.length) return null;
  const others = [...new Set(shared.flatMap(({ turns }) => turns))];
  const nameOfOther = (id) => (data.operations.some((each) => each.id === id) ? ["a restore"] : [quoted(turnOf(id))]);
  const named = (ids) => ids.flatMap((id, at) => [at ? ", " : "", ...nameOfOther(id)]);
  const canTake = turn.here && !turn.state;
  const taken = others.map(turnOf).filter((each) => each?.here && !each.state);
  const all = [turn.id, ...taken.map(({ id }) => id)];
  return make("div", { class: "shared" },
    make("p", {}, `Nothing says by which turn ${shared.length > 1 ? "these files were" : "this file was"} changed, as several were open:`),
    make("ul", {}, shared.map(({ path, turns }) => make("li", {}, make("span", { class: "path" }, pathText(path)), ": this turn, or ", ...named(turns)))),
    canTake ? make("p", {}, "They are not among the changes of this turn. To take it back, choose whether these files are taken back as well, or take back all of these turns.") : null,
    canTake && data.served && taken.length === others.length
      ? make("button", { type: "button", onclick: () => previewTaking("revert", all) }, `Take back these ${counted(all.length, "turn")}…`) : null);
}

function aboutOf(turn) {
  const time = timeOf(turn.started);
  return make("p", { class: "facts" },
    make("span", { class: "who" }, agentOf(turn)),
    time, make("span", {}, new Date(turn.started * 1000).toLocaleString()),
    turn.ended === null ? null : make("span", {}, `took ${lasted(turn.ended - turn.started)}`),
    changesOf(turn),
    turn.branch ? make("span", {}, `branch ${oneLine(turn.branch)}`) : null,
    sourceOf(turn) ? make("span", {}, oneLine(sourceOf(turn))) : null,
    turn.session ? make("span", {}, "session ", copyable(oneLine(turn.session).slice(0, 8), turn.session, "the session")) : null,
    turn.noted ? null : make("span", {}, "turn ", copyable(turn.short, turn.id, "the id")));
}

const stateOf = (turn) => turn.state || turn.open
  ? make("p", { class: "state" }, stateMarks(turn), " ", turn.state ? STATE_TEXTS[turn.state] : "The agent is still at work.") : null;

function actionsOf(turn) {
  if (turn.noted) return null;
  const action = (id, text, go, kind = "") => make("button", { type: "button", id, class: kind, onclick: go }, text);
  const restores = data.served && turn.here ? make("div", { class: "group", role: "group", "aria-label": "Restore" },
    make("span", { class: "group-name" }, "Restore to"),
    action("restore", "before this turn…", () => preview(turn), "primary"),
    turn.in_turn || turn.open ? null : action("restore-after", "after this turn…", () => preview(turn, { ...RESTORED_WITH, after: true }))) : null;
  const others = data.served ? [
    turn.here && !turn.state ? action("revert", "Take back this turn…", () => previewTaking("revert", [turn.id]))
      : action("pick", "Pick this turn…", () => previewTaking("pick", [turn.id])),
    action("compare", "Compare with…", () => chooseComparison(turn)),
  ] : [];
  return make("div", { class: "turn-actions" }, restores, ...others.filter(Boolean), commandMenu(turn));
}

// The commands that do the same; without a server they are all that one can do.
function commandsFor(turn) {
  if (!turn.command) return [];
  const pick = ["Pick this turn", `git boocode pick ${turn.id}`];
  const own = turn.here ? [
    turn.in_turn ? null : ["Restore to after this turn", `git boocode restore --after ${turn.id}`],
    turn.state ? pick : ["Take back this turn", `git boocode revert ${turn.id}`],
  ] : [pick];
  const first = turn.remote ? "Show this turn" : "Restore to before this turn";
  return [[first, turn.command], ...own, ["Show its diff", `git boocode diff --turn ${turn.id}`]].filter(Boolean);
}

function commandMenu(turn) {
  const commands = commandsFor(turn);
  if (!commands.length) return null;
  const rowsMade = commands.map(([text, command], at) => make("li", {},
    make("button", { type: "button", onclick: () => copy(command) }, text, make("code", at ? {} : { id: "command" }, command))));
  return menu("Copy command", rowsMade);
}

// A button that shows a list, which closes when the focus leaves it.
function menu(name, rowsMade) {
  const box = make("details", { class: data.served ? "menu" : "menu leading" }, make("summary", {}, name), make("ul", {}, rowsMade));
  box.addEventListener("focusout", ({ relatedTarget }) => {
    if (relatedTarget && !box.contains(relatedTarget)) box.open = false;
  });
  box.addEventListener("click", ({ target }) => {
    if (target.closest("ul button")) box.open = false;
  });
  box.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !box.open) return;
    box.open = false;
    box.querySelector("summary").focus();
    event.stopPropagation();
  });
  return box;
}

// The turns that began in the same state, in forks, side by side.
function attemptsOf(turn) {
  const attempts = (turn.attempts ?? []).map((id) => data.turns.find((each) => each.id === id)).filter(Boolean);
  if (attempts.length < 2) return null;
  const columns = attempts.map((each) => make("li", {},
    make("button", { type: "button", "aria-current": String(each === turn), onclick: () => navigate(each.id) }, labelOf(each)),
    make("span", { class: "facts" }, make("span", {}, `worktree ${oneLine(each.worktree)}`), changesOf(each)),
    each === turn ? null : commandOf(`git boocode diff --after ${turn.short} ${each.short}`)));
  return make("div", {}, make("h3", {}, "Attempts from the same state"), make("ol", { class: "attempts" }, columns));
}

function commandOf(command) {
  return make("div", { class: "back" }, make("code", {}, command),
    make("button", { type: "button", onclick: () => copy(command) }, "Copy"));
}

function remarkOf(turn) {
  return !turn.noted && turn.end in UNENDED ? make("p", { class: "remark" }, UNENDED[turn.end]) : null;
}

function eventsOf(turn, found) {
  const edits = found.edits.map((edit) => make("li", {}, editText(edit)));
  const refused = found.refusals.flatMap((refusal) => refusal.failures.map((failure) =>
    make("li", { class: "warning" }, `${pathText(failure.path) || "an edit"}: ${oneLine(failure.message)} (${failure.code})`)));
  if (!edits.length && !refused.length) return [];
  const counts = [
    edits.length ? make("span", {}, `${counted(turn.edits, "edit")} applied`) : null,
    refused.length ? make("span", { class: "refused" }, `${refused.length.toLocaleString()} refused`) : null,
  ];
  return [make("details", { class: "about-edits" }, make("summary", {}, make("span", { class: "facts" }, counts)),
    edits.length ? make("ul", { class: "events", id: "edits" }, edits) : null,
    refused.length ? make("ul", { class: "events", id: "refusals" }, refused) : null)];
}

function editText(edit) {
  if (edit.rewinds) return `took the edit ${oneLine(edit.rewinds)} back`;
  const parts = edit.edits.map((each) => {
    // A record may be of any program's making.
    const { start_line: start, end_line: end } = each;
    const lines = start === null || end === null ? "" : start === end ? `line ${start}` : `lines ${start}–${end}`;
    const how = each.kind === "fuzzy" && each.rung ? `fuzzy (${each.rung} ${Number(each.similarity).toFixed(2)})` : "";
    return `${pathText(each.path)}: ${[lines, how, ...each.notes].filter(Boolean).join(", ") || "edited"}`;
  });
  const files = edit.files.map((file) => `${file.action} ${pathText(file.path)}`);
  return (parts.length ? parts : files).join("; ") + (edit.rewound ? " – rewound since" : "");
}
