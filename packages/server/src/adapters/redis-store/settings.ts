import type { Changeover } from "../../domain/changeover.ts";
import { defaultPool, ownerOfPool, type Pool, type PoolChange } from "../../domain/pool.ts";
import type { ZoneFilesText } from "../../domain/schedule/zones/zone-files.ts";
import type { AuditNote } from "../../ports/store-audit.ts";
import type { Command } from "../../ports/store-commands.ts";
import type { StoreTimeZones } from "../../ports/store-time-zones.ts";
import type { AuditTrail } from "./audit-trail.ts";
import { poolsOf } from "./owner-reads.ts";
import type { RedisConnection } from "./redis-connection.ts";

/** Changeovers of one answer. */
const CHANGEOVERS_MAX = 1_000;

/** See Store.addCommand. */
export async function addCommand(trail: AuditTrail, command: Command, note?: AuditNote): Promise<void> {
  const args = [`${command.shard}`, command.id, JSON.stringify(command)];
  await trail.call("ms_command", args, note === undefined ? [] : [note]);
}

/** See Store.readPools. */
export async function readPools(db: RedisConnection): Promise<Pool[]> {
  const [texts] = await db.call([["HVALS", db.key("po")]]);
  return poolsOf(texts as Buffer[]);
}

/** See Store.putPool. A change beside another one reads again, so that both apply. */
export async function putPool(
  db: RedisConnection,
  trail: AuditTrail,
  change: PoolChange,
  note?: AuditNote,
): Promise<Pool> {
  for (;;) {
    const [text] = await db.call([["HGET", db.key("po"), change.name]]);
    const known = text == null ? defaultPool(change.name) : (JSON.parse(String(text)) as Pool);
    const named = Object.entries(change).filter(([, value]) => value !== undefined);
    const pool: Pool = { ...known, ...Object.fromEntries(named) };
    const isOwned = ownerOfPool(pool.name) === null ? "0" : "1";
    const args = [pool.name, text == null ? "" : String(text), JSON.stringify(pool), isOwned];
    const answer = await trail.call("ms_pool", args, note === undefined ? [] : [note], (done) => done === 1);
    if (answer === 1) return pool;
  }
}

/** See StoreTimeZones. */
export function timeZones(db: RedisConnection, trail: AuditTrail): StoreTimeZones {
  return {
    changeovers: async () => {
      const [answer] = await db.call([["HGETALL", db.key("tzc")]]);
      const texts = (answer as Buffer[]).map(String);
      const all = Array.from({ length: texts.length / 2 }, (_, i) => changeoverOf(texts[2 * i], texts[2 * i + 1]));
      return all.sort((a, b) => a.number - b.number).slice(-CHANGEOVERS_MAX);
    },
    read: async (version) => {
      const [text] = await db.call([["HGET", db.key("tzv"), version]]);
      return text == null ? null : (JSON.parse(String(text)) as ZoneFilesText);
    },
    versions: async () => {
      const [names] = await db.call([["HKEYS", db.key("tzv")]]);
      return (names as Buffer[]).map(String).sort();
    },
    changeOver: async (number, version, data, leadMs, note) => {
      const args = [`${number}`, version, data === null ? "" : JSON.stringify(data), `${leadMs}`];
      const notes = note === undefined ? [] : [note];
      return (await trail.call("ms_change_over", args, notes, (done) => done === 1)) === 1;
    },
  };
}

export function changeoverOf(number: string | undefined, text = ""): Changeover {
  const [since, version = ""] = text.split(" ");
  return { number: Number(number), version, since: Number(since) };
}
