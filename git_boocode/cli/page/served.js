// A served page: its news, restores, and undo.

const STOPPED = "The server does not answer; start 'git boocode view --serve' again.";
const MOVED_ON = "This address is no longer valid; open the one that the server printed last.";

async function ask(path, body = null, headers = {}) {
  const asked = { headers: { "Boocode-Token": token, ...headers }, cache: "no-store", redirect: "error" };
  if (body) Object.assign(asked, { method: "POST", body: JSON.stringify(body) });
  if (body) asked.headers["Content-Type"] = "application/json";
  const response = await fetch(`/${path}`, asked).catch(() => { throw new Error(STOPPED); });
  if (response.status === 304) return null;
  if (response.status === 403) throw new Error(MOVED_ON);
  if (!response.ok) throw new Error(`The server answered ${response.status}.`);
  const answer = await response.json();
  if (!answer.ok) {
    const error = new Error([answer.error.message, answer.error.hint].filter(Boolean).join("\n"));
    throw Object.assign(error, { code: answer.error.code });
  }
  return answer;
}

async function follow() {
  const begun = performance.now();
  if (!document.hidden) {
    try {
      const news = await ask("data", null, { "If-None-Match": data.state });
      if (news) update(news);
      element("generated").textContent = "Live";
    } catch (error) {
      element("generated").textContent = error.message;
    }
  }
  // In a large repository a look takes longer, and there are fewer of them.
  setTimeout(follow, Math.max(POLL, 10 * (performance.now() - begun)));
}

function update(news) {
  const summary = (turn) => turn && JSON.stringify({ ...turn, text: "" });
  const before = summary(data.turns.find((turn) => turn.id === selected));
  data = { ...news, served: true };
  drawTimeline();
  const now = data.turns.find((turn) => turn.id === selected);
  // Whoever reads who wrote which line is not disturbed.
  const isReading = element("turn").querySelector("[aria-pressed=true]");
  if (selected && now && summary(now) !== before && !isReading) openTurn(selected, false);
}

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
    make("div", { class: "buttons" }, cancel, go));
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

async function preview(turn, wanted = { conversation: true, head: false }) {
  try {
    const expected = await ask("preview", { id: turn.id, ...wanted });
    const kept = expected.kept.map((each) => make("p", { class: "warning" }, `left alone: ${oneLine(each.path)}: ${oneLine(each.reason)}`));
    const lost = expected.hooks_lost.map((each) =>
      make("p", { class: "warning" }, `${oneLine(each.path)} would lose its hooks; '${oneLine(each.install)}' installs them again`));
    const open = expected.open_turn && make("p", { class: "warning" }, "The agent's turn has not ended yet; it may still write files.");
    // If that is refused, the dialog stays as it is.
    const again = (changed) => (box) => {
      preview(turn, { ...wanted, [changed]: box.checked });
      box.checked = wanted[changed];
    };
    confirmFirst(`Restore to before “${oneLine(turn.label) || turn.short}”?`, [
      open, ...changesIn(expected), ...kept, ...lost,
      choice("Take the conversation back, too, if its agent can do that", wanted.conversation, again("conversation")),
      expected.head_differs || wanted.head ? choice("Move HEAD back, too", wanted.head, again("head")) : null,
      make("p", { class: "remark" }, "What is there now is recorded first, so you can undo this."),
    ], "Restore", () => restore(turn, wanted));
  } catch (error) {
    notify(error.message);
  }
}

async function restore(turn, wanted) {
  const done = await ask("restore", { id: turn.id, ...wanted });
  element("dialog").close();
  const parts = [`Restored ${counted(done.changed.length, "file")}.`];
  if (done.messages_deleted) parts.push(`${counted(done.messages_deleted, "message")} cut.`);
  if (done.head_moved) parts.push("HEAD was moved back.");
  if (done.archived.length) parts.push(`${counted(done.archived.length, "later turn")} left the list until the next undo.`);
  if (done.resume) parts.push(`Continue the conversation with: ${oneLine(done.resume)}`);
  if (!done.undo) parts.splice(0, 1, "Nothing to do: the worktree is as it was then.");
  offerUndo(done.undo || sessionStorage.getItem(UNDO));
  notify(parts.join("\n"));
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

function startFollowing() {
  element("undo").addEventListener("click", () => undo(sessionStorage.getItem(UNDO)));
  offerUndo(sessionStorage.getItem(UNDO));
  follow();
}
