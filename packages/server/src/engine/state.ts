import type { Changeover } from "../domain/changeover.ts";
import { type Flow, flowName } from "../domain/flow.ts";
import type { Epoch, EpochMs, ExecutionId, Incarnation, ShardId, WorkerId } from "../domain/ids.ts";
import type { LostAttempts } from "../domain/lost-attempts.ts";
import { defaultPool, type Pool } from "../domain/pool.ts";
import type { Demand } from "../ports/share-messages.ts";
import type { CancelCommand, JobCommand, SignalCommand } from "../ports/store-commands.ts";
import type { Batch } from "./batch.ts";
import type { Entry } from "./entry.ts";
import { Shares } from "./fair/shares.ts";
import { FlowHeap, type FlowNode } from "./flow-heap.ts";
import { Heap } from "./heap.ts";
import type { Limits, Want } from "./inputs.ts";
import { Permits } from "./permits/permits.ts";
import { Gates } from "./queue/gates.ts";
import { Lanes, type WorkClass } from "./queue/lanes.ts";
import { UnpersistedAttempts } from "./queue/unpersisted-attempts.ts";
import { RecentWrites } from "./recent-writes.ts";
import { Plans } from "./recurring/plans.ts";
import { Runs } from "./runs/runs.ts";
import type { Search } from "./workers/search.ts";
import type { Stranded } from "./workers/take-back.ts";
import { type WorkerSlots, Workers } from "./workers/workers.ts";

/** All that the owner of some shards knows. Only `step` changes it. */
export interface MachineState {
  readonly limits: Limits;
  /** Whether batches get lifecycle events. */
  events: boolean;
  /** Whether the servers export spans of executions and attempts. */
  exportsSpans: boolean;
  /** Events in the inbox that batches take out of it, with the numbers of the batches, until these are answered. */
  readonly inbox: Map<string, number>;
  incarnation: Incarnation;
  /**
   * Grows whenever this machine takes over shards. Questions and messages of an earlier term do not cover all shards
   * that the machine owns now.
   */
  term: number;
  /** The term in which this machine started with an empty memory. */
  life: number;
  /** The term in which each shard was taken over. */
  readonly terms: Map<ShardId, number>;
  readonly epochs: Map<ShardId, Epoch>;
  /** Attempts that the store gave out in a state that it has lost; null: none. A further loss ends the takeovers of this machine. */
  lostAttempts: LostAttempts | null;
  /** Number of the last journal row of each shard. */
  readonly journalSeqs: Map<ShardId, number>;
  readonly entries: Map<ExecutionId, Entry>;
  readonly gates: Gates;
  readonly shares: Shares;
  readonly lanes: Lanes;
  readonly workers: Workers;
  /** Gateways that are alive, including gateways that this owner cannot reach. */
  gateways: ReadonlySet<Incarnation>;
  /** Executions that wait for their due time, by flow. */
  readonly waiting: FlowHeap<Entry>;
  /** Executions by their expiry, deadline or end of a grace time. */
  readonly timers: Heap<Entry>;
  /** Attempts that are known to have started and whose executions have no own row yet. */
  readonly unpersisted: UnpersistedAttempts;
  readonly pools: Map<string, Pool>;
  readonly recentWrites: RecentWrites;
  /** Time at which the last message of each gateway arrived. */
  readonly heard: Map<Incarnation, EpochMs>;
  /** Searches for workers that hold attempts and that no gateway has reported yet, by worker. */
  readonly adopting: Map<WorkerId, Search>;
  /** Attempts that are not known to have started. */
  readonly unstarted: Set<Entry>;
  /** Attempts that wait at full workers while other workers have free slots without credit for this owner. */
  readonly stranded: Map<WorkClass, Stranded>;
  /** Workers for which this step received credit while attempts are stranded. */
  readonly credited: Set<WorkerSlots>;
  /** Hashes of lanes for which a read of the store is under way. */
  readonly reading: Set<number>;
  /** Position among the lanes at which the next sweep begins. */
  sweepFrom: number;
  /** Commands about one execution that wait for its row, which is being read, by execution. */
  readonly loading: Map<ExecutionId, (CancelCommand | SignalCommand)[]>;
  /** Job commands that wait until the rows of all their executions have been read, by command id. */
  readonly jobCommands: Map<string, JobCommand>;
  /** Ids of commands that the machine has received and not completed. A repeated command changes nothing. */
  readonly openCommands: Set<string>;
  readonly plans: Plans;
  readonly runs: Runs;
  /** Changeovers of the time zone data, in order. Empty while a living node does not support changeovers. */
  changeovers: readonly Changeover[];
  /** Workers whose gateway asked for unused credit back, because another owner needs it. */
  readonly revoked: Set<WorkerSlots>;
  /** Demand for credit that gateways were last told, by pool. */
  toldDemand: Map<string, Demand>;
  /** Time at which gateways were last told of new demand. */
  toldDemandAt: EpochMs;
  /** Pools of workers whose unused credit this step gave back. */
  readonly givenBack: Set<string>;
  readonly permits: Permits;
  /** Time at which the machine last checked which gateways are silent. */
  judgedAt: EpochMs;
}

/** Context of one step: the state, the batch and the reads that the step adds to, and the time. */
export interface Step {
  readonly state: MachineState;
  readonly batch: Batch;
  readonly now: number;
  readonly wants: Want[];
}

export function createState(limits: Limits): MachineState {
  const gates = new Gates();
  const shares = new Shares();
  return {
    limits,
    events: false,
    exportsSpans: false,
    inbox: new Map(),
    incarnation: "",
    term: 0,
    life: 0,
    terms: new Map(),
    epochs: new Map(),
    lostAttempts: null,
    journalSeqs: new Map(),
    entries: new Map(),
    gates,
    shares,
    lanes: new Lanes(gates, shares),
    workers: new Workers(),
    gateways: new Set(),
    heard: new Map(),
    waiting: new FlowHeap(),
    timers: new Heap(),
    unpersisted: new UnpersistedAttempts(),
    pools: new Map(),
    recentWrites: new RecentWrites(),
    adopting: new Map(),
    unstarted: new Set(),
    stranded: new Map(),
    credited: new Set(),
    reading: new Set(),
    sweepFrom: 0,
    loading: new Map(),
    jobCommands: new Map(),
    openCommands: new Set(),
    plans: new Plans(),
    runs: new Runs(),
    changeovers: [],
    revoked: new Set(),
    toldDemand: new Map(),
    toldDemandAt: 0,
    givenBack: new Set(),
    permits: new Permits(),
    judgedAt: 0,
  };
}

export function poolOf(state: MachineState, name: string): Pool {
  return state.pools.get(name) ?? defaultPool(name);
}

/**
 * Whether memory has room for more executions of the flow that wait for their time: a flow may have as many as there is room for others,
 * so that no flow takes all the room.
 */
export function hasRoom({ waiting, limits }: MachineState, flow: Flow): boolean {
  return waiting.sizeOf(flowName(flow)) < limits.waiting - waiting.size;
}

export function setTimer(state: MachineState, entry: Entry, at: number): void {
  if (entry.timer === null) entry.timer = state.timers.push(at, entry.id, entry);
  else state.timers.rekey(entry.timer, at);
}

/** Sets the timer of an execution that waits for its due time. */
export function setDueTimer(state: MachineState, entry: Entry, at: number): FlowNode<Entry> {
  if (entry.dueTimer !== null) state.waiting.rekey(entry.dueTimer, at);
  return (entry.dueTimer ??= state.waiting.push(flowName(entry.row), at, entry.id, entry));
}

/** Clears all timers of the execution. */
export function clearTimer(state: MachineState, entry: Entry): void {
  if (entry.timer !== null) state.timers.remove(entry.timer);
  if (entry.dueTimer !== null) state.waiting.remove(entry.dueTimer);
  entry.timer = null;
  entry.dueTimer = null;
}
