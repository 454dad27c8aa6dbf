// Notices, and what is copied.

const NOTICE_TIME = { plain: 6000, action: 30000 }; // milliseconds
let fading = 0;

function notify(text, action = null) {
  const notice = element("notice");
  clearTimeout(fading);
  notice.replaceChildren(make("span", {}, text), ...(action ? [action] : []),
    make("button", { type: "button", class: "close", "aria-label": "Dismiss", onclick: () => { notice.hidden = true; } }, "×"));
  notice.hidden = false;
  fading = setTimeout(() => { notice.hidden = true; }, action ? NOTICE_TIME.action : NOTICE_TIME.plain);
}

async function copy(text, what = "") {
  try {
    await navigator.clipboard.writeText(text);
    notify(what ? `Copied ${what}.` : "Copied.");
  } catch {
    // Without the permission, it is at least shown and selected.
    const shown = make("code", {}, text);
    notify("Press Ctrl-C to copy: ", shown);
    getSelection().selectAllChildren(shown);
  }
}
