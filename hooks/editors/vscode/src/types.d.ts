// What the server answers; git-boocode-json(7) has the schemas.
import type * as vscode from "vscode";
import type { Worktree } from "./worktree";

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
    /** The whole new text of an unsaved document. */
    text?: string;
}

/** A changed block of lines, to be restored by its number. */
export interface Hunk {
    number: number;
    start_line: number;
    old_text: string;
    new_text: string;
}

/** A file that a restore changes; the last two are there in a dry run with paths. */
export interface Change extends AnsweredFile {
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

/** The arguments of a tool. */
export interface Arguments {
    turns?: string[];
    [name: string]: unknown;
}

/** What works after a refusal: the same call with more `arguments`, or another `tool`. */
export interface Step {
    step: string;
    tool?: string;
    arguments?: Arguments;
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
    error?: { code: string; message: string; hint?: string; next?: Step[] };
    before?: string;
    after?: string;
    proposal?: string;
    index_reset?: boolean;
    head_moved?: boolean;
    conversation_kept?: boolean;
    conversation_left?: boolean;
}

export interface Message {
    result?: { structuredContent: Answer; isError: boolean };
    error?: { message: string };
}

/** A row of a view, which loads the rows below it. */
export type Row = vscode.TreeItem & {
    load?: () => Promise<Row[]>;
    worktree?: Worktree;
    paths?: string[];
    /** The turn of a file. */
    turn?: string;
};

/** Unsaved documents by path, with what they were when they were looked at. */
export type Buffers = Map<string, { document: vscode.TextDocument; text: string; version: number }>;
