import type { EpochMs, JobId, ShardId } from "../../../domain/ids.ts";
import { compareDue, type DueCursor } from "../../../ports/store-flows.ts";
import { behind, ID_BYTES, idBytes, idOf, instantAt, instantBytes, u32 } from "../bytes.ts";
import type { RedisConnection } from "../redis-connection.ts";

/** Flows of one answer, and indexes of one call. */
const FLOWS = 10_000;
const INDEXES = 64;
/** Members of one index in a call. */
const MEMBERS = 500;
const BEHIND_ALL = Buffer.from([0xff]);

/** A plan in the index of a flow. */
export interface DueMember extends DueCursor {
  id: JobId;
  shard: ShardId;
}

/** Numbers of the flows that have plans up to an instant. */
export async function dueFlowNumbers(db: RedisConnection, until: EpochMs): Promise<number[]> {
  const [flows] = await db.call([
    ["ZRANGE", db.key("ph"), "-inf", `${Math.floor(until)}`, "BYSCORE", "LIMIT", "0", `${FLOWS}`],
  ]);
  return (flows as Buffer[]).map((bytes) => bytes.readUInt32BE());
}

/** The earliest plans of flows: merges the indexes, and reads on only in those whose plans are the earliest. */
export async function earliestDue(
  db: RedisConnection,
  flows: readonly number[],
  { until, own, limit }: { until: EpochMs; own: ReadonlySet<ShardId>; limit: number },
): Promise<DueMember[]> {
  const lines = flows.map((flow) => new DueLine(flow, until, null));
  const found: DueMember[] = [];
  while (found.length < limit) {
    const empty = lines.filter((line) => line.isEmpty && line.hasMore);
    await fill(db, empty, limit - found.length, own);
    if (empty.some((line) => line.isEmpty && line.hasMore)) continue;
    const first = earliest(lines);
    if (first === null) break;
    found.push(first);
  }
  return found;
}

/** Plans of one flow that were read, the earliest first. */
export class DueLine {
  readonly name: Buffer;
  readonly upper: Buffer;
  cursor: Buffer | "-";
  hasMore = true;
  members: DueMember[] = [];
  #next = 0;

  constructor(flow: number, until: EpochMs, after: DueCursor | null) {
    this.name = Buffer.concat([Buffer.from("pd"), u32(flow)]);
    this.upper = behind(instantBytes(Math.floor(until) + 1));
    this.cursor = after === null ? "-" : behind(instantBytes(after.dueAt), idBytes(after.id), BEHIND_ALL);
  }

  get isEmpty(): boolean {
    return this.#next >= this.members.length;
  }

  get head(): DueMember | null {
    return this.members[this.#next] ?? null;
  }

  take(): DueMember {
    return this.members[this.#next++] as DueMember;
  }

  add(members: readonly Buffer[], asked: number, own: ReadonlySet<ShardId>): void {
    this.hasMore = members.length === asked;
    const last = members.at(-1);
    if (last !== undefined) this.cursor = behind(last);
    this.members.push(...members.map(memberOf).filter(({ shard }) => own.has(shard)));
  }
}

function memberOf(bytes: Buffer): DueMember {
  return { dueAt: instantAt(bytes, 0) as EpochMs, id: idOf(bytes, 6), shard: bytes[6 + ID_BYTES] as number };
}

/** Reads on in each of the lines. */
export async function fill(
  db: RedisConnection,
  lines: readonly DueLine[],
  wanted: number,
  own: ReadonlySet<ShardId>,
): Promise<void> {
  const count = Math.min(wanted, MEMBERS);
  for (let from = 0; from < lines.length; from += INDEXES) {
    const part = lines.slice(from, from + INDEXES);
    const answers = await db.call(
      part.map(({ name, cursor, upper }) => [
        ...(["ZRANGE", db.key(name), cursor, upper, "BYLEX", "LIMIT", "0", `${count}`] as const),
      ]),
    );
    for (const [i, line] of part.entries()) line.add(answers[i] as Buffer[], count, own);
  }
}

/** Takes the earliest plan of all lines; null: there is none. */
function earliest(lines: readonly DueLine[]): DueMember | null {
  let first: DueLine | null = null;
  for (const line of lines) {
    if (line.head === null) continue;
    if (first?.head == null || compareDue(line.head, first.head) < 0) first = line;
  }
  return first?.take() ?? null;
}
