// What the commands do; README.md describes them.
"use strict";
const vscode = require("vscode");
const dialogs = require("./dialogs");
const { ToolError } = require("./server");
const { program } = require("./settings");
const { visible } = require("./text");
const { goBack, revert, TURN_ACTIONS } = require("./turn_commands");

/**
 * @import { Action, Answer, Arguments } from "./types"
 * @import { Worktree } from "./worktree"
 */

const { window } = vscode;
const NEAREST = "Show Nearest Text";
const SET_PATH = "Set Path";
const PLAIN = /^[\w./-]+$/; // for a shell
const SHOWN = 5000; // milliseconds

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
    accept: (worktree, args) => change(worktree, "accept", args, "Accepted"),
    apply_edit: (worktree, args) => change(worktree, "apply_edit", args, "Changed"),
    discard: (worktree, args) => discard(worktree, args),
    restore: (worktree, args) => goBack(worktree, "restore", "Restore?", "Restore", args),
    revert: (worktree, { turns = [], ...more }) =>
        revert(
            worktree,
            turns.map((id) => ({ id })),
            more,
        ),
    undo: (worktree, args) => goBack(worktree, "undo", "Undo?", "Undo", args),
    redo: (worktree, args) => goBack(worktree, "redo", "Redo?", "Redo", args),
};

/** @type {Record<string, Action>} */
const ACTIONS = {
    ...TURN_ACTIONS,
    apply: async (worktree) => change(worktree, "apply_edit", await edit(), "Changed"),
    propose: async (worktree) => {
        const { files } = await worktree.call("propose", await edit(), worktree.unsaved());
        window.setStatusBarMessage(dialogs.doneText("Proposed:", { files: files ?? [] }), SHOWN);
    },
    accept: (worktree, row) => change(worktree, "accept", decided(worktree, row), "Accepted"),
    discard: (worktree, row) => discard(worktree, decided(worktree, row)),
    acceptAll: async (worktree) => decideAll(worktree, "Accept"),
    discardAll: async (worktree) => decideAll(worktree, "Discard"),
    installHooks: async (worktree) => {
        const terminal = window.createTerminal({ name: "git-boocode", cwd: worktree.top });
        terminal.show();
        const [name, words] = program();
        const quoted = PLAIN.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`;
        terminal.sendText([quoted, ...words, "hooks", "install"].join(" "));
    },
    setPath: async () => {
        await vscode.commands.executeCommand("workbench.action.openSettings", "boocode.path");
    },
    refresh: async () => {},
};

/** What the user has selected, or copied: a model's edit in any format. */
async function edit() {
    const editor = window.activeTextEditor;
    const selected = editor?.document.getText(editor.selection);
    return { input: selected || (await vscode.env.clipboard.readText()) };
}

/**
 * The file of a row, of the proposal that the user sees.
 * @param {Worktree} worktree
 * @param {{ paths?: string[] }} row
 * @returns {Arguments}
 */
function decided({ seen }, { paths }) {
    return { ...(paths && { paths }), ...(paths && seen && { expect: seen }) };
}

/**
 * Accept or discard everything that is proposed, after a question.
 * @param {Worktree} worktree
 * @param {"Accept" | "Discard"} verb
 */
async function decideAll(worktree, verb) {
    const { files = [], proposal } = await worktree.call("status", {}, worktree.unsaved());
    const listed = files.filter(({ status }) => status && status !== "~");
    const detail = listed.map(({ status, path }) => `${status} ${visible(path)}`).join("\n");
    if (!listed.length) {
        throw new Error("nothing is proposed");
    }
    if (await dialogs.confirmed(`${verb} all that is proposed?`, detail, verb)) {
        const args = { expect: proposal ?? undefined };
        const isAccept = verb === "Accept";
        await (isAccept ? change(worktree, "accept", args, "Accepted") : discard(worktree, args));
    }
}

/**
 * @param {Worktree} worktree
 * @param {string} tool
 * @param {Arguments} args
 * @param {string} verb
 */
async function change(worktree, tool, args, verb) {
    const answer = await worktree.change(tool, args);
    if (tool === "accept") {
        worktree.seen = answer.proposal ?? undefined;
    }
    const text = dialogs.doneText(`${verb}:`, answer);
    if (tool !== "apply_edit") {
        dialogs.done(worktree, text);
    } else if (answer.id && !answer.files?.some((file) => file.text !== undefined)) {
        dialogs.done(worktree, text, { edit: answer.id });
    } else {
        // Unsaved documents have the editor's own undo.
        window.setStatusBarMessage(text, SHOWN);
    }
}

/**
 * @param {Worktree} worktree
 * @param {Arguments} args
 */
async function discard(worktree, args) {
    const answer = await worktree.call("discard", args, worktree.unsaved());
    worktree.seen = answer.proposal ?? undefined;
    dialogs.done(worktree, dialogs.doneText("Discarded:", answer));
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
    const isMissing = error instanceof ToolError && error.isMissing;
    const more = [...(places.length ? [NEAREST] : []), ...(isMissing ? [SET_PATH] : [])];
    const buttons = [...steps.keys(), ...more];
    // Only a dialog has lines.
    const options = texts.length ? { modal: true, detail: texts.join("\n") } : {};
    const chosen = await window.showErrorMessage(error.message, options, ...buttons);
    if (chosen === NEAREST) {
        await showPlace(worktree, places);
    } else if (chosen === SET_PATH) {
        await vscode.commands.executeCommand("boocode.setPath", { worktree });
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
            const given = other
                ? more
                : { ...args, dry_run: undefined, ...more, ...forces(args, more) };
            found.set(button, { text, run: () => guarded(worktree, () => again(worktree, given)) });
        }
    }
    return found;
}

/**
 * All refusals that are overridden, those of the first call and those of the next one.
 * @param {Arguments} args
 * @param {Arguments} more
 */
function forces({ force: before }, { force: next }) {
    const areLists = Array.isArray(before) && Array.isArray(next);
    return areLists ? { force: [...new Set([...before, ...next])] } : {};
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
