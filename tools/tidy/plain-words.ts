import ts from "typescript";
import { type Finding, isScript, isTest, lineOf, parse, type Rule, type Source, walk } from "./source.ts";

/** First words that hide the subject of a sentence from a reader who sees only this sentence. */
const HIDING = "What|Who|Whoever|Whatever|Whose|Those|Of|By|Under|Also|Not";
/** A question may begin with these words. */
const HIDES_SUBJECT = new RegExp(`^(${HIDING})\\b(?![^.]*\\?)`);
/** Processes, nodes and workers are no persons. */
const PERSON = /\b(he|him|his|himself)\b/i;
/** Full stops within names and numbers have no space after them. */
const SENTENCE_END = /(?<=[.!?:])\s+(?=[A-Z`"])/;
/** Text with neither such a word nor a person need not be parsed. */
const HIDING_WORD = new RegExp(`\\b(${HIDING})\\b`);

interface Paragraph {
  /** First line of the paragraph, from 1. */
  line: number;
  text: string;
}

/** Files whose texts are the published description of the API and of the metrics. */
const DESCRIBES = /^packages\/(contract\/src|server\/src\/(api|ops))\//;
/** Number of words from which on a text is a sentence. */
const SENTENCE_WORDS = 4;

/** Checks that comments, documents and published descriptions name the subject of each sentence. */
export const plainWords: Rule = (source) => {
  if (!HIDING_WORD.test(source.text) && !PERSON.test(source.text)) return [];
  const found = isScript(source.path) ? ofScript(source) : source.path.endsWith(".md") ? prose(source.text) : [];
  return found.flatMap((paragraph) => findingsOf(source.path, paragraph));
};

function ofScript(source: Source): Paragraph[] {
  const file = parse(source);
  const isDescribing = DESCRIBES.test(source.path) && !isTest(source.path);
  return isDescribing ? [...comments(file), ...texts(file)] : comments(file);
}

function texts(file: ts.SourceFile): Paragraph[] {
  const literals = [...walk(file)].filter((node) => ts.isStringLiteralLike(node));
  const sentences = literals.filter(({ text }) => text.split(" ").length >= SENTENCE_WORDS);
  return sentences.map((node) => ({ line: lineOf(file, node.getStart()), text: node.text }));
}

function findingsOf(path: string, { line, text }: Paragraph): Finding[] {
  return text.split(SENTENCE_END).flatMap((sentence) => {
    const first = HIDES_SUBJECT.exec(sentence)?.[1];
    if (first !== undefined)
      return [{ path, line, message: `begin with the subject, not with "${first}": ${sentence}` }];
    const person = PERSON.exec(sentence)?.[0];
    if (person !== undefined)
      return [{ path, line, message: `"${person}" is for persons, name the part: ${sentence}` }];
    return [];
  });
}

function comments(file: ts.SourceFile): Paragraph[] {
  return commentRanges(file).flatMap(({ pos, end }) => {
    const lines = file.text
      .slice(pos, end)
      .replace(/^\/\*+|\*+\/$/g, "")
      .split("\n");
    return paragraphsOf(
      lines.map((line) => line.replace(/^\s*(\*(?!\*)|\/\/)?\s?/, "").trim()),
      lineOf(file, pos),
    );
  });
}

/** Comments in their order; `//` comments on consecutive lines count as one. */
function commentRanges(file: ts.SourceFile): { pos: number; end: number }[] {
  const { text } = file;
  const ranges = new Map<number, ts.CommentRange>();
  const visit = (node: ts.Node) => {
    for (const range of ts.getLeadingCommentRanges(text, node.getFullStart()) ?? []) ranges.set(range.pos, range);
    for (const range of ts.getTrailingCommentRanges(text, node.end) ?? []) ranges.set(range.pos, range);
    for (const child of node.getChildren(file)) visit(child);
  };
  visit(file);
  const joined: { pos: number; end: number }[] = [];
  for (const { pos, end, kind } of [...ranges.values()].sort((a, b) => a.pos - b.pos)) {
    const last = joined.at(-1);
    const isNext = last !== undefined && /^\r?\n[ \t]*$/.test(text.slice(last.end, pos));
    if (isNext && kind === ts.SyntaxKind.SingleLineCommentTrivia && text.startsWith("//", last.pos)) last.end = end;
    else joined.push({ pos, end });
  }
  return joined;
}

/** Paragraphs of Markdown, without headings, tables and code. */
function prose(text: string): Paragraph[] {
  let isCode = false;
  const lines = text.split("\n").map((raw) => {
    const line = raw.trim();
    if (line.startsWith("```")) isCode = !isCode;
    return isCode || /^(```|[|#<])/.test(line) ? "" : line;
  });
  return paragraphsOf(lines, 1);
}

/** Splits text into paragraphs: an empty line, a list item and a tag such as `@param` each begin one. */
function paragraphsOf(lines: readonly string[], firstLine: number): Paragraph[] {
  const paragraphs: Paragraph[] = [];
  let open: Paragraph | null = null;
  for (const [index, line] of lines.entries()) {
    const begin = /^(-|\d+\.) |^@(param \S+|\w+)( \{[^}]*\})? ?/.exec(line);
    if (line === "") open = null;
    else if (open !== null && begin === null) open.text += ` ${line}`;
    else paragraphs.push((open = { line: firstLine + index, text: line.slice(begin?.[0].length ?? 0) }));
  }
  return paragraphs;
}
