// The rows of the view of turns: what happened in a worktree, newest first.
"use strict";
const vscode = require("vscode");
const { ago, changes, counted, visible } = require("./text");

/**
 * @import { Answer, ByHand, Commit, Here, NamedTurn, Operation, Row, Turn } from "./types"
 */

/** The words for turns that are not in force, as in `git boocode log`. */
const STATES = new Map([
    ["reverted", "(reverted)"],
    ["restored", "(restored away)"],
    ["archived", "(archived)"],
]);
const COMMITTED = new Map([
    ["amend", "amended"],
    ["merge", "merged"],
    ["cherry-pick", "cherry-picked"],
    ["rebase", "rebased"],
    ["am", "applied"],
    ["pull", "pulled"],
    ["checkout", "checked out"],
    ["reset", "reset to"],
]);
const LONGEST_PROMPT = 4000; // characters of a tooltip

/** @param {NamedTurn} turn */
function nameOf({ id, label, prompt, agent }) {
    const [first = ""] = (label || prompt || "").trim().split("\n");
    return visible(first || agent || id.slice(0, 13));
}

/** @param {string | undefined} state */
function mark(state) {
    return STATES.get(state ?? "") ?? "";
}

/**
 * How a turn is described behind its name.
 * @param {Turn} turn
 */
function about({ state, open, agent, created_at, in_turn, ...counts }) {
    const words = [mark(state), open ? "(running)" : "", visible(agent ?? "")];
    const changed = in_turn ? "taken during a turn" : changes(counts);
    return [...words, ago(new Date(created_at)), changed].filter(Boolean).join(" · ");
}

/** @param {Turn} turn */
function tooltip(turn) {
    const { id, prompt, label, agent, session, created_at } = turn;
    const asked = (prompt ?? label ?? "").slice(0, LONGEST_PROMPT);
    const facts = [
        visible(agent ?? "by hand"),
        session ? `session ${visible(session)}` : "",
        new Date(created_at).toLocaleString(),
        id,
    ];
    const lines = asked.split("\n").map(visible);
    return [...lines, "", facts.filter(Boolean).join(" · ")].join("\n").trim();
}

/** @param {Turn} turn */
function icon({ state, open, agent }) {
    const name = mark(state) ? "circle-slash" : open ? "loading~spin" : agent ? "hubot" : "save";
    return new vscode.ThemeIcon(name);
}

/**
 * @param {string} label
 * @param {string} symbol
 * @param {string} description
 * @returns {Row}
 */
function entry(label, symbol, description) {
    const item = new vscode.TreeItem(label, vscode.TreeItemCollapsibleState.None);
    const iconPath = new vscode.ThemeIcon(symbol);
    return Object.assign(item, { iconPath, description, contextValue: "entry" });
}

/**
 * @param {Operation} operation
 * @param {Map<string, Turn>} turns
 */
function operationRow({ command, partial, side, checkpoint_id, turns: ids, ...other }, turns) {
    const targets = checkpoint_id ? [checkpoint_id] : ids;
    const known = turns.get(targets[0] ?? "");
    const one = known ? `'${nameOf(known)}'` : (targets[0] ?? "").slice(0, 13);
    const what = targets.length > 1 ? counted(targets.length, "turn") : one;
    const done =
        command === "restore"
            ? `restored ${partial ? "some files " : ""}to ${side ?? "before"} ${what}`
            : `${command}ed ${partial ? "a part of " : ""}${what}`;
    const when = other.created_at ? ago(new Date(other.created_at)) : "";
    return entry(done, "discard", [mark(other.state), when].filter(Boolean).join(" · "));
}

/** @param {Commit} commit */
function commitRow({ kind, short, subject, time }) {
    const done = `${COMMITTED.get(kind) ?? "committed"} ${short} ${visible(subject)}`;
    return entry(done, "git-commit", ago(new Date(time * 1000)));
}

/** @param {ByHand} change */
function byHandRow({ state, paths, ...counts }) {
    const description = [mark(state), changes(counts)].filter(Boolean).join(" · ");
    const row = entry("by hand", "edit", description);
    return Object.assign(row, { tooltip: paths.map(visible).join("\n") });
}

/**
 * @param {Here} here
 * @param {Map<string, Turn>} turns
 * @param {boolean} isBack
 */
function hereRow({ turn, side, ...counts }, turns, isBack) {
    const known = turns.get(turn);
    const where = `${side} this turn${known ? `, '${nameOf(known)}'` : ""}`;
    const since = isBack && counts.files ? `and by hand ${changes(counts)}` : "";
    return entry("you are here", "location", [where, since].filter(Boolean).join(", "));
}

/**
 * The rows of an answer of `log`, newest first; `turnRow` makes those of turns.
 * @param {Answer} answer
 * @param {(turn: Turn) => Row} turnRow
 */
function timelineRows(
    { checkpoints = [], operations = [], commits = [], by_hand = [], here },
    turnRow,
) {
    const turns = new Map(checkpoints.map((turn) => [turn.id, turn]));
    /** @param {string | null | undefined} text */
    const moment = (text) => (text ? Date.parse(text) : Infinity);
    const times = new Map(checkpoints.map(({ id, created_at }) => [id, moment(created_at)]));
    for (const { id, created_at } of operations) {
        times.set(id, moment(created_at));
    }
    // At the same time, the one of the higher order is above.
    const listed = checkpoints.map((turn) => ({
        time: moment(turn.created_at),
        order: 1,
        row: turnRow(turn),
    }));
    for (const each of operations.filter(({ undone }) => !undone)) {
        const row = operationRow(each, turns);
        listed.push({ time: moment(each.created_at), order: 3, row });
    }
    for (const each of commits) {
        // A commit can have any time; it came after the state that was recorded before it.
        const time = times.get(each.since ?? "") ?? each.time * 1000;
        listed.push({ time, order: 2, row: commitRow(each) });
    }
    for (const each of by_hand) {
        const until = each.before ?? each.operation;
        const time = until ? (times.get(until) ?? each.time * 1000) : Infinity;
        listed.push({ time, order: 0, row: byHandRow(each) });
    }
    if (here) {
        const isBack = here.side === "before" || here.turn !== checkpoints[0]?.id;
        const time = isBack ? (times.get(here.turn) ?? Infinity) : Infinity;
        const order = here.side === "before" ? -1 : 4;
        listed.push({ time, order, row: hereRow(here, turns, isBack) });
    }
    // Two that are infinitely late have no difference.
    const later = (/** @type {number} */ one, /** @type {number} */ other) =>
        one === other ? 0 : other - one;
    return listed
        .sort((one, other) => later(one.time, other.time) || other.order - one.order)
        .map(({ row }) => row);
}

module.exports = { about, icon, nameOf, timelineRows, tooltip };
