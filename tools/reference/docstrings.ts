import ts from "typescript";
import { blocks, code } from "./markdown.ts";

interface Tag {
  name: string;
  text: string;
}

/** A docstring: its text, and its tags in their order. */
export interface Docstring {
  text: string;
  tags: Tag[];
}

export function docstringOf(node: ts.Node): Docstring {
  const found = ts.getJSDocCommentsAndTags(node).filter(ts.isJSDoc).at(-1);
  return { text: proseOf(found?.comment), tags: (found?.tags ?? []).map(tagOf) };
}

/** The docstring as Markdown: a paragraph, then a list of the parameters, the result and the errors. */
export function markdownOf({ text, tags }: Docstring): string {
  return blocks(text, tags.map((tag) => `- ${tagText(tag)}`).join("\n"));
}

/** The docstring in one paragraph, for the cell of a table. */
export function sentenceOf({ text, tags }: Docstring): string {
  return [text, ...tags.map((tag) => `${tagText(tag)}.`)].join(" ").replaceAll("..", ".").trim();
}

function tagText({ name, text }: Tag): string {
  return text === "" ? name : `${name}: ${text}`;
}

function tagOf(tag: ts.JSDocTag): Tag {
  const text = proseOf(tag.comment);
  if (ts.isJSDocParameterTag(tag)) return { name: code(tag.name.getText()), text };
  if (ts.isJSDocThrowsTag(tag)) return { name: throwsName(tag), text };
  return { name: tag.tagName.text, text };
}

function throwsName({ typeExpression }: ts.JSDocThrowsTag): string {
  return typeExpression === undefined ? "throws" : `throws ${code(typeExpression.type.getText())}`;
}

function proseOf(comment: ts.JSDoc["comment"]): string {
  return (ts.getTextOfJSDocComment(comment) ?? "").replaceAll(/\s*\n\s*/g, " ").trim();
}

const DEFAULT = /(^|[.;,:]\s+)[Dd]efault:?\s+(.+?)(?:[.](?=\s|$)|;|$)/;

/** Splits the docstring of an option into its meaning and its default; "": the docstring names none. */
export function splitDefault(sentence: string): { meaning: string; fallback: string } {
  const found = DEFAULT.exec(sentence);
  if (found === null) return { meaning: sentence, fallback: "" };
  const [whole, , fallback = ""] = found;
  const parts = [sentence.slice(0, found.index), sentence.slice(found.index + whole.length)];
  const sentences = parts.map((part) => part.trim().replace(/[.]$/, "")).filter((part) => part !== "");
  return { meaning: sentences.map((part) => `${part[0]?.toUpperCase()}${part.slice(1)}.`).join(" "), fallback };
}
