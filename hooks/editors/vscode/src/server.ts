// A client of `git boocode serve`: JSON-RPC 2.0, one message a line. git-boocode-editors(7) describes it.
import { ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { createInterface } from "node:readline";

export interface TextPosition {
    line: number;
    character: number;
}

export interface TextEdit {
    newText: string;
    range: { start: TextPosition; end: TextPosition };
}

/** A file in an answer; which of the fields are there depends on the tool. */
export interface AnsweredFile {
    path: string;
    from?: string;
    action?: string;
    status?: string;
    /** The versions of a proposal: names of blobs. */
    context?: string;
    output?: string;
    local?: string;
    text_edits?: TextEdit[];
}

/** A changed block of lines, to be restored by its number. */
export interface Hunk {
    number: number;
    start_line: number;
    old_text: string;
    new_text: string;
}

/** A file that a restore changes; the last two are there in a dry run with paths. */
export interface Change {
    path: string;
    action: string;
    version?: string;
    hunks?: Hunk[];
}

/** Lines that others have changed since a turn; `turn` is missing for what was done by hand. */
export interface Conflict {
    path: string;
    lines: [number, number][];
    by: { turn?: string | null; label: string }[];
}

export interface Turn {
    id: string;
    label?: string;
    agent?: string;
    created_at: string;
    files?: number;
}

/** A place that a refused edit may mean; lines are 1-based and inclusive. */
export interface Candidate {
    start_line: number;
    end_line: number;
    text: string;
}

/** The answer of a tool, which `--json` prints as well; git-boocode-json(7) has the schemas. */
export interface Answer {
    files?: AnsweredFile[];
    changed?: Change[];
    conflicts?: Conflict[];
    kept?: { path: string; reason: string }[];
    checkpoints?: Turn[];
    failures?: { path: string; candidates: Candidate[] }[];
    error?: { code: string; message: string; hint?: string };
    before?: string;
    after?: string;
    proposal?: string;
    index_reset?: boolean;
    head_moved?: boolean;
    conversation_kept?: boolean;
    conversation_left?: boolean;
}

/** The error of a tool that failed; `answer` is missing if the server gave none. */
export class ToolError extends Error {
    constructor(
        message: string,
        readonly answer?: Answer,
    ) {
        super(message);
    }
}

interface Message {
    result?: { structuredContent: Answer; isError: boolean };
    error?: { message: string };
}

const INSTALL = "type: pipx install git-boocode";

/** A server, which a request starts if it does not run. */
export class Server {
    private child: ChildProcessWithoutNullStreams | undefined;
    private lastId = 0;
    private readonly waiting = new Map<number, (message: Message) => void>();

    /** `log` takes what happens to the program, and what it reports. */
    constructor(
        private readonly program: string,
        private readonly options: string[],
        private readonly log: (line: string) => void,
    ) {}

    /** The answer of a tool (ToolError); an abort of `signal` cancels the request. */
    async request(tool: string, args: object, signal: AbortSignal): Promise<Answer> {
        this.child ??= this.start();
        const message = await this.exchange(tool, args, signal);
        const answer = message.result?.structuredContent;
        if (!answer || message.result?.isError) {
            const error = answer?.error ?? message.error;
            throw new ToolError(error?.message ?? "the server gave no answer", answer);
        }
        return answer;
    }

    /** The server answers what it was asked, and ends. */
    dispose(): void {
        this.child?.stdin.end();
    }

    private async exchange(tool: string, args: object, signal: AbortSignal): Promise<Message> {
        const id = ++this.lastId;
        const answered = new Promise<Message>((resolve) => {
            this.waiting.set(id, resolve);
            signal.addEventListener("abort", () => {
                if (this.waiting.has(id)) {
                    const params = { requestId: id };
                    this.send({ method: "notifications/cancelled", params });
                }
                resolve({ error: signal.reason });
            });
        });
        const params = { name: tool, arguments: args };
        this.send({ id, method: "tools/call", params });
        return answered.finally(() => this.waiting.delete(id));
    }

    private send(message: object): void {
        const line = JSON.stringify({ jsonrpc: "2.0", ...message });
        this.child?.stdin.write(`${line}\n`);
    }

    private start(): ChildProcessWithoutNullStreams {
        const child = spawn(this.program, this.options);
        this.child = child;
        let said = "";
        child.stderr.on("data", (text) => {
            said = `${said}${text}`.slice(-1000);
        });
        child.on("error", ({ message }) => this.ended(child, message));
        child.on("close", (code) => {
            const reason = said.trim() || "the server ended";
            // Git ends with 1 if it knows no such command.
            this.ended(child, code === 1 ? `${reason}\n${INSTALL}` : reason);
        });
        child.stdin.on("error", () => {
            // The end of the server is reported above.
        });
        createInterface(child.stdout).on("line", (line) => this.received(line));
        this.initialize();
        return child;
    }

    private initialize(): void {
        const params = {
            protocolVersion: "2025-11-25",
            clientInfo: { name: "vscode", version: "0.1.0" },
            // Paths may have any bytes.
            capabilities: { experimental: { "git-boocode": { surrogates: true } } },
        };
        this.send({ id: 0, method: "initialize", params });
        this.send({ method: "notifications/initialized" });
    }

    private received(line: string): void {
        const message = JSON.parse(line);
        if (message.params) {
            this.log(`${message.params.level}: ${message.params.data}`);
        }
        this.waiting.get(message.id)?.(message);
    }

    private ended(child: ChildProcessWithoutNullStreams, message: string): void {
        if (this.child === child) {
            this.child = undefined;
        }
        this.log(message);
        for (const resolve of this.waiting.values()) {
            resolve({ error: { message } });
        }
    }
}
