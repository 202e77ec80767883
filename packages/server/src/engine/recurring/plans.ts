import type { EpochMs, ExecutionId, JobId, ShardId } from "../../domain/ids.ts";
import type { Plan } from "../../domain/recurrence.ts";
import type { Schedule } from "../../domain/schedule/schedule.ts";
import type { PlanCommand } from "../../ports/store.ts";
import type { Recurrence } from "../../ports/store-recurrences.ts";
import { Heap, type HeapNode } from "../heap.ts";
import type { FiredBefore } from "./catch-ups.ts";

/** A recurring job in its owner's memory. */
export interface Planned {
  readonly jobId: JobId;
  readonly shard: ShardId;
  /** As it was read; its definition is the newest that was. */
  job: Recurrence;
  /** Version of the job's definition. */
  schedule: Schedule;
  /** Content of the store once every batch up to now is committed. */
  revision: number;
  plan: Plan;
  /** Executions that the plan names and that are not final. */
  open: Set<ExecutionId>;
  /** When `plan.previous` ended; null: not known. */
  endedAt: EpochMs | null;
  /** Earlier executions that the job's backfill has to know. */
  before: FiredBefore | null;
  /** Since when the command that came with an edit is waited for. */
  editSeenAt: EpochMs | null;
  timer: HeapNode<Planned> | null;
}

/** A command for a plan that waits until the job was read. */
export interface OpenOrder {
  command: PlanCommand;
  /** The number of the read that is to show the job as the command left it; null: it has. */
  ask: number | null;
}

/** Recurring jobs whose time is near, or that wait for an execution to end. */
export class Plans {
  readonly byId = new Map<JobId, Planned>();
  /** Jobs by the time at which there is something to do. */
  readonly timers = new Heap<Planned>();
  /** There is something to do now. */
  readonly dirty = new Set<Planned>();
  readonly orders = new Map<JobId, OpenOrder[]>();
  /** Executions of commits that were not answered yet: nothing may be written of them. */
  readonly unborn = new Set<ExecutionId>();
  /** Executions that are read because a newer instant of their job waits for their end. */
  readonly superseding = new Set<ExecutionId>();
  /** Jobs that are to be read anew, gathered over a step. */
  readonly toAsk = new Set<JobId>();
  /** Reads of jobs by their ids so far. */
  asks = 0;
  /** There was no room for some whose time is near. */
  turnedAway = false;

  setTimer(planned: Planned, at: EpochMs | null): void {
    const { timer } = planned;
    if (at === null) {
      if (timer !== null) this.timers.remove(timer);
      planned.timer = null;
    } else if (timer === null) planned.timer = this.timers.push(at, planned.jobId, planned);
    else this.timers.rekey(timer, at);
  }

  /** The next one that there is something to do for. */
  take(now: EpochMs): Planned | null {
    for (const planned of this.dirty) {
      this.dirty.delete(planned);
      return planned;
    }
    const top = this.timers.peek();
    if (top === undefined || top.key > now) return null;
    this.setTimer(top.item, null);
    return top.item;
  }

  isDue(now: EpochMs): boolean {
    return this.dirty.size > 0 || (this.timers.peek()?.key ?? Number.POSITIVE_INFINITY) <= now;
  }

  drop(planned: Planned): void {
    this.setTimer(planned, null);
    this.dirty.delete(planned);
    this.byId.delete(planned.jobId);
  }

  /** An execution is final. */
  ended(jobId: JobId, id: ExecutionId, at: EpochMs): void {
    this.unborn.delete(id);
    const planned = this.byId.get(jobId);
    if (!planned?.open.delete(id)) return;
    if (planned.plan.previous === id) planned.endedAt = at;
    this.dirty.add(planned);
  }
}
