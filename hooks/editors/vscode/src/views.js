// The rows of the views: turns with their files, and the files of the proposal.
"use strict";
const vscode = require("vscode");
const { ToolError } = require("./server");
const { visible } = require("./text");
const { about, icon, nameOf, timelineRows, tooltip } = require("./timeline");

/**
 * @import { AnsweredFile, Row, Turn } from "./types"
 * @import { Worktree } from "./worktree"
 */

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
 * A row that compares two versions of a file when it is chosen, in a tab that `title` names.
 * @param {string} label
 * @param {string} description
 * @param {vscode.Uri} left
 * @param {vscode.Uri} right
 * @param {string} title
 */
function comparison(label, description, left, right, title) {
    const command = { command: "vscode.diff", title: "Compare", arguments: [left, right, title] };
    return row(label, { description, command });
}

/**
 * The newest turns with what happened beside them, of those that have the words that are searched.
 * @param {Worktree} worktree
 */
async function turns(worktree) {
    const { most, words } = worktree.listed;
    const answer = await worktree.call("log", { max_count: most, ...(words && { grep: words }) });
    const rows = timelineRows(answer, (turn) => turnRow(worktree, turn));
    if (words) {
        const command = { command: "boocode.search", title: "Search", arguments: [{ worktree }] };
        const description = rows.length ? "" : "no turn has these words";
        const about = { command, description, iconPath: new vscode.ThemeIcon("search") };
        rows.unshift(row(`Turns with '${visible(words)}'`, about));
    }
    if ((answer.checkpoints ?? []).length === most) {
        const command = { command: "boocode.more", title: "More", arguments: [{ worktree }] };
        rows.push(row("More turns…", { command, iconPath: new vscode.ThemeIcon("ellipsis") }));
    }
    return rows;
}

/**
 * @param {Worktree} worktree
 * @param {Turn} turn
 */
function turnRow(worktree, turn) {
    return row(nameOf(turn), {
        worktree,
        turn,
        id: turn.id,
        contextValue: "turn",
        description: about(turn),
        iconPath: icon(turn),
        load: () => filesOfTurn(worktree, turn),
    });
}

/**
 * @param {Worktree} worktree
 * @param {Turn} turn
 * @returns {Promise<Row[]>}
 */
async function filesOfTurn(worktree, turn) {
    return (await worktree.filesOf(turn)).map(({ path, from = path, action, left, right }) => {
        const title = `${visible(path)} (before and after '${nameOf(turn)}')`;
        const paths = from === path ? [path] : [from, path];
        const own = { worktree, paths, turn, contextValue: "turnFile" };
        const moved = from === path ? "" : ` from ${visible(from)}`;
        return Object.assign(comparison(visible(path), action + moved, left, right, title), own);
    });
}

/** @param {Worktree} worktree */
async function proposal(worktree) {
    const answer = await worktree.call("status", {}, worktree.unsaved());
    worktree.seen = answer.proposal ?? undefined;
    const listed = (answer.files ?? []).filter(({ status }) => status);
    return listed.map((file) => proposedRow(worktree, file));
}

/**
 * @param {Worktree} worktree
 * @param {AnsweredFile} file
 */
function proposedRow(worktree, file) {
    const { path, from = path, status = "" } = file;
    const context = worktree.version(from, file.context);
    const output = worktree.version(path, file.output);
    const local = file.local ? worktree.file(from) : worktree.version(from);
    /**
     * @param {string} sides
     * @param {string} description
     * @param {vscode.Uri} left
     * @param {vscode.Uri} right
     */
    const compared = (sides, description, left, right) =>
        comparison(sides, description, left, right, `${visible(path)} (${sides})`);
    return row(visible(path), {
        worktree,
        paths: [path],
        // Of a file that only the user has changed, there is nothing to accept.
        contextValue: status === "~" ? "changed" : "proposed",
        description: status,
        load: async () => [
            compared("context and output", "what is proposed", context, output),
            compared("context and local", "what you changed", context, local),
            compared("local and output", "what differs", local, output),
        ],
    });
}

/**
 * What is shown instead of rows.
 * @param {Error} error
 */
function problemRows(error) {
    const { message } = error;
    const shown = row(message, { tooltip: message, iconPath: new vscode.ThemeIcon("error") });
    if (!(error instanceof ToolError) || !error.isMissing) {
        return [shown];
    }
    const command = { command: "boocode.setPath", title: "Set Path" };
    return [shown, row("Set its path…", { command, iconPath: new vscode.ThemeIcon("gear") })];
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
     * The tooltip of a turn has its whole prompt, which the list of turns lacks.
     * @param {vscode.TreeItem} item
     * @param {Row} row
     */
    async resolveTreeItem(item, { worktree, turn, contextValue }) {
        if (worktree && turn && contextValue === "turn") {
            const { checkpoint } = await worktree.call("show", { name: turn.id });
            item.tooltip = tooltip({ ...turn, .../** @type {Turn} */ (checkpoint) });
        }
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
            return problemRows(/** @type {Error} */ (error));
        }
    }
}

module.exports = { FolderView, proposal, row, turns };
