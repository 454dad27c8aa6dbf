// A client of `git boocode serve`: JSON-RPC 2.0, one message a line. git-boocode-editors(7) describes it.
"use strict";
const { spawn } = require("node:child_process");
const { createInterface } = require("node:readline");

/**
 * @import { ChildProcessWithoutNullStreams } from "node:child_process"
 * @import { Answer, Arguments, Message } from "./types"
 */

/** What changes, whoever changes it: the server notifies of it. */
const WATCHED = ["boocode://turns", "boocode://proposals"];
const MISSING =
    "git-boocode was not found: install it with 'pipx install git-boocode', or set its path";

/** The error of a tool that failed; `answer` is missing if the server gave none. */
class ToolError extends Error {
    /**
     * @param {string} message
     * @param {Answer} [answer]
     */
    constructor(message, answer) {
        super(message);
        this.answer = answer;
        /**
         * What was asked of the tool.
         * @type {{ tool: string, args: Arguments } | undefined}
         */
        this.call = undefined;
        /** Whether the program is missing. */
        this.isMissing = false;
    }
}

/** A server, which a request starts if it does not run. */
class Server {
    /** @type {ChildProcessWithoutNullStreams | undefined} */
    #child;
    #lastId = 0;
    /** @type {Map<number, (message: Message) => void>} */
    #waiting = new Map();
    #program;
    #options;
    #directory;
    #log;
    #changed;

    /**
     * @param {() => [string, string[]]} program the program and its first arguments
     * @param {string[]} options
     * @param {string} directory
     * @param {(line: string) => void} log takes what happens to the program, and what it reports
     * @param {() => void} changed is called when turns or proposals have changed
     */
    constructor(program, options, directory, log, changed) {
        this.#program = program;
        this.#options = options;
        this.#directory = directory;
        this.#log = log;
        this.#changed = changed;
    }

    /**
     * The answer of a tool (ToolError); an abort of `signal` cancels the request.
     * @param {string} tool
     * @param {object} args
     * @param {AbortSignal} signal
     * @returns {Promise<Answer>}
     */
    async request(tool, args, signal) {
        this.#child ??= this.#start();
        const message = await this.#exchange(tool, args, signal);
        const answer = message.result?.structuredContent;
        if (!answer || message.result?.isError) {
            const error = answer?.error ?? message.error;
            const problem = new ToolError(error?.message ?? "the server gave no answer", answer);
            problem.isMissing = error?.message === MISSING;
            throw problem;
        }
        return answer;
    }

    /** The server answers what it was asked, and ends. */
    dispose() {
        this.#child?.stdin.end();
    }

    /**
     * @param {string} tool
     * @param {object} args
     * @param {AbortSignal} signal
     * @returns {Promise<Message>}
     */
    async #exchange(tool, args, signal) {
        const id = ++this.#lastId;
        /** @type {Promise<Message>} */
        const answered = new Promise((resolve) => {
            this.#waiting.set(id, resolve);
            signal.addEventListener("abort", () => {
                if (this.#waiting.has(id)) {
                    const params = { requestId: id };
                    this.#send({ method: "notifications/cancelled", params });
                }
                resolve({ error: signal.reason });
            });
        });
        const params = { name: tool, arguments: args };
        this.#send({ id, method: "tools/call", params });
        return answered.finally(() => this.#waiting.delete(id));
    }

    /** @param {object} message */
    #send(message) {
        const line = JSON.stringify({ jsonrpc: "2.0", ...message });
        this.#child?.stdin.write(`${line}\n`);
    }

    #start() {
        const [name, words] = this.#program();
        const child = spawn(name, [...words, ...this.#options], { cwd: this.#directory });
        this.#child = child;
        let said = "";
        child.stderr.on("data", (text) => {
            said = `${said}${text}`.slice(-1000);
        });
        child.on("error", (error) => {
            const isMissing = "code" in error && error.code === "ENOENT";
            this.#ended(child, isMissing ? MISSING : error.message);
        });
        child.on("close", (code) => {
            const reason = said.trim() || "the server ended";
            // As git says that it knows no such command.
            this.#ended(child, code === 1 && reason.startsWith("git: ") ? MISSING : reason);
        });
        child.stdin.on("error", () => {
            // The end of the server is reported above.
        });
        createInterface(child.stdout).on("line", (line) => this.#received(line));
        this.#initialize();
        return child;
    }

    #initialize() {
        const params = {
            protocolVersion: "2025-11-25",
            clientInfo: { name: "vscode", version: "0.1.0" },
            // Paths may have any bytes.
            capabilities: { experimental: { "git-boocode": { surrogates: true } } },
        };
        this.#send({ id: 0, method: "initialize", params });
        this.#send({ method: "notifications/initialized" });
        for (const uri of WATCHED) {
            this.#send({ id: uri, method: "resources/subscribe", params: { uri } });
        }
    }

    /** @param {string} line */
    #received(line) {
        const { id, method, params, ...message } = JSON.parse(line);
        if (method === "notifications/resources/updated") {
            this.#changed();
        } else if (params) {
            this.#log(`${params.level}: ${params.data}`);
        }
        this.#waiting.get(id)?.(message);
    }

    /**
     * @param {ChildProcessWithoutNullStreams} child
     * @param {string} message
     */
    #ended(child, message) {
        if (this.#child === child) {
            this.#child = undefined;
        }
        this.#log(message);
        for (const resolve of this.#waiting.values()) {
            resolve({ error: { message } });
        }
    }
}

module.exports = { Server, ToolError };
