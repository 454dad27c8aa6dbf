// What would happen, before it happens: restores, and turns that are taken back or picked.

// Without a button there is nothing to confirm; `again` is for `report`, if the action is refused.
function confirmFirst(title, parts, button, action, again = null) {
  const dialog = element("dialog");
  // A dialog that is shown again, as after a click on a box, stays where it was read.
  const top = dialog.open && dialog.querySelector("h2").textContent === title ? dialog.scrollTop : 0;
  const go = make("button", { type: "button", class: "primary", id: "confirm" }, button);
  const cancel = make("button", { type: "button", onclick: () => dialog.close() }, button ? "Cancel" : "Close");
  go.addEventListener("click", async () => {
    go.disabled = true;
    try {
      await action();
    } catch (error) {
      dialog.close();
      report(error, again);
    }
  });
  dialog.replaceChildren(make("h2", { id: "dialog-title" }, title), ...parts.filter(Boolean),
    make("div", { class: "buttons" }, cancel, button ? go : null));
  if (!dialog.open) dialog.showModal();
  cancel.focus();
  dialog.scrollTop = top;
}

function changesIn(expected) {
  const changes = expected.changed.map((change) => {
    const lines = change.lines ? ` +${change.lines.added} −${change.lines.removed}` : "";
    return make("li", { class: "path" }, `${change.action} ${pathText(change.path)}${lines}`);
  });
  return [
    make("p", {}, changes.length ? `${counted(changes.length, "file")} would change:` : "No file would change."),
    changes.length ? make("ul", {}, changes) : null,
  ];
}

function choice(text, isChecked, onchange) {
  const box = make("input", { type: "checkbox" });
  box.checked = isChecked;
  box.addEventListener("change", () => onchange(box));
  return make("label", {}, box, ` ${text}`);
}

const leftAlone = (expected) => expected.kept.map((each) =>
  make("p", { class: "warning" }, `${each.missing ? "not brought back" : "left alone"}: ${pathText(each.path)}: ${oneLine(each.reason)}`));
const canUndo = () => make("p", { class: "remark" }, "What is there now is recorded first, so you can undo this.");
const RESTORED_WITH = { conversation: true, head: false, after: false };

// What should be read before anything is done, each on a line of its own.
function warnings(expected) {
  const lost = (expected.hooks_lost ?? []).map((each) => `${pathText(each.path)} would lose its hooks; '${oneLine(each.install)}' installs them again`);
  const others = expected.other_turns?.map((each) => `“${oneLine(each.label)}” of ${oneLine(each.agent)}`).join(", ");
  const removed = expected.removed_commits ?? [];
  const [few, more] = [removed.slice(0, 3), removed.length - 3];
  const commits = few.map((each) => `${each.id.slice(0, 9)} ${oneLine(each.subject)}`).join(", ");
  const said = [
    removed.length ? `${counted(removed.length, "commit")} would leave the branch: ${commits}${more > 0 ? ` and ${more} more` : ""}. A branch keeps them: git branch NAME ${removed[0].id.slice(0, 9)}` : "",
    expected.open_turn ? "The agent's turn has not ended yet; it may still write files." : "",
    others ? `This also removes the work of another session: ${others}.` : "",
    ...lost,
  ].filter(Boolean).map((text) => make("p", { class: "warning" }, text));
  return [...said, stepList(expected.next ?? [])];
}

async function preview(turn, wanted = RESTORED_WITH) {
  const again = (changed) => preview(turn, { ...wanted, ...changed });
  try {
    const expected = await ask("restore", { id: turn.id, ...wanted, preview: true });
    // If that is refused, the dialog stays as it is.
    const change = (changed) => (box) => {
      preview(turn, { ...wanted, [changed]: box.checked });
      box.checked = wanted[changed];
    };
    confirmFirst(`Restore to ${wanted.after ? "after" : "before"} ${nameOf(turn)}?`, [
      ...warnings(expected), ...changesIn(expected), ...leftAlone(expected),
      choice("Take the conversation back, too, if its agent can do that", wanted.conversation, change("conversation")),
      expected.head_differs || wanted.head ? choice("Move HEAD back, too", wanted.head, change("head")) : null,
      canUndo(),
    ], "Restore", () => restore(turn, { ...wanted, expect: expected.version }), again);
  } catch (error) {
    report(error, again);
  }
}

async function restore(turn, wanted) {
  const done = await ask("restore", { id: turn.id, ...wanted });
  const parts = [`Restored ${counted(done.changed.length, "file")} to ${wanted.after ? "after" : "before"} ${nameOf(turn)}.`];
  if (done.messages_deleted) parts.push(`${counted(done.messages_deleted, "message")} cut.`);
  if (done.head_moved) parts.push("HEAD was moved back.");
  if (done.archived.length) parts.push(`${counted(done.archived.length, "later turn")} left the list until the next undo.`);
  if (done.message) parts.push(sentence(done.message));
  if (done.resume) parts.push(`Continue the conversation with: ${oneLine(done.resume)}`);
  if (!done.undo) parts.splice(0, 1, "Nothing to do: the worktree is as it was then.");
  finish(done, parts.join("\n"));
}

// A turn is taken back, and what others wrote since stays; or it is done here, too.

const TAKING_WORDS = {
  revert: { button: "Take back", done: "taken back", remark: "What others wrote since stays, and so do the conversation and HEAD." },
  pick: { button: "Pick", done: "picked", remark: "What the turn changed is merged with the files of this worktree." },
};

const markedIn = ({ conflicts = [] }) => (conflicts.length ? [
  make("p", { class: "warning" }, "Both versions of these lines will be in the files, between conflict markers:"), make("ul", {}, conflictItems(conflicts))] : []);

async function previewTaking(command, ids, wanted = {}) {
  const again = (changed) => previewTaking(command, ids, { ...wanted, ...changed });
  const words = TAKING_WORDS[command];
  const named = ids.length > 1 ? counted(ids.length, "turn") : nameOf(turnOf(ids[0]));
  const title = wanted.paths ? `${named} in ${wanted.paths.map(pathText).join(" and ")}` : named;
  try {
    const expected = await ask(command, { turns: ids, ...wanted, preview: true });
    confirmFirst(`${words.button} ${title}?`, [
      ...warnings(expected), ...changesIn(expected), ...leftAlone(expected), ...markedIn(expected), make("p", { class: "remark" }, words.remark), canUndo(),
    ], words.button, () => takeTurns(command, ids, wanted), again);
  } catch (error) {
    if (error.conflicts) showConflicts(command, ids, title, { ...error, again, wanted });
    else report(error, again);
  }
}

async function takeTurns(command, ids, wanted) {
  const done = await ask(command, { turns: ids, ...wanted });
  const { button, done: word } = TAKING_WORDS[command];
  const what = ids.length > 1 ? counted(ids.length, "turn") : "The turn";
  finish(done, done.undo ? `${what} ${word}: ${counted(done.changed.length, "file")} changed.` : `Nothing to ${button.toLowerCase()}.`);
}

// Who has changed the lines of each file since.
function conflictItems(conflicts) {
  const rangeOf = ([first, last]) => (last > first ? `${first}–${last}` : `${first}`);
  return conflicts.map((each) => {
    const ranges = each.lines.filter(([first, last]) => first <= last).map(rangeOf);
    const lines = ranges.length ? `, ${ranges.length > 1 || ranges[0].includes("–") ? "lines" : "line"} ${ranges.join(", ")}` : "";
    const by = each.by.map((writer) => (writer.turn ? `“${oneLine(writer.label) || writer.turn}”` : "by hand"));
    return make("li", {}, make("span", { class: "path" }, pathText(each.path)), `${lines}: changed since, ${by.join(" and ")}`);
  });
}

function showConflicts(command, ids, title, { conflicts, next = [], again, wanted }) {
  const writers = new Set(conflicts.flatMap((each) => each.by.map((writer) => writer.turn)));
  const others = [...writers].filter((id) => turnOf(id)?.here && !ids.includes(id));
  const isRevert = command === "revert";
  confirmFirst(isRevert ? `${title} cannot be taken back alone` : `${title} cannot be picked`, [
    make("p", {}, `Nothing was changed. ${isRevert ? "Others have changed" : "Here, something else changed"} the same lines:`), make("ul", {}, conflictItems(conflicts)),
    stepList(next.filter(({ step }) => step !== command), again),
  ], isRevert && others.length ? `Take ${counted(others.length, "later turn")} back, too…` : "", () => previewTaking(command, [...ids, ...others], wanted));
}
