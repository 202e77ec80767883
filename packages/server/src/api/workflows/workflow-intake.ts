import type { ExecutionId, JobId } from "../../domain/ids.ts";
import { steeredId } from "../../domain/steered-id.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { Submission, SubmitOutcome } from "../../ports/store.ts";
import type { NewWorkflow } from "../../ports/store-runs.ts";
import type { OwnShards } from "../submit/own-shards.ts";
import type { Submitter } from "../submit/submitter.ts";

export interface WorkflowIntakeDependencies {
  submitter: Pick<Submitter, "submit">;
  runtime: Runtime;
  ownShards: OwnShards;
}

/** The way of a new workflow into the store: all of it or nothing. */
export class WorkflowIntake {
  readonly #deps: WorkflowIntakeDependencies;

  constructor(deps: WorkflowIntakeDependencies) {
    this.#deps = deps;
  }

  /** Id of a new workflow, in a shard of this node if it owns one, so that its commits need no other node. */
  newId(): JobId {
    const { runtime, ownShards } = this.#deps;
    const id = runtime.uuid();
    const shard = ownShards.next();
    return shard === null ? id : steeredId(id, shard);
  }

  /** @throws {StoreUnavailable} the workflow may or may not have been accepted */
  take(workflow: NewWorkflow, idempotency: Submission["idempotency"]): Promise<SubmitOutcome> {
    return this.#deps.submitter.submit({ idempotency, jobs: [workflow] });
  }
}

/** Run of an accepted workflow. */
export function runOf(outcome: SubmitOutcome): ExecutionId | null {
  return outcome.kind === "ACCEPTED" ? (outcome.jobs[0]?.executionId ?? null) : null;
}
