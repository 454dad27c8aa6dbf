// Elements and texts. Every text from a checkpoint becomes a text node, never markup.

// Characters that steer a terminal, reverse text, or cannot be seen; also bytes that are no UTF-8.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\ufff9-\ufffb\p{Default_Ignorable_Code_Point}\p{Surrogate}]/gu;
const JOINERS = new Set([0x200c, 0x200d]);
const VARIANTS = new Set([0xfe0e, 0xfe0f]);

function visible(text) {
  // Shown by their numbers; a newline and a tab stay.
  return String(text).replace(UNSEEN, (character, at, whole) => {
    const code = character.codePointAt(0);
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    if (code === 0x7f) return "␡";
    if (code >= 0xdc80 && code <= 0xdcff) return `⟨0x${(code & 0xff).toString(16).toUpperCase()}⟩`;
    if (joins(code, whole, at)) return character;
    return `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  });
}

// In emoji, and in scripts whose letters they join, some of them belong to what is seen.
function joins(code, text, at) {
  if (VARIANTS.has(code)) return text[at + 1] === "\u20e3" || /\p{Extended_Pictographic}$/u.test(text.slice(Math.max(0, at - 2), at));
  const isFar = (neighbour) => neighbour > 0x2ff && !JOINERS.has(neighbour);
  return JOINERS.has(code) && isFar(text.charCodeAt(at - 1)) && isFar(text.charCodeAt(at + 1));
}

const oneLine = (text) => visible(String(text).replace(/[\n\t]/g, " "));
// In the name of a file, a newline is not a space.
const pathText = (path) => visible(path.replace(/[\n\t]/g, (character) => String.fromCharCode(0x2400 + character.charCodeAt(0))));
// A message of the command line, as a sentence.
const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1);
const counted = (number, noun) => `${number.toLocaleString()} ${noun}${number === 1 ? "" : "s"}`;

function make(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === "class") made.className = value;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  for (const child of children.flat()) {
    if (child instanceof Node) made.append(child);
    else if (child !== null && child !== undefined && child !== "") made.append(visible(child));
  }
  return made;
}

// Text for a screen reader alone.
const heard = (text) => make("span", { class: "heard" }, text);

function sizeText(bytes) {
  if (bytes < 1000) return counted(bytes, "byte");
  return bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

// A word for a shell; what cannot be seen or pasted into a terminal is escaped, byte by byte.
function shellWord(text) {
  if (/^[\w@%+=:,./-]+$/.test(text)) return text;
  if (text === pathText(text)) return `'${text.replaceAll("'", "'\\''")}'`;
  const escaped = [...text].map((character) => {
    if (/['\\]/.test(character)) return `\\${character}`;
    return character === pathText(character) ? character : bytesOf(character).map((byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("");
  });
  return `$'${escaped.join("")}'`;
}

// The bytes of a character in UTF-8; half a surrogate pair stands for a byte that is no UTF-8.
function bytesOf(character) {
  const code = character.codePointAt(0);
  return code >= 0xdc80 && code <= 0xdcff ? [code & 0xff] : [...new TextEncoder().encode(character)];
}

// A text as the search compares it: in any case and composition, in all languages alike.
const folded = (text) => text.normalize().toLowerCase().toUpperCase().toLowerCase().replaceAll("ς", "σ").replaceAll("i\u0307", "i");

// What the browser keeps between visits; without a store, as long as the page is open.
const unstored = new Map();

function kept(key) {
  try {
    return localStorage.getItem(key) ?? unstored.get(key) ?? null;
  } catch {
    return unstored.get(key) ?? null;
  }
}

function keep(key, value) {
  unstored.set(key, value);
  try {
    localStorage.setItem(key, value);
  } catch {
    // The store is full or forbidden.
  }
}
