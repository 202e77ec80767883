import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { before, describe, it } from "node:test";
import { createMetrics } from "../../packages/server/src/testing.ts";
import { promtool } from "./promtool.ts";
import { blocksOf, readRunbooks } from "./runbooks.ts";

const DEPLOY = join(import.meta.dirname, "../../deploy/prometheus");

describe("Prometheus' own checks", () => {
  let program: string;
  before(async () => {
    program = await promtool();
  });

  it("find nothing wrong with the metrics of a node", async () => {
    const metrics = createMetrics();
    metrics.watch(() => ({ ready: new Map([["p", 1]]), leaseRenewals: new Map([["OK", 1]]), cutOff: 0 }));
    metrics.lateness("p", 10);
    assert.deepEqual(await run(["check", "metrics"], (await metrics.text()).body), { code: 0, said: "" });
  });

  it("find nothing wrong with the example alerts", async () => {
    const { code, said } = await run(["check", "rules", "alerts.yml"]);
    assert.equal(code, 0, said);
  });

  it("find nothing wrong with the queries of the runbooks", async () => {
    const queries = readRunbooks().flatMap((runbook) => blocksOf(runbook, "promql").join("").trimEnd().split("\n"));
    const rules = queries.filter((expr) => expr !== "").map((expr) => ({ record: "of:runbook", expr }));
    assert.ok(rules.length > 40);
    const folder = await mkdtemp(join(tmpdir(), "mainspring-runbooks-"));
    try {
      const path = join(folder, "rules.json");
      await writeFile(path, JSON.stringify({ groups: rules.map((rule, n) => ({ name: `${n}`, rules: [rule] })) }));
      const { code, said } = await run(["check", "rules", "--lint=none", path]);
      assert.equal(code, 0, said);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it("see the alerts of each story fire, and no others of their name", async () => {
    const { code, said } = await run(["test", "rules", "alerts_test.yml"]);
    assert.equal(code, 0, said);
  });

  async function run(args: string[], input = ""): Promise<{ code: number; said: string }> {
    const child = spawn(program, args, { cwd: DEPLOY, stdio: ["pipe", "pipe", "pipe"] });
    child.stdin.end(input);
    const [said, mistakes, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
    return { code: code as number, said: said + mistakes };
  }
});
