import { nowMs, pause, until } from "../clock.ts";
import {
  mainspring,
  mainspringAudited,
  mainspringDefault,
  mainspringKeyed,
} from "../contenders/mainspring/mainspring.ts";
import { MainspringRig } from "../contenders/mainspring/mainspring-rig.ts";
import { type Figures, latenessOf } from "../figures.ts";
import { Course } from "../load/course.ts";
import { openLoop } from "../load/open-loop.ts";
import { BATCH, prefill } from "../load/prefill.ts";
import { Meter } from "../meter/meter.ts";
import { residentMiBOf } from "../meter/process-memory.ts";
import { instantAfter } from "./midnight.ts";
import type { Case, Scenario } from "./scenario.ts";
import { submitCase } from "./submit.ts";

const NOISY = "noisy";
const QUIET = "quiet";
const SLOTS = 100;
/** Time for which a job of the noisy tenant holds its slot, in milliseconds. */
const HOLD_MS = 100;
/** Interval of the quiet tenant's jobs, and the time from the herd's instant until the first of them is due, in milliseconds. */
const EVERY_MS = 100;
const AFTER_MS = 500;
/** Number of ready jobs of each of many tenants. */
const EACH = 100;
/** Largest number of tenants that are created at once. */
const CALLERS = 8;
const A_DAY_MS = 86_400_000;
const LOOK_EVERY_MS = 250;
const STARTED_WITHIN_MS = 600_000;
const READY_WITHIN_MS = 1_800_000;

export const fair: Scenario = {
  name: "fair",
  about: `All tenants share one pool and one worker process with default settings, besides its ${SLOTS} slots. A tenant has a backlog of jobs that hold their slots for ${HOLD_MS} ms, or as many that are due at one instant; another tenant has a job every ${EVERY_MS} ms, and the lateness is that of its jobs: from the intended send, or the instant when a job is due, until the handler's start. The backlog is not drained. With many tenants, ${EACH} jobs of each are ready before the worker gets any; the tenants submitted one job at a time by turns, or all of their jobs at once: the memory is the server's by then, and the ratio is that of the rate of their drain to the rate of as many jobs of one tenant. The last cases are submits by callers with a key of the store, and with a record of each request in the audit log, beside submits without.`,
  cases: ({ isQuick, herdJobs, tenants }) => {
    const sizes = { herdJobs, others: isQuick ? 20 : 100 };
    const lastsMs = isQuick ? 1_000 : 5_000;
    return [besideBacklogCase(sizes), besideHerdCase(sizes), ...manyTenantsCases(tenants), ...submitCases(lastsMs)];
  },
};

interface Sizes {
  /** Number of jobs of the noisy tenant. */
  herdJobs: number;
  /** Number of jobs of the quiet tenant. */
  others: number;
}

function besideBacklogCase({ herdJobs, others }: Sizes): Case {
  const title = `10 jobs/s of a tenant beside ${herdJobs.toLocaleString("en")} ready ones of another`;
  return fairCase("backlog", title, async (rig) => {
    await createTenants(rig, [NOISY, QUIET]);
    await rig.hold();
    await rig.worker.expect(herdJobs + others);
    await prefill(rig, herdJobs, (n) => ({ n, tenant: NOISY, holdMs: HOLD_MS }));
    await rig.release();
    await rig.worker.reached(Math.min(SLOTS, herdJobs));
    const send = (n: number) => rig.submit({ n: herdJobs + n, tenant: QUIET });
    const intendedAtMs = await openLoop({ sends: others, perSec: 1_000 / EVERY_MS, send });
    return await latenessOfQuiet(rig, herdJobs, (n) => intendedAtMs[n] ?? 0);
  });
}

function besideHerdCase({ herdJobs, others }: Sizes): Case {
  const title = `jobs of a tenant beside ${herdJobs.toLocaleString("en")} of another one that are due at one instant`;
  return fairCase("herd", title, async (rig) => {
    await createTenants(rig, [NOISY, QUIET]);
    const herd = (jobs: number, runAtMs: number) =>
      prefill(rig, jobs, (n) => ({ n, tenant: NOISY, holdMs: HOLD_MS, runAtMs }));
    const tomorrowMs = Math.ceil(nowMs()) + A_DAY_MS;
    const atMs = await instantAfter(herdJobs, (jobs) => herd(jobs, tomorrowMs));
    const dueAtMs = (n: number) => atMs + AFTER_MS + n * EVERY_MS;
    await rig.worker.expect(herdJobs + others);
    await prefill(rig, others, (n) => ({ n: herdJobs + n, tenant: QUIET, runAtMs: dueAtMs(n) }));
    await herd(herdJobs, atMs);
    if (nowMs() > atMs) throw new Error(`${herdJobs} jobs could not be submitted before their instant`);
    await pause(dueAtMs(others) - nowMs());
    return await latenessOfQuiet(rig, herdJobs, dueAtMs);
  });
}

/** The jobs of many tenants as they arrive in practice, mixed, and the jobs of one tenant after those of another. */
function manyTenantsCases(tenants: number): Case[] {
  const title = `${tenants.toLocaleString("en")} tenants with ${EACH} ready jobs each`;
  return [
    manyTenantsCase("tenants", `${title}, which arrived by turns`, { tenants, batch: 1 }),
    manyTenantsCase("tenants-blocks", `${title}, which arrived tenant after tenant`, { tenants, batch: EACH }),
  ];
}

function manyTenantsCase(name: string, title: string, { tenants, batch }: { tenants: number; batch: number }): Case {
  return fairCase(name, title, async (rig, course) => {
    const names = Array.from({ length: tenants }, (_, index) => `tenant-${index}`);
    const jobs = tenants * EACH;
    const one = await drain(course, jobs, () => prefill(rig, jobs));
    await createTenants(rig, names);
    const many = await drain(course, jobs, () => prefillOf(rig, names, batch));
    const ratio = (many.jobsPerSec ?? Number.NaN) / (one.jobsPerSec ?? Number.NaN);
    return { ...many, ratio };
  });
}

/** Submits with keys beside those without, and submits with records beside those without. */
function submitCases(lastsMs: number): Case[] {
  const keyed = {
    ...{
      name: "fair-submit-keyed",
      title: "single submits with a key of the store, 16 callers",
      callers: 16,
      batch: 1,
    },
    contenders: [mainspring, mainspringKeyed],
  };
  const audited = {
    ...{
      name: "fair-submit-audited",
      title: `audited submits in batches of ${BATCH}, 4 callers`,
      callers: 4,
      batch: BATCH,
    },
    contenders: [mainspring, mainspringAudited],
  };
  return [submitCase({ ...keyed, lastsMs }), submitCase({ ...audited, lastsMs })];
}

function fairCase(
  name: string,
  title: string,
  measure: (rig: MainspringRig, course: Course) => Promise<Figures>,
): Case {
  return {
    name: `fair-${name}`,
    title,
    runsMax: 1,
    needs: "packages/server/src/engine/fair",
    contenders: [mainspringDefault],
    measure: async (contender, stage) => {
      await using course = await Course.warm(contender, stage, { slots: SLOTS });
      const { rig } = course;
      if (!(rig instanceof MainspringRig)) throw new Error("tenants have a server");
      const figures = await measure(rig, course);
      return { residentMiB: residentMiBOf(rig.processes().server), ...figures };
    },
  };
}

async function drain(course: Course, jobs: number, fill: () => Promise<void>): Promise<Figures> {
  const { rig } = course;
  await rig.hold();
  await rig.worker.expect(jobs);
  await fill();
  await (rig as MainspringRig).settledReady(jobs, READY_WITHIN_MS);
  const residentMiB = residentMiBOf(rig.processes().server);
  const meter = await Meter.begin(rig);
  await rig.release();
  const endedAtMs = await course.finished(jobs, { meter, withinMs: READY_WITHIN_MS });
  const costs = await meter.perJob(jobs);
  const { firstAtMs } = await course.verified(jobs);
  return { jobsPerSec: jobs / ((endedAtMs - firstAtMs) / 1_000), residentMiB, ...costs };
}

async function createTenants(rig: MainspringRig, names: readonly string[]): Promise<void> {
  await inTurns(names, (name) => rig.createTenant(name));
}

/** Submits the jobs of all tenants by turns. @param batch how many jobs a tenant submits in its turn, a divisor of `EACH` */
async function prefillOf(rig: MainspringRig, names: readonly string[], batch: number): Promise<void> {
  for (let from = 0; from < EACH; from += batch) {
    await inTurns(names, (tenant, index) =>
      rig.submitBatch(Array.from({ length: batch }, (_, n) => ({ n: index * EACH + from + n, tenant }))),
    );
  }
}

/** Calls for each name, some at a time. */
async function inTurns(names: readonly string[], call: (name: string, index: number) => Promise<void>): Promise<void> {
  const rest = names.entries();
  const caller = async () => {
    for (const [index, name] of rest) await call(name, index);
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
}

/** @param from number of the quiet tenant's first job */
async function latenessOfQuiet(rig: MainspringRig, from: number, dueAtMs: (n: number) => number): Promise<Figures> {
  const startedAtMs = await until("the quiet tenant's last start", STARTED_WITHIN_MS, LOOK_EVERY_MS, async () => {
    const report = await rig.worker.report();
    if (report.runs !== report.distinct) throw new Error(`${report.runs} runs of ${report.distinct} jobs`);
    const started = report.startedAtMs.subarray(from);
    return started.includes(0) ? null : started;
  });
  return latenessOf(startedAtMs.map((atMs, n) => atMs - dueAtMs(n)));
}
