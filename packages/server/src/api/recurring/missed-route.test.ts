import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { systemRuntime } from "../../adapters/system/system-runtime.ts";
import { passInstants, startTestApi, type TestApi } from "../api.fixture.ts";

describe("missed instants of all jobs over HTTP", () => {
  const MINUTE_MS = 60_000;
  let nowMs = systemRuntime().now();
  let api: TestApi;
  before(async () => {
    api = await startTestApi(() => nowMs);
  });
  after(() => api.stop());

  const get = async (url: string) => (await api.inject({ method: "GET", url })).json();
  const missedIn = async () => {
    await api.missed.look();
    const [{ items }, stats] = [await get("/v1/missed-jobs"), await get("/v1/stats")];
    assert.equal(stats.recurring.missed, api.missed.found().instants);
    return items;
  };

  it("are counted in the stats, named with their jobs, and agree with the ledgers", async () => {
    assert.deepEqual((await get("/v1/missed-jobs")).lookedUntil, null);
    assert.deepEqual(await missedIn(), []);
    const ids: string[] = [];
    for (const name of ["forgetful", "well"]) {
      const payload = { target: { handler: "echo" }, name, schedule: "* * * * *" };
      ids.push((await api.inject({ method: "POST", url: "/v1/jobs", payload })).json().jobId);
    }
    const first = await passInstants(api, ids[0] as string, 3 * MINUTE_MS);
    nowMs = first + 2 * MINUTE_MS + 1;
    const [jobId, name] = [ids[0], "forgetful"];
    const told = (at: number) => new Date(at).toISOString();
    const span = { firstAt: told(first), lastAt: told(first + 2 * MINUTE_MS) };
    assert.deepEqual(await missedIn(), [{ jobId, name, missed: 3, ...span }]);
    assert.deepEqual((await get("/v1/missed-jobs")).lookedUntil, told(nowMs));
    const { items } = await get(`/v1/jobs/${jobId}/ledger`);
    assert.deepEqual([items[0].outcome, items[0].count, items[0].at], ["MISSED", 3, told(first)]);
  });
});
