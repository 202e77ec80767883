import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { loadConfig, type RunningNode, startNode } from "../../packages/server/src/index.ts";
import { runSchemathesis } from "./run-schemathesis.ts";

const KEY = "a-key-for-schemathesis";
const SEED = 1;
const MAX_SEC = 40;

describe("the API as others read its description", () => {
  let folder: string;
  let node: RunningNode;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "mainspring-schemathesis-"));
    const config = loadConfig({
      MAINSPRING_HTTP: "127.0.0.1:0",
      MAINSPRING_GRPC: "127.0.0.1:0",
      MAINSPRING_DATA_DIR: folder,
      MAINSPRING_API_KEY: KEY,
      MAINSPRING_LOG_LEVEL: "error",
    });
    node = await startNode(config);
  });
  after(async () => {
    await node.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it("never fails, and gives no answer that the description does not have", async () => {
    const { exitCode, report } = await runSchemathesis({ url: node.httpUrl, apiKey: KEY, seed: SEED, maxSec: MAX_SEC });
    assert.equal(exitCode, 0, report);
    // The number of requests depends on the machine; each operation must have been tested.
    const [, selected, tested] = /Selected: (\d+)\/\d+\s+Tested: (\d+)/.exec(report) ?? [];
    assert.ok(Number(tested) > 10, report);
    assert.equal(tested, selected, report);
  });
});
