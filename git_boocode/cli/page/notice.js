// Times.

function ago(seconds) {
  const passed = Math.max(0, Date.now() / 1000 - seconds);
  if (passed < 60) return "just now";
  if (passed < 3600) return `${Math.floor(passed / 60)} min ago`;
  if (passed < 86400) return `${Math.floor(passed / 3600)} h ago`;
  if (passed < 86400 * 14) return counted(Math.floor(passed / 86400), "day") + " ago";
  return new Date(seconds * 1000).toLocaleDateString();
}

function lasted(seconds) {
  if (seconds < 1) return "under 1 s";
  if (seconds < 60) return `${Math.round(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

function timeOf(seconds) {
  const date = new Date(seconds * 1000);
  return make("time", { datetime: date.toISOString(), title: date.toLocaleString() }, ago(seconds));
}

// Notices, and the command to copy.

let fading = 0;

function notify(text, action = null) {
  const notice = element("notice");
  clearTimeout(fading);
  notice.replaceChildren(make("span", {}, text), ...(action ? [action] : []),
    make("button", { type: "button", "aria-label": "Dismiss", onclick: () => { notice.hidden = true; } }, "×"));
  notice.hidden = false;
  if (!action) fading = setTimeout(() => { notice.hidden = true; }, 6000);
}

async function copy(command) {
  try {
    await navigator.clipboard.writeText(command);
    notify("Copied.");
  } catch {
    // Without the permission, the command is at least shown and selected.
    const shown = make("code", {}, command);
    notify("Press Ctrl-C to copy: ", shown);
    getSelection().selectAllChildren(shown);
  }
}
