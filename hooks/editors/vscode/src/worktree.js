// A worktree of git: its server, its unsaved documents, and the versions of its files.
"use strict";
const { execFile } = require("node:child_process");
const { existsSync, realpathSync } = require("node:fs");
const { join, relative } = require("node:path");
const { promisify } = require("node:util");
const vscode = require("vscode");
const { Server } = require("./server");

/** @import { Answer, AnsweredFile, Documents, TextEdit } from "./types" */

const MAX_OUTPUT = 1 << 28; // bytes that git may print
const SLOW = 1000; // milliseconds after which a call can be cancelled
const OUTSIDE_OR_GIT = /^\.\.(\/|$)|(^|\/)\.git(\/|$)/;

/**
 * @template T
 * @param {string} name
 * @param {T} fallback
 * @returns {T}
 */
function setting(name, fallback) {
    return vscode.workspace.getConfiguration("boocode").get(name, fallback);
}

/**
 * What git prints; its error message is that of the error.
 * @param {string} directory
 * @param {string[]} args
 */
async function git(directory, ...args) {
    const program = setting("gitPath", "git");
    const options = { maxBuffer: MAX_OUTPUT };
    try {
        const run = promisify(execFile);
        return (await run(program, ["-C", directory, ...args], options)).stdout;
    } catch (error) {
        const { stderr, message } = /** @type {{ stderr?: string, message: string }} */ (error);
        throw new Error(stderr?.trim() || message);
    }
}

/**
 * The path of a file without symbolic links, as git has it.
 * @param {string} file
 */
function real(file) {
    return existsSync(file) ? realpathSync(file) : file;
}

/** @param {vscode.TextDocument} document */
function textOf(document) {
    const mark = document.encoding === "utf8bom" ? "\ufeff" : "";
    return mark + document.getText();
}

class Worktree {
    #top;
    #server;

    /**
     * @param {string} top
     * @param {(line: string) => void} log
     */
    constructor(top, log) {
        this.#top = top;
        const options = ["-C", top, "boocode", "serve", "--repo", top];
        this.#server = new Server(setting("gitPath", "git"), options, log);
    }

    dispose() {
        this.#server.dispose();
    }

    /** @param {string} path */
    file(path) {
        return vscode.Uri.file(join(this.#top, path.toWellFormed()));
    }

    /**
     * A version of a file: the blob that git calls `name`, or without one an empty text.
     * @param {string} path
     * @param {string | null} [name]
     */
    version(path, name) {
        return vscode.Uri.from({
            scheme: "boocode",
            path: `/${path.toWellFormed()}`,
            query: JSON.stringify([this.#top, name || ""]),
        });
    }

    /** The unsaved documents by path. */
    unsaved() {
        /** @type {Documents} */
        const found = new Map();
        for (const document of vscode.workspace.textDocuments) {
            const path = relative(this.#top, real(document.uri.fsPath));
            const isFile = document.uri.scheme === "file";
            if (document.isDirty && isFile && !OUTSIDE_OR_GIT.test(path)) {
                found.set(path, document);
            }
        }
        return found;
    }

    /**
     * The answer of a tool, which the user can cancel after a second.
     * @param {string} tool
     * @param {object} args
     * @param {Documents} [buffers]
     */
    async call(tool, args, buffers = new Map()) {
        /** @type {Record<string, string>} */
        const texts = {};
        for (const [path, document] of buffers) {
            texts[path] = textOf(document);
        }
        const given = buffers.size ? { ...args, buffers: texts } : args;

        const canceller = new AbortController();
        const limit = AbortSignal.timeout(setting("timeout", 120) * 1000);
        const signal = AbortSignal.any([canceller.signal, limit]);
        const answer = this.#server.request(tool, given, signal);
        const timer = setTimeout(() => showProgress(tool, answer, canceller), SLOW);
        return answer.finally(() => clearTimeout(timer));
    }

    /**
     * Let a tool change files; unsaved documents change by one edit that the editor can undo.
     * @param {string} tool
     * @param {object} args
     */
    async change(tool, args) {
        const dryRun = { ...args, dry_run: true };
        const planned = await this.call(tool, dryRun, this.unsaved());
        const unsaved = this.unsaved();
        refuseToLose(planned.files ?? [], unsaved);
        const versions = new Map();
        for (const document of unsaved.values()) {
            versions.set(document, document.version);
        }

        const { files = [] } = await this.call(tool, args, unsaved);
        const edit = new vscode.WorkspaceEdit();
        for (const { path, text_edits = [] } of files) {
            const document = unsaved.get(path);
            if (!document) {
                continue;
            }
            if (document.version !== versions.get(document)) {
                throw new Error(`'${path}' was edited meanwhile`);
            }
            for (const { range, newText } of text_edits) {
                edit.replace(document.uri, rangeOf(range), newText);
            }
        }
        if (edit.size && !(await vscode.workspace.applyEdit(edit))) {
            throw new Error("the editor did not apply the edit");
        }
    }
}

/** @param {TextEdit["range"]} range */
function rangeOf({ start, end }) {
    return new vscode.Range(start.line, start.character, end.line, end.character);
}

/**
 * Refuse to delete or rename a file whose document is not saved.
 * @param {AnsweredFile[]} files
 * @param {Documents} unsaved
 */
function refuseToLose(files, unsaved) {
    for (const { action, from, path } of files) {
        const gone = action === "delete" ? path : from;
        if (gone !== undefined && unsaved.has(gone)) {
            throw new Error(`save '${gone}' first: it is to be deleted or renamed`);
        }
    }
}

/**
 * @param {string} tool
 * @param {Promise<Answer>} answer
 * @param {AbortController} canceller
 */
function showProgress(tool, answer, canceller) {
    const options = {
        location: vscode.ProgressLocation.Notification,
        title: `git boocode: ${tool}`,
        cancellable: true,
    };
    vscode.window.withProgress(options, async (_, token) => {
        token.onCancellationRequested(() => {
            canceller.abort(new Error("cancelled"));
        });
        // The caller reports an error.
        await answer.catch(() => {});
    });
}

module.exports = { git, Worktree };
