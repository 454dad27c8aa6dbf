// What the commands do; README.md describes them.
import * as vscode from "vscode";
import { Answer, ToolError } from "./server";
import { Row } from "./views";
import { Worktree } from "./worktree";

const { window, workspace } = vscode;

type Action = (worktree: Worktree, row: Partial<Row>) => Promise<unknown>;

export const ACTIONS: Record<string, Action> = {
    apply: async (worktree) => worktree.change("apply_edit", await edit()),
    propose: async (worktree) => worktree.call("propose", await edit(), worktree.unsaved()),
    checkpoint: (worktree) => worktree.call("checkpoint", {}),
    restore: (worktree, { id }) => goBack(worktree, "Restore", { checkpoint: id }),
    undo: (worktree) => goBack(worktree, "Undo", {}),
    // All files if there are no paths.
    accept: (worktree, { paths }) => accept(worktree, paths),
    discard: (worktree, { paths }) => worktree.call("discard", { paths }, worktree.unsaved()),
    refresh: async () => {},
};

/** What the user has selected, or copied: a model's edit in any format. */
async function edit(): Promise<{ input: string }> {
    const editor = window.activeTextEditor;
    const selected = editor?.document.getText(editor.selection);
    return { input: selected || (await vscode.env.clipboard.readText()) };
}

async function confirmed(question: string, detail: string, button: string): Promise<boolean> {
    const options = { modal: true, detail };
    return (await window.showWarningMessage(question, options, button)) === button;
}

/** Restore or undo, after unsaved documents are saved and the user has seen what changes. */
async function goBack(worktree: Worktree, name: "Restore" | "Undo", args: object): Promise<void> {
    const unsaved = [...worktree.unsaved().keys()].join("\n");
    if (unsaved) {
        const question = "Save these files first?";
        const saved = (await confirmed(question, unsaved, "Save")) && (await workspace.saveAll());
        if (!saved) {
            return;
        }
    }
    const tool = name.toLowerCase();
    const plan = await worktree.call(tool, { ...args, dry_run: true });
    if (await confirmed(`${name}?`, described(plan), name)) {
        await worktree.call(tool, args);
    }
}

/** What a restore or an undo would change. */
function described(plan: Answer): string {
    const lines = (plan.changed ?? []).map(({ action, path }) => `${action} ${path}`);
    if (!lines.length) {
        lines.push("no files change");
    }
    if (plan.index_reset) {
        lines.push("the staging area changes");
    }
    if (plan.head_moved) {
        lines.push("HEAD moves");
    }
    if (plan.proposal) {
        lines.push("the proposal goes back");
    } else if (plan.conversation_left) {
        lines.push("the conversation stays");
    } else {
        lines.push("the conversation goes back if a callback restores it");
    }
    return lines.join("\n");
}

/** Accept files, and offer to merge those that both sides have changed. */
async function accept(worktree: Worktree, paths: string[] | undefined): Promise<void> {
    try {
        await worktree.change("accept", { paths });
    } catch (error) {
        const refused = error instanceof ToolError ? error.answer?.error : undefined;
        if (refused?.code !== "conflict") {
            throw error;
        }
        if (await confirmed(refused.message, "", "Merge")) {
            await worktree.change("accept", { paths, merge: true });
        }
    }
}

/** Show an error, and lead to the places that a refused edit may mean. */
export async function report(error: Error, worktree: Worktree): Promise<void> {
    const answer = error instanceof ToolError ? error.answer : undefined;
    const places = (answer?.failures ?? []).flatMap(({ path, candidates }) =>
        candidates.map(({ start_line, end_line, text }) => ({
            label: `${path}:${start_line}`,
            detail: text,
            path,
            selection: new vscode.Range(start_line - 1, 0, end_line, 0),
        })),
    );
    const hint = answer?.error?.hint;
    const message = hint ? `${error.message}\n${hint}` : error.message;
    const buttons = places.length ? ["Show Nearest Text"] : [];
    if (!(await window.showErrorMessage(message, ...buttons))) {
        return;
    }
    const place = places.length > 1 ? await window.showQuickPick(places) : places[0];
    if (place) {
        const { path, selection } = place;
        await window.showTextDocument(worktree.file(path), { selection });
    }
}
