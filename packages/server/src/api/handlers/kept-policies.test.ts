import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JobSubmission } from "@mainspring/contract";
import { ManualRuntime } from "../../ports/manual-runtime.fixture.ts";
import { StoreUnavailable } from "../../ports/store.ts";
import { filledIn } from "./fill-in.ts";
import { KeptPolicies } from "./kept-policies.ts";

/** A store with one handler, and an api that reads it. */
function stage(policies: object = { timeoutSec: 5 }) {
  const runtime = new ManualRuntime();
  const state = { version: "1", policies: JSON.stringify(policies), isAway: false, isLacking: false, reads: 0 };
  const read = async (known: string | null) => {
    state.reads++;
    if (state.isAway) throw new StoreUnavailable("away");
    if (known === state.version) return null;
    const kept = { pool: "mails", handler: "mail", isHome: true, declaredAt: 0, seenAt: 0 };
    return { version: state.version, handlers: [{ ...kept, policies: state.policies }] };
  };
  const lacking = () => (state.isLacking ? { address: "a", version: "0.0.9", level: 2 } : null);
  const store = { handlers: { read, keep: async () => false } };
  return { runtime, state, kept: new KeptPolicies({ store, runtime, lacking }) };
}

describe("the policies that an API node knows", () => {
  it("are looked for once a second, and follow a change within that time", async () => {
    const { runtime, state, kept } = stage();
    for (let submit = 0; submit < 100; submit++) assert.equal((await kept.read()).of("mails", "mail")?.timeoutSec, 5);
    assert.equal(state.reads, 1);
    Object.assign(state, { version: "2", policies: '{"timeoutSec":6}' });
    await runtime.advance(1_001);
    assert.equal((await kept.read()).of("mails", "mail")?.timeoutSec, 6);
    await runtime.advance(1_001);
    assert.equal((await kept.read()).of("mails", "mail")?.timeoutSec, 6);
    assert.equal(state.reads, 3);
  });

  it("are none while a node of the cluster would leave them out", async () => {
    const { state, kept } = stage();
    state.isLacking = true;
    const book = await kept.read();
    assert.deepEqual([book.of("mails", "mail"), book.homeOf("default", "mail"), state.reads], [null, null, 0]);
    state.isLacking = false;
    assert.equal((await kept.read()).homeOf("default", "mail"), "mails");
  });

  it("are asked for again at once when the store did not answer", async () => {
    const { state, kept } = stage();
    state.isAway = true;
    await assert.rejects(kept.read(), StoreUnavailable);
    state.isAway = false;
    assert.equal((await kept.read()).of("mails", "mail")?.timeoutSec, 5);
  });
});

describe("a job that is filled in", () => {
  const bytes = (payload: unknown) => Buffer.from(JSON.stringify(payload));
  const fill = async (policies: object, job: Omit<JobSubmission, "target">, payload: unknown = {}) =>
    filledIn({ ...job, target: { handler: "mail" } }, bytes(payload), await stage(policies).kept.read(), {
      ...{ tenant: "default", poolOf: (_tenant, name) => name },
    });

  it("has a limit only where it has a key", async () => {
    const limited = { concurrencyKey: "c", concurrencyLimit: 3 };
    const target = { handler: "mail", pool: "mails" };
    assert.deepEqual(await fill(limited, {}), { ...limited, target });
    assert.deepEqual(await fill(limited, { concurrencyKey: "own" }), { ...limited, concurrencyKey: "own", target });
    assert.deepEqual(await fill({ concurrencyLimit: 3 }, {}), { target });
  });

  it("is refused where its key cannot be made, with what would be right", async () => {
    const refusals: [unknown, RegExp][] = [
      [
        {},
        /^uniqueKey: is missing: the task "mail" declares "k\{payload\.id\}", which needs payload\.id: send it as a text/,
      ],
      [{ id: "x".repeat(255) }, /makes a key that is no line of 1 to 255 characters; or give uniqueKey in the job$/],
      [{ id: "a\nb" }, /makes a key that is no line/],
      [
        { id: 1, more: "x".repeat(65_536) },
        /is filled in from payloads of at most 65536 bytes, and this one has 65\d{3}/,
      ],
    ];
    for (const [payload, detail] of refusals) {
      const refused = await fill({ uniqueKey: "k{payload.id}" }, {}, payload);
      assert.ok("status" in refused && refused.status === 400, JSON.stringify(refused));
      assert.match(refused.detail ?? "", detail);
    }
    const own = await fill({ uniqueKey: "k{payload.id}" }, { uniqueKey: "own" });
    assert.equal("uniqueKey" in own && own.uniqueKey, "own");
  });
});
