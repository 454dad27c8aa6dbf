// What the commands do; README.md describes them.
"use strict";
const vscode = require("vscode");
const { ToolError } = require("./server");

/**
 * @import { Answer, Hunk, Row } from "./types"
 * @import { Worktree } from "./worktree"
 */

const { window, workspace } = vscode;

/** @type {Record<string, (worktree: Worktree, row: Partial<Row>) => Promise<unknown>>} */
const ACTIONS = {
    apply: async (worktree) => worktree.change("apply_edit", await edit()),
    propose: async (worktree) => worktree.call("propose", await edit(), worktree.unsaved()),
    checkpoint: (worktree) => worktree.call("checkpoint", {}),
    restore: (worktree, { id }) => goBack(worktree, "Restore", { checkpoint: id }),
    restoreFile: (worktree, { turn, paths }) =>
        goBack(worktree, "Restore", { checkpoint: turn, paths: literal(paths) }),
    restoreHunks: (worktree, { turn, paths }) => restoreHunks(worktree, turn, paths),
    revert: (worktree, { id }) => revert(worktree, id ? [id] : []),
    undo: (worktree) => goBack(worktree, "Undo", {}),
    // All files if there are no paths.
    accept: (worktree, { paths }) => accept(worktree, paths),
    discard: (worktree, { paths }) => worktree.call("discard", { paths }, worktree.unsaved()),
    refresh: async () => {},
};

/** What the user has selected, or copied: a model's edit in any format. */
async function edit() {
    const editor = window.activeTextEditor;
    const selected = editor?.document.getText(editor.selection);
    return { input: selected || (await vscode.env.clipboard.readText()) };
}

/**
 * @param {string} question
 * @param {string} detail
 * @param {string} button
 */
async function confirmed(question, detail, button) {
    const options = { modal: true, detail };
    return (await window.showWarningMessage(question, options, button)) === button;
}

/**
 * Save unsaved documents if the user agrees; whether none is left.
 * @param {Worktree} worktree
 */
async function saved(worktree) {
    const unsaved = [...worktree.unsaved().keys()].join("\n");
    if (!unsaved) {
        return true;
    }
    const question = "Save these files first?";
    return (await confirmed(question, unsaved, "Save")) && workspace.saveAll();
}

/** Paths as pathspecs that match nothing else. */
function literal(/** @type {string[]} */ paths = []) {
    return paths.map((path) => `:(top,literal)${path}`);
}

/**
 * Restore or undo, after unsaved documents are saved and the user has seen what changes.
 * @param {Worktree} worktree
 * @param {"Restore" | "Undo"} name
 * @param {object} args
 */
async function goBack(worktree, name, args) {
    if (!(await saved(worktree))) {
        return;
    }
    const tool = name.toLowerCase();
    const plan = await worktree.call(tool, { ...args, dry_run: true });
    const detail = described(plan, "paths" in args);
    if (await confirmed(`${name}?`, detail, name)) {
        await worktree.call(tool, args);
    }
}

/**
 * Restore the hunks of a file that the user chooses, to before a turn.
 * @param {Worktree} worktree
 * @param {string} turn
 * @param {string[]} files
 */
async function restoreHunks(worktree, turn = "", files = []) {
    if (!(await saved(worktree))) {
        return;
    }
    const paths = literal(files.slice(-1));
    const plan = await worktree.call("restore", { checkpoint: turn, paths, dry_run: true });
    const [change] = plan.changed ?? [];
    const hunks = change?.hunks ?? [];
    if (!hunks.length) {
        const why = change ? "has no hunks" : "is as it was before the turn";
        throw new Error(`'${files.at(-1)}' ${why}`);
    }
    const items = hunks.map((hunk) => ({
        label: `line ${hunk.start_line}`,
        detail: textOf(hunk),
        number: hunk.number,
    }));
    const title = "Restore these hunks";
    const chosen = await window.showQuickPick(items, { canPickMany: true, title });
    if (chosen?.length) {
        const hunk = chosen.map(({ number }) => number);
        await worktree.call("restore", { checkpoint: turn, paths, hunk, expect: change?.version });
    }
}

/** @param {Hunk} hunk */
function textOf({ old_text, new_text }) {
    /**
     * @param {string} mark
     * @param {string} text
     */
    const marked = (mark, text) =>
        text
            ? text
                  .replace(/\n$/, "")
                  .split("\n")
                  .map((line) => `${mark}${line}`)
            : [];
    return [...marked("-", old_text), ...marked("+", new_text)].join(" ⏎ ");
}

/**
 * Take turns back, after the user has seen what changes; what others wrote since stays.
 * @param {Worktree} worktree
 * @param {string[]} turns
 * @returns {Promise<void>}
 */
async function revert(worktree, turns) {
    if (!(await saved(worktree))) {
        return;
    }
    const question = turns.length > 1 ? `Take back ${turns.length} turns?` : "Take back this turn?";
    /** @type {Answer} */
    let plan;
    try {
        plan = await worktree.call("revert", { turns, dry_run: true });
    } catch (error) {
        const later = laterTurns(error, turns);
        if (!later.length) {
            throw error;
        }
        const detail = conflictsOf(error);
        const button = "Take Back Later Turns, Too";
        if (await confirmed("Later turns have changed the same lines.", detail, button)) {
            await revert(worktree, [...turns, ...later]);
        }
        return;
    }
    const lines = [...changesOf(plan), "what others wrote since stays"];
    if (await confirmed(question, lines.join("\n"), "Take Back")) {
        await worktree.call("revert", { turns });
    }
}

/**
 * The turns that wrote conflicting lines, except some.
 * @param {unknown} error
 * @param {string[]} turns
 */
function laterTurns(error, turns) {
    const conflicts = (error instanceof ToolError && error.answer?.conflicts) || [];
    const found = conflicts.flatMap(({ by }) => by.map(({ turn }) => turn ?? ""));
    return [...new Set(found)].filter((turn) => turn && !turns.includes(turn));
}

/** @param {unknown} error */
function conflictsOf(error) {
    const conflicts = (error instanceof ToolError && error.answer?.conflicts) || [];
    const lines = conflicts.map(({ path, by }) => {
        const writers = by.map(({ turn, label }) => (turn ? `'${label || turn}'` : label));
        return `${path}: ${writers.join(", ")}`;
    });
    return lines.join("\n");
}

/**
 * The files that change, and those that are left alone.
 * @param {Answer} plan
 */
function changesOf(plan) {
    const lines = (plan.changed ?? []).map(({ action, path }) => `${action} ${path}`);
    if (!lines.length) {
        lines.push("no files change");
    }
    for (const { path, reason } of plan.kept ?? []) {
        lines.push(`left alone: ${path}: ${reason}`);
    }
    return lines;
}

/**
 * What a restore or an undo would change.
 * @param {Answer} plan
 * @param {boolean} isOfPaths
 */
function described(plan, isOfPaths) {
    const lines = changesOf(plan);
    if (plan.index_reset) {
        lines.push("the staging area changes");
    }
    if (plan.head_moved) {
        lines.push("HEAD moves");
    }
    if (plan.proposal) {
        lines.push("the proposal goes back");
    } else if (isOfPaths) {
        lines.push("the conversation and other files stay");
    } else if (plan.conversation_kept) {
        lines.push("the conversation stays, because its agent is in a turn");
    } else if (plan.conversation_left) {
        lines.push("the conversation stays");
    } else {
        lines.push("the conversation goes back if a callback restores it");
    }
    return lines.join("\n");
}

/**
 * Accept files, and offer to merge those that both sides have changed.
 * @param {Worktree} worktree
 * @param {string[] | undefined} paths
 */
async function accept(worktree, paths) {
    try {
        await worktree.change("accept", { paths });
    } catch (error) {
        const refused = error instanceof ToolError ? error.answer?.error : undefined;
        if (refused?.code !== "conflict") {
            throw error;
        }
        if (await confirmed(refused.message, "", "Merge")) {
            await worktree.change("accept", { paths, merge: true });
        }
    }
}

/**
 * Show an error, and lead to the places that a refused edit may mean.
 * @param {Error} error
 * @param {Worktree} worktree
 */
async function report(error, worktree) {
    const answer = error instanceof ToolError ? error.answer : undefined;
    const places = (answer?.failures ?? []).flatMap(({ path, candidates }) =>
        candidates.map(({ start_line, end_line, text }) => ({
            label: `${path}:${start_line}`,
            detail: text,
            path,
            selection: new vscode.Range(start_line - 1, 0, end_line, 0),
        })),
    );
    const hint = answer?.error?.hint;
    const message = hint ? `${error.message}\n${hint}` : error.message;
    const buttons = places.length ? ["Show Nearest Text"] : [];
    if (!(await window.showErrorMessage(message, ...buttons))) {
        return;
    }
    const place = places.length > 1 ? await window.showQuickPick(places) : places[0];
    if (place) {
        const { path, selection } = place;
        await window.showTextDocument(worktree.file(path), { selection });
    }
}

module.exports = { ACTIONS, report };
