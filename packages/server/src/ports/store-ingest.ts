import type { EpochMs } from "../domain/ids.ts";
import type { RecordPosition } from "../domain/ingest.ts";
import type { Submission } from "./store.ts";
import type { AuditNote } from "./store-audit.ts";
import type { RequestEnd, RequestId, RequestJudge, TakenRequest } from "./store-requests.ts";

/**
 * Positions in the log of requests, and what has become of its records. The position of a partition moves in the transaction that
 * writes the jobs of its records, and only from where the caller believes it to be. So a record is taken in once, whoever else reads
 * the log, and however often.
 */
export interface StoreIngest {
  /** Positions of all partitions that were ever opened, in order of the partitions. */
  positions(): Promise<IngestPosition[]>;
  /** Gives each of these partitions the position 0 of the topic, unless it has a position in this topic already. */
  open(topic: string, partitions: readonly number[]): Promise<void>;
  /**
   * Writes the jobs of records, what has become of the records, and the position behind them, all or nothing. A record that was
   * taken in before, or whose job there is already, writes nothing.
   * @returns the records that were not taken in before; null: the position is another one, and nothing was written
   * @throws {StoreUnavailable} all of it was written, or nothing
   */
  takeIn(portion: IngestPortion, judge: Pick<RequestJudge, "conclude" | "notesOf">): Promise<TakenRequest[] | null>;
  /** Sets a position back. @returns whether the position was the expected one, so that it is moved */
  rewind(move: IngestRewind, note?: AuditNote): Promise<boolean>;
  /** null: nothing is known of the record, or it is no longer kept. */
  get(position: RecordPosition): Promise<IngestRecord | null>;
  /** Refused records of these partitions that nobody was told of, the oldest first. */
  untold(partitions: readonly number[], limit: number): Promise<IngestRefusal[]>;
  /** Marks refusals as told, and drops the values of their records. */
  told(refusals: readonly Pick<IngestRefusal, "topic" | "partition" | "offset">[]): Promise<void>;
}

/** Largest value that the store keeps of a refused record until it was told, in bytes. A larger one is left out. */
export const REFUSED_VALUE_MAX = 64 * 1024;
/** Largest number of records in a portion. */
export const PORTION_RECORDS_MAX = 2_000;

export interface IngestPosition {
  partition: number;
  /** UUID of the topic. */
  topic: string;
  /** Offset of the next record. */
  next: number;
  /** Records below this offset may have been taken in before. */
  replayUntil: number;
}

export interface IngestPortion {
  partition: number;
  topic: string;
  /** Position that the partition must have. */
  from: number;
  /** Position behind the records; at least `from`. */
  next: number;
  /** At most `PORTION_RECORDS_MAX`, in order of their offsets, which are from `from` to below `next`. */
  records: readonly DecidedRecord[];
}

export interface DecidedRecord {
  offset: number;
  /** Id of the request: UUIDv7, the same in each reading of the record. */
  id: RequestId;
  decision: Submission | RequestEnd;
  /** Time of the record, any number. */
  timestamp: number;
  /** Header of the record; null: there is none. */
  contentType: string | null;
  value: Uint8Array | null;
}

/** @param to at most `from` */
export interface IngestRewind {
  partition: number;
  topic: string;
  from: number;
  to: number;
}

/** Fate of a record. */
export interface IngestRecord {
  /** null: not known. */
  createdAt: EpochMs | null;
  /** null: the record is not decided. */
  finishedAt: EpochMs | null;
  /** null: the record is not decided. */
  end: RequestEnd | null;
}

export interface IngestRefusal {
  topic: string;
  partition: number;
  offset: number;
  timestamp: number;
  /** JSON text of the problem. */
  problem: string;
  contentType: string | null;
  /** null: the record has none, or it is larger than `REFUSED_VALUE_MAX`. */
  value: Uint8Array | null;
  /** Size of the value in bytes, also where it is left out. */
  valueBytes: number;
}
