import type { EpochMs } from "../../domain/ids.ts";
import type { JobDefinition } from "../../domain/job.ts";
import type { Ordering } from "../../domain/rank.ts";
import type { NewJob, NewRecurringJob, Submission, SubmitOutcome } from "../../ports/store.ts";
import type { AuditNote } from "../../ports/store-audit.ts";
import type { NewRecurringWorkflow, NewWorkflow } from "../../ports/store-runs.ts";
import { noted } from "../submit/job-intake.ts";
import { type JobMaker, jobRow } from "../submit/new-job.ts";
import type { Submitter } from "../submit/submitter.ts";

export interface WorkflowIntakeDependencies extends JobMaker {
  submitter: Pick<Submitter, "submit">;
}

/** The way of a new workflow into the store: all of it or nothing. */
export class WorkflowIntake {
  readonly #deps: WorkflowIntakeDependencies;

  constructor(deps: WorkflowIntakeDependencies) {
    this.#deps = deps;
  }

  /**
   * The job of a new workflow.
   * @param input JSON text; null: none
   * @returns null: it recurs and never fires
   * @throws {ProblemError} 409: a living node lacks a feature that the job needs
   */
  jobOf(
    definition: JobDefinition,
    input: Uint8Array | null,
    ordering: Ordering,
    createdAt: EpochMs,
  ): NewJob | NewRecurringJob | null {
    return jobRow(definition, input, ordering, createdAt, this.#deps);
  }

  /** @throws {StoreUnavailable} the workflow may or may not have been accepted */
  take(
    workflow: NewWorkflow | NewRecurringWorkflow,
    idempotency: Submission["idempotency"],
    note: AuditNote | null = null,
  ): Promise<SubmitOutcome> {
    return this.#deps.submitter.submit({ idempotency, jobs: [workflow], ...noted(note, [workflow]) });
  }
}
