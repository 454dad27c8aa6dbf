// What one sees before a turn is chosen: where the worktree is, what changed lately, what needs attention.

const MOST_LISTED = 6; // agents, files, turns
const VISIT = "boocode-visit";
const lastVisit = Number(kept(`${VISIT}:${data.repository}`)) || 0;

const inForce = (turn) => !turn.state && !turn.in_turn;

// The turns of today, or else of the latest day with turns.
function latestTurns() {
  if (!data.turns.length) return { name: "", turns: [] };
  const day = dayOf(data.turns[0].started);
  return { name: dayName(day), turns: data.turns.filter((turn) => dayOf(turn.started) === day) };
}

const totals = (turns) => turns.filter(inForce).reduce((sum, turn) => ({
  added: sum.added + (turn.added ?? 0), removed: sum.removed + (turn.removed ?? 0),
}), { added: 0, removed: 0 });

function overviewParts() {
  if (data.range) return rangeParts(data.range);
  if (!data.turns.length) {
    return [make("div", { class: "welcome" }, make("h2", {}, "No turn was recorded yet"),
      make("p", {}, "A turn appears here when an agent with hooks begins one: ", make("code", {}, "git boocode hooks install")))];
  }
  const { name, turns } = latestTurns();
  return [
    // On a phone it is a page of its own.
    addressNow() === OVERVIEW ? make("div", { class: "heading" }, make("h2", {}, "Overview"),
      make("button", { type: "button", class: "close", "aria-label": "Close the overview", onclick: closeTurn }, "×")) : null,
    hereCard(),
    attentionList(),
    section(name, dayFacts(turns)),
    section("Latest turn", latestCard(data.turns[0])),
    make("div", { class: "columns" }, section("Turns by agent", agentList(turns)), section("Files changed most", fileRanking(turns))),
    data.served ? null : make("p", { class: "remark" }, "This page is a file: to restore, take back, pick or compare from the browser, ",
      "and to see new turns, run ", make("code", {}, "git boocode view --serve"), "."),
  ].filter(Boolean);
}

const section = (title, ...parts) => parts.filter(Boolean).length
  ? make("section", { class: "overview" }, make("h3", {}, title), ...parts.filter(Boolean)) : null;

function hereCard() {
  if (!data.here) return null;
  return make("p", { class: "here-card" }, make("span", { class: "symbol", "aria-hidden": "true" }, "➤"),
    make("span", {}, make("b", {}, "You are here"), ": ", hereText(data.here, true)));
}

// What waits for somebody: what was interrupted, turns that run or did not end, proposals, and what undo would do.
function attentionList() {
  const running = data.turns.filter((turn) => turn.open);
  const unended = latestTurns().turns.filter((turn) => turn.agent && turn.here && !turn.open && inForce(turn) && turn.end in UNENDED);
  const since = lastVisit ? data.turns.filter((turn) => turn.started > lastVisit) : [];
  const named = (turns) => turns.slice(0, 3).flatMap((turn, at) => [at ? ", " : "", quoted(turn)]).concat(turns.length > 3 ? [" and more"] : []);
  const rowsOf = [
    ...data.interrupted.map((message) => ["interrupted", `${sentence(message)}: `, make("code", {}, "git boocode doctor --fix"), " repairs it."]),
    running.length ? ["running", `${counted(running.length, "turn")} running: `, ...named(running)] : null,
    data.proposed.length ? ["proposed", `${counted(data.proposed.length, "file")} proposed: `,
      data.proposed.slice(0, 3).map(pathText).join(", "), data.proposed.length > 3 ? " and more" : "", " – ", make("code", {}, "git boocode accept")] : null,
    since.length && since.length < data.turns.length ? ["since", `${counted(since.length, "turn")} since your last visit: `, ...named(since)] : null,
    unended.length ? ["unended", `The end of ${counted(unended.length, "turn")} was not recorded: `, ...named(unended)] : null,
    data.undo ? ["undo", `Can be undone: ${stepText(data.undo)}, ${ago(data.undo.time)} `, data.served ? stepButton("undo") : make("code", {}, "git boocode undo")] : null,
    data.redo ? ["redo", `Can be redone: ${stepText(data.redo)} `, data.served ? stepButton("redo") : make("code", {}, "git boocode redo")] : null,
  ].filter(Boolean);
  return rowsOf.length ? make("ul", { class: "attention" }, rowsOf.map(([kind, ...parts]) => make("li", { class: kind }, ...parts))) : null;
}

function dayFacts(turns) {
  const { added, removed } = totals(turns);
  const files = new Set(turns.filter(inForce).flatMap((turn) => turn.paths));
  const away = turns.filter((turn) => turn.state).length;
  const fact = (number, text) => make("li", {}, make("b", {}, number.toLocaleString()), " ", text);
  return make("ul", { class: "numbers" },
    fact(turns.length, turns.length === 1 ? "turn" : "turns"), fact(files.size, files.size === 1 ? "file" : "files"),
    make("li", { class: "plus" }, make("b", {}, `+${added.toLocaleString()}`), " lines"),
    make("li", { class: "minus" }, make("b", {}, `−${removed.toLocaleString()}`), " lines"),
    away ? fact(away, "taken back or restored away") : null);
}

function latestCard(turn) {
  return make("button", { type: "button", class: "card", onclick: () => navigate(turn.id) }, agentMark(turn),
    make("span", { class: "line" }, labelOf(turn), stateMarks(turn), timeOf(turn.started)), factsOf(turn));
}

function ranking(found, rowMade) {
  const most = Math.max(...found.map(([, number]) => number));
  return make("ol", { class: "ranking" }, found.slice(0, MOST_LISTED).map(([key, number]) => {
    const bar = make("i", { class: "share", "aria-hidden": "true" });
    bar.style.width = `${(100 * number) / most}%`;
    return make("li", {}, rowMade(key), make("span", { class: "count" }, number.toLocaleString()), bar);
  }));
}

function countedBy(turns, keysOf) {
  const found = new Map();
  for (const turn of turns) for (const key of keysOf(turn)) found.set(key, (found.get(key) ?? 0) + 1);
  return [...found].sort((one, other) => other[1] - one[1]);
}

function agentList(turns) {
  const found = countedBy(turns, (turn) => [turn.agent]);
  const choices = [...element("scope").options].map((each) => each.value);
  const choose = (scope) => {
    element("scope").value = scope;
    showList();
  };
  return ranking(found, (agent) => {
    const [scope, name] = [`agent ${agent}`, [agentMark({ agent }), " ", oneLine(agent) || "no agent"]];
    // All turns are of one agent: there is nothing to choose.
    if (!choices.includes(scope)) return make("span", { class: "link" }, name);
    return make("button", { type: "button", class: "link", title: "Show only these turns", onclick: () => choose(scope) }, name);
  });
}

// The list with what was chosen of it; on a phone it is another page.
function showList() {
  filter();
  if (element("timeline").offsetParent === null) closeTurn();
}

function fileRanking(turns) {
  const found = countedBy(turns.filter(inForce), (turn) => turn.paths);
  if (!found.length) return make("p", { class: "remark" }, "No file changed.");
  const search = (path) => {
    // A box of one line drops a newline.
    element("search").value = path.replace(/\s/g, " ");
    showList();
  };
  return ranking(found, (path) => make("button", { type: "button", class: "link path", title: "Show the turns that changed it", onclick: () => search(path) }, pathText(path)));
}

function rememberVisit() {
  keep(`${VISIT}:${data.repository}`, String(Date.now() / 1000));
}
