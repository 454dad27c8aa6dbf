// The search looks at the diffs that are loaded; a served page can ask for those of all turns.

const LEAST_SEARCHED = 3; // characters
const loadedDiffs = new Map(); // by turn: the texts of its diffs, folded
let searched = { text: "", turns: new Set() };

function rememberDiffs(id, found) {
  if (found.files && !loadedDiffs.has(id)) loadedDiffs.set(id, folded(found.files.map((file) => file.diff).join("\n")));
}

// Whether a loaded diff, or one that the server searched, contains a text.
function diffContains(turn, text) {
  if (text.length < LEAST_SEARCHED) return false;
  if (!data.served) {
    details ??= embedded("details");
    if (details[turn.id]) rememberDiffs(turn.id, details[turn.id]);
  }
  return loadedDiffs.get(turn.id)?.includes(text) || (searched.text === text && searched.turns.has(turn.id));
}

const searchButton = () => make("button", { type: "button", id: "search-diffs", hidden: true, onclick: searchAllDiffs }, "Search all diffs");

async function searchAllDiffs() {
  const text = element("search").value.trim();
  try {
    await searchDiffs(text);
    filter();
  } catch (error) {
    report(error);
  }
}

async function searchDiffs(text) {
  const found = await ask("search", { text });
  searched = { text: folded(text), turns: new Set(found.turns) };
  const missing = found.missing ? ` ${counted(found.missing, "turn")} could not be searched: objects are missing.` : "";
  const until = found.complete ? "" : " The search took too long: older turns were not searched.";
  notify(`${counted(found.turns.length, "turn")} with this text in a changed line.${until}${missing}`);
}
