import type { Runtime, Timer } from "../../ports/runtime.ts";

/** A portion that the store gave to the node. */
export interface Portion {
  taken: number;
  /** Part of the quota that all nodes have used; the refusal of a submit tells it. */
  used: number;
  /** Time in ms after which so much may be taken as was needed; null: not known. */
  waitMs: number | null;
}

export interface Asked {
  /** Number of charges that are under way, or whose outcome is unknown. */
  held: number;
  /** 0: the node only tells `held`. */
  needed: number;
  wanted: number;
}

/** Refusal of a charge. */
export interface OverQuota {
  used: number;
  /** Time in ms after which a repeat may succeed. */
  waitMs: number;
}

/** Result of a charge that is over. UNKNOWN: the store did not answer, so rows may still appear. */
export type ChargeEnd = "WRITTEN" | "NOTHING" | "UNKNOWN";

/**
 * Time in ms for which the node uses a portion, and after which it tells the store which places it still holds. Until then, places
 * whose rows were written count twice for other nodes, so these may refuse too early near the limit.
 */
const PORTION_MS = 1_000;
/** Time in ms for which a charge of unknown outcome counts. A statement of the store is over by then. */
const UNKNOWN_MS = 15_000;
/** Time in ms that passes between two questions after a refusal, as a multiple of what the last question took, and at least. */
const PAUSE_TIMES = 5;
const PAUSE_MIN_MS = 100;
/** Waiting charges of one account. Beyond them a charge is refused. */
const WAITING_MAX = 10_000;

interface Waiting {
  amount: number;
  resolve(refusal: OverQuota | null): void;
  reject(error: unknown): void;
}

/**
 * The node's part of one quota of a tenant. A charge is taken from the portion that the node has; a charge that exceeds it waits for
 * the next portion, together with all that come meanwhile. One question is under way at a time, so many submits cost the store
 * no more than one.
 */
export class QuotaAccount {
  readonly #runtime: Pick<Runtime, "monotonicMs" | "setTimer">;
  readonly #ask: (asked: Asked) => Promise<Portion>;
  /** Whether charges hold places until they end, and the next portion replaces the one before. */
  readonly #isOfPlaces: boolean;
  #free = 0;
  #freeUntilMs = 0;
  #held = 0;
  #unknown: { amount: number; untilMs: number }[] = [];
  #waiting: Waiting[] = [];
  #isAsking = false;
  #timer: Timer | null = null;
  /** Charges of the running second, and of the one before. */
  #demand = { atMs: 0, now: 0, before: 0 };
  #refused: { amount: number; untilMs: number; used: number } | null = null;

  /** @param kind TOKENS: what is charged is gone for good; PLACES: it is held until the charge ends */
  constructor(
    kind: "TOKENS" | "PLACES",
    runtime: Pick<Runtime, "monotonicMs" | "setTimer">,
    ask: (asked: Asked) => Promise<Portion>,
  ) {
    this.#isOfPlaces = kind === "PLACES";
    this.#runtime = runtime;
    this.#ask = ask;
  }

  /** @returns refusal; null: charged. A promise only where the portion of the node is too small */
  charge(amount: number): OverQuota | null | Promise<OverQuota | null> {
    if (amount === 0) return null;
    const nowMs = this.#runtime.monotonicMs();
    this.#count(amount, nowMs);
    if (this.#waiting.length === 0 && !this.#isAsking && nowMs < this.#freeUntilMs && amount <= this.#free) {
      this.#take(amount);
      return null;
    }
    const refused = this.#refused;
    if (refused !== null && amount >= refused.amount && nowMs < refused.untilMs)
      return { used: refused.used, waitMs: refused.untilMs - nowMs };
    if (this.#waiting.length >= WAITING_MAX) return { used: refused?.used ?? 0, waitMs: PAUSE_MIN_MS };
    return new Promise((resolve, reject) => {
      this.#waiting.push({ amount, resolve, reject });
      if (!this.#isAsking) void this.#pump();
    });
  }

  /** Ends a charge. */
  end(amount: number, end: ChargeEnd): void {
    this.#held -= amount;
    if (end === "UNKNOWN" && this.#isOfPlaces)
      this.#unknown.push({ amount, untilMs: this.#runtime.monotonicMs() + UNKNOWN_MS });
    // An unused part goes to the next charge, unless the store is being told that the portion is gone.
    if (end === "NOTHING" && !this.#isAsking && this.#runtime.monotonicMs() < this.#freeUntilMs) this.#free += amount;
  }

  #take(amount: number): void {
    this.#free -= amount;
    this.#held += amount;
    this.#renewLater();
  }

  /** Asks for portions until nobody waits. */
  async #pump(): Promise<void> {
    this.#isAsking = true;
    try {
      while (this.#waiting.length > 0) {
        const needed = this.#waiting[0]?.amount ?? 0;
        const wanted = this.#waiting.reduce((sum, { amount }) => sum + amount, 0) + this.#expected();
        const beganMs = this.#runtime.monotonicMs();
        const portion = await this.#portion({ needed, wanted });
        this.#share(portion, needed, this.#runtime.monotonicMs() - beganMs);
      }
    } catch (error) {
      for (const { reject } of this.#waiting.splice(0)) reject(error);
    } finally {
      this.#isAsking = false;
    }
  }

  /** Replaces the portion of the node, or adds to its tokens. */
  async #portion({ needed, wanted }: Omit<Asked, "held">): Promise<Portion> {
    const nowMs = this.#runtime.monotonicMs();
    const kept = this.#isOfPlaces || nowMs >= this.#freeUntilMs ? 0 : this.#free;
    this.#free = 0;
    this.#unknown = this.#unknown.filter(({ untilMs }) => untilMs > nowMs);
    const held = this.#unknown.reduce((sum, { amount }) => sum + amount, this.#held);
    const portion = await this.#ask({ needed: Math.max(0, needed - kept), wanted: Math.max(0, wanted - kept), held });
    this.#free = kept + portion.taken;
    // Counted from before the question, so the node lets go of the portion before the store does.
    this.#freeUntilMs = nowMs + PORTION_MS;
    return portion;
  }

  #share({ taken, used, waitMs }: Portion, needed: number, tookMs: number): void {
    this.#refused = null;
    while (this.#waiting.length > 0) {
      const { amount, resolve } = this.#waiting[0] as Waiting;
      if (amount > this.#free) break;
      this.#waiting.shift();
      this.#take(amount);
      resolve(null);
    }
    if (taken > 0 || this.#waiting.length === 0) return;
    const pauseMs = Math.max(PAUSE_MIN_MS, PAUSE_TIMES * tookMs);
    const refusal = { used, waitMs: waitMs ?? pauseMs };
    this.#refused = { amount: needed, used, untilMs: this.#runtime.monotonicMs() + Math.min(pauseMs, refusal.waitMs) };
    const [over, rest] = [[] as Waiting[], [] as Waiting[]];
    for (const waiting of this.#waiting) (waiting.amount >= needed ? over : rest).push(waiting);
    this.#waiting = rest;
    for (const { resolve } of over) resolve(refusal);
  }

  /** Tells the store now and then which places are still held, so that those that nobody uses become free. */
  #renewLater(): void {
    if (this.#timer !== null || !this.#isOfPlaces) return;
    this.#timer = this.#runtime.setTimer(PORTION_MS, () => {
      this.#timer = null;
      if (this.#isAsking) return this.#renewLater();
      this.#isAsking = true;
      const renewed = this.#portion({ needed: 0, wanted: 0 }).catch(() => undefined);
      void renewed.then(() => {
        this.#isAsking = false;
        if (this.#held > 0 || this.#unknown.length > 0) this.#renewLater();
        if (this.#waiting.length > 0) void this.#pump();
      });
    });
  }

  #count(amount: number, nowMs: number): void {
    if (nowMs - this.#demand.atMs >= 1_000) {
      const before = nowMs - this.#demand.atMs < 2_000 ? this.#demand.now : 0;
      this.#demand = { atMs: nowMs, now: 0, before };
    }
    this.#demand.now += amount;
  }

  /** Charges that are to be expected within a second. */
  #expected(): number {
    return Math.max(this.#demand.before, this.#demand.now);
  }
}
