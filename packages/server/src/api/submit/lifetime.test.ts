import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startTestApi, type TestApi } from "../api.fixture.ts";

const headers = { "content-type": "application/json" };

describe("a lifetime over HTTP", () => {
  let api: TestApi;
  before(async () => {
    api = await startTestApi();
  });
  after(() => api.stop());

  const submit = (payload: object) => api.inject({ method: "POST", url: "/v1/jobs", headers, payload });
  const read = async (url: string) => (await api.inject({ method: "GET", url })).json();

  it("is taken from a second to ten years, and shown", async () => {
    const lifetimeOf = async (job: object) => {
      const { jobId } = (await submit({ target: { handler: "echo" }, ...job })).json();
      return (await read(`/v1/jobs/${jobId}`)).maxLifetimeSec;
    };
    assert.equal(await lifetimeOf({}), 365 * 86_400);
    for (const maxLifetimeSec of [1, 86_400.5, 3_650 * 86_400])
      assert.equal(await lifetimeOf({ maxLifetimeSec }), maxLifetimeSec);
    for (const [maxLifetimeSec, message] of [
      [0.999, "must be at least 1"],
      [3_650 * 86_400 + 1, "must be at most 315360000"],
      ["1d", "must be a number, not a string"],
      [null, "must be a number, not null"],
    ]) {
      const answer = await submit({ target: { handler: "echo" }, maxLifetimeSec });
      assert.equal(answer.statusCode, 400);
      assert.deepEqual(answer.json().errors, [{ field: "maxLifetimeSec", message }]);
    }
  });

  it("is taken only when every server of the cluster knows of lifetimes", async () => {
    const older = { address: "http://older:8080", version: "0.0.9", level: 2 };
    const app = await api.another({ apiKey: null }, (feature) => (feature === "MAX_LIFETIME" ? older : null));
    const { jobId } = (await submit({ target: { handler: "echo" }, delayMs: 60_000 })).json();
    const payload = { target: { handler: "echo" }, delayMs: 90_000, maxLifetimeSec: 60 };
    for (const [method, url] of [
      ["POST", "/v1/jobs"],
      ["PUT", "/v1/jobs/by-name/bounded"],
      ["PUT", `/v1/jobs/${jobId}`],
    ] as const) {
      const answer = await app.inject({ method, url, headers, payload });
      assert.equal(answer.statusCode, 409, url);
      assert.match(answer.json().detail, /http:\/\/older:8080 .* does not know of maxLifetimeSec/);
    }
    const { maxLifetimeSec: _, ...rest } = payload;
    const answer = await app.inject({ method: "PUT", url: `/v1/jobs/${jobId}`, headers, payload: rest });
    assert.equal(answer.statusCode, 202, "its owner does not answer in time");
    await app.close();
  });
});
