import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { memoryBus } from "../../adapters/memory/memory-bus.ts";
import type { HandlerOffer } from "../../ports/handler-policies.ts";
import { ManualRuntime } from "../../ports/manual-runtime.fixture.ts";
import { tenantOf } from "../../security/tenant.ts";
import { Inbox } from "../inbox.ts";
import { HandlerOffers } from "./offers.ts";

const OWN = tenantOf(null);
const offer = (pool: string, handler: string): HandlerOffer => ({ pool, handler, workers: 1, declared: [] });

/** An api beside a gateway that a test plays. */
function stage(offers: HandlerOffer[]) {
  const runtime = new ManualRuntime();
  const bus = memoryBus("node-1");
  const inbox = new Inbox(bus, runtime, { final: () => undefined, output: () => undefined, written: () => undefined });
  const state = { offers, isWhole: true, isSilent: false, asked: 0, isLacking: false };
  bus.listen("gateway", (envelopes) => {
    for (const { message } of envelopes) {
      if (message.kind !== "LIST_HANDLERS") continue;
      state.asked++;
      const { request } = message;
      const { offers: told, isWhole } = state;
      if (!state.isSilent)
        bus.send({ node: "node-1", role: "api" }, { kind: "HANDLERS", request, offers: told, isWhole });
    }
  });
  const lacking = () => (state.isLacking ? { address: "a", version: "0.0.9", level: 2 } : null);
  return { state, runtime, handlers: new HandlerOffers({ bus, inbox, runtime, lacking }) };
}

describe("the warning about a job that no worker can run", () => {
  it("says whether the pool or the handler is missing, and where the handler is", async () => {
    const { handlers } = stage([offer("a", "x"), offer("b", "x"), offer("a", "y")]);
    assert.equal(await handlers.warning(OWN, "a", "x"), null);
    assert.match(
      (await handlers.warning(OWN, "c", "x")) ?? "",
      /^no worker serves the pool "c" now: .*; workers of the pools "a", "b" offer/,
    );
    assert.match(
      (await handlers.warning(OWN, "b", "y")) ?? "",
      /^no worker of the pool "b" offers the handler "y" now: .* pool "a" offer/,
    );
    assert.match((await handlers.warning(OWN, "b", "z")) ?? "", /now: the job waits until one does$/);
  });

  it("costs one question in two seconds, and none for a minute where the handler is offered", async () => {
    const { state, handlers, runtime } = stage([offer("a", "x")]);
    for (let submit = 0; submit < 100; submit++) await handlers.warning(OWN, "a", "y");
    assert.equal(state.asked, 1);
    await runtime.advance(59_000);
    assert.equal(await handlers.warning(OWN, "a", "x"), null);
    assert.equal(state.asked, 1);
    await Promise.all([handlers.warning(OWN, "a", "y"), handlers.warning(OWN, "a", "z")]);
    assert.equal(state.asked, 2);
    state.offers = [];
    await runtime.advance(61_000);
    assert.match((await handlers.warning(OWN, "a", "x")) ?? "", /no worker serves the pool "a"/);
  });

  it("is not given where a gateway does not answer, has more than it tells, or is older", async () => {
    const { state, handlers, runtime } = stage([]);
    state.isSilent = true;
    const asked = handlers.warning(OWN, "a", "x");
    await runtime.advance(250);
    assert.equal(await asked, null);
    Object.assign(state, { isSilent: false, isWhole: false });
    await runtime.advance(3_000);
    assert.equal(await handlers.warning(OWN, "a", "x"), null);
    Object.assign(state, { isWhole: true, isLacking: true });
    await runtime.advance(3_000);
    const before = state.asked;
    assert.deepEqual([await handlers.warning(OWN, "a", "x"), state.asked], [null, before]);
  });
});
