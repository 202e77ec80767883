import type { FinalState } from "../../domain/execution.ts";
import type { EpochMs, ExecutionId, ShardId } from "../../domain/ids.ts";
import type { Compensation } from "../../domain/workflow/compensation.ts";
import type { MapCount } from "../../domain/workflow/map-counts.ts";
import type { RunProgress } from "../../domain/workflow/readiness.ts";
import type { DefinedPart } from "../../domain/workflow/spawned-parts.ts";
import type { FinishedAttempt } from "../../ports/messages.ts";
import type {
  CancelCommand,
  NodeEndedCommand,
  NodeOfCommand,
  RunCommand,
  SignalCommand,
} from "../../ports/store-commands.ts";
import type { RunMode, RunOutcome } from "../../ports/store-runs.ts";
import type { Entry } from "../entry.ts";
import { Heap, type HeapNode } from "../heap.ts";
import type { ReadRun } from "../inputs.ts";
import type { HeldKey } from "./held-keys.ts";
import type { Opening } from "./open.ts";

/** Runs in memory. Beyond it, a run that has nothing to do leaves, and comes back when one of its nodes ends. */
const RUNS_MAX = 20_000;

/** A workflow run in its owner's memory. */
export interface Run {
  readonly id: ExecutionId;
  readonly shard: ShardId;
  /** The run as it was read. `mode` and `revision` below are ahead of it. */
  read: ReadRun;
  progress: RunProgress;
  /** Number of the first node that the next handler adds. Numbers are not used again. */
  nextNode: number;
  /** Number of handlers that have added nodes, or are about to. */
  partCount: number;
  mode: RunMode;
  /** Whether the run's row says that it is paused once every batch up to now is committed. */
  paused: boolean;
  /** Nodes that must be parked, or known to be at a worker, before the run is paused; null: it is not about to be paused. */
  parking: Set<ExecutionId> | null;
  /** Number of the batch that pauses or resumes the run; null: it was answered. */
  orderedIn: number | null;
  /** Number of the batch that makes the run FAILING because of ends in it; null: there is none, or it was answered. */
  failingIn: number | null;
  /** Executions of nodes that have open signals. Executions that do not exist yet are created with a mark. */
  readonly signalled: Set<ExecutionId>;
  /** Executions of nodes with concurrency keys whose owners this owner has asked to end them. */
  readonly toldToEnd: Set<ExecutionId>;
  /** Revision in the store once every batch up to now is committed. */
  revision: number;
  /** Executions of nodes whose creating commit is not answered yet. Until then nothing else may be written of them. */
  readonly uncommitted: Set<ExecutionId>;
  /** Skips of nodes that follow from ends in a batch; null: no end has skipped a node yet. */
  skips: Skips | null;
  /** Number of the last batch with ends that the read of the run did not show; 0: there was none. */
  readonly endsIn: number;
  /** Number of the batch that writes the end of the last node; null: the run goes on. */
  overIn: number | null;
  /** Outcome of the run, whose compensation has begun; null: it has not. */
  outcome: RunOutcome | null;
  /** Compensation of the run; null: it has not begun. */
  undo: Undo | null;
  /** ASKED: the result of the run is being filled in. */
  output: "ASKED" | null;
  /** Counts of maps, as the run's row says once every batch up to now is committed. */
  mapCounts: readonly MapCount[];
  /**
   * READY maps by the number of the batch whose commit the question for their items waits for; null: the question was
   * asked.
   */
  readonly counting: Map<number, number | null>;
  /** Ends of items in a batch, by map; null: no item has ended yet. */
  itemEnds: { readonly batch: number; readonly byMap: Map<number, ExecutionId[]> } | null;
  /** Timer at the deadline; null: it has passed. */
  timer: HeapNode<Run> | null;
}

/** Compensation of a run. */
export interface Undo {
  /** Knows ends of executions that are durable. */
  readonly compensation: Compensation;
  /** Ends of executions that are not known to be durable, with the numbers of the batches that write them. */
  ends: { batch: number; node: number; succeeded: boolean }[];
}

export interface Skips {
  readonly batch: number;
  /** Ends that the batch writes and from which the skip of a node follows, by node. */
  readonly causes: Map<number, ReadonlySet<ExecutionId>>;
}

/** Command about a signal that names a node. */
export type NodeSignal = SignalCommand & { ofNode: NodeOfCommand };

/** End of a node. */
export interface NodeEnd {
  id: ExecutionId;
  run: ExecutionId;
  node: number;
  /** null: the node is no map. */
  item: number | null;
  state: FinalState;
  /** Branch that the successful attempt named; null: none. */
  branch: string | null;
  /** The end is durable already: the node ended in the shard of its concurrency key. Left out: the batch writes it. */
  isDurable?: true;
  /** Shard of the run. */
  shard: ShardId;
  /** Nodes that the handler of the successful attempt has added; left out: none. */
  part?: DefinedPart;
}

/** End of a node whose run was not in memory. */
export interface EarlyEnd extends NodeEnd {
  /** Number of the batch that writes the end. */
  batch: number;
}

/** Open workflow runs of the shards of this owner, as far as they are in memory. */
export class Runs {
  /**
   * Ends of nodes since their runs were asked for, by run. A read of a run may not show them, and is completed with them:
   * it would otherwise be repeated until none of the run's nodes ends during the read.
   */
  readonly earlyEnds = new Map<ExecutionId, EarlyEnd[]>();
  /** Number of the last batch that the store has applied. */
  committed = 0;
  /** Ends of attempts whose handlers add nodes to runs that are not in memory, by run and execution. */
  readonly unfinished = new Map<ExecutionId, Map<ExecutionId, { from: string; report: FinishedAttempt }>>();
  /** Commands about signals to nodes without an execution, by run, until the run is read. */
  readonly signals = new Map<ExecutionId, NodeSignal[]>();
  readonly byId = new Map<ExecutionId, Run>();
  /** Commands about ends of nodes with concurrency keys, by run, until the run is read. */
  readonly keyedEnds = new Map<ExecutionId, NodeEndedCommand[]>();
  /** Runs that have yet to ask for the ends of nodes with concurrency keys, because a batch had enough commands. */
  readonly untold = new Set<Run>();
  /** Runs by their deadlines. */
  readonly deadlines = new Heap<Run>();
  /** Runs to read, collected over a step. */
  readonly toLoad = new Set<ExecutionId>();
  /** Runs for which a read is under way. */
  readonly loading = new Set<ExecutionId>();
  /** Open cancel commands, by run. They are done when the run is final. */
  readonly cancels = new Map<ExecutionId, CancelCommand[]>();
  /** Open runs that are cancelled because a newer instant of their job waits for their end. The plan of the job says so. */
  readonly superseded = new Set<ExecutionId>();
  /** Runs of sub-workflows that their parents ask to end, until they are final. A next owner asks again. */
  readonly stopped = new Map<ExecutionId, { shard: ShardId; reason: string }>();
  /** Runs of `stopped` that have yet to be told. */
  readonly toStop = new Set<ExecutionId>();
  /** Open commands that pause and resume, by run, in the order of the inbox. */
  readonly orders = new Map<ExecutionId, RunCommand[]>();
  /** Runs whose `orderedIn` is not answered. */
  readonly ordered = new Set<Run>();
  /** Runs whose `failingIn` is not answered. */
  readonly failing = new Set<Run>();
  /** Nodes that are read because their run was paused or resumed. */
  readonly fetching = new Map<ExecutionId, { run: ExecutionId; shard: ShardId }>();
  /** Nodes that are read because their run asks for their end. */
  readonly ending = new Map<ExecutionId, { run: ExecutionId; shard: ShardId }>();
  /** Ends of nodes in this step whose consequences are not drawn yet. */
  readonly ended: NodeEnd[] = [];
  /** Runs whose last node has ended, and whose own row is not final yet. */
  readonly over = new Set<Run>();
  /** Runs with ends of compensations that are not known to be durable. */
  readonly undoing = new Set<Run>();
  /** Runs with maps whose question for their items waits for a commit. */
  readonly toCount = new Set<Run>();
  /** Runs that were chosen to be opened, in this order. */
  readonly openings = new Map<ExecutionId, Opening>();
  /** Nodes that are assigned in the commit that creates them, until it is answered. */
  readonly unborn = new Map<ExecutionId, Entry>();
  /** Places of concurrency keys that runs hold: runs that are open, in memory or not, and runs that are to be opened. */
  readonly heldKeys = new Map<ExecutionId, HeldKey>();

  /** Asks the run of a sub-workflow to end. `advanceRuns` tells it. */
  stop(id: ExecutionId, shard: ShardId, reason: string): void {
    if (this.stopped.has(id)) return;
    this.stopped.set(id, { shard, reason });
    this.toStop.add(id);
  }

  /** Asks for a run that is not in memory. */
  expect(run: ExecutionId): void {
    if (!this.byId.has(run)) this.toLoad.add(run);
  }

  add(run: Run): void {
    this.byId.set(run.id, run);
    run.timer = this.deadlines.push(run.read.row.dueAt, run.id, run);
    if (this.byId.size <= RUNS_MAX) return;
    for (const other of this.byId.values()) {
      if (other.uncommitted.size > 0 || other.overIn !== null || other.failingIn !== null) continue;
      if (this.undoing.has(other) || this.orders.has(other.id) || other.counting.size > 0) continue;
      this.drop(other);
      return;
    }
  }

  /** Removes a run from memory. Only its rows in the store count from then on. */
  drop(run: Run): void {
    if (run.timer !== null) this.deadlines.remove(run.timer);
    run.timer = null;
    this.byId.delete(run.id);
    this.over.delete(run);
    this.undoing.delete(run);
    this.ordered.delete(run);
    this.failing.delete(run);
    this.toCount.delete(run);
  }

  /** Next run whose deadline has passed, without its timer; null: there is none. */
  takeExpired(now: EpochMs): Run | null {
    const node = this.deadlines.peek();
    if (node === undefined || node.key > now) return null;
    this.deadlines.remove(node);
    node.item.timer = null;
    return node.item;
  }
}
