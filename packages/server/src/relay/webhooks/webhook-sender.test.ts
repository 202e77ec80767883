import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { pino } from "pino";
import { WebhookTable } from "../../adapters/simulated/rows/webhook-table.ts";
import { type LifecycleEvent, NO_EVENT_FIELDS } from "../../domain/lifecycle-event.ts";
import { endDelivery } from "../../domain/webhook.ts";
import { ManualRuntime } from "../../ports/manual-runtime.fixture.ts";
import { StoreUnavailable } from "../../ports/store.ts";
import type { WebhookAnswer, WebhookRequest } from "../../ports/webhook-post.ts";
import { ANSWER_WITHIN_MS, WebhookSender } from "./webhook-sender.ts";

const DAY_MS = 86_400_000;
const GOOD = "https://good.example/";
const BAD = "https://bad.example/";

/** A sender on a clock of its own, and receivers that answer as a test wants it. */
class Scene {
  readonly runtime = new ManualRuntime();
  readonly table = new WebhookTable();
  readonly owned = new Map([[1, 5]]);
  readonly sent: WebhookRequest[] = [];
  /** Errors of the next calls of the store. */
  readonly readOutages: Error[] = [];
  readonly settleOutages: Error[] = [];
  answer: (request: WebhookRequest) => Promise<WebhookAnswer> = async () => status(204);
  readonly sender: WebhookSender;
  #ends = 0;

  constructor({ secrets = ["whsec_one"], readEveryMs = 5_000 } = {}) {
    const failing = (outages: Error[]) => {
      const error = outages.shift();
      if (error !== undefined) throw error;
    };
    this.sender = new WebhookSender({
      store: {
        readDue: async (asked) => {
          failing(this.readOutages);
          return this.table.readDue(asked);
        },
        settle: async (...asked) => {
          failing(this.settleOutages);
          return this.table.settle(...asked);
        },
      },
      post: (request) => {
        this.sent.push(request);
        return this.answer(request);
      },
      owned: () => this.owned,
      ...{ secrets, readEveryMs },
      disableAfterMs: 3 * DAY_MS,
      encode: ({ kind }) => ({ type: kind }),
      runtime: this.runtime,
      log: pino({ level: "silent" }),
    });
  }

  end(url: string, shard = 1): void {
    const executionId = `e${++this.#ends}`;
    const of = { tenant: "default", pool: "p", handler: "h", attempt: 1, jobVersion: 1 };
    const event: LifecycleEvent = { ...NO_EVENT_FIELDS, kind: "JobCompleted", at: this.runtime.now(), ...of };
    this.table.add(endDelivery({ url }, { ...event, executionId }), shard, this.runtime.now());
  }

  get states(): string[] {
    return Array.from(this.table.all(), ({ state, tries }) => `${state} ${tries}`);
  }
}

const status = (code: number, notBefore: number | null = null) => ({ status: code, notBefore, excerpt: "" });

describe("the sender of webhooks", () => {
  it("sends what is due of the shards that the node owns", async () => {
    const scene = new Scene();
    scene.sender.start();
    scene.end(GOOD);
    scene.end(GOOD, 2);
    scene.sender.wake();
    await scene.runtime.advance(50);
    assert.deepEqual(
      scene.sent.map(({ id, body, secrets }) => [id, body, secrets]),
      [["e1/1/JobCompleted", '{"type":"JobCompleted"}', ["whsec_one"]]],
    );
    assert.deepEqual(scene.states, ["DELIVERED 1", "PENDING 0"]);
    scene.owned.set(2, 7);
    await scene.runtime.advance(5_000);
    assert.deepEqual(scene.states, ["DELIVERED 1", "DELIVERED 1"]);
    await scene.sender.stop();
  });

  it("tries for three days, then the delivery is FAILED and its webhook is disabled", async () => {
    const scene = new Scene({ readEveryMs: 600_000 });
    scene.answer = async () => status(500);
    scene.end(BAD);
    scene.sender.start();
    await scene.runtime.advance(10_000);
    assert.deepEqual([scene.sent.length, scene.states], [2, ["PENDING 2"]]);
    for (let hours = 0; hours < 96; hours++) await scene.runtime.advance(3_600_000);
    assert.deepEqual([scene.sent.length, scene.states], [10, ["FAILED 10"]]);
    const [webhook] = scene.table.list("default", null, 10);
    assert.equal(webhook?.disabledReason, "nothing was delivered for 3 days");
    scene.end(BAD);
    await scene.runtime.advance(60_000);
    assert.equal(scene.sent.length, 10);
    const { webhookTries, webhooksDisabled } = scene.sender.readings();
    assert.deepEqual([webhookTries?.get("RETRIED"), webhookTries?.get("FAILED"), webhooksDisabled], [9, 1, 1]);
    await scene.sender.stop();
  });

  it("waits for as long as the receiver says", async () => {
    const scene = new Scene();
    const until = scene.runtime.now() + 600_000;
    scene.answer = async () => status(429, until);
    scene.end(BAD);
    scene.sender.start();
    await scene.runtime.advance(599_000);
    assert.equal(scene.sent.length, 1);
    await scene.runtime.advance(10_000);
    assert.equal(scene.sent.length, 2);
    await scene.sender.stop();
  });

  it("ends a delivery that the receiver will never take", async () => {
    const scene = new Scene();
    scene.answer = async () => status(410);
    scene.end(BAD);
    scene.sender.start();
    await scene.runtime.advance(50);
    assert.deepEqual(scene.states, ["FAILED 1"]);
    assert.equal(scene.table.list("default", null, 10)[0]?.disabledAt, null);
    await scene.sender.stop();
  });

  it("goes on with others while a receiver hangs, and gives up after a while", async () => {
    const scene = new Scene();
    scene.answer = ({ url, signal }) =>
      url === BAD
        ? new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)))
        : Promise.resolve(status(200));
    for (let n = 0; n < 40; n++) scene.end(BAD);
    scene.sender.start();
    await scene.runtime.advance(1_000);
    assert.equal(scene.sent.length, 8);
    for (let n = 0; n < 40; n++) scene.end(GOOD);
    scene.sender.wake();
    await scene.runtime.advance(1_000);
    assert.equal(scene.sent.filter(({ url }) => url === GOOD).length, 40);
    assert.equal(scene.sent.filter(({ url }) => url === BAD).length, 8);
    await scene.runtime.advance(ANSWER_WITHIN_MS);
    // A webhook that fails has one place.
    assert.equal(scene.sent.filter(({ url }) => url === BAD).length, 9);
    const hanging = scene.table.list("default", null, 10).find(({ url }) => BAD.startsWith(url));
    assert.match(hanging?.lastError ?? "", /no whole answer within 15 s/);
    const stopped = scene.sender.stop();
    await scene.runtime.advance(2_000);
    await stopped;
  });

  it("sends nothing again while the store does not keep a result, and reads again after an outage", async () => {
    const scene = new Scene();
    scene.settleOutages.push(new StoreUnavailable("down"), new StoreUnavailable("down"));
    scene.readOutages.push(new StoreUnavailable("down"));
    scene.end(GOOD);
    scene.sender.start();
    await scene.runtime.advance(1_200);
    scene.sender.wake();
    await scene.runtime.advance(10_000);
    assert.deepEqual([scene.sent.length, scene.states], [1, ["DELIVERED 1"]]);
    await scene.sender.stop();
  });

  it("sends no unsigned webhook", async () => {
    const scene = new Scene({ secrets: [] });
    scene.end(GOOD);
    scene.sender.start();
    await scene.runtime.advance(50);
    assert.deepEqual([scene.sent, scene.states], [[], ["PENDING 1"]]);
    assert.match(scene.table.list("default", null, 10)[0]?.lastError ?? "", /MAINSPRING_WEBHOOK_SECRET/);
    await scene.sender.stop();
  });
});
