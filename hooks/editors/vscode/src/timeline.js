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
const NEWEST = "~"; // greater than all ids
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
function operationRow({ command, side, checkpoint_id, turns: ids, ...other }, turns) {
    const targets = checkpoint_id ? [checkpoint_id] : ids;
    const known = turns.get(targets[0] ?? "");
    const one = known ? `'${nameOf(known)}'` : (targets[0] ?? "").slice(0, 13);
    const what = targets.length > 1 ? counted(targets.length, "turn") : one;
    const files = other.partial ? "some files " : "";
    const scope = other.conversation_only ? "the conversation " : files;
    const done =
        command === "restore"
            ? `restored ${scope}to ${side ?? "before"} ${what}`
            : `${command}ed ${other.partial ? "a part of " : ""}${what}`;
    const when = other.created_at ? ago(new Date(other.created_at)) : "";
    return entry(done, "discard", [mark(other.state), when].filter(Boolean).join(" · "));
}

/** @param {Commit} commit */
function commitRow({ kind, short, branch, subject, time }) {
    const where = branch ? `${visible(branch)}: ` : "";
    const done = `${COMMITTED.get(kind) ?? "committed"} ${where}${short} ${visible(subject)}`;
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
 */
function hereRow({ turn, side, at, ...counts }, turns) {
    const known = turns.get(turn);
    // Of several turns that overlapped, another one than the newest ended last.
    const newest = [...turns.values()].find(({ in_turn }) => !in_turn);
    const isPlain = !at && side === "after" && newest !== known;
    const name = known ? `, '${nameOf(known)}'` : "";
    const state = side === "after" ? mark(known?.state) : "";
    const where = isPlain ? "" : [`${side} this turn${name}`, state].filter(Boolean).join(" ");
    const since = at && counts.files ? `and by hand ${changes(counts)}` : "";
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
    // By the id of the state above which each is; at the same id, the one of the higher order is above.
    const listed = checkpoints.map((turn) => ({ id: turn.id, order: 2, row: turnRow(turn) }));
    for (const each of operations.filter(({ undone }) => !undone)) {
        listed.push({ id: each.id, order: 2, row: operationRow(each, turns) });
    }
    for (const each of commits) {
        listed.push({ id: each.since ?? "", order: 3, row: commitRow(each) });
    }
    for (const each of by_hand) {
        const id = each.operation ?? each.before ?? NEWEST;
        listed.push({ id, order: 0, row: byHandRow(each) });
    }
    if (here) {
        listed.push({ id: here.at ?? NEWEST, order: 1, row: hereRow(here, turns) });
    }
    const later = (/** @type {string} */ one, /** @type {string} */ other) =>
        Number(other > one) - Number(other < one);
    return listed
        .sort((one, other) => later(one.id, other.id) || other.order - one.order)
        .map(({ row }) => row);
}

module.exports = { about, icon, nameOf, timelineRows, tooltip };
