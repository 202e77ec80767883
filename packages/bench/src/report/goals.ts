import type { FigureName } from "../figures.ts";

/** A goal of Mainspring. */
export interface Goal {
  /** Name of the case, or a prefix of it. */
  readonly case: string;
  readonly figure: FigureName;
  readonly contender: string;
  readonly goal: number;
  /**
   * Figure of the best peer on the machine where the goal was set; on other machines the ratio to the best peer counts.
   */
  readonly bestPeer?: number;
}

const REMOTE = "mainspring";
const INSIDE = "mainspring-inside";
const DEFAULT = "mainspring-default";
const PROFILE_A = "mainspring-profile-a";
const PROFILE_B = "mainspring-profile-b";
const ON_REDIS = "mainspring-on-redis";

/** Goals, set on 2 cores with PostgreSQL 15 and Redis 7, with the figures of the peers there. */
export const GOALS: readonly Goal[] = [
  { case: "drain-20k", figure: "jobsPerSec", contender: REMOTE, goal: 45_000, bestPeer: 43_700 },
  { case: "drain-20k", figure: "jobsPerSec", contender: INSIDE, goal: 60_000, bestPeer: 43_700 },
  { case: "drain-200k", figure: "jobsPerSec", contender: REMOTE, goal: 67_000, bestPeer: 66_800 },
  { case: "drain-200k", figure: "jobsPerSec", contender: INSIDE, goal: 80_000, bestPeer: 66_800 },
  { case: "cycle", figure: "jobsPerSec", contender: REMOTE, goal: 30_000, bestPeer: 35_600 },
  { case: "cycle", figure: "jobsPerSec", contender: INSIDE, goal: 36_000, bestPeer: 35_600 },
  { case: "cycle", figure: "logBytes", contender: REMOTE, goal: 1_638 },
  { case: "submit-16", figure: "jobsPerSec", contender: REMOTE, goal: 12_000, bestPeer: 34_800 },
  { case: "submit-batches", figure: "jobsPerSec", contender: REMOTE, goal: 60_000, bestPeer: 76_000 },
  { case: "pickup-200", figure: "p50Ms", contender: REMOTE, goal: 1.5, bestPeer: 0.5 },
  { case: "pickup-200", figure: "p99Ms", contender: REMOTE, goal: 4, bestPeer: 1.9 },
  { case: "pickup-200", figure: "p50Ms", contender: INSIDE, goal: 1, bestPeer: 0.5 },
  { case: "pickup-200", figure: "p99Ms", contender: INSIDE, goal: 3.3, bestPeer: 1.9 },
  { case: "timers-spread", figure: "p99Ms", contender: REMOTE, goal: 5, bestPeer: 99.5 },
  { case: "timers-spread", figure: "p99Ms", contender: INSIDE, goal: 3, bestPeer: 99.5 },
  { case: "timers-2k", figure: "p99Ms", contender: REMOTE, goal: 80, bestPeer: 236 },
  { case: "timers-2k", figure: "p99Ms", contender: INSIDE, goal: 50, bestPeer: 236 },
  { case: "timers-10k", figure: "p99Ms", contender: REMOTE, goal: 350 },
  { case: "backlog-", figure: "ratio", contender: REMOTE, goal: 0.95 },
  { case: "backlog-", figure: "ratio", contender: INSIDE, goal: 0.95 },
  { case: "stuck", figure: "ratio", contender: REMOTE, goal: 0.9 },
  { case: "steps-latency", figure: "p50Ms", contender: DEFAULT, goal: 3 },
  { case: "steps-rate", figure: "stepsPerSec", contender: DEFAULT, goal: 10_000 },
  { case: "steps-sleepers", figure: "slotsInUse", contender: DEFAULT, goal: 0 },
  // 20 MB.
  { case: "steps-sleepers", figure: "growthMiB", contender: DEFAULT, goal: 19 },
  { case: "flows-fan-in", figure: "nodesPerSec", contender: DEFAULT, goal: 10_130, bestPeer: 4_219 },
  { case: "flows-fan-out", figure: "nodesPerSec", contender: DEFAULT, goal: 9_990, bestPeer: 1_513 },
  { case: "flows-many", figure: "nodesPerSec", contender: DEFAULT, goal: 7_710, bestPeer: 5_135 },
  { case: "flows-chain", figure: "p50Ms", contender: DEFAULT, goal: 5 },
  { case: "flows-chain", figure: "p99Ms", contender: DEFAULT, goal: 15 },
  { case: "flows-layered", figure: "submitMs", contender: DEFAULT, goal: 600 },
  { case: "flows-layered", figure: "heldMs", contender: DEFAULT, goal: 50 },
  { case: "flows-costs", figure: "storeCpuRatio", contender: DEFAULT, goal: 1.5 },
  { case: "flows-costs", figure: "logRatio", contender: DEFAULT, goal: 1.15 },
  { case: "crash", figure: "backMs", contender: REMOTE, goal: 6_000 },
  { case: "fleet", figure: "residentMiB", contender: REMOTE, goal: 1_536 },
  { case: "fleet", figure: "ratio", contender: REMOTE, goal: 0.9 },
  // 1 % less than the rate of the submits, because the last job ends after the last submit.
  { case: "profiles-steady-5000", figure: "jobsPerSec", contender: PROFILE_A, goal: 4_950 },
  { case: "profiles-redis-cost", figure: "storeCpuUs", contender: ON_REDIS, goal: 25 },
  // 700 MB for a million jobs.
  { case: "profiles-redis-memory", figure: "bytesPerJob", contender: ON_REDIS, goal: 700 },
  { case: "profiles-steady-5000", figure: "jobsPerSec", contender: PROFILE_B, goal: 4_950 },
  { case: "profiles-pickup-200", figure: "p99Ms", contender: PROFILE_B, goal: 50 },
  { case: "idle", figure: "statementsPerSec", contender: REMOTE, goal: 3 },
  { case: "idle", figure: "statementsPerSec", contender: INSIDE, goal: 3 },
];
