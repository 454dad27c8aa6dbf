// What is proposed, in the editor: a line with commands above each hunk, and marks beside it.
"use strict";
const vscode = require("vscode");
const dialogs = require("./dialogs");
const { ToolError } = require("./server");

/**
 * @import { Answer, Hunk } from "./types"
 * @import { Worktree } from "./worktree"
 */

const { window, workspace } = vscode;
const SETTLED = 300; // milliseconds without a key before the marks follow

const KINDS = /** @type {const} */ ({
    added: "editorGutter.addedBackground",
    changed: "editorGutter.modifiedBackground",
    deleted: "editorGutter.deletedBackground",
});

/** @param {Hunk} hunk */
function kindOf({ old_text, new_text }) {
    return old_text === "" ? "added" : new_text === "" ? "deleted" : "changed";
}

/**
 * The lines of a hunk, from 0; an insertion has the one below it.
 * @param {vscode.TextDocument} document
 * @param {Hunk} hunk
 */
function rangeOf(document, { start_line, end_line }) {
    const last = document.lineCount - 1;
    const first = Math.min(start_line - 1, last);
    const end = Math.min(Math.max((end_line ?? start_line) - 1, first), last);
    return new vscode.Range(first, 0, end, 0);
}

/**
 * A file as it is proposed.
 * @typedef {{ worktree: Worktree, path: string, preview: Answer, hunks: Hunk[] }} Proposed
 */

/**
 * Shows the hunks of the documents that are visible.
 * @implements {vscode.CodeLensProvider}
 */
class ProposedHunks {
    /** @type {vscode.EventEmitter<void>} */
    #moved = new vscode.EventEmitter();
    onDidChangeCodeLenses = this.#moved.event;
    /** @type {WeakMap<vscode.TextDocument, { version: number, found: Promise<Proposed | undefined> }>} */
    #known = new WeakMap();
    /** @type {Map<string, vscode.TextEditorDecorationType>} */
    #marks = new Map();
    #open;
    /** @type {NodeJS.Timeout | undefined} */
    #timer;

    /**
     * @param {(uri: vscode.Uri) => Promise<Worktree | undefined>} open the worktree of a file, if
     *     something is proposed there
     * @param {vscode.Disposable[]} subscriptions
     */
    constructor(open, subscriptions) {
        this.#open = open;
        for (const [kind, colour] of Object.entries(KINDS)) {
            const type = window.createTextEditorDecorationType({
                isWholeLine: true,
                borderWidth: "0 0 0 3px",
                borderStyle: kind === "deleted" ? "dotted" : "solid",
                borderColor: new vscode.ThemeColor(colour),
                overviewRulerColor: new vscode.ThemeColor(colour),
                overviewRulerLane: vscode.OverviewRulerLane.Left,
            });
            this.#marks.set(kind, type);
            subscriptions.push(type);
        }
        subscriptions.push(
            vscode.languages.registerCodeLensProvider({ scheme: "file" }, this),
            window.onDidChangeVisibleTextEditors(() => this.#draw()),
            workspace.onDidChangeTextDocument(() => this.#later()),
        );
    }

    /** Look again, because a proposal or a file has changed. */
    refresh() {
        this.#known = new WeakMap();
        this.#moved.fire();
        this.#later();
    }

    #later() {
        clearTimeout(this.#timer);
        this.#timer = setTimeout(() => this.#draw(), SETTLED);
    }

    async #draw() {
        for (const editor of window.visibleTextEditors) {
            const { document } = editor;
            const hunks = (await this.of(document))?.hunks ?? [];
            for (const [kind, type] of this.#marks) {
                const own = hunks.filter((hunk) => kindOf(hunk) === kind);
                editor.setDecorations(
                    type,
                    own.map((hunk) => rangeOf(document, hunk)),
                );
            }
        }
    }

    /**
     * What is proposed for a document as it is now.
     * @param {vscode.TextDocument} document
     */
    of(document) {
        const known = this.#known.get(document);
        if (known?.version === document.version) {
            return known.found;
        }
        const found = this.#asked(document);
        this.#known.set(document, { version: document.version, found });
        return found;
    }

    /**
     * @param {vscode.TextDocument} document
     * @returns {Promise<Proposed | undefined>}
     */
    async #asked({ uri }) {
        const worktree = uri.scheme === "file" ? await this.#open(uri) : undefined;
        const path = worktree?.pathOf(uri);
        if (!worktree || path === undefined) {
            return undefined;
        }
        try {
            const preview = await worktree.call("preview", { path }, worktree.unsaved());
            return { worktree, path, preview, hunks: preview.hunks ?? [] };
        } catch (error) {
            // Nothing is proposed for this file, or it cannot be compared: there is nothing to show.
            if (error instanceof ToolError) {
                return undefined;
            }
            throw error;
        }
    }

    /** @param {vscode.TextDocument} document */
    async provideCodeLenses(document) {
        const proposed = await this.of(document);
        return (proposed?.hunks ?? []).flatMap((hunk) => {
            const range = rangeOf(document, hunk);
            /**
             * @param {string} title
             * @param {string} name
             */
            const lens = (title, name) => {
                const command = `boocode.${name}`;
                const args = [document.uri, hunk.number, proposed?.preview.proposal];
                return new vscode.CodeLens(range, { title, command, arguments: args });
            };
            return [
                lens("$(check) Accept", "acceptHunk"),
                lens("$(close) Discard", "discardHunk"),
                lens("$(diff) Compare", "compareHunk"),
            ];
        });
    }

    /**
     * A hunk of a document: the one of a number, or the one at the cursor.
     * @param {vscode.Uri | undefined} uri
     * @param {number | undefined} number
     */
    async #chosen(uri, number) {
        const editor = window.activeTextEditor;
        const document =
            workspace.textDocuments.find((each) => each.uri.toString() === uri?.toString()) ??
            editor?.document;
        const proposed = document && (await this.of(document));
        const line = editor?.selection.active.line ?? 0;
        const hunk = proposed?.hunks.find((each) => {
            const { start, end } = rangeOf(/** @type {vscode.TextDocument} */ (document), each);
            return number ? each.number === number : start.line <= line && line <= end.line;
        });
        if (!proposed || !hunk) {
            throw new Error("nothing is proposed for this line");
        }
        return { ...proposed, hunk };
    }

    /**
     * Accept or discard a hunk of the proposal that was shown. Hunks are counted in what is
     * proposed, so that nobody's typing gives a number another meaning.
     * @param {"accept" | "discard"} tool
     * @param {vscode.Uri} [uri]
     * @param {number} [number]
     * @param {string} [seen]
     */
    async decide(tool, uri, number, seen) {
        const { worktree, path, preview, hunk } = await this.#chosen(uri, number);
        const expect = seen ?? preview.proposal;
        const args = { paths: [path], hunk: [hunk.number], ...(expect && { expect }) };
        if (tool === "accept") {
            // What the user sees is the hunk in the text with his own changes.
            await worktree.change(tool, { ...args, merge: preview.status?.includes("~") });
        } else {
            await worktree.call(tool, args, worktree.unsaved());
        }
        dialogs.done(worktree, `${tool === "accept" ? "Accepted" : "Discarded"} a hunk.`);
    }

    /**
     * Compare a document with what is proposed for it.
     * @param {vscode.Uri} [uri]
     * @param {number} [number]
     */
    async compare(uri, number) {
        const { worktree, path } = await this.#chosen(uri, number);
        const { files = [] } = await worktree.call("status", {}, worktree.unsaved());
        const output = files.find((file) => file.path === path)?.output;
        const sides = [worktree.file(path), worktree.version(path, output)];
        const title = `${path} (local and output)`;
        await vscode.commands.executeCommand("vscode.diff", ...sides, title);
    }

    /**
     * Move the cursor to the next or the previous hunk, around the end.
     * @param {1 | -1} step
     */
    async move(step) {
        const editor = window.activeTextEditor;
        const hunks = (editor && (await this.of(editor.document))?.hunks) ?? [];
        if (!editor || !hunks.length) {
            throw new Error("nothing is proposed for this file");
        }
        const lines = hunks.map((hunk) => rangeOf(editor.document, hunk).start.line);
        const here = editor.selection.active.line;
        const next =
            step > 0
                ? (lines.find((line) => line > here) ?? lines[0])
                : (lines.findLast((line) => line < here) ?? lines.at(-1));
        const place = new vscode.Position(next ?? 0, 0);
        editor.selection = new vscode.Selection(place, place);
        editor.revealRange(new vscode.Range(place, place));
    }
}

module.exports = { ProposedHunks };
