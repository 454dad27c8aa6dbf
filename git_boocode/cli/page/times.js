// Times and durations in words.

const DAY = 86400;

function ago(seconds) {
  const passed = Math.max(0, Date.now() / 1000 - seconds);
  if (passed < 60) return "just now";
  if (passed < 3600) return `${Math.floor(passed / 60)} min ago`;
  if (passed < DAY) return `${Math.floor(passed / 3600)} h ago`;
  if (passed < DAY * 14) return counted(Math.floor(passed / DAY), "day") + " ago";
  return new Date(seconds * 1000).toLocaleDateString();
}

function lasted(seconds) {
  if (seconds < 1) return "under 1 s";
  if (seconds < 60) return `${Math.round(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

// Of a day, its first moment.
const dayOf = (seconds) => new Date(seconds * 1000).setHours(0, 0, 0, 0) / 1000;

// When a state was recorded whose id this is, in seconds.
const timeOfId = (id) => parseInt(id.replace("-", "").slice(0, 12), 16) / 1000;

function dayName(day) {
  const today = dayOf(Date.now() / 1000);
  // Days with a change of the clocks are longer or shorter.
  const past = Math.round((today - day) / DAY);
  if (past === 0) return "Today";
  if (past === 1) return "Yesterday";
  const year = new Date(day * 1000).getFullYear() === new Date().getFullYear() ? undefined : "numeric";
  return new Date(day * 1000).toLocaleDateString(undefined, { weekday: "long", day: "numeric", month: "long", year });
}

function timeOf(seconds) {
  const date = new Date(seconds * 1000);
  return make("time", { datetime: date.toISOString(), title: date.toLocaleString() }, ago(seconds));
}

// In a list, a time that the entry above has as well is not repeated.
function refreshTimes() {
  let before = "";
  for (const time of document.querySelectorAll("time")) {
    const text = ago(Date.parse(time.dateTime) / 1000);
    time.textContent = text;
    const isListed = time.closest("#timeline");
    time.classList.toggle("repeated", Boolean(isListed) && text === before);
    before = isListed ? text : "";
  }
}
