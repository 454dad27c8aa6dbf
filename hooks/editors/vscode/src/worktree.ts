// A worktree of git: its server, its unsaved documents, and the versions of its files.
import { execFile } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { join, relative } from "node:path";
import { promisify } from "node:util";
import * as vscode from "vscode";
import { Answer, Server } from "./server";

const setting = <T>(name: string, fallback: T): T => vscode.workspace.getConfiguration("boocode").get(name, fallback);
const real = (file: string): string => (existsSync(file) ? realpathSync(file) : file);

export async function git(directory: string, ...args: string[]): Promise<string> {
  const run = promisify(execFile)(setting("gitPath", "git"), ["-C", directory, ...args], { maxBuffer: 1 << 28 });
  return (await run.catch((error) => Promise.reject(new Error(error.stderr?.trim() || error.message)))).stdout;
}

export class Worktree extends Server {
  constructor(private readonly top: string, log: (line: string) => void) {
    super(setting("gitPath", "git"), ["-C", top, "boocode", "serve", "--repo", top], log);
  }
  file = (path: string): vscode.Uri => vscode.Uri.file(join(this.top, path.toWellFormed()));
  /** A version of a file: the blob that git calls `name`, or without one an empty text. */
  version = (path: string, name?: string | null): vscode.Uri =>
    vscode.Uri.from({ scheme: "boocode", path: `/${path.toWellFormed()}`, query: JSON.stringify([this.top, name || ""]) });

  /** The unsaved documents by path. */
  unsaved(): Map<string, vscode.TextDocument> {
    const dirty = vscode.workspace.textDocuments.filter((each) => each.isDirty && each.uri.scheme === "file");
    const named = dirty.map((each) => [relative(this.top, real(each.uri.fsPath)), each] as const);
    return new Map(named.filter(([path]) => !/^\.\.(\/|$)|(^|\/)\.git(\/|$)/.test(path)));
  }

  /** The answer of a tool, which the user can cancel after a second; `buffers` are unsaved documents. */
  async call(tool: string, args: object, buffers = new Map<string, vscode.TextDocument>()): Promise<Answer> {
    const texts = [...buffers].map(([path, each]) => [path, (each.encoding === "utf8bom" ? "\ufeff" : "") + each.getText()]);
    const canceller = new AbortController();
    const signal = AbortSignal.any([canceller.signal, AbortSignal.timeout(setting("timeout", 120) * 1000)]);
    const answer = this.request(tool, texts.length ? { ...args, buffers: Object.fromEntries(texts) } : args, signal);
    const options = { location: vscode.ProgressLocation.Notification, title: `git boocode: ${tool}`, cancellable: true };
    const slow = setTimeout(() => vscode.window.withProgress(options, (_, token) => {
      token.onCancellationRequested(() => canceller.abort(new Error("cancelled")));
      return answer.catch(() => {}); // The caller reports it.
    }), 1000);
    return answer.finally(() => clearTimeout(slow));
  }

  /** Let a tool change files; unsaved documents change by one edit that the editor can undo. */
  async change(tool: string, args: object): Promise<void> {
    const planned = await this.call(tool, { ...args, dry_run: true }, this.unsaved());
    const [unsaved, edit] = [this.unsaved(), new vscode.WorkspaceEdit()];
    const lost = planned.files?.find(({ action, from, path }) => unsaved.has(action === "delete" ? path : from ?? ""));
    if (lost) throw new Error(`save '${lost.from ?? lost.path}' first: it is to be deleted or renamed`);
    const versions = new Map([...unsaved.values()].map((each) => [each, each.version]));
    const { files = [] } = await this.call(tool, args, unsaved);
    for (const { path, text_edits = [] } of files) {
      const document = unsaved.get(path);
      if (document && document.version !== versions.get(document)) throw new Error(`'${path}' was edited meanwhile`);
      for (const { range: { start, end }, newText } of document ? text_edits : [])
        edit.replace(document!.uri, new vscode.Range(start.line, start.character, end.line, end.character), newText);
    }
    if (edit.size && !(await vscode.workspace.applyEdit(edit))) throw new Error("the editor did not apply the edit");
  }
}
