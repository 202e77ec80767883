import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Mutant } from "./mutant.ts";

const REPOSITORY = fileURLToPath(new URL("../../../../", import.meta.url));
const PLANT = fileURLToPath(new URL("plant-process.ts", import.meta.url));
/** Time limit of a test, in milliseconds: several times what the slowest test takes on a busy machine. */
const TEST_MAX_MS = 300_000;
/** Time limit of its process, in milliseconds. */
const PROCESS_MAX_MS = 600_000;
/** A mutant may make its test wait for ever. The test fails then, and what it leaves open does not keep the process. */
const ENDS = [`--test-timeout=${TEST_MAX_MS}`, "--test-force-exit"];

/**
 * Runs the mutant's test in a process with the planted mutant.
 * @returns whether that test fails there
 * @throws {Error} the process ends in another way: the mutant cannot be planted, or no such test exists
 */
export async function failsItsTest({ name, test }: Mutant & Required<Pick<Mutant, "test">>): Promise<boolean> {
  const pattern = `^${test.name.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")}$`;
  const args = ["--import", PLANT, "--test", "--test-isolation=none", "--test-reporter=tap", ...ENDS];
  const { code, output } = await ended([...args, `--test-name-pattern=${pattern}`, test.file], name);
  const line = new RegExp(`^ *(not )?ok \\d+ - ${pattern.slice(1)}`, "m").exec(output);
  if (line === null || code > 1)
    throw new Error(`the test of the mutant "${name}" did not run: ${output.slice(-2_000)}`);
  return line[1] !== undefined;
}

function ended(args: readonly string[], mutant: string): Promise<{ code: number; output: string }> {
  // A test that detects an outer runner would report to that runner.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const options = { cwd: REPOSITORY, env: { ...env, MAINSPRING_MUTANT: mutant }, timeout: PROCESS_MAX_MS };
  return new Promise((resolve) => {
    execFile(process.execPath, args, options, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? Number.NaN), output: stdout + stderr }),
    );
  });
}
