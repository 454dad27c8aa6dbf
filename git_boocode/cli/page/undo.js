// Undo and redo, of whatever was done last in this worktree, in any tab or by a command.

const STEPS = {
  undo: { key: "restored", title: "Undo, and replace newer changes?", anyway: "Undo anyway", done: "Undone", how: "changed back" },
  redo: { key: "undone", title: "Redo, and replace newer changes?", anyway: "Redo anyway", done: "Redone", how: "changed again" },
};

// What a step takes back or does again, such as “restore to before “Add tests””.
function stepText({ command, turns }) {
  const known = turns.length === 1 && turnOf(turns[0]);
  return known ? `${command} of ${nameOf(known)}` : turns.length > 1 ? `${command} of ${counted(turns.length, "turn")}` : command;
}

function drawSteps() {
  for (const name of Object.keys(STEPS)) {
    const button = element(name);
    button.hidden = !data.served || !data[name];
    if (data[name]) button.title = `${name === "undo" ? "Undo" : "Redo"} the ${stepText(data[name])}`;
    button.textContent = data[name] ? `${name === "undo" ? "Undo" : "Redo"} ${data[name].command}` : "";
  }
}

const stepButton = (name) => make("button", { type: "button", onclick: () => takeStep(name) }, name === "undo" ? "Undo" : "Redo");

async function takeStep(name) {
  const { key } = STEPS[name];
  const step = data[name];
  if (!step) return;
  try {
    await finishStep(name, await ask(name, { [key]: step.id }));
  } catch (error) {
    if (["newer_turns", "later_changes"].includes(error.code)) {
      await confirmStep(name, step, error);
      return;
    }
    notify(error.message);
    if (["conflict", "not_found"].includes(error.code)) await refresh();
  }
}

async function confirmStep(name, step, refusal) {
  const { key, title, anyway } = STEPS[name];
  try {
    const expected = await ask(name, { [key]: step.id, anyway: true, preview: true });
    const parts = [make("p", { class: "warning" }, refusal.message), ...changesIn(expected)];
    confirmFirst(title, parts, anyway, async () => finishStep(name, await ask(name, { [key]: step.id, anyway: true })));
  } catch (error) {
    notify(error.message);
  }
}

async function finishStep(name, done) {
  element("dialog").close();
  await refresh();
  const { done: word, how } = STEPS[name];
  notify(`${word}: ${counted(done.changed.length, "file")} ${how}.`);
}

// After an operation: what was done, with a button that undoes it.
async function finish(done, said) {
  element("dialog").close();
  await refresh();
  notify(said, done.undo && data.undo?.id === done.undo ? stepButton("undo") : null);
}
