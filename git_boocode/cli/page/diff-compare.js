// Two states beside each other: those before and after turns, and the worktree as it is now.

const NOW = { turn: "", side: "" };

// The part of the address behind the `#`, such as `compare/<turn>/before/now`.
const comparePath = (old, fresh) => ["compare", ...[old, fresh].flatMap((state) => (state.turn ? [state.turn, state.side] : ["now"]))].join("/");

function statesIn(path) {
  const [name, ...words] = path.split("/");
  const states = [];
  while (name === "compare" && words.length && states.length < 2) {
    const turn = words.shift();
    states.push(turn === "now" ? NOW : { turn, side: words.shift() });
  }
  const isKnown = ({ turn, side }) => !turn || ["before", "after"].includes(side);
  return states.length === 2 && !words.length && states.every(isKnown) ? states : null;
}

function stateText({ turn, side }) {
  if (!turn) return "now";
  const [known, operation] = [turnOf(turn), data.operations.find(({ id }) => id === turn)];
  if (operation) return `${side} the ${operation.command} of ${new Date(operation.time * 1000).toLocaleString()}`;
  return `${side} ${known ? nameOf(known) : turn}`;
}

// The command line that shows the same; empty if there is none.
function compareCommand(old, fresh) {
  if (![old, fresh].every(({ turn }) => !turn || turnOf(turn))) return "";
  const [first, second] = [old, fresh].map(({ turn }) => turnOf(turn)?.short);
  if (!first || (old.turn === fresh.turn && old.side === "before" && fresh.side === "after")) return first ? `git boocode diff --turn ${first}` : "";
  if (second && old.side !== fresh.side) return "";
  return ["git boocode diff", old.side === "after" ? "--after" : "", first, second].filter(Boolean).join(" ");
}

function compareSubject(old, fresh) {
  const stated = (state) => (state.turn ? state : "now");
  const command = compareCommand(old, fresh);
  return {
    key: comparePath(old, fresh),
    turn: null,
    command: (path) => commandWith(command || "git boocode diff", path),
    load: () => ask("compare", { old: stated(old), new: stated(fresh) }),
    ask: async (file, form) => {
      const found = await ask("compare", { old: stated(old), new: stated(fresh), paths: pathsOf(file), ...form });
      return found.files.find((each) => each.path === file.path) ?? { ...file, diff: "", missing: "" };
    },
  };
}

function comparisonHead(old, fresh) {
  return make("div", { class: "heading" }, make("h2", {}, `From ${stateText(old)} to ${stateText(fresh)}`),
    data.served ? make("button", { type: "button", onclick: () => navigate(comparePath(fresh, old)) }, "Swap") : null,
    make("button", { type: "button", class: "close", "aria-label": "Close this comparison", onclick: closeTurn }, "×"));
}

async function comparisonParts(old, fresh) {
  const [head, command] = [comparisonHead(old, fresh), compareCommand(old, fresh)];
  if (!data.served) {
    return [head, make("p", { class: "remark" }, "A page that was written to a file cannot compare these states; a served one can."),
      commandOf(command || "git boocode view --serve")];
  }
  const subject = compareSubject(old, fresh);
  const { files } = await subject.load();
  const shown = files === null ? make("p", { class: "remark" }, "These states differ in too much to show here.")
    : files.length ? fileList(subject, files) : make("p", { class: "remark" }, "These states are the same.");
  return [head, totalOf(files ?? []), command ? commandOf(command) : null, shown].filter(Boolean);
}

function totalOf(files) {
  const sum = (key) => files.reduce((total, file) => total + (file[key] ?? 0), 0);
  return make("p", { class: "facts" }, make("span", {}, counted(files.length, "file")),
    make("span", { class: "plus" }, `+${sum("added").toLocaleString()}`), make("span", { class: "minus" }, `−${sum("removed").toLocaleString()}`));
}

// The dialog in which the second state is chosen.
function chooseComparison(turn) {
  const sides = (name) => {
    const select = make("select", { "aria-label": name }, ["before", "after"].map((side) => make("option", { value: side }, side)));
    return select;
  };
  const [oldSide, newSide] = [sides("State of this turn"), sides("State of the other turn")];
  const other = make("select", { "aria-label": "Compared with" }, make("option", { value: "" }, "now"),
    data.turns.filter((each) => !each.noted).map((each) => make("option", { value: each.id },
      `${oneLine(each.label) || each.short}, ${new Date(each.started * 1000).toLocaleString()}${each === turn ? " (this turn)" : ""}`)));
  newSide.value = "after";
  const refresh = () => { newSide.hidden = !other.value; };
  other.addEventListener("change", refresh);
  refresh();
  confirmFirst("Compare two states", [
    make("p", { class: "choices" }, "From ", oldSide, ` ${nameOf(turn)}`), make("p", { class: "choices" }, "to ", newSide, " ", other),
  ], "Compare", async () => {
    const begin = { turn: turn.id, side: oldSide.value };
    const end = other.value ? { turn: other.value, side: newSide.value } : NOW;
    element("dialog").close();
    navigate(comparePath(begin, end));
  });
}

// A change by hand: what differs from the state that a turn or operation left to that before the next one.
function byHandPath({ ended, before, operation }) {
  const next = operation || before;
  return ended ? comparePath({ turn: ended, side: "after" }, next ? { turn: next, side: "before" } : NOW) : "";
}
