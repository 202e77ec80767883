import assert from "node:assert/strict";
import { it } from "node:test";
import type { EpochMs, ExecutionId } from "../../domain/ids.ts";
import { eventFields, NO_EVENT_FIELDS } from "../../domain/lifecycle-event.ts";
import { deliveryOf, type EndDelivery, endDelivery, type NewDelivery } from "../../domain/webhook.ts";
import type { NewJob, ShardCommit } from "../store.ts";
import {
  type DeliveryResult,
  type DueDelivery,
  type DueQuery,
  GONE_REASON,
  SUBSCRIPTIONS_MAX,
  type Subscription,
} from "../store-webhooks.ts";
import { fire, occurrence, planned } from "./recurring-scene.conformance.ts";
import { nodeEnds, nodeId, started } from "./runs-scene.conformance.ts";
import { ALL_SHARDS, type Scene, TENANT } from "./store-scene.conformance.ts";

const DAY_MS = 86_400_000;
const HOOK = "https://hooks.example/a?key=1";
const RETENTION = { days: 30, deadDays: 90 };

/** Webhooks and their deliveries. @param isTelling whether commits have lifecycle events, too */
export function webhooksConformance(scene: () => Scene, isTelling: boolean): void {
  let seq = 0;
  const store = () => scene().store.webhooks;
  const now = () => scene().runtime.now();
  const end = (job: { executionId: ExecutionId }, sample: Partial<EndDelivery["event"]> = {}, url = HOOK) => {
    const at = Math.floor(now());
    const event = { ...NO_EVENT_FIELDS, kind: "JobCompleted" as const, at, executionId: job.executionId };
    const rest = { tenant: TENANT, pool: "default", handler: "écho", attempt: 1, jobVersion: 1 };
    return endDelivery({ url }, { ...event, ...rest, state: "SUCCEEDED", ...sample });
  };
  const commit = async (shard: number, deliveries: readonly EndDelivery[], parts: Partial<ShardCommit>) => {
    seq += 3;
    const told = isTelling && { told: { seq, events: deliveries.map(({ event }) => event), inbox: [] } };
    return await scene().store.commit([scene().tick(shard, { ...parts, ...told, deliveries })]);
  };
  const due = async (asked: Partial<DueQuery> = {}): Promise<DueDelivery[]> => {
    const all = { shards: ALL_SHARDS, now: now() + 1_000, after: null, webhooks: 100, each: 100, without: new Set([]) };
    return (await store().readDue({ ...all, ...asked })).due;
  };
  const result = (delivery: DueDelivery, sample: Partial<DeliveryResult> = {}): DeliveryResult => ({
    ...{ delivery, state: "DELIVERED", nextAt: null, status: 204, error: null, isGone: false, ...sample },
  });
  const failure = (delivery: DueDelivery, nextAt: EpochMs | null = null, sample: Partial<DeliveryResult> = {}) =>
    result(delivery, { state: nextAt === null ? "FAILED" : "PENDING", nextAt, status: 500, error: "no", ...sample });
  /** A job that has ended with a delivery. */
  const ended = async (shard = 3, url = HOOK): Promise<{ job: NewJob; delivery: EndDelivery }> => {
    const job = await scene().submitted({ shard });
    const delivery = end(job, {}, url);
    await commit(shard, [delivery], { changes: [scene().succeeded(job)] });
    return { job, delivery };
  };
  const subscription = (sample: Partial<Subscription> = {}): Subscription => {
    const filter = { kinds: ["JobCompleted" as const], handler: "echo", pool: null };
    const id = scene().runtime.uuid();
    return { id, tenant: TENANT, url: HOOK, filter, secret: "whsec_one", ...sample };
  };
  const toSubscription = (webhook: string): NewDelivery & { shard: number } => {
    const at = Math.floor(now());
    const event = { ...NO_EVENT_FIELDS, kind: "JobCreated" as const, at, executionId: scene().runtime.uuid() };
    const of = { tenant: TENANT, pool: "default", handler: "echo", jobVersion: 1 };
    return { ...deliveryOf(webhook, HOOK, { ...event, ...of }), shard: 5 };
  };

  it("keeps the delivery of an end with the end, with all its fields", async () => {
    const { delivery } = await ended(3);
    const { id, webhook, url, event } = delivery;
    const [found] = await due({ shards: [3] });
    assert.deepEqual(found, {
      ...{ id, webhook, url, event, kind: "ON_FINISH", tenant: TENANT, tries: 0, secrets: [] },
    });
    assert.deepEqual(await due({ shards: [4] }), []);
    assert.deepEqual(await due({ now: now() - 60_000 }), []);
  });

  it("keeps no delivery of a row that is missed or refused, or of a shard that another node owns", async () => {
    const jobs = await Promise.all([2, 2, 2].map((shard) => scene().submitted({ shard })));
    const [gone, bad, kept] = jobs as [NewJob, NewJob, NewJob];
    await scene().applied(2, { changes: [scene().succeeded(gone)] });
    const changes = [scene().succeeded(gone), scene().succeeded(bad, { reason: "no\0body" }), scene().succeeded(kept)];
    await commit(2, [end(gone), end(bad), end(kept)], { changes });
    const other = await scene().submitted({ shard: 4 });
    await commit(4, [end(other)], { changes: [scene().succeeded(other)], epoch: scene().epochOf(4) + 1 });
    assert.deepEqual(
      (await due()).map(({ event }) => event.executionId),
      [kept.executionId],
    );
  });

  it("keeps the delivery of an occurrence only if its unique key is held", async () => {
    const [free, keyed] = [
      await planned(scene(), { shard: 6, uniqueKey: "free" }),
      await planned(scene(), { shard: 6, uniqueKey: "held" }),
    ];
    await scene().submitted({ uniqueKey: "held" });
    const made = [free, keyed].map((own) => occurrence(scene(), own, own.firstFireAt));
    const plans = [free, keyed].map((own, i) => fire(scene(), own, { created: made.slice(i, i + 1) }));
    const skips = made.map(({ row }) =>
      end({ executionId: row.id }, { ...eventFields(row), executionId: row.id, kind: "JobSkipped" }),
    );
    await commit(6, skips, { plans });
    assert.deepEqual(
      (await due()).map(({ event }) => event.executionId),
      [made[1]?.row.id],
    );
  });

  it("keeps the delivery of a commit that ends nodes of a run, too", async () => {
    const asked = await started(scene());
    const job = await scene().submitted({ shard: asked.shard });
    const changes = [nodeEnds(scene(), asked, 0), scene().succeeded(job)];
    const [outcome] = await commit(asked.shard, [end(job)], { changes });
    assert.deepEqual(outcome?.missed, []);
    assert.equal((await due()).length, 1);
    assert.equal((await scene().store.queries.getExecution(TENANT, nodeId(asked.executionId, 0)))?.state, "SUCCEEDED");
  });

  it("reads the earliest deliveries of each webhook, and goes through the webhooks", async () => {
    const urls = ["https://a.example/1", "https://b.example/", "https://c.example/"];
    for (const url of [...urls, "https://a.example/2", "https://a.example/3"]) await ended(3, url);
    const all = await due();
    const ids = [...new Set(all.map(({ webhook }) => webhook))].sort();
    assert.equal(ids.length, 3);
    const asked = { shards: ALL_SHARDS, now: now() + 1_000, after: null, webhooks: 2, each: 2, without: new Set([]) };
    const first = await store().readDue(asked);
    assert.equal(first.next, ids[1]);
    const second = await store().readDue({ ...asked, after: first.next });
    assert.equal(second.next, null);
    const read = [...first.due, ...second.due];
    assert.deepEqual([...new Set(read.map(({ webhook }) => webhook))].sort(), ids);
    assert.equal(read.length, 4);
    const [busy] = ids as [string];
    assert.deepEqual(
      new Set((await due({ without: new Set([busy]) })).map(({ webhook }) => webhook)),
      new Set(ids.slice(1)),
    );
  });

  it("keeps the result of a try once, and tries again when it is time", async () => {
    const { job, delivery } = await ended();
    const [first] = await due();
    assert.ok(first);
    const again = now() + 60_000;
    await store().settle([failure(first, again)], now(), DAY_MS);
    await store().settle([failure(first, again + 1)], now(), DAY_MS);
    await store().settle([result(first)], now(), DAY_MS);
    assert.deepEqual(await due(), []);
    const [second] = await due({ now: again });
    assert.equal(second?.tries, 1);
    await store().settle([result(second)], now(), DAY_MS);
    assert.deepEqual(await due({ now: again }), []);
    const page = { state: null, before: null, limit: 10 };
    const [kept] = await store().deliveries(TENANT, delivery.webhook, page);
    assert.deepEqual(
      [kept?.state, kept?.tries, kept?.status, kept?.error, kept?.nextAt, kept?.event.executionId],
      ["DELIVERED", 2, 204, null, null, job.executionId],
    );
    assert.deepEqual(await store().deliveries("other", delivery.webhook, page), []);
    assert.deepEqual(await store().deliveries(TENANT, delivery.webhook, { ...page, state: "FAILED" }), []);
    assert.deepEqual(await store().deliveries(TENANT, delivery.webhook, { ...page, before: delivery.id }), []);
  });

  it("disables a webhook to which nothing was delivered for long, and enables it", async () => {
    const { delivery } = await ended();
    const { webhook } = delivery;
    const at = Math.floor(now());
    const failAt = async (time: EpochMs) => {
      const [next] = await due({ now: time });
      return next === undefined ? null : await store().settle([failure(next, time)], time, DAY_MS);
    };
    assert.deepEqual(await failAt(at + 1_000), []);
    const failing = await store().get(TENANT, webhook);
    assert.deepEqual(
      [failing?.kind, failing?.url, failing?.filter, failing?.failingSince, failing?.lastError, failing?.disabledAt],
      ["ON_FINISH", "https://hooks.example", null, at + 1_000, "no", null],
    );
    assert.deepEqual(await failAt(at + DAY_MS), []);
    const late = at + 1_000 + DAY_MS;
    const disabled = await failAt(late);
    assert.deepEqual(
      disabled?.map(({ id, disabledAt, disabledReason }) => [id, disabledAt, disabledReason]),
      [[webhook, late, "nothing was delivered for 1 day"]],
    );
    assert.equal(await failAt(late), null);
    assert.deepEqual(await store().list(TENANT, null, 10), disabled);
    assert.deepEqual(await store().list("other", null, 10), []);
    assert.deepEqual(await store().list(TENANT, webhook, 10), []);
    const enabled = await store().setDisabled(TENANT, webhook, null, late);
    assert.deepEqual([enabled?.disabledAt, enabled?.failingSince, enabled?.disabledReason], [null, null, null]);
    assert.deepEqual(await failAt(late), []);
    const byHand = await store().setDisabled(TENANT, webhook, "by hand", late + 1);
    assert.deepEqual([byHand?.disabledAt, byHand?.disabledReason], [late + 1, "by hand"]);
    assert.equal(await store().setDisabled("other", webhook, null, late), null);
  });

  it("forgets failures when one delivery succeeds", async () => {
    const { delivery } = await ended();
    await ended(4);
    const [bad, good] = await due();
    assert.ok(bad && good);
    const at = Math.floor(now());
    await store().settle([failure(bad, at + 5)], at, DAY_MS);
    await store().settle([failure({ ...bad, tries: 1 }, at + 5), result(good)], at + 5, DAY_MS);
    const found = await store().get(TENANT, delivery.webhook);
    assert.deepEqual([found?.failingSince, found?.lastError, found?.lastDeliveredAt], [null, null, at + 5]);
  });

  it("replays deliveries that have a result", async () => {
    const [{ delivery }, other] = [await ended(3), await ended(4)];
    const at = Math.floor(now());
    const [one, two] = await due();
    assert.ok(one && two);
    await store().settle([failure(one), result(two)], at, DAY_MS);
    const { webhook } = delivery;
    assert.equal(await store().replay("other", webhook, { ids: [two.id] }, at), 0);
    assert.equal(await store().replay(TENANT, webhook, { since: at - DAY_MS, until: at - 3_600_000 }, at), 0);
    assert.equal(await store().replay(TENANT, webhook, { since: at - DAY_MS, until: at + DAY_MS }, at), 1);
    assert.deepEqual(
      (await due({ now: at })).map(({ id, tries }) => [id, tries]),
      [[one.id, 0]],
    );
    assert.equal(await store().replay(TENANT, webhook, { ids: [one.id, two.id, other.job.jobId] }, at), 1);
    assert.equal((await due({ now: at })).length, 2);
  });

  it("adds the deliveries of subscriptions once, and signs by both secrets after a rotation", async () => {
    const own = subscription();
    const at = Math.floor(now());
    assert.equal(await store().create(own, at), true);
    assert.deepEqual(await store().subscriptions(), [own]);
    const delivery = toSubscription(own.id);
    await store().addDeliveries([delivery, toSubscription(scene().runtime.uuid())], at);
    await store().addDeliveries([delivery], at);
    assert.equal(await store().rotate("other", own.id, "whsec_two", at + 60_000), false);
    assert.equal(await store().rotate(TENANT, own.id, "whsec_two", at + 60_000), true);
    const found = await due({ now: at });
    assert.deepEqual(
      found.map(({ id, kind, secrets }) => [id, kind, secrets]),
      [[delivery.id, "SUBSCRIPTION", ["whsec_two", "whsec_one"]]],
    );
    const [later] = await due({ now: at + 60_000 });
    assert.deepEqual(later?.secrets, ["whsec_two"]);
    const shown = await store().get(TENANT, own.id);
    assert.equal(JSON.stringify(shown).includes("whsec"), false);
    assert.deepEqual(shown?.filter, own.filter);
    const disabled = await store().settle([failure(found[0] as DueDelivery, null, { isGone: true })], at, DAY_MS);
    assert.deepEqual(
      disabled.map(({ disabledReason }) => disabledReason),
      [GONE_REASON],
    );
    assert.deepEqual(await store().subscriptions(), []);
    assert.equal(await store().remove("other", own.id), false);
    assert.equal(await store().remove(TENANT, own.id), true);
    assert.deepEqual(await store().deliveries(TENANT, own.id, { state: null, before: null, limit: 10 }), []);
    assert.equal(await store().get(TENANT, own.id), null);
  });

  it("takes a limited number of subscriptions", async () => {
    for (let i = 0; i < SUBSCRIPTIONS_MAX; i++) assert.equal(await store().create(subscription(), 1), true);
    assert.equal(await store().create(subscription(), 1), false);
  });

  it("removes deliveries after the retention, and then receivers that have none", async () => {
    const { delivery } = await ended();
    const [first] = await due();
    await store().settle([failure(first as DueDelivery)], now(), DAY_MS);
    await scene().store.maintain(now() + 29 * DAY_MS, RETENTION);
    assert.notEqual(await store().get(TENANT, delivery.webhook), null);
    await scene().store.maintain(now() + 31 * DAY_MS, RETENTION);
    assert.equal(await store().get(TENANT, delivery.webhook), null);
    assert.deepEqual(await store().deliveries(TENANT, delivery.webhook, { state: null, before: null, limit: 10 }), []);
  });
}
