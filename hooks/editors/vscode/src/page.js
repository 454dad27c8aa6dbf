// The page of `git boocode view --serve`, one for each worktree, until the editor ends.
"use strict";
const { spawn } = require("node:child_process");
const { createInterface } = require("node:readline");
const vscode = require("vscode");
const { program } = require("./settings");

/** @import { Worktree } from "./worktree" */

/** @type {Map<string, Promise<string>>} */
const addresses = new Map();

/**
 * Open the page in the browser, at a turn if one is given.
 * @param {Worktree} worktree
 * @param {string} turn
 */
async function openPage(worktree, turn) {
    const { top } = worktree;
    const known = addresses.get(top) ?? serve(worktree);
    addresses.set(top, known);
    // The next call starts another server.
    known.catch(() => addresses.delete(top));
    const address = `${await known}${turn && `#${turn}`}`;
    await vscode.env.openExternal(vscode.Uri.parse(address));
}

/**
 * The address of a page that is served now.
 * @param {Worktree} worktree
 * @returns {Promise<string>}
 */
function serve(worktree) {
    const [name, words] = program();
    const options = [...words, "view", "--serve", "--no-open", "--json"];
    const child = spawn(name, options, { cwd: worktree.top });
    worktree.ends(() => child.kill("SIGINT"));
    let said = "";
    child.stderr.on("data", (text) => {
        said += text;
    });
    return new Promise((resolve, reject) => {
        createInterface(child.stdout).once("line", (line) => resolve(JSON.parse(line).url));
        child.on("error", reject);
        child.on("close", () => {
            addresses.delete(worktree.top);
            reject(new Error(said.trim() || "the page is not served"));
        });
    });
}

module.exports = { openPage };
