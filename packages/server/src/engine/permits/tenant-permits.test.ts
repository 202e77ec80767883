import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Candidate } from "../../domain/execution.ts";
import { defaultPool } from "../../domain/pool.ts";
import { tenantLimit } from "../../domain/tenant-limit.ts";
import { explain } from "../explain.ts";
import { candidate, GATEWAY, only, Story } from "../testing/story.ts";
import { PoolPermits } from "./pool-permits.ts";

const LIMITED = { acme: 2 };

/** A worker with five slots, limits of tenants, and five jobs of each of these tenants. */
function story(limits: Record<string, number>, tenants: readonly string[], maxRunning: number | null = null): Story {
  const told = new Story();
  told.tell({ kind: "POOLS", pools: [{ ...defaultPool("default"), maxRunning }] });
  limit(told, limits).worker("w1", { slots: 5 });
  for (const tenant of tenants) told.hint(...jobs(tenant, 5)).exchangePermits();
  return told;
}

function limit(told: Story, limits: Record<string, number>): Story {
  return told.tell({ kind: "TENANT_LIMITS", limits: new Map(Object.entries(limits)) });
}

function jobs(tenant: string, count: number): Candidate[] {
  return Array.from({ length: count }, (_, n) => candidate({ id: `${tenant}-${n + 1}`, tenant, rank: n }));
}

/** Executions that the batch assigns, by tenant. */
function assigned(told: Story): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const id of told.assigned()) {
    const [tenant = ""] = id.split("-");
    counts[tenant] = (counts[tenant] ?? 0) + 1;
  }
  return counts;
}

describe("a tenant with a limit", () => {
  it("has no more attempts than it may, and leaves the other slots to others", () => {
    assert.deepEqual(assigned(story(LIMITED, ["acme", "bolt"])), { acme: 2, bolt: 3 });
  });

  it("starts the next one when the end of one is durable", () => {
    const told = story(LIMITED, ["acme"]);
    const [first] = told.commit().assigns;
    assert.ok(first);
    told.finish(first).exchangePermits();
    assert.equal(told.batch.assigns.length, 0);
    told.commit();
    assert.deepEqual(told.assigned(), ["acme-3"]);
  });

  it("needs room under its own limit and that of the pool, whichever is lower", () => {
    assert.deepEqual(assigned(story({ acme: 4 }, ["acme"], 3)), { acme: 3 });
    assert.deepEqual(assigned(story({ acme: 2 }, ["acme"], 4)), { acme: 2 });
  });

  it("starts nothing more when the limit comes or is lowered, until enough has ended, and all when it is removed", () => {
    const told = story({}, ["acme"]);
    const { assigns } = told.commit();
    assert.equal(assigns.length, 5);
    limit(told, { acme: 3 })
      .hint(...jobs("acme", 9).slice(5))
      .exchangePermits();
    limit(told, { acme: 1 }).exchangePermits();
    for (const assign of assigns.slice(0, 4)) {
      told.finish(assign).commit();
      told.later(1_000).exchangePermits();
      assert.equal(told.batch.assigns.length, 0);
    }
    told.finish(only(assigns.slice(4))).commit();
    told.later(1_000).exchangePermits();
    assert.deepEqual(told.assigned(), ["acme-6"]);
    limit(told, {});
    assert.deepEqual(assigned(told), { acme: 3 });
  });

  it("counts attempts of an earlier owner, those of every pool, and those of `default` like any other's", () => {
    const told = new Story();
    const shards = Array.from({ length: 64 }, (_, shard) => shard);
    told.tell({ kind: "LOST", shards });
    limit(told, { default: 2 });
    const row = { ...candidate({ pool: "other" }), attempt: 1 };
    const sent = { attempt: 1, workerId: "w9", gateway: GATEWAY, assignedAt: told.now, attemptStartedAt: told.now };
    const recovered = { inFlight: [{ row, ...sent, journal: null }], journals: [], commands: [] };
    const epochs = new Map(shards.map((shard) => [shard, 2]));
    told.tell({ kind: "OWNED", term: 2, epochs, recovered, incarnation: "node-1" });
    told
      .worker("w1", { slots: 5 })
      .hint(...jobs("default", 5))
      .exchangePermits();
    assert.deepEqual(assigned(told), { default: 1 });
  });

  it("is not kept from the pool's permits by others who wait for them too", () => {
    const told = story({ acme: 1 }, ["acme", "bolt"], 2);
    assert.deepEqual(assigned(told), { acme: 1, bolt: 1 });
  });

  it("keeps its permit until that of a contested pool has come, for a second at most", () => {
    const roomsOf = (name: string): number[] => {
      const permits = new PoolPermits(name, { maxRunning: 1, ratePerSec: null });
      permits.hears(1);
      permits.open(1, 1, new Map([[0, 1]]));
      permits.call(() => ({ count: 1, rank: 0 }), 1, 0, true);
      const grant = { granted: 1, giveBack: true, serial: 1, starts: 0, maxRunning: 1, taken: 1, isComplete: true };
      const to = { pool: name, epoch: 1, life: 1, account: 1, isKnown: true, at: 0, nextStartMs: null };
      permits.take({ kind: "PERMITS", ...to, ...grant }, 0);
      return [false, true].map((isRepeat) => {
        permits.call(undefined, 1, 1, isRepeat);
        return permits.room(1);
      });
    };
    assert.deepEqual(roomsOf(tenantLimit("acme")), [1, 0]);
    assert.deepEqual(roomsOf("default"), [0, 0]);
  });

  it("has its permits ready when a worker comes, and claims slots for no work that it may not run", () => {
    const told = limit(new Story(), LIMITED)
      .hint(...jobs("acme", 5))
      .exchangePermits();
    told.worker("w1", { slots: 5 }).exchangePermits();
    assert.deepEqual(assigned(told), { acme: 2 });
  });
});

describe("calls for permits of tenants", () => {
  it("name only tenants with use or wish, and a few others in turn", () => {
    const limits = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`tenant${n}`, 1]));
    const told = limit(new Story(), { ...limits, acme: 2 }).exchangePermits();
    told
      .worker("w1", { slots: 5 })
      .hint(...jobs("acme", 5))
      .exchangePermits()
      .commit();
    told.later(1_000);
    const called = told.letters.flatMap(({ message }) => (message.kind === "PERMIT_CALL" ? [message.pool] : []));
    assert.ok(called.includes(tenantLimit("acme")));
    assert.ok(called.length <= 201, `${called.length} calls`);
    told.exchangePermits();
    const others = new Set(called);
    for (let second = 0; second < 5; second++) {
      told.later(1_000);
      for (const { message } of told.letters) if (message.kind === "PERMIT_CALL") others.add(message.pool);
      told.exchangePermits();
    }
    assert.equal(others.size, 501, "a new coordinator hears of each within seconds");
  });
});

describe("the explanation of an execution", () => {
  const reasonsOf = (told: Story, id: string) => {
    const { row } = told.state.entries.get(id) ?? {};
    assert.ok(row);
    return explain(told.state, row, told.now);
  };

  it("says that its tenant is at its limit, with its own figures", () => {
    const told = story(LIMITED, ["acme", "bolt"]);
    told.commit();
    assert.deepEqual(reasonsOf(told, "acme-3")[0], { reason: "TENANT_AT_LIMIT", limit: 2, running: 2 });
  });

  it("says that it is the turn of others, without a figure of theirs", () => {
    const told = story({}, ["acme"]);
    told.commit();
    told.hint(...jobs("bolt", 1), ...jobs("acme", 6).slice(5));
    assert.deepEqual(reasonsOf(told, "acme-6")[0], { reason: "TENANT_TURN" });
    assert.ok(reasonsOf(told, "bolt-1").every(({ reason }) => reason !== "TENANT_TURN"));
  });
});
