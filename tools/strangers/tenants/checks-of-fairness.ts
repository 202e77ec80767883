import { equal, eventually, type Finding } from "../site.ts";
import type { Caller, Execution, TenantsCheck, TenantsSite } from "./tenants-site.ts";

const SLEEP_MS = 200;
const URGENT = 100;
/** Part of the jobs that are due at one instant: 400,000 of 1,000,000. */
const HERD_PART = 0.4;
const QUIET = 20;
const SUBMITS_PER_SEC = 1_000;
/** Lateness in ms that 99 of 100 jobs of a tenant do not exceed beside another one's. */
const LATE_MS = 500;

const sleep = { target: { handler: "sleep" }, payload: { ms: SLEEP_MS } };
const echo = { target: { handler: "echo" }, payload: {} };

/** A tenant's jobs go between those of a backlog of another one. */
async function passesABacklog(site: TenantsSite): Promise<Finding[]> {
  const [noisy, quiet] = [await site.tenant("backlog-noisy"), await site.tenant("backlog-quiet", 1)];
  const ids = await noisy.submit(site.jobs, () => sleep);
  const took: number[] = [];
  const states = new Set<string>();
  for (let n = 0; n < URGENT; n++) {
    const [id = ""] = await quiet.submit(1, () => ({ ...echo, priority: "CRITICAL" }));
    const { state, scheduledAt, startedAt } = await quiet.execution(id);
    states.add(state);
    took.push(Date.parse(startedAt ?? "") - Date.parse(scheduledAt));
  }
  const last = await noisy.ask<Execution>("GET", `/v1/executions/${ids.at(-1)}`);
  const [waiting = ""] = (await quiet.submit(200, () => sleep)).slice(-1);
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

/** A tenant's jobs are not late beside a herd of another one that is due at the same instant. */
async function passesAHerd(site: TenantsSite): Promise<Finding[]> {
  const [noisy, quiet] = [await site.tenant("herd-noisy"), await site.tenant("herd-quiet", 1)];
  const jobs = Math.ceil(site.jobs * HERD_PART);
  const dueMs = Math.ceil(Date.now() / 1_000 + 10 + jobs / SUBMITS_PER_SEC) * 1_000;
  const runAt = new Date(dueMs).toISOString();
  const herd = await noisy.submit(jobs, () => ({ ...sleep, runAt }));
  const ids = await quiet.submit(QUIET, () => ({ ...echo, runAt }));
  const inTime = Date.now() < dueMs;
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
  for (const tenant of tenants) await site.command("tenants", "suspend", tenant);
}

/** The lateness, judged only where times are. */
function lateness({ judgesTimes }: TenantsSite, took: readonly number[]): Finding[] {
  const p99 = took.toSorted((a, b) => a - b)[Math.ceil(took.length * 0.99) - 1] ?? Number.NaN;
  const saw = `${Math.round(p99)} ms`;
  return [
    {
      what: "99 of 100 start within 500 ms",
      saw: judgesTimes ? saw : `${saw}, not judged`,
      isRight: !judgesTimes || p99 <= LATE_MS,
    },
  ];
}

export const CHECKS_OF_FAIRNESS: readonly TenantsCheck[] = [
  { name: "3. A tenant's jobs go between those of another one's backlog", run: passesABacklog },
  { name: "5. A tenant's jobs are in time beside a herd of another one", run: passesAHerd },
];
