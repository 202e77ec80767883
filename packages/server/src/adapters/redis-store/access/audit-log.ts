import type { EpochMs } from "../../../domain/ids.ts";
import type {
  AuditAnchor,
  AuditFilter,
  AuditPosition,
  AuditRecord,
  ChainHead,
  StoreAudit,
} from "../../../ports/store-audit.ts";
import { StoreUnavailable } from "../../../ports/store-errors.ts";
import type { AuditTrail } from "../audit-trail.ts";
import { behind, ID_BYTES, idBytes, idOf, instantBytes, pairsOf, u32 } from "../bytes.ts";
import type { RedisArgument, RedisConnection } from "../redis-connection.ts";

/** Records of one call, and members of the order that one call reads alone. */
const PER_CALL = 500;
const MEMBERS = 5_000;
/** Records that one page examines at most. */
const EXAMINED = 100_000;
/** Bytes of the time in a member of the order, behind which the place of the record comes. */
const AT_BYTES = 6;

/** See StoreAudit. */
export function auditLog(db: RedisConnection, trail: AuditTrail): StoreAudit {
  return {
    write: (notes) => trail.write(notes),
    list: (...asked) => list(db, ...asked),
    read: async (after, limit) => {
      const found: AuditRecord[] = [];
      let from = after === null ? "-" : behind(memberOf(after));
      while (found.length < limit) {
        const step = Math.min(PER_CALL, limit - found.length);
        const members = await membersOf(db, "ax", [from, "+", "BYLEX", "LIMIT", "0", `${step}`]);
        found.push(...(await readRecords(db, members)));
        if (members.length < step) break;
        from = behind(members.at(-1) as Buffer);
      }
      return found;
    },
    anchors: async (after, limit) => {
      const [count] = await db.call([["HLEN", db.key("aa")]]);
      const last = Math.min(after + limit, Number(count));
      return await anchorsOf(
        db,
        Array.from({ length: Math.max(0, last - after) }, (_, i) => after + 1 + i),
      );
    },
    unsealed: async () => {
      const [heads, sealed, count] = await db.call([
        ["HGETALL", db.key("ah")],
        ["HGETALL", db.key("as")],
        ["HLEN", db.key("aa")],
      ]);
      const upTo = new Map(pairsOf(sealed as Buffer[]).map(([chain, seq]) => [idOf(chain), seq.readUInt32BE()]));
      const moved = pairsOf(heads as Buffer[]).map(([chain, head]): ChainHead => {
        return { chain: idOf(chain), seq: head.readUInt32BE(), hash: String(head.subarray(4)) };
      });
      const [last = null] = Number(count) === 0 ? [] : await anchorsOf(db, [Number(count)]);
      return { last, heads: sorted(moved.filter(({ chain, seq }) => seq > (upTo.get(chain) ?? 0))) };
    },
    addAnchor: async (anchor) => {
      const places = (heads: readonly ChainHead[]) => heads.flatMap(({ chain, seq }) => [idBytes(chain), u32(seq)]);
      const { number, heads, floors } = anchor;
      const args = [`${number}`, JSON.stringify(anchor), `${heads.length}`, ...places(heads), ...places(floors)];
      return (await db.durably("ms_anchor", args)) === 1;
    },
    removable: (before) => lastRecords(db, monthOf(before)),
    remove: (before) => remove(db, monthOf(before)),
  };
}

/** Records from the newest on. The order of a tenant, or of all, is walked until the page is full. */
async function list(db: RedisConnection, filter: AuditFilter, after: AuditPosition | null, limit: number) {
  const { tenant, actor, action, target, since = 0 } = filter;
  const isAsked = (record: AuditRecord) =>
    (actor === undefined || record.actor.keyId === actor) &&
    (action === undefined || record.action === action) &&
    (target === undefined || record.target === target);
  const order = tenant === null ? "ax" : `axt${tenant}`;
  const until = Buffer.concat([Buffer.from("["), instantBytes(Math.ceil(since))]);
  const found: AuditRecord[] = [];
  let examined = 0;
  for (let from: RedisArgument = after === null ? "+" : behind(memberOf(after)); found.length < limit; ) {
    if (examined >= EXAMINED)
      throw new StoreUnavailable(`${EXAMINED} records have no page of these: ask for those since a later time`, {
        isListTimeout: true,
      });
    examined += PER_CALL;
    const members = await membersOf(db, order, [from, until, "BYLEX", "REV", "LIMIT", "0", `${PER_CALL}`]);
    found.push(...(await readRecords(db, members)).filter(isAsked));
    if (members.length < PER_CALL) break;
    from = behind(members.at(-1) as Buffer);
  }
  return found.slice(0, limit);
}

/** Last record of each chain before an instant. Removal leaves little before it, so a walk is short. */
async function lastRecords(db: RedisConnection, before: EpochMs): Promise<ChainHead[]> {
  const last = new Map<string, number>();
  for (let from: RedisArgument = "-"; ; ) {
    const members = await membersOf(db, "ax", [from, below(before), "BYLEX", "LIMIT", "0", `${MEMBERS}`]);
    for (const member of members) {
      const chain = idOf(member, AT_BYTES);
      last.set(chain, Math.max(last.get(chain) ?? 0, member.readUInt32BE(AT_BYTES + ID_BYTES)));
    }
    if (members.length < MEMBERS) break;
    from = behind(members.at(-1) as Buffer);
  }
  const places = [...last].map(([chain, seq]) => Buffer.concat([idBytes(chain), u32(seq)]));
  const records = await recordsAt(db, places);
  return sorted(records.map(({ chain, seq, hash }) => ({ chain, seq, hash })));
}

async function remove(db: RedisConnection, before: EpochMs): Promise<void> {
  for (;;) {
    const members = await membersOf(db, "ax", ["-", below(before), "BYLEX", "LIMIT", "0", `${PER_CALL}`]);
    const records = await readRecords(db, members);
    if (records.length > 0)
      await db.durably(
        "ms_audit_remove",
        records.flatMap((record) => [memberOf(record), record.tenant]),
      );
    if (members.length < PER_CALL) return;
  }
}

/** Beginning of the month of an instant: the months before it have ended. */
function monthOf(at: EpochMs): EpochMs {
  const day = new Date(at);
  return Date.UTC(day.getUTCFullYear(), day.getUTCMonth(), 1);
}

function below(at: EpochMs): Buffer {
  return behind(instantBytes(at));
}

function memberOf({ at, chain, seq }: AuditPosition): Buffer {
  return Buffer.concat([instantBytes(at), idBytes(chain), u32(seq)]);
}

async function membersOf(db: RedisConnection, order: string, range: readonly RedisArgument[]): Promise<Buffer[]> {
  const [members] = await db.call([["ZRANGE", db.key(order), ...range]]);
  return members as Buffer[];
}

export function readRecords(db: RedisConnection, members: readonly Buffer[]): Promise<AuditRecord[]> {
  return recordsAt(
    db,
    members.map((member) => member.subarray(AT_BYTES)),
  );
}

async function recordsAt(db: RedisConnection, places: readonly Buffer[]): Promise<AuditRecord[]> {
  const found: AuditRecord[] = [];
  for (let from = 0; from < places.length; from += PER_CALL) {
    const [texts] = await db.call([["HMGET", db.key("au"), ...places.slice(from, from + PER_CALL)]]);
    for (const text of texts as (Buffer | null)[])
      if (text !== null) found.push(JSON.parse(String(text)) as AuditRecord);
  }
  return found;
}

async function anchorsOf(db: RedisConnection, numbers: readonly number[]): Promise<AuditAnchor[]> {
  if (numbers.length === 0) return [];
  const [texts] = await db.call([["HMGET", db.key("aa"), ...numbers.map(String)]]);
  return (texts as (Buffer | null)[]).flatMap((text) =>
    text === null ? [] : [JSON.parse(String(text)) as AuditAnchor],
  );
}

function sorted(heads: ChainHead[]): ChainHead[] {
  return heads.sort((a, b) => (a.chain < b.chain ? -1 : 1));
}
