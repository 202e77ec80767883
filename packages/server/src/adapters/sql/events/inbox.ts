import { certainBlock } from "../../../ports/event-blocks.ts";
import type { AnyJob } from "../../../ports/store-runs.ts";
import { type InboxEvents, inboxOfJobs } from "../../../ports/told-events.ts";
import type { RaisedLevels } from "../commit/raised-levels.ts";
import { byteas, int2s, uuids } from "../connection/arrays.ts";
import type { Connections, Session, Statement } from "../connection/connections.ts";

/** SQL: inserts members of the inbox. @param first number of the first of the three parameters of `inboxValues` */
export const insertFrom = (first: number) => `INSERT INTO event_inbox (id, shard, events)
  SELECT unnest($${first}::uuid[]), unnest($${first + 1}::int2[]), unnest($${first + 2}::bytea[])`;

const INSERT = insertFrom(1);
const LEAVE = `${INSERT} ON CONFLICT (id) DO NOTHING`;

/** Events that submits and changes of jobs leave for the owners of shards, in their own transactions. */
export class EventInbox {
  readonly #isTelling: () => boolean;
  readonly #levels: RaisedLevels;

  /** @param isTelling whether the node writes lifecycle events now */
  constructor(isTelling: () => boolean, levels: RaisedLevels) {
    this.#isTelling = isTelling;
    this.#levels = levels;
  }

  /** Prepares writes. @returns whether they have events */
  async begin(): Promise<boolean> {
    if (!this.#isTelling()) return false;
    await this.#levels.raise("EVENTS");
    return true;
  }

  /** Adds events in a transaction of their own, if the node writes events. A repeat changes nothing. */
  async leaveAlone(db: Connections, rows: readonly InboxEvents[]): Promise<void> {
    if (await this.begin()) await db.run("submit", { name: "leave_events", text: LEAVE, values: inboxValues(rows) });
  }

  /** Adds events to a transaction, if the node writes events. */
  async leave(session: Session, rows: () => readonly InboxEvents[]): Promise<void> {
    if (await this.begin()) await session.run(inboxStatement(rows()));
  }
}

export function inboxStatement(rows: readonly InboxEvents[]): Statement {
  return { name: "insert_events", text: INSERT, values: inboxValues(rows) };
}

/** Adds the events of jobs to the statement that inserts the jobs. It begins with WITH. */
export function withEvents({ name, text, values = [] }: Statement, jobs: readonly AnyJob[]): Statement {
  return {
    name: `${name}_telling`,
    text: text.replace(/^\s*WITH /, `WITH told AS (${insertFrom(values.length + 1)}), `),
    values: [...values, ...inboxValues(inboxOfJobs(jobs))],
  };
}

export function inboxValues(rows: readonly InboxEvents[]): unknown[] {
  return [uuids(rows, (r) => r.id), int2s(rows, (r) => r.shard), byteas(rows, (r) => certainBlock(r.events))];
}
