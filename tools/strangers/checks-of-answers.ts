import { type Check, equal, eventually, type Finding, has, type Site } from "./site.ts";

const echo = { handler: "echo" };
const nobody = { handler: "no-worker-offers-this" };

/** Wrong graphs, each with the message that it must get. */
const WRONG: readonly { what: string; nodes: object[]; says: RegExp }[] = [
  {
    what: "a cycle is refused, and its nodes are named",
    nodes: [
      { name: "a", target: echo, dependsOn: ["b"] },
      { name: "b", target: echo, dependsOn: ["a"] },
    ],
    says: /depends on itself: a → b → a|depends on itself: b → a → b/,
  },
  {
    what: "an unknown parent is refused",
    nodes: [{ name: "a", target: echo, dependsOn: ["b"] }],
    says: /"a" depends on "b", which is no node/,
  },
  {
    what: "a node that depends on itself is refused",
    nodes: [{ name: "a", target: echo, dependsOn: ["a"] }],
    says: /"a" depends on itself$/,
  },
  {
    what: "a reference to a node that is no ancestor is refused",
    nodes: [
      { name: "a", target: echo },
      { name: "b", target: echo, payload: { $from: "a" } },
    ],
    says: /"b": refers to "a", which need not end before it/,
  },
];

async function refusesWrongGraphs(site: Site): Promise<Finding[]> {
  const count = async () => (await site.get<{ items: unknown[] }>("/v1/workflows?limit=1000")).items.length;
  const before = await count();
  const findings: Finding[] = [];
  for (const { what, nodes, says } of WRONG) {
    const answer = await site.post<{ detail: string }>("/v1/workflows", { nodes });
    findings.push(equal(`${what} with 400`, answer.status, 400), has(what, answer.detail, says));
  }
  findings.push(equal("no run was made", (await count()) - before, 0));
  return findings;
}

interface Explanation {
  reasons: { reason: string; heldBy?: { executionId: string }[] }[];
}

async function explainsWhatWaits(site: Site): Promise<Finding[]> {
  const { workflowId } = await site.post<{ workflowId: string }>("/v1/workflows", {
    nodes: [
      { name: "left", target: nobody },
      { name: "right", target: nobody },
      { name: "both", target: echo, dependsOn: ["left", "right"] },
    ],
  });
  const explained = await site.mainspring("workflow", "explain", workflowId, "both");
  const keyed = { concurrencyKey: "strangers", nodes: [{ name: "a", target: nobody }] };
  const first = await site.post<{ workflowId: string }>("/v1/workflows", keyed);
  const read = () => site.get<{ state: string }>(`/v1/workflows/${first.workflowId}`);
  await eventually(read, ({ state }) => state === "RUNNING");
  const second = await site.post<{ workflowId: string }>("/v1/workflows", keyed);
  const explain = () => site.get<Explanation>(`/v1/executions/${second.workflowId}/explain`);
  const isKeyed = ({ reason }: { reason: string }) => reason === "KEY_AT_LIMIT";
  const why = (await eventually(explain, ({ reasons }) => reasons.some(isKeyed))).reasons.find(isKeyed);
  for (const run of [workflowId, second.workflowId, first.workflowId])
    await site.post(`/v1/workflows/${run}/cancel`, {});
  return [
    has(
      "a blocked node names the nodes that it waits for",
      explained.stdout,
      /PARENTS_OPEN .*open 2.*"left", ?"right"/,
    ),
    equal(
      "a run that waits for its key names the run that has it",
      why?.heldBy?.map(({ executionId }) => executionId),
      [first.workflowId],
    ),
  ];
}

export const CHECKS_OF_ANSWERS: readonly Check[] = [
  { name: "4. wrong graphs are refused, and start nothing", run: refusesWrongGraphs },
  { name: "7. what waits is explained", run: explainsWhatWaits },
];
