import { type CaseKey, type CostFigure, type Costs, figureOf } from "./costs.ts";
import { type Plan, peakOf } from "./plan.ts";

/** Part of a load, such as that of second attempts. */
export interface Part {
  name: string;
  /** Amount a second: microseconds of CPU, bytes of the log, or thousandths of a commit. */
  perSec: number;
  /** Whether the part is there without any job, such as that of heartbeats. */
  isWithoutJobs?: boolean;
  /** Cases of the benchmark from which the part follows. */
  from: readonly CaseKey[];
}

/** Rates of the cases `pickup200` and `pickup2000`, in jobs a second. The benchmark sends the jobs at these rates. */
const PICKUP_RATES = { pickup200: 200, pickup2000: 2_000 } as const;
/** Payload of the case `payload`, in bytes. */
const MIB = 1_048_576;
/** Microseconds in one percent of a core's second. */
const PERCENT_US = 10_000;

/** The load that the plan's peak is for servers or the store, in a cluster of that many nodes. */
export function loadOf(figure: CostFigure, plan: Plan, nodes: number, costs: Costs): Part[] {
  const parts = [
    lifeOf(figure, plan, nodes, costs),
    hopsOf(figure, plan, nodes, costs),
    attemptsOf(figure, plan, costs),
    payloadOf(figure, plan, costs),
    eventsOf(figure, plan, costs),
  ];
  return parts.filter((part) => part !== null && part.perSec > 0) as Part[];
}

export function sumOf(parts: readonly Part[]): number {
  return parts.reduce((sum, { perSec }) => sum + perSec, 0);
}

/** Submits, assignments, starts and ends of jobs, if each node gets an equal share of the jobs and needs no other one. */
function lifeOf(figure: CostFigure, plan: Plan, nodes: number, costs: Costs): Part {
  const perJob = (key: CaseKey) => figureOf(costs, key, figure) ?? 0;
  const peak = peakOf(plan);
  if (plan.submits === "batches") return { name: "jobs in batches", perSec: peak * perJob("cycle"), from: ["cycle"] };
  const saturated = figureOf(costs, "submit64", "jobsPerSec") ?? 0;
  const points: [rate: number, perJob: number][] = [
    [PICKUP_RATES.pickup200, perJob("pickup200")],
    [PICKUP_RATES.pickup2000, perJob("pickup2000")],
    [saturated, perJob("submit64") + perJob("drain")],
  ];
  return {
    name: "single jobs",
    perSec: nodes * amountAt(points, peak / nodes),
    from: ["pickup200", "pickup2000", "submit64", "drain"],
  };
}

/**
 * Amount a second at a rate, on the straight line between the two nearest measured rates. Below the first one and above
 * the last one, a job costs as much as there.
 */
export function amountAt(points: readonly (readonly [rate: number, perJob: number])[], rate: number): number {
  const sorted = points.toSorted(([a], [b]) => a - b);
  const amounts = [[0, 0] as const, ...sorted.map(([at, perJob]) => [at, at * perJob] as const)];
  const above = amounts.findIndex(([at]) => at > rate);
  if (above === -1) return rate * (sorted.at(-1)?.[1] ?? 0);
  const [[fromRate, from], [toRate, to]] = [amounts[above - 1] ?? [0, 0], amounts[above] ?? [1, 0]];
  return from + ((to - from) * (rate - fromRate)) / (toRate - fromRate);
}

/**
 * Work for jobs whose messages cross nodes. A job has its owner, its gateway and the node that accepted it among all
 * nodes alike, so in a cluster of n nodes the share (n − 1) / n of its messages cross. One and three nodes were measured.
 */
function hopsOf(figure: CostFigure, plan: Plan, nodes: number, costs: Costs): Part {
  const perJob = (key: CaseKey) => figureOf(costs, key, figure) ?? 0;
  const ofEveryMessage = Math.max(0, perJob("cluster3") - perJob("cluster1")) / (2 / 3);
  const crossing = (nodes - 1) / nodes;
  return {
    name: "messages between nodes",
    perSec: peakOf(plan) * ofEveryMessage * crossing,
    from: ["cluster1", "cluster3"],
  };
}

/** Attempts beyond the first one of each job. Each costs as much as the drain of a job. */
function attemptsOf(figure: CostFigure, plan: Plan, costs: Costs): Part {
  const perAttempt = figureOf(costs, "drain", figure) ?? 0;
  return { name: "further attempts", perSec: peakOf(plan) * (plan.attempts - 1) * perAttempt, from: ["drain"] };
}

/** Work for the bytes of payloads, and of results in the log. Without a measurement, the log gets each byte once. */
function payloadOf(figure: CostFigure, plan: Plan, costs: Costs): Part | null {
  const ofOneMib = figureOf(costs, "payload", figure);
  const { payloadBytes, resultBytes } = plan;
  if (figure === "writesPerThousand") return null;
  if (figure !== "logBytes")
    return { name: "payload", perSec: peakOf(plan) * (payloadBytes / MIB) * (ofOneMib ?? 0), from: ["payload"] };
  const perByte = ofOneMib === null ? 1 : ofOneMib / MIB;
  return {
    name: "payload and result",
    perSec: peakOf(plan) * (payloadBytes + resultBytes) * perByte,
    from: ofOneMib === null ? [] : ["payload"],
  };
}

/** Case that measures the plan's events; null: it has none, or no case measures them. */
export function eventsCase({ events }: Plan): "eventsApi" | "eventsKafka" | null {
  if (events === "api") return "eventsApi";
  return events === "kafka" ? "eventsKafka" : null;
}

function eventsOf(figure: CostFigure, plan: Plan, costs: Costs): Part | null {
  const key = eventsCase(plan);
  if (key === null) return null;
  const [without, withEvents] = [figureOf(costs, "eventsOff", figure), figureOf(costs, key, figure)];
  if (without === null || withEvents === null) return null;
  return {
    name: "events",
    perSec: peakOf(plan) * Math.max(0, withEvents - without),
    from: ["eventsOff", key],
  };
}

/**
 * CPU for messages to many workers, at most. A job of a fleet takes longer than a job of one worker, because its messages
 * are single. The difference is counted as CPU of the server, whose event loop cannot have used more.
 */
export function fleetOf({ peak, workers }: { peak: number; workers: number }, costs: Costs): Part[] {
  const [rate, ratio] = [figureOf(costs, "fleet1", "jobsPerSec"), figureOf(costs, "fleet1", "ratio")];
  const percent = figureOf(costs, "fleet1", "cpuPercent");
  const measured = costs.cases.fleet1?.size ?? null;
  if (rate === null || ratio === null || percent === null || measured === null) return [];
  const longerUs = Math.max(0, 1 - ratio) * (1_000_000 / rate);
  return [
    { name: "messages to many workers", perSec: peak * longerUs * Math.min(1, workers / measured), from: ["fleet1"] },
    { name: "heartbeats", perSec: (workers / measured) * percent * PERCENT_US, isWithoutJobs: true, from: ["fleet1"] },
  ].filter(({ perSec }) => perSec > 0) as Part[];
}

/** CPU for recurring jobs between their instants. */
export function recurringOf(recurring: number, costs: Costs): Part[] {
  const percent = figureOf(costs, "recurring", "cpuPercent");
  const measured = costs.cases.recurring?.size ?? null;
  if (percent === null || measured === null || recurring === 0) return [];
  const perSec = (recurring / measured) * percent * PERCENT_US;
  return [{ name: "recurring jobs", perSec, isWithoutJobs: true, from: ["recurring"] }];
}
