// The rows of the views: turns with their files, and the files of the proposal.
import * as vscode from "vscode";
import { AnsweredFile, Turn } from "./server";
import { Worktree } from "./worktree";

const MOST_TURNS = 50;

/** A row of a view, which loads the rows below it. */
export type Row = vscode.TreeItem & {
    load?: () => Promise<Row[]>;
    worktree?: Worktree;
    paths?: string[];
    /** The turn of a file. */
    turn?: string;
};

export function row(label: string, about: Partial<Row>): Row {
    const { Collapsed, None } = vscode.TreeItemCollapsibleState;
    const item = new vscode.TreeItem(label, about.load ? Collapsed : None);
    return Object.assign(item, about);
}

/** A row that compares two versions of a file when it is chosen. */
function comparison(label: string, description: string, left: vscode.Uri, right: vscode.Uri): Row {
    const command = {
        command: "vscode.diff",
        title: "Compare",
        arguments: [left, right, label],
    };
    return row(label, { description, command });
}

export async function turns(worktree: Worktree): Promise<Row[]> {
    const answer = await worktree.call("log", { max_count: MOST_TURNS });
    return (answer.checkpoints ?? []).map((turn) => turnRow(worktree, turn));
}

function turnRow(worktree: Worktree, turn: Turn): Row {
    const { id, label, agent, created_at, files } = turn;
    const began = new Date(created_at).toLocaleString();
    return row(label ?? agent ?? id, {
        worktree,
        id,
        contextValue: "turn",
        description: `${began}, ${files ?? "?"} files`,
        load: () => filesOfTurn(worktree, id),
    });
}

async function filesOfTurn(worktree: Worktree, id: string): Promise<Row[]> {
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

export async function proposal(worktree: Worktree): Promise<Row[]> {
    const answer = await worktree.call("status", {}, worktree.unsaved());
    const listed = (answer.files ?? []).filter(({ status }) => status);
    return listed.map((file) => proposedRow(worktree, file));
}

function proposedRow(worktree: Worktree, file: AnsweredFile): Row {
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

/** The rows of a view: those of the only folder, or a row for each. */
export class FolderView implements vscode.TreeDataProvider<Row> {
    constructor(
        private readonly list: (worktree: Worktree) => Promise<Row[]>,
        private readonly open: (folder: vscode.WorkspaceFolder) => Promise<Worktree>,
        readonly onDidChangeTreeData: vscode.Event<void>,
    ) {}

    getTreeItem(item: Row): Row {
        return item;
    }

    async getChildren(parent?: Row): Promise<Row[]> {
        const folders = (vscode.workspace.workspaceFolders ?? []).map((folder) =>
            row(folder.name, {
                load: async () => this.list(await this.open(folder)),
            }),
        );
        const shown = parent ?? (folders.length === 1 ? folders[0] : undefined);
        if (!shown?.load) {
            return folders;
        }
        try {
            return await shown.load();
        } catch (error) {
            return [row((error as Error).message, {})];
        }
    }
}
