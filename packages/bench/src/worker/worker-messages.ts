import type { TallyReport } from "./tally.ts";

/** Messages between the benchmark and a contender's worker process, which it forked. */
export type ToWorker = { id: number } & (
  | { kind: "START" }
  | { kind: "STOP" }
  | { kind: "EXPECT"; jobs: number }
  | { kind: "REPORT" }
);

export type FromWorker =
  | { kind: "READY"; about: Record<string, string> }
  | { kind: "RUNS"; runs: number }
  | { kind: "DONE"; id: number; report: TallyReport | null }
  | { kind: "FAILED"; id: number; reason: string };
