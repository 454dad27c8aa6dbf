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

// One turn.

async function detailsOf(id) {
  if (data.served) return ask(`turn/${encodeURIComponent(id)}`);
  details ??= embedded("details");
  return details[id] ?? { files: null, edits: [], refusals: [] };
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
  const before = focus ? null : placeIn(element("turn"));
  element("turn").replaceChildren(...turnParts(turn, found));
  document.body.classList.add("open");
  if (before) goTo(element("turn"), before);
  if (focus) {
    element("turn").scrollTop = 0;
    element("turn").focus({ preventScroll: true });
    if (getComputedStyle(element("timeline")).display === "none") scrollTo(0, 0);
  }
}

// What is open in a turn, and where it is scrolled to, while it is drawn again.
const placeIn = (article) => ({
  top: article.scrollTop,
  open: new Set([...article.querySelectorAll("details[open] .path")].map((path) => path.textContent)),
});

function goTo(article, place) {
  for (const box of article.querySelectorAll("details.file")) {
    if (place.open.has(box.querySelector(".path").textContent)) {
      box.draw();
      box.open = true;
    }
  }
  article.scrollTop = place.top;
}

function closeTurn() {
  opening++;
  const row = rows.get(selected);
  row?.removeAttribute("aria-current");
  selected = "";
  document.body.classList.remove("open");
  drawNothing();
  history.replaceState(null, "", location.pathname);
  row?.focus();
}

function drawNothing() {
  const text = make("p", { class: "empty" }, "Choose a turn to see what it changed.");
  element("turn").replaceChildren(...(data.range ? rangeParts(data.range) : [text]));
}

// The commits of a range.

const linesIn = (commit, id) => commit.lines.filter((each) => each.turn === id);
const sizeOf = (lines) => lines.reduce((sum, each) => sum + each.end - each.start + 1, 0);
const turnNamed = (id) => data.turns.find((turn) => turn.id === id);

function rangeParts({ name, commits, problems }) {
  const turns = new Set(commits.flatMap((commit) => commit.lines.map((each) => each.turn)));
  const written = sizeOf(commits.flatMap((commit) => commit.lines));
  const added = commits.reduce((sum, commit) => sum + commit.added, 0);
  return [
    make("div", { class: "heading" }, make("h2", {}, oneLine(name))),
    make("p", { class: "facts" },
      make("span", {}, counted(commits.length, "commit")),
      make("span", {}, `${counted(added, "line")} added`),
      make("span", {}, `${written.toLocaleString()} by ${counted(turns.size, "turn")}`)),
    ...problems.map((problem) => make("p", { class: "warning" }, oneLine(problem))),
    make("ol", { class: "commits" }, commits.map(commitOf)),
  ];
}

function commitOf(commit) {
  const turns = [...new Set(commit.lines.map((each) => each.turn))];
  return make("li", {},
    make("span", { class: "facts" }, make("code", { title: commit.id }, commit.short),
      make("span", { class: "plus" }, `+${commit.added.toLocaleString()}`)),
    make("span", { class: "subject" }, oneLine(commit.subject)),
    turns.length ? null : make("span", { class: "facts" }, "no lines of turns"),
    turns.map((id) => {
      const turn = turnNamed(id);
      const count = make("span", {}, counted(sizeOf(linesIn(commit, id)), "line"));
      return make("span", { class: "facts" }, count, turn
        ? make("button", { type: "button", onclick: () => openTurn(id) }, labelOf(turn)) : make("code", {}, id));
    }));
}

function commitsOf(turn) {
  const commits = (data.range?.commits ?? []).filter((commit) => linesIn(commit, turn.id).length);
  if (!commits.length) return null;
  const places = (commit) => linesIn(commit, turn.id).map(({ path, start, end }) =>
    make("li", {}, `${oneLine(path)}: ${start === end ? `line ${start}` : `lines ${start}–${end}`}`));
  return make("div", {}, make("h3", {}, `Its lines in ${oneLine(data.range.name)}`),
    make("ol", { class: "commits" }, commits.map((commit) => make("li", {},
      make("code", { title: commit.id }, commit.short), " ", make("span", { class: "subject" }, oneLine(commit.subject)),
      make("ul", { class: "places" }, places(commit))))));
}

function turnParts(turn, found) {
  const ends = turn.ended === null ? null : make("span", {}, `took ${lasted(turn.ended - turn.started)}`);
  return [
    make("div", { class: "heading" },
      make("h2", { class: turn.label ? "" : "none" }, turn.label || "no label"),
      make("button", { type: "button", "aria-label": "Close this turn", onclick: closeTurn }, "×")),
    make("p", { class: "facts" },
      make("span", {}, agentOf(turn)),
      make("span", { title: ago(turn.started) }, new Date(turn.started * 1000).toLocaleString()), ends, changesOf(turn),
      turn.session ? make("span", {}, `session ${oneLine(turn.session)}`) : null,
      turn.branch ? make("span", {}, `branch ${oneLine(turn.branch)}`) : null,
      sourceOf(turn) ? make("span", {}, oneLine(sourceOf(turn))) : null),
    turn.prompt && turn.prompt.trim() !== turn.label ? make("p", { class: "prompt" }, turn.prompt) : null,
    backOf(turn),
    attemptsOf(turn),
    commitsOf(turn),
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
      ? make("button", { type: "button", id: "restore", onclick: () => preview(turn) }, "Restore to before this turn…") : null,
    data.served && turn.here && !turn.reverted
      ? make("button", { type: "button", id: "revert", onclick: () => previewRevert([turn.id]) }, "Take back this turn…") : null);
}

// The turns that began in the same state, in forks, side by side.
function attemptsOf(turn) {
  const attempts = (turn.attempts ?? []).map((id) => data.turns.find((each) => each.id === id)).filter(Boolean);
  if (attempts.length < 2) return null;
  const columns = attempts.map((each) => make("li", {},
    make("button", { type: "button", "aria-current": String(each === turn), onclick: () => openTurn(each.id) }, labelOf(each)),
    make("span", { class: "facts" }, make("span", {}, `worktree ${oneLine(each.worktree)}`), changesOf(each)),
    each === turn ? null : commandOf(`git boocode diff --after ${turn.short} ${each.short}`)));
  return make("div", {}, make("h3", {}, "Attempts from the same state"), make("ol", { class: "attempts" }, columns));
}

function commandOf(command) {
  return make("div", { class: "back" }, make("code", {}, command),
    make("button", { type: "button", onclick: () => copy(command) }, "Copy"));
}

function remarkOf(turn) {
  const remarks = {
    checkpoint: "The end of this turn was not recorded: what changed until the next checkpoint is shown.",
    restore: "The end of this turn was not recorded: what changed until the next restore is shown.",
    now: "The end of this turn was not recorded: what changed until now is shown.",
    "": "The end of this turn is not known.",
  };
  return !turn.noted && turn.end in remarks ? make("p", { class: "remark" }, remarks[turn.end]) : null;
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
    // A record may be of any program's making.
    const { start_line: start, end_line: end } = each;
    const lines = start === null || end === null ? "" : start === end ? `line ${start}` : `lines ${start}–${end}`;
    const how = each.kind === "fuzzy" && each.rung ? `fuzzy (${each.rung} ${Number(each.similarity).toFixed(2)})` : "";
    return `${oneLine(each.path)}: ${[lines, how, ...each.notes].filter(Boolean).join(", ") || "edited"}`;
  });
  const files = edit.files.map((file) => `${file.action} ${oneLine(file.path)}`);
  return (parts.length ? parts : files).join("; ") + (edit.rewound ? " – rewound since" : "");
}

function filesOf(turn, found) {
  if (turn.noted) {
    return [make("p", { class: "remark" }, "This turn was not in the repository when the page was written; only the notes of commits name it.")];
  }
  if (found.files === null) {
    const tooMuch = "This turn changed too much to show here.";
    const unknown = turn.files === null ? "What this turn changed is not known." : tooMuch;
    const why = turn.in_turn ? "It was taken during a turn, which has what changed." : unknown;
    return [make("p", { class: "remark" }, `${why} See 'git boocode show ${turn.id}'.`)];
  }
  if (!found.files.length) return [make("p", { class: "remark" }, "No file changed.")];
  const openAtOnce = found.files.length <= 3;
  return [make("h3", {}, "Changed files"), ...found.files.map((file) => fileOf(turn, file, openAtOnce))];
}

function fileOf(turn, file, isOpen) {
  const name = file.source ? `${oneLine(file.source)} → ${oneLine(file.path)}` : oneLine(file.path);
  const counts = file.added === null ? [make("span", {}, "binary or very large")] : [
    make("span", { class: "plus" }, `+${file.added}`), make("span", { class: "minus" }, `−${file.removed}`)];
  const body = make("div");
  const box = make("details", { class: "file" },
    make("summary", {}, make("span", { class: "path" }, name),
      file.action === "modify" ? null : make("span", {}, file.action),
      file.modes.length ? make("span", {}, `mode ${file.modes.join(" → ")}`) : null, counts), body);
  box.draw = () => {
    if (!body.firstChild) body.append(...fileParts(turn, file));
  };
  box.addEventListener("toggle", () => {
    if (box.open) box.draw();
  });
  if (isOpen) {
    box.draw();
    box.open = true;
  }
  return box;
}

function fileParts(turn, file) {
  const place = make("div");
  const diff = diffOf(file, turn);
  place.append(...diff);
  blamed ??= embedded("blame");
  const canBlame = file.action !== "delete" && (turn.here || data.range) && file.added !== null && (data.served || Object.hasOwn(blamed, file.path));
  const tools = make("div", { class: "tools" });
  if (data.served && turn.here) {
    const paths = [file.source, file.path].filter(Boolean);
    tools.append(make("button", { type: "button", class: "parts", onclick: () => chooseParts(turn, paths) }, "Restore parts…"));
  }
  if (canBlame) tools.prepend(blameButton(file, place, diff));
  return tools.firstChild ? [tools, place] : [place];
}

function blameButton(file, place, diff) {
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
  return button;
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
  const only = found.cut ? `, the first ${counted(found.lines.length, "line")} only` : "";
  const note = make("caption", { class: "note" }, `The file as it is now${only}.`);
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
    // Without the permission, the command is at least shown and selected.
    const shown = make("code", {}, command);
    notify("Press Ctrl-C to copy: ", shown);
    getSelection().selectAllChildren(shown);
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

const pageName = [data.repository, data.range?.name].filter(Boolean).map(oneLine).join(" ");
document.title = `${pageName} – git boocode`;
document.body.classList.toggle("range", Boolean(data.range));
element("repository").textContent = pageName;
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
if (data.served) startFollowing();
