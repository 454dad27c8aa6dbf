// The timeline: turns, and what happened between them, newest first.

let listItems = new Map(); // the rows of turns as they were drawn, by turn, with what they show

function factsOf(turn) {
  return make("span", { class: "facts" },
    make("span", { class: "who" }, agentOf(turn)),
    turn.ended - turn.started >= 1 ? make("span", { class: "took", title: "duration" }, lasted(turn.ended - turn.started)) : null,
    turn.files === 0 && !turn.shared ? null : changesOf(turn),
    turn.refusals ? make("span", { class: "refused" }, `${turn.refusals} refused`) : null,
    sourceOf(turn) ? make("span", {}, oneLine(sourceOf(turn))) : null);
}

function rowOf(turn) {
  return make("button", { class: `row ${turn.state ? "gone" : ""}`, type: "button", "data-turn": turn.id, onclick: () => navigate(turn.id) },
    agentMark(turn),
    make("span", { class: "line" }, labelOf(turn), stateMarks(turn), timeOf(turn.started)),
    factsOf(turn));
}

// A row that shows the same as before stays, with its focus and its size.
function itemOf(turn) {
  const shows = JSON.stringify({ ...turn, text: undefined });
  const before = listItems.get(turn.id);
  return before?.shows === shows ? before : { shows, item: make("li", {}, rowOf(turn)) };
}

function drawTimeline() {
  const place = readingPlace();
  const made = document.createDocumentFragment();
  const items = new Map();
  rows = new Map();
  let [list, day] = [null, null];
  const put = (time, item) => {
    const begun = dayOf(time);
    if (begun !== day) {
      day = begun;
      list = make("ol");
      made.append(make("section", { class: "day" }, make("h2", {}, dayName(day)), list));
    }
    list.append(item);
  };
  const entries = data.range ? [] : entriesToList();
  document.body.classList.toggle("nothing-listed", !data.turns.length && !entries.length);
  for (const turn of data.turns) {
    const isAbove = (each) => each.id > turn.id || (each.id === turn.id && each.order > TURN_ORDER);
    for (const each of takeEntries(entries, isAbove)) put(each.time, each.made);
    const item = itemOf(turn);
    items.set(turn.id, item);
    rows.set(turn.id, item.item.firstChild);
    put(turn.started, item.item);
  }
  for (const each of takeEntries(entries, () => true)) put(each.time, each.made);
  listItems = items;
  const empty = make("p", { class: "empty", id: "empty", hidden: true }, "No turn matches.");
  redrawn(element("timeline"), () => element("timeline").replaceChildren(searchButton(), made, empty));
  for (const row of rows.values()) row.removeAttribute("aria-current");
  rows.get(selected)?.setAttribute("aria-current", "true");
  drawScopes();
  filter();
  if (place) keepPlace(place);
}

// What one reads stays where it is when turns arrive above it.

const scrolled = () => (getComputedStyle(element("timeline")).overflowY === "visible" ? document.scrollingElement : element("timeline"));

function readingPlace() {
  if (element("timeline").offsetParent === null || scrolled().scrollTop === 0) return null;
  const top = element("timeline").getBoundingClientRect().top;
  const first = [...rows.values()].find((row) => row.offsetParent && row.getBoundingClientRect().bottom > Math.max(top, 0));
  return first ? { turn: first.dataset.turn, top: first.getBoundingClientRect().top } : null;
}

function keepPlace({ turn, top }) {
  const row = rows.get(turn);
  if (row?.offsetParent) scrolled().scrollTop += row.getBoundingClientRect().top - top;
}

// The search, and the choice of an agent, a session or a worktree.

function drawScopes() {
  const scope = element("scope");
  const before = scope.value;
  const groups = { Agents: new Map(), Sessions: new Map(), Worktrees: new Map() };
  const count = (group, value, name) => {
    const found = groups[group].get(value) ?? { name, turns: 0 };
    found.turns += 1;
    groups[group].set(value, found);
  };
  for (const turn of data.turns) {
    count("Agents", `agent ${turn.agent}`, oneLine(turn.agent) || "no agent");
    if (turn.session) count("Sessions", `session ${turn.session}`, `${oneLine(turn.agent)} ${oneLine(turn.session).slice(0, 12)}`);
    if (turn.worktree) count("Worktrees", `worktree ${turn.worktree}`, oneLine(turn.worktree));
  }
  const option = ([value, { name, turns }]) => make("option", { value }, `${name} (${turns.toLocaleString()})`);
  const made = Object.entries(groups).filter(([name, found]) => found.size > 1 || (name === "Sessions" && found.size))
    .map(([label, found]) => make("optgroup", { label }, [...found].map(option)));
  scope.replaceChildren(make("option", { value: "" }, "All turns"), ...made);
  scope.value = [...scope.options].some((each) => each.value === before) ? before : "";
}

const isInScope = (turn, scope) =>
  !scope || [`agent ${turn.agent}`, `session ${turn.session}`, `worktree ${turn.worktree}`].includes(scope);

function filter() {
  const wanted = folded(element("search").value.trim());
  const words = wanted.split(/\s+/).filter(Boolean);
  const scope = element("scope").value;
  let shown = 0;
  for (const turn of data.turns) {
    turn.text ??= folded([turn.label, turn.prompt, turn.agent, turn.session, turn.branch, turn.worktree, turn.id, ...turn.paths].join("\n"));
    const matches = isInScope(turn, scope) && (words.every((word) => turn.text.includes(word) || diffContains(turn, word)) || diffContains(turn, wanted));
    rows.get(turn.id).parentElement.hidden = !matches;
    shown += matches;
  }
  const isAll = !words.length && !scope;
  for (const each of document.querySelectorAll("#timeline .entry")) each.hidden = !isAll;
  for (const day of document.querySelectorAll("section.day")) day.hidden = !day.querySelector("li:not([hidden])");
  element("search-diffs").hidden = !data.served || wanted.length < LEAST_SEARCHED || searched.text === wanted;
  element("empty").hidden = shown > 0;
  if (!data.turns.length) element("empty").textContent = data.range ? "No turn wrote lines of these commits." : "No turn was recorded yet.";
  const all = counted(data.turns.length, "turn");
  const older = data.more ? ", older ones left out" : "";
  element("summary").textContent = shown === data.turns.length ? all + older : `${shown.toLocaleString()} of ${all}`;
  refreshTimes();
}
