import type { Logger } from "pino";
import type { EpochMs, JobId } from "../../domain/ids.ts";
import type { Readings } from "../../ports/metrics.ts";
import type { Runtime, Timer } from "../../ports/runtime.ts";
import type { JobStretch, RecurringJob, StoreQueries } from "../../ports/store-queries.ts";
import type { TimeZoneRules } from "../../ports/time-zone-rules.ts";
import { Turns } from "../../ports/turns.ts";
import type { KnownPast } from "./ledger.ts";
import { lookForMissed } from "./missed.ts";
import { MissedInstants, type MissedJob } from "./missed-instants.ts";

const LOOK_EVERY_MS = 10_000;
/** Number of jobs that one step of the search judges. */
const JOBS_OF_A_LOOK = 1_000;
const PAGE = 50;
/** Number of traces of each kind that are read of a job at once, and number of such reads in one round. */
const TRACES_MAX = 250;
const READS_MAX = 4;
/** Time that the search covers, and for which a MISSED instant is listed, in milliseconds. */
const WINDOW_MS = 86_400_000;
/** Number of traces that a round may read before the next round begins later. */
const TRACES_OF_A_ROUND = 20_000;
const REACH_MIN_MS = 60_000;
/**
 * Number of jobs whose part of the next round may begin earlier than that of the others; for further jobs the time in
 * between is not judged.
 */
const UNSETTLED_MAX = 100_000;

/** Result of the search so far. */
export interface MissedFound {
  jobs: readonly MissedJob[];
  /** Number of MISSED instants of these jobs. */
  instants: number;
  /** End of the part of the last day that was searched; null: the first round is not over. */
  lookedUntil: EpochMs | null;
}

export interface MissedWatchDependencies {
  queries: Pick<StoreQueries, "recurringJobs" | "traces">;
  runtime: Runtime;
  log: Logger;
  zones: Pick<TimeZoneRules, "changeovers">;
  /** Retention of final executions, in days. */
  retentionDays: number;
}

/** One walk over all recurring jobs. */
interface Round {
  since: EpochMs;
  until: EpochMs;
  /** Number of traces that were read. */
  traces: number;
  /** First instant that was postponed because its job has too many; null: none. */
  cutAt: EpochMs | null;
  /** Last job that was judged; null: none. */
  after: JobId | null;
  /** Jobs with instants that could not be judged yet, with the first of these instants. */
  unsettled: Map<JobId, EpochMs>;
}

/** Part of a job's instants that must be judged. */
interface Stretch {
  job: RecurringJob;
  since: EpochMs;
  until: EpochMs;
}

/**
 * Searches the planned instants of all recurring jobs for those without a trace, some jobs every ten seconds. A round
 * judges at least the instants since the previous round. It reaches further back the less there is to read, up to a
 * day: with few jobs it also notices a trace that is lost later, and with many jobs it reads each instant about once.
 */
export class MissedWatch {
  readonly #deps: MissedWatchDependencies;
  readonly #found = new MissedInstants();
  #round: Round | null = null;
  #unsettled: ReadonlyMap<JobId, EpochMs> = new Map();
  /** Time before the end of the last round at which the next round's range begins, in milliseconds. */
  #reachMs = WINDOW_MS;
  /** End of the last round's range; null: no round is over. */
  #judgedUntil: EpochMs | null = null;
  #lookedUntil: EpochMs | null = null;
  #timer: Timer | null = null;
  #stopped = false;

  constructor(deps: MissedWatchDependencies) {
    this.#deps = deps;
  }

  start(): void {
    this.#timer = this.#deps.runtime.setTimer(LOOK_EVERY_MS, async () => {
      await this.look().catch((error: unknown) => this.#failed(error));
      if (!this.#stopped) this.start();
    });
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  found(): MissedFound {
    return { jobs: this.#found.jobs(), instants: this.#found.count, lookedUntil: this.#lookedUntil };
  }

  readings(): Readings {
    if (this.#lookedUntil === null) return { instantsMissed: this.#found.count };
    const ageSec = (this.#deps.runtime.now() - this.#lookedUntil) / 1_000;
    return { instantsMissed: this.#found.count, missedLookAgeSec: Math.max(0, ageSec) };
  }

  /** Runs one step. @throws {StoreUnavailable} the next step continues where this one ended */
  async look(): Promise<void> {
    const { queries } = this.#deps;
    const round = (this.#round ??= this.#begin());
    for (let judged = 0; judged < JOBS_OF_A_LOOK; judged += PAGE) {
      const jobs = await queries.recurringJobs(round.after, PAGE);
      await this.#judge(jobs, round);
      if (jobs.length < PAGE) return this.#end(round);
      round.after = (jobs.at(-1) as RecurringJob).jobId;
    }
  }

  #begin(): Round {
    const until = this.#deps.runtime.now();
    const since = (this.#judgedUntil ?? until) - this.#reachMs;
    return { since, until, traces: 0, cutAt: null, after: null, unsettled: new Map() };
  }

  async #judge(jobs: readonly RecurringJob[], round: Round): Promise<void> {
    const oldest = round.until - WINDOW_MS;
    let open = jobs.map((job): Stretch => {
      this.#found.visited(job, round);
      const since = this.#unsettled.get(job.jobId) ?? round.since;
      return { job, since: Math.max(since, oldest), until: round.until };
    });
    for (let reads = 0; reads < READS_MAX && open.length > 0; reads++) open = await this.#read(open, round);
    for (const { since } of open) round.cutAt = Math.min(round.cutAt ?? since, since);
  }

  /** @returns ranges with more traces than one read returns */
  async #read(stretches: readonly Stretch[], round: Round): Promise<Stretch[]> {
    const { queries, runtime } = this.#deps;
    const asked = stretches.map(({ job, since, until }) => ({ jobId: job.jobId, since, until }));
    const traces = await queries.traces(asked, TRACES_MAX);
    const turns = new Turns(runtime);
    const rest: Stretch[] = [];
    for (const [index, stretch] of stretches.entries()) {
      if (turns.isOver) await turns.next();
      const { job, until } = stretch;
      const look = lookForMissed(
        job,
        stretch,
        traces[index] ?? { fired: [], skipped: [] },
        TRACES_MAX,
        round.until,
        this.#known(),
      );
      this.#found.add(job, look.missed, round);
      settle(round, stretch, Math.min(look.aheadAt ?? until, look.lookedUntil));
      round.traces += (traces[index]?.fired.length ?? 0) + (traces[index]?.skipped.length ?? 0);
      if (look.isCut) rest.push({ job, since: look.lookedUntil, until });
    }
    return rest;
  }

  async #end(round: Round): Promise<void> {
    this.#found.endRound(round, round.until - WINDOW_MS);
    // A backfill may have run some of them.
    const asked = this.#found.stretches();
    const traces = asked.length === 0 ? [] : await this.#deps.queries.traces(asked, 1);
    for (const [index, { fired, skipped }] of traces.entries()) {
      if (fired.length + skipped.length > 0) this.#found.settled(asked[index] as JobStretch);
    }
    this.#judgedUntil = round.until;
    this.#lookedUntil = round.cutAt ?? round.until;
    this.#reachMs = reachAfter(round, this.#reachMs);
    this.#unsettled = round.unsettled;
    this.#round = null;
  }

  #failed(error: unknown): void {
    if (this.#stopped) return;
    this.#deps.log.warn({ err: error }, "the api could not search for missed instants, and goes on at the same job");
  }

  #known(): KnownPast {
    return { keptDays: this.#deps.retentionDays, changeovers: this.#deps.zones.changeovers() };
  }
}

/** @param settledUntil time before which every instant of the range is judged */
function settle({ unsettled }: Round, { job: { jobId }, since, until }: Stretch, settledUntil: EpochMs): void {
  const before = unsettled.get(jobId);
  // An earlier part of the same job has unjudged instants.
  if (before !== undefined && before < since) return;
  if (settledUntil >= until) unsettled.delete(jobId);
  else if (before !== undefined || unsettled.size < UNSETTLED_MAX) unsettled.set(jobId, settledUntil);
}

function reachAfter({ traces, cutAt }: Round, reachMs: number): number {
  if (traces > TRACES_OF_A_ROUND || cutAt !== null) return reachMs / 2 < REACH_MIN_MS ? 0 : reachMs / 2;
  if (traces > TRACES_OF_A_ROUND / 4) return reachMs;
  return Math.min(WINDOW_MS, Math.max(REACH_MIN_MS, 2 * reachMs));
}
