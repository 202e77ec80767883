import ts from "typescript";
import { type Finding, finding, isScript, lineOf, parse, type Rule, type Source, walk } from "./source.ts";

const FUNCTION_LINES_MAX = 70;
const SUITE = /^(describe|suite)$/;
const TEST = /^(describe|suite|it|test)$/;

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

/** Whether a function is the body of a test suite, which is a list of tests and may be long. */
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
