import type { Changeover } from "../domain/changeover.ts";
import type { AuditNote } from "./store-audit.ts";

/** The time zone data that a node plans by, as the parts of the node read it. */
export interface TimeZoneRules {
  /** All known changeovers, in order. Empty while a living node does not support changeovers. */
  changeovers(): readonly Changeover[];
  inForce(): RulesInForce;
  /** Versions that this node's program contains, in force or not. */
  offered(): readonly string[];
  /**
   * Brings a version into force that the store or this node's program contains.
   * @returns the changeover; null: no source has the version, or another changeover was faster
   */
  changeTo(version: string, note?: AuditNote): Promise<Changeover | null>;
  /** @param heard called when changeovers become known, and when a changeover comes into force */
  listen(heard: () => void): void;
}

export interface RulesInForce {
  /** Version of the data, such as `2026f`. */
  version: string;
  /** Tag of the data for plans that are computed now; see `tzdataTag`. */
  tag: string;
  /** ISO date of the release of the data; null: not known. */
  releasedOn: string | null;
}
