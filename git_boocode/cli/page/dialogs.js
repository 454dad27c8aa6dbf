// What would happen, before it happens: restores, turns that are taken back, undo.

// Without a button there is nothing to confirm.
function confirmFirst(title, parts, button, action) {
  const dialog = element("dialog");
  const go = make("button", { type: "button", class: "primary", id: "confirm" }, button);
  const cancel = make("button", { type: "button", onclick: () => dialog.close() }, "Cancel");
  go.addEventListener("click", async () => {
    go.disabled = true;
    try {
      await action();
    } catch (error) {
      dialog.close();
      notify(error.message);
    }
  });
  dialog.replaceChildren(make("h2", { id: "dialog-title" }, title), ...parts.filter(Boolean),
    make("div", { class: "buttons" }, cancel, button ? go : null));
  if (!dialog.open) dialog.showModal();
  cancel.focus();
}

function changesIn(expected) {
  const changes = expected.changed.map((change) => {
    const lines = change.lines ? ` +${change.lines.added} −${change.lines.removed}` : "";
    return make("li", { class: "path" }, `${change.action} ${oneLine(change.path)}${lines}`);
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
  make("p", { class: "warning" }, `left alone: ${oneLine(each.path)}: ${oneLine(each.reason)}`));
const nameOf = (turn) => `“${oneLine(turn.label) || turn.short}”`;
const canUndo = () => make("p", { class: "remark" }, "What is there now is recorded first, so you can undo this.");

async function preview(turn, wanted = { conversation: true, head: false }) {
  try {
    const expected = await ask("preview", { id: turn.id, ...wanted });
    const lost = expected.hooks_lost.map((each) =>
      make("p", { class: "warning" }, `${oneLine(each.path)} would lose its hooks; '${oneLine(each.install)}' installs them again`));
    const open = expected.open_turn && make("p", { class: "warning" }, "The agent's turn has not ended yet; it may still write files.");
    const others = expected.other_turns && make("p", { class: "warning" }, `This also removes the work of another session: ${
      expected.other_turns.map((each) => `“${oneLine(each.label)}” of ${oneLine(each.agent)}`).join(", ")}.${
      expected.hint ? ` ${oneLine(expected.hint)}.` : ""}`);
    // If that is refused, the dialog stays as it is.
    const again = (changed) => (box) => {
      preview(turn, { ...wanted, [changed]: box.checked });
      box.checked = wanted[changed];
    };
    confirmFirst(`Restore to before ${nameOf(turn)}?`, [
      open, others, ...changesIn(expected), ...leftAlone(expected), ...lost,
      choice("Take the conversation back, too, if its agent can do that", wanted.conversation, again("conversation")),
      expected.head_differs || wanted.head ? choice("Move HEAD back, too", wanted.head, again("head")) : null,
      canUndo(),
    ], "Restore", () => restore(turn, wanted));
  } catch (error) {
    notify(error.message);
  }
}

async function restore(turn, wanted) {
  const done = await ask("restore", { id: turn.id, ...wanted });
  const parts = [`Restored ${counted(done.changed.length, "file")}.`];
  if (done.messages_deleted) parts.push(`${counted(done.messages_deleted, "message")} cut.`);
  if (done.head_moved) parts.push("HEAD was moved back.");
  if (done.archived.length) parts.push(`${counted(done.archived.length, "later turn")} left the list until the next undo.`);
  if (done.message) parts.push(done.message);
  if (done.resume) parts.push(`Continue the conversation with: ${oneLine(done.resume)}`);
  if (!done.undo) parts.splice(0, 1, "Nothing to do: the worktree is as it was then.");
  finish(done, parts.join("\n"));
}

function finish(done, said) {
  element("dialog").close();
  offerUndo(done.undo || sessionStorage.getItem(UNDO));
  notify(said);
}

// A turn is taken back, and what others wrote since stays.

const turnOf = (id) => data.turns.find((turn) => turn.id === id);

async function previewRevert(ids) {
  const title = ids.length > 1 ? counted(ids.length, "turn") : nameOf(turnOf(ids[0]));
  try {
    const expected = await ask("revert", { turns: ids, preview: true });
    confirmFirst(`Take back ${title}?`, [
      ...changesIn(expected), ...leftAlone(expected),
      make("p", { class: "remark" }, "What others wrote since stays, and so do the conversation and HEAD."),
      canUndo(),
    ], "Take back", () => revert(ids));
  } catch (error) {
    if (error.conflicts) showConflicts(ids, title, error.conflicts);
    else notify(error.message);
  }
}

async function revert(ids) {
  const done = await ask("revert", { turns: ids });
  const what = ids.length > 1 ? counted(ids.length, "turn") : "The turn";
  finish(done, done.undo ? `${what} taken back: ${counted(done.changed.length, "file")} changed.` : "Nothing to take back.");
}

function showConflicts(ids, title, conflicts) {
  const rangeOf = ([first, last]) => (last > first ? `${first}–${last}` : `${first}`);
  const listed = conflicts.map((each) => {
    const ranges = each.lines.filter(([first, last]) => first <= last).map(rangeOf);
    const lines = ranges.length ? `, ${ranges.length > 1 || ranges[0].includes("–") ? "lines" : "line"} ${ranges.join(", ")}` : "";
    const by = each.by.map((writer) => (writer.turn ? `“${oneLine(writer.label) || writer.turn}”` : "by hand"));
    return make("li", {}, make("span", { class: "path" }, oneLine(each.path)), `${lines}: changed since, ${by.join(" and ")}`);
  });
  const writers = new Set(conflicts.flatMap((each) => each.by.map((writer) => writer.turn)));
  const others = [...writers].filter((id) => turnOf(id)?.here && !ids.includes(id));
  confirmFirst(`${title} cannot be taken back alone`, [
    make("p", {}, "Nothing was changed. Others have changed the same lines:"), make("ul", {}, listed),
  ], others.length && `Take ${counted(others.length, "later turn")} back, too…`, () => previewRevert([...ids, ...others]));
}

// The latest restore of this page can be undone from it, also after a reload.
const UNDO = "boocode-undo";

function offerUndo(restored) {
  if (restored) sessionStorage.setItem(UNDO, restored);
  else sessionStorage.removeItem(UNDO);
  element("undo").hidden = !restored;
}

async function undo(restored) {
  try {
    finishUndo(await ask("undo", { restored }));
  } catch (error) {
    if (["newer_turns", "later_changes"].includes(error.code)) {
      await confirmUndo(restored, error);
      return;
    }
    if (["conflict", "not_found"].includes(error.code)) offerUndo(null);
    notify(error.message);
  }
}

async function confirmUndo(restored, refusal) {
  try {
    const expected = await ask("undo", { restored, anyway: true, preview: true });
    const parts = [make("p", { class: "warning" }, refusal.message), ...changesIn(expected)];
    confirmFirst("Undo, and replace newer changes?", parts, "Undo anyway",
      async () => finishUndo(await ask("undo", { restored, anyway: true })));
  } catch (error) {
    notify(error.message);
  }
}

function finishUndo(done) {
  element("dialog").close();
  offerUndo(null);
  notify(`Undone: ${counted(done.changed.length, "file")} changed back.`);
}
