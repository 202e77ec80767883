import type { ExecutionId } from "../../domain/ids.ts";
import { chunked } from "../../ports/chunks.ts";
import { type LogPart, PARTS_KEPT_MAX, type StoreLogs } from "../../ports/store-logs.ts";
import { idBytes, u32 } from "./bytes.ts";
import type { Kinds } from "./kinds.ts";
import { readRows } from "./owner-reads.ts";
import type { RedisArgument, RedisConnection } from "./redis-connection.ts";

/** Limit of one call. */
const CALL = { count: 500, bytes: 4 * 1024 * 1024 };

/** Log lines of attempts: a hash for each attempt, with a field for each part. */
export function logs(db: RedisConnection, kinds: Kinds): StoreLogs {
  return {
    keep: async (parts) => {
      const texts = (await ownParts(db, kinds, parts)).map((part) => ({ part, text: JSON.stringify(part) }));
      const weigh = ({ text }: { text: string }) => ({ count: 1, bytes: 3 * text.length });
      for (const some of chunked(texts, CALL, weigh)) {
        const args = some.flatMap(({ part, text }): RedisArgument[] => {
          const { executionId, attempt, received } = part;
          return [idBytes(executionId), u32(attempt), `${part.part}`, `${received}`, text];
        });
        await db.fcall("ms_logs", [`${PARTS_KEPT_MAX}`, ...args]);
      }
    },
    read: async (executionId, attempt) => {
      const [answer] = await db.call([["HVALS", db.key(nameOf(executionId, attempt))]]);
      const parts = (answer as Buffer[]).map(partFrom);
      return parts.sort((a, b) => a.part - b.part);
    },
  };
}

/** Parts of executions that the store has, and that belong to the tenant of the part. */
async function ownParts(db: RedisConnection, kinds: Kinds, parts: readonly LogPart[]): Promise<LogPart[]> {
  const ids = [...new Set(parts.map(({ executionId }) => executionId))];
  const rows = (await readRows(db, ids)).filter((row) => row !== null);
  const all = await kinds.kindsOf(rows.map(({ kind }) => kind));
  const tenants = new Map(rows.map((row) => [row.id, all.get(row.kind)?.tenant]));
  return parts.flatMap(({ tenant, ...part }) => {
    const owner = tenants.get(part.executionId);
    return owner === undefined || (tenant !== undefined && tenant !== owner) ? [] : [part];
  });
}

/** Part in a field of the hash, whose text is behind the number of its lines received. */
export function partFrom(value: Buffer): LogPart {
  const text = String(value);
  return JSON.parse(text.slice(text.indexOf(" ") + 1)) as LogPart;
}

function nameOf(id: ExecutionId, attempt: number): Buffer {
  return Buffer.concat([Buffer.from("lg"), idBytes(id), u32(attempt)]);
}
