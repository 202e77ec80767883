/** Schemas of the HTTP API. `enums` and `limits` are doors of their own, because they need no TypeBox. */
export * from "./batch.ts";
export * from "./cluster.ts";
export * from "./dead-letter.ts";
export * from "./execution.ts";
export * from "./explanation.ts";
export * from "./fields.ts";
export * from "./job.ts";
export * from "./job-fields.ts";
export * from "./late-jobs.ts";
export * from "./listing.ts";
export * from "./node.ts";
export * from "./pool.ts";
export * from "./recurrence.ts";
export * from "./schedule.ts";
export * from "./stats.ts";
export * from "./time-zones.ts";
export * from "./worker.ts";
