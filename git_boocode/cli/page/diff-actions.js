// What can be done with a file or a hunk of a turn: restore it, take it back, or pick it, by boxes.

// The words of each command; `ask` lists the parts of some files, `go` does what was chosen.
const TAKINGS = {
  restore: {
    button: "Restore",
    title: (what, turn) => `Restore ${what} to before ${nameOf(turn)}?`,
    remark: "The file goes back to the state before this turn, also what was changed since; the conversation stays.",
    done: "Restored parts of",
    ask: askRestore,
    go: (turn, files) => ask("restore-parts", { id: turn.id, files }),
  },
  revert: {
    button: "Take back",
    title: (what, turn) => `Take back what ${nameOf(turn)} did in ${what}?`,
    remark: "What others wrote since stays, and so do the conversation and HEAD.",
    done: "Taken back in",
    ask: (turn, paths) => askTaking("revert", turn, paths),
    go: (turn, files) => takeParts("revert", turn, files),
  },
  pick: {
    button: "Pick",
    title: (what, turn) => `Do here what ${nameOf(turn)} did in ${what}?`,
    remark: "The change is merged with the files of this worktree.",
    done: "Picked into",
    ask: (turn, paths) => askTaking("pick", turn, paths),
    go: (turn, files) => takeParts("pick", turn, files),
  },
};

const pathsOf = (file) => [file.source, file.path].filter(Boolean);

function fileActions(subject, file, boxOf) {
  const { turn } = subject;
  if (!turn || turn.noted) return [];
  const button = (text, name, action) => make("button", { type: "button", class: name, onclick: action }, text);
  if (!data.served) return [commandsButton(turn, file), blameButton(file, turn, boxOf)];
  return [
    turn.here ? button("Restore…", "parts", () => chooseParts("restore", turn, file)) : null,
    turn.here && !turn.state ? button("Take back…", "revert-file", () => chooseParts("revert", turn, file))
      : button("Pick…", "pick-file", () => chooseParts("pick", turn, file)),
    blameButton(file, turn, boxOf),
  ];
}

function hunkActions(subject, file, hunk, hunks) {
  const { turn } = subject;
  if (!turn || turn.noted || !data.served || ignoresWhitespace) return [];
  const which = hunks.length > 1 || file.action !== "create" ? { hunk, hunks } : null;
  const button = (text, name) => make("button", { type: "button", class: `hunk-${name}`, onclick: () => chooseParts(name, turn, file, which) }, text);
  if (!turn.here) return [button("Pick this hunk…", "pick")];
  return [button("Restore this hunk…", "restore"), turn.state ? button("Pick…", "pick") : button("Take back…", "revert")];
}

// The commands for a page that nothing serves.
function commandsButton(turn, file) {
  const word = shellWord(file.path);
  if (!turn.command) return null;
  const elsewhere = turn.remote || !turn.here;
  const pick = ["Do here what this turn did in the file", `git boocode pick ${turn.id} -- ${word}`];
  const lines = elsewhere ? [pick] : [
    ["Restore the file to before this turn", `git boocode restore ${turn.id} -- ${word}`],
    ["Choose the hunks to restore", `git boocode restore -p ${turn.id} -- ${word}`],
    turn.state ? pick : ["Take back what this turn did in the file", `git boocode revert ${turn.id} -- ${word}`],
  ];
  const list = lines.map(([what, command]) => make("li", {}, make("p", {}, what), commandOf(command)));
  const show = () => confirmFirst(pathText(file.path), [make("ul", { class: "commands" }, list)], "", null);
  return make("button", { type: "button", class: "commands-button", onclick: show }, "Commands…");
}

// The parts of files as they are now that a command would change: hunks, or a file as a whole.

async function askRestore(turn, paths) {
  const found = await ask("parts", { id: turn.id, paths });
  const files = found.files.map(({ path, version, parts }) => ({ path, version, parts: parts.map(partOf) }));
  return { files, notes: found.left_alone };
}

function partOf({ number, diff }) {
  const lines = diff.split("\n");
  const start = lines.findIndex((line) => line.startsWith("@@"));
  const about = lines.slice(1, start < 0 ? undefined : start).filter((line) => line && !/^(---|\+\+\+) /.test(line));
  return { number, about: about.join(", "), hunks: start < 0 ? [] : hunksOf(lines.slice(start).join("\n")) };
}

async function askTaking(command, turn, paths) {
  const found = await ask(command, { turns: [turn.id], paths, hunks: {}, preview: true });
  const files = found.files.map(({ path, version, parts }) => ({ path, version, parts: parts.map(partOf) }));
  const notes = found.kept.map((each) => `left alone: ${pathText(each.path)}: ${oneLine(each.reason)}`);
  return { files, notes, conflicts: found.conflicts };
}

function takeParts(command, turn, files) {
  const by = (value) => Object.fromEntries(files.map((file) => [file.path, value(file)]));
  return ask(command, { turns: [turn.id], paths: files.map((file) => file.path), hunks: by((file) => file.numbers), versions: by((file) => file.version) });
}

// Which of these parts belong to a hunk of the turn.

const linesOf = (hunks, side) => hunks.flatMap((hunk) => hunk.rows.filter((row) => !row.same && typeof row[side] === "string").map((row) => row[side]));

// How many of the lines of a part are lines that the hunk changed, from 0 to 1.
function likeness(part, hunk, command) {
  const [from, to] = command === "pick" ? ["before", "after"] : ["after", "before"];
  let [common, all] = [0, 0];
  for (const [side, other] of [["before", from], ["after", to]]) {
    const left = new Map();
    for (const line of linesOf([hunk], other)) left.set(line, (left.get(line) ?? 0) + 1);
    for (const line of linesOf(part.hunks, side)) {
      all++;
      if (left.get(line)) common++;
      left.set(line, (left.get(line) ?? 0) - 1);
    }
  }
  return all ? common / all : 0;
}

function belongs(part, { hunk, hunks }, command) {
  const likenesses = hunks.map((each) => likeness(part, each, command));
  const best = Math.max(...likenesses);
  if (best < 0.5) return false;
  // Of several hunks with the same lines, the nearest.
  const place = part.hunks[0]?.rows.find((row) => !row.same);
  const at = place?.old ?? place?.new ?? 0;
  const candidates = hunks.filter((_, number) => likenesses[number] === best);
  const distance = (each) => Math.abs(each.new - at);
  return candidates.reduce((one, other) => (distance(other) < distance(one) ? other : one)) === hunk;
}

// The dialog: a box for each part; those of a hunk are checked, the others below it.

async function chooseParts(command, turn, file, which = null) {
  const again = () => chooseParts(command, turn, file, which);
  const taking = TAKINGS[command];
  try {
    const found = await taking.ask(turn, pathsOf(file));
    const chosen = found.files.map(({ path, version, parts }) => {
      const wanted = parts.filter((part) => !which || belongs(part, which, command));
      return { path, version, parts, wanted, numbers: new Set(wanted.map((part) => part.number)) };
    });
    const refresh = () => { element("confirm").disabled = !chosen.some((each) => each.numbers.size); };
    const boxesOf = (isWanted) => chosen.flatMap((each) => {
      const parts = each.parts.filter((part) => each.wanted.includes(part) === isWanted);
      const title = parts.length && chosen.length > 1 ? make("h3", { class: "path" }, pathText(each.path)) : null;
      return [title, ...parts.map((part) => partBox(each.path, part, isWanted, (isChecked) => {
        if (isChecked) each.numbers.add(part.number);
        else each.numbers.delete(part.number);
        refresh();
      }))].filter(Boolean);
    });
    const others = boxesOf(false);
    const wanted = boxesOf(true);
    if (!chosen.length) wanted.push(make("p", {}, "Nothing would change."));
    else if (!wanted.length) wanted.push(make("p", {}, "The lines of this hunk are not there any more."));
    const more = others.length ? [make("details", {}, make("summary", {}, `Other changes of the file (${others.length})`), ...others)] : [];
    const what = which ? `a hunk of ${pathText(file.path)}` : pathText(file.path);
    confirmFirst(taking.title(what, turn), [
      found.conflicts?.length ? make("p", { class: "warning" }, "Others have changed some of the same lines, which stay as they are:") : null,
      found.conflicts?.length ? make("ul", { class: "conflicts" }, conflictItems(found.conflicts)) : null,
      found.conflicts?.length && !which ? make("button", { type: "button", class: "step", onclick: () => previewTaking(command, [turn.id], { paths: pathsOf(file) }) }, `${taking.button} these lines, too…`) : null,
      ...wanted, ...more, ...found.notes.map((line) => make("p", { class: "warning" }, line)),
      ...(chosen.length ? [make("p", { class: "remark" }, taking.remark), canUndo()] : []),
    ], chosen.length ? taking.button : "", () => takeChosen(taking, turn, chosen), again);
    if (chosen.length) refresh();
  } catch (error) {
    report(error, again);
  }
}

function partBox(path, part, isChecked, onchange) {
  const name = part.number ? `Hunk ${part.number}` : part.about;
  return make("div", { class: "part" },
    choice(name, isChecked, (box) => onchange(box.checked)), part.hunks.length ? diffTable(path, part.hunks) : null);
}

async function takeChosen(taking, turn, chosen) {
  const files = chosen.filter((file) => file.numbers.size).map(({ path, version, numbers }) => ({ path, version, numbers: [...numbers] }));
  const done = await taking.go(turn, files);
  finish(done, `${taking.done} ${counted(done.changed.length, "file")}.`);
}
