import type { WayBack } from "./world/going-back.ts";

export interface SimulationOptions {
  /** Decides everything that is left open here. */
  seed: number;
  /** How long there are submits and faults. */
  hours: number;
  /** Servers with every role, that share the shards. */
  nodes: number;
  workers: number;
  jobs: number;
  /** In which ways the store goes back to an earlier state, every five minutes or so; default: it never does. */
  waysBack?: readonly WayBack[];
  /** Whether the rules of clocks change every few minutes; default: one version of the time zone data is in force. */
  tzChanges?: boolean;
  /** Part of the seed's plan that is left in; absent: everything. For making a failing seed smaller. */
  only?: Only;
}

/** Parts of a plan. A part that is left out does not change the rest, as far as one does not depend on the other. */
export interface Only {
  /** Numbers of faults, from 0. */
  faults?: ReadonlySet<number>;
  /** Numbers of jobs, from 1. */
  jobs?: ReadonlySet<number>;
  /** Recurring jobs, by their numbers, from 1. */
  recurring?: ReadonlySet<number>;
  /** No call of the store meets a fault, but for those of the plan. */
  reliableStore?: boolean;
  /** The network between servers loses, repeats and holds up nothing, but for what the plan cuts off. */
  reliableNetwork?: boolean;
  /** Faults and new submits end after this; the plan is the same. */
  untilMs?: number;
}

export interface Verdict {
  seed: number;
  /** null: everything held. */
  violation: string | null;
  /**
   * The checker that saw it; null: none saw one, or the program itself failed in another way than by an invariant of
   * its own.
   */
  checker: string | null;
  traceHash: string;
  simulatedMs: number;
  events: number;
  figures: Record<string, number>;
}
