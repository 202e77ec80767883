import type { Client, LedgerItem, RecurringJobRequest } from "@mainspring/sdk";
import { sleep, until } from "../../clock.ts";
import type { RecurringJob, RecurringTimes } from "../../judge/evidence.ts";
import { SeededRandom } from "../../seeded-random.ts";
import { untilAnswered } from "../until-answered.ts";

type Overlap = RecurringJob["overlap"];
/** Jobs whose ledgers must still be read. */
type Known = Omit<RecurringJob, "ledger">;

/** Start of intervals, in the past, so that the instants do not depend on a job's creation. */
const ANCHOR = Date.UTC(2025, 0, 1);
const EACH_SECOND: RecurringTimes = { cron: "* * * * * *", timezone: "UTC" };
const EACH_OTHER: RecurringTimes = { cron: "*/2 * * * * *", timezone: "UTC" };
const STEADY: readonly { name: string; times: RecurringTimes; overlap: Overlap }[] = [
  { name: "each-second", times: EACH_SECOND, overlap: "SKIP" },
  { name: "in-berlin", times: { cron: "*/5 * * * * *", timezone: "Europe/Berlin" }, overlap: "BUFFER_ONE" },
  { name: "interval", times: { everySec: 3, anchorAt: ANCHOR }, overlap: "ALLOW" },
];
/**
 * Number of changed jobs. An edit or a pause may arrive long after its client has given up, so a job gets only one of
 * them.
 */
const CHANGED = 5;
const DEED_AFTER_MS = { least: 3_000, most: 8_000 };
const PAUSED_WITHIN_MS = 60_000;
const PAGE = 1_000;
const PLENTY_LOST = 50;

/** Recurring jobs under load: some stay unchanged, others are edited once or paused for a while. */
export class RecurringLoad {
  readonly #client: Client;
  readonly #random: SeededRandom;
  readonly #jobs: Known[] = [];
  readonly #actions: Promise<void>;
  #isOver = false;
  #isAbandoned = false;

  /** Starts the load at once. */
  constructor({ client, random }: { client: Client; random: SeededRandom }) {
    this.#client = client;
    this.#random = new SeededRandom(random.between(1, 1e6));
    this.#actions = this.#perform();
    // The caller of `stop` receives the error.
    this.#actions.catch(() => undefined);
  }

  /** Pauses all jobs permanently. @throws {Error} a job was refused, or is not paused in time */
  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#actions;
    await Promise.all(this.#jobs.map((job) => this.#end(job)));
  }

  /** Ends the load because no server will answer any more. */
  abandon(): void {
    this.#isAbandoned = true;
  }

  /** @returns all jobs, with the server's outcome of each instant until they were stopped */
  read(): Promise<RecurringJob[]> {
    return Promise.all(
      this.#jobs.map(async (job) => {
        const ledger: LedgerItem[] = [];
        const until = new Date(job.endedAt);
        for await (const item of this.#client.jobs.ledger(job.jobId, { until, limit: PAGE })) ledger.push(item);
        return { ...job, ledger };
      }),
    );
  }

  async #perform(): Promise<void> {
    await Promise.all(STEADY.map(({ name, times, overlap }) => this.#create(name, times, overlap)));
    for (let turn = 0; turn < CHANGED && !this.#isOver; turn++) {
      const edited = await this.#create(`edited-${turn}`, EACH_SECOND, "ALLOW");
      const paused = await this.#create(`paused-${turn}`, EACH_OTHER, "ALLOW");
      await this.#rest();
      await Promise.all([this.#put(edited, EACH_OTHER), this.#pause(paused)]);
    }
  }

  async #create(name: string, times: RecurringTimes, overlap: Overlap): Promise<Known> {
    const job = { name, jobId: "", overlap, versions: [], pauses: [], endedAt: Number.POSITIVE_INFINITY };
    await this.#put(job, times);
    this.#jobs.push(job);
    return job;
  }

  async #put(job: Known, times: RecurringTimes): Promise<void> {
    const askedAt = Date.now();
    const request = requestOf(job, times);
    const { jobId } = await this.#ask(() => this.#client.jobs.upsert(job.name, request));
    job.jobId = jobId;
    job.versions.push({ times, askedAt, answeredAt: Date.now() });
  }

  async #pause(job: Known): Promise<void> {
    const askedAt = Date.now();
    await this.#ask(() => this.#client.jobs.pause(job.jobId));
    const answeredAt = Date.now();
    await this.#rest();
    const resumedAt = Date.now();
    job.pauses.push({ askedAt, answeredAt, resumedAt });
    await this.#ask(() => this.#client.jobs.resume(job.jobId));
  }

  async #end(job: Known): Promise<void> {
    // A pause whose client had given up may have arrived after the resume; the next resume accounts for its instants.
    await this.#ask(() => this.#client.jobs.resume(job.jobId));
    job.endedAt = Date.now();
    await until(`the job ${job.name} is paused`, PAUSED_WITHIN_MS, async () => {
      const { state } = await this.#ask(() => this.#client.jobs.pause(job.jobId));
      return state === "PAUSED" ? true : null;
    });
  }

  #ask<T>(request: () => Promise<T>): Promise<T> {
    return untilAnswered(() => {
      if (this.#isAbandoned) throw new Error("the run is over");
      return request();
    });
  }

  async #rest(): Promise<void> {
    const { least, most } = DEED_AFTER_MS;
    if (!this.#isOver) await sleep(this.#random.between(least, most));
  }
}

/**
 * Request for a recurring job with high priority, because clients submit as much as is accepted, and a backlog grows
 * while workers are down.
 */
function requestOf({ name, overlap }: Known, times: RecurringTimes): RecurringJobRequest {
  const work = { target: { handler: "quick" }, payload: { key: name, workMs: 10 } };
  const common = { ...work, priority: "CRITICAL", maxLost: PLENTY_LOST, overlap } as const;
  return "cron" in times
    ? { ...common, schedule: times.cron, timezone: times.timezone }
    : { ...common, everySec: times.everySec, startAt: new Date(times.anchorAt) };
}
