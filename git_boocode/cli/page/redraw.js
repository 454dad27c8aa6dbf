// What the reader is at – the focus, what is typed, opened and scrolled – stays while a part of the page is drawn anew.

const CONTROLS = "button, a, input, select, summary, [tabindex]";

// What a control is, in words that are the same when it was drawn anew.
function controlName(control) {
  const { id, dataset, tagName, className, textContent } = control;
  const own = id || dataset.turn || dataset.path;
  const text = control.getAttribute("aria-label") ?? (tagName === "SELECT" ? "" : textContent);
  return JSON.stringify([tagName, own || [className, text, control.closest(".file")?.getAttribute("aria-label")]]);
}

const foldersOf = (pane) => [...pane.querySelectorAll("details")].filter((each) => !each.closest(".conversation"));
const folderName = (folder) => `${folder.className} ${folder.querySelector("summary").textContent}`;

function redrawn(pane, drawAnew) {
  const focused = pane.contains(document.activeElement) ? document.activeElement : null;
  const name = focused && controlName(focused);
  const alike = () => [...pane.querySelectorAll(CONTROLS)].filter((each) => controlName(each) === name);
  const number = focused ? alike().indexOf(focused) : 0;
  const selection = focused?.matches("input[type=search]") ? [focused.selectionStart, focused.selectionEnd] : null;
  const open = new Map(foldersOf(pane).map((each) => [folderName(each), each.open]));
  const scrollers = [pane, document.scrollingElement].map((each) => [each, each.scrollTop]);
  drawAnew();
  for (const each of foldersOf(pane)) each.open = open.get(folderName(each)) ?? each.open;
  for (const [each, top] of scrollers) each.scrollTop = top;
  if (!focused || focused === document.activeElement) return;
  // Of several, the one in the same place; without any, the pane itself.
  const found = focused.isConnected ? focused : alike()[number] ?? pane;
  found.focus({ preventScroll: true });
  if (selection && found !== pane) found.setSelectionRange(...selection);
}
