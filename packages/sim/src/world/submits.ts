import type { JobIntake } from "@mainspring/server/testing";
import type { VirtualClock } from "@mainspring/testkit/time";
import type { History } from "../history.ts";
import type { SimServer } from "./sim-server.ts";
import type { ReceivedJob } from "./some-definition.ts";
import { TENANT } from "./tenant.ts";

/**
 * Time after which a client stops waiting for an answer and repeats the request with the same key, in simulated
 * milliseconds.
 */
const ANSWER_WITHIN_MS = 5_000;
const RETRY_MS = 400;

type Body = Awaited<ReturnType<JobIntake["take"]>>["bodies"][number];
type TakenBody = Exclude<Body, { error: unknown }>;

interface Submit {
  key: string;
  received: ReceivedJob;
  /** Called once, with the answer. @param taken null: the submit was refused, and always would be */
  answered(taken: TakenBody | null): void;
}

/** Submits of clients, repeated until they are answered. */
export class Submits {
  readonly #clock: VirtualClock;
  readonly #history: History;
  readonly #server: () => SimServer | null;
  #open = 0;

  constructor(clock: VirtualClock, history: History, server: () => SimServer | null) {
    this.#clock = clock;
    this.#history = history;
    this.#server = server;
  }

  /** Number of submits without an answer. */
  get open(): number {
    return this.#open;
  }

  plan(atMs: number, submit: Submit): void {
    this.#open++;
    this.#clock.plan(atMs, () => this.#ask(submit));
  }

  #ask(submit: Submit): void {
    const { key, received } = submit;
    this.#history.add({ kind: "SUBMITTED", key, handler: received.job.target.handler });
    let isOver = false;
    const once = (then: () => void) => {
      if (!isOver) then();
      isOver = true;
    };
    const again = () => once(() => void this.#clock.plan(RETRY_MS, () => this.#ask(submit)));
    const settle = (taken: TakenBody | null) => once(() => this.#settle(submit, taken));
    this.#clock.plan(ANSWER_WITHIN_MS, again);
    this.#server()
      ?.intake?.take(TENANT, [received], { tenant: TENANT, key, requestHash: key })
      .then(
        ({ bodies: [body] }) => settle(body === undefined || "error" in body ? null : body),
        (error: Error) => (isRefusal(error) ? settle(null) : again()),
      );
  }

  #settle({ answered }: Submit, taken: TakenBody | null): void {
    this.#open--;
    answered(taken);
  }
}

/** Whether an error is final: the rule leaves nothing to fire until its end. A full queue is no reason to give up. */
function isRefusal(error: Error): boolean {
  return error.name === "ProblemError" && (error as Error & { problem: { status: number } }).problem.status !== 429;
}
