import type { RankCursor } from "../../domain/execution.ts";
import { type Candidate, isRun } from "../../domain/execution.ts";
import type { EpochMs } from "../../domain/ids.ts";
import { laneHash, laneName } from "../../domain/lane.ts";
import type { Entry } from "../entry.ts";
import { type Contender, newContender, refreshContender } from "../fair/contender.ts";
import type { Shares } from "../fair/shares.ts";
import { Heap, type HeapNode } from "../heap.ts";
import type { Group } from "../workers/workers.ts";
import { type Gate, type Gates, isOpen } from "./gates.ts";

/** A queue of READY executions with the same pool, handler, requirements and concurrency key, ordered by rank. */
export interface Lane {
  name: string;
  tenant: string;
  hash: number;
  gate: Gate | null;
  work: WorkClass;
  contender: Contender;
  ready: Heap<Entry>;
  /** Position among the lanes of its contender; null: the lane is empty, its gate is closed, or its tenant is suspended. */
  node: HeapNode<Lane> | null;
  /** Whether the store has READY rows of this lane behind `tail`. Set by `Lanes.know`. */
  moreInStore: boolean;
  /** Position up to which all READY rows of the store are in memory; null: no rows are known to be. */
  tail: RankCursor | null;
  /** Whether a hint was rejected during a read of the lane, which may have begun too early to show the hinted row. */
  missedWhileReading: boolean;
  /** Number of the batch that last wrote an execution back to the store because the lane was full; -1: none. */
  overflowBatch: number;
  /**
   * Number of executions that a worker has although their rows still say READY, so that a read from the start returns
   * them.
   */
  assignedReady: number;
  /** Time of the last sweep of the lane; -Infinity: the lane has missed something, so the next sweep must read it. */
  sweptAt: EpochMs;
}

/** Work that the same workers can run: one pool, one handler, one set of requirements; or workflow runs of one pool. */
export interface WorkClass {
  /** Whether the class is of workflow runs, which no worker runs. */
  isOfRuns: boolean;
  pool: string;
  handler: string;
  requires: readonly string[];
  /** Tenants with executions that may run, in fair order. */
  contenders: Heap<Contender>;
  /** All tenants with lanes; "": the contender of all tenants in a class of workflow runs. */
  byTenant: Map<string, Contender>;
  /** Groups of workers that can run this work. */
  groups: Group[];
  laneCount: number;
}

export class Lanes {
  readonly #lanes = new Map<string, Lane>();
  readonly #byHash = new Map<number, Set<Lane>>();
  /** Lanes of which the store has further READY rows, and that have lost executions since `refill` saw that they had enough. */
  readonly #low = new Set<Lane>();
  /** Number of lanes of each tenant. */
  readonly #tenants = new Map<string, number>();
  readonly #classes = new Map<string, Map<string, WorkClass>>();
  readonly #ofRuns = new Set<WorkClass>();
  /**
   * Pools with work that some group of workers can run, in the order in which the pools appeared; null: not computed.
   */
  #served: Set<string> | null = null;
  readonly #gates: Gates;
  readonly #shares: Shares;
  #stopped: ReadonlySet<string> = new Set();

  constructor(gates: Gates, shares: Shares) {
    this.#gates = gates;
    this.#shares = shares;
  }

  /** Updates each class's groups of workers, after a group appeared or disappeared. */
  regroup(groupsFor: (work: WorkClass) => Group[]): void {
    this.#served = null;
    for (const classes of this.#classes.values()) for (const work of classes.values()) work.groups = groupsFor(work);
  }

  /** Adjusts the times of sweeps after the store's clock was set. */
  leap(byMs: number): void {
    for (const lane of this.#lanes.values()) lane.sweptAt += byMs;
  }

  /** The lane of an execution, created if it does not exist. */
  of(row: Candidate, groupsFor: (work: WorkClass) => Group[]): Lane {
    const gate = this.#gates.of(row);
    if (gate?.changed) {
      gate.changed = false;
      this.refreshGate(gate);
    }
    const name = nameOf(row);
    const known = this.#lanes.get(name);
    if (known !== undefined) return known;
    const work = this.#classOf(row, groupsFor);
    const lane: Lane = {
      name,
      tenant: row.tenant,
      hash: laneHash(row),
      gate,
      work,
      contender: this.#contenderOf(work, row.tenant),
      ready: new Heap(),
      node: null,
      moreInStore: false,
      tail: null,
      missedWhileReading: false,
      overflowBatch: -1,
      assignedReady: 0,
      sweptAt: Number.NEGATIVE_INFINITY,
    };
    work.laneCount++;
    gate?.lanes.add(lane);
    this.#lanes.set(name, lane);
    this.#tenants.set(lane.tenant, (this.#tenants.get(lane.tenant) ?? 0) + 1);
    const sameHash = this.#byHash.get(lane.hash);
    if (sameHash === undefined) this.#byHash.set(lane.hash, new Set([lane]));
    else sameHash.add(lane);
    return lane;
  }

  /** The existing lane of an execution; null: there is none. */
  find(row: Candidate): Lane | null {
    return this.#lanes.get(nameOf(row)) ?? null;
  }

  #classOf(row: Candidate, groupsFor: (work: WorkClass) => Group[]): WorkClass {
    const known = this.#classes.get(row.pool);
    const classes = known ?? new Map<string, WorkClass>();
    if (known === undefined) this.#classes.set(row.pool, classes);
    const name = className({ ...row, isOfRuns: isRun(row) });
    let work = classes.get(name);
    if (work === undefined) {
      work = {
        isOfRuns: isRun(row),
        pool: row.pool,
        handler: row.handler,
        requires: row.requires,
        contenders: new Heap(),
        byTenant: new Map(),
        groups: [],
        laneCount: 0,
      };
      work.groups = groupsFor(work);
      if (work.groups.length > 0) this.#serve(row.pool, known === undefined);
      classes.set(name, work);
      if (work.isOfRuns) this.#ofRuns.add(work);
    }
    return work;
  }

  /** The tenant's contender in the class, which has a lane more from now on. */
  #contenderOf(work: WorkClass, tenant: string): Contender {
    const share = work.isOfRuns ? null : this.#shares.join(work.pool, tenant);
    const name = share === null ? "" : tenant;
    let contender = work.byTenant.get(name);
    if (contender === undefined) {
      contender = newContender(work, share);
      work.byTenant.set(name, contender);
    }
    contender.laneCount++;
    return contender;
  }

  /** Notes that workers can run a new class of the pool. A pool that appears now is the last of all pools. */
  #serve(pool: string, isNew: boolean): void {
    if (this.#served === null || this.#served.has(pool)) return;
    if (isNew) this.#served.add(pool);
    else this.#served = null;
  }

  /** Lanes whose names have this hash. The store knows lanes only by their hashes. */
  withHash(hash: number): Iterable<Lane> {
    return this.#byHash.get(hash) ?? [];
  }

  knowsHash(hash: number): boolean {
    return this.#byHash.has(hash);
  }

  all(): IterableIterator<Lane> {
    return this.#lanes.values();
  }

  /**
   * Pools with work that some workers can run. The cost does not grow with the pools that have only work without
   * workers.
   */
  served(): ReadonlySet<string> {
    if (this.#served !== null) return this.#served;
    const served = new Set<string>();
    for (const [pool, classes] of this.#classes) if (isServed(classes)) served.add(pool);
    this.#served = served;
    return served;
  }

  /** Number of pools that have lanes. */
  get pools(): number {
    return this.#classes.size;
  }

  classes(pool: string): IterableIterator<WorkClass> {
    return this.#classes.get(pool)?.values() ?? [][Symbol.iterator]();
  }

  /** Classes of workflow runs, which have lanes with runs that wait. */
  ofRuns(): ReadonlySet<WorkClass> {
    return this.#ofRuns;
  }

  /** Lanes that may need further READY rows of the store. */
  low(): ReadonlySet<Lane> {
    return this.#low;
  }

  /** Notes that the lane has enough executions until it loses some. */
  hasEnough(lane: Lane): void {
    this.#low.delete(lane);
  }

  /** Number of lanes. */
  get size(): number {
    return this.#lanes.size;
  }

  /** Number of lanes of each tenant that has any. */
  get tenants(): ReadonlyMap<string, number> {
    return this.#tenants;
  }

  /** Records how much of the lane is in memory: all rows up to `tail`, or all rows of the store. */
  know(lane: Lane, upTo: { tail: RankCursor | null } | "ALL"): void {
    lane.moreInStore = upTo !== "ALL";
    lane.tail = upTo === "ALL" ? null : upTo.tail;
    if (lane.moreInStore) this.#low.add(lane);
    else this.#low.delete(lane);
  }

  add(entry: Entry, lane: Lane): void {
    entry.lane = lane;
    entry.place = "LANE";
    entry.laneNode = lane.ready.push(entry.row.rank, entry.id, entry);
    this.refresh(lane);
  }

  remove(entry: Entry): void {
    const { lane } = entry;
    if (lane === null || entry.laneNode === null) return;
    lane.ready.remove(entry.laneNode);
    entry.laneNode = null;
    if (lane.moreInStore) this.#low.add(lane);
    this.refresh(lane);
  }

  /**
   * Moves the lane to the position of its first execution, or removes it from its contender if it is empty, its gate is
   * closed, or its tenant is suspended.
   */
  refresh(lane: Lane): void {
    const head = lane.ready.peek();
    const { lanes } = lane.contender;
    if (head === undefined || !isOpen(lane.gate) || this.#stopped.has(lane.tenant)) {
      if (lane.node !== null) lanes.remove(lane.node);
      lane.node = null;
    } else if (lane.node === null) {
      lane.node = lanes.push(head.key, head.tie, lane);
    } else if (lane.node.key !== head.key || lane.node.tie !== head.tie) {
      lanes.rekey(lane.node, head.key, head.tie);
    }
    refreshContender(lane.contender);
  }

  refreshGate(gate: Gate): void {
    for (const lane of gate.lanes) this.refresh(lane);
  }

  /** Sets the tenants of which nothing is assigned. */
  stop(tenants: ReadonlySet<string>): void {
    const former = this.#stopped;
    this.#stopped = tenants;
    for (const lane of this.#lanes.values())
      if (former.has(lane.tenant) !== tenants.has(lane.tenant)) this.refresh(lane);
  }

  /** Whether nothing of the tenant is assigned. */
  isStopped(tenant: string): boolean {
    return this.#stopped.has(tenant);
  }

  /** Removes a lane that has no executions in memory and none in the store. */
  prune(lane: Lane): void {
    if (lane.gate !== null) this.#gates.prune(lane.gate);
    if (lane.ready.size > 0 || lane.moreInStore || lane.assignedReady > 0) return;
    // A later lane may have the name of one that was forgotten while an attempt still referred to it.
    if (this.#lanes.get(lane.name) !== lane) return;
    this.#lanes.delete(lane.name);
    this.#leaveTenant(lane.tenant);
    this.#leaveContender(lane.contender);
    lane.work.laneCount--;
    if (lane.work.laneCount === 0) this.#forgetClass(lane.work);
    const sameHash = this.#byHash.get(lane.hash);
    sameHash?.delete(lane);
    if (sameHash?.size === 0) this.#byHash.delete(lane.hash);
    if (lane.gate !== null) {
      lane.gate.lanes.delete(lane);
      this.#gates.prune(lane.gate);
    }
  }

  #leaveTenant(tenant: string): void {
    const left = (this.#tenants.get(tenant) ?? 1) - 1;
    if (left === 0) this.#tenants.delete(tenant);
    else this.#tenants.set(tenant, left);
  }

  #leaveContender(contender: Contender): void {
    const { share, work } = contender;
    contender.laneCount--;
    if (contender.laneCount === 0) work.byTenant.delete(share?.tenant ?? "");
    if (share !== null) this.#shares.leave(share);
  }

  /** Removes a class without lanes, and its pool with the last class, because jobs may name new pools forever. */
  #forgetClass(work: WorkClass): void {
    const classes = this.#classes.get(work.pool);
    classes?.delete(className(work));
    this.#ofRuns.delete(work);
    if (classes?.size !== 0) return;
    this.#classes.delete(work.pool);
    this.#served?.delete(work.pool);
  }
}

function isServed(classes: ReadonlyMap<string, WorkClass>): boolean {
  for (const { groups } of classes.values()) if (groups.length > 0) return true;
  return false;
}

function className({ handler, requires, isOfRuns }: Pick<WorkClass, "handler" | "requires" | "isOfRuns">): string {
  return JSON.stringify(isOfRuns ? [] : [handler, requires]);
}

/** Jobs may have the handler of workflow runs, and share no lane with them. */
function nameOf(row: Candidate): string {
  return isRun(row) ? `runs ${laneName(row)}` : laneName(row);
}
