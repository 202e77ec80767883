import { join } from "node:path";
import { type Clusters, DIFFERENCES, type Difference } from "./differences.ts";

export const FOLDER = join(import.meta.dirname, "..", "..", "packages", "cli", "test");

/** Files of tests that start a server as a user does, and so run on any profile. */
const FILES = [
  "api-key",
  "cli",
  "concurrent-submits",
  "events",
  "examples",
  "hostile-answers",
  "logs",
  "operate",
  "recurring",
  "steps",
  "stuck-handler",
  "webhooks",
  "workflows",
] as const;

/** Time limit of a test or a group of tests, in milliseconds. */
const TEST_MAX_MS = 600_000;

interface EndToEndTests {
  files: readonly string[];
  /** Arguments of Node. */
  args: readonly string[];
  /** Tests of these files that do not run, because the profile behaves differently. */
  differences: readonly Difference[];
}

/** End-to-end tests of the embedded profile. @param only parts of names of files; empty: all */
export function endToEndTests(only: readonly string[], clusters: Clusters): EndToEndTests {
  const names = FILES.filter((name) => only.length === 0 || only.some((part) => name.includes(part)));
  if (names.length === 0) throw new Error(`--only: no file of ${FILES.join(", ")} has this name`);
  const isHere = ({ file, isOf }: Difference) => names.some((name) => name === file) && isOf(clusters);
  const differences = DIFFERENCES.filter(isHere);
  const isLeftOut = (name: string) => differences.some(({ file, test }) => file === name && test === null);
  const files = names.filter((name) => !isLeftOut(name)).map((name) => join(FOLDER, `${name}.test.ts`));
  if (files.length === 0) throw new Error("--only: all tests of these files are left out with these settings");
  const tests = differences.flatMap(({ test }) => test ?? []);
  const skips = tests.map((test) => `--test-skip-pattern=${test.replace(/[^\w ]/g, "\\$&")}$`);
  const options = ["--test", "--test-concurrency=1", `--test-timeout=${TEST_MAX_MS}`];
  return { files, args: [...options, ...skips, ...files], differences };
}
