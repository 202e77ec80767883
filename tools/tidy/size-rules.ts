import ts from "typescript";
import { type Finding, finding, isCode, isScript, lineOf, parse, type Rule, type Source, walk } from "./source.ts";

const FILE_LINES_MAX = 400;
const FUNCTION_LINES_MAX = 70;
const SUITE = /^(describe|suite)$/;
const TEST = /^(describe|suite|it|test)$/;

export const fileLength: Rule = ({ path, text }) => {
  if (!isCode(path)) return [];
  const lines = text.split("\n").length - 1;
  if (lines <= FILE_LINES_MAX) return [];
  return [{ path, line: 1, message: `${lines} lines, ${FILE_LINES_MAX} at most: this file has several subjects` }];
};

export const functionLength: Rule = (source) => (isScript(source.path) ? longFunctions(source) : []);

function longFunctions(source: Source): Finding[] {
  const file = parse(source);
  const findings: Finding[] = [];
  for (const node of walk(file)) {
    if (!ts.isFunctionLike(node) || isSuiteBody(node)) continue;
    const lines = lineOf(file, node.end) - lineOf(file, node.getStart()) + 1;
    if (lines > FUNCTION_LINES_MAX)
      findings.push(finding(file, node, `a function of ${lines} lines, ${FUNCTION_LINES_MAX} at most`));
  }
  return findings;
}

/** A list of tests is not a function that somebody follows from top to bottom. */
function isSuiteBody(node: ts.SignatureDeclaration): boolean {
  const call = node.parent;
  if (ts.isCallExpression(call) && SUITE.test(call.expression.getText())) return true;
  const body = "body" in node ? node.body : undefined;
  return body !== undefined && ts.isBlock(body) && body.statements.some(isTest);
}

function isTest(statement: ts.Statement): boolean {
  if (!ts.isExpressionStatement(statement) || !ts.isCallExpression(statement.expression)) return false;
  return TEST.test(statement.expression.expression.getText());
}
