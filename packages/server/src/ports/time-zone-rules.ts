import type { Changeover } from "../domain/changeover.ts";

/** The time zone data that a node goes by, as its parts ask for it. */
export interface TimeZoneRules {
  /** All that are known, in order; none while a node lives that does not know of them. */
  changeovers(): readonly Changeover[];
  inForce(): RulesInForce;
  /** Versions that this node brings, whether they are in force or not. */
  offered(): readonly string[];
  /**
   * Brings a version into force that the store has or this node brings.
   * @returns when it will be; null: neither has it, or another changeover was faster
   */
  changeTo(version: string): Promise<Changeover | null>;
  /** @param heard called when changeovers become known, and when one comes into force */
  listen(heard: () => void): void;
}

export interface RulesInForce {
  /** As `2026f`. */
  version: string;
  /** Tag of the data for plans that are made now; see `tzdataTag`. */
  tag: string;
  /** ISO date of the release; null: not known. */
  releasedOn: string | null;
}
