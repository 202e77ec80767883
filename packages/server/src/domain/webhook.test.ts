import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type LifecycleEvent, NO_EVENT_FIELDS } from "./lifecycle-event.ts";
import { deliveryOf, endDelivery, nextTryAt, originOf, RETRY_DELAYS_MS } from "./webhook.ts";

const HOUR_MS = 3_600_000;

describe("the tries of a delivery", () => {
  it("go on for about three days, each wait longer than the one before", () => {
    const waits: number[] = [];
    for (let tries = 1, at: number | null = 0; ; tries++) {
      const next: number | null = nextTryAt(tries, at ?? 0, 0, null);
      if (next === null) break;
      waits.push(next - (at ?? 0));
      at = next;
    }
    assert.deepEqual(waits, RETRY_DELAYS_MS);
    assert.deepEqual(
      waits,
      [...waits].sort((a, b) => a - b),
    );
    const allMs = waits.reduce((sum, wait) => sum + wait, 0);
    assert.ok(allMs > 72 * HOUR_MS && allMs < 80 * HOUR_MS);
  });

  it("are spread, and never before the time that the receiver asks for", () => {
    assert.equal(nextTryAt(2, 1_000, 0, null), 301_000);
    assert.equal(nextTryAt(2, 1_000, 0.5, null), 316_000);
    assert.equal(nextTryAt(1, 1_000, 0, 90_000), 90_000);
    assert.equal(nextTryAt(2, 1_000, 0, 90_000), 301_000);
    assert.equal(nextTryAt(RETRY_DELAYS_MS.length + 1, 1_000, 0, 90_000), null);
  });
});

describe("the ids of webhooks and deliveries", () => {
  const event = (executionId: string): LifecycleEvent & { executionId: string } => {
    const of = { tenant: "t", pool: "p", handler: "h", attempt: 1, jobVersion: 1 };
    return { ...NO_EVENT_FIELDS, kind: "JobCompleted", at: 1_700_000_000_000, ...of, executionId };
  };

  it("are the same for each repeat, and one webhook has all URLs of an origin", () => {
    const one = endDelivery({ url: "https://hooks.example:8443/a?b#c" }, event("e1"));
    assert.deepEqual(endDelivery({ url: "https://hooks.example:8443/a?b#c" }, event("e1")), one);
    const other = endDelivery({ url: "https://hooks.example:8443/x" }, event("e2"));
    assert.equal(other.webhook, one.webhook);
    assert.notEqual(other.id, one.id);
    assert.notEqual(endDelivery({ url: "https://hooks.example/" }, event("e1")).webhook, one.webhook);
    assert.notEqual(endDelivery({ url: one.url }, { ...event("e1"), tenant: "u" }).webhook, one.webhook);
    assert.notEqual(deliveryOf("another", one.url, event("e1")).id, one.id);
    assert.match(one.id, /^018bcfe5-6800-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  it("name the origin of a URL", () => {
    assert.equal(originOf("http://[::1]:80/x"), "http://[::1]:80");
    assert.equal(originOf("https://hooks.example?x"), "https://hooks.example");
  });
});
