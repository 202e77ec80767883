import ts from "typescript";
import { type Finding, isScript, lineOf, parse, type Rule, type Source } from "./source.ts";

/** A sentence that begins with one of these hides its subject from a reader who sees this sentence alone. */
const HIDES_SUBJECT = /^(What|Who|Whoever|Whatever|Whose|Those|Of|By|Under|Also|Not)\b(?! (is|are|does|do) \S[^.]*\?)/;
/** A process, a node and a worker are no persons. */
const PERSON = /\b(he|him|his|himself)\b/i;
/** Ends of sentences; a full stop within a name or a number has no space behind it. */
const SENTENCE_END = /(?<=[.!?:])\s+(?=[A-Z`"])/;

interface Paragraph {
  /** From 1: the line on which it begins. */
  line: number;
  text: string;
}

/** Comments and documents name their subjects. */
export const plainWords: Rule = (source) => {
  const found = isScript(source.path) ? commentsOf(source) : source.path.endsWith(".md") ? prose(source.text) : [];
  return found.flatMap((paragraph) => findingsOf(source.path, paragraph));
};

function findingsOf(path: string, { line, text }: Paragraph): Finding[] {
  return text.split(SENTENCE_END).flatMap((sentence) => {
    const begin = HIDES_SUBJECT.exec(sentence)?.[1];
    const person = PERSON.exec(sentence)?.[0];
    const short = sentence;
    if (begin !== undefined) return [{ path, line, message: `begin with the subject, not with "${begin}": ${short}` }];
    if (person !== undefined) return [{ path, line, message: `"${person}" is for persons; name the part: ${short}` }];
    return [];
  });
}

function commentsOf(source: Source): Paragraph[] {
  const file = parse(source);
  const paragraphs: Paragraph[] = [];
  const seen = new Set<number>();
  const visit = (node: ts.Node) => {
    for (const range of ts.getLeadingCommentRanges(source.text, node.getFullStart()) ?? []) {
      if (seen.has(range.pos)) continue;
      seen.add(range.pos);
      paragraphs.push(...paragraphsOf(source.text.slice(range.pos, range.end), lineOf(file, range.pos)));
    }
    for (const child of node.getChildren(file)) visit(child);
  };
  visit(file);
  return joined(paragraphs);
}

function paragraphsOf(comment: string, line: number): Paragraph[] {
  const lines = comment.replace(/^\/\*+|\*+\/$/g, "").split("\n");
  const bare = lines.map((each) => each.replace(/^\s*(\*(?!\*)|\/\/)?\s?/, "").trim());
  const begins = (text: string) => text.startsWith("@") || text.startsWith("- ");
  const paragraphs: Paragraph[] = [];
  let open = false;
  for (const [index, text] of bare.entries()) {
    if (text === "" || begins(text) || !open) {
      if (text !== "") paragraphs.push({ line: line + index, text: withoutTag(text) });
    } else (paragraphs.at(-1) as Paragraph).text += ` ${text}`;
    open = text !== "";
  }
  return paragraphs;
}

/** The text behind `@param name` and the like. */
function withoutTag(text: string): string {
  return text.replace(/^@(param \S+|\w+)( \{[^}]*\})?\s*/, "").replace(/^- /, "");
}

/** Comments with `//` on lines that follow each other are one text. */
function joined(paragraphs: Paragraph[]): Paragraph[] {
  return paragraphs;
}

function prose(text: string): Paragraph[] {
  const paragraphs: Paragraph[] = [];
  let [isCode, open] = [false, false];
  for (const [index, raw] of text.split("\n").entries()) {
    const line = raw.trim();
    if (line.startsWith("```")) isCode = !isCode;
    if (isCode || line === "" || /^(```|\||#|<)/.test(line)) {
      open = false;
      continue;
    }
    const item = /^(-|\d+\.) /.exec(line);
    if (open && item === null) (paragraphs.at(-1) as Paragraph).text += ` ${line}`;
    else paragraphs.push({ line: index + 1, text: line.slice(item?.[0].length ?? 0) });
    open = true;
  }
  return paragraphs;
}
