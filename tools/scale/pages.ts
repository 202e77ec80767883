import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { FIGURES } from "../../packages/bench/src/figures.ts";
import type { CaseKey, Costs, Figure } from "../../packages/cli/src/capacity/costs.ts";
import { needsOf, short } from "../../packages/cli/src/capacity/needs.ts";
import type { Plan } from "../../packages/cli/src/capacity/plan.ts";
import { capacityText, percent, rounded, rowOf } from "../../packages/cli/src/text/capacity-text.ts";
import { STORE_CONNECTIONS_MAX, STORE_POOL_SIZES } from "../../packages/server/src/testing.ts";
import { code, table } from "../reference/markdown.ts";
import { costsOf, readReports } from "./costs.ts";

const ROOT = join(import.meta.dirname, "../..");

/** File that `npm run scale` derives from the results of the benchmark. */
interface Derived {
  /** Path from the repository's root. */
  path: string;
  is: string;
  shouldBe: string;
}

const TABLE = "packages/cli/src/capacity/measured-costs.json";
const PAGES = ["docs/scale.md", "docs/deploy/capacity.md"] as const;

/** PostgreSQL of all sizes: a large server with local disks. No such server was measured. */
const STORE: Plan["store"] = { cores: 32, connections: 500, walMbPerSec: 500, iops: 20_000, gib: 10_000 };

const USUAL: Omit<Plan, "submits" | "jobsPerDay"> = {
  peakFactor: 3,
  payloadBytes: 1_024,
  resultBytes: 256,
  attempts: 1.05,
  retentionDays: 7,
  workers: null,
  slots: 100,
  handlerMs: 100,
  recurring: 0,
  nodes: null,
  coresPerNode: 1,
  events: "off",
  store: STORE,
};

interface Size {
  title: string;
  plan: Omit<Plan, "submits">;
}

const SIZES: readonly Size[] = [
  { title: "100 million jobs a day", plan: { ...USUAL, jobsPerDay: 100_000_000 } },
  { title: "1 million jobs a minute, all day", plan: { ...USUAL, jobsPerDay: 1_440_000_000, peakFactor: 1 } },
  {
    title: "10,000 workers with 100 million jobs a day",
    plan: { ...USUAL, jobsPerDay: 100_000_000, workers: 10_000, slots: 10 },
  },
];
const SUBMITS = ["single", "batches"] as const;

/** All derived files as they are, and as they follow from the results. */
export function derived(): Derived[] {
  const costs = costsOf(readReports());
  const parts = partsOf(costs);
  const read = (path: string) => readFileSync(join(ROOT, path), "utf8");
  return [
    { path: TABLE, is: read(TABLE), shouldBe: `${JSON.stringify(costs, null, 2)}\n` },
    ...PAGES.map((path) => ({ path, is: read(path), shouldBe: filled(read(path), parts) })),
  ];
}

export function write({ path, shouldBe }: Derived): void {
  writeFileSync(join(ROOT, path), shouldBe);
}

/** Puts generated parts between their marks: `<!-- begin: NAME, … -->` and `<!-- end -->`. */
export function filled(page: string, parts: ReadonlyMap<string, string>): string {
  return page.replaceAll(/(<!-- begin: (\w+),[^>]*-->\n)[^]*?(<!-- end -->)/g, (_, begin, name: string, end) => {
    const part = parts.get(name);
    if (part === undefined) throw new Error(`there is no generated part ${name}: ${[...parts.keys()].join(", ")}`);
    return `${begin}\n${part}\n\n${end}`;
  });
}

function partsOf(costs: Costs): Map<string, string> {
  return new Map([
    ["bottlenecks", bottlenecks(costs)],
    ...SIZES.map((size, index) => [`size${index + 1}`, sizePart(size, costs)] as const),
    ["check", checkOfHops(costs)],
    ["inputs", inputs(costs)],
    ["machines", machines(costs)],
    ["missing", missing(costs)],
    ["connections", connections()],
    ["sample", sample(costs)],
  ]);
}

function bottlenecks(costs: Costs): string {
  const rows = SIZES.flatMap(({ title, plan }) =>
    SUBMITS.map((submits) => {
      const { nodes, bottleneck } = needsOf({ ...plan, submits }, costs);
      const atLimit = rounded(bottleneck.jobsPerDayAtLimit / 1e6);
      return [title, submits, short(nodes), bottleneck.name, percent(bottleneck.share), `${atLimit} million`];
    }),
  );
  return table(["size", "submits", "nodes", "first bottleneck", "of its limit", "full at jobs a day"], rows);
}

function sizePart({ title, plan }: Size, costs: Costs): string {
  const results = SUBMITS.map((submits) => ({ submits, ...needsOf({ ...plan, submits }, costs) }));
  const tables = results.map(({ submits, needs }) => {
    const rows = needs.map((need) => [...rowOf(need), need.from.map((key) => code(key)).join(", ") || "–"]);
    return `${submits === "single" ? "Submits one by one" : "Submits in batches of 1,000"}:\n\n${table(["need", "amount", "of its limit", "formula", "measured in"], rows)}`;
  });
  return [`${title}, as a command:`, `\`\`\`sh no-run\n${commandOf(plan)}\n\`\`\``, ...tables].join("\n\n");
}

function commandOf(plan: Omit<Plan, "submits">): string {
  const { store } = plan;
  const options: [string, number | null][] = [
    ["jobs-per-day", plan.jobsPerDay],
    ["peak-factor", plan.peakFactor],
    ["payload-bytes", plan.payloadBytes],
    ["result-bytes", plan.resultBytes],
    ["attempts", plan.attempts],
    ["retention-days", plan.retentionDays],
    ["workers", plan.workers],
    ["slots", plan.slots],
    ["handler-ms", plan.handlerMs],
    ["store-cores", store.cores],
    ["store-connections", store.connections],
    ["store-wal", store.walMbPerSec],
    ["store-iops", store.iops],
    ["store-gib", store.gib],
  ];
  const words = options.flatMap(([name, value]) => (value === null ? [] : [`--${name} ${value}`]));
  return `mainspring capacity ${words.join(" ")} --submits single`;
}

/** The model for messages between nodes follows from one and three nodes. Two nodes were measured, and check it. */
function checkOfHops({ cases: { cluster1, cluster2, cluster3 } }: Costs): string {
  const rows = (["serverCpuUs", "storeCpuUs", "logBytes", "writesPerThousand"] as const).map((figure) => {
    const [one, two, three] = [cluster1, cluster2, cluster3].map(({ figures }) => figures[figure] ?? 0) as [
      number,
      number,
      number,
    ];
    const every = Math.max(0, three - one) / (2 / 3);
    return [FIGURES[figure].title, short(one), short(three), short(one + every / 2), short(two), short(one + every)];
  });
  return table(
    ["figure", "1 node", "3 nodes", "2 nodes by the model", "2 nodes measured", "very many nodes by the model"],
    rows,
  );
}

/** Tasks of the connections of each pool. */
const TASKS: Record<keyof typeof STORE_POOL_SIZES, string> = {
  commit: "transitions of executions, one commit after the other",
  submit: "jobs that clients submit",
  read: "the scheduler's reads of what falls due",
  query: "reads of the API",
  list: "lists of the API",
  maintain: "upkeep: months, retention",
  lease: "the lease of the node",
};

function connections(): string {
  const pools = Object.entries(STORE_POOL_SIZES).map(([purpose, size]) => [
    code(purpose),
    TASKS[purpose as keyof typeof TASKS],
    `${size}`,
  ]);
  const claim = [code("claim"), "the claim to the store, and its notifications (`LISTEN`)", "1"];
  const total = ["", "**at most, for each node**", `**${STORE_CONNECTIONS_MAX}**`];
  return table(["purpose", "for", "connections"], [...pools, claim, total]);
}

/** Load of the example in the guide. */
const EXAMPLE: Plan = {
  ...{ ...USUAL, jobsPerDay: 10_000_000, attempts: 1, retentionDays: 30, slots: 10, submits: "single" },
  store: { cores: 8, connections: 100, walMbPerSec: 100, iops: 3_000, gib: 1_000 },
};

function sample(costs: Costs): string {
  return `\`\`\`text output\n${capacityText(needsOf(EXAMPLE, costs), costs)}\n\`\`\``;
}

function inputs(costs: Costs): string {
  const rows = (Object.keys(costs.cases) as CaseKey[]).flatMap((key) => {
    const measured = costs.cases[key];
    if (measured === null) return [];
    const { case: name, contender, commit, at, runs, file } = measured;
    const figures = (Object.entries(measured.figures) as [Figure, number][])
      .map(([figure, value]) => `${costs.titles[figure]} ${short(value)}`)
      .join("; ");
    return [[code(key), code(name), code(contender), figures, `${runs}`, code(commit), at.slice(0, 10), code(file)]];
  });
  return table(["here", "case", "contender", "figures", "runs", "commit", "day", "file"], rows);
}

function machines(costs: Costs): string {
  return table(
    ["file", "machine"],
    Object.entries(costs.machines).map(([file, machine]) => [
      code(file),
      ["CPU", "memory", "system", "PostgreSQL", "Node"].map((name) => `${name} ${machine[name] ?? "–"}`).join("; "),
    ]),
  );
}

function missing(costs: Costs): string {
  const absent = (Object.keys(costs.cases) as CaseKey[]).filter((key) => costs.cases[key] === null);
  if (absent.length === 0) return "These results have every case that the calculator can use.";
  return `These results have no figure for ${absent.map((key) => code(key)).join(", ")}. Needs that rest on them are left out.`;
}
