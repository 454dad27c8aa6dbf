// The changed files of a turn.

const openedFiles = new Set(); // the turn and the path of each file that the user opened

function filesOf(turn, found) {
  if (turn.noted) {
    return [make("p", { class: "remark" }, "This turn was not in the repository when the page was written; only the notes of commits name it.")];
  }
  if (found.files === null) {
    const tooMuch = "This turn changed too much to show here.";
    const unknown = turn.files === null ? "What this turn changed is not known." : tooMuch;
    const why = turn.in_turn ? "It was taken during a turn, which has what changed." : unknown;
    return [make("p", { class: "remark" }, `${why} See 'git boocode show ${turn.id}'.`)];
  }
  if (!found.files.length) return [make("p", { class: "remark" }, "No file changed.")];
  const openAtOnce = found.files.length <= 3;
  return [make("h3", {}, "Changed files"), ...found.files.map((file) => fileOf(turn, file, openAtOnce))];
}

function fileOf(turn, file, isOpen) {
  const name = file.source ? `${oneLine(file.source)} → ${oneLine(file.path)}` : oneLine(file.path);
  const counts = file.added === null ? [make("span", {}, "binary or very large")] : [
    make("span", { class: "plus" }, `+${file.added}`), make("span", { class: "minus" }, `−${file.removed}`)];
  const body = make("div");
  const box = make("details", { class: "file" },
    make("summary", {}, make("span", { class: "path" }, name),
      file.action === "modify" ? null : make("span", {}, file.action),
      file.modes.length ? make("span", {}, `mode ${file.modes.join(" → ")}`) : null, counts), body);
  box.draw = () => {
    if (!body.firstChild) body.append(...fileParts(turn, file));
  };
  box.addEventListener("toggle", () => {
    if (box.open) box.draw();
    openedFiles[box.open ? "add" : "delete"](`${turn.id} ${file.path}`);
  });
  if (isOpen || openedFiles.has(`${turn.id} ${file.path}`)) {
    box.draw();
    box.open = true;
  }
  return box;
}

function fileParts(turn, file) {
  const place = make("div");
  const diff = diffOf(file, turn);
  place.append(...diff);
  blamed ??= embedded("blame");
  const canBlame = file.action !== "delete" && (turn.here || data.range) && file.added !== null && (data.served || Object.hasOwn(blamed, file.path));
  const tools = make("div", { class: "tools" });
  if (data.served && turn.here) {
    const paths = [file.source, file.path].filter(Boolean);
    tools.append(make("button", { type: "button", class: "parts", onclick: () => chooseParts(turn, paths) }, "Restore parts…"));
  }
  if (canBlame) tools.prepend(blameButton(file, place, diff));
  return tools.firstChild ? [tools, place] : [place];
}
