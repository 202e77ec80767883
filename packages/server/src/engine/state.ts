import type { Changeover } from "../domain/changeover.ts";
import type { Epoch, EpochMs, ExecutionId, Incarnation, ShardId, WorkerId } from "../domain/ids.ts";
import { defaultPool, type Pool } from "../domain/pool.ts";
import type { CancelCommand, JobCommand } from "../ports/store.ts";
import type { Batch } from "./batch.ts";
import type { Entry } from "./entry.ts";
import { Heap } from "./heap.ts";
import type { Limits, Want } from "./inputs.ts";
import { Permits } from "./permits/permits.ts";
import { Gates } from "./queue/gates.ts";
import { Lanes } from "./queue/lanes.ts";
import { YoungAttempts } from "./queue/young.ts";
import { Plans } from "./recurring/plans.ts";
import { Touched } from "./touched.ts";
import type { Search } from "./workers/search.ts";
import { type WorkerSlots, Workers } from "./workers/workers.ts";

/** All that the owner of some shards knows. Changed by `step` alone. */
export interface MachineState {
  readonly limits: Limits;
  incarnation: Incarnation;
  /** Grows whenever shards are taken over; what was asked or said in an older one did not know of them all. */
  term: number;
  /** The term in which this machine began. */
  life: number;
  /** The term in which each shard was taken over. */
  readonly terms: Map<ShardId, number>;
  readonly epochs: Map<ShardId, Epoch>;
  readonly journalSeqs: Map<ShardId, number>;
  readonly entries: Map<ExecutionId, Entry>;
  readonly gates: Gates;
  readonly lanes: Lanes;
  readonly workers: Workers;
  /** Gateways that live, those included that this owner cannot reach. */
  gateways: ReadonlySet<Incarnation>;
  readonly timers: Heap<Entry>;
  readonly young: YoungAttempts;
  readonly pools: Map<string, Pool>;
  readonly touched: Touched;
  /** When each gateway was last heard. */
  readonly heard: Map<Incarnation, EpochMs>;
  /** Attempts whose worker is sought, by worker. */
  readonly adopting: Map<WorkerId, Search>;
  /** Attempts that were assigned a while ago and have not started. */
  readonly unstarted: Set<Entry>;
  /** Lanes, by their number in the store, that are being read. */
  readonly reading: Set<number>;
  /** Where the next sweep begins among the lanes. */
  sweepFrom: number;
  /** Commands for executions that are being read. */
  readonly loading: Map<ExecutionId, CancelCommand[]>;
  /** Commands that wait until the rows of their executions were read. */
  readonly jobCommands: Map<string, JobCommand>;
  /** Commands that were seen and are not done: repeats change nothing. */
  readonly openCommands: Set<string>;
  readonly plans: Plans;
  /** Changeovers of the time zone data, in order; empty while a living node does not know of them. */
  changeovers: readonly Changeover[];
  /** Workers whose unused credit another owner needs. */
  readonly recalled: Set<WorkerSlots>;
  /** Demand of pools for credit that gateways were told last. */
  toldDemand: Map<string, number>;
  /** Pools of workers whose unused credit went back in this step. */
  readonly givenBack: Set<string>;
  readonly permits: Permits;
  /** When the gateways' silence was last judged. */
  judgedAt: EpochMs;
}

/** One step's view: the state, what it writes to, and the time. */
export interface Step {
  readonly state: MachineState;
  readonly batch: Batch;
  readonly now: number;
  readonly wants: Want[];
}

export function createState(limits: Limits): MachineState {
  const gates = new Gates();
  return {
    limits,
    incarnation: "",
    term: 0,
    life: 0,
    terms: new Map(),
    epochs: new Map(),
    journalSeqs: new Map(),
    entries: new Map(),
    gates,
    lanes: new Lanes(gates),
    workers: new Workers(),
    gateways: new Set(),
    heard: new Map(),
    timers: new Heap(),
    young: new YoungAttempts(),
    pools: new Map(),
    touched: new Touched(),
    adopting: new Map(),
    unstarted: new Set(),
    reading: new Set(),
    sweepFrom: 0,
    loading: new Map(),
    jobCommands: new Map(),
    openCommands: new Set(),
    plans: new Plans(),
    changeovers: [],
    recalled: new Set(),
    toldDemand: new Map(),
    givenBack: new Set(),
    permits: new Permits(),
    judgedAt: 0,
  };
}

export function poolOf(state: MachineState, name: string): Pool {
  return state.pools.get(name) ?? defaultPool(name);
}

export function setTimer(state: MachineState, entry: Entry, at: number): void {
  if (entry.timer === null) entry.timer = state.timers.push(at, entry.id, entry);
  else state.timers.rekey(entry.timer, at);
}

export function clearTimer(state: MachineState, entry: Entry): void {
  if (entry.timer === null) return;
  state.timers.remove(entry.timer);
  entry.timer = null;
}
