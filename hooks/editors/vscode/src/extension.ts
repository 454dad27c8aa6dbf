// The commands and views; README.md describes them.
import * as vscode from "vscode";
import { Answer } from "./server";
import { git, Worktree } from "./worktree";

const { EventEmitter, window, workspace } = vscode;
/** A row of a view, which loads the rows below it. */
type Row = vscode.TreeItem & { load?: () => Promise<Row[]>; worktree?: Worktree; paths?: string[] };
const row = (label: string, about: Partial<Row>): Row =>
  Object.assign(new vscode.TreeItem(label, vscode.TreeItemCollapsibleState[about.load ? "Collapsed" : "None"]), about);
const comparison = (label: string, description: string, left: vscode.Uri, right: vscode.Uri): Row =>
  row(label, { description, command: { command: "vscode.diff", title: "Compare", arguments: [left, right, label] } });

async function turns(worktree: Worktree): Promise<Row[]> {
  const { checkpoints = [] } = await worktree.call("log", { max_count: 50 });
  return checkpoints.map(({ id, label, agent, created_at, files: count }) => {
    const load = async (): Promise<Row[]> => {
      const { files = [], before, after } = await worktree.call("show", { name: id });
      return files.map(({ path, from = path, action = "" }) => {
        const left = worktree.version(from, action === "create" ? null : `${before}:${from}`);
        const now = after ? worktree.version(path, `${after}:${path}`) : worktree.file(path);
        return comparison(path, action, left, action === "delete" ? worktree.version(path) : now);
      });
    };
    const description = `${new Date(created_at).toLocaleString()}, ${count ?? "?"} files`;
    return row(label ?? agent ?? id, { worktree, id, contextValue: "turn", description, load });
  });
}

async function proposal(worktree: Worktree): Promise<Row[]> {
  const { files = [] } = await worktree.call("status", {}, worktree.unsaved());
  return files.filter(({ status }) => status).map(({ path, from = path, status = "", ...file }) => {
    const [context, output] = [worktree.version(from, file.context), worktree.version(path, file.output)];
    const local = file.local ? worktree.file(from) : worktree.version(from);
    const load = async (): Promise<Row[]> => [
      comparison("context and output", "what is proposed", context, output),
      comparison("context and local", "what you changed", context, local),
      comparison("local and output", "what differs", local, output),
    ];
    return row(path, { worktree, paths: [path], contextValue: "proposed", description: status, load });
  });
}

/** What the user has selected, or copied: a model's edit in any format. */
const input = async (editor = window.activeTextEditor): Promise<{ input: string }> =>
  ({ input: editor?.document.getText(editor.selection) || (await vscode.env.clipboard.readText()) });
const confirmed = async (question: string, detail: string, button: string): Promise<boolean> =>
  (await window.showWarningMessage(question, { modal: true, detail }, button)) === button;

async function goBack(worktree: Worktree, name: "Restore" | "Undo", args: object): Promise<void> {
  const unsaved = [...worktree.unsaved().keys()].join("\n");
  if (unsaved && !((await confirmed("Save these files first?", unsaved, "Save")) && (await workspace.saveAll()))) return;
  const { changed = [], conversation_left: left, ...plan } = await worktree.call(name.toLowerCase(), { ...args, dry_run: true });
  const files = changed.map(({ action, path }) => `${action} ${path}`).join("\n") || "no files change";
  const rest = plan.proposal ? "the proposal goes back" : `the conversation ${left ? "stays" : "goes back if a callback restores it"}`;
  const all = [files, plan.index_reset && "the staging area changes", plan.head_moved && "HEAD moves", rest].filter(Boolean).join("\n");
  if (await confirmed(`${name}?`, all, name)) await worktree.call(name.toLowerCase(), args);
}

async function accept(worktree: Worktree, args: { paths: string[] | undefined; merge?: true }): Promise<void> {
  await worktree.change("accept", args).catch(async (error) => {
    if (error.answer?.error?.code !== "conflict" || args.merge) throw error;
    if (await confirmed(error.answer.error.message, "", "Merge")) await accept(worktree, { ...args, merge: true });
  });
}

/** Show an error, and lead to the places that a refused edit may mean. */
async function report({ message, answer }: Error & { answer?: Answer }, worktree: Worktree): Promise<void> {
  const places = (answer?.failures ?? []).flatMap(({ path, candidates }) => candidates.map(({ start_line, end_line, text }) =>
    ({ label: `${path}:${start_line}`, detail: text, path, selection: new vscode.Range(start_line - 1, 0, end_line, 0) })));
  const lines = [message, answer?.error?.hint].filter(Boolean).join("\n");
  const chosen = await window.showErrorMessage(lines, ...(places[0] ? ["Show Nearest Text"] : []));
  const place = chosen && places[1] ? await window.showQuickPick(places) : chosen && places[0];
  if (place) await window.showTextDocument(worktree.file(place.path), { selection: place.selection });
}

const ACTIONS: Record<string, (worktree: Worktree, row: Partial<Row>) => Promise<unknown>> = {
  apply: async (worktree) => worktree.change("apply_edit", await input()),
  propose: async (worktree) => worktree.call("propose", await input(), worktree.unsaved()),
  checkpoint: (worktree) => worktree.call("checkpoint", {}),
  restore: (worktree, { id }) => goBack(worktree, "Restore", { checkpoint: id }),
  undo: (worktree) => goBack(worktree, "Undo", {}),
  accept: (worktree, { paths }) => accept(worktree, { paths }), // All files if there are no paths.
  discard: (worktree, { paths }) => worktree.call("discard", { paths }, worktree.unsaved()),
  refresh: async () => {},
};

export function activate({ subscriptions }: vscode.ExtensionContext): void {
  const [log, changed, found] = [window.createOutputChannel("git-boocode"), new EventEmitter<void>(), new Map<string, Worktree>()];
  const open = async (given?: vscode.WorkspaceFolder): Promise<Worktree> => {
    const [uri, folders] = [window.activeTextEditor?.document.uri, workspace.workspaceFolders ?? []];
    const active = given ?? (uri && workspace.getWorkspaceFolder(uri));
    const folder = active ?? (folders[1] ? await window.showWorkspaceFolderPick() : folders[0]);
    if (!folder) throw new Error("no folder is open");
    const places = await git(folder.uri.fsPath, "rev-parse", "--path-format=absolute", "--show-toplevel", "--git-common-dir");
    const [top = "", common = ""] = places.split("\n");
    const worktree = found.get(top) ?? new Worktree(top, (line) => log.appendLine(line));
    if (found.has(top)) return worktree;
    const watcher = workspace.createFileSystemWatcher(new vscode.RelativePattern(common, "{packed-refs,reftable/**,refs/boocode/**}"));
    for (const event of [watcher.onDidCreate, watcher.onDidChange, watcher.onDidDelete]) event(() => changed.fire());
    found.set(top, worktree);
    subscriptions.push(watcher, worktree);
    return worktree;
  };
  for (const [name, list] of Object.entries({ turns, proposal })) {
    const getChildren = async (parent?: Row): Promise<Row[]> => {
      const rows = (workspace.workspaceFolders ?? []).map((each) => row(each.name, { load: async () => list(await open(each)) }));
      return (parent ?? (rows[1] ? undefined : rows[0]))?.load?.().catch(({ message }) => [row(message, {})]) ?? rows;
    };
    const provider = { onDidChangeTreeData: changed.event, getTreeItem: (each: Row) => each, getChildren };
    subscriptions.push(window.registerTreeDataProvider(`boocode.${name}`, provider));
  }
  for (const [name, action] of Object.entries(ACTIONS))
    subscriptions.push(vscode.commands.registerCommand(`boocode.${name}`, async (chosen?: Row) => {
      const worktree = chosen?.worktree ?? (await open());
      await action(worktree, chosen ?? {}).catch((error) => report(error, worktree)).finally(() => changed.fire());
    }));
  const content = ([top, name]: [string, string]) => (name ? git(top, "cat-file", "blob", name) : "");
  const provideTextDocumentContent = ({ query }: vscode.Uri) => content(JSON.parse(query));
  subscriptions.push(log, workspace.registerTextDocumentContentProvider("boocode", { provideTextDocumentContent }));
}
