// Registers the commands, the views, the hunks in the editor, and the versions of files.
"use strict";
const vscode = require("vscode");
const { ACTIONS, guarded } = require("./commands");
const { ProposedHunks } = require("./hunks");
const { rowOf, SCHEME, Versions } = require("./versions");
const { FolderView, proposal, turns } = require("./views");
const { git, Worktree } = require("./worktree");

/** @import { Row } from "./types" */

const { commands, window, workspace } = vscode;

/** The worktrees that are in use; `changed` fires when a view may be out of date. */
class Worktrees {
    /** @type {vscode.EventEmitter<void>} */
    changed = new vscode.EventEmitter();
    #log = window.createOutputChannel("git-boocode");
    /** @type {Map<string, Worktree>} */
    #known = new Map();
    #subscriptions;

    /** @param {vscode.Disposable[]} subscriptions */
    constructor(subscriptions) {
        this.#subscriptions = subscriptions;
        subscriptions.push(this.#log);
    }

    /**
     * The worktree of a folder; by default that of the active document, or one to choose.
     * @param {vscode.WorkspaceFolder} [given]
     */
    async open(given) {
        const folder = given ?? (await activeFolder());
        if (!folder) {
            throw new Error("no folder is open");
        }
        const answer = await git(folder.uri.fsPath, "rev-parse", "--show-toplevel");
        const top = answer.replace(/\n$/, "");
        return this.#known.get(top) ?? this.#add(top);
    }

    /**
     * A worktree that is in use, by its top.
     * @param {string} top
     */
    at(top) {
        return this.#known.get(top);
    }

    /**
     * The worktree of a file, if something is proposed in it.
     * @param {vscode.Uri} uri
     */
    async proposing(uri) {
        const folder = workspace.getWorkspaceFolder(uri);
        if (!folder) {
            return undefined;
        }
        try {
            const refs = ["--count=1", "--format=%(refname)", "refs/boocode/proposals"];
            const found = await git(folder.uri.fsPath, "for-each-ref", ...refs);
            return found ? await this.open(folder) : undefined;
        } catch {
            // It is no worktree of git.
            return undefined;
        }
    }

    /** @param {string} top */
    #add(top) {
        const log = (/** @type {string} */ line) => this.#log.appendLine(line);
        const worktree = new Worktree(top, log, () => this.changed.fire());
        this.#known.set(top, worktree);
        this.#subscriptions.push(worktree);
        return worktree;
    }
}

async function activeFolder() {
    const uri = window.activeTextEditor?.document.uri;
    const active = uri && workspace.getWorkspaceFolder(uri);
    if (active) {
        return active;
    }
    const folders = workspace.workspaceFolders ?? [];
    return folders.length > 1 ? window.showWorkspaceFolderPick() : folders[0];
}

/** @param {vscode.ExtensionContext} context */
function activate({ subscriptions }) {
    const worktrees = new Worktrees(subscriptions);
    const { changed } = worktrees;
    const hunks = new ProposedHunks((uri) => worktrees.proposing(uri), subscriptions);
    changed.event(() => hunks.refresh());
    const settings = workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration("boocode")) {
            changed.fire();
        }
    });
    subscriptions.push(settings);

    /**
     * @param {string} name
     * @param {Parameters<typeof commands.registerCommand>[1]} run
     */
    const register = (name, run) => {
        subscriptions.push(commands.registerCommand(`boocode.${name}`, run));
    };
    for (const [name, list] of Object.entries({ turns, proposal })) {
        const view = new FolderView(list, (folder) => worktrees.open(folder), changed.event);
        subscriptions.push(window.registerTreeDataProvider(`boocode.${name}`, view));
    }

    for (const [name, action] of Object.entries(ACTIONS)) {
        register(name, async (/** @type {Row | vscode.Uri | undefined} */ chosen) => {
            // The title of an editor gives the version that it shows.
            const own = chosen && "query" in chosen ? rowOf(chosen) : undefined;
            const row = own ? { ...own, worktree: worktrees.at(own.top) } : chosen;
            const worktree = (row && "worktree" in row && row.worktree) || (await worktrees.open());
            const given = /** @type {Partial<Row>} */ (row ?? {});
            await guarded(worktree, () => action(worktree, given));
            changed.fire();
        });
    }

    /** @type {Record<string, (uri?: vscode.Uri, number?: number, seen?: string) => Promise<void>>} */
    const ofHunks = {
        acceptHunk: (uri, number, seen) => hunks.decide("accept", uri, number, seen),
        discardHunk: (uri, number, seen) => hunks.decide("discard", uri, number, seen),
        compareHunk: (uri, number) => hunks.compare(uri, number),
        nextHunk: () => hunks.move(1),
        previousHunk: () => hunks.move(-1),
    };
    for (const [name, action] of Object.entries(ofHunks)) {
        register(name, async (uri, number, seen) => {
            const worktree = await worktrees.open();
            await guarded(worktree, () => action(uri, number, seen));
            changed.fire();
        });
    }

    const options = { isCaseSensitive: true, isReadonly: true };
    subscriptions.push(workspace.registerFileSystemProvider(SCHEME, new Versions(), options));
}

module.exports = { activate };
