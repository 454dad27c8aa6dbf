// What the page says of a refusal: why, and what works instead, by buttons where the page can do it.

// The names of steps that are options of what was refused, as the dialogs have them.
const OPTIONS = {
  force: ({ force }) => ({ force }),
  files_only: () => ({ conversation: false }),
  head: () => ({ head: false }),
  markers: () => ({ markers: true }),
  retry: () => ({}),
  dry_run: () => ({}),
};
const FORCED = { shared: "Take these files as well…", "running-turn": "Continue while it runs…", ignored: "Replace ignored files as well…" };
const OPTION_TEXTS = { files_only: "Leave the conversation…", head: "Leave HEAD…", markers: "Write both versions, with conflict markers…", retry: "Try again", dry_run: "Look again" };
// The page shows all before it is done, and hunks have buttons of their own.
const HAS_ALREADY = ["dry_run", "hunk"];
// What it showed may have changed, though.
const looksAgain = ({ step, arguments: given }) => step === "dry_run" && given?.expect === null && !Object.hasOwn(given, "hunk");

// A button for a step, or nothing; `again` does what was refused with some of its options changed.
function stepAction({ step, arguments: given }, again) {
  const button = (text, go) => make("button", { type: "button", class: "step", onclick: go }, text);
  if (Object.hasOwn(OPTIONS, step)) {
    const text = OPTION_TEXTS[step] ?? FORCED[given?.force?.join()] ?? "Do it anyway…";
    return again && given ? button(text, () => again(OPTIONS[step](given))) : null;
  }
  if (Object.hasOwn(STEPS, step) && data.served && data[step]) return stepButton(step);
  const turns = given?.turns ?? (given?.checkpoint ? [given.checkpoint] : []);
  const known = turns.map(turnOf);
  if (!data.served || !known.length || !known.every((turn) => turn?.here)) return null;
  const what = known.length > 1 ? `${counted(known.length, "turn")}` : nameOf(known[0]);
  if (Object.hasOwn(TAKING_WORDS, step)) return button(`${TAKING_WORDS[step].button} ${what}…`, () => previewTaking(step, turns));
  if (step === "restore" && !given.conversation_only) return button(`Restore to before ${what}…`, () => preview(known[0]));
  return null;
}

function stepItem(step, again) {
  const action = stepAction(step, again);
  const { arguments: given, command } = step;
  // The words of a button name one turn, but do not say which several turns are meant.
  if (action) return make("li", {}, action, given?.turns?.length > 1 ? make("span", { class: "remark" }, ` ${step.text}`) : null);
  const text = make("p", {}, sentence(step.text));
  return make("li", {}, text, command ? commandOf(command) : null);
}

function stepList(steps, again = null) {
  const shown = steps.filter((each) => looksAgain(each) || !HAS_ALREADY.includes(each.step));
  return shown.length ? make("ul", { class: "next" }, shown.map((step) => stepItem(step, again))) : null;
}

function refusalParts(error, again = null) {
  return [
    make("p", { class: "warning" }, sentence(error.message)),
    error.hint ? make("p", { class: "remark hint" }, error.hint) : null,
    stepList(error.next ?? [], again),
  ].filter(Boolean);
}

// A refusal of something that the reader asked for.
function report(error, again = null) {
  if (error.next?.length) confirmFirst("This did not work", refusalParts(error, again), "", null);
  else notify([sentence(error.message), error.hint].filter(Boolean).join("\n"));
}
