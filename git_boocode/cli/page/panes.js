// The width of the list, by pointer or by the arrow keys.

const LIST_WIDTH = "boocode-list-width";
const [NARROWEST, WIDEST, WIDTH_STEP] = [256, 900, 24]; // pixels

function setListWidth(width) {
  const wanted = Math.round(Math.min(Math.max(width, NARROWEST), WIDEST));
  document.documentElement.style.setProperty("--list-width", `${wanted}px`);
  const divider = element("divider");
  for (const [name, value] of Object.entries({ now: wanted, min: NARROWEST, max: WIDEST })) divider.setAttribute(`aria-value${name}`, value);
  return wanted;
}

function startPanes() {
  const divider = element("divider");
  const listWidth = () => element("timeline").getBoundingClientRect().width;
  setListWidth(Number(kept(LIST_WIDTH)) || 432);
  divider.addEventListener("pointerdown", (event) => {
    divider.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  divider.addEventListener("pointermove", (event) => {
    if (divider.hasPointerCapture(event.pointerId)) keep(LIST_WIDTH, String(setListWidth(event.clientX)));
  });
  divider.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -WIDTH_STEP, ArrowRight: WIDTH_STEP }[event.key];
    if (!step) return;
    keep(LIST_WIDTH, String(setListWidth(listWidth() + step)));
    event.preventDefault();
  });
}
