import type { Changeover } from "../domain/changeover.ts";
import type { ZoneFilesText } from "../domain/schedule/zones/zone-files.ts";
import type { AuditNote } from "./store-audit.ts";

/** Which time zone data is in force for all nodes, and the data itself. */
export interface StoreTimeZones {
  /** The latest thousand changeovers, in order. */
  changeovers(): Promise<Changeover[]>;
  /** The data of a version; null: the store does not have it. */
  read(version: string): Promise<ZoneFilesText | null>;
  /** All versions that the store has, ascending. */
  versions(): Promise<string[]>;
  /**
   * Brings a version into force `leadMs` from now by the store's clock, and stores its data if the version is new. The
   * first version of a store without recurring jobs is in force from the beginning.
   * @param number one more than the number of the latest changeover
   * @param data null: the store has the version
   * @returns false: another changeover has this number, or the store lacks the version; nothing was changed
   */
  changeOver(
    number: number,
    version: string,
    data: ZoneFilesText | null,
    leadMs: number,
    note?: AuditNote,
  ): Promise<boolean>;
}
