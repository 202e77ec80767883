import { ProblemError } from "@mainspring/server/testing";
import type { SeededRandom, VirtualClock } from "@mainspring/testkit/time";
import type { SimServer } from "./sim-server.ts";
import type { SomeGraph } from "./some-graph.ts";
import { TENANT } from "./tenant.ts";

/** Time until a client asks again that got no answer, in milliseconds. */
const AGAIN_MS = 400;
/** Largest number of requests of one client, so that a run that never ends does not keep the world from ending. */
const ASKED_MAX = 40;

interface PlannedRetry {
  run: string;
  graph: SomeGraph;
  key: string;
  from: "FAILED" | string[];
  asked: number;
}

/** Clients that retry runs of workflows when these are final, some of them twice at the same time, and retries of them. */
export class Retries {
  readonly #clock: VirtualClock;
  readonly #random: SeededRandom;
  readonly #server: () => SimServer | null;
  readonly #namesAdded: boolean;
  #open = 0;
  #number = 0;

  /** @param namesAdded whether clients also name nodes that handlers add, which not every run has */
  constructor(clock: VirtualClock, random: SeededRandom, server: () => SimServer | null, namesAdded: boolean) {
    this.#clock = clock;
    this.#random = random;
    this.#server = server;
    this.#namesAdded = namesAdded;
  }

  /** Number of clients that have no final answer. */
  get open(): number {
    return this.#open;
  }

  /** Plans retries of a run that has just begun. */
  plan(run: string, graph: SomeGraph): void {
    const random = this.#random;
    for (let clients = random.pick([0, 1, 1, 2]); clients > 0; clients--) {
      const added = this.#namesAdded ? [...(graph.spawns?.values() ?? [])].flat() : [];
      const names = [...graph.nodes, ...added].map(({ name }) => name);
      const from = random.chance(0.5) ? ("FAILED" as const) : [random.pick(names)];
      this.#open++;
      const retry = { run, graph, key: `retry-${++this.#number}`, from, asked: 0 };
      this.#clock.plan(random.between(0, 20_000), () => this.#ask(retry));
    }
  }

  /** A repeat has the same key, so that an answer that was lost makes no second run. */
  #ask(retry: PlannedRetry): void {
    const { run, key, from } = retry;
    const retrier = this.#server()?.retrier ?? null;
    const again = (afterMs: number) => {
      if (++retry.asked < ASKED_MAX) this.#clock.plan(afterMs, () => this.#ask(retry));
      else this.#open--;
    };
    if (retrier === null) return again(AGAIN_MS);
    retrier.retry(TENANT, run, from, { tenant: TENANT, key, requestHash: `${run} ${from}` }).then(
      ({ body }) => {
        this.#open--;
        if (this.#random.chance(0.4)) this.plan(body.workflowId, retry.graph);
      },
      (error: unknown) => {
        if (!(error instanceof ProblemError)) return again(AGAIN_MS);
        // The run, or another retry of it, is not final.
        if (/PENDING|RUNNING|is not final/.test(error.problem.detail ?? ""))
          return again(this.#random.between(1_000, 20_000));
        this.#open--;
      },
    );
  }
}
