import type { EpochMs } from "./ids.ts";

/**
 * A version of the time zone database comes into force for all nodes, at one moment of the store's clock. The store
 * keeps all of them in order, so that every node plans by the same version at any time.
 */
export interface Changeover {
  /** From 1; grows by one. */
  number: number;
  /** As `2026f`. A later changeover may bring an older version back. */
  version: string;
  /** 0: from the beginning. */
  since: EpochMs;
}

/**
 * How long before its moment a changeover is written, and how often nodes read them: every node that can reach the
 * store knows of it in time.
 */
export const CHANGEOVER_LEAD_MS = 15_000;
export const CHANGEOVERS_READ_EVERY_MS = 3_000;

/**
 * Data that a plan was made by: the version, and behind a slash the number of the changeover. Without a slash there was
 * no changeover yet.
 */
export function tzdataTag({ version, number }: Pick<Changeover, "version" | "number">): string {
  return number === 0 ? version : `${version}/${number}`;
}

export function readTzdataTag(tag: string): { version: string; number: number } {
  const [version = "", number = "0"] = tag.split("/");
  return { version, number: Number(number) };
}

/** The changeover that holds at a time. @param changeovers in order */
export function inForceAt(changeovers: readonly Changeover[], at: EpochMs): Changeover | null {
  return changeovers.findLast(({ since }) => since <= at) ?? null;
}

/**
 * The changeover that a plan follows next; null: it has followed all. A plan that was made before there were any
 * follows the latest at once: when the others came, something else made it.
 */
export function nextChangeover(changeovers: readonly Changeover[], tag: string, now: EpochMs): Changeover | null {
  const { number } = readTzdataTag(tag);
  if (number > 0) return changeovers.find((one) => one.number > number && one.since <= now) ?? null;
  return inForceAt(changeovers, now);
}

/** Whether somebody who made the plan knew of a changeover that is not known here yet. */
export function isBeyond(changeovers: readonly Changeover[], tag: string): boolean {
  return readTzdataTag(tag).number > (changeovers.at(-1)?.number ?? 0);
}
