// A worktree of git: its server, its unsaved documents, and the versions of its files.
import { execFile } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { join, relative } from "node:path";
import { promisify } from "node:util";
import * as vscode from "vscode";
import { Answer, AnsweredFile, Server } from "./server";

const MAX_OUTPUT = 1 << 28; // bytes that git may print
const SLOW = 1000; // milliseconds after which a call can be cancelled
const OUTSIDE_OR_GIT = /^\.\.(\/|$)|(^|\/)\.git(\/|$)/;

type Documents = Map<string, vscode.TextDocument>;

function setting<T>(name: string, fallback: T): T {
    return vscode.workspace.getConfiguration("boocode").get(name, fallback);
}

/** What git prints; its error message is that of the error. */
export async function git(directory: string, ...args: string[]): Promise<string> {
    const program = setting("gitPath", "git");
    const options = { maxBuffer: MAX_OUTPUT };
    try {
        const run = promisify(execFile);
        return (await run(program, ["-C", directory, ...args], options)).stdout;
    } catch (error) {
        const { stderr, message } = error as { stderr?: string; message: string };
        throw new Error(stderr?.trim() || message);
    }
}

/** The path of a file without symbolic links, as git has it. */
function real(file: string): string {
    return existsSync(file) ? realpathSync(file) : file;
}

function textOf(document: vscode.TextDocument): string {
    const mark = document.encoding === "utf8bom" ? "\ufeff" : "";
    return mark + document.getText();
}

export class Worktree {
    private readonly server: Server;

    constructor(
        private readonly top: string,
        log: (line: string) => void,
    ) {
        const options = ["-C", top, "boocode", "serve", "--repo", top];
        this.server = new Server(setting("gitPath", "git"), options, log);
    }

    dispose(): void {
        this.server.dispose();
    }

    file(path: string): vscode.Uri {
        return vscode.Uri.file(join(this.top, path.toWellFormed()));
    }

    /** A version of a file: the blob that git calls `name`, or without one an empty text. */
    version(path: string, name?: string | null): vscode.Uri {
        return vscode.Uri.from({
            scheme: "boocode",
            path: `/${path.toWellFormed()}`,
            query: JSON.stringify([this.top, name || ""]),
        });
    }

    /** The unsaved documents by path. */
    unsaved(): Documents {
        const found: Documents = new Map();
        for (const document of vscode.workspace.textDocuments) {
            const path = relative(this.top, real(document.uri.fsPath));
            const isFile = document.uri.scheme === "file";
            if (document.isDirty && isFile && !OUTSIDE_OR_GIT.test(path)) {
                found.set(path, document);
            }
        }
        return found;
    }

    /** The answer of a tool, which the user can cancel after a second. */
    async call(tool: string, args: object, buffers: Documents = new Map()): Promise<Answer> {
        const texts: Record<string, string> = {};
        for (const [path, document] of buffers) {
            texts[path] = textOf(document);
        }
        const given = buffers.size ? { ...args, buffers: texts } : args;

        const canceller = new AbortController();
        const limit = AbortSignal.timeout(setting("timeout", 120) * 1000);
        const signal = AbortSignal.any([canceller.signal, limit]);
        const answer = this.server.request(tool, given, signal);
        const timer = setTimeout(() => showProgress(tool, answer, canceller), SLOW);
        return answer.finally(() => clearTimeout(timer));
    }

    /** Let a tool change files; unsaved documents change by one edit that the editor can undo. */
    async change(tool: string, args: object): Promise<void> {
        const dryRun = { ...args, dry_run: true };
        const planned = await this.call(tool, dryRun, this.unsaved());
        const unsaved = this.unsaved();
        refuseToLose(planned.files ?? [], unsaved);
        const versions = new Map<vscode.TextDocument, number>();
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

function rangeOf({
    start,
    end,
}: {
    start: { line: number; character: number };
    end: { line: number; character: number };
}): vscode.Range {
    return new vscode.Range(start.line, start.character, end.line, end.character);
}

/** Refuse to delete or rename a file whose document is not saved. */
function refuseToLose(files: AnsweredFile[], unsaved: Documents): void {
    for (const { action, from, path } of files) {
        const gone = action === "delete" ? path : from;
        if (gone !== undefined && unsaved.has(gone)) {
            throw new Error(`save '${gone}' first: it is to be deleted or renamed`);
        }
    }
}

function showProgress(tool: string, answer: Promise<Answer>, canceller: AbortController): void {
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
