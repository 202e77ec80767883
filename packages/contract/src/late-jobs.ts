import { Type } from "typebox";
import { Count, Instant, InstantOrNull, named, StringOrNull } from "./fields.ts";

const OverdueJob = named("OverdueJob", {
  jobId: Type.String({ format: "uuid" }),
  name: StringOrNull("of the job"),
  nextFireAt: Instant("the first planned instant that is not accounted for"),
  overdueMs: Count("milliseconds since then"),
});

export const OverdueBody = named("OverdueJobs", {
  items: Type.Array(OverdueJob, { description: "earliest first" }),
});

const MissedJob = named("MissedJob", {
  jobId: Type.String({ format: "uuid" }),
  name: StringOrNull("of the job"),
  missed: Count("planned instants of the last day without any trace"),
  firstAt: Instant("the first of them"),
  lastAt: Instant("the last of them"),
});

export const MissedBody = named("MissedJobs", {
  items: Type.Array(MissedJob, { description: "earliest first; of all jobs together at most 1000 instants" }),
  lookedUntil: InstantOrNull(
    "every instant of the last day before this time was looked at; null: this server has not searched all jobs yet",
  ),
});
