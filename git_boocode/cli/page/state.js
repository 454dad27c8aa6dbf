// What the page knows, and what of it is shown.

const element = (id) => document.getElementById(id);
const embedded = (id) => JSON.parse(element(id).textContent);
const POLL = 2000; // milliseconds between two questions for news

let data = embedded("data");
let details = null;
let blamed = null;
let selected = ""; // the turn that is open
let opening = 0; // counts what is opened, as answers may come late
let rows = new Map(); // the buttons of the timeline, by turn
const token = data.served ? location.pathname.split("/")[1] : "";

const turnOf = (id) => data.turns.find((turn) => turn.id === id);
const nameOf = (turn) => `“${oneLine(turn.label) || turn.short}”`;
