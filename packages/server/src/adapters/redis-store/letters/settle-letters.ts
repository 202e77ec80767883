import type { EpochMs } from "../../../domain/ids.ts";
import type { AuditNote } from "../../../ports/store-audit.ts";
import type { SettledLetter, Settlement } from "../../../ports/store-dead-letters.ts";
import type { AuditTrail } from "../audit-trail.ts";
import { instantBytes } from "../bytes.ts";
import type { Kinds } from "../kinds.ts";
import type { RedisConnection } from "../redis-connection.ts";
import { letterArguments, readLetters } from "./letters.ts";

export interface LetterParts {
  db: RedisConnection;
  kinds: Kinds;
  trail: AuditTrail;
  /** Whether the node writes lifecycle events now. */
  isTelling: () => boolean;
  now: () => EpochMs;
}

/** Outcome of a letter by the character in the answer. */
const OUTCOMES = { S: "SETTLED", K: "KEY_HELD", W: "OF_WORKFLOW", N: "NOT_A_DEAD_LETTER" } as const;

/** See StoreDeadLetters.settle. */
export async function settleLetters(
  { db, kinds, trail, isTelling }: LetterParts,
  { tenant, action, executionIds, newIds, at }: Settlement,
  note: AuditNote | undefined,
): Promise<SettledLetter[]> {
  const asked = [...new Set(executionIds)].sort();
  const rows = (await readLetters(db, kinds, asked)).filter((letter) => letter !== null);
  const dead = rows.filter(({ row, kind }) => row.state === "DEAD" && kind.tenant === tenant);
  const letters = dead.filter(({ row }) => row.ofNode === null);
  const args = await letterArguments({ db, kinds }, { action, letters, newIds, at, isTelling: isTelling() });
  const notes = note === undefined ? [] : [note];
  const call = [instantBytes(at), ...args];
  const answer = await trail.call("ms_settle_letters", call, notes, (outcomes) => String(outcomes).includes("S"));
  const outcomes = String(answer);
  const settled = new Map<string, SettledLetter>();
  for (const [i, { row }] of letters.entries()) {
    const outcome = OUTCOMES[outcomes[i] as keyof typeof OUTCOMES];
    const newId = outcome === "SETTLED" && action === "REPLAY" ? (newIds[i] ?? null) : null;
    settled.set(row.id, { executionId: row.id, outcome, newId });
  }
  const nodes = new Set(action === "REPLAY" ? dead.flatMap(({ row }) => (row.ofNode === null ? [] : [row.id])) : []);
  return executionIds.map((executionId) => {
    const outcome = nodes.has(executionId) ? "OF_WORKFLOW" : "NOT_A_DEAD_LETTER";
    return settled.get(executionId) ?? { executionId, outcome, newId: null };
  });
}
