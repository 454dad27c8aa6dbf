// Which turn is shown, and the keyboard.

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
