import { monotonicMs, sleep, until } from "../clock.ts";
import type { Node } from "../faults/world.ts";
import type { Evidence } from "../judge/evidence.ts";
import { judge } from "../judge/judge.ts";
import { type Outcome, play, type Report, type Telling } from "../play.ts";
import { settle } from "../settle.ts";
import { type ClusterStage, openCluster } from "../stage/cluster.ts";
import { warmUp } from "../warm-up.ts";
import { DEEDS, type Deed, FAILOVERS, OUTAGE_MS, OUTAGES } from "./deeds.ts";
import { type Done, drillFigures } from "./drill-figures.ts";
import { SHARDS } from "./gaps.ts";
import { judgeLogs, type Mark, marksOf, since } from "./outage-marks.ts";

/** Jobs a second of each of the two clients, where nobody says otherwise. */
export const DRILL_RATE = 60;

export interface DrillOptions extends Telling {
  /** How often each is done. */
  times: Partial<Record<Deed, number>>;
  /** Jobs a second of each of the two clients; default: `DRILL_RATE`. */
  rate?: number;
  /** Duration of each outage; default: `OUTAGE_MS`. */
  outageMs?: number;
}

const NODES = 3;
const CALM_WITHIN_MS = 90_000;
const CALM_MS = 1_000;

/**
 * Does the same to one node of a cluster after the other, or to its PostgreSQL, under a steady load of small jobs, and
 * measures what becomes of the work. Nothing may be lost, fail or run twice: no worker is touched, and no way to one.
 * @throws {Error} something did not come back in time; the message names the folder with the logs
 */
export function drillRun({
  times,
  rate = DRILL_RATE,
  outageMs = OUTAGE_MS,
  ...telling
}: DrillOptions): Promise<Report> {
  return play("drill", telling, async (ground) => {
    const findsPrimary = FAILOVERS.some((deed) => (times[deed] ?? 0) > 0);
    const stage = await openCluster({ ...ground, nodes: NODES, steadyRate: rate, findsPrimary });
    try {
      await warmUp(stage);
      stage.say("under load");
      return await runOn(stage, times, outageMs);
    } finally {
      await stage.close();
    }
  });
}

async function runOn(stage: ClusterStage, times: DrillOptions["times"], outageMs: number): Promise<Outcome> {
  const incidents: Done[] = [];
  const outages: Mark[] = [];
  const deeds = (Object.entries(times) as [Deed, number][]).filter(([, count]) => count > 0);
  await everythingIsInPlace(stage);
  for (const [deed, count] of deeds) {
    for (let turn = 0; turn < count; turn++) {
      const before = await marksOf(stage.nodes);
      const incident = await DEEDS[deed].perform(stage, stage.nodes[turn % NODES] as Node, outageMs);
      await everythingIsInPlace(stage);
      if (OUTAGES.includes(deed)) outages.push(...since(before, await marksOf(stage.nodes)));
      incidents.push({ deed, ...incident, overAtMs: monotonicMs() });
    }
  }
  const demanded: Evidence["demanded"] = {};
  for (const [deed, count] of deeds) demanded[DEEDS[deed].event] = count + (demanded[DEEDS[deed].event] ?? 0);
  const evidence = await settle(stage, demanded, null);
  const { violations, figures } = judge(evidence, (times.LOSSY_FAILOVER ?? 0) > 0 ? "lossy" : "drill");
  const logs = judgeLogs(outages);
  return {
    violations: [...violations, ...logs.violations],
    figures: { ...figures, ...logs.figures, ...(await drillFigures(stage, evidence, incidents)) },
  };
}

/** Every node has its share, and has had it for a moment. */
export async function everythingIsInPlace({ store }: ClusterStage): Promise<void> {
  // All but one may have as many as there may be.
  const share = SHARDS - (NODES - 1) * Math.ceil(SHARDS / NODES);
  await until("every node has its share of the shards", CALM_WITHIN_MS, async () => {
    const owners = await store.sql("SELECT owner, count(*) FROM shards GROUP BY owner");
    const counts = owners.split("\n").map((line) => Number(line.split("|")[1]));
    return counts.length === NODES && counts.every((count) => count >= share) ? true : null;
  });
  await sleep(CALM_MS);
}
