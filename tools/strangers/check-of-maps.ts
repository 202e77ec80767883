import { TestCluster } from "../../packages/cli/test/testing/cluster.ts";
import { type Check, equal, eventually, type Finding, has, Site } from "./site.ts";

const MAP = "squares";
/** Largest number of live items, as `examples/workflows/many.yaml` says. */
const MAX_RUNNING = 50;
/** Shortest time of the whole map, in milliseconds. */
const RUN_MS = 8_000;

interface MapNode {
  state: string;
  items: { total: number | null; SCHEDULED: number; PENDING: number; RUNNING: number; SUCCEEDED: number };
}

async function outlivesTheServer(count: number, { folder }: Site): Promise<Finding[]> {
  const cluster = await TestCluster.open();
  try {
    const first = await cluster.node();
    const { httpUrl, grpcAddress } = first;
    const site = new Site(httpUrl, { MAINSPRING_URL: httpUrl, MAINSPRING_GRPC_URL: grpcAddress }, folder, "map");
    const worker = site.startWorker();
    const input = JSON.stringify({ count, ms: Math.ceil(RUN_MS * (MAX_RUNNING / count)) });
    const { workflowId } = await site.json<{ workflowId: string }>(
      ...["workflow", "submit", "examples/workflows/many.yaml", "--input", input],
    );
    let most = 0;
    const ended = async () => {
      const { items } = await site.get<MapNode>(`/v1/workflows/${workflowId}/nodes/${MAP}`);
      most = Math.max(most, items.SCHEDULED + items.PENDING + items.RUNNING);
      return items.SUCCEEDED;
    };
    await eventually(ended, (number) => number >= count / 6);
    const shown = await site.mainspring("workflow", "show", workflowId);
    first.command.signal("SIGKILL");
    await first.command.done;
    const before = new Set((await site.starts()).map(({ executionId }) => executionId));
    const [http, grpc] = [httpUrl.replace("http://", ""), grpcAddress];
    await cluster.node({ MAINSPRING_HTTP: http, MAINSPRING_GRPC: grpc });
    await eventually(ended, (number) => number === count);
    const end = await site.json<{ state: string; result: unknown }>("workflow", "show", workflowId, "--wait");
    const starts = (await site.starts()).filter(({ handler }) => handler === "square").map((one) => one.executionId);
    worker.signal("SIGTERM");
    await worker.done;
    const seen = new Set<string>();
    const again = starts.filter((id) => seen.size === seen.add(id).size);
    const results = await site.mainspring("workflow", "results", workflowId, MAP, "--from", String(count - 1));
    return [
      has("`workflow show` says how many items are live", shown.stdout, /^squares +RUNNING .*\/[\d,]+, \d+ live/),
      equal("no more items were live than the map allows", most <= MAX_RUNNING, true),
      equal("the server was killed while items ran, and some had not begun", before.size < count, true),
      equal("the run SUCCEEDED after the restart", end.state, "SUCCEEDED"),
      equal("a later node got the results of all items", end.result, sumOfSquares(count)),
      has(
        "the results are in the order of the items",
        results.stdout,
        new RegExp(`^${count - 1} +SUCCEEDED +${count ** 2}$`),
      ),
      equal("each item is one execution", seen.size, count),
      equal("no more items started twice than ran when the server was killed", again.length <= MAX_RUNNING, true),
      equal(
        "these had started before",
        again.every((id) => before.has(id)),
        true,
      ),
    ];
  } finally {
    await cluster.close();
  }
}

function sumOfSquares(count: number) {
  return { count, sum: (count * (count + 1) * (2 * count + 1)) / 6 };
}

/** @param count number of items */
export function checkOfMaps(count: number): Check {
  return {
    name: `3. the ${count} items of a map run once each, whatever happens to the server`,
    run: (site) => outlivesTheServer(count, site),
  };
}
