import { readFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "node:test";
import { inspect } from "node:util";

const LIST = join(import.meta.dirname, "missing-cases.txt");
const SUITE = join(import.meta.dirname, "redis-store.conformance.ts");
const CASE_MAX_MS = 60_000;

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
  const failures: Failure[] = [];
  let count = 0;
  const groups: string[] = [];
  const env = { ...process.env, REDIS_UNDER_TEST: redisUrl };
  const events = run({ files: [SUITE], isolation: "process", timeout: CASE_MAX_MS, env });
  for await (const { type, data } of events) {
    if (type === "test:start") groups[data.nesting] = data.name;
    if (type !== "test:fail" && type !== "test:pass") continue;
    if (data.details.type === "suite") continue;
    count++;
    if (type === "test:pass") continue;
    const error = inspect((data.details as { error?: unknown }).error, { depth: 6 });
    const name = [...groups.slice(0, data.nesting), data.name].join(" > ");
    failures.push({ name, isMissing: error.includes("the store on Redis does not have"), error });
  }
  return { failures, count };
}
