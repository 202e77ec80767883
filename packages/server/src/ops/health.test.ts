import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { systemRuntime } from "../adapters/system/system-runtime.ts";
import type { Runtime } from "../ports/runtime.ts";
import { StoreUnavailable } from "../ports/store.ts";
import { readiness, type Standing } from "./health.ts";

const answering = { clock: async () => 0, checkWrites: async () => {} };

const well: Standing = {
  isMember: () => true,
  isDraining: () => false,
  isStopping: () => false,
  reach: () => ({ isCutOff: false, owners: 3 }),
  missingReplicas: () => null,
  share: () => ({ placed: 21, had: 21, isSettled: true }),
};

describe("readiness", () => {
  const runtime = systemRuntime();
  const wrong = async (fields: Partial<Standing>) => {
    const { status, checks } = await readiness(answering, runtime, { ...well, ...fields });
    const failed = checks.filter(({ ok }) => !ok);
    assert.equal(status, failed.length === 0 ? "ready" : "unready");
    return failed.map(({ name, detail }) => `${name}: ${detail}`);
  };

  it("is given to a node that has its store, its lease and its share", async () => {
    assert.deepEqual(await wrong({}), []);
    assert.deepEqual(await wrong({ share: () => null }), [], "and to one that owns no shards by its roles");
    assert.deepEqual(await wrong({ share: () => ({ placed: 0, had: 0, isSettled: true }) }), []);
  });

  it("ends while fewer replicas follow than must have each change", async () => {
    assert.deepEqual(await wrong({ missingReplicas: () => ({ follow: 1, required: 2 }) }), [
      "replicas: 1 of the 2 replicas that MAINSPRING_REDIS_REPLICAS asks for follow Redis, so submits are answered with 503",
    ]);
  });

  it("waits until a new node has its share", async () => {
    const share = () => ({ placed: 21, had: 4, isSettled: false });
    assert.deepEqual(await wrong({ share }), ["shards: it has 4 of the 21 shards that are placed here"]);
  });

  it("stays while more shards are just being placed here, because another node has gone", async () => {
    assert.deepEqual(await wrong({ share: () => ({ placed: 32, had: 21, isSettled: true }) }), []);
  });

  it("ends when the node and the owners of shards do not reach each other", async () => {
    const [reason = "", ...others] = await wrong({ reach: () => ({ isCutOff: true, owners: 2 }) });
    assert.match(
      reason,
      /^peers: this node and the 2 that may own shards do not all reach each other, so it takes none: /,
    );
    assert.deepEqual(others, []);
  });

  it("ends with the lease, and before the node goes", async () => {
    const fields = { isMember: () => false, isDraining: () => true, isStopping: () => true };
    assert.deepEqual(await wrong(fields), [
      "lease: this node's lease has run out: it owns nothing",
      "shards: without a lease it owns none",
      "draining: this node gives its work to the others",
      "stopping: this node is stopping",
    ]);
  });

  it("ends when the store fails, without telling the public why", async () => {
    const failing = { ...answering, clock: () => Promise.reject(new StoreUnavailable("postgres://me:secret@db")) };
    const { status, checks } = await readiness(failing, runtime, well);
    assert.equal(status, "unready");
    assert.equal(checks[0]?.detail, "the store cannot be reached");
  });

  it("ends when the store answers but cannot write", async () => {
    const full = { ...answering, checkWrites: () => Promise.reject(new StoreUnavailable("No space left on device")) };
    const { status, checks } = await readiness(full, runtime, well);
    assert.equal(status, "unready");
    assert.equal(checks[0]?.detail, "the store answers, but cannot write: its disk or memory may be full");
  });

  it("ends when the store is silent", async () => {
    const impatient: Runtime = { ...runtime, setTimer: (_delayMs, run) => (run(), { cancel: () => {} }) };
    const silent = { ...answering, clock: () => new Promise<number>(() => {}) };
    const { checks } = await readiness(silent, impatient, well);
    assert.match(checks[0]?.detail ?? "", /did not answer within 2000 ms/);
  });
});
