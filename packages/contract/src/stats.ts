import { type Static, Type } from "typebox";
import { FinalState } from "./execution.ts";
import { Count, named, orNull, StringOrNull } from "./fields.ts";
import { DurabilityBody, NodeRole } from "./node.ts";

const latenessMs = orNull(Type.Integer({ minimum: 0 }), "to a fifth; null: nothing has started lately");

export const StatsBody = named("Stats", {
  version: Type.String(),
  node: Type.String({ description: "this life of the server" }),
  timeZoneData: Type.String({ description: "version of the IANA time zone database that schedules go by, as 2026f" }),
  timeZoneDataAgeDays: orNull(Type.Integer({ minimum: 0 }), "days since its release; null: not known"),
  addresses: named("StatsAddresses", {
    http: StringOrNull("where this API listens, as http://host:port"),
    grpc: StringOrNull("where workers connect, as host:port"),
  }),
  nodes: Type.Array(
    named("StatsNode", {
      node: Type.String(),
      roles: Type.Array(NodeRole),
    }),
    { description: "the servers that can be reached now, this one included" },
  ),
  workers: named("StatsWorkers", { connected: Count("workers with a connection now") }),
  shards: named("StatsShards", { total: Count("all"), owned: Count("those whose owner is known here") }),
  executions: named("StatsExecutions", {
    waiting: Count("for their time"),
    ready: Count("for a worker, or at one for less than 30 s without a start"),
    running: Count("whose rows say so: for a second or longer, or at a worker for 30 s or longer without a start"),
    deadLetters: Count("DEAD, and neither replayed nor discarded"),
    openRuns: orNull(
      Type.Integer({ minimum: 0 }),
      "runs of workflows that have begun and not ended; null: the server cannot count them yet, soon after an upgrade",
    ),
    countedUpTo: Count("what there is more of is told as this"),
  }),
  store: Type.Array(
    named("StatsConnections", {
      purpose: Type.String(),
      busy: Count("connections in use"),
      max: Count("connections that there may be"),
      waiting: Count("requests that wait for one"),
    }),
    { description: "this server's connections to the store, by what they are for" },
  ),
  durability: DurabilityBody,
  finished: Type.Array(named("StatsFinished", { state: FinalState, count: Count("how many") }), {
    description: "since the schedulers were started",
  }),
  recurring: named(
    "StatsRecurring",
    {
      planned: Count("instants that were accounted for"),
      run: Count("became executions"),
      late: Count("of those: later than they were planned by more than the misfireGraceSec of their job"),
      skipped: Count("did not run; the ledger of each job has the reasons"),
      missed: orNull(
        Type.Integer({ minimum: 0 }),
        "planned within the last day, and without any trace: MISSED in the ledger of its job; 1000 stands for more; null: this server does not search for them",
      ),
    },
    {
      description:
        "planned instants of recurring jobs, since the schedulers were started; those of backfills not again",
    },
  ),
  lateness: named(
    "StatsLateness",
    { p50Ms: latenessMs, p99Ms: latenessMs, starts: Count("how many") },
    { description: "first starts minus scheduled times (of a backfill: of its own), of the last minute or two" },
  ),
});
export type StatsBody = Static<typeof StatsBody>;
