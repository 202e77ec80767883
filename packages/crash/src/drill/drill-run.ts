import { monotonicMs, sleep, until } from "../clock.ts";
import { type ClusterEnvironment, openCluster } from "../environment/cluster.ts";
import type { Node } from "../faults/world.ts";
import type { Evidence } from "../judge/evidence.ts";
import { judge } from "../judge/judge.ts";
import { type Outcome, play, type Report, type Telling } from "../play.ts";
import { settle } from "../settle.ts";
import { warmUp } from "../warm-up.ts";
import { ACTIONS, type Action, FAILOVERS, OUTAGE_MS, OUTAGES } from "./actions.ts";
import { type Done, drillFigures } from "./drill-figures.ts";
import { SHARDS } from "./gaps.ts";
import { judgeLogs, type Mark, marksOf, since } from "./outage-marks.ts";

/** Default number of jobs a second of each of the two clients. */
export const DRILL_RATE = 60;

export interface DrillOptions extends Telling {
  /** Number of repetitions of each action. */
  times: Partial<Record<Action, number>>;
  /** Jobs a second of each of the two clients; default: `DRILL_RATE`. */
  rate?: number;
  /** Duration of each outage in milliseconds; default: `OUTAGE_MS`. */
  outageMs?: number;
}

const NODES = 3;
const CALM_WITHIN_MS = 90_000;
const CALM_MS = 1_000;

/**
 * Applies the same action to one node of a cluster after the other, or to its PostgreSQL, under a steady load of small
 * jobs, and measures the effect on the work. No job may be lost, fail or run twice, because workers and their links are
 * not touched.
 * @throws {Error} something did not recover in time; the message names the folder with the logs
 */
export function drillRun({
  times,
  rate = DRILL_RATE,
  outageMs = OUTAGE_MS,
  ...telling
}: DrillOptions): Promise<Report> {
  return play("drill", telling, async (context) => {
    const findsPrimary = FAILOVERS.some((action) => (times[action] ?? 0) > 0);
    const environment = await openCluster({ ...context, nodes: NODES, steadyRate: rate, findsPrimary });
    try {
      await warmUp(environment);
      environment.say("under load");
      return await runOn(environment, times, outageMs);
    } finally {
      await environment.close();
    }
  });
}

async function runOn(
  environment: ClusterEnvironment,
  times: DrillOptions["times"],
  outageMs: number,
): Promise<Outcome> {
  const incidents: Done[] = [];
  const outages: Mark[] = [];
  const actions = (Object.entries(times) as [Action, number][]).filter(([, count]) => count > 0);
  await everythingIsInPlace(environment);
  for (const [action, count] of actions) {
    for (let turn = 0; turn < count; turn++) {
      const before = await marksOf(environment.nodes);
      const incident = await ACTIONS[action].perform(environment, environment.nodes[turn % NODES] as Node, outageMs);
      await everythingIsInPlace(environment);
      if (OUTAGES.includes(action)) outages.push(...since(before, await marksOf(environment.nodes)));
      incidents.push({ action, ...incident, overAtMs: monotonicMs() });
    }
  }
  const demanded: Evidence["demanded"] = {};
  for (const [action, count] of actions)
    demanded[ACTIONS[action].event] = count + (demanded[ACTIONS[action].event] ?? 0);
  const evidence = await settle(environment, demanded, null);
  const { violations, figures } = judge(evidence, (times.LOSSY_FAILOVER ?? 0) > 0 ? "lossy" : "drill");
  const logs = judgeLogs(outages);
  return {
    violations: [...violations, ...logs.violations],
    figures: { ...figures, ...logs.figures, ...(await drillFigures(environment, evidence, incidents)) },
  };
}

/** Resolves when every node has had its share of the shards for a moment. */
export async function everythingIsInPlace({ store }: ClusterEnvironment): Promise<void> {
  // All nodes but one may have the largest possible share.
  const share = SHARDS - (NODES - 1) * Math.ceil(SHARDS / NODES);
  await until("every node has its share of the shards", CALM_WITHIN_MS, async () => {
    const owners = await store.sql("SELECT owner, count(*) FROM shards GROUP BY owner");
    const counts = owners.split("\n").map((line) => Number(line.split("|")[1]));
    return counts.length === NODES && counts.every((count) => count >= share) ? true : null;
  });
  await sleep(CALM_MS);
}
