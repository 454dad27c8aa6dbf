// Parts of files: each hunk has a box, and so has what has none.

async function chooseParts(turn, paths) {
  try {
    const found = await ask("parts", { id: turn.id, paths });
    const chosen = found.files.map((file) => ({
      path: file.path, version: file.version, numbers: new Set(file.parts.map((part) => part.number)),
    }));
    const refresh = () => { element("confirm").disabled = !chosen.some((file) => file.numbers.size); };
    const boxes = found.files.flatMap((file, at) => [
      found.files.length > 1 ? make("h3", { class: "path" }, oneLine(file.path)) : null,
      ...file.parts.map((part) => partBox(file, part, (isWanted) => {
        if (isWanted) chosen[at].numbers.add(part.number);
        else chosen[at].numbers.delete(part.number);
        refresh();
      })),
    ]);
    confirmFirst(`Restore parts of ${oneLine(paths.at(-1))} to before ${nameOf(turn)}?`, [
      ...boxes, ...found.left_alone.map((line) => make("p", { class: "warning" }, line)), canUndo(),
    ], "Restore", () => restoreParts(turn, chosen));
  } catch (error) {
    notify(error.message);
  }
}

function partBox(file, part, onchange) {
  const lines = part.diff.split("\n");
  const start = lines.findIndex((line) => line.startsWith("@@"));
  const about = lines.slice(1, start < 0 ? undefined : start).filter((line) => line && !/^(---|\+\+\+) /.test(line));
  const name = part.number ? `Hunk ${part.number}` : about.join(", ");
  return make("div", { class: "part" },
    choice(name, true, (box) => onchange(box.checked)),
    start < 0 ? null : diffTable(file.path, hunkRows(lines.slice(start).filter(Boolean))));
}

async function restoreParts(turn, chosen) {
  const files = chosen.filter((file) => file.numbers.size).map((file) => ({ ...file, numbers: [...file.numbers] }));
  const done = await ask("restore-parts", { id: turn.id, files });
  finish(done, `Restored parts of ${counted(done.changed.length, "file")}.`);
}

// What the browser keeps between visits; without a store, as long as the page is open.
const unstored = new Map();

function kept(key) {
  try {
    return localStorage.getItem(key) ?? unstored.get(key) ?? null;
  } catch {
    return unstored.get(key) ?? null;
  }
}

function keep(key, value) {
  unstored.set(key, value);
  try {
    localStorage.setItem(key, value);
  } catch {
    // The store is full or forbidden.
  }
}

// Comparisons of two states.
const statesIn = () => null;
const byHandPath = () => "";
