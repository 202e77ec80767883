import type { EpochMs } from "./ids.ts";

/**
 * A version of the time zone database comes into force for all nodes, at one moment of the store's clock. The store
 * keeps all changeovers in order, so that every node plans by the same version at any time.
 */
export interface Changeover {
  /** Number of the changeover, from 1; grows by one. */
  number: number;
  /** Version that comes into force, such as `2026f`. A later changeover may return to an older version. */
  version: string;
  /** Moment of the changeover; 0: in force from the beginning. */
  since: EpochMs;
}

/**
 * Time in ms by which a changeover is written in advance, and interval at which nodes read them, so that every node
 * that can reach the store knows of it in time.
 */
export const CHANGEOVER_LEAD_MS = 15_000;
export const CHANGEOVERS_READ_EVERY_MS = 3_000;

/**
 * Tag of the data by which a plan was made: the version and, behind a slash, the number of the changeover. A tag
 * without a slash is from before the first changeover.
 */
export function tzdataTag({ version, number }: Pick<Changeover, "version" | "number">): string {
  return number === 0 ? version : `${version}/${number}`;
}

export function readTzdataTag(tag: string): { version: string; number: number } {
  const [version = "", number = "0"] = tag.split("/");
  return { version, number: Number(number) };
}

/** The changeover in force at a time; null: there is none yet. @param changeovers in order */
export function inForceAt(changeovers: readonly Changeover[], at: EpochMs): Changeover | null {
  return changeovers.findLast(({ since }) => since <= at) ?? null;
}

/**
 * The changeover that a plan applies next; null: the plan has applied all. A plan from before the first changeover
 * applies the latest at once, because it was not made by the versions in between.
 */
export function nextChangeover(changeovers: readonly Changeover[], tag: string, now: EpochMs): Changeover | null {
  const { number } = readTzdataTag(tag);
  if (number > 0) return changeovers.find((one) => one.number > number && one.since <= now) ?? null;
  return inForceAt(changeovers, now);
}

/** Whether the node that made the plan knew of a changeover that this node does not know yet. */
export function isBeyond(changeovers: readonly Changeover[], tag: string): boolean {
  return readTzdataTag(tag).number > (changeovers.at(-1)?.number ?? 0);
}
