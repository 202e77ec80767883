import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import type { Execution, SubmittedJob } from "@mainspring/sdk";
import { mainspring } from "./testing/command.ts";
import { serveOn } from "./testing/server.ts";

it("mainspring store move-schema moves a store that programs made in public, once its server has stopped", async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), "mainspring-store-"));
  t.after(() => rm(dataDir, { recursive: true, force: true }));
  const served = async <T>(env: Record<string, string>, use: (clientEnv: Record<string, string>) => Promise<T>) => {
    const server = serveOn(dataDir, env);
    t.after(() => server.signal("SIGKILL"));
    const [, url = ""] = await server.says(/api +(http:\S+)[^]*curl/);
    const answer = await use({ MAINSPRING_URL: url });
    server.signal("SIGTERM");
    assert.equal((await server.done).code, 0);
    return answer;
  };
  const asked = async <T>(env: Record<string, string>, ...args: string[]) =>
    JSON.parse((await mainspring([...args, "--json"], { env })).stdout) as T;
  const move = (...args: string[]) =>
    mainspring(["store", "move-schema", ...args], { env: { MAINSPRING_DATA_DIR: dataDir } });

  const job = await served({ MAINSPRING_STORE_SCHEMA: "public" }, async (env) => {
    const refused = await move();
    assert.match(refused.stderr, /^mainspring: The data folder .* is in use by another Mainspring server/);
    assert.equal(refused.code, 1);
    return await asked<SubmittedJob>(env, "submit", "echo", "--delay", "1h");
  });
  const moved = await move();
  assert.match(moved.stdout, /^Moved \d+ tables from the schema public to mainspring\. Start the servers/);
  assert.deepEqual([moved.stderr, moved.code], ["", 0]);
  const again = await move("--json");
  assert.deepEqual(JSON.parse(again.stdout), { from: null, to: "mainspring", tables: 0 });
  const { state } = await served({ MAINSPRING_STORE_SCHEMA: "mainspring" }, (env) =>
    asked<Execution>(env, "executions", "get", job.executionId ?? ""),
  );
  assert.equal(state, "PENDING");
});
