import type { Dice } from "../dice.ts";
import type { History } from "../history.ts";
import type { VirtualClock } from "../virtual-clock.ts";
import { NowAndThen } from "./now-and-then.ts";
import type { SimServer } from "./sim-server.ts";

const DEEDS = ["REPLAY_SOME", "DISCARD_SOME", "REPLAY_ALL", "DISCARD_ALL", "PAUSE"] as const;
const POOL = "default";
const AGAIN_MS = 500;
/** Nothing that the store was asked takes effect any more after so long. */
const LATEST_MS = 30_000;

/** People who run the servers: they replay and discard what died, and pause the pool for a while. */
export class Operators {
  readonly #clock: VirtualClock;
  readonly #dice: Dice;
  readonly #history: History;
  readonly #server: () => SimServer | null;
  readonly #isPaused: () => boolean;
  readonly #times: NowAndThen;
  /** As they wanted it. */
  #pausedUntilMs = 0;

  /** @param isPaused whether the pool is, in the store */
  constructor(
    clock: VirtualClock,
    dice: Dice,
    history: History,
    server: () => SimServer | null,
    isPaused: () => boolean,
  ) {
    this.#clock = clock;
    this.#dice = dice;
    this.#history = history;
    this.#server = server;
    this.#isPaused = isPaused;
    this.#times = new NowAndThen(clock, dice);
  }

  /** @param everyMs how long it is from one deed to the next, about */
  start(everyMs: number): void {
    this.#times.start(everyMs, () => this.#do(this.#dice.pick(DEEDS)));
  }

  /** Paused pools are resumed all the same. */
  stop(): void {
    this.#times.stop();
  }

  #do(deed: (typeof DEEDS)[number]): void {
    const forMs = deed === "PAUSE" ? this.#dice.between(1_000, 60_000) : 0;
    this.#history.add({ kind: "OPERATED", deed, forMs });
    if (deed === "PAUSE") return this.#pauseFor(forMs);
    const [what, which] = deed.split("_");
    const action = what === "REPLAY" ? "REPLAY" : "DISCARD";
    const done = which === "ALL" ? this.#server()?.deadLetters?.begin(action, {}) : this.#some(action);
    // An operator without an answer looks at the list again later.
    done?.catch(() => undefined);
  }

  async #some(action: "REPLAY" | "DISCARD"): Promise<void> {
    const server = this.#server();
    const page = { after: null, limit: this.#dice.between(1, 5) };
    const listed = await server?.store?.deadLetters.list("default", {}, page);
    if (listed === undefined || listed.items.length === 0) return;
    await server?.deadLetters?.settle(
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

  /** A pause that was given up unanswered may have taken effect when the pool had long been resumed. */
  #lookAgain(): void {
    if (this.#isPaused() && this.#clock.nowMs > this.#pausedUntilMs) void this.#resume();
  }

  /** @returns whether it was answered */
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

  /** Until it is known to be done: a pool that stays paused would hold up everything. */
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
