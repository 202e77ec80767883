import { initial } from "./0001-initial.ts";
import { operating } from "./0002-operating.ts";
import { changedJobs } from "./0003-changed-jobs.ts";
import { nodes } from "./0004-nodes.ts";
import { recurringJobs } from "./0005-recurring-jobs.ts";
import { poolLimits } from "./0006-pool-limits.ts";
import { cluster } from "./0007-cluster.ts";
import { timeZoneData } from "./0008-time-zone-data.ts";
import { reach } from "./0009-reach.ts";
import { nodeSecrets } from "./0010-node-secrets.ts";
import { lists } from "./0011-lists.ts";

export interface Migration {
  /** They grow. */
  version: number;
  name: string;
  /** One or more statements. A released migration is never edited; a later one corrects its mistakes. */
  sql: string;
  /** Programs of older feature levels cannot work with the schema from here on; default: it changes nothing for them. */
  needsLevel?: number;
}

export const MIGRATIONS: readonly Migration[] = [
  { version: 1, name: "initial", sql: initial },
  { version: 2, name: "operating", sql: operating },
  { version: 3, name: "changed jobs", sql: changedJobs },
  { version: 4, name: "nodes", sql: nodes },
  { version: 5, name: "recurring jobs", sql: recurringJobs },
  { version: 6, name: "pool limits", sql: poolLimits },
  { version: 7, name: "cluster", sql: cluster },
  { version: 8, name: "time zone data", sql: timeZoneData },
  { version: 9, name: "reach", sql: reach },
  { version: 10, name: "node secrets", sql: nodeSecrets },
  { version: 11, name: "lists", sql: lists },
];
