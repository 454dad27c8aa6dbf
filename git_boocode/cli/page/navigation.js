// What is shown beside the timeline: the overview, a turn, or a comparison; each has an address behind the `#`.

let listTop = 0; // where the list was on a phone when a turn was opened
let pane = "overview"; // or `turn`, or `comparison`

// Go to an address, which the browser's Back leaves again.
function navigate(address, { focus = true } = {}) {
  if (address !== addressNow()) history.pushState(null, "", address ? `#${address}` : location.pathname + location.search);
  return show(address, { focus });
}

function addressNow() {
  const given = location.hash.slice(1);
  try {
    return decodeURIComponent(given);
  } catch {
    // Anybody may have typed it.
    return given;
  }
}

// On a phone the list is the first page, and the overview one of its own.
const OVERVIEW = "overview";
const goHome = () => navigate(getComputedStyle(element("turn")).display === "none" ? OVERVIEW : "");

function show(address, { focus = true } = {}) {
  const states = statesIn(address);
  if (states) return openComparison(states);
  if (turnOf(address)) return openTurn(address, { focus });
  if (address === OVERVIEW) {
    select("overview");
    return draw(overviewParts(), focus);
  }
  return showOverview({ focus });
}

// Keep in mind what is shown, and mark its row.
function select(name, id = "") {
  rows.get(selected)?.removeAttribute("aria-current");
  pane = name;
  if (!document.body.classList.contains("open")) listTop = document.scrollingElement.scrollTop;
  selected = id;
  rows.get(id)?.setAttribute("aria-current", "true");
  return ++opening;
}

function draw(parts, focus) {
  element("turn").replaceChildren(...parts);
  document.body.classList.add("open");
  chooseLayout();
  if (!focus) return;
  element("turn").scrollTop = 0;
  element("turn").focus({ preventScroll: true });
  if (getComputedStyle(element("timeline")).display === "none") scrollTo(0, 0);
}

async function detailsOf(id) {
  details ??= data.served ? null : embedded("details");
  const found = data.served ? await ask(`turn/${encodeURIComponent(id)}`) : details[id] ?? { files: null, edits: [], refusals: [] };
  rememberDiffs(id, found);
  return found;
}

// Open a turn: what the list knows of it at once, so that no action of another turn is left, then its changes.
async function openTurn(id, { focus = true } = {}) {
  const number = select("turn", id);
  if (data.served) draw(turnParts(turnOf(id), null), focus);
  try {
    const found = await detailsOf(id);
    if (number !== opening) return;
    if (data.served) element("turn").querySelector(".changes").replaceChildren(...changesParts(turnOf(id), found));
    else draw(turnParts(turnOf(id), found), focus);
  } catch (error) {
    if (number === opening) element("turn").querySelector(".changes").replaceChildren(...failureParts(error));
  }
}

// What is shown instead of what could not be loaded.
const failureParts = (error) => [...refusalParts(error), make("button", { type: "button", onclick: () => show(addressNow()) }, "Try again")];

// Draw the open turn as it is now, and leave the reader where they are.
async function redrawTurn() {
  const number = ++opening;
  try {
    const found = await detailsOf(selected);
    if (number !== opening) return;
    redrawn(element("turn"), () => draw(turnParts(turnOf(selected), found), false));
  } catch (error) {
    report(error);
  }
}

async function openComparison(states) {
  const number = select("comparison");
  draw([loading()], true);
  try {
    const parts = await comparisonParts(...states);
    if (number === opening) draw(parts, true);
  } catch (error) {
    if (number === opening) draw([comparisonHead(...states), ...failureParts(error)], true);
  }
}

function drawOverview() {
  element("turn").replaceChildren(...overviewParts());
}

function showOverview({ focus = true } = {}) {
  const row = rows.get(selected);
  const wasOpen = document.body.classList.contains("open");
  select("overview");
  document.body.classList.remove("open");
  drawOverview();
  element("turn").scrollTop = 0;
  if (focus && wasOpen) row?.focus({ preventScroll: true });
  if (wasOpen && scrolled() === document.scrollingElement) scrollTo(0, listTop);
}

const closeTurn = () => navigate("");
