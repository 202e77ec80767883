import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import {
  type ChangedJob,
  Client,
  type Job,
  type JobPlan,
  type JobSummary,
  type LedgerItem,
  type MissedJobs,
  type PreviewedFire,
  type StartedBackfill,
  type Stats,
  type SubmittedRecurringJob,
} from "@mainspring/sdk";
import type { CalendarDay } from "../src/text/calendar-text.ts";
import { Commands } from "./testing/command.ts";
import { startServer, type TestServer } from "./testing/server.ts";

const NIGHTLY = JSON.stringify({ target: { handler: "echo" }, schedule: "0 3 * * *", timezone: "Europe/Berlin" });

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

describe("recurring jobs by the command line", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer();
  });
  after(() => server.stop());

  const { run, done, json, jsonLines } = new Commands(() => server.clientEnv);
  /** Resolves once this number of planned instants of the job have run. */
  const ran = async (jobId: string, count: number) => {
    const client = new Client({ url: server.httpUrl });
    for (;;) {
      const items = await all(client.jobs.ledger(jobId));
      if (items.filter(({ outcome, run }) => outcome === "RAN" && run?.state === "SUCCEEDED").length >= count)
        return items;
      const [execution] = (await client.getJob(jobId)).latestExecutions;
      if (execution !== undefined) await client.getExecution(execution.executionId, { waitSec: 5 });
    }
  };

  it("submits one, and shows what became of each planned instant", async () => {
    const submitted = await json<SubmittedRecurringJob>(
      "submit",
      "echo",
      "--every",
      "1s",
      "--name",
      "ticks",
      "--overlap",
      "ALLOW",
    );
    const items = await ran(submitted.jobId, 2);
    assert.equal(items.at(-1)?.at, submitted.nextFireAt);
    assert.deepEqual(
      items.filter(({ outcome }) => outcome === "MISSED"),
      [],
    );
    assert.match(await done("stats"), /recurring +\d+ planned: \d+ run [(]\d+ late[)], \d+ skipped/);
    const plan = await json<JobPlan>("jobs", "pause", "ticks");
    assert.deepEqual([plan.jobId, plan.state, plan.nextFireAt], [submitted.jobId, "PAUSED", null]);
    const listed = await jsonLines<LedgerItem>("jobs", "ledger", "ticks");
    assert.deepEqual(new Set(listed.map(({ outcome }) => outcome)), new Set(["RAN"]));
    assert.match(await done("jobs", "ledger", "ticks"), /^LOCAL +UTC +OUTCOME[^]*RAN +SUCCEEDED +\d+ ms +[0-9a-f]{8}-/);
    const calendar = await json<{ month: string; days: CalendarDay[] }>("jobs", "calendar", "ticks");
    assert.equal(
      calendar.days.reduce((sum, day) => sum + day.ran, 0),
      listed.length,
    );
    assert.match(await done("jobs", "calendar", "ticks"), /^\d{4}-\d\d\n +Mon +Tue[^]*M missed 0 +L late 0/);
  });

  it("says the same job again without changing it, edits it, and finds it by its name", async () => {
    const first = await json<ChangedJob>("jobs", "upsert", "nightly", NIGHTLY);
    const again = await json<ChangedJob>("jobs", "upsert", "nightly", NIGHTLY);
    assert.deepEqual([first.changed, again.changed, again.jobId], [true, false, first.jobId]);
    const definition = NIGHTLY.replace("0 3", "0 4");
    assert.match(
      await done("jobs", "replace", "nightly", definition),
      /has version 2: what is still to come runs by the new/,
    );
    const job = await json<Job>("jobs", "get", "nightly");
    assert.deepEqual([job.jobId, job.version, job.schedule, job.fires], [first.jobId, 2, "0 4 * * *", 0]);
    assert.match(await done("jobs", "get", "nightly"), /type +CRON: 0 4 \* \* \* in Europe\/Berlin\noverlap +SKIP/);
    const listed = await jsonLines<JobSummary>("jobs", "list", "--type", "CRON");
    assert.deepEqual(
      listed.map(({ jobId }) => jobId),
      [first.jobId],
    );
    const { fires } = await json<{ fires: PreviewedFire[] }>("jobs", "next", "nightly", "--count", "2");
    assert.deepEqual([fires.length, fires[0]?.at], [2, job.nextFireAt]);
    assert.match(await done("jobs", "next", "nightly"), /^at 04:00 .*\n\nLOCAL .*\n\S+T04:00:00[+]0/);
  });

  it("runs one now, also while it is paused, and makes up for the past", async () => {
    const { jobId } = await json<ChangedJob>(
      "jobs",
      "upsert",
      "hourly",
      '{"target": {"handler": "echo"}, "schedule": "@hourly"}',
    );
    assert.match(await done("jobs", "pause", "hourly"), /is PAUSED\n$/);
    const { executionId } = await json<{ executionId: string }>("jobs", "trigger", "hourly");
    assert.match(await done("executions", "get", executionId, "--wait"), /state +SUCCEEDED/);
    assert.match(await done("jobs", "resume", "hourly", "--catch-up"), /is ACTIVE, and fires next at /);
    const { createdAt } = await json<Job>("jobs", "get", "hourly");
    const since = new Date(Date.parse(createdAt) - 3 * 3_600_000).toISOString();
    const { backfill } = await json<StartedBackfill>("jobs", "backfill", jobId, "--since", since);
    assert.equal(backfill.planned, 3);
    const items = await ran(jobId, 3);
    assert.deepEqual(new Set(items.map(({ run }) => run?.trigger)), new Set(["BACKFILL"]));
    assert.match(await done("jobs", "delete", "hourly"), /deleted/);
    const gone = await run(["jobs", "get", "hourly"]);
    assert.deepEqual(
      [gone.code, gone.stderr],
      [1, 'mainspring: no job has the id or name "hourly": see `jobs list`\n'],
    );
  });

  it("says that no job has missed instants, and up to when it knows", async () => {
    assert.match(
      await done("jobs", "missed"),
      /^none was found: (the first search is not over yet|searched until 2.*Z)\n$/,
    );
    assert.deepEqual((await json<MissedJobs>("jobs", "missed")).items, []);
    assert.equal((await json<Stats>("stats")).recurring.missed, 0);
  });

  it("tells what is wrong with a schedule, and what would be right", async () => {
    const bad = await run(["submit", "echo", "--schedule", "0 24 * * *"]);
    assert.equal(bad.code, 1);
    assert.match(bad.stderr, /schedule: hour, character 3: "24" must be 0 to 23/);
    const waits = await run(["submit", "echo", "--every", "5m", "--wait"]);
    assert.deepEqual([waits.code, waits.stderr], [2, "mainspring: --wait is for a job that runs once\n"]);
    assert.match((await run(["submit", "echo", "--timezone", "UTC"])).stderr, /timezone: needs schedule/);
    assert.match((await run(["jobs", "calendar", "x", "--month", "2026"])).stderr, /Give a year and a month/);
  });
});
