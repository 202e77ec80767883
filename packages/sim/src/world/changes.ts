import type { JobChanger } from "@mainspring/server/testing";
import type { SeededRandom, VirtualClock } from "@mainspring/testkit/time";
import type { History } from "../history.ts";
import type { Only } from "../simulation.ts";
import type { SimServer } from "./sim-server.ts";
import { type ReceivedJob, someDefinition } from "./some-definition.ts";
import { TENANT } from "./tenant.ts";

/** Share of the jobs that are replaced, deleted or run again. */
const SHARE = 0.15;
const CHANGES_MAX = 3;
const NAMES = 5;

/** Part of a plan that remains. */
export interface PlannedPart {
  untilMs: number;
  /** @param job number of the job, from 1 */
  isWanted(job: number): boolean;
}

/** The part of a plan that remains. @param numbers of the jobs that remain; left out: all */
export function partOf({ untilMs }: Only, numbers?: ReadonlySet<number>): PlannedPart {
  return { untilMs: untilMs ?? Number.POSITIVE_INFINITY, isWanted: (number) => numbers?.has(number) ?? true };
}

interface Asked {
  change: "REPLACE" | "RETRY" | "DELETE";
  cancelRunning: boolean;
  jobId: string;
  executionId: string;
  received: ReceivedJob;
}

/**
 * Clients that change their jobs after they were accepted. A client does not repeat a change that was refused or not
 * answered.
 */
export class Changes {
  readonly #clock: VirtualClock;
  readonly #random: SeededRandom;
  readonly #history: History;
  readonly #server: () => SimServer | null;

  constructor(clock: VirtualClock, random: SeededRandom, history: History, server: () => SimServer | null) {
    this.#clock = clock;
    this.#random = random;
    this.#history = history;
    this.#server = server;
  }

  /** @param key key of the job's submit, so that changes of one job do not depend on other jobs */
  plan(key: string, { jobId, executionId }: { jobId: string; executionId: string }, { job }: ReceivedJob): void {
    const random = this.#random.fork(key);
    if (!random.chance(SHARE)) return;
    const { concurrencyKey, concurrencyLimit, uniqueKey } = job;
    const keys = {
      ...(concurrencyKey !== undefined && { concurrencyKey }),
      ...(concurrencyLimit !== undefined && { concurrencyLimit }),
      ...(uniqueKey !== undefined && { uniqueKey }),
    };
    for (let left = random.between(1, CHANGES_MAX); left > 0; left--) {
      const received = someDefinition(random, `${key}/${left}`, keys);
      const afterMs = random.chance(0.5) ? random.between(0, 200) : random.between(0, 60_000);
      const change = random.pick(["REPLACE", "REPLACE", "REPLACE", "RETRY", "DELETE"] as const);
      const cancelRunning = random.chance(0.3);
      this.#clock.plan(afterMs, () => this.#change({ change, cancelRunning, jobId, executionId, received }));
    }
  }

  /**
   * Plans puts of a few names, in pairs that arrive together. @param only part that remains; a pair goes with the job
   * of its number
   */
  planNamed(pairs: number, withinMs: number, only: PlannedPart): void {
    const random = this.#random;
    for (let left = pairs; left > 0; left--) {
      const name = `name-${random.between(1, NAMES)}`;
      const atMs = random.next() * withinMs;
      for (const side of ["a", "b"]) {
        const received = someDefinition(random, `${name}/${left}/${side}`, { name });
        const afterMs = random.between(0, 5);
        if (atMs > only.untilMs || !only.isWanted(left)) continue;
        this.#clock.plan(atMs + afterMs, () => void this.#put(received).catch(() => undefined));
      }
    }
  }

  async #put(received: ReceivedJob): Promise<void> {
    const answer = await this.#server()?.changer?.putNamed(TENANT, received);
    if (answer === undefined) return;
    const { jobId, executionId, version, execution } = answer;
    this.#history.add({ kind: "REPLACE_ANSWERED", jobId, executionId, version, execution });
  }

  #change(asked: Asked): void {
    const changer = this.#server()?.changer;
    if (!changer) return;
    const { jobId, change } = asked;
    this.#history.add({ kind: "CHANGE_ASKED", jobId, change });
    // The change was refused, or its outcome is unknown.
    void this.#ask(changer, asked).catch(() => undefined);
  }

  async #ask(changer: JobChanger, { change, cancelRunning, jobId, executionId, received }: Asked): Promise<void> {
    if (change === "REPLACE") {
      const { version, execution, ...after } = await changer.replace(TENANT, jobId, received, null);
      const answered = { jobId, executionId: after.executionId, version, execution };
      this.#history.add({ kind: "REPLACE_ANSWERED", ...answered });
    } else if (change === "DELETE") {
      const isOver = await changer.delete(TENANT, jobId, cancelRunning);
      this.#history.add({ kind: "DELETE_ANSWERED", jobId, isOver });
    } else {
      const again = await changer.runs.retry(TENANT, executionId);
      this.#history.add({ kind: "RETRY_ANSWERED", jobId, executionId: again.executionId });
    }
  }
}
