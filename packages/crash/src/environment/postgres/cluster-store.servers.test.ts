import assert from "node:assert/strict";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { ClusterStore } from "./cluster-store.ts";

describe("the PostgreSQL of a cluster keeps what it has acknowledged", () => {
  let folder: string;
  let store: ClusterStore;
  let rows = 0;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "mainspring-store-"));
    await chmod(folder, 0o711);
    store = await ClusterStore.open(folder);
    await store.sql("CREATE TABLE kept (filler text)");
  });
  after(async () => {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function add(): Promise<void> {
    await store.sql("INSERT INTO kept SELECT md5(n::text) FROM generate_series(1, 2000) n");
    rows += 2_000;
  }

  async function kept(): Promise<number> {
    return Number(await store.sql("SELECT count(*) FROM kept"));
  }

  it("when it is killed", async () => {
    await add();
    const { pid } = store;
    await store.end("SIGKILL");
    await store.start();
    assert.notEqual(store.pid, pid);
    assert.equal(await kept(), rows);
  });

  it("when a standby takes its place", async () => {
    await add();
    await store.failOver(async () => add());
    assert.equal(await kept(), rows);
  });

  it("when it runs out of space", async () => {
    if (store.cannotBeFull !== null) return assert.match(store.cannotBeFull, /mount/);
    let isOver = false;
    const full = store.full(0).finally(() => {
      isOver = true;
    });
    let refused = 0;
    for (;;) {
      if (isOver) break;
      await add().catch(() => refused++);
    }
    assert.ok((await full) > 0);
    assert.ok(refused > 0);
    assert.equal(await kept(), rows);
  });
});
