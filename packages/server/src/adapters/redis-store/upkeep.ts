import type { EpochMs, Incarnation } from "../../domain/ids.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { Retention } from "../../ports/store.ts";
import { forgetKeys } from "./access/keys.ts";
import { instantBytes } from "./bytes.ts";
import { retireDeliveries } from "./events/delivery-upkeep.ts";
import { maintainEvents, type PausedCall } from "./events/event-sinks.ts";
import { History, PER_CALL } from "./history.ts";
import { forgetRecords } from "./intake/ingest.ts";
import { keepJobs } from "./recurring/job-upkeep.ts";
import type { RedisConnection } from "./redis-connection.ts";
import { forgetNodes } from "./runs/run-upkeep.ts";

const DAY_MS = 86_400_000;
/** Time for which a repeated request is recognised by its idempotency key, in days. */
const IDEMPOTENCY_DAYS = 7;
/** Time in ms for which a body may wait for the call that names it. */
const BODY_MS = 3_600_000;
/** Pause behind each call, in ms, so that upkeep takes a part of Redis only. */
const PAUSE_MS = 20;
/** Largest number of rows that a call removes where only their age counts. */
const ANY = `${PER_CALL}`;
/** Seconds of one list. */
const SECONDS = 1_000;

/** See Store.maintain. */
export class Upkeep {
  readonly #db: RedisConnection;
  readonly #runtime: Pick<Runtime, "setTimer">;
  readonly #history: History;

  constructor(db: RedisConnection, runtime: Pick<Runtime, "setTimer">, node: Incarnation) {
    this.#db = db;
    this.#runtime = runtime;
    this.#history = new History(db, (name, args) => this.#paused(name, args), node);
  }

  /** See RedisStore.trim. */
  async trim(now: EpochMs, { most, deadDays }: Retention): Promise<void> {
    if (most !== undefined) await this.#history.trim(now, most, now - deadDays * DAY_MS);
  }

  async maintain(now: EpochMs, retention: Retention): Promise<void> {
    const { days, deadDays } = retention;
    this.#history.beginAgain();
    const call: PausedCall = (name, args) => this.#paused(name, args);
    await maintainEvents(call, now, retention);
    await retireDeliveries(call, now, days);
    const keepFrom = now - days * DAY_MS;
    const keepDeadFrom = Math.min(keepFrom, now - deadDays * DAY_MS);
    const [tenants] = await this.#db.call([["SMEMBERS", this.#db.key("xt")]]);
    for (const tenant of (tenants as Buffer[]).map(String)) {
      await this.#retire("y", "ms_retire_later", tenant, keepFrom, keepDeadFrom);
      await this.#retire("x", "ms_retire", tenant, keepFrom, keepDeadFrom);
    }
    await forgetNodes(this.#db, call);
    await keepJobs(this.#db, (...call) => this.#paused(...call), keepFrom);
    const forgetBefore = Math.floor(now / 1_000) - IDEMPOTENCY_DAYS * (DAY_MS / 1_000);
    for await (const second of this.#seconds("ixb", forgetBefore))
      while (Number(await this.#paused("ms_forget_keys", [second])) > 0);
    while (Number(await this.#paused("ms_drop_bodies", [`${Math.floor(now - BODY_MS)}`])) === PER_CALL);
    await forgetKeys(this.#db, now);
    while (await forgetRecords(this.#db, keepFrom));
  }

  /** Removes the final rows of a tenant by their ids, from the oldest second on. @param letter that of the keys of the ids */
  async #retire(
    letter: "x" | "y",
    name: string,
    tenant: string,
    keepFrom: EpochMs,
    keepDeadFrom: EpochMs,
  ): Promise<void> {
    const rest = [instantBytes(keepFrom), instantBytes(keepDeadFrom), ANY];
    for await (const second of this.#seconds(`${letter}b${tenant}`, Math.floor(keepFrom / 1_000))) {
      const ids = Number(await this.#paused(name, [tenant, second, ...rest]));
      for (let seen = PER_CALL; seen < ids; seen += PER_CALL) await this.#paused(name, [tenant, second, ...rest]);
    }
  }

  /** Seconds of a sorted set before a second, ascending. */
  async *#seconds(name: string, before: number): AsyncGenerator<string> {
    for (let from = "-inf"; ; ) {
      const [answer] = await this.#db.call([
        ["ZRANGE", this.#db.key(name), from, `(${before}`, "BYSCORE", "LIMIT", "0", `${SECONDS}`],
      ]);
      const seconds = (answer as Buffer[]).map(String);
      yield* seconds;
      if (seconds.length < SECONDS) return;
      from = `(${seconds.at(-1)}`;
    }
  }

  async #paused(name: string, args: readonly (string | Buffer)[]) {
    const answer = await this.#db.durably(name, args);
    await new Promise<void>((resolve) => this.#runtime.setTimer(PAUSE_MS, resolve));
    return answer;
  }
}
