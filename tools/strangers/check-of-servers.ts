import { type ClusterNode, TestCluster } from "../../packages/cli/test/testing/cluster.ts";
import { type Check, equal, eventually, type Finding, Site } from "./site.ts";

const RUNS = 100;
/** Number of runs that are final when a server is stopped. */
const ENDED_BEFORE = 10;

/** Every tenth run takes so long that it is open when the others have ended. */
const workflowOf = (index: number) => ({
  name: "two servers",
  nodes: [
    { name: "stock", target: { handler: "count-stock", pool: "workflows" } },
    {
      name: "wait",
      target: { handler: "sleep" },
      payload: { ms: index % 10 === 0 ? 5_000 : 300 },
      dependsOn: ["stock"],
    },
    {
      name: "note",
      target: { handler: "note", pool: "workflows" },
      dependsOn: ["wait"],
      payload: { text: { $from: "stock", path: ["tea"] } },
    },
  ],
});

async function outlivesAServer({ folder }: Site): Promise<Finding[]> {
  const cluster = await TestCluster.open();
  try {
    const nodes = await Promise.all([cluster.node(), cluster.node()]);
    const [leaving, staying] = nodes as [ClusterNode, ClusterNode];
    const grpc = nodes.map(({ grpcAddress }) => grpcAddress).join(",");
    const sites = nodes.map(
      ({ httpUrl }) => new Site(httpUrl, { MAINSPRING_URL: httpUrl, MAINSPRING_GRPC_URL: grpc }, folder, "two-servers"),
    );
    const [, site] = sites as [Site, Site];
    const worker = site.startWorker();
    const submitted = Array.from({ length: RUNS }, (_, index) =>
      (sites[index % 2] as Site).post<{ workflowId: string }>("/v1/workflows", workflowOf(index)),
    );
    const ids = (await Promise.all(submitted)).map(({ workflowId }) => workflowId);
    await ended(site, ENDED_BEFORE);
    const open = RUNS - (await ended(site, 0));
    leaving.command.signal("SIGTERM");
    const { code } = await leaving.command.done;
    const count = await ended(site, RUNS);
    const starts = await site.starts();
    worker.signal("SIGTERM");
    await worker.done;
    return [
      equal("all were taken", new Set(ids).size, RUNS),
      equal("some were open when a server was asked to stop", open > 0, true),
      equal("the server stopped in an orderly way", code, 0),
      equal("all SUCCEEDED on the other server", count, RUNS),
      equal("each node was one execution", new Set(starts.map(({ executionId }) => executionId)).size, 2 * RUNS),
      equal("the other server runs", !staying.command.hasEnded, true),
    ];
  } finally {
    await cluster.close();
  }
}

/** Waits until so many runs SUCCEEDED. @returns their number */
function ended(site: Site, least: number): Promise<number> {
  const count = async () =>
    (await site.get<{ items: unknown[] }>("/v1/workflows?state=SUCCEEDED&limit=1000")).items.length;
  return eventually(count, (number) => number >= least);
}

export const CHECK_OF_SERVERS: Check = {
  name: `8. ${RUNS} runs go on when one of two servers is stopped`,
  run: outlivesAServer,
};
