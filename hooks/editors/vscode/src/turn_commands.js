// What can be done with turns: restore, take back, pick, compare, undo and redo.
"use strict";
const vscode = require("vscode");
const dialogs = require("./dialogs");
const { openPage } = require("./page");
const { ToolError } = require("./server");
const { counted, visible } = require("./text");
const { about, nameOf } = require("./timeline");

/**
 * @import { Action, Answer, Arguments, NamedTurn, Row } from "./types"
 * @import { Worktree } from "./worktree"
 */

const { window } = vscode;
const SOME_TURNS = 200; // to choose from
const CONVERSATION = "Restore Files and Conversation";
const FILES = "Restore Files Only";

/** @type {Record<string, Action>} */
const TURN_ACTIONS = {
    checkpoint: async (worktree) => {
        const label = await window.showInputBox({
            title: "Take a checkpoint",
            prompt: "Its label",
        });
        if (label !== undefined) {
            await worktree.call("checkpoint", { label });
        }
    },
    restore: (worktree, row) => restore(worktree, row, false),
    restoreAfter: (worktree, row) => restore(worktree, row, true),
    restoreFile: (worktree, row) => restore(worktree, row, false),
    restoreHunks: (worktree, { turn, paths = [] }) => {
        const args = { checkpoint: idOf(turn), paths: literal(paths.slice(-1)) };
        return changeHunks(worktree, "restore", args, "Restore these hunks");
    },
    revert: (worktree, { turn, paths }) =>
        revert(worktree, turn ? [turn] : [], paths ? { paths: literal(paths) } : {}),
    revertHunks: (worktree, { turn, paths = [] }) => {
        const args = { turns: [idOf(turn)], paths: literal(paths.slice(-1)) };
        return changeHunks(worktree, "revert", args, "Take back these hunks");
    },
    pick: async (worktree) => {
        const turn = await chosenTurn(worktree, "Pick a turn of another worktree", { all: true });
        if (turn) {
            await pick(worktree, turn);
        }
    },
    compareWithNow: (worktree, { turn }) => compare(worktree, turn, undefined),
    compareTurns: async (worktree, { turn }) => {
        const other = await chosenTurn(worktree, "Compare with which turn?");
        if (other && turn) {
            const [old, later] = turn.id < other.id ? [turn, other] : [other, turn];
            await compare(worktree, old, later);
        }
    },
    openChanges: async (worktree, { turn }) => {
        const files = await worktree.filesOf(given(turn));
        await showChanges(`What '${nameOf(given(turn))}' changed`, files);
    },
    openPage: (worktree, { turn }) => openPage(worktree, turn?.id ?? ""),
    copyId: async (_, { turn }) => vscode.env.clipboard.writeText(idOf(turn)),
    search: async (worktree) => {
        const value = worktree.listed.words;
        const prompt = "Words of prompts, labels and paths, in any order; none for all turns";
        const words = await window.showInputBox({ title: "Search turns", prompt, value });
        worktree.listed.words = words ?? value;
    },
    more: async (worktree) => {
        worktree.listed.most *= 2;
    },
    undo: (worktree, { edit }) =>
        edit
            ? worktree.call("rewind", { edit })
            : goBack(worktree, "undo", "Undo the latest change?", "Undo", {}),
    redo: (worktree) => goBack(worktree, "redo", "Redo what was undone?", "Redo", {}),
};

/** @param {NamedTurn | undefined} turn */
function given(turn) {
    if (!turn) {
        throw new Error("choose a turn in the view 'Turns'");
    }
    return turn;
}

/** @param {NamedTurn | undefined} turn */
function idOf(turn) {
    return given(turn).id;
}

/**
 * Paths as pathspecs that match nothing else.
 * @param {string[]} paths
 */
function literal(paths) {
    return paths.map((path) => `:(top,literal)${path}`);
}

/**
 * Restore everything, or a file, to before or after a turn.
 * @param {Worktree} worktree
 * @param {Partial<Row>} row
 * @param {boolean} after
 */
async function restore(worktree, { turn, paths }, after) {
    const where = `${after ? "after" : "before"} '${nameOf(given(turn))}'`;
    const what = paths ? `'${visible(paths.at(-1) ?? "")}' ` : "";
    const args = {
        checkpoint: idOf(turn),
        ...(after && { after }),
        ...(paths && { paths: literal(paths) }),
    };
    await goBack(worktree, "restore", `Restore ${what}to ${where}?`, "Restore", args);
}

/**
 * Restore, undo or redo, after unsaved documents are saved and the user has seen what changes.
 * @param {Worktree} worktree
 * @param {string} tool
 * @param {string} question
 * @param {string} verb
 * @param {Arguments} args
 */
async function goBack(worktree, tool, question, verb, args) {
    const dryRun = { ...args, dry_run: true };
    const { changed = [] } = await worktree.call(tool, dryRun);
    // A restore is of all that the user sees, an undo only of what was done.
    const touched = tool === "restore" ? undefined : changed.map(({ path }) => path);
    if (!(await dialogs.saved(worktree, touched))) {
        return;
    }
    const plan = await worktree.call(tool, dryRun);
    const detail = dialogs.described(plan, "paths" in args);
    const isOpen = tool === "restore" && !("paths" in args) && dialogs.takesConversation(plan);
    const buttons = isOpen ? [CONVERSATION, FILES] : [verb];
    const chosen = await dialogs.asked(question, detail, ...buttons);
    if (chosen) {
        const only = chosen === FILES ? { files_only: true } : {};
        const seen = tool === "restore" ? { expect: plan.version } : {};
        const answer = await worktree.call(tool, { ...args, ...only, ...seen });
        const said = { restore: "Restored", undo: "Undone:", redo: "Redone:" }[tool] ?? tool;
        const back = tool === "undo" ? "redo" : "undo";
        dialogs.done(worktree, dialogs.doneText(said, answer), { back });
    }
}

/**
 * Restore or take back the hunks of a file that the user chooses.
 * @param {Worktree} worktree
 * @param {"restore" | "revert"} tool
 * @param {{ paths: string[] } & Arguments} args
 * @param {string} title
 */
async function changeHunks(worktree, tool, args, title) {
    if (!(await dialogs.saved(worktree))) {
        return;
    }
    const plan = await worktree.call(tool, { ...args, dry_run: true });
    const change = (plan.changed ?? []).find(({ hunks }) => hunks) ?? plan.changed?.[0];
    if (!change?.hunks?.length) {
        const path = (args.paths[0] ?? "").replace(/^:\(top,literal\)/, "");
        const why = change ? "has no hunks" : "has nothing left to take back";
        throw new Error(`'${visible(path)}' ${why}`);
    }
    const hunk = await dialogs.chosenHunks(change, title);
    if (hunk) {
        await worktree.call(tool, { ...args, hunk, expect: change.version });
        dialogs.done(
            worktree,
            `${counted(hunk.length, "hunk")} of '${visible(change.path)}' changed.`,
        );
    }
}

/**
 * Take turns back, after the user has seen what changes; what others wrote since stays.
 * @param {Worktree} worktree
 * @param {NamedTurn[]} turns
 * @param {Arguments} more
 * @returns {Promise<void>}
 */
async function revert(worktree, turns, more) {
    const [first, ...others] = turns;
    const one = first ? `'${nameOf(first)}'` : "";
    const name = others.length ? counted(turns.length, "turn") : one;
    const ids = turns.map(({ id }) => id);
    const args = { ...more, turns: ids };
    /** @type {Answer} */
    let plan;
    try {
        plan = await worktree.call("revert", { ...args, dry_run: true }, worktree.unsaved());
    } catch (error) {
        const later = laterTurns(error, ids);
        if (!later.length) {
            throw error;
        }
        const question = "Later turns have changed the same lines.";
        const button = "Take Back Later Turns, Too";
        if (await dialogs.confirmed(question, conflictsOf(error), button)) {
            await revert(worktree, [...turns, ...later.map((id) => ({ id }))], more);
        }
        return;
    }
    const lines = [...dialogs.changesOf(plan), "what others wrote since stays"];
    if (await dialogs.confirmed(`Take back ${name}?`, lines.join("\n"), "Take Back")) {
        const answer = await worktree.change("revert", args);
        dialogs.done(worktree, dialogs.doneText("Taken back:", answer));
    }
}

/**
 * The turns that wrote conflicting lines, except some.
 * @param {unknown} error
 * @param {string[]} turns
 */
function laterTurns(error, turns) {
    const conflicts = (error instanceof ToolError && error.answer?.conflicts) || [];
    const found = conflicts.flatMap(({ by = [] }) => by.map(({ turn }) => turn ?? ""));
    return [...new Set(found)].filter((turn) => turn && !turns.includes(turn));
}

/** @param {unknown} error */
function conflictsOf(error) {
    const conflicts = (error instanceof ToolError && error.answer?.conflicts) || [];
    const lines = conflicts.map(({ path, by = [] }) => {
        const writers = by.map(({ turn, label }) => (turn ? `'${visible(label || turn)}'` : label));
        return `${visible(path)}: ${writers.join(", ")}`;
    });
    return lines.join("\n");
}

/**
 * Apply here what a turn of another worktree did.
 * @param {Worktree} worktree
 * @param {NamedTurn} turn
 */
async function pick(worktree, turn) {
    const args = { turns: [turn.id] };
    const plan = await worktree.call("pick", { ...args, dry_run: true }, worktree.unsaved());
    const detail = dialogs.changesOf(plan).join("\n");
    if (await dialogs.confirmed(`Pick '${nameOf(turn)}'?`, detail, "Pick")) {
        const answer = await worktree.change("pick", args);
        dialogs.done(worktree, dialogs.doneText("Picked:", answer));
    }
}

/**
 * @param {Worktree} worktree
 * @param {string} title
 * @param {object} [more]
 */
async function chosenTurn(worktree, title, more = {}) {
    const { checkpoints = [] } = await worktree.call("log", { max_count: SOME_TURNS, ...more });
    const items = checkpoints.map((turn) => ({
        label: nameOf(turn),
        description: about(turn),
        turn,
    }));
    const options = { title, matchOnDescription: true };
    return (await window.showQuickPick(items, options))?.turn;
}

/**
 * Compare the state before a turn with that before a later one, or with now.
 * @param {Worktree} worktree
 * @param {NamedTurn | undefined} old
 * @param {NamedTurn | undefined} later
 */
async function compare(worktree, old, later) {
    const first = given(old);
    const states = { old: first.id, ...(later && { new: later.id }) };
    const { files = [] } = await worktree.call("diff", states);
    const until = later ? `before '${nameOf(later)}'` : "now";
    const compared = worktree.compared(files, first.commit ?? "", later?.commit);
    await showChanges(`Before '${nameOf(first)}', and ${until}`, compared);
}

/**
 * @param {string} title
 * @param {{ left: vscode.Uri, right: vscode.Uri }[]} files
 */
async function showChanges(title, files) {
    if (!files.length) {
        throw new Error("no file differs");
    }
    const resources = files.map(({ left, right }) => [right, left, right]);
    await vscode.commands.executeCommand("vscode.changes", title, resources);
}

module.exports = { TURN_ACTIONS, goBack, revert };
