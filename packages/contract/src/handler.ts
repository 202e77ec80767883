import { type Static, Type } from "typebox";
import { Count, described, InstantOrNull, Line, named } from "./fields.ts";
import { JobSubmission } from "./job.ts";

const job = JobSubmission.properties;
const placeholders =
  "; {payload.customerId} stands for that field of the job's payload: a text, a number, true or false";

/** Policies that a task declares for jobs of its handler; a job's own values come before them. */
export const HandlerPolicies = named(
  "HandlerPolicies",
  {
    retryPolicy: job.retryPolicy,
    timeoutSec: job.timeoutSec,
    maxLifetimeSec: job.maxLifetimeSec,
    cancelGraceSec: job.cancelGraceSec,
    maxLost: job.maxLost,
    onWorkerLost: job.onWorkerLost,
    priority: job.priority,
    concurrencyKey: Type.Optional(Line(`executions of one key run at most concurrencyLimit at once${placeholders}`)),
    concurrencyLimit: job.concurrencyLimit,
    uniqueKey: Type.Optional(Line(`at most one execution that is not final has it${placeholders}`)),
  },
  { additionalProperties: false },
);
export type HandlerPolicies = Static<typeof HandlerPolicies>;

const declared = {
  policies: described(
    HandlerPolicies,
    "policies that the task declares; those that are left out have the server's defaults",
  ),
  home: Type.Boolean({ description: "jobs of the handler that name no pool go to this pool: its task names the pool" }),
};

export const OtherPolicies = named("OtherPolicies", {
  ...declared,
  workers: Count("workers that declare this"),
});

export const HandlerBody = named("Handler", {
  pool: Type.String(),
  handler: Type.String(),
  ...declared,
  workers: Count("workers that offer it now"),
  contradictions: Type.Array(OtherPolicies, {
    description: "what workers that offer it now declare otherwise; jobs do not go by it. Eight at most",
  }),
  declaredAt: InstantOrNull("when its policies were changed last; null: none are kept"),
  lastSeenAt: InstantOrNull(
    "when a worker with policies for it was seen last, to the hour; null: no worker ever declared any",
  ),
});
export type HandlerBody = Static<typeof HandlerBody>;
