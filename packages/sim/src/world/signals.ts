import type { VirtualClock } from "@mainspring/testkit/time";
import type { SimServer } from "./sim-server.ts";
import { signalNameOf, type Work } from "./sim-worker.ts";
import type { ReceivedJob } from "./some-definition.ts";

const RETRY_MS = 2_000;
/** Number of requests after which a client gives up. */
const TRIES = 30;

/** Clients that send signals to executions, and repeat each until it is answered. */
export class Signals {
  readonly #clock: VirtualClock;
  readonly #server: () => SimServer | null;

  constructor(clock: VirtualClock, server: () => SimServer | null) {
    this.#clock = clock;
    this.#server = server;
  }

  /** Plans the signals that the job's handler waits for. */
  plan(executionId: string, { payload }: ReceivedJob): void {
    if (payload === null) return;
    const { waits } = JSON.parse(Buffer.from(payload).toString()) as Work;
    for (const [index, { signalsAfterMs }] of waits.entries()) {
      for (const [count, afterMs] of (signalsAfterMs ?? []).entries()) {
        const signal = { id: `${index}.${count}`, name: signalNameOf(index), data: null };
        this.#clock.plan(afterMs, () => void this.#send(executionId, signal, TRIES));
      }
    }
  }

  async #send(executionId: string, signal: Parameters<SimServer["signal"]>[1], tries: number): Promise<void> {
    let isOver = false;
    const again = () => {
      if (!isOver && tries > 1) void this.#send(executionId, signal, tries - 1);
      isOver = true;
    };
    this.#clock.plan(RETRY_MS, again);
    await this.#server()
      ?.signal(executionId, signal)
      .then(
        () => (isOver = true),
        () => undefined,
      );
  }
}
