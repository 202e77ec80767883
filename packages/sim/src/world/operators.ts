import type { SeededRandom, VirtualClock } from "@mainspring/testkit/time";
import type { History } from "../history.ts";
import { NowAndThen } from "./now-and-then.ts";
import type { SimServer } from "./sim-server.ts";
import { TENANT } from "./tenant.ts";

const ACTIONS = ["REPLAY_SOME", "DISCARD_SOME", "REPLAY_ALL", "DISCARD_ALL", "PAUSE"] as const;
const POOL = "default";
const AGAIN_MS = 500;
/** Time after which no request to the store takes effect any more, in simulated milliseconds. */
const LATEST_MS = 30_000;

/** Operators of the servers: they replay and discard dead letters, and pause the pool for a while. */
export class Operators {
  readonly #clock: VirtualClock;
  readonly #random: SeededRandom;
  readonly #history: History;
  readonly #server: () => SimServer | null;
  readonly #isPaused: () => boolean;
  readonly #times: NowAndThen;
  /** End of the operators' pause. */
  #pausedUntilMs = 0;

  /** @param isPaused whether the pool is paused in the store */
  constructor(
    clock: VirtualClock,
    random: SeededRandom,
    history: History,
    server: () => SimServer | null,
    isPaused: () => boolean,
  ) {
    this.#clock = clock;
    this.#random = random;
    this.#history = history;
    this.#server = server;
    this.#isPaused = isPaused;
    this.#times = new NowAndThen(clock, random);
  }

  /** @param everyMs mean interval of the actions, in simulated milliseconds */
  start(everyMs: number): void {
    this.#times.start(everyMs, () => this.#do(this.#random.pick(ACTIONS)));
  }

  /** Stops the operators, who still resume paused pools. */
  stop(): void {
    this.#times.stop();
    this.#lookAgain();
  }

  /** Checks the pool once the servers are back: it may be paused in the state to which the store was restored. */
  storeWentBack(): void {
    this.#clock.plan(LATEST_MS, () => this.#lookAgain());
  }

  #do(operation: (typeof ACTIONS)[number]): void {
    const forMs = operation === "PAUSE" ? this.#random.between(1_000, 60_000) : 0;
    this.#history.add({ kind: "OPERATED", deed: operation, forMs });
    if (operation === "PAUSE") return this.#pauseFor(forMs);
    const [what, which] = operation.split("_");
    const action = what === "REPLAY" ? "REPLAY" : "DISCARD";
    const done = which === "ALL" ? this.#server()?.deadLetters?.begin(TENANT, action, {}) : this.#some(action);
    // An operator without an answer checks the list again later.
    done?.catch(() => undefined);
  }

  async #some(action: "REPLAY" | "DISCARD"): Promise<void> {
    const server = this.#server();
    const page = { after: null, limit: this.#random.between(1, 5) };
    const listed = await server?.store?.deadLetters.list("default", {}, page);
    if (listed === undefined || listed.items.length === 0) return;
    await server?.deadLetters?.settle(
      TENANT,
      action,
      listed.items.map(({ executionId }) => executionId),
    );
  }

  #pauseFor(forMs: number): void {
    const untilMs = this.#clock.nowMs + forMs;
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, untilMs);
    void this.#pause(true);
    this.#clock.plan(forMs, () => void this.#resume());
    this.#clock.plan(forMs + LATEST_MS, () => this.#lookAgain());
  }

  /**
   * Checks the pool again later. A pause that was given up without an answer may take effect after the pool was
   * resumed.
   */
  #lookAgain(): void {
    if (this.#isPaused() && this.#clock.nowMs > this.#pausedUntilMs) void this.#resume();
  }

  /** @returns whether the request was answered */
  async #pause(paused: boolean): Promise<boolean> {
    const askedMs = this.#clock.nowMs;
    try {
      const changed = await this.#server()?.pools?.put({ name: POOL, paused });
      if (paused && changed?.unconfirmedBy.length === 0)
        this.#history.add({ kind: "PAUSE_CONFIRMED", pool: POOL, askedMs });
      return changed !== undefined;
    } catch {
      return false;
    }
  }

  /**
   * Resumes the pool, and retries until the resume is confirmed, because a pool that stays paused would hold up
   * everything.
   */
  async #resume(): Promise<void> {
    let isDone = false;
    const again = () => {
      if (isDone) return;
      isDone = true;
      this.#clock.plan(AGAIN_MS, () => void this.#resume());
    };
    // A server that is killed never answers.
    this.#clock.plan(5_000, again);
    if (await this.#pause(false)) isDone = true;
    else again();
  }
}
