import type { WayBack } from "../world/going-back.ts";

/**
 * A bug that is planted into the product's source when it is loaded, so that the product contains no switches for it.
 */
export interface Mutant extends Edit {
  name: string;
  /** Further places of the bug. */
  also?: readonly Edit[];
  /** Effect of the bug. */
  why: string;
  /** Ways in which the store is restored to an earlier state during the hunt; default: none. */
  waysBack?: readonly WayBack[];
  /** Whether the time zone data changes during the hunt; default: no. */
  tzChanges?: boolean;
  /** Test that fails with the bug, for a bug that simulated hours seldom show; it proves a mutant without a record. */
  test?: { file: string; name: string };
}

/** Faults during the hunt for a mutant, in addition to the usual ones. */
export type MoreFaults = Pick<Mutant, "waysBack" | "tzChanges">;

export interface Edit {
  /** Path from the repository's root. */
  file: string;
  /** Text to replace, which must occur exactly once. */
  find: string;
  replace: string;
}
