// A served page: its questions and its news.

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
    const { message, code, hint, next } = answer.error;
    throw Object.assign(new Error(message), { code, hint, next, conflicts: answer.conflicts });
  }
  return answer;
}

let following = 0; // the timer of the next question
let asked = 0; // counts the questions: only the answer to the last one is shown

function say(text, isProblem = false) {
  element("generated").textContent = sentence(text);
  element("generated").classList.toggle("problem", isProblem);
}

// Ask for news, and show them; then again after a while.
async function refresh() {
  const number = ++asked;
  const begun = performance.now();
  clearTimeout(following);
  try {
    const news = await ask("data", null, { "If-None-Match": data.state });
    if (number !== asked) return;
    if (news) update(news);
    say("Live");
  } catch (error) {
    say(error.message, true);
  }
  // In a large repository a look takes longer, and there are fewer of them.
  if (number === asked) following = setTimeout(follow, Math.max(POLL, 10 * (performance.now() - begun)));
}

function follow() {
  if (document.hidden) following = setTimeout(follow, POLL);
  else refresh();
}

function update(news) {
  const summary = (turn) => turn && JSON.stringify({ ...turn, text: "" });
  const before = summary(turnOf(selected));
  data = { ...news, served: true };
  drawTimeline();
  drawSteps();
  const now = turnOf(selected);
  // Whoever reads who wrote which line is not disturbed.
  const isReading = element("turn").querySelector("[aria-pressed=true]");
  if (selected && now && summary(now) !== before && !isReading) redrawTurn();
  if (pane === "overview") redrawn(element("turn"), drawOverview);
}
