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

// Refusals that the reader decides about, with what would happen.
const isQuestion = ({ code }) => ["newer_turns", "later_changes"].includes(code);

async function takeStep(name, wanted = {}) {
  const step = data[name];
  if (!step) return;
  const again = (changed) => takeStep(name, { ...wanted, ...changed });
  try {
    await finishStep(name, await ask(name, { [STEPS[name].key]: step.id, ...wanted }));
  } catch (error) {
    if (isQuestion(error)) {
      await confirmStep(name, step, [error]);
      return;
    }
    if (["stale", "not_found"].includes(error.code)) await refresh();
    report(error, again);
  }
}

async function confirmStep(name, step, refusals) {
  const { key, title, anyway } = STEPS[name];
  const { force } = refusals.at(-1).next.find((each) => each.step === "force").arguments;
  const wanted = { [key]: step.id, force };
  try {
    const expected = await ask(name, { ...wanted, preview: true });
    const parts = [...refusals.map(({ message }) => make("p", { class: "warning" }, sentence(message))), ...changesIn(expected)];
    confirmFirst(title, parts, anyway, async () => finishStep(name, await ask(name, wanted)));
  } catch (error) {
    if (isQuestion(error)) await confirmStep(name, step, [...refusals, error]);
    else report(error);
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
