import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startTestApi, type TestApi } from "../api.fixture.ts";

const NAME = "invoice\u202egnp.exe";
const WARNING = "name has the control character U+202E, which the next release refuses: leave it out";
const target = { handler: "echo" };

describe("a job whose name the next release refuses", () => {
  let api: TestApi;
  before(async () => {
    api = await startTestApi();
  });
  after(() => api.stop());

  const send = async (method: "POST" | "PUT", url: string, body: object) => {
    const answer = await api.inject({
      ...{ method, url, payload: JSON.stringify(body) },
      headers: { "content-type": "application/json" },
    });
    assert.ok(answer.statusCode < 300, answer.body);
    return answer.json();
  };

  it("is taken with a warning, and keeps its name", async () => {
    const { jobId, warnings } = await send("POST", "/v1/jobs", { name: NAME, target });
    assert.deepEqual(warnings, [WARNING]);
    assert.equal((await api.inject({ method: "GET", url: `/v1/jobs/${jobId}` })).json().name, NAME);
    assert.equal((await send("POST", "/v1/jobs", { name: "invoice", target })).warnings, undefined);
  });

  it("is taken with a warning in a batch, each job with its own", async () => {
    const jobs = [NAME, "sound", "c1\u0085"].map((name) => ({ name, target }));
    const { items } = await send("POST", "/v1/jobs/batch", { jobs });
    const c1 = "name has the control character U+0085, which the next release refuses: leave it out";
    assert.deepEqual(
      items.map((item: { warnings?: string[] }) => item.warnings),
      [[WARNING], undefined, [c1]],
    );
  });

  it("is taken with a warning where it recurs, beside the warning about its time zone, and where it is changed", async () => {
    const job = { name: NAME, target, schedule: "0 3 * * *", timezone: "EST" };
    const made = await send("POST", "/v1/jobs", job);
    assert.equal(made.warnings.length, 2);
    assert.deepEqual([made.warnings[0].includes('"EST"'), made.warnings[1]], [true, WARNING]);
    const named = await send("PUT", `/v1/jobs/by-name/${encodeURIComponent(NAME)}`, { target, everySec: 60 });
    assert.deepEqual(named.warnings, [WARNING]);
    const changed = await send("PUT", `/v1/jobs/${made.jobId}`, { name: NAME, target, everySec: 30 });
    assert.deepEqual(changed.warnings, [WARNING]);
  });
});
