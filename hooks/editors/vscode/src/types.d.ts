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
    end_line?: number;
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

/** How much changed; null where that is unknown. */
export interface Counts {
    files?: number | null;
    added?: number | null;
    removed?: number | null;
}

/** What names a turn. */
export interface NamedTurn {
    id: string;
    commit?: string;
    label?: string | null;
    prompt?: string | null;
    agent?: string | null;
}

export interface Turn extends NamedTurn, Counts {
    session?: string | null;
    created_at: string;
    /** Why it is not in force: `reverted`, `restored` or `archived`. */
    state?: string;
    open?: boolean;
    in_turn?: string;
}

/** A restore, revert or pick. */
export interface Operation {
    id: string;
    command: string;
    created_at: string | null;
    checkpoint_id: string | null;
    turns: string[];
    side?: string;
    partial: boolean;
    conversation_only: boolean;
    undone: boolean;
    state?: string;
}

/** What was done with a commit; times are seconds since 1970. */
export interface Commit {
    id: string;
    short: string;
    time: number;
    since?: string | null;
    subject: string;
    kind: string;
    branch: string | null;
}

/** Changes between two turns, or until now. */
export interface ByHand extends Counts {
    before: string | null;
    operation: string | null;
    time: number;
    state?: string;
    paths: string[];
}

/** The state in which the worktree is, and what changed by hand since. */
export interface Here extends Counts {
    turn: string;
    side: string;
    at: string | null;
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
    id?: string | null;
    /** Of a preview: the letters of the file, and the hunks. */
    status?: string;
    hunks?: Hunk[];
    files?: AnsweredFile[];
    changed?: Change[];
    /** Of a dry run of restore: what it would change. */
    version?: string;
    conflicts?: Conflict[];
    kept?: { path: string; reason: string; missing?: boolean }[];
    removed_commits?: { id: string; subject: string }[];
    checkpoint?: Turn;
    checkpoints?: Turn[];
    operations?: Operation[];
    commits?: Commit[];
    by_hand?: ByHand[];
    here?: Here | null;
    failures?: { path: string; candidates: Candidate[] }[];
    error?: { code: string; message: string; hint?: string; next?: Step[] };
    before?: string;
    after?: string;
    proposal?: string | null;
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
    /** The turn, or that of a file. */
    turn?: NamedTurn;
    /** The id of an edit that is undone. */
    edit?: string;
};

/** What a command does with a worktree, and with the row at which it was called. */
export type Action = (worktree: Worktree, row: Partial<Row>) => Promise<unknown>;

/** Unsaved documents by path, with what they were when they were looked at. */
export type Buffers = Map<string, { document: vscode.TextDocument; text: string; version: number }>;
