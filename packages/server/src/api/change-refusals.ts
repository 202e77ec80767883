import type { NamedOutcome, ReplaceOutcome, RetryOutcome } from "../ports/store-jobs.ts";
import { invalid, type Problem, problem } from "./errors.ts";

type Taken = { kind: "REPLACED" } | { kind: "UNCHANGED" } | { kind: "CREATED" } | { kind: "ACCEPTED" };
type Refusal = Exclude<ReplaceOutcome | NamedOutcome | RetryOutcome, Taken>;

/** How a change that the store refused is answered. */
export function refusalOf(refusal: Refusal): Problem {
  switch (refusal.kind) {
    case "NOT_FOUND":
      return problem("not-found", "there is no such job or execution, or it is so old that it was dropped");
    case "OTHER_VERSION":
      return problem("precondition-failed", `the job has version ${refusal.version} by now: read it again`);
    case "WRONG_STATE":
      return problem(
        "wrong-state",
        `the job is ${refusal.state}: only an ACTIVE one can be replaced. Submit a new one`,
      );
    case "DELETED":
      return problem("wrong-state", "the job is DELETED: nothing of it is run again. Submit a new one");
    case "NOT_FINAL":
      return problem(
        "wrong-state",
        `execution ${refusal.executionId} of the job is not final: wait for it, or cancel it`,
      );
    case "AMBIGUOUS":
      return problem(
        "wrong-state",
        `several ACTIVE jobs have this name (${refusal.jobIds.join(", ")}): PUT one by its id`,
      );
    case "KEY_HELD":
      return problem("key-in-use", `${holderOf(refusal)} has the unique key until it is final`);
    case "KEY_DIFFERS": {
      const message = `cannot change: the job has ${JSON.stringify(refusal.value)}. Submit another job for another key`;
      return invalid([{ field: refusal.key, message }]);
    }
  }
}

function holderOf(held: Extract<Refusal, { kind: "KEY_HELD" }>): string {
  return "jobId" in held ? `job ${held.jobId}` : `execution ${held.executionId}`;
}
