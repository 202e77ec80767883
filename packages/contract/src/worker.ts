import { type Static, Type } from "typebox";
import { Count, Instant, InstantOrNull, named, oneOf, orNull, StringOrNull, Uuid } from "./fields.ts";

export const WorkerBody = named("Worker", {
  workerId: Type.String(),
  name: Type.String(),
  pool: Type.String(),
  poolOwner: StringOrNull("tenant that owns the pool; null: the pool is shared"),
  handlers: Type.Array(Type.String()),
  capabilities: Type.Array(Type.String()),
  slots: Count("how many attempts it runs at once"),
  prefetch: Count("how many more may wait at it now"),
  prefetchMode: oneOf(
    ["AUTO", "FIXED"],
    "AUTO: the server measures prefetch, about 50 ms of work; FIXED: the worker chose it",
    "PrefetchMode",
  ),
  state: oneOf(
    ["ALIVE", "DISCONNECTED", "DRAINING", "DEAD"],
    "as its gateway sees it; where its gateway is gone and the servers have a Redis: DISCONNECTED for 30 seconds, then DEAD",
    "WorkerState",
  ),
  running: Count("attempts it runs now"),
  free: Count("slots that nothing occupies; 0 where it is DEAD"),
  stuck: Count("slots of handlers that still run although their attempts are over"),
  connectedAt: Instant("when it connected"),
  lastHeartbeatAt: Instant("when it was last heard of"),
  loopLagMs: Count("how late the loop that runs its handlers was"),
});
export type WorkerBody = Static<typeof WorkerBody>;

const WorkerExecutionBody = named("WorkerExecution", {
  executionId: Uuid("the execution"),
  attempt: Count("the attempt"),
  handler: StringOrNull("null where its gateway does not know it"),
  state: oneOf(
    ["WAITING", "RUNNING", "STUCK"],
    "WAITING: for a slot, or for the worker's word that it started. STUCK: the attempt is over, but its handler still runs",
  ),
  startedAt: InstantOrNull("when its handler started"),
});
export type WorkerExecutionBody = Static<typeof WorkerExecutionBody>;

export const WorkerDetailBody = named("WorkerDetail", {
  ...WorkerBody.properties,
  executions: orNull(
    Type.Array(WorkerExecutionBody),
    "what it has now: STUCK first, then RUNNING, then WAITING, 1,000 at most; null: its server is of the release before and does not say",
  ),
  executionsTotal: orNull(
    Type.Integer({ minimum: 0 }),
    "how many it has in all, with those that `executions` leaves out; null as there",
  ),
});
export type WorkerDetailBody = Static<typeof WorkerDetailBody>;
