import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

const MAIN = fileURLToPath(new URL("../main.ts", import.meta.url));
const PLANT = new URL("../mutants/plant-process.ts", import.meta.url).href;

describe("the shrinking of a failing seed", () => {
  it("leaves a handful of the jobs and faults, and tells what happened from top to bottom", async () => {
    const { text, code } = await sim("one over the limit of a key");
    assert.equal(code, 1);
    const [size = "", plan = "", ...told] = text.trimEnd().split("\n");
    assert.match(size, /^seed 1, made smaller in \d+ runs: \d+ s, \d workers$/);
    const [, jobs = "all", faults = "all"] =
      /^ {2}jobs ([\d, ]+); recurring [^;]+; faults (none|[\d, ]+)/.exec(plan) ?? [];
    assert.ok(jobs !== "all" && jobs.split(", ").length <= 20, plan);
    assert.ok(faults !== "all" && faults.split(", ").length <= 10, plan);
    assert.match(told.at(-1) ?? "", /Violation: limits hold: 3 of the key key-\d+ are current: E\d, E\d, E\d$/);
    const times = told.slice(0, -1).map((line) => line.slice(0, 12));
    assert.deepEqual(times, [...times].sort());
    for (const id of ["E1", "E2", "E3"]) assert.match(text, new RegExp(`attempt 1 of ${id} goes to worker-`));
  });

  it("says so where nothing fails", async () => {
    assert.match((await sim(null)).text, /^seed 1: everything held, so there is nothing to make smaller\n/);
  });
});

function sim(mutant: string | null): Promise<{ text: string; code: unknown }> {
  const small = ["--seed", "1", "--hours", "0.2", "--workers", "5", "--jobs", "300", "--shrink"];
  const args = [...(mutant === null ? [] : ["--import", PLANT]), MAIN, ...small];
  const env = { ...process.env, MAINSPRING_MUTANT: mutant ?? "" };
  return new Promise((resolve) => {
    execFile(process.execPath, args, { env }, (error, stdout) => resolve({ text: stdout, code: error?.code ?? 0 }));
  });
}
