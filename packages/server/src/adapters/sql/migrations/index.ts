import { initial } from "./0001-initial.ts";
import { operating } from "./0002-operating.ts";
import { changedJobs } from "./0003-changed-jobs.ts";
import { nodes } from "./0004-nodes.ts";
import { poolLimits } from "./0006-pool-limits.ts";

export interface Migration {
  /** From 1, without gaps. */
  version: number;
  name: string;
  /** One or more statements. What was released is never edited; what it got wrong, a later one puts right. */
  sql: string;
}

export const MIGRATIONS: readonly Migration[] = [
  { version: 1, name: "initial", sql: initial },
  { version: 2, name: "operating", sql: operating },
  { version: 3, name: "changed jobs", sql: changedJobs },
  { version: 4, name: "nodes", sql: nodes },
  { version: 5, name: "pool limits", sql: poolLimits },
];
