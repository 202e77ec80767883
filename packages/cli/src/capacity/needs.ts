import { type CaseKey, type Costs, figureOf } from "./costs.ts";
import { eventsCase, fleetOf, loadOf, type Part, recurringOf, sumOf } from "./load.ts";
import { memoryOf } from "./memory.ts";
import { type Plan, peakOf } from "./plan.ts";

/** One need of the plan, such as the CPU of the servers. */
export interface Need {
  name: string;
  value: number;
  unit: string;
  /** Amount that there is; null: no limit. */
  limit: number | null;
  /** Formula with its numbers. */
  formula: string;
  /** Cases of the benchmark from which the value follows. */
  from: readonly CaseKey[];
}

export interface Needs {
  nodes: number;
  workers: number;
  needs: readonly Need[];
  bottleneck: Bottleneck;
  /** Needs that are left out, and parts that are missing in others, with the cases that the report lacks. */
  notMeasured: readonly string[];
}

/** The need that reaches its limit first as the jobs of a day grow, while all else in the plan stays. */
interface Bottleneck {
  name: string;
  /** Share of its limit that the need takes now. */
  share: number;
  /** Jobs of a day at which the need is at its limit; 0: it is beyond its limit at any load. */
  jobsPerDayAtLimit: number;
}

/** Largest part of a node's core that the plan may use at its peak, so that a wave of retries or a takeover still fits. */
const PLANNED_SHARE = 0.6;
/** Connections that PostgreSQL keeps for its superuser by default. */
const RESERVED = 3;
/** Rows of a one-time job: one in `jobs`, and one in `executions`, which has its attempts. */
const ROWS_PER_JOB = 2;
const GIB = 2 ** 30;
const NODES_MAX = 10_000;
/** Rounds of the search for the load at the first limit. Each halves the range. */
const HALVINGS = 45;

/** Computes the needs of a plan from measured costs. */
export function needsOf(plan: Plan, costs: Costs): Needs {
  const { nodes, workers, needs } = needsNow(plan, costs);
  return { nodes, workers, needs, bottleneck: bottleneckOf(plan, needs, costs), notMeasured: notMeasured(plan, costs) };
}

function needsNow(plan: Plan, costs: Costs): Pick<Needs, "nodes" | "workers" | "needs"> {
  const workers = plan.workers ?? Math.max(1, Math.ceil(busySlots(plan) / plan.slots));
  const nodes = plan.nodes ?? suggestedNodes(plan, workers, costs);
  const needs = [
    ...rateNeeds(plan, workers),
    ...nodesNeeds(plan, nodes, costs),
    serverNeed(plan, nodes, workers, costs),
    ...storeNeeds(plan, nodes, costs),
    ...historyNeeds(plan, costs),
    ...nodeNeeds(plan, nodes, workers, costs),
  ];
  return { nodes, workers, needs };
}

/** Share of its limit that a need takes; null: it has no limit. */
export function shareOf({ value, limit }: Need): number | null {
  return limit === null ? null : value / limit;
}

/** Nodes whose cores, measured rate and connections of workers suffice, and one more, which may fail. */
function suggestedNodes(plan: Plan, workers: number, costs: Costs): number {
  const ofRate = Math.ceil(peakOf(plan) / measuredRate(plan, costs).jobsPerSec);
  const ofWorkers = Math.ceil(workers / costs.limits.workers);
  for (let nodes = Math.max(1, ofRate, ofWorkers); nodes < NODES_MAX; nodes++) {
    const cores = sumOf(serverParts(plan, nodes, workers, costs)) / 1_000_000;
    if (cores <= nodes * usableCores(plan) * PLANNED_SHARE) return nodes + 1;
  }
  return NODES_MAX;
}

/** Largest rate at which one node was measured. */
function measuredRate({ submits }: Plan, costs: Costs): { jobsPerSec: number; from: CaseKey } {
  const from = submits === "single" ? "submit64" : "cycle";
  return { jobsPerSec: figureOf(costs, from, "jobsPerSec") ?? 0, from };
}

/** Cores that a node can use. It is one process with one event loop. */
function usableCores({ coresPerNode }: Plan): number {
  return Math.min(1, coresPerNode);
}

function busySlots(plan: Plan): number {
  return (peakOf(plan) * plan.attempts * plan.handlerMs) / 1_000;
}

function rateNeeds(plan: Plan, workers: number): Need[] {
  const { jobsPerDay, peakFactor, attempts, handlerMs, slots } = plan;
  const peak = peakOf(plan);
  return [
    {
      name: "jobs, mean",
      value: peak / peakFactor,
      unit: "/s",
      limit: null,
      formula: `${short(jobsPerDay)} / 86,400 s`,
      from: [],
    },
    { name: "jobs, peak", value: peak, unit: "/s", limit: null, formula: `mean × ${short(peakFactor)}`, from: [] },
    {
      name: "busy slots, peak",
      value: busySlots(plan),
      unit: "",
      limit: workers * slots,
      formula: `${short(peak)}/s × ${short(attempts)} attempts × ${short(handlerMs)} ms; limit: ${short(workers)} workers × ${short(slots)} slots`,
      from: [],
    },
  ];
}

function nodesNeeds(plan: Plan, nodes: number, costs: Costs): Need[] {
  const suggestion =
    nodes === NODES_MAX
      ? "the calculator considers no more"
      : `the peak takes at most ${PLANNED_SHARE * 100} % of the cores of all but one, which may fail`;
  const rate = measuredRate(plan, costs);
  const peak = peakOf(plan);
  return [
    {
      name: "nodes",
      value: nodes,
      unit: "",
      limit: null,
      formula: plan.nodes === null ? suggestion : "as given",
      from: [],
    },
    {
      name: "jobs of a node, peak",
      value: peak / nodes,
      unit: "/s",
      limit: rate.jobsPerSec,
      formula: `${short(peak)}/s / ${short(nodes)} nodes; limit: the largest rate that was measured on one node`,
      from: [rate.from],
    },
  ];
}

function serverParts(plan: Plan, nodes: number, workers: number, costs: Costs): Part[] {
  return [
    ...loadOf("serverCpuUs", plan, nodes, costs),
    ...fleetOf({ peak: peakOf(plan), workers }, costs),
    ...recurringOf(plan.recurring, costs),
  ];
}

function serverNeed(plan: Plan, nodes: number, workers: number, costs: Costs): Need {
  const parts = serverParts(plan, nodes, workers, costs);
  return {
    name: "server CPU, peak",
    value: sumOf(parts) / 1_000_000,
    unit: "cores",
    limit: nodes * usableCores(plan),
    ...sum(parts, CPU, plan),
  };
}

function storeNeeds(plan: Plan, nodes: number, costs: Costs): Need[] {
  const { store, jobsPerDay } = plan;
  const [cpu, log, commits] = (["storeCpuUs", "logBytes", "writesPerThousand"] as const).map((figure) =>
    loadOf(figure, plan, nodes, costs),
  ) as [Part[], Part[], Part[]];
  const bytesPerJob = sumOf(log) / peakOf(plan);
  const perNode = costs.limits.connections;
  return [
    {
      name: "store CPU, peak",
      value: sumOf(cpu) / 1_000_000,
      unit: "cores",
      limit: store.cores,
      ...sum(cpu, CPU, plan),
    },
    { name: "WAL, peak", value: sumOf(log) / 1e6, unit: "MB/s", limit: store.walMbPerSec, ...sum(log, LOG, plan) },
    {
      name: "WAL of a day",
      value: (bytesPerJob * jobsPerDay) / 1e9,
      unit: "GB",
      limit: null,
      formula: `${short(bytesPerJob)} bytes × ${short(jobsPerDay)} jobs`,
      from: fromOf(log),
    },
    {
      name: "commits, peak",
      value: sumOf(commits) / 1_000,
      unit: "/s",
      limit: store.iops,
      ...sum(commits, COMMITS, plan),
    },
    {
      name: "connections",
      value: nodes * perNode + RESERVED,
      unit: "",
      limit: store.connections,
      formula: `${short(nodes)} nodes × ${perNode} + ${RESERVED} for the superuser`,
      from: [],
    },
  ];
}

function historyNeeds(plan: Plan, costs: Costs): Need[] {
  const { jobsPerDay, retentionDays, payloadBytes, resultBytes } = plan;
  const kept = jobsPerDay * retentionDays;
  const jobs = `${short(jobsPerDay)} jobs × ${short(retentionDays)} days`;
  const rows: Need = {
    name: "rows kept",
    value: kept * ROWS_PER_JOB,
    unit: "",
    limit: null,
    formula: `${jobs} × ${ROWS_PER_JOB} rows`,
    from: [],
  };
  const perJob = figureOf(costs, "storage", "bytesPerJob");
  if (perJob === null) return [rows];
  const bytes = perJob + payloadBytes + resultBytes;
  const formula = `${jobs} × (${short(perJob)} + ${short(payloadBytes)} + ${short(resultBytes)} bytes)`;
  return [
    rows,
    {
      name: "store",
      value: (kept * bytes) / GIB,
      unit: "GiB",
      limit: plan.store.gib,
      formula,
      from: ["storage"],
    },
  ];
}

function nodeNeeds(plan: Plan, nodes: number, workers: number, costs: Costs): Need[] {
  const perNode = Math.ceil(workers / nodes);
  const memory = memoryOf({ workers: perNode, recurring: plan.recurring }, costs);
  const streams: Need = {
    name: "workers of a node",
    value: perNode,
    unit: "",
    limit: costs.limits.workers,
    formula: `${short(workers)} workers / ${short(nodes)} nodes`,
    from: [],
  };
  if (memory === null) return [streams];
  return [
    streams,
    {
      name: "memory of a node, at most",
      value: memory.reduce((total, { mib }) => total + mib, 0),
      unit: "MiB",
      limit: null,
      formula: memory.map(({ name, mib }) => `${short(mib)} for ${name}`).join(" + "),
      from: [...new Set(memory.flatMap(({ from }) => from))],
    },
  ];
}

function bottleneckOf(plan: Plan, needs: readonly Need[], costs: Costs): Bottleneck {
  const fullestAt = (jobsPerDay: number) => fullestOf(needsNow({ ...plan, jobsPerDay }, costs).needs);
  let [fits, full] = [0, plan.jobsPerDay];
  while (fullestAt(full).share <= 1) [fits, full] = [full, full * 2];
  for (let round = 0; round < HALVINGS; round++) {
    const middle = (fits + full) / 2;
    if (fullestAt(middle).share <= 1) fits = middle;
    else full = middle;
  }
  const { name } = fullestAt(full);
  const share = needs.flatMap((need) => (need.name === name ? (shareOf(need) ?? []) : []))[0] ?? 0;
  return { name, share, jobsPerDayAtLimit: full < 1 ? 0 : full };
}

/** The need that takes the largest share of its limit. */
function fullestOf(needs: readonly Need[]): { name: string; share: number } {
  const shares = needs.map((need) => ({ name: need.name, share: shareOf(need) ?? 0 }));
  return shares.reduce((most, other) => (other.share > most.share ? other : most));
}

function notMeasured(plan: Plan, costs: Costs): string[] {
  const { cases } = costs;
  const key = eventsCase(plan);
  const hasEvents = key !== null && cases.eventsOff !== null && cases[key] !== null;
  const hasBytes = plan.payloadBytes + plan.resultBytes > 0;
  return [
    ...(cases.storage === null ? ["bytes of the store: the case storage is missing"] : []),
    ...(cases.storage !== null && hasBytes
      ? ["room of payloads and results in the store: each byte counts once, because jobs of the case storage have none"]
      : []),
    ...(memoryOf({ workers: 1, recurring: plan.recurring }, costs) === null
      ? ["memory of a node: a case of fleet, fair or recurring-rest is missing"]
      : []),
    ...(plan.events === "clickhouse" ? ["cost of events: no case has ClickHouse alone"] : []),
    ...(key !== null && !hasEvents ? ["cost of events: the case events is missing"] : []),
    ...bytesNotMeasured(plan, costs),
    ...(cases.fleet1 === null ? ["CPU for messages to many workers: the case fleet is missing"] : []),
    ...(plan.recurring > 0 && cases.recurring === null
      ? ["CPU for recurring jobs: the case recurring-rest is missing"]
      : []),
  ];
}

/** Costs of the bytes of payloads and results that are assumed or left out. */
function bytesNotMeasured({ payloadBytes, resultBytes }: Plan, { cases }: Costs): string[] {
  const hasCase = cases.payload !== null;
  return [
    ...(payloadBytes > 0 && !hasCase ? ["CPU for the bytes of payloads: the case payload is missing"] : []),
    ...(payloadBytes + resultBytes > 0 && !hasCase
      ? ["WAL for the bytes of payloads and results: each counts once, because the case payload is missing"]
      : []),
    ...(resultBytes > 0 ? ["CPU for the bytes of results: no case has large results"] : []),
  ];
}

interface Scale {
  /** Unit of the cost of one job. */
  unit: string;
  /** Number of these units in one unit of the need, such as microseconds in a core. */
  inNeed: number;
  /** Factor from the benchmark's figure to the cost of one job in `unit`. */
  factor: number;
}

const CPU: Scale = { unit: "µs", inNeed: 1_000_000, factor: 1 };
const LOG: Scale = { unit: "bytes", inNeed: 1_000_000, factor: 1 };
const COMMITS: Scale = { unit: "commits", inNeed: 1, factor: 1 / 1_000 };

/** Formula of a sum: the rate with the costs of a job, and costs that are there without jobs. */
function sum(parts: readonly Part[], { unit, inNeed, factor }: Scale, plan: Plan): Pick<Need, "formula" | "from"> {
  const peak = peakOf(plan);
  const ofJob = parts.filter(({ isWithoutJobs }) => isWithoutJobs !== true);
  const others = parts.filter(({ isWithoutJobs }) => isWithoutJobs === true);
  const costsOfJob = ofJob.map(({ name, perSec }) => `${short((perSec * factor) / peak)} for ${name}`).join(" + ");
  const formula = [
    `${short(peak)}/s × (${costsOfJob}) ${unit}`,
    ...others.map(({ name, perSec }) => `${short((perSec * factor) / inNeed)} for ${name}`),
  ];
  return { formula: formula.join(" + "), from: fromOf(parts) };
}

function fromOf(parts: readonly Part[]): CaseKey[] {
  return [...new Set(parts.flatMap(({ from }) => from))];
}

/** A number with three significant digits, or all digits of a whole number. */
export function short(value: number): string {
  if (Number.isInteger(value) || value >= 1_000) return Math.round(value).toLocaleString("en");
  return value.toLocaleString("en", { maximumSignificantDigits: 3 });
}
