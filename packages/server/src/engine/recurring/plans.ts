import { type Flow, flowName } from "../../domain/flow.ts";
import type { EpochMs, ExecutionId, JobId, ShardId } from "../../domain/ids.ts";
import type { Plan } from "../../domain/recurrence.ts";
import type { Schedule } from "../../domain/schedule/schedule.ts";
import type { PlanCommand } from "../../ports/store-commands.ts";
import type { Recurrence } from "../../ports/store-recurrences.ts";
import { FlowHeap, type FlowNode } from "../flow-heap.ts";
import type { FiredBefore } from "./catch-ups.ts";

/** Time of jobs that have something to do now. They come before the jobs of their flow that are due. */
const NOW: EpochMs = 0;

/** A recurring job in its owner's memory. */
export interface Planned {
  readonly jobId: JobId;
  readonly shard: ShardId;
  /** The job as it was read, with the newest definition that was read. */
  job: Recurrence;
  /** Schedule of the job's definition. */
  schedule: Schedule;
  /** Revision and plan in the store once every batch up to now is committed. */
  revision: number;
  plan: Plan;
  /** Executions that the plan names and that are not final. */
  open: Set<ExecutionId>;
  /** Time at which `plan.previous` ended; null: not known. */
  endedAt: EpochMs | null;
  /** Known executions in a range of the job's backfill; null: none were asked for. */
  before: FiredBefore | null;
  /** Time since which the plan waits for the command of an edit; null: it does not wait. */
  editSeenAt: EpochMs | null;
  /** Whether the job has something to do now, whatever its timer was set to. */
  isTouched: boolean;
  timer: FlowNode<Planned> | null;
}

/** A command for a plan that waits until the job was read. */
export interface OpenPlanCommand {
  command: PlanCommand;
  /** Number of the read that must show the job as the command left it; null: it has. */
  ask: number | null;
}

/** Recurring jobs in memory: those whose next instant is near, and those that wait for an execution to end. */
export class Plans {
  readonly byId = new Map<JobId, Planned>();
  /** Jobs by the time at which they have something to do, in flows. */
  readonly timers = new FlowHeap<Planned>();
  readonly commands = new Map<JobId, OpenPlanCommand[]>();
  /** Executions whose creating commit is not answered yet. Until then nothing else may be written of them. */
  readonly uncommitted = new Set<ExecutionId>();
  /** Executions that are read because a newer instant of their job waits for their end. */
  readonly superseding = new Set<ExecutionId>();
  /** Jobs to read again, collected over a step. */
  readonly toAsk = new Set<JobId>();
  /** Number of reads of jobs by their ids so far. */
  asks = 0;
  #stopped: ReadonlySet<string> = new Set();
  /** Whether there was no room for jobs whose next instant is near. */
  turnedAway = false;

  setTimer(planned: Planned, ringAt: EpochMs | null): void {
    const { timer, isTouched } = planned;
    const due = isTouched ? NOW : ringAt;
    const at = this.#stopped.has(planned.job.tenant) ? null : due;
    if (at === null) {
      if (timer !== null) this.timers.remove(timer);
      planned.timer = null;
    } else if (timer === null)
      planned.timer = this.timers.push(flowName(flowOf(planned.job)), at, planned.jobId, planned);
    else this.timers.rekey(timer, at);
  }

  /** Sets the tenants whose jobs do nothing. A job has something to do as soon as its tenant may go on. */
  stop(tenants: ReadonlySet<string>): void {
    const former = this.#stopped;
    this.#stopped = tenants;
    for (const planned of this.byId.values()) {
      const isStopped = tenants.has(planned.job.tenant);
      if (isStopped === former.has(planned.job.tenant)) continue;
      if (isStopped) this.setTimer(planned, null);
      else this.touch(planned);
    }
  }

  /** Notes that a job has something to do now. */
  touch(planned: Planned): void {
    planned.isTouched = true;
    this.setTimer(planned, NOW);
  }

  /** Removes and returns a job that has something to do, the flows in turns; null: there is none. */
  take(now: EpochMs): Planned | null {
    const next = this.timers.next(now);
    if (next !== null) this.#clear(next);
    return next;
  }

  isDue(now: EpochMs): boolean {
    return (this.timers.earliest() ?? Number.POSITIVE_INFINITY) <= now;
  }

  /**
   * Whether memory has room for another job of the flow: a flow may have as many as there is room for others, so that no flow takes all
   * the room.
   * @param limit number of jobs in memory
   */
  hasRoom(flow: Flow, limit: number): boolean {
    return this.timers.sizeOf(flowName(flow)) < limit - this.byId.size;
  }

  drop(planned: Planned): void {
    this.#clear(planned);
    this.byId.delete(planned.jobId);
  }

  #clear(planned: Planned): void {
    planned.isTouched = false;
    this.setTimer(planned, null);
  }

  /** Notes that an execution is final. */
  ended(jobId: JobId, id: ExecutionId, at: EpochMs): void {
    this.uncommitted.delete(id);
    const planned = this.byId.get(jobId);
    if (!planned?.open.delete(id)) return;
    if (planned.plan.previous === id) planned.endedAt = at;
    this.touch(planned);
  }
}

export function flowOf({ tenant, definition }: Recurrence): Flow {
  return { tenant, pool: definition.pool };
}
