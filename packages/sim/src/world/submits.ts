import type { JobIntake } from "@mainspring/server/testing";
import type { History } from "../history.ts";
import type { VirtualClock } from "../virtual-clock.ts";
import type { SimServer } from "./sim-server.ts";
import type { ReceivedJob } from "./some-definition.ts";

/** A client gives up waiting for an answer after this, and asks again with the same key. */
const ANSWER_WITHIN_MS = 5_000;
const RETRY_MS = 400;

type Body = Awaited<ReturnType<JobIntake["take"]>>["bodies"][number];
type TakenBody = Exclude<Body, { error: unknown }>;

interface Submit {
  key: string;
  received: ReceivedJob;
  /** Called once. @param taken null: it was refused, and always would be */
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

  /** Submits that were not answered yet. */
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
      ?.intake?.take([received], { tenant: "default", key, requestHash: key })
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

/** A rule that leaves nothing to fire until its end. While too much waits is no time to give up. */
function isRefusal(error: Error): boolean {
  return error.name === "ProblemError" && (error as Error & { problem: { status: number } }).problem.status !== 429;
}
