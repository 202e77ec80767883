import type { Execution } from "@mainspring/sdk";
import { quantilesOf } from "./gaps.ts";

/** A node that was killed together with the worker beside it. */
export interface Crash {
  /** Time of the kill on the wall clock, as the attempts' times, in milliseconds since 1970. */
  atMs: number;
  /** Shards that the node owned. */
  shards: ReadonlySet<number>;
  /** Prefix of the ids of its built-in worker. */
  builtIn: string;
  /** Id of the worker that died with the node. */
  external: string;
}

/** Work that was assigned to a worker of the node, or ran there. */
export interface Flight {
  worker: "BUILT_IN" | "EXTERNAL";
  /** TAKEN_OVER: the killed node owned the shard. KEPT: a node owned the shard that lived on. */
  shard: "TAKEN_OVER" | "KEPT";
  /** Time from the kill to the start of the next attempt, in milliseconds; null: there was none. */
  gapMs: number | null;
}

/** Parts of an execution that are judged. */
export type Flown = Pick<Execution, "executionId" | "attempts" | "state">;

/**
 * Goals for the time from the kill to the next start, by the kind of worker, in milliseconds: the 99th percentile must
 * be below.
 */
const GOALS_MS = { BUILT_IN: 1_500, EXTERNAL: 7_000 } as const;

/** @returns null: the killed node did not have the execution */
export function flightOf({ attempts }: Flown, shard: number, crash: Crash): Flight | null {
  const index = attempts.findIndex(
    ({ workerId, state }) => state !== "SUCCEEDED" && workerOf(workerId, crash) !== null,
  );
  const worker = workerOf(attempts[index]?.workerId ?? "", crash);
  if (worker === null) return null;
  const startedAt = attempts[index + 1]?.startedAt ?? null;
  const gapMs = startedAt === null ? null : Date.parse(startedAt) - crash.atMs;
  return { worker, shard: crash.shards.has(shard) ? "TAKEN_OVER" : "KEPT", gapMs };
}

function workerOf(workerId: string, { builtIn, external }: Crash): Flight["worker"] | null {
  if (workerId.startsWith(builtIn)) return "BUILT_IN";
  return workerId === external ? "EXTERNAL" : null;
}

/** Number and gaps of each kind of flight, as named figures. */
export function flightFigures(flights: readonly Flight[]): Record<string, number> {
  const kinds = Object.keys(GOALS_MS) as Flight["worker"][];
  const entries = kinds.flatMap((worker) => {
    const own = flights.filter((flight) => flight.worker === worker);
    const name = worker === "BUILT_IN" ? "builtIn" : "external";
    const parts = [
      [`${name}`, own],
      [`${name}TakenOver`, own.filter(({ shard }) => shard === "TAKEN_OVER")],
      [`${name}Kept`, own.filter(({ shard }) => shard === "KEPT")],
    ] as const;
    return parts.flatMap(([part, list]) => {
      const { p50, p99, max } = quantilesOf(gapsOf(list));
      const figures = { Count: list.length, GapP50Ms: p50, GapP99Ms: p99, GapMaxMs: max };
      return Object.entries(figures).map(([figure, value]): [string, number] => [part + figure, value]);
    });
  });
  return Object.fromEntries(entries);
}

/** @returns texts for people about missed goals; a kind without flights has no result */
export function missedGoals(flights: readonly Flight[]): string[] {
  return Object.entries(GOALS_MS).flatMap(([worker, goalMs]) => {
    const gaps = gapsOf(flights.filter((flight) => flight.worker === worker));
    const { p99 } = quantilesOf(gaps);
    if (gaps.length > 0 && p99 < goalMs) return [];
    const found = gaps.length === 0 ? "nothing was in flight" : `99 of 100 gaps were up to ${p99} ms`;
    return [`${worker}: ${found}, and are to be below ${goalMs} ms`];
  });
}

function gapsOf(flights: readonly Flight[]): number[] {
  return flights.flatMap(({ gapMs }) => gapMs ?? []);
}

/** Text for people: the longest gaps of one kill. */
export function textOf(flights: readonly Flight[]): string {
  const groups = Map.groupBy(flights, ({ worker, shard }) => `${worker} ${shard}`);
  const texts = [...groups].sort().map(([name, list]) => {
    const { p50, max } = quantilesOf(gapsOf(list));
    return `${name} ${list.length}, gaps of ${p50} ms in the middle and ${max} ms at most`;
  });
  return texts.length === 0 ? "nothing was in flight" : texts.join("; ");
}
