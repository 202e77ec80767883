import type { Settings } from "./servers.ts";

/** Clusters on which the tests run. */
export interface Clusters {
  /** Number of nodes of each. */
  nodes: number;
  /** Settings of each node. */
  settings: Settings;
}

/** A test of the embedded profile that does not hold on a cluster with all servers. */
export interface Difference {
  /** Name of the file without `.test.ts`. */
  file: string;
  /** Name of the test. */
  test: string;
  /** Whether it does not hold on these clusters. */
  isOf(clusters: Clusters): boolean;
  why: string;
  /** Test that shows what holds instead: path of its file in the repository, a colon, and its name. */
  instead: string;
}

/** All differences. */
export const DIFFERENCES: readonly Difference[] = [
  {
    file: "operate",
    test: "does not empty a server that is alone",
    isOf: ({ nodes }) => nodes > 1,
    why: "one node of several is not alone, and can be emptied",
    instead:
      "packages/cli/test/cluster-operate.test.ts: empties a node under load, whose api goes on, and fills it again",
  },
];
