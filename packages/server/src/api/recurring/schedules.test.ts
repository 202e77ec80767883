import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startTestApi, type TestApi } from "../api.fixture.ts";

describe("the preview of a schedule over HTTP", () => {
  let api: TestApi;
  before(async () => {
    api = await startTestApi();
  });
  after(() => api.stop());

  const preview = async (payload: object) => {
    const { statusCode, body } = await api.inject({ method: "POST", url: "/v1/schedules/preview", payload });
    return { statusCode, body: JSON.parse(body) };
  };
  const newYork = { schedule: "30 2 * * *", timezone: "America/New_York", after: "2025-03-08T12:00:00Z" };

  it("tells local and UTC time, and what a clock change does", async () => {
    const { statusCode, body } = await preview({ ...newYork, count: 2 });
    assert.equal(statusCode, 200);
    assert.deepEqual(body, {
      words: "at 02:30 every day in America/New_York",
      fires: [
        {
          at: "2025-03-09T07:00:00.000Z",
          local: "2025-03-09T03:00:00-04:00",
          note: "moved: 2025-03-09T02:30 does not exist, the clocks go from 2025-03-09T02:00 to 2025-03-09T03:00",
        },
        { at: "2025-03-10T06:30:00.000Z", local: "2025-03-10T02:30:00-04:00" },
      ],
    });
  });

  it("follows the choice for clock changes", async () => {
    const { body } = await preview({ ...newYork, dst: { gap: "SKIP" }, count: 1 });
    assert.equal(body.fires[0].at, "2025-03-10T06:30:00.000Z");
    assert.match(body.fires[0].note, /^dropped: /);
  });

  it("begins with the present, in UTC, with ten fires", async () => {
    const { body } = await preview({ schedule: "* * * * *" });
    assert.equal(body.fires.length, 10);
    assert.match(body.fires[0].local, /:00\+00:00$/);
  });

  it("refuses what is wrong with the field, the position and what would be right", async () => {
    const { statusCode, body } = await preview({ schedule: "0 24 * * *", timezone: "America/NewYork" });
    assert.equal(statusCode, 400);
    assert.equal(body.type, "/problems/invalid-request");
    const [schedule, timezone] = body.errors;
    assert.deepEqual([schedule.field, schedule.position], ["schedule", 3]);
    assert.match(schedule.message, /^hour, character 3: "24" must be 0 to 23/);
    assert.deepEqual([timezone.field, timezone.position], ["timezone", undefined]);
    assert.match(timezone.message, /is it America\/New_York\?/);
  });

  it("warns of a time zone that the next release refuses, and names the one to use", async () => {
    const { statusCode, body } = await preview({ ...newYork, timezone: "EST", count: 1 });
    assert.equal(statusCode, 200);
    assert.equal(body.fires[0].local, "2025-03-09T02:30:00-05:00");
    assert.deepEqual(body.warnings?.length, 1);
    assert.match(body.warnings[0], /EST.*no daylight saving time.*next release refuses it: give America\/New_York/);
  });

  it("refuses what never fires, and counts that are too large", async () => {
    const never = await preview({ schedule: "0 0 30 2 *" });
    assert.match(never.body.errors[0].message, /never fires/);
    const much = await preview({ schedule: "@daily", count: 1_001 });
    assert.deepEqual([much.statusCode, much.body.errors[0].field], [400, "count"]);
  });
});
