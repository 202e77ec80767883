import assert from "node:assert/strict";
import type { Candidate } from "../../domain/execution.ts";
import type { Skip } from "../../domain/recurrence.ts";
import type { Birth, PlanChange, Recurrence } from "../../ports/store-recurrences.ts";
import type { Batch } from "../batch.ts";
import type { Input } from "../inputs.ts";
import type { ModelStore } from "./model-store.ts";

type Born = Extract<Input, { kind: "BORN" }>;

/** Recurring jobs with their plans, as a store keeps them: it takes what is of the right revision and nothing else. */
export class ModelPlans {
  readonly jobs = new Map<string, Recurrence>();
  readonly skips: (Skip & { jobId: string })[] = [];
  readonly born: Candidate[] = [];
  /** Triggers of the executions that were created. */
  readonly triggers: Birth["trigger"][] = [];
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

  /** In the api's own transaction. */
  delete(jobId: string): void {
    const job = this.jobs.get(jobId) as Recurrence;
    this.jobs.set(jobId, { ...job, revision: job.revision + 1, plan: { ...job.plan, state: "DELETED" } });
  }

  /** Applies the plans of a batch. @returns the answer, as the machine hears it */
  apply(batch: Batch): Born {
    const born = {
      kind: "BORN" as const,
      rows: [] as Candidate[],
      notBorn: [],
      missedPlans: [] as Born["missedPlans"],
    };
    for (const { shard, plans } of batch.shards.values()) {
      for (const change of plans.values()) {
        const rows = change.births.map(({ row }) => row);
        if (this.#write(change)) born.rows.push(...rows);
        else born.missedPlans = [...born.missedPlans, { shard, jobId: change.jobId, births: rows }];
      }
    }
    return born;
  }

  read(ids: readonly string[]): Recurrence[] {
    const found = ids.map((id) => this.jobs.get(id)).filter((job) => job !== undefined);
    return found.map((job) => ({ ...job, plan: { ...job.plan }, open: this.#open(job) }));
  }

  /** Plans in the store that are due by then, or wait for something. */
  due(until: number): Recurrence[] {
    const near = [...this.jobs.values()].filter(({ plan }) => {
      if (plan.bufferedAt !== null || plan.catchUps.length > 0) return true;
      return plan.state === "ACTIVE" && (plan.nextFireAt ?? 0) <= until;
    });
    return this.read(near.map(({ jobId }) => jobId));
  }

  instants(jobId: string): number[] {
    return this.born.filter((row) => row.jobId === jobId).map((row) => row.scheduledAt);
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
    const others = this.born.filter(
      (row, i) => row.jobId === jobId && this.triggers[i] === "SCHEDULE" && open.has(row.id),
    );
    assert.deepEqual(others, [], "an earlier one is not final");
  }

  #write({ jobId, wasRevision, revision, plan, births, skips }: PlanChange): boolean {
    const job = this.jobs.get(jobId) as Recurrence;
    if (job.revision !== wasRevision || job.plan.state === "DELETED") return false;
    this.jobs.set(jobId, { ...job, revision, plan });
    this.skips.push(...skips.map((skip) => ({ ...skip, jobId })));
    for (const { row, trigger } of births) {
      if (trigger === "SCHEDULE") this.#mayStart(job);
      this.triggers.push(trigger);
      assert.ok(!this.#store.rows.has(row.id), `${row.id} is born twice`);
      this.#store.insert({ ...row });
      this.born.push(row);
    }
    return true;
  }
}
