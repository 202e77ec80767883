import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { TinyApi } from "../../test/tiny-api.ts";
import { Client } from "./client.ts";

const job = (payload: unknown) => ({ target: { handler: "echo" }, payload });
const submitted = (n: number) => ({ jobId: `j${n}`, state: "ACTIVE", executionId: `e${n}` });
const problem = (status: number, rest: object) => ({ type: "/problems/x", title: "no", status, ...rest });

interface Body {
  jobs: { payload: unknown }[];
  idempotencyKeys: string[];
}

/** Counts the searches of arrays of one length, until `end`. */
function countSearches(length: number) {
  const { indexOf } = Array.prototype;
  let count = 0;
  function counting(this: unknown[], ...sought: [unknown, number?]): number {
    if (this.length === length) count++;
    return indexOf.apply(this, sought);
  }
  Object.assign(Array.prototype, { indexOf: counting });
  return {
    end: () => {
      Object.assign(Array.prototype, { indexOf });
      return count;
    },
  };
}

describe("submits of one turn of the loop", () => {
  let api: TinyApi;
  let client: Client;
  before(async () => {
    api = await TinyApi.start();
  });
  beforeEach(() => {
    client = new Client({ url: api.url, apiKey: "" });
  });
  afterEach(() => {
    api.seen.splice(0);
    api.forget();
  });
  after(() => api.stop());

  const bodyOf = (index: number) => JSON.parse(api.seen[index]?.body ?? "") as Body;

  it("leave as one batch, each with its own key, and each has its own answer", async () => {
    api.will({ status: 200, body: { items: [submitted(1), submitted(2), submitted(3)] } });
    const answers = await Promise.all([
      client.submit(job(1), { idempotencyKey: "own" }),
      client.submit(job(2)),
      client.submit(job(3)),
    ]);
    assert.deepEqual(
      answers.map(({ jobId }) => jobId),
      ["j1", "j2", "j3"],
    );
    assert.deepEqual(
      api.seen.map(({ method, path, headers }) => [method, path, headers["idempotency-key"]]),
      [["POST", "/v1/jobs/batch", undefined]],
    );
    const { jobs, idempotencyKeys } = bodyOf(0);
    assert.deepEqual(jobs, [job(1), job(2), job(3)]);
    assert.deepEqual([idempotencyKeys[0], new Set(idempotencyKeys).size], ["own", 3]);
  });

  it("have one key together where no caller gave one: it is for the client's own repeats alone", async () => {
    api.will("BREAK", { status: 200, body: { items: [submitted(1), submitted(2)] } });
    await Promise.all([client.submit(job(1)), client.submit(job(2))]);
    const [first, second] = api.seen.map(({ headers }) => headers["idempotency-key"]);
    assert.ok(first);
    assert.equal(second, first);
    assert.deepEqual(bodyOf(1), { jobs: [job(1), job(2)] });
  });

  it("fail together where the batch may have taken effect, and leave alone where it was refused", async () => {
    api.will({ status: 500, body: problem(500, { detail: "a bug" }) });
    const lost = [client.submit(job(1)), client.submit(job(2))];
    for (const call of lost) await assert.rejects(call, { code: "INTERNAL" });
    assert.equal(api.seen.length, 1);
    api.will(
      { status: 413, body: problem(413, { detail: "a proxy takes no such body" }) },
      { status: 201, body: submitted(1) },
      { status: 201, body: submitted(2) },
    );
    await Promise.all([client.submit(job(1)), client.submit(job(2))]);
    assert.deepEqual(
      api.seen.slice(2).map(({ path }) => path),
      ["/v1/jobs", "/v1/jobs"],
    );
  });

  it("fail one by one, with the error that a submit alone has", async () => {
    const refusal = problem(422, { detail: "the key was used with another request" });
    api.will({ status: 200, body: { items: [submitted(1), { index: 1, error: refusal }] } });
    const [first, second] = [client.submit(job(1)), client.submit(job(2))];
    const message = "the key was used with another request";
    await assert.rejects(second, { code: "KEY_REUSED", message, status: 422 });
    assert.deepEqual(await first, submitted(1));
  });

  it("ask alone where the batch has no reason, or one that passes", async () => {
    const items = [
      { index: 0, error: problem(400, {}) },
      { index: 1, error: problem(503, { detail: "the store is away" }) },
      submitted(3),
    ];
    api.will(
      { status: 200, body: { items } },
      { status: 400, body: problem(400, { detail: "target: is missing" }) },
      { status: 201, body: submitted(2) },
    );
    const calls = [1, 2, 3].map((n) => client.submit(job(n), { idempotencyKey: `k${n}` }));
    await assert.rejects(calls[0] as Promise<unknown>, { code: "BAD_REQUEST", message: "target: is missing" });
    assert.deepEqual(await Promise.all(calls.slice(1)), [submitted(2), submitted(3)]);
    assert.deepEqual(
      api.seen.slice(1).map(({ path, headers }) => [path, headers["idempotency-key"]]),
      [
        ["/v1/jobs", "k1"],
        ["/v1/jobs", "k2"],
      ],
    );
  });

  it("leave alone for a minute where the server knows no keys of single jobs, under the same keys", async () => {
    const unknown = problem(400, { detail: "x", errors: [{ field: "idempotencyKeys", message: "is not known" }] });
    const alone = [1, 2, 3, 4].map((n) => ({ status: 201, body: submitted(n) }));
    api.will({ status: 400, body: unknown }, ...alone);
    await Promise.all([1, 2].map((n) => client.submit(job(n), { idempotencyKey: `k${n}` })));
    await Promise.all([3, 4].map((n) => client.submit(job(n), { idempotencyKey: `k${n}` })));
    const keys = api.seen.slice(1).map(({ headers }) => headers["idempotency-key"]);
    assert.deepEqual(keys.sort(), ["k1", "k2", "k3", "k4"]);
    assert.ok(api.seen.slice(1).every(({ path }) => path === "/v1/jobs"));
  });

  it("let a caller go whose signal says so, and end the request when all have gone", async () => {
    api.will("SILENCE");
    const [one, two] = [new AbortController(), new AbortController()];
    const calls = [one, two].map(({ signal }, n) => client.submit(job(n), { signal }));
    await api.saw(1);
    one.abort(new Error("the first one leaves"));
    await assert.rejects(calls[0] as Promise<unknown>, { message: "the first one leaves" });
    two.abort(new Error("the second one leaves"));
    await assert.rejects(calls[1] as Promise<unknown>, { message: "the second one leaves" });
    await api.abandoned(1);
  });

  it("are not sent where their signals ended before the turn did", async () => {
    const gone = new AbortController();
    const call = client.submit(job(1), { signal: gone.signal });
    gone.abort(new Error("gone"));
    await assert.rejects(call, { message: "gone" });
    assert.equal(api.seen.length, 0);
  });

  it("are divided where they are many or large", async () => {
    const sizes = [100, 50];
    for (const size of sizes) {
      api.will({ status: 200, body: { items: Array.from({ length: size }, (_, n) => submitted(n)) } });
    }
    await Promise.all(Array.from({ length: 150 }, (_, n) => client.submit(job(n))));
    assert.deepEqual([0, 1].map((index) => bodyOf(index).jobs.length).sort(), [100, 50]);
    api.seen.splice(0);
    api.will({ status: 201, body: submitted(1) }, { status: 201, body: submitted(2) });
    await Promise.all([1, 2].map((n) => client.submit(job(String(n).repeat(400_000)))));
    assert.deepEqual(
      api.seen.map(({ path }) => path),
      ["/v1/jobs", "/v1/jobs"],
    );
  });

  it("each find their answer in a full batch by their place, though some callers have left", async () => {
    api.will({ status: 200, body: { items: Array.from({ length: 100 }, (_, n) => submitted(n)) } });
    const gone = new AbortController();
    const searches = countSearches(100);
    const calls = Array.from({ length: 100 }, (_, n) =>
      client.submit(job(n), n % 10 === 0 ? { signal: gone.signal } : {}),
    );
    gone.abort(new Error("left"));
    const outcomes = await Promise.allSettled(calls);
    const searched = searches.end();
    const jobIds = outcomes.map((one) => (one.status === "fulfilled" ? one.value.jobId : null));
    assert.deepEqual(
      jobIds,
      Array.from({ length: 100 }, (_, n) => (n % 10 === 0 ? null : `j${n}`)),
    );
    assert.equal(searched, 0, "a search of the batch for each of its jobs costs the square of their number");
  });

  it("are refused before anything is sent where a job is no JSON", async () => {
    await assert.rejects(client.submit(job(1n)), { code: "INVALID_PAYLOAD" });
    await assert.rejects(client.submit(job(1), { idempotencyKey: "a\nb" }), { code: "BAD_OPTION" });
    assert.equal(api.seen.length, 0);
  });
});
