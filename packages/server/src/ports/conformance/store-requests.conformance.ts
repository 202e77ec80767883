import assert from "node:assert/strict";
import { it as testCase } from "node:test";
import type { Submission, SubmitOutcome } from "../store.ts";
import {
  type OpenRequest,
  REQUESTS_KEPT_DAYS,
  type RequestEnd,
  type RequestJudge,
  type TakenRequest,
} from "../store-requests.ts";
import { type Scene, type StoreUnderTest, TENANT } from "./store-scene.conformance.ts";

const DAY_MS = 86_400_000;
const ALL = { count: 1_000, bytes: 1_000_000 };
const REFUSED: RequestEnd = { state: "REFUSED", problem: '{"title":"no"}' };

/** Requests for jobs that applications write in transactions of their own. */
export function requestsConformance(scene: () => Scene, add: () => StoreUnderTest["addRequests"]): void {
  const store = () => scene().store.requests;
  const it = (title: string, run: () => Promise<void>) => testCase(title, () => scene().served("requests in SQL", run));
  const conclude = (outcome: SubmitOutcome): RequestEnd => {
    if (outcome.kind !== "ACCEPTED") return { state: "REFUSED", problem: JSON.stringify({ title: outcome.kind }) };
    const [job] = outcome.jobs;
    assert.ok(job);
    return { ...job, state: "TAKEN_IN" };
  };
  const submissionOf = ({ id, idempotencyKey, body }: OpenRequest, uniqueKey: string | null): Submission => {
    const idempotency =
      idempotencyKey === null ? null : { tenant: TENANT, key: idempotencyKey, requestHash: String(body) };
    return { idempotency, jobs: [scene().job({ jobId: id, uniqueKey })] };
  };
  /** Accepts every request, but for those whose body says otherwise. */
  const judge: RequestJudge = {
    conclude,
    decide: async (requests) =>
      requests.map((request) => {
        const { refuse, uniqueKey = null } = JSON.parse(String(request.body)) as {
          refuse?: boolean;
          uniqueKey?: string;
        };
        return refuse === true ? REFUSED : submissionOf(request, uniqueKey);
      }),
  };
  const takeIn = (limits = ALL, by = judge): Promise<TakenRequest[]> => store().takeIn(limits, by);
  const stateOf = async (id: string) => {
    const request = await store().get(TENANT, id);
    return request === null ? null : (request.end?.state ?? "ACCEPTED");
  };
  const has = async (id: string) => (await scene().store.queries.getJob(TENANT, id)) !== null;

  it("takes requests in, in order of their ids, and writes their jobs", async () => {
    const ids = await add()([{ body: '{"n": 1}' }, { body: '{"n": 2}', idempotencyKey: "b" }]);
    const seen: OpenRequest[] = [];
    const taken = await takeIn(ALL, {
      conclude,
      decide: async (requests) => {
        seen.push(...requests);
        return await judge.decide(requests);
      },
    });
    assert.deepEqual(
      seen.map(({ id, tenant, body, idempotencyKey, traceparent }) => [id, tenant, body, idempotencyKey, traceparent]),
      [
        [ids[0], TENANT, '{"n": 1}', null, null],
        [ids[1], TENANT, '{"n": 2}', "b", null],
      ],
    );
    assert.deepEqual(
      taken.map(({ id }) => id),
      ids,
    );
    for (const [i, id] of ids.entries()) {
      assert.equal(await has(id), true);
      const request = await store().get(TENANT, id);
      assert.equal(request?.body, null);
      assert.ok(Math.abs((request?.finishedAt ?? 0) - scene().runtime.now()) < 60_000);
      const executionId = taken[i]?.submitted?.submission.jobs[0]?.executionId;
      assert.deepEqual(request?.end, { state: "TAKEN_IN", jobId: id, executionId, deduplicated: false });
    }
    assert.deepEqual(await takeIn(), []);
  });

  it("keeps the problem and the body of a refused request", async () => {
    const [bad, good] = await add()([{ body: '{"refuse": true}' }, { body: "{}" }]);
    const taken = await takeIn();
    assert.deepEqual(
      taken.map(({ submitted }) => submitted === null),
      [true, false],
    );
    const request = await store().get(TENANT, bad as string);
    assert.deepEqual([request?.end, request?.body], [REFUSED, '{"refuse": true}']);
    assert.equal(await has(bad as string), false);
    assert.equal(await stateOf(good as string), "TAKEN_IN");
    assert.equal(await store().get("other", bad as string), null);
  });

  it("refuses only the job that the store cannot hold", async () => {
    const ids = await add()([{ body: '{"n": 1}' }, { body: '{"uniqueKey": "a\\u0001"}' }, { body: '{"n": 3}' }]);
    const decide: RequestJudge["decide"] = async (requests) =>
      requests.map((request, i) => submissionOf(request, i === 1 ? "no\0key" : null));
    const taken = await takeIn(ALL, { conclude, decide });
    assert.deepEqual(
      taken.map(({ end }) => end.state),
      ["TAKEN_IN", "REFUSED", "TAKEN_IN"],
    );
    assert.deepEqual(await Promise.all(ids.map(has)), [true, false, true]);
    assert.deepEqual(await Promise.all(ids.map(stateOf)), ["TAKEN_IN", "REFUSED", "TAKEN_IN"]);
  });

  it("answers repeats of idempotency keys and unique keys with the job that has them", async () => {
    const key = { idempotencyKey: "once" };
    const ids = await add()([
      { body: '{"n": 1}', ...key },
      { body: '{"n": 1}', ...key },
      { body: '{"n": 2}', ...key },
      { body: '{"uniqueKey": "one"}' },
      { body: '{"uniqueKey": "one"}' },
    ]);
    const [first, repeat, reused, unique, held] = await takeIn();
    const jobOf = (taken: TakenRequest | undefined) => taken?.end.state === "TAKEN_IN" && taken.end.jobId;
    assert.deepEqual([first, repeat, unique, held].map(jobOf), [ids[0], ids[0], ids[3], ids[3]]);
    assert.deepEqual(reused?.end, { state: "REFUSED", problem: '{"title":"KEY_REUSED"}' });
    assert.deepEqual(repeat?.submitted?.outcome.kind === "ACCEPTED" && repeat.submitted.outcome.replayed, true);
    assert.equal(held?.end.state === "TAKEN_IN" && held.end.deduplicated, true);
    const [later] = await add()([{ body: '{"n": 1}', ...key }]);
    const [again] = await takeIn();
    assert.deepEqual([again?.id, jobOf(again)], [later, ids[0]]);
    assert.equal(await has(later as string), false);
  });

  it("reads as many requests as the limits allow, and a large one alone", async () => {
    const large = `{"text": "${"x".repeat(2_000)}"}`;
    const ids = await add()([{ body: large }, { body: "{}" }, { body: "{}" }, { body: "{}" }]);
    const first = await takeIn({ count: 10, bytes: 1_000 });
    const second = await takeIn({ count: 2, bytes: 1_000 });
    const third = await takeIn({ count: 2, bytes: 1_000 });
    assert.deepEqual(
      [first, second, third].map((taken) => taken.map(({ id }) => id)),
      [ids.slice(0, 1), ids.slice(1, 3), ids.slice(3)],
    );
  });

  it("gives requests that another call takes in to no second one", async () => {
    const ids = await add()([{ body: '{"n": 1}' }]);
    const inner: TakenRequest[][] = [];
    const taken = await takeIn(ALL, {
      conclude,
      decide: async (requests) => {
        inner.push(await takeIn());
        const [late] = await add()([{ body: '{"n": 2}' }]);
        ids.push(late as string);
        inner.push(await takeIn());
        return await judge.decide(requests);
      },
    });
    const idsOf = (some: readonly TakenRequest[]) => some.map(({ id }) => id);
    assert.deepEqual([taken, ...inner].map(idsOf), [ids.slice(0, 1), [], ids.slice(1)]);
  });

  it("leaves requests as they are if the decision fails", async () => {
    const [id] = await add()([{ body: "{}" }]);
    const decide = () => Promise.reject(new Error("no"));
    await assert.rejects(takeIn(ALL, { conclude, decide }));
    assert.equal(await stateOf(id as string), "ACCEPTED");
  });

  it("tells of new requests", async () => {
    const told = new Promise<void>((resolve) => {
      let isFirst = true;
      store().watch(() => {
        // The real store gives a notice when it has begun to listen, too.
        if (!isFirst) resolve();
        isFirst = false;
      });
    });
    await add()([{ body: '{"n": 1}' }]);
    await takeIn();
    await add()([{ body: '{"n": 2}' }]);
    await told;
  });

  it("lists requests of a state, newest first, page by page", async () => {
    const ids = await add()([{ body: '{"refuse": true}' }, { body: "{}" }, { body: '{"refuse": true}' }]);
    await takeIn();
    const [open] = await add()([{ body: "{}" }]);
    const page = { state: null, before: null, limit: 10 };
    const list = async (asked: Partial<Parameters<ReturnType<typeof store>["list"]>[1]>, tenant = TENANT) =>
      (await store().list(tenant, { ...page, ...asked })).map(({ id }) => id);
    const [a, b, c] = ids as [string, string, string];
    assert.deepEqual(await list({}), [open, c, b, a]);
    assert.deepEqual(await list({ state: "REFUSED" }), [c, a]);
    assert.deepEqual(await list({ state: "REFUSED", limit: 1 }), [c]);
    assert.deepEqual(await list({ state: "REFUSED", before: c }), [a]);
    assert.deepEqual(await list({ state: "TAKEN_IN" }), [b]);
    assert.deepEqual(await list({ state: "ACCEPTED" }), [open]);
    assert.deepEqual(await list({}, "other"), []);
  });

  it("forgets requests that have ended some time ago, and no open one", async () => {
    const ids = await add()([{ body: "{}" }, { body: '{"refuse": true}' }]);
    await takeIn();
    const [open] = await add()([{ body: "{}" }]);
    const states = () => Promise.all([...ids, open as string].map(stateOf));
    const at = scene().runtime.now();
    await scene().store.maintain(at + REQUESTS_KEPT_DAYS * DAY_MS - 3_600_000, { days: 30, deadDays: 90 });
    assert.deepEqual(await states(), ["TAKEN_IN", "REFUSED", "ACCEPTED"]);
    await scene().store.maintain(at + REQUESTS_KEPT_DAYS * DAY_MS + 3_600_000, { days: 30, deadDays: 90 });
    assert.deepEqual(await states(), [null, "REFUSED", "ACCEPTED"]);
    await scene().store.maintain(at + 31 * DAY_MS, { days: 30, deadDays: 90 });
    assert.deepEqual(await states(), [null, null, "ACCEPTED"]);
  });
}
