import type { WayBack } from "../world/going-back.ts";

/** A bug, planted into the source of the product when it is loaded: so that the product carries no switches for it. */
export interface Mutant extends Edit {
  name: string;
  /** Further places where the bug is. */
  also?: readonly Edit[];
  /** Effect of the bug. */
  why: string;
  /** In which ways the store goes back in the worlds in which the bug is looked for; default: in none. */
  waysBack?: readonly WayBack[];
  /** Whether the time zone data changes in those worlds; default: it does not. */
  tzChanges?: boolean;
  /** A test that fails with the bug, for a bug that simulated hours seldom show; it proves a mutant that has no record. */
  test?: { file: string; name: string };
}

/** Faults of the worlds in which a mutant is looked for, beside those that every world has. */
export type MoreFaults = Pick<Mutant, "waysBack" | "tzChanges">;

export interface Edit {
  /** From the repository's root. */
  file: string;
  /** Must be there exactly once. */
  find: string;
  replace: string;
}
