// Registers the commands, the views, and the versions of files that are compared.
"use strict";
const vscode = require("vscode");
const { ACTIONS, guarded } = require("./commands");
const { FolderView, proposal, turns } = require("./views");
const { git, Worktree } = require("./worktree");

/** @import { Row } from "./types" */

const { window, workspace } = vscode;
const OUR_REFS = "{packed-refs,reftable/**,refs/boocode/**}";

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
        const questions = ["--show-toplevel", "--git-common-dir"];
        const answers = await git(
            folder.uri.fsPath,
            "rev-parse",
            "--path-format=absolute",
            ...questions,
        );
        const [top = "", common = ""] = answers.split("\n");
        return this.#known.get(top) ?? this.#add(top, common);
    }

    /**
     * @param {string} top
     * @param {string} common
     */
    #add(top, common) {
        const worktree = new Worktree(top, (line) => this.#log.appendLine(line));
        const pattern = new vscode.RelativePattern(common, OUR_REFS);
        const watcher = workspace.createFileSystemWatcher(pattern);
        watcher.onDidCreate(() => this.changed.fire());
        watcher.onDidChange(() => this.changed.fire());
        watcher.onDidDelete(() => this.changed.fire());
        this.#known.set(top, worktree);
        this.#subscriptions.push(watcher, worktree);
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

/**
 * The text of a version of a file, which its URI names.
 * @param {vscode.Uri} uri
 */
function provideTextDocumentContent(uri) {
    const [top, name] = JSON.parse(uri.query);
    return name ? git(top, "cat-file", "blob", name) : "";
}

/** @param {vscode.ExtensionContext} context */
function activate({ subscriptions }) {
    const worktrees = new Worktrees(subscriptions);
    const { changed } = worktrees;

    for (const [name, list] of Object.entries({ turns, proposal })) {
        const view = new FolderView(list, (folder) => worktrees.open(folder), changed.event);
        subscriptions.push(window.registerTreeDataProvider(`boocode.${name}`, view));
    }

    for (const [name, action] of Object.entries(ACTIONS)) {
        /** @param {Row} [chosen] */
        const run = async (chosen) => {
            const worktree = chosen?.worktree ?? (await worktrees.open());
            await guarded(worktree, () => action(worktree, chosen ?? {}));
            changed.fire();
        };
        const command = vscode.commands.registerCommand(`boocode.${name}`, run);
        subscriptions.push(command);
    }

    const provider = { provideTextDocumentContent };
    subscriptions.push(workspace.registerTextDocumentContentProvider("boocode", provider));
}

module.exports = { activate };
