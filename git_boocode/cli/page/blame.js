// Who wrote which line.

function canBlame(file, turn) {
  blamed ??= embedded("blame");
  return file.action !== "delete" && file.added !== null && (turn.here || data.range) && (data.served || Object.hasOwn(blamed, file.path));
}

function blameButton(file, turn, boxOf) {
  if (!canBlame(file, turn)) return null;
  const button = make("button", { type: "button", class: "blame-file", "aria-pressed": "false" }, "Who wrote which line");
  button.addEventListener("click", async () => {
    const wanted = button.getAttribute("aria-pressed") === "false";
    const box = boxOf();
    try {
      const found = wanted ? blameOf(await blameData(file.path)) : null;
      box.show(true);
      if (found) box.body.replaceChildren(found);
      else box.redraw();
      button.setAttribute("aria-pressed", String(wanted));
      button.textContent = wanted ? "Back to the diff" : "Who wrote which line";
    } catch (error) {
      report(error);
    }
  });
  return button;
}

async function blameData(path) {
  return data.served ? ask("blame", { path }) : blamed[path];
}

function whoOf(range) {
  const names = { before: "before the first turn", later: `after: ${oneLine(range.label) || "a turn"}` };
  const name = names[range.source] || oneLine(range.label) || oneLine(range.agent) || "a turn";
  const about = [range.source === "later" ? "by hand" : oneLine(range.agent), range.time ? ago(range.time) : ""];
  const known = range.turn && rows.has(range.turn);
  const said = about.filter(Boolean).join(", ");
  const title = `${name}\n${said}`;
  return [
    known ? make("button", { type: "button", title, onclick: () => navigate(range.turn) }, name) : make("span", { title }, name),
    // In a single line there is no room for more.
    range.end > range.start ? make("span", {}, said) : null,
  ];
}

function blameOf(found) {
  const body = make("tbody");
  for (const range of found.ranges) {
    for (let number = range.start; number <= range.end; number++) {
      const first = number === range.start;
      const who = first ? make("td", { class: "who", rowspan: range.end - range.start + 1 }, whoOf(range)) : null;
      body.append(make("tr", { class: first ? "first" : "" }, who,
        make("td", { class: "number" }, number), make("td", { class: "code" }, found.lines[number - 1])));
    }
  }
  const widths = make("colgroup", {}, make("col", { class: "who" }), make("col", { class: "number" }), make("col"));
  const only = found.cut ? `, the first ${counted(found.lines.length, "line")} only` : "";
  const note = make("caption", { class: "note" }, `The file as it is now${only}.`);
  return make("table", { class: "blame" }, note, widths, body);
}
