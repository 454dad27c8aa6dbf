// The commits of a range, and the lines that turns wrote in them.

const linesIn = (commit, id) => commit.lines.filter((each) => each.turn === id);
const sizeOf = (lines) => lines.reduce((sum, each) => sum + each.end - each.start + 1, 0);

function rangeParts({ name, commits, problems }) {
  const turns = new Set(commits.flatMap((commit) => commit.lines.map((each) => each.turn)));
  const written = sizeOf(commits.flatMap((commit) => commit.lines));
  const added = commits.reduce((sum, commit) => sum + commit.added, 0);
  return [
    make("div", { class: "heading" }, make("h2", {}, oneLine(name))),
    make("p", { class: "facts" },
      make("span", {}, counted(commits.length, "commit")),
      make("span", {}, `${counted(added, "line")} added`),
      make("span", {}, `${written.toLocaleString()} by ${counted(turns.size, "turn")}`)),
    ...problems.map((problem) => make("p", { class: "warning" }, oneLine(problem))),
    make("ol", { class: "commits" }, commits.map(commitOf)),
  ];
}

function commitOf(commit) {
  const turns = [...new Set(commit.lines.map((each) => each.turn))];
  return make("li", {},
    make("span", { class: "facts" }, make("code", { title: commit.id }, commit.short),
      make("span", { class: "plus" }, `+${commit.added.toLocaleString()}`)),
    make("span", { class: "subject" }, oneLine(commit.subject)),
    turns.length ? null : make("span", { class: "facts" }, "no lines of turns"),
    turns.map((id) => {
      const turn = turnOf(id);
      const count = make("span", {}, counted(sizeOf(linesIn(commit, id)), "line"));
      return make("span", { class: "facts" }, count, turn
        ? make("button", { type: "button", onclick: () => navigate(id) }, labelOf(turn)) : make("code", {}, id));
    }));
}

function commitsOf(turn) {
  const commits = (data.range?.commits ?? []).filter((commit) => linesIn(commit, turn.id).length);
  if (!commits.length) return null;
  const places = (commit) => linesIn(commit, turn.id).map(({ path, start, end }) =>
    make("li", {}, `${pathText(path)}: ${start === end ? `line ${start}` : `lines ${start}–${end}`}`));
  return make("div", {}, make("h3", {}, `Its lines in ${oneLine(data.range.name)}`),
    make("ol", { class: "commits" }, commits.map((commit) => make("li", {},
      make("code", { title: commit.id }, commit.short), " ", make("span", { class: "subject" }, oneLine(commit.subject)),
      make("ul", { class: "places" }, places(commit))))));
}
