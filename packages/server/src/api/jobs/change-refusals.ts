import type { NamedOutcome, OrderOutcome, ReplaceOutcome, RunOutcome } from "../../ports/store-jobs.ts";
import { invalid, type Problem, problem } from "../http/errors.ts";
import { nameInUse } from "../submit/job-intake.ts";

type Taken = { kind: "REPLACED" | "UNCHANGED" | "CREATED" | "ACCEPTED" | "TAKEN" };
type Refusal = Exclude<ReplaceOutcome | NamedOutcome | RunOutcome | OrderOutcome, Taken>;

/** Problem for a change that the store refused. */
export function refusalOf(refusal: Refusal): Problem {
  switch (refusal.kind) {
    case "NOT_FOUND":
      return problem("not-found", "there is no such job or execution, or it is so old that it was dropped");
    case "OTHER_VERSION":
      return problem("precondition-failed", `the job has version ${refusal.version} by now: read it again`);
    case "NAME_HELD":
      return nameInUse(refusal.jobId);
    case "KEY_HELD":
      return problem("key-in-use", `${holderOf(refusal)} has the unique key until it is final`);
    case "KEY_DIFFERS": {
      const message = `cannot change: the job has ${JSON.stringify(refusal.value)}. Submit another job for another key`;
      return invalid([{ field: refusal.key, message }]);
    }
    case "WRONG_STATE":
    case "OTHER_TYPE":
    case "NOT_RECURRING":
    case "DELETED":
    case "NOT_FINAL":
    case "AMBIGUOUS":
    case "IS_WORKFLOW":
      return problem("wrong-state", stateText(refusal));
  }
}

function stateText(refusal: Exclude<Refusal, { kind: "NOT_FOUND" | "OTHER_VERSION" | "NAME_HELD" | `KEY_${string}` }>) {
  switch (refusal.kind) {
    case "WRONG_STATE":
      return refusal.state === "FINISHED"
        ? "the job is FINISHED: nothing of it can be changed any more. Submit a new one; a name is free when its job is deleted"
        : `the job is ${refusal.state}: nothing of it can be changed any more. Submit a new one`;
    case "OTHER_TYPE":
      return refusal.isRecurring
        ? "the job recurs, and one that does stays so: give it schedule or everySec, or submit another"
        : "the job runs once, and cannot become a recurring one: submit another";
    case "NOT_RECURRING":
      return "the job runs once: only recurring jobs are paused, resumed, triggered or made up for";
    case "DELETED":
      return "the job is DELETED: nothing of it is run again. Submit a new one";
    case "NOT_FINAL":
      return `execution ${refusal.executionId} of the job is not final: wait for it, or cancel it`;
    case "IS_WORKFLOW":
      return "a workflow and its nodes are neither changed nor run again as jobs: POST /v1/workflows/{workflowId}/retry runs the failed part of a final run again; for another graph, submit another workflow, after you have deleted the job of this one if it recurs";
    case "AMBIGUOUS":
      return `several ACTIVE jobs have this name (${refusal.jobIds.join(", ")}): PUT one by its id`;
  }
}

function holderOf(held: Extract<Refusal, { kind: "KEY_HELD" }>): string {
  return "jobId" in held ? `job ${held.jobId}` : `execution ${held.executionId}`;
}
