import type { JournalEntry } from "../../../ports/store.ts";

/** Executions with the same assignment: worker, gateway, attempt, instant, and their ids joined by commas. */
type Group = [workerId: string, gateway: string, attempt: number, assignedAt: number, ids: string];

/**
 * Assignments of a tick in one shard, as the journal stores them. Most assignments of a tick go to few workers at one
 * instant. Storing these facts once keeps the row below the size at which PostgreSQL would move it out of line.
 */
export function journalText(entries: readonly JournalEntry[]): string {
  const groups = new Map<string, Group>();
  let last: JournalEntry | undefined;
  let group: Group | undefined;
  for (const entry of entries) {
    if (group === undefined || last === undefined || !alike(last, entry)) group = groupOf(groups, entry);
    else group[4] += `,${entry.id}`;
    last = entry;
  }
  return JSON.stringify([...groups.values()]);
}

export function journalEntries(text: string): JournalEntry[] {
  const groups = JSON.parse(text) as Group[];
  return groups.flatMap(([workerId, gateway, attempt, assignedAt, ids]) =>
    ids.split(",").map((id) => ({ id, attempt, workerId, gateway, assignedAt })),
  );
}

function groupOf(groups: Map<string, Group>, entry: JournalEntry): Group {
  const key = JSON.stringify([entry.workerId, entry.gateway, entry.attempt, entry.assignedAt]);
  const known = groups.get(key);
  if (known !== undefined) {
    known[4] += `,${entry.id}`;
    return known;
  }
  const created: Group = [entry.workerId, entry.gateway, entry.attempt, entry.assignedAt, entry.id];
  groups.set(key, created);
  return created;
}

function alike(a: JournalEntry, b: JournalEntry): boolean {
  return (
    a.workerId === b.workerId && a.attempt === b.attempt && a.assignedAt === b.assignedAt && a.gateway === b.gateway
  );
}
