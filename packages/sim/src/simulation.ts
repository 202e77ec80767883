import type { WayBack } from "./world/going-back.ts";

export interface SimulationOptions {
  /** Seed that decides everything that the other options leave open. */
  seed: number;
  /** Time with submits and faults, in simulated hours. */
  hours: number;
  /** Number of servers, each with every role, that share the shards. */
  nodes: number;
  workers: number;
  jobs: number;
  /** Ways in which the store is restored to an earlier state, every five minutes or so; default: none. */
  waysBack?: readonly WayBack[];
  /** Whether the time zone data changes every few minutes; default: one version is in force. */
  tzChanges?: boolean;
  /** Part of the seed's plan that remains; absent: all of it. Used to shrink a failing seed. */
  only?: Only;
}

/** Parts of a plan. Removing a part does not change the others, unless they depend on it. */
export interface Only {
  /** Numbers of the faults that remain, from 0. */
  faults?: ReadonlySet<number>;
  /** Numbers of the jobs that remain, from 1. */
  jobs?: ReadonlySet<number>;
  /** Numbers of the recurring jobs that remain, from 1. */
  recurring?: ReadonlySet<number>;
  /** Numbers of the workflows that remain. */
  workflows?: ReadonlySet<number>;
  /** Whether calls of the store meet no faults except those of the plan. */
  reliableStore?: boolean;
  /** Whether the network between servers loses, repeats and delays nothing, except where the plan cuts it. */
  reliableNetwork?: boolean;
  /** Time after which faults and new submits end, in simulated milliseconds; the plan stays the same. */
  untilMs?: number;
}

export interface Verdict {
  seed: number;
  /** Violation; null: every invariant held. */
  violation: string | null;
  /**
   * Checker that found the violation; null: there is no violation, or the program itself failed other than by an
   * invariant of its own.
   */
  checker: string | null;
  traceHash: string;
  simulatedMs: number;
  events: number;
  figures: Record<string, number>;
}
