// The article of one turn.

function turnParts(turn, found) {
  const ends = turn.ended === null ? null : make("span", {}, `took ${lasted(turn.ended - turn.started)}`);
  return [
    make("div", { class: "heading" },
      make("h2", { class: turn.label ? "" : "none" }, turn.label || "no label"),
      make("button", { type: "button", "aria-label": "Close this turn", onclick: closeTurn }, "×")),
    make("p", { class: "facts" },
      make("span", {}, agentOf(turn)),
      make("span", { title: ago(turn.started) }, new Date(turn.started * 1000).toLocaleString()), ends, changesOf(turn),
      turn.session ? make("span", {}, `session ${oneLine(turn.session)}`) : null,
      turn.branch ? make("span", {}, `branch ${oneLine(turn.branch)}`) : null,
      sourceOf(turn) ? make("span", {}, oneLine(sourceOf(turn))) : null),
    turn.prompt && turn.prompt.trim() !== turn.label ? make("p", { class: "prompt" }, turn.prompt) : null,
    backOf(turn),
    attemptsOf(turn),
    commitsOf(turn),
    remarkOf(turn),
    make("div", { class: "beside" }, conversationOf(turn),
      make("div", { class: "changes" }, eventsOf(turn, found), filesOf(turn, found))),
  ].filter(Boolean);
}

function backOf(turn) {
  if (!turn.command) return null;
  return make("div", { class: "back" },
    make("code", { id: "command" }, turn.command),
    make("button", { type: "button", onclick: () => copy(turn.command) }, "Copy"),
    data.served && turn.here
      ? make("button", { type: "button", id: "restore", onclick: () => preview(turn) }, "Restore to before this turn…") : null,
    data.served && turn.here && !turn.reverted
      ? make("button", { type: "button", id: "revert", onclick: () => previewRevert([turn.id]) }, "Take back this turn…") : null);
}

// The turns that began in the same state, in forks, side by side.
function attemptsOf(turn) {
  const attempts = (turn.attempts ?? []).map((id) => data.turns.find((each) => each.id === id)).filter(Boolean);
  if (attempts.length < 2) return null;
  const columns = attempts.map((each) => make("li", {},
    make("button", { type: "button", "aria-current": String(each === turn), onclick: () => openTurn(each.id) }, labelOf(each)),
    make("span", { class: "facts" }, make("span", {}, `worktree ${oneLine(each.worktree)}`), changesOf(each)),
    each === turn ? null : commandOf(`git boocode diff --after ${turn.short} ${each.short}`)));
  return make("div", {}, make("h3", {}, "Attempts from the same state"), make("ol", { class: "attempts" }, columns));
}

function commandOf(command) {
  return make("div", { class: "back" }, make("code", {}, command),
    make("button", { type: "button", onclick: () => copy(command) }, "Copy"));
}

function remarkOf(turn) {
  const remarks = {
    checkpoint: "The end of this turn was not recorded: what changed until the next checkpoint is shown.",
    restore: "The end of this turn was not recorded: what changed until the next restore is shown.",
    now: "The end of this turn was not recorded: what changed until now is shown.",
    "": "The end of this turn is not known.",
  };
  return !turn.noted && turn.end in remarks ? make("p", { class: "remark" }, remarks[turn.end]) : null;
}

function eventsOf(turn, found) {
  const edits = found.edits.map((edit) => make("li", {}, editText(edit)));
  const refused = found.refusals.flatMap((refusal) => refusal.failures.map((failure) =>
    make("li", { class: "warning" }, `${oneLine(failure.path) || "an edit"}: ${oneLine(failure.message)} (${failure.code})`)));
  return [
    edits.length ? make("h3", {}, `Applied: ${counted(turn.edits, "edit")}`) : null,
    edits.length ? make("ul", { class: "events", id: "edits" }, edits) : null,
    refused.length ? make("h3", {}, `Refused: ${counted(refused.length, "edit")}`) : null,
    refused.length ? make("ul", { class: "events", id: "refusals" }, refused) : null,
  ];
}

function editText(edit) {
  if (edit.rewinds) return `took the edit ${oneLine(edit.rewinds)} back`;
  const parts = edit.edits.map((each) => {
    // A record may be of any program's making.
    const { start_line: start, end_line: end } = each;
    const lines = start === null || end === null ? "" : start === end ? `line ${start}` : `lines ${start}–${end}`;
    const how = each.kind === "fuzzy" && each.rung ? `fuzzy (${each.rung} ${Number(each.similarity).toFixed(2)})` : "";
    return `${oneLine(each.path)}: ${[lines, how, ...each.notes].filter(Boolean).join(", ") || "edited"}`;
  });
  const files = edit.files.map((file) => `${file.action} ${oneLine(file.path)}`);
  return (parts.length ? parts : files).join("; ") + (edit.rewound ? " – rewound since" : "");
}
