import { mainspringClusters } from "../contenders/mainspring/mainspring.ts";
import { cycleCase } from "./cycle.ts";
import { drainCase } from "./drain.ts";
import type { Scenario } from "./scenario.ts";

export const cluster: Scenario = {
  name: "cluster",
  about:
    "Drain and cycle run with one, two and three servers that form a cluster on one PostgreSQL, and one worker process. Clients submit jobs to all nodes in turn. On one machine this shows the cost of a cluster, not its gain.",
  cases: ({ isQuick }) =>
    (isQuick ? [drainCase(20_000)] : [drainCase(200_000), cycleCase(10_000)]).map((item) => ({
      ...item,
      name: `cluster-${item.name}`,
      title: `cluster: ${item.title}`,
      contenders: mainspringClusters,
    })),
};
