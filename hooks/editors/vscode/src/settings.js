// The settings of the user; package.json describes them.
"use strict";
const vscode = require("vscode");

/**
 * @template T
 * @param {string} name
 * @param {T} fallback
 * @returns {T}
 */
function setting(name, fallback) {
    return vscode.workspace.getConfiguration("boocode").get(name, fallback);
}

/**
 * The program that answers, and its first arguments: git, which finds git-boocode in PATH, or
 * git-boocode itself.
 * @returns {[string, string[]]}
 */
function program() {
    const own = setting("path", "");
    return own ? [own, []] : [setting("gitPath", "git"), ["boocode"]];
}

module.exports = { program, setting };
