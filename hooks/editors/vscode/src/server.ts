// A client of `git boocode serve`: JSON-RPC 2.0, one message a line; git-boocode-editors(7) describes it.
import { ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { createInterface } from "node:readline";

type Names = Partial<Record<"action" | "from" | "status" | "context" | "output" | "local", string>>;
type TextEdit = { newText: string; range: Record<"start" | "end", { line: number; character: number }> };
/** The answer of a tool, which `--json` prints as well; git-boocode-json(7) has the schemas. */
export interface Answer extends Partial<Record<"index_reset" | "head_moved" | "conversation_left", boolean>> {
  files?: (Names & { path: string; text_edits?: TextEdit[] })[]; changed?: { path: string; action: string }[];
  checkpoints?: { id: string; label?: string; agent?: string; created_at: string; files?: number }[];
  failures?: { path: string; candidates: { start_line: number; end_line: number; text: string }[] }[];
  error?: { code: string; message: string; hint?: string }; before?: string; after?: string; proposal?: string;
}
type Message = { result?: { structuredContent: Answer; isError: boolean }; error?: { message: string } };

/** A server, which a request starts if it does not run. */
export class Server {
  private child: ChildProcessWithoutNullStreams | undefined;
  private last = 0;
  private readonly waiting = new Map<number, (message: Message) => void>();
  /** `log` takes what happens to the program, and what it reports. */
  constructor(readonly program: string, readonly options: string[], readonly log: (line: string) => void) {}

  /** The answer of a tool; the error of one that failed has it as `answer`. */
  async request(tool: string, args: object, signal: AbortSignal): Promise<Answer> {
    this.child ??= this.start();
    const id = ++this.last;
    const { result, error } = await new Promise<Message>((resolve) => {
      this.waiting.set(id, resolve);
      signal.addEventListener("abort", () => {
        if (this.waiting.has(id)) this.send({ method: "notifications/cancelled", params: { requestId: id } });
        resolve({ error: signal.reason });
      });
      this.send({ id, method: "tools/call", params: { name: tool, arguments: args } });
    }).finally(() => this.waiting.delete(id));
    const answer = result?.structuredContent;
    if (!answer || result?.isError) throw Object.assign(new Error((answer?.error ?? error)?.message), { answer });
    return answer;
  }

  dispose = (): void => void this.child?.stdin.end(); // It answers what it was asked, and ends.
  private send = (message: object) => this.child?.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  private start(): ChildProcessWithoutNullStreams {
    const child = (this.child = spawn(this.program, this.options));
    let said = "";
    const end = (message: string): void => {
      if (this.child === child) this.child = undefined;
      this.log(message);
      this.waiting.forEach((resolve) => resolve({ error: { message } }));
    };
    child.on("error", ({ message }) => end(message));
    child.on("close", (code) => end((said.trim() || "the server ended") + (code === 1 ? "\ntype: pipx install git-boocode" : "")));
    child.stdin.on("error", () => {}); // Its end is reported above.
    child.stderr.on("data", (text) => (said = `${said}${text}`.slice(-1000)));
    createInterface(child.stdout).on("line", (line) => {
      const message = JSON.parse(line);
      if (message.params) this.log(`${message.params.level}: ${message.params.data}`);
      this.waiting.get(message.id)?.(message);
    });
    const client = { protocolVersion: "2025-11-25", clientInfo: { name: "vscode", version: "0.1.0" } };
    const exact = { experimental: { "git-boocode": { surrogates: true } } }; // Paths may have any bytes.
    this.send({ id: 0, method: "initialize", params: { ...client, capabilities: exact } });
    this.send({ method: "notifications/initialized" });
    return child;
  }
}
