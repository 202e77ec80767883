import type { Logger } from "pino";
import type { Bus } from "../../ports/bus.ts";
import type { ApiMetrics } from "../../ports/metrics.ts";
import type { Runtime, Timer } from "../../ports/runtime.ts";
import { StoreUnavailable } from "../../ports/store.ts";
import type { RequestJudge, StoreRequests, TakenRequest } from "../../ports/store-requests.ts";
import { sendHints, writtenJobs } from "../submit/hints.ts";

/** Time between looks for requests without a notice, in milliseconds: a notice may be lost. */
const SWEEP_MS = 5_000;
/** Pause after a failure, in milliseconds. */
const RETRY_MS = 1_000;
/** Requests of one transaction. */
const LIMITS = { count: 1_000, bytes: 4 * 1024 * 1024 };

type Decisions = Awaited<ReturnType<RequestJudge["decide"]>>;

/** A judge that charges quotas for what it decides. */
export interface ChargingJudge extends RequestJudge {
  /** Ends the charges of decisions. @param taken what the store has taken in; null: not known. Left out: nothing is charged */
  settle?(decisions: Decisions, taken: readonly TakenRequest[] | null): void;
}

export interface RequestTakerDependencies {
  store: Pick<StoreRequests, "takeIn" | "watch">;
  judge: ChargingJudge;
  bus: Bus;
  runtime: Runtime;
  metrics: Pick<ApiMetrics, "submitted" | "requestsEnded" | "storeOutage">;
  log: Logger;
}

/**
 * Takes in the requests of applications, one transaction after the other, when the store tells of new ones and every few seconds. The
 * nodes of a cluster do so beside each other, because the store gives each request to one of them.
 */
export class RequestTaker {
  readonly #deps: RequestTakerDependencies;
  #timer: Timer | null = null;
  /** Whether there may be requests that the present look does not see. */
  #isWoken = false;
  #looking: Promise<void> | null = null;
  #isStopped = false;

  constructor(deps: RequestTakerDependencies) {
    this.#deps = deps;
  }

  start(): void {
    this.#deps.store.watch(() => this.#wake());
    this.#wake();
  }

  /** Ends the work, after the transaction in progress. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    await this.#looking;
  }

  #wake(): void {
    this.#isWoken = true;
    if (this.#isStopped || this.#looking !== null) return;
    this.#timer?.cancel();
    this.#looking = this.#look().then((pauseMs) => {
      this.#looking = null;
      if (this.#isStopped) return;
      if (this.#isWoken && pauseMs === SWEEP_MS) this.#wake();
      else this.#timer = this.#deps.runtime.setTimer(pauseMs, () => this.#wake());
    });
  }

  /** @returns time until the next look, in milliseconds */
  async #look(): Promise<number> {
    const { metrics, log } = this.#deps;
    try {
      while (this.#isWoken && !this.#isStopped) {
        this.#isWoken = false;
        const taken = await this.#takeIn();
        // After a full read there are more; after any other the next notice tells.
        if (taken.length > 0) this.#isWoken = true;
        await tellTaken(taken, this.#deps);
      }
      return SWEEP_MS;
    } catch (error) {
      if (error instanceof StoreUnavailable) metrics.storeOutage();
      log.warn({ err: error }, "the api could not take in requests; it tries again");
      return RETRY_MS;
    }
  }

  async #takeIn(): Promise<readonly TakenRequest[]> {
    const { store, judge } = this.#deps;
    const decisions: Decisions = [];
    let taken: readonly TakenRequest[] | null = null;
    try {
      taken = await store.takeIn(LIMITS, {
        // The store may ask again, and then writes nothing of the decisions before.
        decide: async (requests) => {
          const decided = await judge.decide(requests);
          decisions.push(...decided);
          return decided;
        },
        conclude: (outcome) => judge.conclude(outcome),
        notesOf: (submissions) => judge.notesOf?.(submissions) ?? [],
      });
      return taken;
    } finally {
      judge.settle?.(decisions, taken);
    }
  }
}

/** Sends hints to the owners of new jobs, and counts. */
export async function tellTaken(
  taken: readonly TakenRequest[],
  { bus, runtime, metrics }: Pick<RequestTakerDependencies, "bus" | "runtime" | "metrics">,
): Promise<void> {
  const submitted = taken.flatMap(({ submitted }) => (submitted === null ? [] : [submitted]));
  const jobs = writtenJobs(
    submitted.map(({ submission }) => submission),
    submitted.map(({ outcome }) => outcome),
  );
  const refused = taken.filter(({ end }) => end.state === "REFUSED").length;
  metrics.submitted(jobs.length);
  metrics.requestsEnded({ takenIn: taken.length - refused, refused });
  await sendHints(bus, jobs, runtime);
}
