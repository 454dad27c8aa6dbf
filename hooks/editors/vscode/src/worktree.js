// A worktree of git: its server, its unsaved documents, and the versions of its files.
"use strict";
const { execFile } = require("node:child_process");
const { existsSync, realpathSync } = require("node:fs");
const { relative } = require("node:path");
const { promisify } = require("node:util");
const vscode = require("vscode");
const { Server, ToolError } = require("./server");
const { program, setting } = require("./settings");
const { fileOf, versionOf } = require("./versions");

/** @import { Answer, AnsweredFile, Buffers, NamedTurn, TextEdit } from "./types" */

const MAX_OUTPUT = 1 << 28; // bytes that git may print
const SLOW = 1000; // milliseconds after which a call can be cancelled
const MOST_TURNS = 50; // before the user asks for more
const MOST_TRIES = 5; // while the user goes on typing
const OUTSIDE_OR_GIT = /^\.\.(\/|$)|(^|\/)\.git(\/|$)/;

/**
 * What git prints; its error message is that of the error.
 * @param {string} directory
 * @param {string[]} args
 */
async function git(directory, ...args) {
    const options = { maxBuffer: MAX_OUTPUT };
    try {
        const run = promisify(execFile);
        return (await run(setting("gitPath", "git"), ["-C", directory, ...args], options)).stdout;
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

const MARK = "\ufeff"; // of the byte order, which is in no document

/** @param {vscode.TextDocument} document */
function textOf(document) {
    return (document.encoding === "utf8bom" ? MARK : "") + document.getText();
}

/** @param {string} text */
function bare(text) {
    return text.startsWith(MARK) ? text.slice(1) : text;
}

class Worktree {
    /** What the view of turns lists: how many, and with which words. */
    listed = { most: MOST_TURNS, words: "" };
    /**
     * The proposal that the user sees in the view.
     * @type {string | undefined}
     */
    seen = undefined;
    #server;
    /** @type {(() => void)[]} */
    #atEnd = [];

    /**
     * @param {string} top
     * @param {(line: string) => void} log
     * @param {() => void} changed is called when turns or proposals have changed
     */
    constructor(top, log, changed) {
        this.top = top;
        this.#server = new Server(program, ["serve", "--repo", top], top, log, changed);
    }

    dispose() {
        this.#server.dispose();
        for (const action of this.#atEnd) {
            action();
        }
    }

    /**
     * Do something when the editor ends.
     * @param {() => void} action
     */
    ends(action) {
        this.#atEnd.push(action);
    }

    /** @param {string} path */
    file(path) {
        return fileOf(this.top, path);
    }

    /**
     * A version of a file: the blob that git calls `name`, or without one an empty text. It may be
     * of a turn.
     * @param {string} path
     * @param {string | null} [name]
     * @param {NamedTurn} [turn]
     */
    version(path, name, turn) {
        return versionOf(this.top, path, name, turn);
    }

    /**
     * The path of a file from the top; undefined if it is outside, or git's own.
     * @param {vscode.Uri} uri
     */
    pathOf(uri) {
        const path = relative(this.top, real(uri.fsPath));
        return OUTSIDE_OR_GIT.test(path) ? undefined : path;
    }

    /**
     * The files that a turn changed, each before and after it.
     * @param {NamedTurn} turn
     */
    async filesOf(turn) {
        const { files = [], before = "", after } = await this.call("show", { name: turn.id });
        return this.compared(files, before, after, turn);
    }

    /**
     * Files in two states, of which the newer one is by default that of now.
     * @param {AnsweredFile[]} files
     * @param {string} before
     * @param {string | null} [after]
     * @param {NamedTurn} [turn]
     */
    compared(files, before, after, turn) {
        return files.map(({ path, from = path, action = "" }) => {
            const old = action === "create" ? null : `${before}:${from}`;
            const left = this.version(from, old, turn);
            const now = after ? this.version(path, `${after}:${path}`, turn) : this.file(path);
            const right = action === "delete" ? this.version(path, null, turn) : now;
            return { path, from, action, left, right };
        });
    }

    /** The unsaved documents by path, as they are now. */
    unsaved() {
        /** @type {Buffers} */
        const found = new Map();
        for (const document of vscode.workspace.textDocuments) {
            const isFile = document.uri.scheme === "file";
            const path = isFile && document.isDirty ? this.pathOf(document.uri) : undefined;
            if (path !== undefined) {
                found.set(path, { document, text: textOf(document), version: document.version });
            }
        }
        return found;
    }

    /**
     * The answer of a tool, which the user can cancel after a second, unless documents have changed
     * for it already.
     * @param {string} tool
     * @param {object} args
     * @param {Buffers} [buffers]
     * @param {{ canEnd?: boolean }} [how]
     */
    async call(tool, args, buffers = new Map(), { canEnd = true } = {}) {
        const texts = [...buffers].map(([path, { text }]) => [path, text]);
        const given = texts.length ? { ...args, buffers: Object.fromEntries(texts) } : args;

        const canceller = new AbortController();
        const limit = AbortSignal.timeout(setting("timeout", 120) * 1000);
        const signal = AbortSignal.any(canEnd ? [canceller.signal, limit] : []);
        const answer = this.#server.request(tool, given, signal);
        const shown = canEnd ? canceller : undefined;
        const timer = setTimeout(() => showProgress(tool, answer, shown), SLOW);
        try {
            return await answer;
        } catch (error) {
            throw error instanceof ToolError
                ? Object.assign(error, { call: { tool, args } })
                : error;
        } finally {
            clearTimeout(timer);
        }
    }

    /**
     * Let a tool change files, all or none; unsaved documents change by one edit that the editor
     * can undo.
     *
     * The documents change first, if they are still those of which the server has computed the
     * edit, and the server then writes the other files. What the user types after that is not in
     * its way.
     * @param {string} tool
     * @param {object} args
     */
    async change(tool, args) {
        for (let tries = 0; tries < MOST_TRIES; tries++) {
            const buffers = this.unsaved();
            const planned = await this.call(tool, { ...args, dry_run: true }, buffers);
            const files = filesOf(planned);
            refuseToLose(files, buffers);
            const edit = editOf(files, buffers);
            const isCurrent = areSame(files, buffers, this.unsaved());
            if (isCurrent && (!edit.size || (await vscode.workspace.applyEdit(edit)))) {
                const seen = tool === "accept" ? { expect: planned.proposal ?? undefined } : {};
                return this.#write(tool, { ...seen, ...args }, files, buffers);
            }
        }
        throw new Error("nothing was changed, because a document changed all the time");
    }

    /**
     * Let a tool write the files whose documents are not unsaved; those have changed already.
     * @param {string} tool
     * @param {object} args
     * @param {AnsweredFile[]} files
     * @param {Buffers} buffers
     */
    async #write(tool, args, files, buffers) {
        try {
            return await this.call(tool, args, buffers, { canEnd: false });
        } catch (error) {
            const back = new vscode.WorkspaceEdit();
            const left = [];
            for (const { path, text } of files) {
                const buffer = buffers.get(path);
                if (buffer && textOf(buffer.document) === text) {
                    back.replace(buffer.document.uri, wholeOf(buffer.document), bare(buffer.text));
                } else if (buffer) {
                    left.push(path);
                }
            }
            if (back.size && !(await vscode.workspace.applyEdit(back))) {
                left.push("other documents");
            }
            if (left.length) {
                const { message } = /** @type {Error} */ (error);
                const where = left.map((path) => `'${path}'`).join(", ");
                throw new Error(`${message}; undo the change of ${where} in the editor`);
            }
            throw error;
        }
    }
}

/**
 * @param {Answer} answer
 * @returns {AnsweredFile[]}
 */
function filesOf({ files, changed }) {
    return files ?? changed ?? [];
}

/**
 * What changes in unsaved documents.
 * @param {AnsweredFile[]} files
 * @param {Buffers} buffers
 */
function editOf(files, buffers) {
    const edit = new vscode.WorkspaceEdit();
    for (const { path, text_edits = [] } of files) {
        const uri = buffers.get(path)?.document.uri;
        if (!uri) {
            continue;
        }
        for (const { range, newText } of text_edits) {
            edit.replace(uri, rangeOf(range), newText);
        }
    }
    return edit;
}

/**
 * Whether the user has changed none of some files meanwhile.
 * @param {AnsweredFile[]} files
 * @param {Buffers} before
 * @param {Buffers} now
 */
function areSame(files, before, now) {
    const paths = files.flatMap(({ path, from = path }) => [path, from]);
    return paths.every((path) => before.get(path)?.version === now.get(path)?.version);
}

/** @param {vscode.TextDocument} document */
function wholeOf(document) {
    return new vscode.Range(0, 0, document.lineCount, 0);
}

/** @param {TextEdit["range"]} range */
function rangeOf({ start, end }) {
    return new vscode.Range(start.line, start.character, end.line, end.character);
}

/**
 * Refuse to delete or rename a file whose document is not saved.
 * @param {AnsweredFile[]} files
 * @param {Buffers} unsaved
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
 * @param {AbortController | undefined} canceller
 */
function showProgress(tool, answer, canceller) {
    const options = {
        location: vscode.ProgressLocation.Notification,
        title: `git boocode: ${tool}`,
        cancellable: canceller !== undefined,
    };
    vscode.window.withProgress(options, async (_, token) => {
        token.onCancellationRequested(() => {
            canceller?.abort(new Error("cancelled"));
        });
        // The caller reports an error.
        await answer.catch(() => {});
    });
}

module.exports = { git, Worktree };
