import { defaultPool, type Pool } from "../../domain/pool.ts";
import { Heap } from "../../engine/heap.ts";
import { currentDemand } from "../../engine/queue/demand.ts";
import { candidate, GATEWAY, START, Story } from "../../engine/testing/story.ts";
import type { Assignment, WorkerProfile } from "../../ports/messages.ts";
import { recipientsOf, revokeFor } from "./credit-allocator.ts";
import { type Account, Credits } from "./credits.ts";
import { Demands } from "./demands.ts";

const PROFILE: WorkerProfile = {
  ...{ workerId: "w", name: "w", pool: "default", handlers: ["echo"], capabilities: [] },
  ...{ slots: 0, prefetch: 0 },
};
const SHARDS = 64;
/** Interval in ms at which a gateway asks for unused credit again. */
const REVOKE_EVERY_MS = 50;

/** Work of one tenant at some owners. */
export interface Act {
  tenant: string;
  /** Run time of the next attempt in ms. */
  runMs: () => number;
  /** Numbers of the owners that have the work. */
  at: readonly number[];
  /** Time in ms until the next submit, each at one of the owners in turn; left out: every owner always has work. */
  everyMs?: () => number;
}

interface Owner {
  readonly name: string;
  readonly story: Story;
  readonly account: Account;
  /** READY executions by tenant. */
  readonly ready: Map<string, number>;
}

interface Use {
  act: Act;
  slotMs: number;
  waits: number[];
  submits: number;
}

/** Owners that share the slots of one worker, in simulated time: real machines and the real allocation of credits. */
export class FairOwners {
  readonly #owners: Owner[] = [];
  readonly #credits = new Credits();
  readonly #demands = new Demands();
  readonly #events = new Heap<() => void>();
  readonly #uses = new Map<string, Use>();
  readonly #submittedAt = new Map<string, number>();
  readonly #slots: number;
  #now = START;
  #running = 0;
  #number = 0;
  #revokesAt = 0;

  constructor(
    owners: number,
    slots: number,
    acts: readonly Act[],
    weights: Record<string, number> = {},
    pool: Partial<Pool> = {},
  ) {
    this.#slots = slots;
    for (let n = 0; n < owners; n++) {
      const name = `node-${n}`;
      const story = new Story();
      const others = Array.from({ length: SHARDS }, (_, shard) => shard).filter((shard) => shard % owners !== n);
      story.tell({ kind: "LOST", shards: others }, { kind: "WEIGHTS", weights: new Map(Object.entries(weights)) });
      story.tell({ kind: "POOLS", pools: [{ ...defaultPool("default"), ...pool }] });
      this.#credits.open(name, n + 1);
      story.up({ ...PROFILE, slots }, [], { account: n + 1 });
      const account = this.#credits.account(name);
      if (account !== undefined) this.#owners.push({ name, story, account, ready: new Map() });
    }
    for (const act of acts) {
      this.#uses.set(act.tenant, { act, slotMs: 0, waits: [], submits: 0 });
      if (act.everyMs !== undefined) this.#arrive(act, act.everyMs);
    }
    this.#tick();
  }

  run(ms: number): this {
    const until = this.#now + ms;
    this.#settle();
    for (let next = this.#events.peek(); next !== undefined && next.key <= until; next = this.#events.peek()) {
      this.#events.pop();
      this.#now = next.key;
      for (const { story } of this.#owners) story.now = this.#now;
      next.item();
      this.#settle();
    }
    return this;
  }

  /** Forgets what was measured so far. */
  measure(): this {
    for (const use of this.#uses.values()) Object.assign(use, { slotMs: 0, waits: [] });
    return this;
  }

  partOf(tenant: string): number {
    let all = 0;
    for (const { slotMs } of this.#uses.values()) all += slotMs;
    return (this.#uses.get(tenant)?.slotMs ?? 0) / all;
  }

  waitOf(tenant: string, part: number): number {
    const waits = (this.#uses.get(tenant)?.waits ?? []).toSorted((a, b) => a - b);
    return waits[Math.floor(part * waits.length)] ?? Number.NaN;
  }

  #at(at: number, event: () => void): void {
    this.#events.push(at, String(++this.#number).padStart(9, "0"), event);
  }

  /** Tells demand, shares and credits again, once a second. */
  #tick(): void {
    for (const { name, story } of this.#owners) {
      const shares = story.state.shares.report(this.#now);
      for (const other of this.#owners) {
        if (other.name !== name && shares !== null) other.story.tell({ kind: "SHARES", from: name, shares });
      }
      this.#demands.record(name, currentDemand(story), this.#now);
      this.#grant(name, true);
    }
    this.#at(this.#now + 1_000, () => this.#tick());
  }

  #arrive(act: Act, everyMs: () => number): void {
    this.#at(this.#now + Math.round(everyMs()), () => {
      const use = this.#uses.get(act.tenant);
      if (use !== undefined) this.#submit(act, act.at[use.submits++ % act.at.length] ?? 0, 1);
      this.#arrive(act, everyMs);
    });
  }

  #submit({ tenant }: Act, at: number, count: number): void {
    const owner = this.#owners[at];
    if (owner === undefined) return;
    const rows = Array.from({ length: count }, () => {
      const id = `${tenant}-${String(++this.#number).padStart(9, "0")}`;
      this.#submittedAt.set(id, this.#now);
      return candidate({ id, tenant, shard: at, dueAt: this.#now, queue: "READY" });
    });
    owner.ready.set(tenant, (owner.ready.get(tenant) ?? 0) + count);
    owner.story.hint(...rows);
  }

  /** Lets owners and the gateway react to each other until nothing changes. */
  #settle(): void {
    for (const { act } of this.#uses.values()) {
      for (const at of act.everyMs === undefined ? act.at : []) {
        if ((this.#owners[at]?.ready.get(act.tenant) ?? 0) <= this.#slots) this.#submit(act, at, 2 * this.#slots);
      }
    }
    for (let isBusy = true; isBusy; ) {
      isBusy = false;
      for (const owner of this.#owners) isBusy = this.#take(owner) || isBusy;
      isBusy = this.#lend() || isBusy;
    }
  }

  /** Takes what an owner says. @returns whether it said anything */
  #take({ name, story, account, ready }: Owner): boolean {
    const { assigns, toGateway } = story.commit();
    const told = story.told.splice(0);
    for (const demand of told) this.#demands.record(name, demand, this.#now);
    for (const assign of assigns) {
      account.use(assign.credit);
      account.usedAtMs = this.#now;
      ready.set(tenantOf(assign), (ready.get(tenantOf(assign)) ?? 0) - 1);
      this.#start(story, assign);
    }
    for (const { message } of toGateway) {
      if (message.kind !== "VOID") continue;
      for (const credit of message.credits) account.use(credit);
      account.usedAtMs = this.#now;
      account.decline(this.#now);
    }
    return assigns.length + toGateway.length + told.length > 0;
  }

  #start(story: Story, assign: Assignment): void {
    const use = this.#uses.get(tenantOf(assign));
    if (use === undefined) return;
    const startedAt = this.#now;
    this.#running++;
    use.waits.push(startedAt - (this.#submittedAt.get(assign.executionId) ?? START));
    const runMs = Math.ceil(use.act.runMs());
    this.#at(startedAt + runMs, () => {
      this.#running--;
      use.slotMs += runMs;
      story.tell(story.finished(assign, { startedAt }));
    });
  }

  /** Allocates free slots, and asks for unused credit. @returns whether owners were told anything */
  #lend(): boolean {
    const names = this.#owners.map(({ name }) => name);
    const claims = this.#demands.of("default");
    let isTold = this.#credits.allocate(
      recipientsOf(this.#credits, names, claims, this.#now),
      this.#slots - this.#running,
      this.#now,
    );
    for (const name of names) this.#grant(name, false);
    const isPending = revokeFor(this.#credits, claims, this.#now, (name, account) => {
      isTold = true;
      const story = this.#owners.find((owner) => owner.name === name)?.story;
      const workers = [{ workerId: "w", account: account.number }];
      story?.gateway({ kind: "RECALL", term: story.state.term, workers });
    });
    if (isPending && this.#revokesAt <= this.#now) {
      this.#revokesAt = this.#now + REVOKE_EVERY_MS;
      this.#at(this.#revokesAt, () => undefined);
    }
    return isTold;
  }

  #grant(name: string, isRepeated: boolean): void {
    const owner = this.#owners.find((one) => one.name === name);
    if (owner === undefined || (owner.account.told === owner.account.granted && !isRepeated)) return;
    const { granted, number } = owner.account;
    owner.account.told = granted;
    const credits = [{ workerId: "w", account: number, granted, highest: 0, missing: [] }];
    const message = { kind: "CREDITS", term: owner.story.state.term, roll: false, credits } as const;
    owner.story.tell({ kind: "GATEWAY", from: GATEWAY, message });
  }
}

function tenantOf({ executionId }: Assignment): string {
  return executionId.slice(0, executionId.lastIndexOf("-"));
}
