// What the extension sees of VS Code, without VS Code: documents, dialogs that a test answers, and
// views that it reads. Runs a script as `node vscode_host.js <extension.js> <script>`, in which
// `host` is this double, and prints what the script returns as JSON.
"use strict";
const childProcess = require("node:child_process");
const fs = require("node:fs");
const Module = require("node:module");
const path = require("node:path");

class Uri {
  constructor(parts) {
    Object.assign(this, { scheme: "", path: "", query: "" }, parts);
  }
  static from(parts) {
    return new Uri(parts);
  }
  static parse(text) {
    return new Uri({ path: text });
  }
  static file(file) {
    return new Uri({ scheme: "file", path: file });
  }
  get fsPath() {
    return this.path;
  }
  // Like that of VS Code, it refuses lone surrogates.
  toString() {
    return `${this.scheme}:${encodeURIComponent(this.path)}?${encodeURIComponent(this.query)}`;
  }
}

class Range {
  constructor(startLine, startCharacter, endLine, endCharacter) {
    this.start = { line: startLine, character: startCharacter };
    this.end = { line: endLine, character: endCharacter };
  }
}

class TreeItem {
  constructor(label, collapsibleState) {
    Object.assign(this, { label, collapsibleState });
  }
}

class Position {
  constructor(line, character) {
    Object.assign(this, { line, character });
  }
}

class Selection extends Range {
  constructor(start, end) {
    super(start.line, start.character, end.line, end.character);
    this.active = end;
  }
}

class CodeLens {
  constructor(range, command) {
    Object.assign(this, { range, command });
  }
}

class ThemeIcon {
  constructor(id) {
    this.id = id;
  }
}

class EventEmitter {
  #listeners = [];
  event = (listener) => this.#listeners.push(listener);
  fire = (value) => this.#listeners.forEach((listener) => listener(value));
}

class WorkspaceEdit {
  replacements = [];
  replace(uri, range, text) {
    this.replacements.push({ uri, range, text });
  }
  get size() {
    return new Set(this.replacements.map(({ uri }) => uri.toString())).size;
  }
}

// The text of a document has one kind of line ending, and no byte order mark, as in VS Code.
class Document {
  constructor(file) {
    const text = fs.existsSync(file) ? fs.readFileSync(file, "utf8") : "";
    this.uri = Uri.file(file);
    this.encoding = text.startsWith("\ufeff") ? "utf8bom" : "utf8";
    this.ending = text.includes("\r\n") ? "\r\n" : "\n";
    this.undone = [];
    this.version = 1;
    this.isDirty = false;
    this.text = text.replace("\ufeff", "");
  }
  get lineCount() {
    return this.text.split(this.ending).length;
  }
  getText(range) {
    return range ? this.text.slice(this.offset(range.start), this.offset(range.end)) : this.text;
  }
  offset({ line, character }) {
    const lines = this.text.split(this.ending).slice(0, line);
    return lines.join(this.ending).length + (line ? this.ending.length : 0) + character;
  }
  // One step for undo.
  change(replacements) {
    this.undone.push(this.text);
    const spans = replacements.map(({ range, text }) => [this.offset(range.start), this.offset(range.end), text]);
    for (const [start, end, text] of spans.sort((one, other) => other[0] - one[0]))
      this.text = this.text.slice(0, start) + text.replace(/\r?\n/g, this.ending) + this.text.slice(end);
    this.version += 1;
    this.isDirty = true;
  }
  type(text) {
    this.change([{ range: new Range(0, 0, 0, 0), text }]);
  }
  save() {
    fs.writeFileSync(this.uri.fsPath, (this.encoding === "utf8bom" ? "\ufeff" : "") + this.text);
    this.isDirty = false;
  }
}

const documents = [];
const host = {
  children: [],
  clipboard: "",
  commands: {},
  dialogs: [],
  folders: [process.cwd()],
  executed: [],
  inputs: [],
  log: [],
  notices: [],
  opened: [],
  providers: {},
  refreshed: 0,
  settings: {},
  shown: [],
  views: {},
  // A test replaces it: the choice in a dialog.
  answer: () => undefined,
  // A test replaces them: the button below what was done, and what is typed into a box.
  notice: () => undefined,
  input: () => "",
  // A test replaces it: what happens once the user can cancel.
  slow: () => {},
  // Open a document.
  open(name) {
    documents.push(new Document(path.resolve(name)));
    return documents.at(-1);
  },
  // Open a document with a text, and select all of it.
  select(text) {
    const document = new Document("/nowhere");
    document.text = text;
    window.activeTextEditor = { document, selection: new Selection(new Position(0, 0), new Position(text.split("\n").length, 0)) };
  },
  run: (command, ...values) => commands.executeCommand(`boocode.${command}`, ...values),
  rows: async (view, parent) => (await host.views[`boocode.${view}`].getChildren(parent)) ?? [],
  // The rows of turns alone.
  turns: async () => (await host.rows("turns")).filter(({ contextValue }) => contextValue === "turn"),
  // Both sides of the comparison that a click on a row opens.
  async sides({ command }) {
    if (command.command !== "vscode.diff") throw new Error(command.command);
    return Promise.all(command.arguments.slice(0, 2).map((uri) => host.content(uri)));
  },
  // The text of a file or of a version; their sizes have to be right.
  async content(uri) {
    String(uri);
    if (uri.scheme === "file") return fs.readFileSync(uri.fsPath, "utf8");
    const [bytes, { size }] = await Promise.all([host.providers[uri.scheme].readFile(uri), host.providers[uri.scheme].stat(uri)]);
    if (size !== bytes.length) throw new Error(`${size} bytes were announced, ${bytes.length} came`);
    return Buffer.from(bytes).toString("utf8");
  },
  // The lines above hunks of a document: at which line, and what can be done there.
  async lenses(document) {
    const found = await host.lensProvider.provideCodeLenses(document);
    return found.map(({ range, command }) => [range.start.line, command.title, command.command, command.arguments]);
  },
};

const asks = (kind) => async (first, ...rest) => {
  const [items, { detail = "", modal = false }] = Array.isArray(first)
    ? [first, {}]
    : [rest.filter((each) => typeof each === "string"), rest.find((each) => typeof each === "object") ?? {}];
  host.dialogs.push({ kind, modal, text: Array.isArray(first) ? "" : first, detail, items });
  return host.answer(host.dialogs.at(-1));
};

const window = {
  createOutputChannel: () => ({ appendLine: (line) => host.log.push(line), dispose() {} }),
  registerTreeDataProvider(id, provider) {
    host.views[id] = provider;
    provider.onDidChangeTreeData(() => (host.refreshed += 1));
    return { dispose() {} };
  },
  activeTextEditor: undefined,
  visibleTextEditors: [],
  createTextEditorDecorationType: (options) => ({ options, dispose() {} }),
  createTerminal: () => ({ show() {}, sendText: (text) => host.executed.push(["terminal", text]) }),
  onDidChangeVisibleTextEditors: () => ({ dispose() {} }),
  setStatusBarMessage: (text) => host.notices.push(text),
  async showInformationMessage(text, ...items) {
    host.notices.push(text);
    return host.notice({ text, items });
  },
  showInputBox: async (options) => {
    host.inputs.push(options);
    return host.input(options);
  },
  showErrorMessage: asks("error"),
  showQuickPick: asks("pick"),
  showTextDocument: async ({ path: file }, { selection }) => host.shown.push([file, selection.start.line, selection.end.line]),
  showWarningMessage: asks("warning"),
  showWorkspaceFolderPick: async () => workspace.workspaceFolders[0],
  withProgress: (options, task) => task({}, { onCancellationRequested: (cancel) => host.slow(options, cancel) }),
};

const workspace = {
  async applyEdit({ replacements }) {
    for (const document of documents) {
      const own = replacements.filter(({ uri }) => uri.toString() === document.uri.toString());
      if (own.length) document.change(own);
    }
    return true;
  },
  getConfiguration: () => ({ get: (name, fallback) => host.settings[name] ?? fallback }),
  getWorkspaceFolder: ({ path: file }) => workspace.workspaceFolders.find(({ uri }) => file.startsWith(`${uri.path}/`)),
  onDidChangeConfiguration(listener) {
    host.changeSettings = (settings) => {
      Object.assign(host.settings, settings);
      listener({ affectsConfiguration: (name) => name === "boocode" });
    };
    return { dispose() {} };
  },
  onDidChangeTextDocument: () => ({ dispose() {} }),
  registerFileSystemProvider(scheme, provider, options) {
    if (!options.isReadonly) throw new Error("versions cannot be written");
    host.providers[scheme] = provider;
    return { dispose() {} };
  },
  async saveAll() {
    documents.filter(({ isDirty }) => isDirty).forEach((document) => document.save());
    return true;
  },
  textDocuments: documents,
  get workspaceFolders() {
    return host.folders.map((folder) => ({ name: path.basename(folder), uri: Uri.file(folder) }));
  },
};

const commands = {
  async executeCommand(name, ...values) {
    host.executed.push([name, ...values]);
    return host.commands[name]?.(...values);
  },
  registerCommand(name, run) {
    host.commands[name] = run;
    return { dispose() {} };
  },
};

const languages = {
  registerCodeLensProvider(_, provider) {
    host.lensProvider = provider;
    return { dispose() {} };
  },
};

const double = {
  ...{ CodeLens, EventEmitter, Position, Range, Selection, ThemeIcon, TreeItem, Uri, WorkspaceEdit },
  ...{ commands, languages, window, workspace },
  FileSystemError: { NoPermissions: (uri) => new Error(`${uri} cannot be written`) },
  FileType: { File: 1 },
  OverviewRulerLane: { Left: 1 },
  ThemeColor: class {},
  ProgressLocation: { Notification: 15 },
  TreeItemCollapsibleState: { None: 0, Collapsed: 1 },
  env: {
    clipboard: { readText: async () => host.clipboard, writeText: async (text) => (host.clipboard = text) },
    openExternal: async (uri) => host.opened.push(uri.path),
  },
};
const load = Module._load;
Module._load = (name, ...rest) => (name === "vscode" ? double : load(name, ...rest));
const { spawn } = childProcess;
childProcess.spawn = (...args) => {
  host.children.push(spawn(...args));
  return host.children.at(-1);
};

async function main([extension, script]) {
  const context = { subscriptions: [] };
  require(path.resolve(extension)).activate(context);
  const run = new Function("host", "require", `return (async () => {${fs.readFileSync(script, "utf8")}})()`);
  const seen = await run(host, require);
  // As VS Code does in the end; nothing else keeps this process.
  context.subscriptions.forEach((each) => each.dispose());
  fs.writeSync(1, JSON.stringify(seen ?? null));
}
main(process.argv.slice(2)).catch((error) => {
  console.error(error);
  process.exit(1);
});
