// The timeline: turns and operations, newest first.

const labelOf = (turn) => turn.label
  ? make("span", { class: "label" }, oneLine(turn.label))
  : make("span", { class: "label none" }, "no label");

function changesOf(turn) {
  if (turn.in_turn) return [make("span", {}, "taken during a turn")];
  if (turn.noted) return [make("span", {}, "known from notes only")];
  if (turn.files === null) return [make("span", {}, "changes unknown")];
  if (turn.files === 0) return [make("span", {}, "no changes")];
  return [
    make("span", {}, counted(turn.files, "file")),
    make("span", { class: "plus" }, `+${turn.added.toLocaleString()}`),
    make("span", { class: "minus" }, `−${turn.removed.toLocaleString()}`),
  ];
}

function factsOf(turn) {
  return make("span", { class: "facts" },
    timeOf(turn.started),
    turn.ended === null ? null : make("span", { title: "duration" }, lasted(turn.ended - turn.started)),
    changesOf(turn),
    turn.edits ? make("span", {}, counted(turn.edits, "edit")) : null,
    turn.refusals ? make("span", { class: "refused" }, `${turn.refusals} refused`) : null,
    turn.reverted ? make("span", {}, "reverted") : null);
}

function rowOf(turn) {
  return make("button", { class: "row", type: "button", "data-turn": turn.id, onclick: () => openTurn(turn.id) },
    labelOf(turn), factsOf(turn));
}

function operationOf({ command, partial, targets, time }) {
  const [first] = targets;
  const what = targets.length > 1 ? counted(targets.length, "turn") : `“${oneLine(first.label) || first.short}”`;
  const done = command === "restore"
    ? `restored ${partial ? "some files " : ""}to before ${what}`
    : `${command}ed ${partial ? "a part of " : ""}${what}`;
  return make("li", { class: "operation" }, make("span", {}, done), timeOf(time));
}

const groupOf = (turn) => JSON.stringify([turn.session, turn.agent, turn.branch, turn.worktree, turn.remote]);

const agentOf = (turn) => oneLine(turn.agent) || (turn.noted ? "unknown agent" : "by hand");

function sourceOf(turn) {
  if (turn.remote) return `remote ${turn.remote}`;
  return turn.here || !turn.worktree ? "" : `worktree ${turn.worktree}`;
}

function headingOf(turn) {
  const parts = [turn.session ? `session ${oneLine(turn.session).slice(0, 12)}` : "", turn.branch, sourceOf(turn)];
  return make("h2", { title: turn.session }, make("b", {}, agentOf(turn)),
    parts.filter(Boolean).map((part) => make("span", {}, oneLine(part))));
}

function drawTimeline() {
  const focused = document.activeElement?.dataset?.turn;
  const made = document.createDocumentFragment();
  rows = new Map();
  let list = null;
  let group = "";
  const operations = [...data.operations];
  for (const turn of data.turns) {
    while (operations.length && operations[0].id > turn.id) {
      if (!list) made.append(list = make("ol", { class: "session" }));
      list.append(operationOf(operations.shift()));
    }
    if (groupOf(turn) !== group) {
      group = groupOf(turn);
      list = make("ol");
      made.append(make("section", { class: "session" }, headingOf(turn), list));
    }
    const row = rowOf(turn);
    rows.set(turn.id, row);
    list.append(make("li", {}, row));
  }
  element("timeline").replaceChildren(made, make("p", { class: "empty", id: "empty", hidden: true }, "No turn matches."));
  rows.get(selected)?.setAttribute("aria-current", "true");
  drawScopes();
  filter();
  if (focused) rows.get(focused)?.focus({ preventScroll: true });
}

function drawScopes() {
  const scope = element("scope");
  const before = scope.value;
  const options = new Map([["", "All sessions"]]);
  const worktrees = new Set(data.turns.map((turn) => turn.worktree).filter(Boolean));
  if (worktrees.size > 1) {
    for (const name of worktrees) options.set(`worktree ${name}`, `worktree ${oneLine(name)}`);
  }
  for (const turn of data.turns) {
    const short = oneLine(turn.session).slice(0, 12);
    if (turn.session) options.set(`session ${turn.session}`, `${oneLine(turn.agent)} ${short}`);
  }
  scope.replaceChildren(...[...options].map(([value, text]) => make("option", { value }, text)));
  scope.value = options.has(before) ? before : "";
}

function filter() {
  const words = element("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const scope = element("scope").value;
  let shown = 0;
  for (const turn of data.turns) {
    turn.text ??= [turn.label, turn.prompt, turn.agent, turn.session, turn.branch, turn.worktree, turn.id, ...turn.paths].join("\n").toLowerCase();
    const inScope = !scope || scope === `worktree ${turn.worktree}` || scope === `session ${turn.session}`;
    const matches = inScope && words.every((word) => turn.text.includes(word));
    rows.get(turn.id).parentElement.hidden = !matches;
    shown += matches;
  }
  for (const each of document.querySelectorAll(".operation")) each.hidden = words.length > 0 || scope !== "";
  for (const section of document.querySelectorAll("section.session")) {
    section.hidden = !section.querySelector("li:not(.operation, [hidden])");
  }
  element("empty").hidden = shown > 0;
  if (!data.turns.length) element("empty").textContent = data.range ? "No turn wrote lines of these commits." : "No turn was recorded yet.";
  const all = counted(data.turns.length, "turn");
  const older = data.more ? ", older ones left out" : "";
  element("summary").textContent = shown === data.turns.length ? all + older : `${shown.toLocaleString()} of ${all}`;
}
