import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, it, type TestContext } from "node:test";
import { Client, ExecutionFailed } from "@mainspring/sdk";
import { describeKeys } from "@mainspring/server/testing";
import { LongCommand } from "../test/testing/command.ts";
import { startServer } from "../test/testing/server.ts";

const API_KEY = "an-api-key-that-is-secret";
const WEBHOOK_SECRET = `whsec_${Buffer.from("a webhook secret of 32 bytes....").toString("base64")}`;
const SECRETS: Readonly<Record<string, string>> = {
  MAINSPRING_API_KEY: API_KEY,
  MAINSPRING_API_KEY_ALSO: "another-api-key-that-is-secret",
  MAINSPRING_CLUSTER_SECRET: "the-secret-of-a-cluster",
  MAINSPRING_CLUSTER_SECRET_ALSO: "another-secret-of-a-cluster",
  MAINSPRING_WEBHOOK_SECRET: WEBHOOK_SECRET,
  MAINSPRING_WEBHOOK_SECRET_ALSO: WEBHOOK_SECRET.replace("whsec_", "whsec_YW5k"),
};
/** Settings whose values must not be shown. */
const NAME_OF_SECRET = /KEY|SECRET|PASSWORD|TOKEN/;
/** Settings that name the file of a key. */
const KEY_FILES = ["MAINSPRING_TLS_KEY", "MAINSPRING_MESH_KEY", "MAINSPRING_AUDIT_KEY"];
/** Prints the environment of the parent, and of every process that the program may inspect. */
const LOOK =
  "cat /proc/$PPID/environ /proc/self/environ; ls -d ${TMPDIR:-/tmp}/mainspring-??????/environment 2>/dev/null; true";

async function seenBy(client: Client, pool: string): Promise<string> {
  const target = { handler: "exec", pool };
  const { executionId } = await client.submit({
    target,
    payload: { argv: ["sh", "-c", LOOK], env: { PATH: "/usr/bin:/bin" } },
  });
  const execution = await client.waitForExecution(executionId);
  assert.equal(execution.state, "SUCCEEDED", JSON.stringify(execution.error ?? ExecutionFailed.name));
  return (execution.result as { stdout: string }).stdout;
}

async function startSecretServer(t: TestContext) {
  const server = await startServer({ ...SECRETS, MAINSPRING_EXEC: "on" });
  t.after(() => server.stop());
  return { server, client: new Client({ url: server.httpUrl, apiKey: API_KEY }) };
}

describe("secrets of the environment", () => {
  it("are not shown to programs that a server runs, and the server has them all the same", async (t) => {
    const { server, client } = await startSecretServer(t);
    const seen = await seenBy(client, "default");
    assert.match(seen, /MAINSPRING_EXEC=on/);
    for (const secret of Object.values(SECRETS)) assert.ok(!seen.includes(secret));
    assert.doesNotMatch(seen, /mainspring-.{6}\/environment$/m);
    await assert.rejects(new Client({ url: server.httpUrl, apiKey: "another-key-than-it-has", retries: 0 }).stats());
  });

  it("are not shown to programs that a worker runs", async (t) => {
    const { server, client } = await startSecretServer(t);
    const env = { ...server.clientEnv, ...SECRETS, MAINSPRING_EXEC: "on" };
    const worker = new LongCommand(["worker", "--pool", "apart"], env);
    t.after(async () => {
      worker.signal("SIGTERM");
      await worker.done;
    });
    await worker.says(/connected to/);
    const seen = await seenBy(client, "apart");
    assert.match(seen, /MAINSPRING_EXEC=on/);
    for (const secret of Object.values(SECRETS)) assert.ok(!seen.includes(secret));
  });

  it("are all that have a setting", () => {
    const names = describeKeys()
      .map(({ name }) => name)
      .filter((name) => NAME_OF_SECRET.test(name) && !name.endsWith("_SEC") && !KEY_FILES.includes(name));
    assert.deepEqual(names.toSorted(), Object.keys(SECRETS).toSorted());
    const secrets = describeKeys().flatMap(({ name, isSecret }) => (isSecret ? [name] : []));
    assert.deepEqual(
      names.filter((name) => !secrets.includes(name)),
      [],
    );
  });

  it("are where the test looks, if nothing hides them", async () => {
    assert.match(await readFile("/proc/self/environ", "utf8"), /PATH=/);
  });
});
