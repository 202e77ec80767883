import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { StoreEvent } from "@mainspring/server/testing";
import { EPOCH_MS } from "../../sim-process.ts";
import { Quiet } from "../quiet.ts";
import { Ledger } from "../recurring/ledger.ts";
import { tenantCheckers } from "./fair-shares.ts";

const SLOTS = 10;
const BACKLOG = 1_000;
const LOOK_EVERY_MS = 5_000;
const LOOKS = 13;

/** Slots that each tenant gets when all slots are given. */
type Given = Readonly<Record<string, number>>;

/** Two tenants with a backlog, and a fault that is always active. */
function world() {
  const quiet = new Quiet();
  const checker = tenantCheckers(new Ledger(), quiet).find(({ name }) => name === "tenants share fairly");
  const running: string[] = [];
  let count = 0;
  const saw = (event: object) => checker?.saw?.(event as StoreEvent);
  const rows = ["acme", "bolt"].flatMap((tenant) =>
    Array.from({ length: BACKLOG }, (_, n) => ({ id: `${tenant} ${n}`, dueAt: EPOCH_MS, job: { tenant } })),
  );
  saw({ kind: "SUBMITTED", at: EPOCH_MS, rows });
  const commit = (atMs: number, ended: readonly string[], ids: readonly string[]) =>
    saw({
      ...{ kind: "COMMITTED", at: EPOCH_MS + atMs, outcome: { status: "APPLIED", missed: [] }, born: [], nodes: [] },
      applied: ended.map((id) => ({ after: { id, state: "SUCCEEDED", attempt: 1, dueAt: EPOCH_MS } })),
      asked: { assigned: ids.map((id) => ({ id, attempt: 1, workerId: "w", assignedAt: EPOCH_MS + atMs })) },
    });
  return {
    /** Ends all attempts, and gives their slots. */
    turn(atMs: number, given: Given) {
      const ids = Object.entries(given).flatMap(([tenant, slots]) =>
        Array.from({ length: slots }, () => `${tenant} ${count++}`),
      );
      commit(atMs, running.splice(0), ids);
      running.push(...ids);
    },
    /** Looks as often as the floor needs. @param between called before each look */
    minute(between: (atMs: number) => void) {
      for (let look = 1; look <= LOOKS; look++) {
        const atMs = look * LOOK_EVERY_MS;
        quiet.noticed({ kind: "FAULT", fault: "STORE_DOWN", on: "the store", forMs: LOOK_EVERY_MS, atMs });
        between(atMs - 1);
        checker?.looked?.(atMs);
      }
    },
  };
}

describe("the floor of the fair shares", () => {
  it("is broken by a tenant that gets too few of the slots, again and again", () => {
    const { turn, minute } = world();
    const starve = () => minute((atMs) => turn(atMs, { acme: SLOTS - 1, bolt: 1 }));
    assert.throws(starve, /bolt had 0[.]10 of the slot time and 0[.]10 of the slots from 5000 to 65000 ms/);
  });

  it("is kept where the slots never change hands", () => {
    const { turn, minute } = world();
    turn(1, { acme: SLOTS });
    assert.doesNotThrow(() => minute(() => undefined));
  });

  it("is kept by a tenant whose attempts hold its part of the slots", () => {
    const { turn, minute } = world();
    assert.doesNotThrow(() => minute((atMs) => turn(atMs, { acme: 6, bolt: 4 })));
  });
});
