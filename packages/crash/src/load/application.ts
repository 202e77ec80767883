import { submitIn, submitManyIn } from "@mainspring/sdk/sql";
import pg from "pg";
import { monotonicMs, sleep } from "../clock.ts";
import type { RequestEvent } from "../history/request-events.ts";
import { decision } from "./decision.ts";
import { KINDS } from "./kinds.ts";
import { type Order, randomOrder } from "./orders.ts";
import type { SubmitterParts } from "./submitters.ts";

/** Pause of an application between two transactions, in milliseconds. */
const REST_MS = { least: 300, most: 1_200 };
/** Time for which a transaction stays open after its last request, in milliseconds, so that faults hit open ones. */
const OPEN_MS = { least: 0, most: 800 };
const ROLLBACKS = 0.25;
const SAVEPOINTS = 0.2;
const BATCHES = 0.2;
const WRONG = 0.08;
const WITHOUT_KEY = 0.3;
const REPEATS = 0.1;
const RETRY_MS = 300;
/** Longest wait for an answer of PostgreSQL, in milliseconds. */
const ANSWER_MS = { connect: 10_000, query: 60_000 };
/** Number of transactions whose requests are not decided at which an application waits before the next one. */
const UNDECIDED_MAX = 8;
/** Kinds whose jobs may be taken in late, as in an outage. */
const PATIENT = KINDS.filter(({ name }) => name !== "perishable" && name !== "cancelled");
/** Kinds whose jobs succeed at once. */
const EASY = KINDS.filter(({ name }) => name === "quick" || name === "prioritised");

/** One transaction: its jobs, and what becomes of it. */
interface Plan {
  orders: Order[];
  isWrong: boolean;
  /** Whether the jobs have idempotency keys, so that the transaction can be repeated if nobody knows its end. */
  isKeyed: boolean;
  rollsBack: boolean;
  /** Job of a savepoint that is rolled back; null: there is no savepoint. */
  undone: Order | null;
}

/** End of a transaction. CUT_OFF: a fault ended it before its commit was sent. UNKNOWN: the commit was not answered. */
type End = "COMMITTED" | "ROLLED_BACK" | "CUT_OFF" | "UNKNOWN";

/** Submits jobs in transactions of its own on the PostgreSQL that it shares with the servers; some are rolled back. */
export class Application {
  readonly #parts: SubmitterParts;
  readonly #undecided = new Set<Promise<void>>();
  #orders = 0;

  constructor(parts: SubmitterParts) {
    this.#parts = parts;
  }

  /** @returns promise that resolves when the application was told to leave and its requests are decided */
  async work(leaving: AbortSignal): Promise<void> {
    const { random, store } = this.#parts;
    if (store === null) return;
    while (!leaving.aborted) {
      await this.#carryOut(this.#plan(), store);
      await sleep(random.between(REST_MS.least, REST_MS.most));
      while (this.#undecided.size >= UNDECIDED_MAX) await Promise.race(this.#undecided);
    }
    await Promise.all(this.#undecided);
  }

  #plan(): Plan {
    const { random } = this.#parts;
    const count = random.chance(BATCHES) ? random.between(2, 10) : 1;
    return {
      orders: Array.from({ length: count }, () => this.#order()),
      isWrong: random.chance(WRONG),
      isKeyed: !random.chance(WITHOUT_KEY),
      rollsBack: random.chance(ROLLBACKS),
      undone: random.chance(SAVEPOINTS) ? this.#order() : null,
    };
  }

  #order(): Order {
    const { random, keyPrefix, isEasy } = this.#parts;
    return randomOrder(`sql-${keyPrefix}-${this.#orders++}`, random, random.pickByWeight(isEasy ? EASY : PATIENT));
  }

  async #carryOut(plan: Plan, store: string): Promise<void> {
    const { history, random } = this.#parts;
    for (const { at, key, kind, expected } of [...plan.orders, ...(plan.undone === null ? [] : [plan.undone])]) {
      if (!plan.isWrong) history.write({ event: "INTENDED", at, key, kind, idempotent: plan.isKeyed, expected });
    }
    let end = await this.#transaction(plan, store);
    while (plan.isKeyed && (end === "UNKNOWN" || end === "CUT_OFF")) {
      await sleep(RETRY_MS);
      end = await this.#transaction(plan, store);
    }
    if (end === "COMMITTED" && plan.isKeyed && random.chance(REPEATS)) await this.#transaction(plan, store);
  }

  async #transaction(plan: Plan, store: string): Promise<End> {
    const { random } = this.#parts;
    const connection = new pg.Client({
      connectionString: store,
      connectionTimeoutMillis: ANSWER_MS.connect,
      query_timeout: ANSWER_MS.query,
    });
    // A broken connection fails its statements too.
    connection.on("error", () => undefined);
    const ids: string[] = [];
    try {
      await connection.connect();
      await connection.query("BEGIN");
      const schema = await schemaOf(connection);
      ids.push(...(await this.#submit(connection, plan, schema)));
      if (plan.undone !== null) await this.#submitAndUndo(connection, plan.undone, plan.isWrong, schema);
      await sleep(random.between(OPEN_MS.least, OPEN_MS.most));
      if (plan.rollsBack) await connection.query("ROLLBACK");
      const end = plan.rollsBack ? "ROLLED_BACK" : await commit(connection);
      this.#tell(ids, end);
      if (end === "COMMITTED" && !plan.isWrong) this.#follow(plan.orders, ids);
      return end;
    } catch {
      this.#tell(ids, "CUT_OFF");
      return "CUT_OFF";
    } finally {
      await connection.end().catch(() => undefined);
    }
  }

  /** @returns ids of the requests */
  async #submit(connection: pg.Client, { orders, isWrong, isKeyed }: Plan, schema: string): Promise<string[]> {
    const jobs = orders.map(({ request }) => (isWrong ? { ...request, priority: 11 } : request));
    const keys = orders.map(({ key }) => (isKeyed ? key : null));
    const [job, key] = [jobs[0], keys[0]];
    const ids =
      jobs.length > 1 || job === undefined
        ? await submitManyIn(connection, jobs, { schema, idempotencyKeys: keys })
        : [await submitIn(connection, job, { schema, ...(key != null && { idempotencyKey: key }) })];
    for (const [index, requestId] of ids.entries()) this.#wrote(orders[index] as Order, requestId, isWrong);
    return ids;
  }

  async #submitAndUndo(connection: pg.Client, order: Order, isWrong: boolean, schema: string): Promise<void> {
    await connection.query("SAVEPOINT half");
    const requestId = await submitIn(connection, order.request, { schema });
    this.#wrote(order, requestId, isWrong);
    await connection.query("ROLLBACK TO half");
    this.#tell([requestId], "ROLLED_BACK");
  }

  #wrote({ key }: Order, requestId: string, isWrong: boolean): void {
    this.#record({ event: "REQUEST_WRITTEN", at: monotonicMs(), key, requestId, isWrong });
  }

  #tell(ids: readonly string[], end: End): void {
    const at = monotonicMs();
    for (const requestId of ids) {
      if (end === "COMMITTED") this.#record({ event: "REQUEST_COMMITTED", at, requestId });
      else if (end !== "UNKNOWN") {
        this.#record({ event: "REQUEST_ROLLED_BACK", at, requestId, isCutOff: end === "CUT_OFF" });
      }
    }
  }

  #record(event: RequestEvent): void {
    this.#parts.history.write(event);
  }

  /** Waits beside the work until the servers have decided the requests, and records their answers. */
  #follow(orders: readonly Order[], ids: readonly string[]): void {
    const decided: Promise<void> = Promise.all(ids.map((id, index) => this.#decided(orders[index] as Order, id)))
      .then(() => undefined)
      .finally(() => this.#undecided.delete(decided));
    this.#undecided.add(decided);
  }

  async #decided({ key }: Order, requestId: string): Promise<void> {
    const { history } = this.#parts;
    try {
      const { jobId, executionId, deduplicated } = await decision(this.#parts, requestId);
      history.write({ event: "ANSWERED", at: monotonicMs(), key, executionId, jobId, deduplicated });
    } catch (error) {
      history.write({ event: "REFUSED", at: monotonicMs(), key, message: (error as Error).message });
    }
  }
}

/** Schema of the store, which moves in an upgrade. */
async function schemaOf(connection: pg.Client): Promise<string> {
  const text = "SELECT pronamespace::regnamespace::text AS schema FROM pg_proc WHERE proname = 'mainspring_submit'";
  const { rows } = await connection.query<{ schema: string }>(text);
  return rows[0]?.schema ?? "mainspring";
}

/** @returns UNKNOWN: PostgreSQL has not answered, so that the transaction has committed or not */
async function commit(connection: pg.Client): Promise<End> {
  try {
    const { command } = await connection.query("COMMIT");
    return command === "COMMIT" ? "COMMITTED" : "ROLLED_BACK";
  } catch {
    return "UNKNOWN";
  }
}
