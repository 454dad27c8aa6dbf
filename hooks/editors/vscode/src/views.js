// The rows of the views: turns with their files, and the files of the proposal.
"use strict";
const vscode = require("vscode");

/**
 * @import { AnsweredFile, Row, Turn } from "./types"
 * @import { Worktree } from "./worktree"
 */

const MOST_TURNS = 50;

/**
 * @param {string} label
 * @param {Partial<Row>} about
 * @returns {Row}
 */
function row(label, about) {
    const { Collapsed, None } = vscode.TreeItemCollapsibleState;
    const item = new vscode.TreeItem(label, about.load ? Collapsed : None);
    return Object.assign(item, about);
}

/**
 * A row that compares two versions of a file when it is chosen.
 * @param {string} label
 * @param {string} description
 * @param {vscode.Uri} left
 * @param {vscode.Uri} right
 */
function comparison(label, description, left, right) {
    const command = {
        command: "vscode.diff",
        title: "Compare",
        arguments: [left, right, label],
    };
    return row(label, { description, command });
}

/** @param {Worktree} worktree */
async function turns(worktree) {
    const answer = await worktree.call("log", { max_count: MOST_TURNS });
    return (answer.checkpoints ?? []).map((turn) => turnRow(worktree, turn));
}

/**
 * @param {Worktree} worktree
 * @param {Turn} turn
 */
function turnRow(worktree, { id, label, agent, created_at, files }) {
    const began = new Date(created_at).toLocaleString();
    return row(label ?? agent ?? id, {
        worktree,
        id,
        contextValue: "turn",
        description: `${began}, ${files ?? "?"} files`,
        load: () => filesOfTurn(worktree, id),
    });
}

/**
 * @param {Worktree} worktree
 * @param {string} id
 * @returns {Promise<Row[]>}
 */
async function filesOfTurn(worktree, id) {
    const shown = await worktree.call("show", { name: id });
    const { files = [], before, after } = shown;
    return files.map(({ path, from = path, action = "" }) => {
        const old = action === "create" ? null : `${before}:${from}`;
        const left = worktree.version(from, old);
        let right = worktree.version(path);
        if (action !== "delete") {
            right = after ? worktree.version(path, `${after}:${path}`) : worktree.file(path);
        }
        const paths = from === path ? [path] : [from, path];
        const own = { worktree, paths, turn: id, contextValue: "turnFile" };
        return Object.assign(comparison(path, action, left, right), own);
    });
}

/** @param {Worktree} worktree */
async function proposal(worktree) {
    const answer = await worktree.call("status", {}, worktree.unsaved());
    const listed = (answer.files ?? []).filter(({ status }) => status);
    return listed.map((file) => proposedRow(worktree, file));
}

/**
 * @param {Worktree} worktree
 * @param {AnsweredFile} file
 */
function proposedRow(worktree, file) {
    const { path, from = path } = file;
    const context = worktree.version(from, file.context);
    const output = worktree.version(path, file.output);
    const local = file.local ? worktree.file(from) : worktree.version(from);
    return row(path, {
        worktree,
        paths: [path],
        contextValue: "proposed",
        description: file.status ?? "",
        load: async () => [
            comparison("context and output", "what is proposed", context, output),
            comparison("context and local", "what you changed", context, local),
            comparison("local and output", "what differs", local, output),
        ],
    });
}

/**
 * The rows of a view: those of the only folder, or a row for each.
 * @implements {vscode.TreeDataProvider<Row>}
 */
class FolderView {
    #list;
    #open;

    /**
     * @param {(worktree: Worktree) => Promise<Row[]>} list
     * @param {(folder: vscode.WorkspaceFolder) => Promise<Worktree>} open
     * @param {vscode.Event<void>} onDidChangeTreeData
     */
    constructor(list, open, onDidChangeTreeData) {
        this.#list = list;
        this.#open = open;
        this.onDidChangeTreeData = onDidChangeTreeData;
    }

    /** @param {Row} item */
    getTreeItem(item) {
        return item;
    }

    /**
     * @param {Row} [parent]
     * @returns {Promise<Row[]>}
     */
    async getChildren(parent) {
        const folders = (vscode.workspace.workspaceFolders ?? []).map((folder) =>
            row(folder.name, {
                load: async () => this.#list(await this.#open(folder)),
            }),
        );
        const shown = parent ?? (folders.length === 1 ? folders[0] : undefined);
        if (!shown?.load) {
            return folders;
        }
        try {
            return await shown.load();
        } catch (error) {
            return [row(/** @type {Error} */ (error).message, {})];
        }
    }
}

module.exports = { FolderView, proposal, row, turns };
