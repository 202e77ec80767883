import type { RankCursor } from "../../../domain/execution.ts";
import type { EpochMs, ExecutionId, JobId, ShardId } from "../../../domain/ids.ts";
import { invariant } from "../../../domain/invariant.ts";
import { compareDue, type DueCursor } from "../../../ports/store-flows.ts";
import { byText, SortedList } from "../sorted-list.ts";
import type { ExecutionRow } from "./execution-row.ts";

/** All executions, with the indexes by which the hot path reads. A row is in the index of its queue and in no other. */
export class ExecutionTable {
  readonly #rows = new Map<ExecutionId, ExecutionRow>();
  readonly #ids = new SortedList<ExecutionId>(byText);
  readonly #ofJob = new Map<JobId, ExecutionId[]>();
  readonly #ready = new Map<number, SortedList<RankCursor, ExecutionRow>>();
  /** Lanes that have READY rows. */
  readonly #lanes = new SortedList<number>((a, b) => a - b);
  readonly #waiting = new SortedList<DueCursor, ExecutionRow>(compareDue);
  readonly #held = new Map<ShardId, Set<ExecutionId>>();
  /** Runs of workflows that are not final. */
  readonly #open = new SortedList<DueCursor, ExecutionRow>(compareDue);

  /** A copy of the table with the same rows. */
  copy(): ExecutionTable {
    const copy = new ExecutionTable();
    for (const row of this.#rows.values()) copy.insert(row);
    return copy;
  }

  get(id: ExecutionId): ExecutionRow | undefined {
    return this.#rows.get(id);
  }

  /** All rows, in the order of their submits. */
  all(): Iterable<ExecutionRow> {
    return this.#rows.values();
  }

  insert(row: ExecutionRow): void {
    invariant(!this.#rows.has(row.id), "an execution is submitted once");
    this.#ids.add(row.id);
    const siblings = this.#ofJob.get(row.job.jobId);
    if (siblings === undefined) this.#ofJob.set(row.job.jobId, [row.id]);
    else siblings.push(row.id);
    this.#rows.set(row.id, row);
    this.#enqueue(row);
  }

  replace(before: ExecutionRow, after: ExecutionRow): void {
    this.#dequeue(before);
    this.#rows.set(after.id, after);
    this.#enqueue(after);
  }

  remove(row: ExecutionRow): void {
    this.#dequeue(row);
    this.#rows.delete(row.id);
    this.#ids.delete(row.id);
    const rest = this.ofJob(row.job.jobId).filter((id) => id !== row.id);
    if (rest.length === 0) this.#ofJob.delete(row.job.jobId);
    else this.#ofJob.set(row.job.jobId, rest);
  }

  ofJob(jobId: JobId): readonly ExecutionId[] {
    return this.#ofJob.get(jobId) ?? [];
  }

  ready(shards: ReadonlySet<ShardId>, lane: number, after: RankCursor | null, limit: number): ExecutionRow[] {
    const found: ExecutionRow[] = [];
    this.#ready.get(lane)?.ascend(after, (row) => {
      if (shards.has(row.job.shard)) found.push(row);
      return found.length < limit;
    });
    return found;
  }

  waiting(shards: ReadonlySet<ShardId> | null, dueUntil: EpochMs, limit: number): ExecutionRow[] {
    const found: ExecutionRow[] = [];
    this.#waiting.ascend(null, (row) => {
      if (row.dueAt > dueUntil) return false;
      if (shards === null || shards.has(row.job.shard)) found.push(row);
      return found.length < limit;
    });
    return found;
  }

  held(shard: ShardId): ExecutionRow[] {
    return [...(this.#held.get(shard) ?? [])].map((id) => this.#rows.get(id) as ExecutionRow);
  }

  /** OPEN rows of the shards by (dueAt, id), behind `after`. */
  open(shards: ReadonlySet<ShardId>, after: DueCursor | null, limit: number): ExecutionRow[] {
    const found: ExecutionRow[] = [];
    this.#open.ascend(after, (row) => {
      if (shards.has(row.job.shard)) found.push(row);
      return found.length < limit;
    });
    return found;
  }

  lanes(after: number | null, limit: number): number[] {
    const found: number[] = [];
    this.#lanes.ascend(after, (lane) => found.push(lane) < limit);
    return found;
  }

  /** Visits rows in descending order of ids, so the newest first. @param visit return false to stop */
  newestFirst(before: ExecutionId | null, visit: (row: ExecutionRow) => boolean): void {
    this.#ids.descend(before, (id) => visit(this.#rows.get(id) as ExecutionRow));
  }

  #enqueue(row: ExecutionRow): void {
    if (row.queue === "READY") this.#laneOf(row).add(row);
    else if (row.queue === "WAITING") this.#waiting.add(row);
    else if (row.queue === "HELD") this.#heldOf(row).add(row.id);
    else if (row.queue === "OPEN") this.#open.add(row);
  }

  #dequeue(row: ExecutionRow): void {
    if (row.queue === "READY") this.#leaveLane(row);
    else if (row.queue === "WAITING") invariant(this.#waiting.delete(row), "a waiting row is in its index");
    else if (row.queue === "HELD") invariant(this.#heldOf(row).delete(row.id), "a held row is in its index");
    else if (row.queue === "OPEN") invariant(this.#open.delete(row), "an open run is in its index");
  }

  #laneOf({ job }: ExecutionRow): SortedList<RankCursor, ExecutionRow> {
    const known = this.#ready.get(job.laneHash);
    if (known !== undefined) return known;
    const lane = new SortedList<RankCursor, ExecutionRow>((a, b) => a.rank - b.rank || byText(a.id, b.id));
    this.#ready.set(job.laneHash, lane);
    this.#lanes.add(job.laneHash);
    return lane;
  }

  #leaveLane(row: ExecutionRow): void {
    const { laneHash } = row.job;
    const lane = this.#ready.get(laneHash);
    invariant(lane?.delete(row) === true, "a ready row is in its lane");
    if (lane.size > 0) return;
    this.#ready.delete(laneHash);
    this.#lanes.delete(laneHash);
  }

  #heldOf({ job }: ExecutionRow): Set<ExecutionId> {
    const known = this.#held.get(job.shard);
    if (known !== undefined) return known;
    const held = new Set<ExecutionId>();
    this.#held.set(job.shard, held);
    return held;
  }
}
