import type { ClusterEnvironment } from "../environment/cluster.ts";
import type { Evidence } from "../judge/evidence.ts";
import type { Action } from "./actions.ts";
import { gapAfter, type Incident, quantilesOf, type Start } from "./gaps.ts";

export interface Done extends Incident {
  action: Action;
  /** Time at which everything was in place again, in milliseconds of the monotonic clock. */
  overAtMs: number;
}

/**
 * Figures of a drill. For each action: the gaps between starts in the owner's shards, the time until other nodes owned
 * these shards, and the waiting time of jobs submitted meanwhile. For the whole run: the waiting time of every job, and
 * the gaps when nothing happens.
 */
export async function drillFigures(
  { store, say }: ClusterEnvironment,
  evidence: Evidence,
  incidents: readonly Done[],
): Promise<Record<string, number>> {
  const starts = startsOf(evidence, shardOfEach(await store.sql("SELECT id, shard FROM executions")));
  const byAction = Map.groupBy(incidents, ({ action }) => action);
  const gaps = [...byAction].flatMap(([action, list]) => {
    const found = list.map((incident) => Math.round(gapAfter(incident, starts, incident.overAtMs - incident.atMs)));
    const takeovers = list.flatMap(({ takenOverMs }) => (takenOverMs === undefined ? [] : [Math.round(takenOverMs)]));
    const pickups = list.map((incident) => pickupsDuring(incident, starts));
    say(`${action}: gaps of ${found.join(", ")} ms`);
    if (takeovers.length > 0) say(`${action}: others had the shards after ${takeovers.join(", ")} ms`);
    say(
      `${action}: pickup p99 of what was asked for meanwhile ${pickups.map((list) => quantilesOf(list).p99).join(", ")} ms`,
    );
    const name = action.toLowerCase();
    return [...figures(`${name}Gap`, found), ...figures(`${name}Pickup`, pickups.flat())];
  });
  const calm = incidents.map(({ atMs, shards }) => gapAfter({ atMs: atMs - CALM_MS, shards }, starts, CALM_MS));
  const pickups = starts.map(pickupOf);
  return Object.fromEntries([...gaps, ...figures("calmGap", calm), ...figures("pickup", pickups)]);
}

function pickupsDuring({ atMs, overAtMs }: Done, starts: readonly Start[]): number[] {
  return starts.filter(({ askedAtMs }) => askedAtMs >= atMs && askedAtMs <= overAtMs).map(pickupOf);
}

function pickupOf({ atMs, askedAtMs }: Start): number {
  return atMs - askedAtMs;
}

/** Time without faults before an incident, in milliseconds. */
const CALM_MS = 1_000;

function figures(name: string, values: readonly number[]): [string, number][] {
  const { p50, p99, max } = quantilesOf(values);
  return [
    [`${name}P50Ms`, p50],
    [`${name}P99Ms`, p99],
    [`${name}MaxMs`, max],
  ];
}

function shardOfEach(rows: string): ReadonlyMap<string, number> {
  return new Map(
    rows.split("\n").map((row) => {
      const [id = "", shard] = row.split("|");
      return [id, Number(shard)];
    }),
  );
}

function startsOf({ workers, clients }: Evidence, shards: ReadonlyMap<string, number>): Start[] {
  const asked = new Map(clients.flatMap((event) => (event.event === "INTENDED" ? [[event.key, event.at]] : [])));
  const starts = workers.flatMap((event): Start[] => {
    const shard = shards.get(event.executionId);
    if (event.event !== "STARTED" || shard === undefined) return [];
    return [{ atMs: event.at, shard, askedAtMs: asked.get(event.key) ?? event.at }];
  });
  return starts.sort((a, b) => a.atMs - b.atMs);
}
