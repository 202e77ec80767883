import assert from "node:assert/strict";
import type { Candidate } from "../../domain/execution.ts";
import type { Skip } from "../../domain/recurrence.ts";
import type { CreatedOccurrence, PlanChange, Recurrence } from "../../ports/store-recurrences.ts";
import type { Batch } from "../batch.ts";
import type { Input } from "../inputs.ts";
import type { ModelStore } from "./model-store.ts";

type CreatedRows = Extract<Input, { kind: "CREATED" }>;

/** Recurring jobs with their plans, as a store keeps them. It accepts only changes with the expected revision. */
export class ModelPlans {
  readonly jobs = new Map<string, Recurrence>();
  readonly skips: (Skip & { jobId: string })[] = [];
  readonly created: Candidate[] = [];
  /** Triggers of the executions that were created. */
  readonly triggers: CreatedOccurrence["trigger"][] = [];
  readonly #store: ModelStore;

  constructor(store: ModelStore) {
    this.#store = store;
  }

  insert(job: Recurrence): Recurrence {
    this.jobs.set(job.jobId, job);
    return job;
  }

  edit(jobId: string, change: Partial<Recurrence["definition"]>): void {
    const job = this.jobs.get(jobId) as Recurrence;
    this.jobs.set(jobId, { ...job, version: job.version + 1, definition: { ...job.definition, ...change } });
  }

  /** Deletes a job, as the api does in its own transaction. */
  delete(jobId: string): void {
    const job = this.jobs.get(jobId) as Recurrence;
    this.jobs.set(jobId, { ...job, revision: job.revision + 1, plan: { ...job.plan, state: "DELETED" } });
  }

  /** Applies the plans of a batch. @returns the answer, as the machine receives it */
  apply(batch: Batch): CreatedRows {
    const created = {
      kind: "CREATED" as const,
      rows: [] as Candidate[],
      notCreated: [],
      missedPlans: [] as CreatedRows["missedPlans"],
      nodes: { created: [], notCreated: [] },
      missedRuns: [],
      batch: batch.number,
    };
    for (const { shard, plans } of batch.shards.values()) {
      for (const change of plans.values()) {
        const rows = change.created.map(({ row }) => row);
        if (this.#write(change)) created.rows.push(...rows);
        else created.missedPlans = [...created.missedPlans, { shard, jobId: change.jobId, created: rows }];
      }
    }
    return created;
  }

  read(ids: readonly string[]): Recurrence[] {
    const found = ids.map((id) => this.jobs.get(id)).filter((job) => job !== undefined);
    return found.map((job) => ({ ...job, plan: { ...job.plan }, open: this.#open(job) }));
  }

  /** Plans in the store that are due by `until`, or wait for an execution or a command. */
  due(until: number): Recurrence[] {
    const near = [...this.jobs.values()].filter(({ plan }) => {
      if (plan.bufferedAt !== null || plan.catchUps.length > 0) return true;
      return plan.state === "ACTIVE" && (plan.nextFireAt ?? 0) <= until;
    });
    return this.read(near.map(({ jobId }) => jobId));
  }

  instants(jobId: string): number[] {
    return this.created.filter((row) => row.jobId === jobId).map((row) => row.scheduledAt);
  }

  #open({ plan }: Recurrence): string[] {
    const named = [plan.previous, ...plan.catchUps.flatMap(({ open }) => open)];
    const open = new Set(this.#store.open());
    return named.filter((id): id is string => id !== null && open.has(id));
  }

  /** A job that runs one at a time may have no open execution that its schedule created. */
  #mayStart({ jobId, definition }: Recurrence): void {
    if (definition.recurrence?.overlap === "ALLOW") return;
    const open = new Set(this.#store.open());
    const others = this.created.filter(
      (row, i) => row.jobId === jobId && this.triggers[i] === "SCHEDULE" && open.has(row.id),
    );
    assert.deepEqual(others, [], "an earlier one is not final");
  }

  #write({ jobId, wasRevision, revision, plan, created, skips }: PlanChange): boolean {
    const job = this.jobs.get(jobId) as Recurrence;
    if (job.revision !== wasRevision || job.plan.state === "DELETED") return false;
    this.jobs.set(jobId, { ...job, revision, plan });
    this.skips.push(...skips.map((skip) => ({ ...skip, jobId })));
    for (const { row, trigger } of created) {
      if (trigger === "SCHEDULE") this.#mayStart(job);
      this.triggers.push(trigger);
      assert.ok(!this.#store.rows.has(row.id), `${row.id} is created twice`);
      this.#store.insert({ ...row });
      this.created.push(row);
    }
    return true;
  }
}
