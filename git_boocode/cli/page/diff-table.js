// The table of a diff, unified or side by side, drawn in pieces; more lines come from the server.

const MOST_ROWS = 2000; // that are drawn at once
const CONTEXT = 3; // unchanged lines around a change
const STEP = 20; // lines that one button shows
const WIDE_ENOUGH = 900; // pixels of a pane, for two sides

// The layout: by the width of the pane, unless the user chose one.

const chosenLayout = () => kept("boocode-layout") ?? "";
let layout = "unified";

// Beside a conversation there is less room than the pane has.
function followWidth(pane) {
  const choose = () => {
    const width = (pane.querySelector(".changes") ?? pane).clientWidth;
    const wanted = chosenLayout() || (width >= WIDE_ENOUGH ? "split" : "unified");
    if (wanted === layout) return;
    layout = wanted;
    for (const table of document.querySelectorAll("table.diff")) table.redraw();
  };
  new ResizeObserver(choose).observe(pane);
  pane.addEventListener("toggle", choose, true);
  choose();
  return choose;
}

// `hunks` come from `hunksOf`; `head` makes what can be done with a hunk. `whole` asks for the rows
// of all lines; without it, what lies between the hunks stays out.
function diffTable(path, hunks, { head = () => [], whole = null } = {}) {
  const state = { path, hunks, head, whole, isCrLf: isCrLf(hunks), rows: null, shown: hunks.map(() => ({ above: 0, below: 0 })) };
  paintHunks(path, hunks);
  const table = make("table", { class: "diff" });
  table.redraw = () => drawTable(table, state);
  table.redraw();
  return table;
}

function paintHunks(path, hunks) {
  const language = languageOf(path);
  if (language) for (const hunk of hunks) paintRows(language, hunk.rows);
}

function drawTable(table, state) {
  const isSplit = layout === "split" && !isOneSided(state.hunks);
  const titles = isSplit ? ["Old line", "Old text", "New line", "New text"] : ["Old line", "New line", "Text"];
  const columns = isSplit ? ["number", "", "number", ""] : ["number", "number", ""];
  const body = make("tbody");
  table.setAttribute("aria-label", `The diff of ${pathText(state.path)}, ${isSplit ? "old and new side by side" : "unified"}`);
  table.classList.toggle("split", isSplit);
  table.replaceChildren(
    make("colgroup", {}, columns.map((name) => make("col", { class: name }))),
    make("thead", {}, make("tr", {}, titles.map((title) => make("th", { scope: "col" }, heard(title))))), body);
  const items = itemsOf(state, isSplit);
  const across = columns.length;
  const show = (from) => {
    const to = Math.min(items.length, from + MOST_ROWS);
    body.append(...items.slice(from, to).map((item) => rowOfItem(item, state, table, across)));
    if (to === items.length) return;
    const next = counted(Math.min(MOST_ROWS, items.length - to), "more row");
    const more = make("button", { type: "button" }, `Show ${next} of ${(items.length - to).toLocaleString()}`);
    const last = make("tr", { class: "gap" }, make("td", { colspan: across }, more));
    more.addEventListener("click", () => {
      last.remove();
      show(to);
    });
    body.append(last);
  };
  show(0);
}

// Whether lines were only added or only removed, as in a new file: a second side would be empty.
const isOneSided = (hunks) => ["before", "after"].some((side) => hunks.every(({ rows }) => rows.every((row) => (row[side] ?? null) === null)));

// Whether all lines end in CR LF, so that their ends say nothing of the change; the last line of a file may have no end.
const isCrLf = (hunks) => ["before", "after"].every((side) => hunks.every(({ rows }) => {
  const texts = rows.map((row) => row[side]).filter((text) => typeof text === "string");
  if (rows.some((row) => row.unended?.includes(side))) texts.pop();
  return texts.every((text) => text.endsWith("\r"));
}));

// What the rows of the table are made of: gaps, remarks, and lines of one side or of both.

function itemsOf(state, isSplit) {
  const items = [];
  state.hunks.forEach((hunk, at) => {
    const [above, below] = moreRows(state, at);
    items.push({ gap: at, hunk, hidden: hiddenBefore(state, at) });
    items.push(...lineItems([...above, ...hunk.rows, ...below], isSplit));
  });
  const hidden = hiddenBefore(state, state.hunks.length);
  if (hidden !== 0) items.push({ gap: state.hunks.length, hunk: null, hidden });
  return items;
}

function lineItems(rows, isSplit) {
  if (isSplit) return rows.map((row) => ({ row }));
  const items = [];
  for (let from = 0; from < rows.length;) {
    let to = from;
    while (to < rows.length && !rows[to].same && !("remark" in rows[to])) to++;
    const run = rows.slice(from, to);
    items.push(...run.filter((row) => row.before !== null).map((row) => ({ row, side: "old" })));
    items.push(...run.filter((row) => row.after !== null).map((row) => ({ row, side: "new" })));
    if (to < rows.length) items.push({ row: rows[to] });
    from = to + 1;
  }
  return items;
}

// The unchanged rows that were asked for, above and below a hunk.
function moreRows(state, at) {
  if (!state.rows) return [[], []];
  const { above, below } = state.shown[at];
  const [begin, end] = state.places[at];
  return [state.rows.slice(begin - above, begin), state.rows.slice(end, end + below)];
}

// How many lines are hidden before a hunk, or after the last one; null if that is unknown.
function hiddenBefore(state, at) {
  const { hunks, shown, rows, places } = state;
  const before = at ? shown[at - 1].below : 0;
  if (rows) {
    const from = at ? places[at - 1][1] + before : 0;
    return (at < hunks.length ? places[at][0] - shown[at].above : rows.length) - from;
  }
  if (at === hunks.length) return state.whole && hunks.length && endsEarly(hunks.at(-1)) ? null : 0;
  if (!at) return Math.max(hunks[0].old, hunks[0].new, 1) - 1;
  const last = hunks[at - 1].rows.findLast((row) => row.old);
  return last ? hunks[at].old - last.old - 1 : 0;
}

// Whether lines may follow a hunk: with fewer unchanged ones at its end, the file ends there.
const endsEarly = (hunk) => hunk.rows.length > CONTEXT && hunk.rows.slice(-CONTEXT).every((row) => row.same);

async function showMore(state, table, change) {
  if (!state.rows) {
    const [found] = await state.whole();
    if (!found) return;
    paintHunks(state.path, [found]);
    const places = state.hunks.map((hunk) => placeOf(hunk, found.rows));
    if (places.some(([begin]) => begin < 0)) throw new Error("The file has changed; open the turn again.");
    [state.rows, state.places] = [found.rows, places];
    state.hunks = state.hunks.map((hunk, at) => ({ ...hunk, rows: found.rows.slice(...places[at]) }));
  }
  change();
  table.redraw();
}

function placeOf(hunk, rows) {
  const [first] = hunk.rows;
  const begin = rows.findIndex((row) => row.old === first.old && row.new === first.new && row.before === first.before);
  return [begin, begin + hunk.rows.length];
}

// One row.

function rowOfItem(item, state, table, across) {
  if ("gap" in item) return gapRow(item, state, table, across);
  const { row, side } = item;
  if ("remark" in row) return make("tr", { class: "gap" }, make("td", { colspan: across }, row.remark));
  const number = (value) => make("td", { class: "number" }, value);
  if (side === "old") return make("tr", {}, number(row.old), number(null), codeCell(row, "old", state.isCrLf));
  if (side === "new") return make("tr", {}, number(null), number(row.new), codeCell(row, "new", state.isCrLf));
  if (across === 3) return make("tr", {}, number(row.old), number(row.new), codeCell(row, "new", state.isCrLf));
  return make("tr", {}, number(row.old), codeCell(row, "old", state.isCrLf), number(row.new), codeCell(row, "new", state.isCrLf));
}

function gapRow({ gap, hunk, hidden }, state, table, across) {
  const buttons = state.whole && hidden !== 0 ? moreButtons(gap, hidden, state, table) : [];
  const lines = hidden ? `${counted(hidden, "line")} not shown` : "";
  const said = [hunk?.context, buttons.length ? "" : lines].filter(Boolean).join(" · ");
  return make("tr", { class: "gap" }, make("td", { colspan: across }, make("div", { class: "hunk" },
    buttons, make("span", { class: "context" }, oneLine(said) || "⋯"),
    hunk ? make("span", { class: "actions" }, state.head(hunk)) : null)));
}

function moreButtons(at, hidden, state, table) {
  const { shown, hunks } = state;
  const button = (text, label, change) => make("button", { type: "button", class: "more", "aria-label": label, title: label,
    onclick: () => showMore(state, table, change).catch((error) => report(error)) }, text);
  const left = () => hiddenBefore(state, at);
  const all = () => {
    if (at < hunks.length) shown[at].above += left();
    else shown[at - 1].below += left();
  };
  const above = button(`↑ ${STEP}`, `Show ${STEP} lines above`, () => { shown[at].above += Math.min(STEP, left()); });
  const below = button(`↓ ${STEP}`, `Show ${STEP} lines below`, () => { shown[at - 1].below += Math.min(STEP, left()); });
  const every = button(hidden === null ? "All" : `All ${hidden.toLocaleString()}`, "Show all lines that are hidden here", all);
  if (hidden !== null && hidden <= STEP) return [every];
  return [at ? below : null, at < hunks.length ? above : null, every].filter(Boolean);
}

function codeCell(row, side, isCrLf) {
  const isOld = side === "old";
  const whole = isOld ? row.before : row.after;
  if (whole === null) return make("td", { class: "code absent" });
  const text = isCrLf ? whole.replace(/\r$/, "") : whole;
  const pieces = (isOld ? row.oldPieces : row.newPieces) ?? [];
  if (row.same) return make("td", { class: "code" }, painting(text, pieces, [[0, text.length, false]], ""));
  const said = isOld ? ["removed-line", "−", "removed", "del"] : ["added-line", "+", "added", "ins"];
  const ranges = changedRanges(row)?.[isOld ? 0 : 1] ?? [[0, text.length, false]];
  return make("td", { class: `code ${said[0]}` }, make("span", { class: "sign", "aria-hidden": "true" }, said[1]),
    heard(`${said[2]}: `), painting(text, pieces, ranges, said[3]));
}

// The ranges of characters of both lines of a row, and whether they differ.
function changedRanges(row) {
  if (row.before === null || row.after === null) return null;
  if (!row.ranges) {
    const both = [wordsOf(row.before), wordsOf(row.after)];
    const marks = changedWords(...both);
    row.ranges = both.map((words, at) => rangesOf(words, marks[at]));
  }
  return row.ranges;
}

function rangesOf(words, marks) {
  const ranges = [];
  let place = 0;
  words.forEach((word, at) => {
    if (at && marks[at] === marks[at - 1]) ranges.at(-1)[1] += word.length;
    else ranges.push([place, place + word.length, marks[at]]);
    place += word.length;
  });
  return ranges;
}

// A line with its changed words, and its comments, strings, numbers and keywords.
function painting(text, pieces, ranges, tag) {
  return ranges.flatMap(([from, to, differs]) => {
    const parts = [];
    let at = from;
    for (const [begin, end, kind] of pieces) {
      if (end <= at || begin >= to) continue;
      if (begin > at) parts.push(text.slice(at, begin));
      parts.push(make("span", { class: `is-${kind}` }, text.slice(Math.max(begin, at), Math.min(end, to))));
      at = Math.min(end, to);
    }
    if (at < to) parts.push(text.slice(at, to));
    return differs ? make(tag, {}, parts) : parts;
  });
}
