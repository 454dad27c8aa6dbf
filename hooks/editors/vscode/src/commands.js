// What the commands do; README.md describes them.
"use strict";
const vscode = require("vscode");
const { ToolError } = require("./server");

/**
 * @import { Answer, Arguments, Hunk, Row } from "./types"
 * @import { Worktree } from "./worktree"
 */

const { window, workspace } = vscode;
const NEAREST = "Show Nearest Text";

/**
 * The buttons of the steps that a refusal can name; others are none for an editor.
 * @type {Record<string, string>}
 */
const BUTTONS = {
    merge: "Merge",
    markers: "Write Both Versions",
    overwrite: "Overwrite",
    force: "Do It Anyway",
    undo: "Undo",
};

/**
 * How a refused call is made again, with more arguments.
 * @type {Record<string, (worktree: Worktree, args: Arguments) => Promise<unknown>>}
 */
const AGAIN = {
    accept: (worktree, args) => worktree.change("accept", args),
    apply_edit: (worktree, args) => worktree.change("apply_edit", args),
    discard: (worktree, args) => worktree.call("discard", args, worktree.unsaved()),
    restore: (worktree, args) => goBack(worktree, "Restore", args),
    revert: (worktree, { turns = [], ...more }) => revert(worktree, turns, more),
    undo: (worktree, args) => goBack(worktree, "Undo", args),
};

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
    accept: (worktree, { paths }) => worktree.change("accept", { paths }),
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
 * @param {object} [more]
 * @returns {Promise<void>}
 */
async function revert(worktree, turns, more = {}) {
    const question = turns.length > 1 ? `Take back ${turns.length} turns?` : "Take back this turn?";
    const args = { ...more, turns };
    /** @type {Answer} */
    let plan;
    try {
        plan = await worktree.call("revert", { ...args, dry_run: true }, worktree.unsaved());
    } catch (error) {
        const later = laterTurns(error, turns);
        if (!later.length) {
            throw error;
        }
        const detail = conflictsOf(error);
        const button = "Take Back Later Turns, Too";
        if (await confirmed("Later turns have changed the same lines.", detail, button)) {
            await revert(worktree, [...turns, ...later], more);
        }
        return;
    }
    const lines = [...changesOf(plan), "what others wrote since stays"];
    if (await confirmed(question, lines.join("\n"), "Take Back")) {
        await worktree.change("revert", args);
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
 * Show an error, and offer what works instead: other places, or other arguments.
 * @param {Error} error
 * @param {Worktree} worktree
 * @returns {Promise<void>}
 */
async function report(error, worktree) {
    const answer = error instanceof ToolError ? error.answer : undefined;
    const places = placesOf(answer);
    const steps = stepsOf(error, worktree);
    const texts = [...steps].map(([button, { text }]) => `${button}: ${text}`);
    const buttons = [...steps.keys(), ...(places.length ? [NEAREST] : [])];
    // Only a dialog has lines.
    const options = texts.length ? { modal: true, detail: texts.join("\n") } : {};
    const chosen = await window.showErrorMessage(error.message, options, ...buttons);
    if (chosen === NEAREST) {
        await showPlace(worktree, places);
    } else if (chosen) {
        await steps.get(chosen)?.run();
    }
}

/** @param {Answer | undefined} answer */
function placesOf(answer) {
    return (answer?.failures ?? []).flatMap(({ path, candidates }) =>
        candidates.map(({ start_line, end_line, text }) => ({
            label: `${path}:${start_line}`,
            detail: text,
            path,
            selection: new vscode.Range(start_line - 1, 0, end_line, 0),
        })),
    );
}

/**
 * @param {Worktree} worktree
 * @param {ReturnType<typeof placesOf>} places
 */
async function showPlace(worktree, places) {
    const place = places.length > 1 ? await window.showQuickPick(places) : places[0];
    if (place) {
        const { path, selection } = place;
        await window.showTextDocument(worktree.file(path), { selection });
    }
}

/**
 * The steps that a refusal names and that somebody can take here, by their buttons.
 * @param {Error} error
 * @param {Worktree} worktree
 */
function stepsOf(error, worktree) {
    /** @type {Map<string, { text: string, run: () => Promise<unknown> }>} */
    const found = new Map();
    if (!(error instanceof ToolError) || !error.call) {
        return found;
    }
    const { tool, args } = error.call;
    for (const { step, tool: other, arguments: more, text } of error.answer?.error?.next ?? []) {
        const button = BUTTONS[step];
        const again = AGAIN[other ?? tool];
        if (button && again && more) {
            const given = other ? more : { ...args, dry_run: undefined, ...more };
            found.set(button, { text, run: () => guarded(worktree, () => again(worktree, given)) });
        }
    }
    return found;
}

/**
 * @param {Worktree} worktree
 * @param {() => Promise<unknown>} action
 */
async function guarded(worktree, action) {
    try {
        await action();
    } catch (error) {
        await report(/** @type {Error} */ (error), worktree);
    }
}

module.exports = { ACTIONS, guarded };
