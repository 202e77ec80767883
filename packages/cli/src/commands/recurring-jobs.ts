import type { JobPlan, LedgerItem, MissedJobs, OverdueJob } from "@mainspring/sdk";
import type { Command } from "commander";
import {
  type ConnectionOptions,
  clientCommand,
  connect,
  type ListOptions,
  pageOf,
} from "../arguments/connection-options.ts";
import { given } from "../arguments/given.ts";
import { jobIdOf } from "../arguments/job-argument.ts";
import { instant, integer, month } from "../arguments/option-values.ts";
import { type CalendarDay, calendarOf, calendarText } from "../text/calendar-text.ts";
import { counted } from "../text/counted.ts";
import { sentence, table } from "../text/output.ts";
import { ledgerText, scheduleText } from "../text/schedule-text.ts";

const DAY_MS = 86_400_000;
const JOB = "its id, or its name";

interface RangeOptions {
  since?: string;
  until?: string;
}

/** Commands for recurring jobs, which are part of `jobs`. */
export function recurringCommands(): Command[] {
  return [
    pauseCommand(),
    resumeCommand(),
    triggerCommand(),
    backfillCommand(),
    nextCommand(),
    ledgerCommand(),
    calendarCommand(),
    overdueCommand(),
    missedCommand(),
  ];
}

function pauseCommand(): Command {
  return clientCommand("pause")
    .description("pause a recurring job: it does not fire until it is resumed")
    .argument("<job>", JOB)
    .action(async (job: string, options: ConnectionOptions) => {
      const { client, output } = connect(options);
      const plan = await client.jobs.pause(await jobIdOf(client, job));
      output.print(plan, () => planText(plan));
    });
}

function resumeCommand(): Command {
  return clientCommand("resume")
    .description("resume a recurring job; what fell into the pause was skipped")
    .argument("<job>", JOB)
    .option("--catch-up", "treat what fell into the pause as its misfire policy says")
    .action(async (job: string, { catchUp, ...options }: ConnectionOptions & { catchUp?: boolean }) => {
      const { client, output } = connect(options);
      const plan = await client.jobs.resume(await jobIdOf(client, job), { catchUp: catchUp === true });
      output.print(plan, () => planText(plan));
    });
}

function triggerCommand(): Command {
  return clientCommand("trigger")
    .description("run a recurring job now, whatever it has planned")
    .argument("<job>", JOB)
    .action(async (job: string, options: ConnectionOptions) => {
      const { client, output } = connect(options);
      const jobId = await jobIdOf(client, job);
      const executionId = await client.jobs.trigger(jobId);
      output.print({ executionId, jobId }, () => sentence`triggered: execution ${executionId} of job ${jobId}`);
    });
}

function backfillCommand(): Command {
  return clientCommand("backfill")
    .description("run a recurring job for planned instants of the past that have not run")
    .argument("<job>", JOB)
    .requiredOption("--since <time>", "the first planned instant", instant)
    .option("--until <time>", "where they end (default: now)", instant)
    .option("--max-running <count>", "how many of them may be open at once", integer(1, 100), 1)
    .action(async (job: string, options: ConnectionOptions & { since: string; until?: string; maxRunning: number }) => {
      const { client, output } = connect(options);
      const { since, until, maxRunning } = options;
      const started = await client.jobs.backfill(await jobIdOf(client, job), given({ since, until, maxRunning }));
      const { planned } = started.backfill;
      output.print(started, () => sentence`${counted(planned, "planned instant")}; \`jobs get\` shows how far it is`);
    });
}

function nextCommand(): Command {
  return clientCommand("next")
    .description("what the schedule of a recurring job means, when it fires next, and what clock changes do to it")
    .argument("<job>", JOB)
    .option("--count <count>", "how many fires", integer(1, 1_000), 10)
    .action(async (job: string, { count, ...options }: ConnectionOptions & { count: number }) => {
      const { client, output } = connect(options);
      const described = await client.jobs.describeSchedule(await jobIdOf(client, job), { count });
      output.print(described, () => scheduleText(described));
    });
}

function ledgerCommand(): Command {
  return clientCommand("ledger")
    .description("what became of every planned instant of a recurring job, newest first")
    .argument("<job>", JOB)
    .option("--since <time>", "only what was planned at or after", instant)
    .option("--until <time>", "only what was planned before (default: now)", instant)
    .option("--limit <count>", "how many at most", integer(1, 100_000), 20)
    .action(async (job: string, { since, until, limit, ...options }: ListOptions & RangeOptions) => {
      const { client, output } = connect(options);
      const filter = given({ since, until, limit: pageOf(limit) });
      await output.list(client.jobs.ledger(await jobIdOf(client, job), filter), limit, ledgerText);
    });
}

function calendarCommand(): Command {
  return clientCommand("calendar")
    .description("a month of a recurring job: what ran, was late, was skipped, was missed")
    .argument("<job>", JOB)
    .option("--month <month>", "as 2026-03 (default: the last one in which something was planned)", month)
    .action(async (job: string, { month: asked, ...options }: ConnectionOptions & { month?: string }) => {
      const { client, output } = connect(options);
      const jobId = await jobIdOf(client, job);
      const fires = await client.jobs.nextFires(jobId, { count: 1_000 });
      const last = async () => {
        for await (const { local } of client.jobs.ledger(jobId, { limit: 1 })) return local.slice(0, 7);
        return fires[0]?.local.slice(0, 7) ?? null;
      };
      const shown = asked ?? (await last());
      if (shown === null) return output.print({ month: null, days: [] }, () => "nothing was planned, and nothing is");
      const items: LedgerItem[] = [];
      for await (const item of client.jobs.ledger(jobId, { ...around(shown), limit: 1_000 })) items.push(item);
      const days: CalendarDay[] = calendarOf(shown, items, fires);
      output.print({ month: shown, days }, () => calendarText(shown, days, items));
    });
}

function overdueCommand(): Command {
  return clientCommand("overdue")
    .description("recurring jobs with a planned instant that nothing has accounted for, beyond their grace")
    .option("--limit <count>", "how many at most", integer(1, 1_000), 100)
    .action(async ({ limit, ...options }: ConnectionOptions & { limit: number }) => {
      const { client, output } = connect(options);
      const items = await client.jobs.overdue({ limit });
      output.print({ items }, () => overdueText(items));
    });
}

function overdueText(items: readonly OverdueJob[]): string {
  if (items.length === 0) return "none: every planned instant is accounted for";
  const rows = items.map(({ jobId, name, nextFireAt, overdueMs }) => {
    return [name ?? jobId, nextFireAt, `${Math.round(overdueMs / 1_000)} s`];
  });
  return table(["JOB", "PLANNED", "OVERDUE"], rows);
}

function missedCommand(): Command {
  return clientCommand("missed")
    .description("recurring jobs with planned instants of the last day that are MISSED in their ledgers")
    .action(async (options: ConnectionOptions) => {
      const { client, output } = connect(options);
      const missed = await client.jobs.missed();
      output.print(missed, () => missedText(missed));
    });
}

function missedText({ items, lookedUntil }: MissedJobs): string {
  const until = lookedUntil === null ? "the first search is not over yet" : sentence`searched until ${lookedUntil}`;
  if (items.length === 0) return `none was found: ${until}`;
  const rows = items.map(({ jobId, name, missed, firstAt, lastAt }) => {
    return [name ?? jobId, String(missed), firstAt, lastAt];
  });
  return `${table(["JOB", "MISSED", "FIRST", "LAST"], rows)}\n${until}`;
}

/** Range that contains the month in every time zone. */
function around(shown: string): { since: Date; until: Date } {
  const first = new Date(`${shown}-01T00:00:00Z`).getTime();
  return { since: new Date(Math.max(0, first - DAY_MS)), until: new Date(first + 33 * DAY_MS) };
}

function planText({ jobId, state, nextFireAt }: JobPlan): string {
  return sentence`job ${jobId} is ${state}${nextFireAt === null ? "" : `, and fires next at ${nextFireAt}`}`;
}
