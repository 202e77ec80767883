import ts from "typescript";

/** A file of the repository, as the rules see it. */
export interface Source {
  /** Path from the root of the repository, with `/`. */
  path: string;
  text: string;
}

/** A violation of a rule: its place, and advice. */
export interface Finding {
  path: string;
  /** Line number, from 1. */
  line: number;
  message: string;
}

export type Rule = (source: Source) => Finding[];

export const isScript = (path: string): boolean => /[.](tsx?|mjs|js)$/.test(path);
export const isTest = (path: string): boolean => path.endsWith(".test.ts");

/** Syntax tree, with parents. */
export function parse(source: Source): ts.SourceFile {
  return ts.createSourceFile(source.path, source.text, ts.ScriptTarget.Latest, true);
}

/** Every node of the tree, parents first. */
export function* walk(node: ts.Node): Generator<ts.Node> {
  yield node;
  const children: ts.Node[] = [];
  node.forEachChild((child) => void children.push(child));
  for (const child of children) yield* walk(child);
}

export function lineOf(file: ts.SourceFile, position: number): number {
  return file.getLineAndCharacterOfPosition(position).line + 1;
}

export function finding(file: ts.SourceFile, node: ts.Node, message: string): Finding {
  return { path: file.fileName, line: lineOf(file, node.getStart()), message };
}
