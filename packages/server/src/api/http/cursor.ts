import { ProblemError, problem } from "./errors.ts";

/** Which list a cursor belongs to; one of another list is refused. */
export type ListKind = "jobs" | "executions" | "dead-letters" | "ledger" | "workers" | "pools";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const PLACES: Record<ListKind, RegExp> = {
  ...{ jobs: UUID, executions: UUID, "dead-letters": UUID },
  ledger: /^\d{1,15}$/,
  ...{ workers: /^/, pools: /^/ },
};

/** Where the next page begins, as an opaque text. */
export function encodeCursor(list: ListKind, after: string | null): string | null {
  return after === null ? null : Buffer.from(`${list}:${after}`).toString("base64url");
}

/** @returns the id, or what the list goes by, behind which the page begins; null: the first page. @throws {ProblemError} invalid-cursor */
export function decodeCursor(list: ListKind, cursor: string | undefined): string | null {
  if (cursor === undefined) return null;
  const text = Buffer.from(cursor, "base64url").toString("utf8");
  const after = text.slice(list.length + 1);
  const genuine = encodeCursor(list, after) === cursor && text.startsWith(`${list}:`);
  if (!genuine || !PLACES[list].test(after)) {
    throw new ProblemError(problem("invalid-cursor", "pass nextCursor of the page before as it was, or none"));
  }
  return after;
}
