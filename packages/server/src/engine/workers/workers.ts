import type { EpochMs, Incarnation, WorkerId } from "../../domain/ids.ts";
import type { PlacementStrategy } from "../../domain/pool.ts";
import { PLACEMENTS } from "../../domain/strategies/placement.ts";
import type { WorkerProfile } from "../../ports/messages.ts";
import type { Entry } from "../entry.ts";
import { Heap, type HeapNode } from "../heap.ts";
import type { WorkClass } from "../queue/lanes.ts";
import { UsedNumbers } from "./used-numbers.ts";

/** A worker as the owner sees it: what it can run, and how much of it was lent. */
export interface WorkerSlots {
  profile: WorkerProfile;
  gateway: Incarnation;
  /** The how-manieth connection of the worker it is. */
  connection: number;
  /** Account under which the worker's gateway lends its slots. */
  account: number;
  group: Group;
  /** Assignments that its gateway allows under this account in all. */
  granted: number;
  /** The number of the last assignment; never used twice, also where one is void. */
  sent: number;
  /** When its gateway last introduced it or listed it among its credits. */
  listedAt: EpochMs;
  /** Slots that nothing occupied when its gateway last listed it; null: the gateway does not say. */
  freeSlots: number | null;
  /** Slots of handlers that still run although their attempts are over, as of then. */
  stuck: number;
  /** When it was last asked what it holds. */
  askedAt: EpochMs;
  lastAssigned: number;
  draining: boolean;
  holding: Set<Entry>;
  /** Its place among the free workers of its group; null: no credit. */
  node: HeapNode<WorkerSlots> | null;
}

/** Where a worker is connected, and how its slots are counted there. */
export interface Attachment {
  gateway: Incarnation;
  connection: number;
  account: number;
}

/** Workers that can run exactly the same. */
export interface Group {
  name: string;
  pool: string;
  handlers: ReadonlySet<string>;
  capabilities: ReadonlySet<string>;
  members: number;
  free: Heap<WorkerSlots>;
}

export class Workers {
  readonly #workers = new Map<WorkerId, WorkerSlots>();
  readonly #groups = new Map<string, Group>();
  readonly #usedNumbers = new UsedNumbers();
  /** Gateways that have not been heard for some seconds: what is given to their workers now may not arrive. */
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

  groupsFor = (work: WorkClass): Group[] => [...this.#groups.values()].filter((group) => canRun(group, work));

  /** @returns whether a group came or went, so that classes must look again */
  up(profile: WorkerProfile, at: Attachment, now: EpochMs): { worker: WorkerSlots; regroup: boolean } {
    const known = this.#workers.get(profile.workerId);
    if (known !== undefined && known.group.name === groupName(profile)) {
      Object.assign(known, this.#countOf(profile.workerId, at));
      Object.assign(known, { ...at, profile, draining: false, listedAt: now });
      return { worker: known, regroup: false };
    }
    // Its holdings stay where they are: they follow the worker, not the connection.
    const holding = known?.holding ?? new Set<Entry>();
    // So does the count of its credit, as long as the account is the same.
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
      stuck: 0,
      askedAt: now,
      lastAssigned: 0,
      draining: false,
      holding,
      node: null,
    };
    this.#workers.set(profile.workerId, worker);
    return { worker, regroup: isNew || known !== undefined };
  }

  /** How far was counted where it is now; where it was before is remembered. */
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

  /** Its gateway may still have it, under the same account. @returns whether its group went with it */
  remove(id: WorkerId): boolean {
    const worker = this.#workers.get(id);
    if (worker === undefined) return false;
    this.#usedNumbers.remember(worker);
    this.#workers.delete(id);
    if (worker.node !== null) worker.group.free.remove(worker.node);
    worker.node = null;
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
      };
      this.#groups.set(name, group);
    }
    group.members++;
    return { group, isNew };
  }

  /** Takes one credit; the answer is the number of the assignment. */
  take(worker: WorkerSlots, strategy: PlacementStrategy): number {
    worker.sent++;
    worker.lastAssigned = ++this.#assignments;
    this.refresh(worker, strategy);
    return worker.sent;
  }

  /** Keeps the worker's place among the free ones true. */
  refresh(worker: WorkerSlots, strategy: PlacementStrategy): void {
    const { group, profile } = worker;
    const free = worker.granted - worker.sent;
    if (free <= 0 || worker.draining || this.silent.has(worker.gateway)) {
      if (worker.node !== null) group.free.remove(worker.node);
      worker.node = null;
      return;
    }
    const held = profile.slots + profile.prefetch - free;
    const key = PLACEMENTS[strategy]({ slots: profile.slots, held, lastAssigned: worker.lastAssigned });
    if (worker.node === null) worker.node = group.free.push(key, profile.workerId, worker);
    else group.free.rekey(worker.node, key);
  }
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
