import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { text } from "node:stream/consumers";
import type { EndedCase } from "./case-reporter.ts";

const LIST = join(import.meta.dirname, "missing-cases.txt");
const SUITE = join(import.meta.dirname, "redis-store.conformance.ts");
const REPORTER = join(import.meta.dirname, "case-reporter.ts");

/** Cases of the port's suite that need an operation which is not built, each as its groups and its name. */
export function listedCases(): string[] {
  return readFileSync(LIST, "utf8").trimEnd().split("\n");
}

interface Failure {
  name: string;
  /** Whether the case needs an operation that is not built. */
  isMissing: boolean;
  error: string;
}

/** Runs the port's suite in a process of its own. @returns the cases that failed, and the number of all */
export async function runSuite(redisUrl: string): Promise<{ failures: Failure[]; count: number }> {
  const { NODE_TEST_CONTEXT: _, ...inherited } = process.env;
  const env = { ...inherited, REDIS_UNDER_TEST: redisUrl };
  const args = [`--test-reporter=${REPORTER}`, "--test-reporter-destination=stdout", SUITE];
  const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "inherit"] });
  const [output] = await Promise.all([text(child.stdout), once(child, "exit")]);
  const cases = output
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as EndedCase);
  const failures = cases.flatMap(({ name, error }) =>
    error === null ? [] : [{ name, isMissing: error.includes("the store on Redis does not have"), error }],
  );
  return { failures, count: cases.length };
}
