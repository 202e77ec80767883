import { type AuditChain, type RecordWriter, writeEntry } from "../../../ports/audit-chain.ts";
import type { AuditNote } from "../../../ports/store-audit.ts";
import type { Connections, Row, Session, Statement } from "../connection/connections.ts";
import type { Purpose } from "../connection/purposes.ts";
import { insertValues } from "./audit-rows.ts";

const INSERT = `INSERT INTO audit (chain, seq, at, tenant, actor_kind, actor_key, actor_for, action, target, outcome, request_id, address, detail,
  prev, hash) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, decode($14, 'hex'), decode($15, 'hex'))`;

/** The key makes the statement wait for a transaction that has written a record of the same place. */
const SETTLE = `${INSERT} ON CONFLICT DO NOTHING`;
const READ = "SELECT encode(hash, 'hex') FROM audit WHERE at = $1 AND chain = $2 AND seq = $3";

/** Writes records of changes in the transactions of these. */
export class AuditTrail {
  readonly #db: Connections;
  readonly #chain: AuditChain;

  constructor(db: Connections, chain: AuditChain) {
    this.#db = db;
    this.#chain = chain;
  }

  /**
   * Runs a transaction.
   * @param note fact to be recorded; undefined: none
   * @param isDone whether the transaction has changed what the note says; default: yes
   */
  transaction<T>(
    purpose: Purpose,
    note: AuditNote | undefined,
    use: (session: Session) => Promise<T>,
    isDone: (answer: T) => boolean = () => true,
  ): Promise<T> {
    if (note === undefined) return this.#db.transaction(purpose, use);
    return this.concluded(purpose, use, (answer) => (isDone(answer) ? [note] : []));
  }

  /** Runs a transaction whose answer says which facts are recorded. */
  concluded<T>(
    purpose: Purpose,
    use: (session: Session) => Promise<T>,
    notesOf: (answer: T) => readonly AuditNote[],
  ): Promise<T> {
    return this.#db.transaction(purpose, use, (answer, session, commit) => {
      const notes = notesOf(answer);
      return notes.length === 0 ? commit() : this.record(notes, session, commit);
    });
  }

  /** Runs a statement, which has changed something if it returns rows. */
  run(purpose: Purpose, note: AuditNote | undefined, statement: Statement): Promise<Row[]> {
    if (note === undefined) return this.#db.run(purpose, statement);
    return this.transaction(
      purpose,
      note,
      (session) => session.run(statement),
      (rows) => rows.length > 0,
    );
  }

  /** Runs a transaction whose facts are recorded whatever it answers. @param notes at least one */
  noted<T>(purpose: Purpose, notes: readonly AuditNote[], use: (session: Session) => Promise<T>): Promise<T> {
    return this.#db.transaction(purpose, use, (_answer, session, commit) => this.record(notes, session, commit));
  }

  /** Writes records of facts that change no other table. */
  async write(notes: readonly AuditNote[]): Promise<void> {
    if (notes.length > 0) await this.noted("query", notes, async () => undefined);
  }

  /**
   * Ends a transaction with records of facts and its commit, which are sent together: PostgreSQL rolls back a transaction that commits
   * after a statement has failed.
   * @param notes at least one
   */
  record(notes: readonly AuditNote[], session: Session, commit: () => Promise<void>): Promise<void> {
    return this.#chain.append(notes, async (entry) => {
      const added: Promise<unknown>[] = [];
      const head = await writeEntry(entry, writerOf(session, added));
      await Promise.all([...added, commit()]);
      return { answer: undefined, head };
    });
  }
}

/** @param added gets a promise for each record that the writer has sent */
function writerOf(session: Session, added: Promise<unknown>[]): RecordWriter {
  return {
    add: async (record) => {
      added.push(session.run({ name: "audit", text: INSERT, values: insertValues(record) }));
    },
    settle: async (record) => {
      await session.run({ text: SETTLE, values: insertValues(record) });
      const [row] = await session.run({ text: READ, values: [record.at, record.chain, record.seq] });
      return String(row?.[0]);
    },
  };
}
