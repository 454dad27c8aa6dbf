// The files of a turn or of a comparison: their headers, and their diffs, which are drawn when seen.

const OPEN_AT_ONCE = 3; // files; of more, none is open at first
const LINE_HEIGHT = 19; // pixels, for what is not drawn yet
const ALL_LINES = 1000000;
const PICTURES = /\.(png|jpe?g|gif|webp)$/i;

const openedFiles = new Map(); // by subject, the paths that the user opened and closed
const fileFilters = new Map(); // by subject, what the user typed to filter its files
let ignoresWhitespace = false;

// What files belong to: `key` names it, `ask` asks the server for one file, `command` shows one.
const turnSubject = (turn) => ({
  key: turn.id,
  turn,
  command: (path) => commandWith(`git boocode diff --turn ${turn.id}`, path),
  ask: data.served ? async (file, form) => (await ask("file", { turn: turn.id, path: file.path, ...form })).file : null,
});

const commandWith = (command, path) => `${command} -- ${shellWord(path)}`;

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
  if (!found.files.length) return [make("p", { class: "remark" }, found.shared?.length ? "No other file changed." : "No file changed.")];
  return [fileList(turnSubject(turn), found.files)];
}

function fileList(subject, files) {
  if (!openedFiles.has(subject.key)) openedFiles.set(subject.key, new Map());
  const opensAll = files.length <= OPEN_AT_ONCE || kept("boocode-open") === "all";
  const boxes = files.map((file) => fileBox(subject, file, opensAll));
  const list = make("div", { class: "file-list" }, boxes);
  const remark = make("p", { class: "remark", role: "status" });
  const tools = filesHead(subject, boxes, remark);
  const show = (path) => {
    const box = boxes.find((each) => each.file.path === path);
    box.hidden = false;
    box.show(true);
    box.scrollIntoView({ block: "start" });
    box.querySelector(".toggle").focus({ preventScroll: true });
  };
  const tree = files.length > OPEN_AT_ONCE ? make("nav", { class: "tree", "aria-label": "Changed files" }, treeList(treeOf(files), show)) : null;
  const section = make("section", { class: "files" }, tools, remark, unservedRemark(subject, files),
    make("div", { class: tree ? "files-body with-tree" : "files-body" }, tree, list));
  // What was typed before the files were drawn anew.
  if (fileFilters.get(subject.key)) tools.querySelector("input[type=search]")?.dispatchEvent(new Event("input"));
  return section;
}

function filesHead(subject, boxes, remark) {
  const button = (text, action) => make("button", { type: "button", onclick: action }, text);
  const all = (wanted) => {
    keep("boocode-open", wanted ? "all" : "");
    for (const box of boxes) if (!box.hidden) box.show(wanted);
  };
  const many = boxes.length > 1;
  return make("div", { class: "files-head" }, make("h3", {}, "Changed files"), make("div", { class: "files-tools" },
    many ? fileFilter(subject, boxes, remark) : null,
    many ? button("Open all", () => all(true)) : null,
    many ? button("Close all", () => all(false)) : null,
    layoutChoice(), data.served ? whitespaceChoice(boxes) : null));
}

function fileFilter(subject, boxes, remark) {
  const input = make("input", { type: "search", placeholder: "Filter by path or text", "aria-label": "Filter the files by path or by text of the diff", autocomplete: "off", spellcheck: "false" });
  input.value = fileFilters.get(subject.key) ?? "";
  input.addEventListener("input", () => {
    fileFilters.set(subject.key, input.value);
    const wanted = folded(input.value.trim());
    let [shown, unread] = [0, 0];
    for (const box of boxes) {
      const { path, diff, missing } = box.file;
      const inPath = folded(path).includes(wanted);
      box.hidden = Boolean(wanted) && !inPath && !folded(diff).includes(wanted);
      shown += !box.hidden;
      unread += Boolean(wanted && box.hidden && missing);
    }
    const leaves = input.closest(".files").querySelectorAll(".leaf");
    const hidden = new Set(boxes.filter((box) => box.hidden).map((box) => box.file.path));
    for (const leaf of leaves) leaf.parentElement.hidden = hidden.has(leaf.dataset.path);
    remark.textContent = !wanted ? "" : `${shown.toLocaleString()} of ${counted(boxes.length, "file")}${
      unread ? `; ${counted(unread, "file")} whose diff is not loaded searched by path alone` : ""}.`;
  });
  return input;
}

function layoutChoice() {
  const names = { "": "By width", unified: "Unified", split: "Side by side" };
  const select = make("select", { "aria-label": "Layout of diffs" },
    Object.entries(names).map(([value, text]) => make("option", { value }, text)));
  select.value = chosenLayout();
  select.addEventListener("change", () => {
    keep("boocode-layout", select.value);
    chooseLayout();
  });
  return select;
}

function whitespaceChoice(boxes) {
  const box = make("input", { type: "checkbox" });
  box.checked = ignoresWhitespace;
  box.addEventListener("change", () => {
    ignoresWhitespace = box.checked;
    for (const each of boxes) each.redraw();
  });
  return make("label", {}, box, " Ignore whitespace");
}

// What a page without a server cannot do, where somebody may look for it.
function unservedRemark(subject, files) {
  if (data.served || !files.some((file) => file.diff)) return null;
  return make("p", { class: "remark" }, "More lines around a change, and diffs without whitespace: ", make("code", {}, "git boocode view --serve"), ".");
}

// One file.

let boxNumber = 0;

function fileBox(subject, file, opensAll) {
  const id = `file-${boxNumber++}`;
  const opened = openedFiles.get(subject.key);
  const isViewed = viewedFiles(subject).has(versionOf(file));
  const body = make("div", { class: "file-body", id });
  const toggle = make("button", { type: "button", class: "toggle", "aria-expanded": "false", "aria-controls": id },
    make("span", { class: "path" }, nameOfFile(file)));
  const about = [file.action === "modify" ? "" : `${file.action}d`.replace("yd", "ied"), file.modes.length ? `mode ${file.modes.join(" → ")}` : ""];
  const box = make("section", { class: "file", "aria-label": nameOfFile(file) },
    make("div", { class: "file-head" }, toggle,
      about.filter(Boolean).map((text) => make("span", { class: "facts" }, text)), countsOf(file),
      make("span", { class: "actions" }, fileActions(subject, file, () => box)), viewedBox(subject, file, () => box)), body);
  Object.assign(box, {
    file,
    body,
    show(wanted) {
      opened.set(file.path, wanted);
      toggle.setAttribute("aria-expanded", String(wanted));
      body.hidden = !wanted;
      if (wanted && !body.firstChild) whenSeen(box, body, file);
    },
    redraw() {
      body.replaceChildren();
      if (!body.hidden) whenSeen(box, body, file);
    },
    draw: () => drawFile(subject, box),
  });
  toggle.addEventListener("click", () => box.show(body.hidden));
  box.show(opened.get(file.path) ?? (opensAll && !isViewed));
  return box;
}

const nameOfFile = (file) => (file.source ? `${pathText(file.source)} → ${pathText(file.path)}` : pathText(file.path));

// Bodies are drawn when they come near what is seen, so that a turn of many files opens at once.
const nearby = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (!isIntersecting || target.firstChild) continue;
    nearby.unobserve(target);
    target.style.minHeight = "";
    target.closest(".file").draw();
  }
}, { rootMargin: "800px" });

function whenSeen(box, body, file) {
  const lines = Math.min(file.added + file.removed || 1, MOST_ROWS);
  body.style.minHeight = `${lines * LINE_HEIGHT}px`;
  nearby.observe(body);
}

async function drawFile(subject, box) {
  const { body } = box;
  const form = ignoresWhitespace ? { ignore_whitespace: true } : {};
  const { file } = box;
  const isPartial = file.missing || (file.added === null && PICTURES.test(file.path));
  let shown = file;
  if (subject.ask && (ignoresWhitespace || isPartial)) {
    body.replaceChildren(make("p", { class: "note" }, "Loading…"));
    try {
      shown = await subject.ask(file, form);
      // Filters look at what is loaded.
      if (!ignoresWhitespace) box.file = shown;
    } catch (error) {
      body.replaceChildren(make("p", { class: "note" }, error.message));
      return;
    }
  }
  body.replaceChildren(...diffParts(subject, shown, form));
}

function diffParts(subject, file, form) {
  const parts = [];
  if (file.pictures) parts.push(picturesOf(file));
  if (file.diff) {
    const hunks = hunksOf(file.diff);
    const canExpand = subject.ask && !file.missing && ["modify", "rename", "copy"].includes(file.action);
    const whole = canExpand ? async () => hunksOf((await subject.ask(file, { ...form, context: ALL_LINES })).diff) : null;
    parts.push(diffTable(file.path, hunks, { head: (hunk) => hunkActions(subject, file, hunk, hunks), whole }));
  }
  const why = whyMissing(subject, file);
  if (why) parts.push(make("p", { class: "note" }, why, " ", make("code", {}, subject.command(file.path)), " shows it."));
  else if (!file.diff && file.added !== null) parts.push(make("p", { class: "note" }, form.ignore_whitespace ? "Only whitespace changed." : "No line changed."));
  else if (file.added === null && !file.pictures) parts.push(make("p", { class: "note" }, `Binary file${sizesOf(file)}.`));
  return parts;
}

function whyMissing(subject, file) {
  const reasons = {
    turn: "The diffs of this turn are too long for the page, so that lines are missing here.",
    page: "The page has no room for more diffs: it has 20 MB of those of newer turns.",
    private: "The file is private (boocode.include), so its lines are not on the page.",
    size: `The file is too large to compare here${sizesOf(file)}.`,
  };
  return subject.ask && !["size", "private"].includes(file.missing) ? (file.cut ? "The diff is too long to show here whole." : "") : reasons[file.missing] ?? "";
}

function sizesOf(file) {
  const [old, fresh] = (file.sizes ?? []).map((size) => (size === null ? null : sizeText(size)));
  if (old && fresh) return `: ${old} before, ${fresh} after`;
  return old || fresh ? `: ${old ?? fresh}` : "";
}

function picturesOf(file) {
  const sides = ["Before", "After"].map((side, at) => make("figure", {}, make("figcaption", {}, side),
    file.pictures[at] ? make("img", { src: file.pictures[at], alt: `${pathText(file.path)}, ${side.toLowerCase()}` })
      : make("p", { class: "none" }, file.sizes[at] === null ? "no file" : "no picture")));
  return make("div", { class: "pictures" }, sides);
}

// Files that the user has seen, of the newest turns; a file that changes is no longer seen.

const MOST_VIEWED = 200; // turns
const versionOf = (file) => [file.path, file.added, file.removed, file.diff.length].join("\0");

function allViewed() {
  try {
    return new Map(JSON.parse(kept("boocode-viewed") ?? "[]"));
  } catch {
    return new Map();
  }
}

const viewedFiles = (subject) => new Set(allViewed().get(subject.key) ?? []);

function viewedBox(subject, file, boxOf) {
  const input = make("input", { type: "checkbox" });
  input.checked = viewedFiles(subject).has(versionOf(file));
  input.addEventListener("change", () => {
    const viewed = viewedFiles(subject);
    if (input.checked) viewed.add(versionOf(file));
    else viewed.delete(versionOf(file));
    const others = [...allViewed()].filter(([key]) => key !== subject.key);
    keep("boocode-viewed", JSON.stringify([...others, [subject.key, [...viewed]]].slice(-MOST_VIEWED)));
    boxOf().show(!input.checked);
  });
  return make("label", { class: "viewed" }, input, " Viewed");
}

// To the next file or the one before it.
function jumpToFile(step) {
  const boxes = [...document.querySelectorAll("#turn .file")].filter((box) => !box.hidden);
  const focused = boxes.indexOf(document.activeElement?.closest?.(".file"));
  const top = document.querySelector("#turn").getBoundingClientRect().top;
  const seen = boxes.findIndex((box) => box.getBoundingClientRect().bottom > top + 1);
  const from = focused >= 0 ? focused : seen - (step > 0 ? 1 : 0);
  const next = boxes[Math.min(Math.max(from + step, 0), boxes.length - 1)];
  next?.scrollIntoView({ block: "start" });
  next?.querySelector(".toggle").focus({ preventScroll: true });
}
