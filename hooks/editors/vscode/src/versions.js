// The versions of files that are compared: read-only files, whose URIs name a blob of git.
"use strict";
const { spawn } = require("node:child_process");
const { readFile, stat } = require("node:fs/promises");
const { join } = require("node:path");
const vscode = require("vscode");
const { setting } = require("./settings");

const SCHEME = "boocode";
const NOT_UTF8 = /[\udc80-\udcff]/;

/**
 * The bytes of a path, in which lone surrogates stand for those that are not UTF-8.
 * @param {string} path
 */
function bytesOf(path) {
    const parts = [...path].map((character) => {
        const code = character.charCodeAt(0);
        const isByte = character.length === 1 && NOT_UTF8.test(character);
        return isByte ? Buffer.from([code & 0xff]) : Buffer.from(character);
    });
    return Buffer.concat(parts);
}

/** @import { NamedTurn } from "./types" */

/**
 * A version of a file: the blob that git calls `name`, or without one an empty text. It may be of a
 * turn.
 * @param {string} top
 * @param {string} path
 * @param {string | null} [name]
 * @param {NamedTurn} [turn]
 */
function versionOf(top, path, name, turn) {
    const of = turn && { turn: { id: turn.id, label: turn.label }, path };
    const query = JSON.stringify({ top, name: name || "", ...of });
    return vscode.Uri.from({ scheme: SCHEME, path: `/${path.toWellFormed()}`, query });
}

/**
 * A file of the worktree; the editor cannot open one whose name is not UTF-8 by itself.
 * @param {string} top
 * @param {string} path
 */
function fileOf(top, path) {
    if (!NOT_UTF8.test(path)) {
        return vscode.Uri.file(join(top, path));
    }
    const query = JSON.stringify({ top, file: path });
    return vscode.Uri.from({ scheme: SCHEME, path: `/${path.toWellFormed()}`, query });
}

/**
 * The file of a turn that a URI of a version names.
 * @param {vscode.Uri} uri
 * @returns {{ top: string, turn?: NamedTurn, paths: string[] }}
 */
function rowOf({ query }) {
    const { top, turn, path = "" } = JSON.parse(query);
    return { top, turn, paths: [path] };
}

/** @param {vscode.Uri} uri */
function onDisk({ query }) {
    const { top, file } = JSON.parse(query);
    return file === undefined ? undefined : Buffer.concat([Buffer.from(`${top}/`), bytesOf(file)]);
}

/**
 * The content of a blob; its name goes through standard input, as an argument cannot have all bytes.
 * @param {string} top
 * @param {string} name
 * @returns {Promise<Buffer>}
 */
function blob(top, name) {
    const isPlain = !NOT_UTF8.test(name);
    const args = isPlain ? ["blob", name] : ["--batch"];
    const child = spawn(setting("gitPath", "git"), ["-C", top, "cat-file", ...args]);
    /** @type {Buffer[]} */
    const parts = [];
    let said = "";
    child.stdout.on("data", (part) => parts.push(part));
    child.stderr.on("data", (text) => {
        said += text;
    });
    child.stdin.on("error", () => {
        // Git has ended, which is reported below.
    });
    child.stdin.end(isPlain ? "" : Buffer.concat([bytesOf(name), Buffer.from("\n")]));
    return new Promise((resolve, reject) => {
        child.on("error", reject);
        child.on("close", (code) => {
            const output = Buffer.concat(parts);
            const [head = ""] = isPlain ? [] : output.toString("latin1").split("\n", 1);
            const size = Number(head.split(" ").at(-1));
            if (code || Number.isNaN(size)) {
                reject(new Error(said.trim() || head || `git has no version '${name}'`));
            } else {
                resolve(
                    isPlain ? output : output.subarray(head.length + 1, head.length + 1 + size),
                );
            }
        });
    });
}

/** @param {vscode.Uri} uri */
function refuse(uri) {
    return vscode.FileSystemError.NoPermissions(uri);
}

/** @implements {vscode.FileSystemProvider} */
class Versions {
    onDidChangeFile = new vscode.EventEmitter().event;

    /**
     * @param {vscode.Uri} uri
     * @returns {Promise<Uint8Array>}
     */
    async readFile(uri) {
        const file = onDisk(uri);
        if (file) {
            return readFile(file);
        }
        const { top, name } = JSON.parse(uri.query);
        return name ? blob(top, name) : new Uint8Array();
    }

    /** @param {vscode.Uri} uri */
    async stat(uri) {
        const file = onDisk(uri);
        const [size, mtime] = file
            ? await stat(file).then((found) => [found.size, found.mtimeMs])
            : [(await this.readFile(uri)).length, 0];
        return { type: vscode.FileType.File, ctime: 0, mtime: mtime ?? 0, size: size ?? 0 };
    }

    watch() {
        return { dispose() {} };
    }

    /** @returns {[string, vscode.FileType][]} */
    readDirectory() {
        return [];
    }

    /** @param {vscode.Uri} uri */
    createDirectory(uri) {
        throw refuse(uri);
    }

    /** @param {vscode.Uri} uri */
    writeFile(uri) {
        throw refuse(uri);
    }

    /** @param {vscode.Uri} uri */
    delete(uri) {
        throw refuse(uri);
    }

    /** @param {vscode.Uri} uri */
    rename(uri) {
        throw refuse(uri);
    }
}

module.exports = { SCHEME, Versions, fileOf, rowOf, versionOf };
