import ts from "typescript";
import { type Finding, finding, isScript, parse, type Rule, type Source, walk } from "./source.ts";

/** Files that may read the platform's clock: the adapter for it, and programs that measure or drive from outside. */
const MAY_ASK_THE_CLOCK = /^(packages\/server\/src\/adapters\/system|packages\/(bench|crash)|tools)\//;

/** Forbids `new Date()`, which reads the clock without the Runtime; the linter knows only `Date.now`. */
export const noBareDate: Rule = (source) => {
  if (!isScript(source.path) || MAY_ASK_THE_CLOCK.test(source.path)) return [];
  return collect(source, (node) => {
    const bare =
      (ts.isNewExpression(node) && isNamed(node.expression, "Date") && (node.arguments ?? []).length === 0) ||
      (ts.isCallExpression(node) && isNamed(node.expression, "Date"));
    return bare ? "reads the clock: take the time from the Runtime that was passed in" : null;
  });
};

/** Checks that an import names an existing file, because Node runs the files as they are. */
export function importsNameFiles(exists: (path: string) => boolean): Rule {
  return (source) => {
    if (!isScript(source.path)) return [];
    return collect(source, (node) => {
      const target = relativeImport(node);
      if (target === null || exists(resolve(source.path, target))) return null;
      return `imports ${target}: name the file itself, with its .ts`;
    });
  };
}

function collect(source: Source, judge: (node: ts.Node) => string | null): Finding[] {
  const file = parse(source);
  const findings: Finding[] = [];
  for (const node of walk(file)) {
    const message = judge(node);
    if (message !== null) findings.push(finding(file, node, message));
  }
  return findings;
}

function isNamed(node: ts.Node, name: string): boolean {
  return ts.isIdentifier(node) && node.text === name;
}

function relativeImport(node: ts.Node): string | null {
  const specifier = importSpecifier(node);
  if (specifier === undefined || !ts.isStringLiteral(specifier)) return null;
  return specifier.text.startsWith(".") ? specifier.text : null;
}

function importSpecifier(node: ts.Node): ts.Node | undefined {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return node.moduleSpecifier;
  if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) return node.arguments[0];
  return undefined;
}

function resolve(from: string, target: string): string {
  return new URL(target, `file:///${from}`).pathname.slice(1);
}
