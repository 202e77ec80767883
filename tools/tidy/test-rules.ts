import ts from "typescript";
import { type Finding, finding, isTest, parse, type Rule, type Source, walk } from "./source.ts";

const TEST_CALL = /^(it|test)$/;
const LEFT_OUT = /^(it|test|describe|suite|t|context)[.](skip|todo|only)$/;
const ASSERTS = /\b(assert|expect|check|verify|judge)\w*\s*[.(]/i;

/** Forbids tests that are skipped, because they look like tests that pass. */
export const noTestLeftOut: Rule = (source) =>
  eachCall(source, (call) => {
    const name = call.expression.getText();
    if (LEFT_OUT.test(name)) return `${name}: make it run, or remove it`;
    const option = TEST_CALL.test(name) ? leavingOption(call) : undefined;
    return option === undefined ? null : `{ ${option} }: make it run, or remove it`;
  });

/**
 * Checks that each test has an assertion, because a test without one passes whatever the code does. A function of the
 * same file may assert for it.
 */
export const testsAssert: Rule = (source) => {
  const asserting = isTest(source.path) ? assertingFunctions(source) : new Set<string>();
  return eachCall(source, (call) => {
    if (!TEST_CALL.test(call.expression.getText()) || ASSERTS.test(call.getText())) return null;
    const called = [...walk(call)].some((node) => ts.isIdentifier(node) && asserting.has(node.text));
    return called ? null : "this test asserts nothing";
  });
};

function assertingFunctions(source: Source): Set<string> {
  const names = new Set<string>();
  for (const node of walk(parse(source))) {
    if (!ts.isFunctionDeclaration(node) && !ts.isVariableDeclaration(node)) continue;
    if (node.name !== undefined && ts.isIdentifier(node.name) && ASSERTS.test(node.getText()))
      names.add(node.name.text);
  }
  return names;
}

function eachCall(source: Source, judge: (call: ts.CallExpression) => string | null): Finding[] {
  if (!isTest(source.path)) return [];
  const file = parse(source);
  const findings: Finding[] = [];
  for (const node of walk(file)) {
    const message = ts.isCallExpression(node) ? judge(node) : null;
    if (message !== null) findings.push(finding(file, node, message));
  }
  return findings;
}

/**
 * The option of a test that leaves it out. `skip` may name a platform that a test is not for; on CI's platform it must
 * still run.
 */
function leavingOption(call: ts.CallExpression): string | undefined {
  const options = call.arguments.find((argument) => ts.isObjectLiteralExpression(argument));
  const found = options?.properties.find((property) => {
    const name = property.name?.getText() ?? "";
    return /^(todo|only)$/.test(name) || (name === "skip" && !/\bplatform\b/.test(property.getText()));
  });
  return found?.getText();
}
