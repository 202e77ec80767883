import type { WebhookPost } from "@mainspring/server/testing";
import type { SeededRandom, VirtualClock } from "@mainspring/testkit/time";
import type { History } from "../history.ts";
import type { SimProcess } from "../sim-process.ts";
import type { ReceivedJob } from "./some-definition.ts";

/** Remainder by WEBHOOKS_EVERY of the seeds with webhooks, and the first of them. */
const WEBHOOKS_EVERY = 20;
const WEBHOOKS = 8;
const WEBHOOKS_FROM = 48;
/** Longest way to a receiver or back, in simulated milliseconds. */
const WAY_MS = 40;

const HANGING = "https://hangs.example/";
const URLS = ["https://good.example/", "https://good.example/other", "https://busy.example/", HANGING];

/** Whether jobs of a seed have webhooks. */
export function hasWebhooks(seed: number): boolean {
  return seed % WEBHOOKS_EVERY === WEBHOOKS && seed >= WEBHOOKS_FROM;
}

/** The job, often with a receiver of its end. */
export function withOnFinish({ job, payload }: ReceivedJob, random: SeededRandom): ReceivedJob {
  return { job: { ...job, ...someOnFinish(random) }, payload };
}

/** A receiver of the end, or none. */
export function someOnFinish(random: SeededRandom): Pick<ReceivedJob["job"], "onFinish"> {
  return random.chance(0.4) ? { onFinish: { url: random.pick(URLS) } } : {};
}

/** Receivers of webhooks, once for all servers: slow, with lost requests, lost answers and refusals; one often hangs. */
export class ReceiverSystem {
  readonly #clock: VirtualClock;
  readonly #random: SeededRandom;
  readonly #history: History;
  #isCalm = false;

  constructor(clock: VirtualClock, random: SeededRandom, history: History) {
    this.#clock = clock;
    this.#random = random;
    this.#history = history;
  }

  /** Ends all faults. */
  calm(): void {
    this.#isCalm = true;
  }

  /** Way of a server's process to the receivers. A request arrives even if the process dies meanwhile. */
  post(process: SimProcess): WebhookPost {
    return ({ url, id, signal }) =>
      new Promise((resolve, reject) => {
        const fate = this.#isCalm ? 1 : this.#random.next();
        const way = () => this.#random.between(1, WAY_MS);
        const isHanging = fate < (url === HANGING ? 0.5 : 0.05);
        const isRefused = !isHanging && fate < 0.6 && this.#random.chance(0.3);
        signal.addEventListener("abort", () => reject(signal.reason as Error));
        this.#clock.plan(way(), () => {
          // Half of the requests without an answer have arrived.
          if (isHanging && this.#random.chance(0.5)) return;
          if (!isRefused) this.#history.add({ kind: "RECEIVER_TOOK", event: id });
          const answer = { status: isRefused ? 503 : 204, notBefore: null, excerpt: "" };
          if (!isHanging) this.#clock.plan(way(), () => process.take(() => resolve(answer)));
        });
      });
  }
}

/** Makes the receivers. @param clients clients whose jobs and workflows name them from now on */
export function beginWebhooks(
  clock: VirtualClock,
  random: SeededRandom,
  history: History,
  clients: readonly { onFinish: SeededRandom | null }[],
): ReceiverSystem {
  for (const [index, client] of clients.entries()) client.onFinish = random.fork(`on finish ${index}`);
  return new ReceiverSystem(clock, random.fork("receiver"), history);
}
