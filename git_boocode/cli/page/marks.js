// What stands for agents, sizes and states, in rows and headings.

const AGENT_LETTERS = { codex: "Cx", copilot: "Cp", opencode: "Oc" };
const AGENT_COLOURS = 8;
const KNOWN_COLOURS = { claude: 0, codex: 1, cursor: 2, gemini: 3, copilot: 4, opencode: 5, qwen: 6, droid: 7 };
const STATE_MARKS = { reverted: "(reverted)", restored: "(restored away)", archived: "(archived)" };
const STATE_TEXTS = {
  reverted: "This turn was taken back: what it changed is not in the files now.",
  restored: "A restore went back to before this turn: what it changed is not in the files now.",
  archived: "This turn left the list with a restore of its conversation.",
};
const LARGEST_BAR = Math.log2(2000); // lines

const agentOf = (turn) => oneLine(turn.agent || (turn.noted ? "unknown agent" : turn.by ?? "by hand"));

function agentMark(turn) {
  const name = agentOf(turn);
  const [family] = name.toLowerCase().split(/[^a-z]/);
  const letters = AGENT_LETTERS[family] ?? (turn.agent ? name[0].toUpperCase() + name.slice(1, 2) : "·");
  const sum = [...family].reduce((total, letter) => total + letter.charCodeAt(0), 0);
  const colour = turn.agent ? KNOWN_COLOURS[family] ?? sum % AGENT_COLOURS : "none";
  return make("span", { class: `agent agent-${colour}`, title: name, "aria-hidden": "true" }, letters);
}

function stateMarks(turn) {
  return [
    turn.state ? make("span", { class: "mark" }, STATE_MARKS[turn.state]) : null,
    turn.open ? make("span", { class: "mark running" }, "(running)") : null,
  ];
}

const labelOf = (turn) => turn.label
  ? make("span", { class: "label" }, oneLine(turn.label))
  : make("span", { class: "label none" }, "no label");

const lineCounts = ({ added, removed }) => [
  added ? make("span", { class: "plus" }, `+${added.toLocaleString()}`) : null,
  removed ? make("span", { class: "minus" }, `−${removed.toLocaleString()}`) : null,
];

// How much changed, on a logarithmic scale, and which part of it was added.
function sizeBar({ added, removed }) {
  const lines = added + removed;
  if (!lines) return null;
  const bar = make("span", { class: "bar", "aria-hidden": "true" },
    added ? make("i", { class: "bar-added" }) : null, removed ? make("i", { class: "bar-removed" }) : null);
  bar.style.width = `${Math.round(6 + 42 * Math.min(1, Math.log2(1 + lines) / LARGEST_BAR))}px`;
  if (added) bar.querySelector(".bar-added").style.flexGrow = added;
  if (removed) bar.querySelector(".bar-removed").style.flexGrow = removed;
  return bar;
}

function changesOf(turn) {
  if (turn.in_turn) return [make("span", {}, "taken during a turn")];
  if (turn.noted) return [make("span", {}, "known from notes only")];
  if (turn.files === null) return [make("span", {}, "changes unknown")];
  if (turn.files === 0 && turn.shared) return [make("span", {}, counted(turn.shared, "shared file"))];
  if (turn.files === 0) return [make("span", { class: "nothing" }, "no changes")];
  return [make("span", {}, counted(turn.files, "file")), sizeBar(turn), ...lineCounts(turn)];
}

function sourceOf(turn) {
  if (turn.remote) return `remote ${turn.remote}`;
  return turn.here || !turn.worktree ? "" : `worktree ${turn.worktree}`;
}

// A short name that is copied whole by a click.
const copyable = (text, whole, what) => make("button", {
  type: "button", class: "copy", title: `Copy ${what} ${oneLine(whole)}`, onclick: () => copy(whole, what),
}, text);
