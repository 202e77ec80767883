import { createHash } from "node:crypto";
import type { ClickHouseAddress } from "../../ports/clickhouse-address.ts";
import { Connection } from "./connection.ts";
import { EVENT_COLUMNS, lineOf } from "./event-lines.ts";
import { requireTables } from "./migrations.ts";
import { needsDetail, type PastDetail, type PastExecution, pastEvents } from "./past-events.ts";

/** Number of executions whose events one insert has. */
const PAGE = 1_000;
/** Number of executions that are read at once. */
const READS = 8;
const HISTORY = { shard: 0, epoch: 0, seq: 0, isLive: false } as const;

/** History of executions, from the HTTP API. */
export interface History {
  /** Executions, in any order and any state. */
  executions: AsyncIterable<PastExecution>;
  /** Reads the details of an execution; null: the server does not have it any more. */
  detailOf(executionId: string): Promise<PastDetail | null>;
}

/** Numbers of a backfill. */
export interface Backfilled {
  /** Final executions whose events were inserted. */
  executions: number;
  events: number;
  /** Executions that were left out because they are not final: the servers tell of their ends. */
  open: number;
}

/**
 * Inserts the events that executions of the past must have had. It holds a page of executions in memory, and can be repeated.
 * @param onPage called after each insert
 * @throws {SinkRefused} the server is too old, lacks a right, or has missing or old tables
 * @throws {SinkUnavailable} it does not answer
 */
export async function backfillClickHouse(
  address: ClickHouseAddress,
  history: History,
  onPage: (so: Readonly<Backfilled>) => void,
): Promise<Backfilled> {
  const connection = new Connection(address);
  const done: Backfilled = { executions: 0, events: 0, open: 0 };
  try {
    await connection.requireVersion();
    await requireTables(connection);
    let page: PastExecution[] = [];
    const flush = async () => {
      done.events += await insertPage(connection, page, history);
      done.executions += page.length;
      page = [];
      onPage(done);
    };
    for await (const execution of history.executions) {
      if (execution.finishedAt === null) done.open++;
      else if (page.push(execution) === PAGE) await flush();
    }
    if (page.length > 0) await flush();
    return done;
  } finally {
    await connection.close();
  }
}

/** @returns number of events */
async function insertPage(
  connection: Connection,
  page: readonly PastExecution[],
  { detailOf }: History,
): Promise<number> {
  const lines: string[] = [];
  for (let from = 0; from < page.length; from += READS) {
    const some = page.slice(from, from + READS);
    const details = await Promise.all(some.map((past) => (needsDetail(past) ? detailOf(past.executionId) : null)));
    for (const [i, past] of some.entries()) {
      lines.push(...pastEvents(past, details[i] ?? null).map((event) => lineOf(event, HISTORY)));
    }
  }
  const hash = createHash("sha256");
  for (const line of lines) hash.update(line);
  await connection.insert("events", EVENT_COLUMNS, lines, hash.digest("hex"));
  return lines.length;
}
