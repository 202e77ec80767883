import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { RequestSummaryBody } from "@mainspring/contract";
import { systemRuntime } from "../../adapters/system/system-runtime.ts";
import { documented, startTestApi, type TestApi } from "../api.fixture.ts";
import type { Problem } from "../http/errors.ts";

const TOPIC = "0190e2a4-0000-4000-8000-000000000001";
const PROBLEM = { type: "/problems/invalid-request", title: "The request is invalid", status: 400, detail: "no" };
const runtime = systemRuntime();
const LIST = "/v1/requests?source=KAFKA&state=REFUSED";

describe("refused records of Kafka", () => {
  let api: TestApi;
  before(async () => {
    api = await startTestApi();
    await api.store.ingest.open(TOPIC, [2, 7]);
    for (const partition of [2, 7]) {
      const records = [0, 1, 2].map((offset) => ({
        ...{ offset, id: runtime.uuid(), timestamp: 1_000, contentType: null, value: null },
        decision: { state: "REFUSED" as const, problem: JSON.stringify(PROBLEM) },
      }));
      const portion = { partition, topic: TOPIC, from: 0, next: 3, records };
      await api.store.ingest.takeIn(portion, { conclude: () => assert.fail("nothing is submitted") });
    }
  });
  after(() => api.stop());

  const get = async <T>(url: string) => {
    const response = await documented(api.app, { method: "GET", url });
    return { status: response.statusCode, body: response.json<T>() };
  };
  type Page = { items: RequestSummaryBody[]; nextCursor: string | null };

  it("are listed in pages, each once, with their problems", async () => {
    const listed: RequestSummaryBody[] = [];
    for (let cursor = ""; ; ) {
      const { body } = await get<Page>(`${LIST}&limit=4${cursor}`);
      listed.push(...body.items);
      if (body.nextCursor === null) break;
      cursor = `&cursor=${body.nextCursor}`;
    }
    assert.deepEqual(listed.map(({ requestId }) => requestId).toSorted(), ["2-0", "2-1", "2-2", "7-0", "7-1", "7-2"]);
    for (const { source, state, jobId, problem, createdAt } of listed)
      assert.deepEqual(
        [source, state, jobId, problem, createdAt],
        ["KAFKA", "REFUSED", null, PROBLEM, "1970-01-01T00:00:01.000Z"],
      );
    const times = listed.map(({ finishedAt }) => finishedAt ?? "");
    assert.deepEqual(times, times.toSorted().toReversed());
  });

  it("are in no list of the requests of transactions, and no other record of Kafka is in a list", async () => {
    assert.deepEqual((await get<Page>("/v1/requests")).body.items, []);
    for (const state of ["", "&state=TAKEN_IN"]) {
      const { status, body } = await get<Problem>(`/v1/requests?source=KAFKA${state}`);
      assert.equal(status, 400);
      assert.match(
        String(body.errors?.[0]?.message),
        /^must be REFUSED with source=KAFKA, because no list has the other/,
      );
    }
  });

  it("have cursors of their own", async () => {
    const foreign = Buffer.from("requests:1 0-1").toString("base64url");
    assert.equal((await get(`${LIST}&cursor=${foreign}`)).status, 400);
  });
});
