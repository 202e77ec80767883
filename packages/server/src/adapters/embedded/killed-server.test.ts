import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { Runtime } from "../../ports/runtime.ts";
import { systemRuntime } from "../system/system-runtime.ts";
import { ask, itWhere, killProcess, oldFolder, startProcess, watchdogOf, whileServing } from "./embedded.fixture.ts";
import { postgresOn } from "./processes.ts";
import { waitUntil } from "./waiting.ts";

const runtime = systemRuntime();
/** The tests read /proc. */
const itOnLinux = itWhere(process.platform === "linux");

const isGone = async (dataDir: string) => (await postgresOn(join(dataDir, "postgres"), "")).length === 0;

describe("when something is killed", () => {
  let workDir: string;
  let template: string;

  before(async () => {
    workDir = await mkdtemp(join(tmpdir(), "embedded-template-"));
    template = join(workDir, "data");
    await whileServing(template, runtime, async () => {});
  });
  after(() => rm(workDir, { recursive: true, force: true }));

  it("a server leaves its data folder free, with all that was committed", async (t) => {
    const dataDir = await oldFolder(t, template);
    const killed = await startProcess(t, dataDir);
    assert.ok(killed.news.started);
    await ask(killed.news.started, "create table kept as select 42 as answer");
    await killProcess(killed);
    await whileServing(dataDir, runtime, async ({ connection }) => {
      assert.deepEqual(await ask(connection, "select answer from kept"), [42]);
    });
  });

  itOnLinux("a server takes its PostgreSQL with it, without a next start", async (t) => {
    const dataDir = await oldFolder(t, template);
    const killed = await startProcess(t, dataDir);
    assert.equal(await isGone(dataDir), false);
    await killProcess(killed);
    assert.ok(await waitUntil(runtime, 10_000, 20, () => isGone(dataDir)));
  });

  itOnLinux("a PostgreSQL that is left over all the same is stopped, not adopted", async (t) => {
    const dataDir = await oldFolder(t, template);
    const killed = await startProcess(t, dataDir);
    const leftover = killed.news.pid ?? 0;
    process.kill(await watchdogOf(leftover), "SIGKILL");
    await killProcess(killed);
    await whileServing(dataDir, runtime, async (again) => {
      assert.notEqual(again.pid, leftover);
      const onFolder = await postgresOn(join(dataDir, "postgres"), "");
      assert.ok(onFolder.every(({ pid }) => pid !== leftover));
      assert.deepEqual(await ask(again.connection, "select 1"), [1]);
    });
  });

  itOnLinux("PostgreSQL's orphans do not hold up the next start", async (t) => {
    const dataDir = await oldFolder(t, template);
    const killed = await startProcess(t, dataDir);
    assert.ok(killed.news.started && killed.news.pid);
    // A query that never checks whether its postmaster is alive.
    void ask(killed.news.started, "select count(*) from generate_series(1, 1e12::bigint)").catch(() => {});
    await ask(killed.news.started, "select 1");
    process.kill(killed.news.pid, "SIGKILL");
    await killProcess(killed);
    await whileServing(dataDir, runtime, async ({ connection }) => {
      assert.deepEqual(await ask(connection, "select 1"), [1]);
    });
    assert.ok(await isGone(dataDir));
  });

  it("PostgreSQL itself is started again, at the same address, with all that was committed", async (t) => {
    await whileServing(await oldFolder(t, template), runtime, async (embedded) => {
      const answers = () => ask(embedded.connection, "select answer from kept").catch(() => null);
      await ask(embedded.connection, "create table kept as select 42 as answer");
      for (let round = 0; round < 3; round++) {
        const { pid } = embedded;
        process.kill(pid, "SIGKILL");
        assert.ok(await waitUntil(runtime, 10_000, 20, async () => embedded.pid !== pid && (await answers()) !== null));
        assert.deepEqual(await answers(), [42]);
      }
    });
  });

  it("PostgreSQL that cannot come back is given up, and the reason told", async (t) => {
    const dataDir = await oldFolder(t, template);
    const hasty: Runtime = { ...runtime, setTimer: (delayMs, run) => runtime.setTimer(delayMs / 50, run) };
    await whileServing(dataDir, hasty, async (embedded) => {
      await rm(join(dataDir, "postgres", "global", "pg_control"));
      process.kill(embedded.pid, "SIGKILL");
      assert.match((await embedded.exited).message, /cannot be kept running.*pg_control/s);
    });
  });
});
