// A diff as hunks of rows: a row has a line of the old text, of the new one, or both.

const MOST_WORDS = 40000; // comparisons of words in two lines

function hunksOf(diff) {
  const found = [];
  let [oldNumber, newNumber, removed, added, remarks] = [0, 0, [], [], []];
  const flush = () => {
    for (const [before, after] of paired(removed, added)) {
      found.at(-1).rows.push({ before, after, old: before === null ? null : oldNumber++, new: after === null ? null : newNumber++ });
    }
    found.at(-1).rows.push(...remarks);
    [removed, added, remarks] = [[], [], []];
  };
  for (const line of diff.split("\n")) {
    const text = line.slice(1);
    if (line[0] === "@") {
      if (found.length) flush();
      const [, first, second, context] = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)/.exec(line) || [0, 0, 0, ""];
      [oldNumber, newNumber] = [Number(first), Number(second)];
      found.push({ number: found.length, context: context.trim(), old: oldNumber, new: newNumber, rows: [] });
    } else if (!found.length) {
      continue;
    } else if (line[0] === "-") {
      removed.push(text);
    } else if (line[0] === "+") {
      added.push(text);
    } else if (line[0] === " ") {
      flush();
      found.at(-1).rows.push({ before: text, after: text, old: oldNumber++, new: newNumber++, same: true });
    } else if (line[0] === "\\") {
      const [side, unended] = added.length ? ["new ", ["after"]] : removed.length ? ["old ", ["before"]] : ["", ["before", "after"]];
      remarks.push({ remark: `no line ending at the end of the ${side}file`, unended });
    }
  }
  if (found.length) flush();
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
