// Registers the commands, the views, and the versions of files that are compared.
import * as vscode from "vscode";
import { ACTIONS, report } from "./commands";
import { FolderView, proposal, Row, turns } from "./views";
import { git, Worktree } from "./worktree";

const { window, workspace } = vscode;
const OUR_REFS = "{packed-refs,reftable/**,refs/boocode/**}";

/** The worktrees that are in use; `changed` fires when a view may be out of date. */
class Worktrees {
    readonly changed = new vscode.EventEmitter<void>();
    private readonly log = window.createOutputChannel("git-boocode");
    private readonly known = new Map<string, Worktree>();

    constructor(private readonly subscriptions: vscode.Disposable[]) {
        subscriptions.push(this.log);
    }

    /** The worktree of a folder; by default that of the active document, or one to choose. */
    async open(given?: vscode.WorkspaceFolder): Promise<Worktree> {
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
        return this.known.get(top) ?? this.add(top, common);
    }

    private add(top: string, common: string): Worktree {
        const worktree = new Worktree(top, (line) => this.log.appendLine(line));
        const pattern = new vscode.RelativePattern(common, OUR_REFS);
        const watcher = workspace.createFileSystemWatcher(pattern);
        watcher.onDidCreate(() => this.changed.fire());
        watcher.onDidChange(() => this.changed.fire());
        watcher.onDidDelete(() => this.changed.fire());
        this.known.set(top, worktree);
        this.subscriptions.push(watcher, worktree);
        return worktree;
    }
}

async function activeFolder(): Promise<vscode.WorkspaceFolder | undefined> {
    const uri = window.activeTextEditor?.document.uri;
    const active = uri && workspace.getWorkspaceFolder(uri);
    if (active) {
        return active;
    }
    const folders = workspace.workspaceFolders ?? [];
    return folders.length > 1 ? window.showWorkspaceFolderPick() : folders[0];
}

/** The text of a version of a file, which its URI names. */
function provideTextDocumentContent(uri: vscode.Uri): Promise<string> | string {
    const [top, name] = JSON.parse(uri.query) as [string, string];
    return name ? git(top, "cat-file", "blob", name) : "";
}

export function activate({ subscriptions }: vscode.ExtensionContext): void {
    const worktrees = new Worktrees(subscriptions);
    const { changed } = worktrees;

    for (const [name, list] of Object.entries({ turns, proposal })) {
        const open = (folder: vscode.WorkspaceFolder) => worktrees.open(folder);
        const view = new FolderView(list, open, changed.event);
        subscriptions.push(window.registerTreeDataProvider(`boocode.${name}`, view));
    }

    for (const [name, action] of Object.entries(ACTIONS)) {
        const run = async (chosen?: Row): Promise<void> => {
            const worktree = chosen?.worktree ?? (await worktrees.open());
            try {
                await action(worktree, chosen ?? {});
            } catch (error) {
                await report(error as Error, worktree);
            } finally {
                changed.fire();
            }
        };
        const command = vscode.commands.registerCommand(`boocode.${name}`, run);
        subscriptions.push(command);
    }

    const provider = { provideTextDocumentContent };
    subscriptions.push(workspace.registerTextDocumentContentProvider("boocode", provider));
}
