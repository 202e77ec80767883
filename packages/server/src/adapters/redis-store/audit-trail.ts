import { type AuditChain, type ChainEntry, type RecordWriter, writeEntry } from "../../ports/audit-chain.ts";
import type { AuditNote, AuditRecord } from "../../ports/store-audit.ts";
import { idBytes, instantBytes, u32 } from "./bytes.ts";
import type { RedisAnswer, RedisArgument, RedisConnection } from "./redis-connection.ts";

/** Records in one call. */
const PER_CALL = 100;

/** Writes records of changes in the calls of these. */
export class AuditTrail {
  readonly #connection: RedisConnection;
  readonly #chain: AuditChain;

  constructor(connection: RedisConnection, chain: AuditChain) {
    this.#connection = connection;
    this.#chain = chain;
  }

  /**
   * Calls a function whose last arguments are the records.
   * @param isDone whether the call has changed what the notes say; the function writes their records in just these cases
   */
  call(
    name: string,
    args: readonly RedisArgument[],
    notes: readonly AuditNote[],
    isDone: (answer: RedisAnswer) => boolean = () => true,
  ): Promise<RedisAnswer> {
    if (notes.length === 0) return this.#connection.durably(name, [...args, "0"]);
    return this.recorded(notes, (records) => this.#connection.durably(name, [...args, ...records]), isDone);
  }

  /** Makes a call with the arguments for the records of notes. */
  recorded(
    notes: readonly AuditNote[],
    call: (records: RedisArgument[]) => Promise<RedisAnswer>,
    isDone: (answer: RedisAnswer) => boolean,
  ): Promise<RedisAnswer> {
    return this.#chain.append(notes, async (entry) => {
      const { records, head } = await this.#recordsOf(entry);
      const answer = await call([`${records.length}`, ...records.flatMap(argumentsOf)]);
      return { answer, head: isDone(answer) ? head : null };
    });
  }

  /** Writes records of facts that change nothing else. */
  async write(notes: readonly AuditNote[]): Promise<void> {
    for (let from = 0; from < notes.length; from += PER_CALL)
      await this.call("ms_audit", [], notes.slice(from, from + PER_CALL));
  }

  async #recordsOf(entry: ChainEntry): Promise<{ records: AuditRecord[]; head: string }> {
    const records: AuditRecord[] = [];
    const writer: RecordWriter = {
      add: async (record) => void records.push(record),
      settle: async (record) => {
        const there = await this.#connection.durably("ms_settle_place", ["1", ...argumentsOf(record)]);
        return (JSON.parse(String(there)) as AuditRecord).hash;
      },
    };
    const head = await writeEntry(entry, writer);
    return { records, head };
  }
}

/** Place, member of the order with the hash and the tenant, and text of a record. */
export function argumentsOf(record: AuditRecord): RedisArgument[] {
  const place = Buffer.concat([idBytes(record.chain), u32(record.seq)]);
  return [
    place,
    Buffer.concat([instantBytes(record.at), place, Buffer.from(record.hash + record.tenant)]),
    JSON.stringify(record),
  ];
}
