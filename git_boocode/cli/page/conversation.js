// What was said in a turn, beside its diff. It is asked for when it is opened.

const BESIDE = 1200; // pixels of the pane from which on it is open at once
const LONG_TEXT = 1500; // characters of a message, before a button shows the rest
const LONG_RESULT = 600;
const AGAIN = 4000; // milliseconds between two looks at a turn that goes on

let wantsConversation = null; // whether it is to be open, once the reader has chosen
let embeddedConversations = null; // the conversations in a page that nothing serves
const latestConversations = new Map(); // the last answer, by turn

function conversationOf(turn) {
  if (!turn.agent || turn.noted || turn.remote) return null;
  const facts = make("span", { class: "said-facts" });
  const body = make("div", { class: "said", role: "region", "aria-label": "What was said in this turn", tabindex: "0", "data-turn": turn.id });
  const box = make("details", { class: "conversation" },
    make("summary", {}, make("span", {}, "Conversation"), facts), body);
  // While the turn is drawn again, the one that is still there has what the reader has opened.
  let before = element("turn").querySelector(".said");
  if (before?.dataset.turn !== turn.id) before = body;
  const show = (found) => {
    const open = [...before.querySelectorAll("details")].map((each) => each.open);
    const isAtEnd = turn.open && before.scrollTop + before.clientHeight >= before.scrollHeight - 4;
    const top = before.scrollTop;
    body.replaceChildren(...conversationParts(turn, found));
    for (const [number, each] of [...body.querySelectorAll("details")].entries()) each.open = open[number] ?? false;
    facts.textContent = saidFacts(found);
    before = body;
    // By then it is in the page.
    queueMicrotask(() => { body.scrollTop = isAtEnd ? body.scrollHeight : top; });
  };
  if (latestConversations.has(turn.id)) show(latestConversations.get(turn.id));
  box.addEventListener("toggle", () => {
    wantsConversation = box.open;
    if (box.open) hear(turn, box, body, show);
  });
  if (wantsConversation ?? element("turn").clientWidth >= BESIDE) {
    const before = wantsConversation;
    box.open = true;
    // The event comes later, and says nothing of the reader.
    box.addEventListener("toggle", () => { wantsConversation = before; }, { once: true });
  }
  return box;
}

async function hear(turn, box, body, show) {
  if (!box.open || box.isListening) return;
  box.isListening = true;
  try {
    const before = latestConversations.get(turn.id);
    const found = await conversationData(turn.id);
    if (JSON.stringify(found) !== JSON.stringify(before) || !body.firstChild) {
      latestConversations.set(turn.id, found);
      show(found);
    }
  } catch (error) {
    if (!body.firstChild) body.append(make("p", { class: "remark" }, error.message));
  }
  box.isListening = false;
  if (data.served && turn.open) setTimeout(() => { if (box.isConnected) hear(turn, box, body, show); }, AGAIN);
}

async function conversationData(id) {
  if (data.served) return (await ask("conversation", { turn: id })).conversation;
  embeddedConversations ??= embedded("conversations");
  return embeddedConversations[id] ?? null;
}

function saidFacts(found) {
  if (!found) return "";
  const tools = found.entries.filter((entry) => entry.role === "tool").length;
  return [counted(found.entries.length - tools, "message"), tools ? counted(tools, "tool") : ""].filter(Boolean).join(", ");
}

function conversationParts(turn, found) {
  if (!found) {
    return [
      make("p", { class: "remark" }, "This page does not have the conversation. On the machine where the agent ran:"),
      commandOf(`git boocode show --conversation ${turn.short}`)];
  }
  const remarks = [
    found.missing ? `The conversation is not here: ${oneLine(found.missing)}.` : "",
    found.masked ? `${counted(found.masked, "secret")} masked.` : "",
    found.cut ? "Long texts are cut." : "",
    found.unread ? `${counted(found.unread, "line")} of the transcript could not be read.` : "",
  ].filter(Boolean);
  return [
    make("ol", {}, found.entries.map((entry) => saidOf(turn, entry))),
    remarks.length ? make("p", { class: "remark" }, remarks.join(" ")) : null,
  ].filter(Boolean);
}

function saidOf(turn, entry) {
  if (entry.role === "tool") return make("li", { class: "by-tool" }, toolCallOf(entry));
  if (entry.role === "omitted") return make("li", { class: "gap" }, `… ${entry.text} …`);
  const isUser = entry.role === "user";
  return make("li", { class: isUser ? "by-user" : "by-agent" },
    make("p", { class: "who" }, isUser ? "You" : agentOf(turn), entry.time ? [" ", timeOf(entry.time)] : ""),
    ...longText(entry.text, LONG_TEXT));
}

function toolCallOf(entry) {
  const first = (entry.result ?? "").split("\n").map((line) => line.trim()).find(Boolean) ?? "";
  const line = [make("b", {}, oneLine(entry.name)), make("span", {}, oneLine(entry.summary ?? ""))];
  if (entry.input === undefined && !first) return make("p", { class: "tool" }, line);
  const box = make("details", { class: "tool" },
    make("summary", {}, ...line, first ? make("span", { class: "result" }, oneLine(first).slice(0, 200)) : null));
  // Most of them are never opened.
  box.addEventListener("toggle", () => {
    if (!box.open || box.children.length > 1) return;
    box.append(...inputParts(entry.input));
    if (entry.result) box.append(make("p", { class: "key" }, "Result"), ...longText(entry.result, LONG_RESULT));
  });
  return box;
}

function inputParts(input) {
  if (input === undefined) return [];
  const isTable = input !== null && typeof input === "object" && !Array.isArray(input);
  const rows = isTable ? Object.entries(input) : [["Input", input]];
  const textOf = (value) => typeof value === "string" ? value : JSON.stringify(value, null, 2);
  return rows.flatMap(([key, value]) => [make("p", { class: "key" }, oneLine(key)), ...longText(textOf(value), LONG_RESULT)]);
}

// A text, and a button that shows the rest of a long one.
function longText(text, most) {
  const shown = make("div", { class: "text" }, text.length > most ? `${text.slice(0, most)}…` : text);
  if (text.length <= most) return [shown];
  const button = make("button", { type: "button", class: "all" }, `Show all ${text.length.toLocaleString()} characters`);
  button.addEventListener("click", () => {
    shown.replaceChildren(visible(text));
    button.remove();
    shown.tabIndex = -1;
    shown.focus();
  });
  return [shown, button];
}
