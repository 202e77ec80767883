import type { Candidate } from "../../domain/execution.ts";
import { shardOf } from "../../domain/ids.ts";
import type { Assignment } from "../../ports/messages.ts";
import { Heap } from "../heap.ts";
import { candidate, START, Story } from "./story.ts";

/** Work of one tenant on a stage of slots. */
export interface Act {
  tenant: string;
  /** Run time of the next attempt in ms. */
  runMs: () => number;
  /** Fields of all its executions. */
  fields?: Partial<Omit<Candidate, "policy">>;
  /** Time in ms until the next submit; left out: the tenant always has more work than slots. */
  everyMs?: () => number;
}

interface Use {
  act: Act;
  /** Slot time in ms of the attempts that have ended. */
  slotMs: number;
  /** Times in ms between submit and assignment. */
  waits: number[];
  ready: number;
}

/** A pool with a number of slots and tenants that want them, in simulated time. Commits take no time. */
export class SlotStage {
  readonly story = new Story();
  readonly uses = new Map<string, Use>();
  readonly #slots: number;
  readonly #events = new Heap<() => void>();
  readonly #submittedAt = new Map<string, number>();
  #number = 0;

  constructor(slots: number, acts: readonly Act[], weights: Record<string, number> = {}) {
    this.#slots = slots;
    this.story.tell({ kind: "WEIGHTS", weights: new Map(Object.entries(weights)) });
    for (const act of acts) {
      this.uses.set(act.tenant, { act, slotMs: 0, waits: [], ready: 0 });
      if (act.everyMs !== undefined) this.#arrive(act, act.everyMs);
    }
  }

  /** Lets so much time pass. */
  run(ms: number): this {
    const until = this.story.now + ms;
    this.#settle();
    if (this.story.state.workers.isEmpty) this.story.worker("w", { slots: this.#slots });
    this.#settle();
    for (let next = this.#events.peek(); next !== undefined && next.key <= until; next = this.#events.peek()) {
      this.#events.pop();
      this.story.now = next.key;
      next.item();
      this.#settle();
    }
    this.story.now = until;
    return this;
  }

  /** Part of all used slot time that the tenant had. */
  partOf(tenant: string): number {
    let all = 0;
    for (const { slotMs } of this.uses.values()) all += slotMs;
    return this.#use(tenant).slotMs / all;
  }

  /** Time in ms that so large a part of the tenant's executions waited at most. */
  waitOf(tenant: string, part: number): number {
    const waits = this.#use(tenant).waits.toSorted((a, b) => a - b);
    return waits[Math.min(waits.length - 1, Math.floor(part * waits.length))] ?? Number.NaN;
  }

  #use(tenant: string): Use {
    const use = this.uses.get(tenant);
    if (use === undefined) throw new Error(`no tenant ${tenant}`);
    return use;
  }

  #at(at: number, event: () => void): void {
    this.#events.push(at, String(++this.#number).padStart(9, "0"), event);
  }

  #arrive(act: Act, everyMs: () => number): void {
    this.#at(this.story.now + Math.round(everyMs()), () => {
      this.#submit(act, 1);
      this.#arrive(act, everyMs);
    });
  }

  #submit(act: Act, count: number): void {
    const rows = Array.from({ length: count }, () => {
      const id = `${act.tenant}-${String(++this.#number).padStart(9, "0")}`;
      this.#submittedAt.set(id, this.story.now);
      return candidate({
        id,
        tenant: act.tenant,
        shard: shardOf(id),
        dueAt: this.story.now,
        queue: "READY",
        ...act.fields,
      });
    });
    this.#use(act.tenant).ready += count;
    this.story.hint(...rows);
  }

  /** Keeps backlogs full, and starts what the machine has assigned. */
  #settle(): void {
    for (const use of this.uses.values()) {
      if (use.act.everyMs === undefined && use.ready <= this.#slots) this.#submit(use.act, 2 * this.#slots);
    }
    for (const assign of this.story.commit().assigns) this.#start(assign);
  }

  #start(assign: Assignment): void {
    const use = this.#use(assign.executionId.slice(0, assign.executionId.lastIndexOf("-")));
    const startedAt = this.story.now;
    use.ready--;
    use.waits.push(startedAt - (this.#submittedAt.get(assign.executionId) ?? START));
    this.#submittedAt.delete(assign.executionId);
    const runMs = Math.round(use.act.runMs());
    this.#at(startedAt + runMs, () => {
      use.slotMs += runMs;
      this.story.finish(assign, { startedAt });
    });
  }
}
