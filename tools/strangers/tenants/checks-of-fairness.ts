import { setTimeout as pause } from "node:timers/promises";
import { equal, eventually, type Finding } from "../site.ts";
import { type Caller, type Execution, type TenantsCheck, type TenantsSite, timed } from "./tenants-site.ts";

/** Time in ms for which the backlog lasts at least, with the 200 slots of two nodes. */
const BACKLOG_MS = 60_000;
const SLOTS = 200;
/** Least and largest mean run of the jobs of a backlog, in ms. */
const SLEEP_MIN_MS = 200;
const SLEEP_MAX_MS = 2_000;
/** Number of lengths of runs, from half the mean to one and a half of it. */
const SPREAD = 100;
const URGENT = 100;
/** Number of jobs of a backlog from which all urgent jobs are submitted. A small backlog ends before that. */
const ALL_URGENT_FROM = 10_000;
const URGENT_OF_FEW = 10;
const MAX_RUNNING = 5;
/** Time in ms for a limit to reach every node. */
const TOLD_WITHIN_MS = 3_000;
/** Number of further looks at the attempts that run under a limit. */
const LOOKS = 30;
/** Part of the jobs that are due at one instant: 400,000 of 1,000,000. */
const HERD_PART = 0.4;
/** Time between the first submit of a herd and its instant in seconds, beside the time for its submits. */
const LEAD_SEC = 5;
const QUIET = 20;
const SUBMITS_PER_SEC = 1_000;
/** Lateness in ms that 99 of 100 jobs of a tenant do not exceed beside another one's. */
const LATE_MS = 500;

const sleepMsOf = ({ jobs }: TenantsSite) =>
  Math.min(SLEEP_MAX_MS, Math.max(SLEEP_MIN_MS, Math.ceil((BACKLOG_MS * SLOTS) / jobs)));
/** Job of a backlog. Runs have different lengths, because slots would become free all at once otherwise. */
const sleepOf = (site: TenantsSite) => (n: number) => ({
  target: { handler: "sleep" },
  payload: { ms: Math.round(sleepMsOf(site) * (0.5 + (n % SPREAD) / SPREAD)) },
});
const echo = { target: { handler: "echo" }, payload: {} };

/** A tenant's jobs go between those of a backlog of another one. */
async function passesABacklog(site: TenantsSite): Promise<Finding[]> {
  const noisy = await site.tenant("backlog-noisy");
  const quiet = (await site.tenant("backlog-quiet")).but({ node: 1 });
  const sleepAt = sleepOf(site);
  const urgent = site.jobs < ALL_URGENT_FROM ? URGENT_OF_FEW : URGENT;
  const ids = await noisy.submit(site.jobs, sleepAt);
  const took: number[] = [];
  const states = new Set<string>();
  for (let n = 0; n < urgent; n++) {
    const [id = ""] = await quiet.submit(1, () => ({ ...echo, priority: "CRITICAL" }));
    const { state, scheduledAt, startedAt } = await quiet.execution(id);
    states.add(state);
    took.push(Date.parse(startedAt ?? "") - Date.parse(scheduledAt));
  }
  const last = await noisy.ask<Execution>("GET", `/v1/executions/${ids.at(-1)}`);
  const [waiting = ""] = (await quiet.submit(200, sleepAt)).slice(-1);
  const explained = await quiet.ask<{ reasons: { reason: string }[] }>("GET", `/v1/executions/${waiting}/explain`);
  await suspend(site, "backlog-noisy", "backlog-quiet");
  return [
    equal("all urgent jobs of the quiet tenant SUCCEEDED", [...states], ["SUCCEEDED"]),
    equal("while the other tenant's last one waits", last.body.state, "PENDING"),
    equal("a job that waits has a reason", explained.body.reasons.length > 0, true),
    equal(
      "which tells nothing of the other tenant",
      /noisy/.test(explained.text) || explained.text.includes(`${site.jobs}`),
      false,
    ),
    ...lateness(site, took),
  ];
}

/** A limit that a tenant is given holds for a backlog that runs, over all nodes. */
async function limitsABacklog(site: TenantsSite): Promise<Finding[]> {
  const noisy = await site.tenant("limited");
  const ids = await noisy.submit(site.jobs, sleepOf(site));
  const running = async () => {
    const { items } = (await site.operator().ask<{ items: { running: number }[] }>("GET", "/v1/workers")).body;
    return items.reduce((sum, worker) => sum + worker.running, 0);
  };
  const before = await eventually(running, (count) => count > 10 * MAX_RUNNING);
  const set = await site.command("tenants", "set", "limited", "--max-running", `${MAX_RUNNING}`);
  const beganMs = performance.now();
  const soon = await eventually(running, (count) => count <= MAX_RUNNING);
  const tookMs = Math.round(performance.now() - beganMs);
  const counts: number[] = [];
  await eventually(
    async () => counts.push(await running()),
    (looks) => looks >= LOOKS,
  );
  const last = await noisy.ask<Execution>("GET", `/v1/executions/${ids.at(-1)}`);
  const explained = await noisy.ask("GET", `/v1/executions/${ids.at(-1)}/explain`);
  await suspend(site, "limited");
  const boundMs = 1.5 * sleepMsOf(site) + TOLD_WITHIN_MS;
  return [
    equal(`more than ${10 * MAX_RUNNING} ran at first`, before > 10 * MAX_RUNNING, true),
    equal("`tenants set` limits them", set.code, 0),
    equal(`at most ${MAX_RUNNING} run on all nodes together`, soon <= MAX_RUNNING, true),
    timed(site, "within the longest run and 3 s", tookMs, boundMs),
    equal(`no more than that do in ${LOOKS} further looks`, Math.max(...counts) <= MAX_RUNNING, true),
    equal("while work goes on", Math.max(...counts) > 0, true),
    equal("and the last one waits", last.body.state, "PENDING"),
    equal("for the limit", /"TENANT_AT_LIMIT"/.test(explained.text), true),
  ];
}

/** A tenant's jobs are not late beside a herd of another one that is due at the same instant. */
async function passesAHerd(site: TenantsSite): Promise<Finding[]> {
  const noisy = await site.tenant("herd-noisy");
  const quiet = (await site.tenant("herd-quiet")).but({ node: 1 });
  const sleepAt = sleepOf(site);
  const jobs = Math.ceil(site.jobs * HERD_PART);
  const dueMs = Math.ceil(Date.now() / 1_000 + LEAD_SEC + jobs / SUBMITS_PER_SEC) * 1_000;
  const runAt = new Date(dueMs).toISOString();
  const herd = await noisy.submit(jobs, (n) => ({ ...sleepAt(n), runAt }));
  const ids = await quiet.submit(QUIET, () => ({ ...echo, runAt }));
  const inTime = Date.now() < dueMs;
  // The instant of a large herd is minutes away, longer than a look at an execution lasts.
  await pause(Math.max(0, dueMs - Date.now()));
  const ended = await Promise.all(ids.map((id) => whenEnded(quiet, id)));
  const last = await noisy.ask<Execution>("GET", `/v1/executions/${herd.at(-1)}`);
  await suspend(site, "herd-noisy", "herd-quiet");
  return [
    equal("all were submitted before their instant", inTime, true),
    equal(
      "all of the quiet tenant SUCCEEDED",
      ended.every(({ state }) => state === "SUCCEEDED"),
      true,
    ),
    equal(
      "none of them before its time",
      ended.every(({ startedAt }) => Date.parse(startedAt ?? "") >= dueMs),
      true,
    ),
    equal("while the other tenant's last one waits", last.body.state, "PENDING"),
    ...lateness(
      site,
      ended.map(({ startedAt }) => Date.parse(startedAt ?? "") - dueMs),
    ),
  ];
}

function whenEnded(caller: Caller, id: string): Promise<Execution> {
  return eventually(
    () => caller.execution(id),
    ({ state }) => state === "SUCCEEDED",
  );
}

async function suspend(site: TenantsSite, ...tenants: string[]): Promise<void> {
  for (const tenant of tenants) await site.operator().ask("PATCH", `/v1/tenants/${tenant}`, { state: "SUSPENDED" });
}

/** Finding that jobs are in time. @param took lateness of each in ms */
function lateness(site: TenantsSite, took: readonly number[]): Finding[] {
  const p99 = took.toSorted((a, b) => a - b)[Math.ceil(took.length * 0.99) - 1] ?? Number.NaN;
  return [timed(site, `99 of 100 start within ${LATE_MS} ms`, Math.round(p99), LATE_MS)];
}

export const CHECKS_OF_FAIRNESS: readonly TenantsCheck[] = [
  { name: "3. A tenant's jobs go between those of another one's backlog", run: passesABacklog },
  { name: "4. A limit holds for a backlog that runs", run: limitsABacklog },
  { name: "5. A tenant's jobs are in time beside a herd of another one", run: passesAHerd },
];
