import type { Changeover } from "../domain/changeover.ts";
import type { ZoneFilesText } from "../domain/schedule/zones/zone-files.ts";

/** Which time zone data is in force for all nodes, and the data itself. */
export interface StoreTimeZones {
  /** The latest thousand, in order. */
  changeovers(): Promise<Changeover[]>;
  /** null: the store does not have this version. */
  read(version: string): Promise<ZoneFilesText | null>;
  /** All that the store has, ascending. */
  versions(): Promise<string[]>;
  /**
   * Brings a version into force `leadMs` from now by the store's clock, and keeps its data where the version is new. The first one of a
   * store without recurring jobs is in force from the beginning.
   * @param number one more than that of the latest changeover
   * @param data null: the store has the version
   * @returns false: another changeover has this number, or the store lacks the version; nothing was changed
   */
  changeOver(number: number, version: string, data: ZoneFilesText | null, leadMs: number): Promise<boolean>;
}
