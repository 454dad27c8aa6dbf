// Questions before something changes, and what was done afterwards.
"use strict";
const vscode = require("vscode");
const { counted, visible } = require("./text");

/**
 * @import { Answer, Change, Hunk } from "./types"
 * @import { Worktree } from "./worktree"
 */

const { window, workspace } = vscode;

/**
 * The button that the user chooses; undefined for none.
 * @param {string} question
 * @param {string} detail
 * @param {string[]} buttons
 */
function asked(question, detail, ...buttons) {
    return window.showWarningMessage(question, { modal: true, detail }, ...buttons);
}

/**
 * @param {string} question
 * @param {string} detail
 * @param {string} button
 */
async function confirmed(question, detail, button) {
    return (await asked(question, detail, button)) === button;
}

/**
 * Save unsaved documents if the user agrees; whether none is left. With paths, only these matter.
 * @param {Worktree} worktree
 * @param {string[]} [only]
 */
async function saved(worktree, only) {
    const paths = [...worktree.unsaved().keys()];
    const unsaved = paths
        .filter((path) => only?.includes(path) ?? true)
        .map(visible)
        .join("\n");
    if (!unsaved) {
        return true;
    }
    return (await confirmed("Save these files first?", unsaved, "Save")) && workspace.saveAll();
}

/**
 * Say what was done, and offer to undo it, or to redo what was undone.
 * @param {Worktree} worktree
 * @param {string} text
 * @param {{ edit?: string, back?: "undo" | "redo" }} [how] the id of an edit, which has an undo of
 *     its own, and the command that goes back
 */
function done(worktree, text, { edit, back = "undo" } = {}) {
    const goBack = () => vscode.commands.executeCommand(`boocode.${back}`, { worktree, edit });
    const button = back === "undo" ? "Undo" : "Redo";
    // Nobody has to answer before the command ends.
    window.showInformationMessage(text, button).then((chosen) => chosen && goBack());
}

/**
 * @param {string} verb
 * @param {Answer} answer
 */
function doneText(verb, { changed, files }) {
    return `${verb} ${counted((changed ?? files ?? []).length, "file")}.`;
}

/**
 * The files that change, and those that are left alone.
 * @param {Answer} plan
 */
function changesOf(plan) {
    const lines = (plan.changed ?? []).map(({ action, path }) => `${action} ${visible(path)}`);
    if (!lines.length) {
        lines.push("no files change");
    }
    for (const { path, reason, missing } of plan.kept ?? []) {
        lines.push(`${missing ? "not brought back" : "left alone"}: ${visible(path)}: ${reason}`);
    }
    return lines;
}

/**
 * Whether a step that is planned would take the conversation along.
 * @param {Answer} plan
 */
function takesConversation(plan) {
    return !(plan.proposal || plan.conversation_kept || plan.conversation_left);
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
    for (const { id, subject } of plan.removed_commits ?? []) {
        lines.push(`leaves the branch: ${id.slice(0, 9)} ${visible(subject)}`);
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
 * The numbers of the hunks of a file that the user chooses; undefined for none.
 * @param {Change | undefined} change
 * @param {string} title
 */
async function chosenHunks(change, title) {
    const items = (change?.hunks ?? []).map((hunk) => ({
        label: `line ${hunk.start_line}`,
        detail: textOf(hunk),
        number: hunk.number,
    }));
    const chosen = await window.showQuickPick(items, { canPickMany: true, title });
    return chosen?.length ? chosen.map(({ number }) => number) : undefined;
}

/** @param {Hunk} hunk */
function textOf({ old_text, new_text }) {
    /**
     * @param {string} mark
     * @param {string} text
     */
    const marked = (mark, text) => {
        const lines = text ? text.replace(/\n$/, "").split("\n") : [];
        return lines.map((line) => `${mark}${visible(line)}`);
    };
    return [...marked("-", old_text), ...marked("+", new_text)].join(" ⏎ ");
}

module.exports = {
    asked,
    changesOf,
    chosenHunks,
    confirmed,
    described,
    done,
    doneText,
    saved,
    takesConversation,
};
