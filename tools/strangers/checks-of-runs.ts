import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Check, equal, eventually, type Finding, has, type Site } from "./site.ts";

interface Node {
  name: string;
  state: string;
  executionId: string | null;
  because: { kind: string; dependencies: { node: string }[] } | null;
}
interface Run {
  workflowId: string;
  state: string;
  result: unknown;
  failed: { name: string }[];
}

async function nodesOf(site: Site, workflowId: string): Promise<Map<string, Node>> {
  const { items } = await site.get<{ items: Node[] }>(`/v1/workflows/${workflowId}/nodes`);
  return new Map(items.map((node) => [node.name, node]));
}

/** Starts of handlers of a run, each as `handler attempt`. */
async function startsOf(site: Site, nodes: ReadonlyMap<string, Node>): Promise<string[]> {
  const starts = await site.starts([...nodes.values()].map(({ executionId }) => executionId));
  return starts.map(({ handler, attempt }) => `${handler} ${attempt}`);
}

function statesOf(nodes: ReadonlyMap<string, Node>): Record<string, string> {
  return Object.fromEntries([...nodes].map(([name, { state }]) => [name, state]));
}

async function runsToItsEnd(site: Site): Promise<Finding[]> {
  const watched = await site.mainspring("workflow", "submit", "examples/workflows/etl.yaml", "--watch");
  const workflowId = /workflow (\S+) of/.exec(watched.stdout)?.[1] ?? "";
  const graph = await site.mainspring("workflow", "graph", workflowId);
  const nodes = await nodesOf(site, workflowId);
  return [
    equal("the command ends with 0", watched.code, 0),
    has("it draws the graph", graph.stdout, /^6 nodes in 5 layers/),
    has("the run SUCCEEDED", watched.stdout, /^state +SUCCEEDED/),
    has("its output is printed", watched.stdout, /^result .*"customers": ?2, ?"sum": ?90/),
    equal("one branch is skipped, and so is the alarm", statesOf(nodes), {
      ...{ extract: "SUCCEEDED", check: "SUCCEEDED", totals: "SUCCEEDED" },
      ...{ quarantine: "SKIPPED", report: "SUCCEEDED", alarm: "SKIPPED" },
    }),
    equal("each handler started once, after the one before", await startsOf(site, nodes), [
      ...["extract-orders 1", "check-orders 1", "add-up-orders 1", "file-report 1"],
    ]),
  ];
}

async function runsItsFailedPartAgain(site: Site): Promise<Finding[]> {
  const file = join(site.folder, "prices.json");
  await writeFile(file, "no price list\n");
  const input = JSON.stringify({ prices: file });
  const broken = ["workflow", "submit", "examples/workflows/break.yaml", "--input", input, "--wait"];
  const first = await site.json<Run>(...broken);
  const nodes = await nodesOf(site, first.workflowId);
  const because = nodes.get("publish")?.because;
  const before = await startsOf(site, nodes);

  await writeFile(file, '{"tea": 3, "milk": 1}\n');
  const again = await site.json<Run>("workflow", "retry", first.workflowId, "--wait");
  return [
    equal("the command ends with 4, and the run is DEAD", [first.code, first.state], [4, "DEAD"]),
    equal(
      "the run names its DEAD node",
      first.failed.map(({ name }) => name),
      ["prices"],
    ),
    equal("the alarm ran", nodes.get("alarm")?.state, "SUCCEEDED"),
    equal(
      "the node after it is SKIPPED because of it",
      [because?.kind, because?.dependencies.map(({ node }) => node)],
      ["DEPENDENCIES", ["prices"]],
    ),
    equal("the failing handler started twice", before, ["count-stock 1", "read-prices 1", "read-prices 2", "note 1"]),
    equal("the retry SUCCEEDED with an output", [again.code, again.state, again.result], [0, "SUCCEEDED", ["tea"]]),
    equal("only failed and skipped nodes ran in it", await startsOf(site, await nodesOf(site, again.workflowId)), [
      "read-prices 1",
      "publish-prices 1",
    ]),
  ];
}

async function skipsWhatOverlaps(site: Site): Promise<Finding[]> {
  const file = ["workflow", "submit", "examples/workflows/every-ten-seconds.yaml"];
  const { jobId } = await site.json<{ jobId: string }>(...file, "--every", "1s", "--input", '{"ms": 2500}');
  const ledger = await ledgerWith(site, jobId, ["RAN", "SKIPPED", "RAN"]);
  const deleted = await site.mainspring("jobs", "delete", jobId);
  const skipped = ledger.filter(({ outcome }) => outcome === "SKIPPED");
  return [
    equal(
      "some instants run, and those in which a run is open are skipped",
      ["RAN", "SKIPPED"].filter((one) => ledger.some(({ outcome }) => outcome === one)),
      ["RAN", "SKIPPED"],
    ),
    equal("the ledger says why", [...new Set(skipped.map(({ reason }) => reason))], ["OVERLAP"]),
    equal("the job can be deleted", deleted.code, 0),
  ];
}

interface LedgerItem {
  scheduledAt: string;
  outcome: string;
  reason: string | null;
}

/** Waits until the ledger has these outcomes in this order, among others. @returns final instants, the oldest first */
function ledgerWith(site: Site, jobId: string, outcomes: readonly string[]): Promise<LedgerItem[]> {
  const read = async () => (await site.get<{ items: LedgerItem[] }>(`/v1/jobs/${jobId}/ledger`)).items.reverse();
  return eventually(read, (ledger) => {
    let met = 0;
    for (const { outcome } of ledger) if (outcome === outcomes[met]) met++;
    return met === outcomes.length;
  });
}

export const CHECKS_OF_RUNS: readonly Check[] = [
  { name: "1. etl.yaml runs to its end", run: runsToItsEnd },
  { name: "2. break.yaml fails, and a retry runs only what has failed", run: runsItsFailedPartAgain },
  { name: "5. every-ten-seconds.yaml skips instants in which a run is open", run: skipsWhatOverlaps },
];
