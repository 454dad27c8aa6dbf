// Comments, strings, numbers and keywords of some languages, by tables. What is longer stays plain.

const MOST_PAINTED = 6000; // lines of a file
const LONGEST_PAINTED = 600; // characters of a line

const C_STRINGS = { line: "//", blocks: [["/*", "*/"]], quotes: "\"'" };
const HASH = { line: "#", quotes: "\"'" };
const wordSet = (text) => new Set(text.split(" "));

// `blocks` and `long` may go over several lines; the former are comments, the latter strings.
const LANGUAGES = {
  "c h cc cpp cxx hpp hh m": { ...C_STRINGS, keywords: wordSet("auto bool break case catch char class const constexpr continue default delete do double else enum explicit extern false final float for friend goto if inline int long namespace new noexcept nullptr operator override private protected public register return short signed sizeof static struct switch template this throw true try typedef typename union unsigned using virtual void volatile while") },
  cs: { ...C_STRINGS, keywords: wordSet("abstract as async await base bool break case catch char class const continue decimal default delegate do double else enum event false finally float for foreach get if in int interface internal is long namespace new null object out override private protected public readonly record ref return sealed set static string struct switch this throw true try typeof using var virtual void while yield") },
  "css scss less": { blocks: [["/*", "*/"]], quotes: "\"'", keywords: wordSet("important media supports import layer container from to") },
  go: { ...C_STRINGS, long: ["`"], keywords: wordSet("break case chan const continue default defer else fallthrough false for func go goto if import interface iota map nil package range return select struct switch true type var") },
  "html htm xml svg vue": { blocks: [["<!--", "-->"]], quotes: "\"", keywords: wordSet("") },
  "java kt kts scala": { ...C_STRINGS, long: ['"""'], keywords: wordSet("abstract as boolean break byte case catch char class const continue data def default do double else enum extends false final finally float for fun if implements import in instanceof int interface is lateinit lazy long match new null object override package private protected public return sealed short static super switch this throw throws trait true try typealias val var void when while with yield") },
  "js mjs cjs jsx ts mts cts tsx": { ...C_STRINGS, long: ["`"], keywords: wordSet("abstract as async await break case catch class const continue declare default delete do else enum export extends false finally for from function get if implements import in instanceof interface keyof let namespace new null of private protected public readonly return satisfies set static super switch this throw true try type typeof undefined var void while with yield") },
  "json jsonc json5": { ...C_STRINGS, keywords: wordSet("true false null") },
  lua: { line: "--", blocks: [["--[[", "]]"]], quotes: "\"'", keywords: wordSet("and break do else elseif end false for function goto if in local nil not or repeat return then true until while") },
  php: { ...C_STRINGS, keywords: wordSet("abstract and array as break case catch class clone const continue declare default do echo else elseif enum extends false final finally fn for foreach function global if implements include instanceof interface isset match namespace new null or private protected public readonly require return static switch this throw trait true try unset use var while yield") },
  "py pyi": { ...HASH, long: ['"""', "'''"], keywords: wordSet("False None True and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return self try while with yield") },
  rb: { ...HASH, keywords: wordSet("alias and begin break case class def defined do else elsif end ensure false for if in module next nil not or redo require rescue retry return self super then true undef unless until when while yield") },
  rs: { ...C_STRINGS, quotes: "\"", keywords: wordSet("as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type unsafe use where while") },
  "sh bash zsh": { ...HASH, keywords: wordSet("break case continue do done elif else esac exit export fi for function if in local readonly return set shift then trap unset until while") },
  sql: { line: "--", blocks: [["/*", "*/"]], quotes: "\"'", anyCase: true, keywords: wordSet("add all alter and as asc begin between by case check column commit constraint create default delete desc distinct drop else end exists foreign from full group having if in index inner insert into is join key left like limit not null offset on or order outer primary references returning right rollback select set table then union unique update using values view when where with") },
  swift: { ...C_STRINGS, long: ['"""'], quotes: "\"", keywords: wordSet("as async await break case catch class continue default defer do else enum extension false fileprivate final for func guard if import in init inout internal is let nil open override private protocol public return self static struct super switch throw throws true try typealias var where while") },
  "toml ini cfg conf": { ...HASH, long: ['"""', "'''"], keywords: wordSet("true false") },
  "yaml yml": { ...HASH, keywords: wordSet("true false null yes no") },
};
const NAMED = { Dockerfile: "sh", Makefile: "sh", Rakefile: "rb", Gemfile: "rb" };

const languages = new Map(Object.entries(LANGUAGES).flatMap(([names, table]) => names.split(" ").map((name) => [name, table])));

function languageOf(path) {
  const name = path.slice(path.lastIndexOf("/") + 1);
  return languages.get(NAMED[name] ?? name.slice(name.lastIndexOf(".") + 1).toLowerCase()) ?? null;
}

const escaped = (text) => text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");

// In the order in which they are tried at each place: the name of the group is the kind.
function patternOf(language) {
  const { line, blocks = [], long = [], quotes } = language;
  const parts = [
    [...blocks.map(([begin]) => escaped(begin))].map((begin) => `(?<block>${begin})`).join("|"),
    long.length ? `(?<long>${long.map(escaped).join("|")})` : "",
    line ? `(?<comment>${line === "#" ? "(?<![\\w$&{])#" : escaped(line)}.*)` : "",
    [...quotes].length ? `(?<string>${[...quotes].map((q) => `${q}(?:[^${q}\\\\]|\\\\.)*${q}?`).join("|")})` : "",
    "(?<number>(?<![\\w$])\\d[\\w.]*)",
    "(?<word>[A-Za-z_$@][\\w$]*)",
  ];
  return new RegExp(parts.filter(Boolean).join("|"), "g");
}

// The kinds of the pieces of a line, as [from, to, kind]; `open` is what ends a text of several lines.
function painted(language, text, open) {
  const pieces = [];
  let at = 0;
  const add = (end, kind) => {
    if (kind) pieces.push([at, end, kind]);
    at = end;
  };
  if (text.length > LONGEST_PAINTED) return { pieces, open: null };
  const through = (until, from) => {
    const end = text.indexOf(until.text, from);
    add(end < 0 ? text.length : end + until.text.length, until.kind);
    return end < 0 ? until : null;
  };
  let left = open ? through(open, 0) : null;
  language.pattern ??= patternOf(language);
  const pattern = language.pattern;
  while (!left && at < text.length) {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (!found) break;
    const { block, long, comment, string, number, word } = found.groups;
    add(found.index, "");
    const end = found.index + found[0].length;
    if (block) left = through({ text: language.blocks.find(([begin]) => begin === block)[1], kind: "comment" }, end);
    else if (long) left = through({ text: long, kind: "string" }, end);
    else if (comment) add(end, "comment");
    else if (string) add(end, "string");
    else if (number) add(end, "number");
    else add(end, language.keywords.has(language.anyCase ? word.toLowerCase() : word) ? "keyword" : "");
  }
  return { pieces, open: left };
}

// Paint the rows of a hunk, both sides on their own.
function paintRows(language, rows) {
  let [oldOpen, newOpen, count] = [null, null, 0];
  for (const row of rows) {
    if ("remark" in row) continue;
    if (++count > MOST_PAINTED) return;
    if (row.after !== null) ({ pieces: row.newPieces, open: newOpen } = painted(language, row.after, newOpen));
    if (row.same) [row.oldPieces, oldOpen] = [row.newPieces, newOpen];
    else if (row.before !== null) ({ pieces: row.oldPieces, open: oldOpen } = painted(language, row.before, oldOpen));
  }
}
