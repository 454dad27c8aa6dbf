// The page of git boocode view: its data, and what starts it.

const element = (id) => document.getElementById(id);
const embedded = (id) => JSON.parse(element(id).textContent);
const POLL = 2000; // milliseconds between two questions for news

let data = embedded("data");
let details = null;
let blamed = null;
let selected = "";
let opening = 0;
let rows = new Map(); // the buttons of the timeline, by turn
const token = data.served ? location.pathname.split("/")[1] : "";

const pageName = [data.repository, data.range?.name].filter(Boolean).map(oneLine).join(" ");
document.title = `${pageName} – git boocode`;
document.body.classList.toggle("range", Boolean(data.range));
element("repository").textContent = pageName;
element("generated").textContent = data.served ? "Live" : `Written ${new Date(data.generated_at * 1000).toLocaleString()}`;
element("search").addEventListener("input", filter);
element("scope").addEventListener("change", filter);
document.addEventListener("keydown", onKey);
drawNothing();
drawTimeline();
if (rows.has(location.hash.slice(1))) openTurn(location.hash.slice(1), false);
setInterval(() => {
  for (const time of document.querySelectorAll("time")) time.textContent = ago(Date.parse(time.dateTime) / 1000);
}, 60000);
if (data.served) startFollowing();
