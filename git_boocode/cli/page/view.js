// The timeline of git boocode view, its turns, and what a served page can do.

const element = (id) => document.getElementById(id);
const embedded = (id) => JSON.parse(element(id).textContent);
const POLL = 2000; // milliseconds between two questions for news

let data = embedded("data");
let details = null;
let blamed = null;
let selected = "";
let opening = 0;
let rows = new Map(); // the buttons of the timeline, by turn
const token = data.served ? location.pathname.split("/")[1] : "";

// Times.

function ago(seconds) {
  const passed = Math.max(0, Date.now() / 1000 - seconds);
  if (passed < 60) return "just now";
  if (passed < 3600) return `${Math.floor(passed / 60)} min ago`;
  if (passed < 86400) return `${Math.floor(passed / 3600)} h ago`;
  if (passed < 86400 * 14) return counted(Math.floor(passed / 86400), "day") + " ago";
  return new Date(seconds * 1000).toLocaleDateString();
}

function lasted(seconds) {
  if (seconds < 1) return "under 1 s";
  if (seconds < 60) return `${Math.round(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

function timeOf(seconds) {
  const date = new Date(seconds * 1000);
  return make("time", { datetime: date.toISOString(), title: date.toLocaleString() }, ago(seconds));
}

// The timeline.

const labelOf = (turn) => turn.label
  ? make("span", { class: "label" }, oneLine(turn.label))
  : make("span", { class: "label none" }, "no label");

function changesOf(turn) {
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
    turn.refusals ? make("span", { class: "refused" }, `${turn.refusals} refused`) : null);
}

function rowOf(turn) {
  return make("button", { class: "row", type: "button", "data-turn": turn.id, onclick: () => openTurn(turn.id) },
    labelOf(turn), factsOf(turn));
}

const groupOf = (turn) => JSON.stringify([turn.session, turn.agent, turn.branch, turn.worktree]);

function headingOf(turn) {
  const parts = [turn.session ? `session ${oneLine(turn.session).slice(0, 12)}` : "", turn.branch];
  if (!turn.here) parts.push(`worktree ${turn.worktree}`);
  return make("h2", { title: turn.session }, make("b", {}, turn.agent ? oneLine(turn.agent) : "by hand"),
    parts.filter(Boolean).map((part) => make("span", {}, oneLine(part))));
}

function drawTimeline() {
  const focused = document.activeElement?.dataset?.turn;
  const made = document.createDocumentFragment();
  rows = new Map();
  let list = null;
  let group = "";
  for (const turn of data.turns) {
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
  const worktrees = new Set(data.turns.map((turn) => turn.worktree));
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
    turn.text ??= [turn.label, turn.agent, turn.session, turn.branch, turn.worktree, turn.id, ...turn.paths].join("\n").toLowerCase();
    const inScope = !scope || scope === `worktree ${turn.worktree}` || scope === `session ${turn.session}`;
    const matches = inScope && words.every((word) => turn.text.includes(word));
    rows.get(turn.id).parentElement.hidden = !matches;
    shown += matches;
  }
  for (const section of document.querySelectorAll(".session")) {
    section.hidden = !section.querySelector("li:not([hidden])");
  }
  element("empty").hidden = shown > 0;
  if (!data.turns.length) element("empty").textContent = "No turn was recorded yet.";
  const all = counted(data.turns.length, "turn");
  const older = data.more ? ", older ones left out" : "";
  element("summary").textContent = shown === data.turns.length ? all + older : `${shown.toLocaleString()} of ${all}`;
}

// One turn.

async function detailsOf(id) {
  if (data.served) return ask(`turn/${encodeURIComponent(id)}`);
  details ??= embedded("details");
  return details[id];
}

async function openTurn(id, focus = true) {
  const turn = data.turns.find((each) => each.id === id);
  if (!turn) return;
  rows.get(selected)?.removeAttribute("aria-current");
  selected = id;
  rows.get(id).setAttribute("aria-current", "true");
  history.replaceState(null, "", `#${id}`);
  const number = ++opening;
  let found;
  try {
    found = await detailsOf(id);
  } catch (error) {
    notify(error.message);
    return;
  }
  if (number !== opening) return;
  element("turn").replaceChildren(...turnParts(turn, found));
  document.body.classList.add("open");
  if (focus) {
    element("turn").scrollTop = 0;
    element("turn").focus({ preventScroll: true });
    if (getComputedStyle(element("timeline")).display === "none") scrollTo(0, 0);
  }
}

function closeTurn() {
  const row = rows.get(selected);
  row?.removeAttribute("aria-current");
  selected = "";
  document.body.classList.remove("open");
  drawNothing();
  history.replaceState(null, "", location.pathname);
  row?.focus();
}

function drawNothing() {
  element("turn").replaceChildren(make("p", { class: "empty" }, "Choose a turn to see what it changed."));
}

function turnParts(turn, found) {
  const ends = turn.ended === null ? null : make("span", {}, `took ${lasted(turn.ended - turn.started)}`);
  return [
    make("div", { class: "heading" },
      make("h2", { class: turn.label ? "" : "none" }, turn.label || "no label"),
      make("button", { type: "button", "aria-label": "Close this turn", onclick: closeTurn }, "×")),
    make("p", { class: "facts" },
      make("span", {}, turn.agent ? oneLine(turn.agent) : "by hand"),
      make("span", { title: ago(turn.started) }, new Date(turn.started * 1000).toLocaleString()), ends, changesOf(turn),
      turn.session ? make("span", {}, `session ${oneLine(turn.session)}`) : null,
      turn.branch ? make("span", {}, `branch ${oneLine(turn.branch)}`) : null,
      turn.here ? null : make("span", {}, `worktree ${oneLine(turn.worktree)}`)),
    backOf(turn),
    remarkOf(turn),
    ...eventsOf(turn, found),
    ...filesOf(turn, found),
  ].filter(Boolean);
}

function backOf(turn) {
  if (!turn.command) return null;
  return make("div", { class: "back" },
    make("code", { id: "command" }, turn.command),
    make("button", { type: "button", onclick: () => copy(turn.command) }, "Copy"),
    data.served && turn.here
      ? make("button", { type: "button", id: "restore", onclick: () => preview(turn) }, "Restore to here…") : null);
}

function remarkOf(turn) {
  const remarks = {
    checkpoint: "The end of this turn was not recorded: what changed until the next checkpoint is shown.",
    restore: "The end of this turn was not recorded: what changed until the next restore is shown.",
    now: "The end of this turn was not recorded: what changed until now is shown.",
    "": "The end of this turn is not known.",
  };
  return turn.end in remarks ? make("p", { class: "remark" }, remarks[turn.end]) : null;
}

function eventsOf(turn, found) {
  const edits = found.edits.map((edit) => make("li", {}, editText(edit)));
  const refused = found.refusals.flatMap((refusal) => refusal.failures.map((failure) =>
    make("li", { class: "warning" }, `${oneLine(failure.path) || "an edit"}: ${oneLine(failure.message)} (${failure.code})`)));
  return [
    edits.length ? make("h3", {}, `Applied: ${counted(turn.edits, "edit")}`) : null,
    edits.length ? make("ul", { class: "events", id: "edits" }, edits) : null,
    refused.length ? make("h3", {}, `Refused: ${counted(refused.length, "edit")}`) : null,
    refused.length ? make("ul", { class: "events", id: "refusals" }, refused) : null,
  ];
}

function editText(edit) {
  if (edit.rewinds) return `took the edit ${oneLine(edit.rewinds)} back`;
  const parts = edit.edits.map((each) => {
    const how = each.kind === "fuzzy" ? `, fuzzy (${each.rung} ${Number(each.similarity).toFixed(2)})` : "";
    const lines = each.start_line === each.end_line ? `line ${each.start_line}` : `lines ${each.start_line}–${each.end_line}`;
    return `${oneLine(each.path)}: ${lines}${how}${each.notes.map((note) => `, ${note}`).join("")}`;
  });
  const files = edit.files.map((file) => `${file.action} ${oneLine(file.path)}`);
  return (parts.length ? parts : files).join("; ") + (edit.rewound ? " – rewound since" : "");
}

function filesOf(turn, found) {
  if (found.files === null) {
    const why = turn.files === null ? "What this turn changed is not known." : "This turn changed too much to show here.";
    return [make("p", { class: "remark" }, `${why} See 'git boocode show ${turn.id}'.`)];
  }
  if (!found.files.length) return [make("p", { class: "remark" }, "No file changed.")];
  const openAtOnce = found.files.length <= 3;
  return [make("h3", {}, "Changed files"), ...found.files.map((file) => fileOf(turn, file, openAtOnce))];
}

function fileOf(turn, file, isOpen) {
  const name = file.source ? `${oneLine(file.source)} → ${oneLine(file.path)}` : oneLine(file.path);
  const counts = file.added === null ? [make("span", {}, "binary")] : [
    make("span", { class: "plus" }, `+${file.added}`), make("span", { class: "minus" }, `−${file.removed}`)];
  const body = make("div");
  const box = make("details", { class: "file" },
    make("summary", {}, make("span", { class: "path" }, name),
      file.action === "modify" ? null : make("span", {}, file.action),
      file.modes.length ? make("span", {}, `mode ${file.modes.join(" → ")}`) : null, counts), body);
  box.addEventListener("toggle", () => {
    if (box.open && !body.firstChild) body.append(...fileParts(turn, file));
  });
  if (isOpen) {
    body.append(...fileParts(turn, file));
    box.open = true;
  }
  return box;
}

function fileParts(turn, file) {
  const place = make("div");
  const diff = diffOf(file, turn);
  place.append(...diff);
  blamed ??= embedded("blame");
  const canBlame = file.action !== "delete" && turn.here && file.added !== null && (data.served || Object.hasOwn(blamed, file.path));
  if (!canBlame) return [place];
  const button = make("button", { type: "button", "aria-pressed": "false" }, "Who wrote which line");
  button.addEventListener("click", async () => {
    const wanted = button.getAttribute("aria-pressed") === "false";
    try {
      place.replaceChildren(...(wanted ? [blameOf(await blameData(file.path))] : diff));
      button.setAttribute("aria-pressed", String(wanted));
      button.textContent = wanted ? "Back to the diff" : "Who wrote which line";
    } catch (error) {
      notify(error.message);
    }
  });
  return [make("div", { class: "tools" }, button), place];
}

// Who wrote which line.

async function blameData(path) {
  return data.served ? ask("blame", { path }) : blamed[path];
}

function whoOf(range) {
  const names = { before: "before the first turn", later: `after: ${oneLine(range.label) || "a turn"}` };
  const name = names[range.source] || oneLine(range.label) || oneLine(range.agent) || "a turn";
  const about = [range.source === "later" ? "by hand" : oneLine(range.agent), range.time ? ago(range.time) : ""];
  const known = range.turn && rows.has(range.turn);
  const said = about.filter(Boolean).join(", ");
  const title = `${name}\n${said}`;
  return [
    known ? make("button", { type: "button", title, onclick: () => openTurn(range.turn) }, name) : make("span", { title }, name),
    // In a single line there is no room for more.
    range.end > range.start ? make("span", {}, said) : null,
  ];
}

function blameOf(found) {
  const body = make("tbody");
  for (const range of found.ranges) {
    for (let number = range.start; number <= range.end; number++) {
      const first = number === range.start;
      const who = first ? make("td", { class: "who", rowspan: range.end - range.start + 1 }, whoOf(range)) : null;
      body.append(make("tr", { class: first ? "first" : "" }, who,
        make("td", { class: "number" }, number), make("td", { class: "code" }, found.lines[number - 1])));
    }
  }
  const widths = make("colgroup", {}, make("col", { class: "who" }), make("col", { class: "number" }), make("col"));
  const note = found.cut ? make("caption", { class: "note" }, `The first ${counted(found.lines.length, "line")} only.`) : null;
  return make("table", { class: "blame" }, note, widths, body);
}

// Notices, and the command to copy.

let fading = 0;

function notify(text, action = null) {
  const notice = element("notice");
  clearTimeout(fading);
  notice.replaceChildren(make("span", {}, text), ...(action ? [action] : []),
    make("button", { type: "button", "aria-label": "Dismiss", onclick: () => { notice.hidden = true; } }, "×"));
  notice.hidden = false;
  if (!action) fading = setTimeout(() => { notice.hidden = true; }, 6000);
}

async function copy(command) {
  try {
    await navigator.clipboard.writeText(command);
    notify("Copied.");
  } catch {
    // Without the permission, the command is at least selected.
    getSelection().selectAllChildren(element("command"));
    notify("Press Ctrl-C to copy the command.");
  }
}

// Served: news, and restores.

async function ask(path, body = null, headers = {}) {
  const asked = { headers: { "Boocode-Token": token, ...headers }, cache: "no-store", redirect: "error" };
  if (body) Object.assign(asked, { method: "POST", body: JSON.stringify(body) });
  if (body) asked.headers["Content-Type"] = "application/json";
  const response = await fetch(`/${path}`, asked);
  if (response.status === 304) return null;
  const answer = await response.json();
  if (!answer.ok) {
    const error = new Error([answer.error.message, answer.error.hint].filter(Boolean).join("\n"));
    throw Object.assign(error, { code: answer.error.code });
  }
  return answer;
}

async function follow() {
  const begun = performance.now();
  if (!document.hidden) {
    try {
      const news = await ask("data", null, { "If-None-Match": data.state });
      if (news) update(news);
      element("generated").textContent = "Live";
    } catch {
      element("generated").textContent = "The server has stopped; start 'git boocode view --serve' again.";
    }
  }
  // In a large repository a look takes longer, and there are fewer of them.
  setTimeout(follow, Math.max(POLL, 10 * (performance.now() - begun)));
}

function update(news) {
  const summary = (turn) => turn && JSON.stringify({ ...turn, text: "" });
  const before = summary(data.turns.find((turn) => turn.id === selected));
  data = { ...news, served: true };
  drawTimeline();
  const now = data.turns.find((turn) => turn.id === selected);
  if (selected && now && summary(now) !== before) openTurn(selected, false);
}

function confirmFirst(title, parts, button, action) {
  const dialog = element("dialog");
  const go = make("button", { type: "button", class: "primary", id: "confirm" }, button);
  const cancel = make("button", { type: "button", onclick: () => dialog.close() }, "Cancel");
  go.addEventListener("click", async () => {
    go.disabled = true;
    try {
      await action();
    } catch (error) {
      dialog.close();
      notify(error.message);
    }
  });
  dialog.replaceChildren(make("h2", { id: "dialog-title" }, title), ...parts.filter(Boolean),
    make("div", { class: "buttons" }, cancel, go));
  if (!dialog.open) dialog.showModal();
  cancel.focus();
}

async function preview(turn) {
  try {
    const expected = await ask("preview", { id: turn.id });
    const changes = expected.changed.map((change) => {
      const lines = change.lines ? ` +${change.lines.added} −${change.lines.removed}` : "";
      return make("li", { class: "path" }, `${change.action} ${oneLine(change.path)}${lines}`);
    });
    const kept = expected.kept.map((each) => make("p", { class: "warning" }, `left alone: ${oneLine(each.path)}: ${oneLine(each.reason)}`));
    const lost = expected.hooks_lost.map((each) =>
      make("p", { class: "warning" }, `${oneLine(each.path)} would lose its hooks; '${oneLine(each.install)}' installs them again`));
    const conversation = make("input", { type: "checkbox", checked: true });
    confirmFirst(`Restore to before “${oneLine(turn.label) || turn.short}”?`, [
      make("p", {}, changes.length ? `${counted(changes.length, "file")} would change:` : "No file would change."),
      changes.length ? make("ul", {}, changes) : null, ...kept, ...lost,
      expected.head_differs ? make("p", { class: "remark" }, "HEAD stays where it is.") : null,
      make("label", {}, conversation, " Take the conversation back, too, if its agent can do that"),
      make("p", { class: "remark" }, "What is there now is recorded first, so you can undo this."),
    ], "Restore", () => restore(turn, conversation.checked));
  } catch (error) {
    notify(error.message);
  }
}

async function restore(turn, conversation) {
  const done = await ask("restore", { id: turn.id, conversation });
  element("dialog").close();
  const parts = [`Restored ${counted(done.changed.length, "file")}.`];
  if (done.messages_deleted) parts.push(`${counted(done.messages_deleted, "message")} cut.`);
  if (done.archived.length) parts.push(`${counted(done.archived.length, "later turn")} left the list until the next undo.`);
  if (done.resume) parts.push(`Continue the conversation with: ${oneLine(done.resume)}`);
  if (!done.undo) notify("Nothing to do: the worktree is as it was then.");
  else notify(parts.join("\n"),
    make("button", { type: "button", id: "undo", onclick: () => undo(done.undo, false) }, "Undo"));
}

async function undo(restored, anyway) {
  try {
    const done = await ask("undo", { restored, anyway });
    element("dialog").close();
    notify(`Undone: ${counted(done.changed.length, "file")} changed back.`);
  } catch (error) {
    if (error.code !== "newer_turns") notify(error.message);
    else confirmFirst("Undo, and replace newer changes?", [make("p", { class: "warning" }, error.message)], "Undo anyway", () => undo(restored, true));
  }
}

// The keyboard.

function move(step) {
  const shown = [...rows.values()].filter((row) => !row.parentElement.hidden);
  const from = shown.indexOf(document.activeElement?.closest?.(".row") || rows.get(selected));
  const next = shown[from < 0 ? 0 : Math.min(Math.max(from + step, 0), shown.length - 1)];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || element("dialog").open) return;
  const search = element("search");
  if (event.target === search && event.key === "Escape") {
    search.value = "";
    filter();
    search.blur();
  } else if (event.target === search && (event.key === "ArrowDown" || event.key === "Enter")) {
    move(1);
  } else if (event.target.matches("input, select, textarea")) {
    return;
  } else if (event.key === "j" || (event.key === "ArrowDown" && !event.target.closest("#turn"))) {
    move(1);
  } else if (event.key === "k" || (event.key === "ArrowUp" && !event.target.closest("#turn"))) {
    move(-1);
  } else if (event.key === "/") {
    search.focus();
    search.select();
  } else if (event.key === "Escape") {
    closeTurn();
  } else if (event.key === "c") {
    const id = event.target.closest(".row")?.dataset.turn || selected;
    const turn = data.turns.find((each) => each.id === id);
    if (turn?.command) copy(turn.command);
  } else {
    return;
  }
  event.preventDefault();
}

document.title = `${oneLine(data.repository)} – git boocode`;
element("repository").textContent = oneLine(data.repository);
element("generated").textContent = data.served ? "Live" : `Written ${new Date(data.generated_at * 1000).toLocaleString()}`;
element("search").addEventListener("input", filter);
element("scope").addEventListener("change", filter);
document.addEventListener("keydown", onKey);
drawNothing();
drawTimeline();
if (rows.has(location.hash.slice(1))) openTurn(location.hash.slice(1), false);
setInterval(() => {
  for (const time of document.querySelectorAll("time")) time.textContent = ago(Date.parse(time.dateTime) / 1000);
}, 60000);
if (data.served) follow();
