// The keyboard. Keys of a single character can be turned off, for those who speak to their computer.

const SHORTCUTS = "boocode-shortcuts";
const KEYS = [
  ["j", "k", "move between turns, as the arrows do"],
  ["Enter", "", "open the turn"],
  ["n", "p", "move between the changed files of a turn"],
  ["/", "", "search"],
  ["c", "", "copy the command of the turn"],
  ["o", "", "show the overview"],
  ["?", "", "show these keys"],
  ["Esc", "", "close the turn or the dialog"],
];
const hasShortcuts = () => kept(SHORTCUTS) !== "off";

function move(step) {
  const shown = [...rows.values()].filter((row) => !row.parentElement.hidden);
  const from = shown.indexOf(document.activeElement?.closest?.(".row") || rows.get(selected));
  const next = shown[from < 0 ? 0 : Math.min(Math.max(from + step, 0), shown.length - 1)];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

function showKeys() {
  const rowOf = ([one, other, text]) => [
    make("dt", {}, make("kbd", {}, one), other ? [" ", make("kbd", {}, other)] : null), make("dd", {}, text)];
  const box = choice("Single-key shortcuts", hasShortcuts(), ({ checked }) => {
    keep(SHORTCUTS, checked ? "on" : "off");
    drawKeys();
  });
  confirmFirst("Keys", [make("dl", { class: "keys" }, KEYS.flatMap(rowOf)), box], "", null);
}

function drawKeys() {
  document.body.classList.toggle("no-shortcuts", !hasShortcuts());
}

function copyCommand(target) {
  const turn = turnOf(target.closest(".row")?.dataset.turn || selected);
  if (turn?.command) copy(turn.command);
}

const SINGLE_KEYS = {
  j: () => move(1),
  k: () => move(-1),
  n: () => jumpToFile(1),
  p: () => jumpToFile(-1),
  "/": () => {
    element("search").focus();
    element("search").select();
  },
  c: (event) => copyCommand(event.target),
  o: goHome,
  "?": showKeys,
};

// What a key does where it was pressed; undefined for nothing of ours.
function actionOf(event) {
  const { key, target } = event;
  const search = element("search");
  if (target === search && key === "Escape") {
    return () => {
      search.value = "";
      filter();
      search.blur();
    };
  }
  if (target === search && ["ArrowDown", "Enter"].includes(key)) return () => move(1);
  if (target.matches("input, select, textarea")) return undefined;
  if (key === "Escape") return document.body.classList.contains("open") ? closeTurn : undefined;
  if (!target.closest("#turn") && key === "ArrowDown") return () => move(1);
  if (!target.closest("#turn") && key === "ArrowUp") return () => move(-1);
  return hasShortcuts() && Object.hasOwn(SINGLE_KEYS, key) ? () => SINGLE_KEYS[key](event) : undefined;
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || element("dialog").open) return;
  const action = actionOf(event);
  if (!action) return;
  action();
  event.preventDefault();
}
