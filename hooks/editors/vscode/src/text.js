// Texts for people: names that may hold anything, counts, and times.
"use strict";

// Characters that steer a terminal, reverse text, or are invisible.
const STEERING =
    /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]|[\u{e0000}-\u{e007f}]/gu;
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/**
 * A text on one line, in which hidden characters are shown by their number.
 * @param {string} text
 */
function visible(text) {
    return text.replace(STEERING, (character) => {
        const code = character.codePointAt(0) ?? 0;
        if (code < 0x20) {
            return String.fromCharCode(0x2400 + code);
        }
        return `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
    });
}

/**
 * @param {number} number
 * @param {string} noun
 */
function counted(number, noun) {
    return `${number.toLocaleString()} ${noun}${number === 1 ? "" : "s"}`;
}

/**
 * What changed, such as `2 files +6 −4`; empty if it is unknown.
 * @param {{ files?: number | null, added?: number | null, removed?: number | null }} counts
 */
function changes({ files, added, removed }) {
    if (files === null || files === undefined) {
        return "";
    }
    const lines = [added ? `+${added}` : "", removed ? `−${removed}` : ""];
    return [files ? counted(files, "file") : "no changes", ...lines].filter(Boolean).join(" ");
}

/**
 * How long ago something was.
 * @param {Date} when
 */
function ago(when) {
    const passed = Date.now() - when.getTime();
    if (passed < MINUTE) {
        return "just now";
    }
    if (passed < HOUR) {
        return `${Math.floor(passed / MINUTE)} min ago`;
    }
    if (passed < DAY) {
        return `${Math.floor(passed / HOUR)} h ago`;
    }
    return passed < 14 * DAY
        ? `${counted(Math.floor(passed / DAY), "day")} ago`
        : when.toLocaleDateString();
}

module.exports = { ago, changes, counted, visible };
