import type { WorkerId } from "../../domain/ids.ts";
import { bytesOf, type KeptLine, surplusOf } from "../../domain/log-lines.ts";
import type { Token } from "../../ports/messages.ts";
import type { LogPart } from "../../ports/store-logs.ts";

/** Approximate memory of a part and of a line beside the text, in bytes. */
const PART_BYTES = 400;
const LINE_BYTES = 100;

/** The last lines of an attempt, in the memory of the gateway that receives them. */
export class OpenPart {
  readonly token: Omit<Token, "shard">;
  readonly workerId: WorkerId;
  /** Tenant that owns the worker's pool; null: nobody does. */
  readonly tenant: string | null;
  readonly #number: number;
  readonly #lines: KeptLine[] = [];
  #bytes = 0;
  #received = 0;
  /** Number of lines received when the store took the part last. */
  #written = 0;
  /** Whether the attempt has ended, so that the part is forgotten once it is written. */
  isClosed = false;
  /** Whether a write of the part is under way. */
  isBeingWritten = false;
  /** Arrival of the first line that is not written, on the monotonic clock; null: all lines are written. */
  unwrittenSinceMs: number | null = null;

  constructor(token: Omit<Token, "shard">, workerId: WorkerId, tenant: string | null, number: number) {
    this.token = token;
    this.workerId = workerId;
    this.tenant = tenant;
    this.#number = number;
  }

  add(line: KeptLine, nowMs: number): void {
    this.#lines.push(line);
    this.#bytes += bytesOf(line);
    this.#received++;
    this.unwrittenSinceMs ??= nowMs;
    const surplus = surplusOf(this.#lines, this.#bytes);
    if (surplus === 0) return;
    for (const dropped of this.#lines.splice(0, surplus)) this.#bytes -= bytesOf(dropped);
  }

  /** Approximate memory in bytes. */
  get memory(): number {
    return PART_BYTES + this.#bytes + LINE_BYTES * this.#lines.length;
  }

  /** Number of lines in memory that the store does not have. */
  get unwritten(): number {
    return Math.min(this.#received - this.#written, this.#lines.length);
  }

  /** Content of the part as it is now. */
  content(): LogPart {
    const { executionId, attempt } = this.token;
    const part = { executionId, attempt, part: this.#number, lines: [...this.#lines], received: this.#received };
    return this.tenant === null ? part : { ...part, tenant: this.tenant };
  }

  /** Notes that the store has the part. @param received number of lines that the part had when it was written */
  wrote(received: number, nowMs: number): void {
    this.#written = received;
    this.unwrittenSinceMs = this.#received > received ? nowMs : null;
  }
}
