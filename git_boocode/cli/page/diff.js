// Text nodes, and a diff side by side. Every text from a checkpoint becomes a text node, never markup.

const MOST_ROWS = 2000; // of a diff, before a button shows the rest
const MOST_WORDS = 40000; // comparisons of words in two lines

// Text.

const STEERING = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

function visible(text) {
  // Characters that reverse or hide text are shown by their number.
  return String(text).replace(STEERING, (character) => {
    const code = character.charCodeAt(0);
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    return code === 0x7f ? "␡" : `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  });
}

const oneLine = (text) => visible(String(text).replace(/[\n\t]/g, " "));
const counted = (number, noun) => `${number.toLocaleString()} ${noun}${number === 1 ? "" : "s"}`;

function make(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === "class") made.className = value;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false) made.setAttribute(name, value);
  }
  for (const child of children.flat()) {
    if (child instanceof Node) made.append(child);
    else if (child !== null && child !== undefined && child !== "") made.append(visible(child));
  }
  return made;
}

// A diff, side by side.

function diffOf(file, turn) {
  const parts = [];
  if (file.diff) parts.push(diffTable(file.path, hunkRows(file.diff.split("\n"))));
  if (file.added === null) parts.push(make("p", { class: "note" }, "Binary, or too large to compare."));
  else if (!file.diff && !file.cut) parts.push(make("p", { class: "note" }, "No line changed."));
  if (file.cut) parts.push(make("p", { class: "note" }, `The diff is too long to show here whole; 'git boocode show ${turn.id}' does.`));
  return parts;
}

function hunkRows(lines) {
  const found = [];
  let [oldNumber, newNumber, removed, added] = [0, 0, [], []];
  const flush = () => {
    for (const [before, after] of paired(removed, added)) {
      found.push({ before, after, old: before === null ? null : oldNumber++, new: after === null ? null : newNumber++ });
    }
    [removed, added] = [[], []];
  };
  for (const line of lines) {
    const text = line.slice(1);
    if (line[0] === "-") removed.push(text);
    else if (line[0] === "+") added.push(text);
    else if (line[0] === " ") {
      flush();
      found.push({ before: text, after: text, old: oldNumber++, new: newNumber++, same: true });
    } else if (line[0] === "@") {
      flush();
      const [, first, second, context] = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)/.exec(line) || [0, 0, 0, ""];
      [oldNumber, newNumber] = [Number(first), Number(second)];
      found.push({ gap: context.trim() || "⋯" });
    } else if (line[0] === "\\") {
      flush();
      found.push({ gap: "no line ending at the end of the file" });
    }
  }
  flush();
  return found;
}

const wordsOf = (text) => text.match(/[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu) || [];

function alikeness(one, other) {
  const left = new Map();
  for (const word of one) if (word.trim()) left.set(word, (left.get(word) || 0) + 1);
  let common = 0;
  for (const word of other) {
    if (left.get(word)) {
      left.set(word, left.get(word) - 1);
      common += word.length;
    }
  }
  const length = (words) => words.reduce((sum, word) => sum + word.trim().length, 0);
  return (2 * common) / (length(one) + length(other) || 1);
}

const MOST_COMPARED = 500000; // words that are looked at to pair lines

function paired(removed, added) {
  // The pairs of lines that are most alike in all, in order; without a partner, a line stands alone.
  const isLong = removed.length * added.length > 2500;
  const [old, fresh] = isLong ? [[], []] : [removed.map(wordsOf), added.map(wordsOf)];
  const count = (lines) => lines.reduce((sum, words) => sum + words.length, 0);
  const work = count(old) * fresh.length + count(fresh) * old.length;
  if (!old.length || !fresh.length || work > MOST_COMPARED) {
    const most = Math.max(removed.length, added.length);
    return Array.from({ length: most }, (_, n) => [removed[n] ?? null, added[n] ?? null]);
  }
  const best = Array.from({ length: old.length + 1 }, () => new Float64Array(fresh.length + 1));
  const alike = old.map((one) => fresh.map((other) => Math.max(0, alikeness(one, other) - 0.3)));
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = fresh.length - 1; j >= 0; j--) {
      best[i][j] = Math.max(best[i + 1][j], best[i][j + 1], alike[i][j] && best[i + 1][j + 1] + alike[i][j]);
    }
  }
  const pairs = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < fresh.length) {
    const together = i < old.length && j < fresh.length && alike[i][j] && best[i][j] === best[i + 1][j + 1] + alike[i][j];
    if (together) pairs.push([removed[i++], added[j++]]);
    else if (i < old.length && (j === fresh.length || best[i][j] === best[i + 1][j])) pairs.push([removed[i++], null]);
    else pairs.push([null, added[j++]]);
  }
  return pairs;
}

function changedWords(one, other) {
  // For each word of both lines, whether it differs: by their longest common subsequence.
  let [start, end] = [0, 0];
  while (start < one.length && start < other.length && one[start] === other[start]) start++;
  while (end < one.length - start && end < other.length - start && one.at(-1 - end) === other.at(-1 - end)) end++;
  const [a, b] = [one.slice(start, one.length - end), other.slice(start, other.length - end)];
  const marks = [new Array(one.length).fill(false), new Array(other.length).fill(false)];
  marks[0].fill(true, start, one.length - end);
  marks[1].fill(true, start, other.length - end);
  if (a.length * b.length > MOST_WORDS) return marks;
  const best = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      best[i][j] = a[i] === b[j] ? best[i + 1][j + 1] + 1 : Math.max(best[i + 1][j], best[i][j + 1]);
    }
  }
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    if (a[i] === b[j]) [marks[0][start + i++], marks[1][start + j++]] = [false, false];
    else if (best[i + 1][j] >= best[i][j + 1]) i++;
    else j++;
  }
  return marks;
}

function highlighted(words, marks, tag) {
  const parts = [];
  for (let from = 0; from < words.length;) {
    let to = from + 1;
    while (to < words.length && marks[to] === marks[from]) to++;
    const text = words.slice(from, to).join("");
    parts.push(marks[from] ? make(tag, {}, text) : text);
    from = to;
  }
  return parts;
}

function diffTable(path, found) {
  const body = make("tbody");
  const show = (some) => body.append(...some.map(diffRow));
  show(found.slice(0, MOST_ROWS));
  if (found.length > MOST_ROWS) {
    const more = make("button", { type: "button" }, `Show ${counted(found.length - MOST_ROWS, "more row")}`);
    const last = make("tr", { class: "gap" }, make("td", { colspan: 4 }, more));
    more.addEventListener("click", () => {
      last.remove();
      show(found.slice(MOST_ROWS));
    });
    body.append(last);
  }
  const widths = make("colgroup", {}, make("col", { class: "number" }), make("col"), make("col", { class: "number" }), make("col"));
  return make("table", { class: "diff", "aria-label": `The diff of ${oneLine(path)}, old and new side by side` }, widths, body);
}

function diffRow(row) {
  if ("gap" in row) return make("tr", { class: "gap" }, make("td", { colspan: 4 }, row.gap));
  let [before, after] = [[row.before], [row.after]];
  if (!row.same && row.before !== null && row.after !== null) {
    const [old, fresh] = [wordsOf(row.before), wordsOf(row.after)];
    const [oldMarks, newMarks] = changedWords(old, fresh);
    [before, after] = [highlighted(old, oldMarks, "del"), highlighted(fresh, newMarks, "ins")];
  }
  const side = (number, parts, kind) => [
    make("td", { class: `number ${kind}` }, number), make("td", { class: `code ${kind}` }, parts)];
  const kinds = row.same ? ["same-old", "same"] : [
    row.before === null ? "absent" : "removed-line", row.after === null ? "absent" : "added-line"];
  return make("tr", {}, side(row.old, before, kinds[0]), side(row.new, after, kinds[1]));
}
