import type { EpochMs, Incarnation, WorkerId } from "../../domain/ids.ts";
import type { PlacementStrategy } from "../../domain/pool.ts";
import { PLACEMENTS } from "../../domain/strategies/placement.ts";
import type { WorkerProfile } from "../../ports/messages.ts";
import type { Entry } from "../entry.ts";
import { Heap, type HeapNode } from "../heap.ts";
import type { WorkClass } from "../queue/lanes.ts";
import { UsedNumbers } from "./used-numbers.ts";

/** A worker as the owner sees it: what the worker can run, and how much credit the owner has there. */
export interface WorkerSlots {
  profile: WorkerProfile;
  gateway: Incarnation;
  /** Number of the worker's connection, counted over all gateways. */
  connection: number;
  /** Account under which the gateway allocates the worker's slots to this owner. */
  account: number;
  group: Group;
  /** Highest number of an assignment that the gateway allows under this account. */
  granted: number;
  /** Number of the last assignment. No number is used twice, even if its assignment is void. */
  sent: number;
  /** Time at which the gateway last introduced the worker or listed it among its credits. */
  listedAt: EpochMs;
  /** Free slots of the worker when its gateway last listed it; null: the gateway does not tell. */
  freeSlots: number | null;
  /** Number of attempts that may wait at the worker beyond its slots, when its gateway last listed it. */
  ahead: number;
  /** Slots of handlers that still run after the end of their attempts, when the gateway last listed the worker. */
  stuck: number;
  /** Time at which the worker was last asked which attempts it holds. */
  askedAt: EpochMs;
  lastAssigned: number;
  draining: boolean;
  held: Set<Entry>;
  /** Position among the free workers of the group; null: the owner has no usable credit of the worker. */
  node: HeapNode<WorkerSlots> | null;
  /** Number of the worker's unused credits that `Group.credits` contains. */
  counted: number;
  /** Number of the worker's free slots that `Group.slots` contains. */
  countedSlots: number;
}

/** Gateway that a worker is connected to, and the account that counts its slots there. */
export interface Attachment {
  gateway: Incarnation;
  connection: number;
  account: number;
}

/** Workers with the same pool, handlers and capabilities. */
export interface Group {
  name: string;
  pool: string;
  handlers: ReadonlySet<string>;
  capabilities: ReadonlySet<string>;
  members: number;
  free: Heap<WorkerSlots>;
  /** Number of unused credits of the workers in `free`. */
  credits: number;
  /** Number of these credits that are for free slots, and not for work that waits at its worker. */
  slots: number;
}

/** Added to the key of a worker without a free slot. It exceeds every load and every number of an assignment. */
const AFTER_FREE_SLOTS = 2 ** 50;

export class Workers {
  readonly #workers = new Map<WorkerId, WorkerSlots>();
  readonly #groups = new Map<string, Group>();
  readonly #usedNumbers = new UsedNumbers();
  /** Gateways that have been silent for some seconds. An assignment to one of their workers might not arrive now. */
  readonly silent = new Set<Incarnation>();
  #assignments = 0;

  get(id: WorkerId): WorkerSlots | undefined {
    return this.#workers.get(id);
  }

  get isEmpty(): boolean {
    return this.#workers.size === 0;
  }

  all(): IterableIterator<WorkerSlots> {
    return this.#workers.values();
  }

  /** Whether the owner has unused credit of any worker of the pool. */
  hasCredits(pool: string): boolean {
    for (const group of this.#groups.values()) if (group.pool === pool && group.credits > 0) return true;
    return false;
  }

  groupsFor = (work: WorkClass): Group[] =>
    work.isOfRuns ? [] : [...this.#groups.values()].filter((group) => canRun(group, work));

  /**
   * Adds a worker, or updates it after a new connection.
   * @returns the worker, and whether a group appeared or disappeared, so that work classes must look for their groups
   * again
   */
  up(profile: WorkerProfile, at: Attachment, now: EpochMs): { worker: WorkerSlots; regroup: boolean } {
    const known = this.#workers.get(profile.workerId);
    if (known !== undefined && known.group.name === groupName(profile)) {
      // The former gateway's knowledge of the worker's slots says nothing about the present gateway.
      if (known.gateway !== at.gateway) Object.assign(known, { freeSlots: null, stuck: 0 });
      Object.assign(known, this.#countOf(profile.workerId, at));
      Object.assign(known, { ...at, profile, ahead: profile.prefetch, draining: false, listedAt: now });
      return { worker: known, regroup: false };
    }
    // The attempts that the worker holds stay with it, because they belong to the worker and not to the connection.
    // The count of its credit stays as well if the account is the same.
    const held = known?.held ?? new Set<Entry>();
    const count = this.#countOf(profile.workerId, at);
    if (known !== undefined) this.remove(profile.workerId);
    const { group, isNew } = this.#join(profile);
    const worker: WorkerSlots = {
      ...at,
      ...count,
      profile,
      group,
      listedAt: now,
      freeSlots: null,
      ahead: profile.prefetch,
      stuck: 0,
      askedAt: now,
      lastAssigned: 0,
      draining: false,
      held,
      node: null,
      counted: 0,
      countedSlots: 0,
    };
    this.#workers.set(profile.workerId, worker);
    return { worker, regroup: isNew || known !== undefined };
  }

  /** Numbers used so far under the worker's present account. The numbers of the former account are remembered. */
  #countOf(id: WorkerId, at: Attachment): Pick<WorkerSlots, "granted" | "sent"> {
    const known = this.#workers.get(id);
    if (known?.gateway === at.gateway && known.account === at.account) {
      const { granted, sent } = known;
      return { granted, sent };
    }
    if (known !== undefined) this.#usedNumbers.remember(known);
    const sent = this.#usedNumbers.lastOf(id, at);
    return { granted: sent, sent };
  }

  /**
   * Removes a worker. Its gateway may still have the worker, under the same account.
   * @returns whether its group was removed as well
   */
  remove(id: WorkerId): boolean {
    const worker = this.#workers.get(id);
    if (worker === undefined) return false;
    this.#usedNumbers.remember(worker);
    this.#workers.delete(id);
    leaveFree(worker);
    worker.group.members--;
    if (worker.group.members > 0) return false;
    this.#groups.delete(worker.group.name);
    return true;
  }

  #join(profile: WorkerProfile): { group: Group; isNew: boolean } {
    const name = groupName(profile);
    let group = this.#groups.get(name);
    const isNew = group === undefined;
    if (group === undefined) {
      group = {
        name,
        pool: profile.pool,
        handlers: new Set(profile.handlers),
        capabilities: new Set(profile.capabilities),
        members: 0,
        free: new Heap(),
        credits: 0,
        slots: 0,
      };
      this.#groups.set(name, group);
    }
    group.members++;
    return { group, isNew };
  }

  /** Uses one credit. @returns the number of the assignment */
  take(worker: WorkerSlots, strategy: PlacementStrategy): number {
    worker.sent++;
    worker.lastAssigned = ++this.#assignments;
    this.refresh(worker, strategy);
    return worker.sent;
  }

  /** Updates the worker's position among the free workers of its group. */
  refresh(worker: WorkerSlots, strategy: PlacementStrategy): void {
    const { group, profile } = worker;
    const free = worker.granted - worker.sent;
    if (free <= 0 || worker.draining || this.silent.has(worker.gateway)) return leaveFree(worker);
    group.credits += free - worker.counted;
    worker.counted = free;
    const slots = Math.max(0, free - worker.ahead);
    group.slots += slots - worker.countedSlots;
    worker.countedSlots = slots;
    const held = Math.max(0, profile.slots + worker.ahead - free);
    const load = PLACEMENTS[strategy]({ slots: profile.slots, held, lastAssigned: worker.lastAssigned });
    // Work goes ahead to a worker with automatic prefetch only if no worker of the group has a free slot.
    const isAhead = profile.autoPrefetch === true && held >= profile.slots;
    const key = isAhead ? load + AFTER_FREE_SLOTS : load;
    if (worker.node === null) worker.node = group.free.push(key, profile.workerId, worker);
    else group.free.rekey(worker.node, key);
  }
}

/** Removes a worker from the free workers of its group. */
function leaveFree(worker: WorkerSlots): void {
  const { group, node } = worker;
  if (node !== null) group.free.remove(node);
  worker.node = null;
  group.credits -= worker.counted;
  worker.counted = 0;
  group.slots -= worker.countedSlots;
  worker.countedSlots = 0;
}

/** Number of unused credits that workers have for this work. */
export function creditsFor(work: WorkClass): number {
  let credits = 0;
  for (const group of work.groups) credits += group.credits;
  return credits;
}

/** The free worker that the pool's strategy prefers for this work, if there is one. */
export function pickWorker(work: WorkClass): WorkerSlots | null {
  let best: HeapNode<WorkerSlots> | undefined;
  for (const group of work.groups) {
    const head = group.free.peek();
    if (head !== undefined && (best === undefined || head.key < best.key)) best = head;
  }
  return best?.item ?? null;
}

function canRun(group: Group, work: WorkClass): boolean {
  return (
    group.pool === work.pool &&
    group.handlers.has(work.handler) &&
    work.requires.every((capability) => group.capabilities.has(capability))
  );
}

function groupName(profile: WorkerProfile): string {
  return JSON.stringify([profile.pool, [...profile.handlers].sort(), [...profile.capabilities].sort()]);
}
