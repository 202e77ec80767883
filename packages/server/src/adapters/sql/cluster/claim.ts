import type pg from "pg";
import type { Timer } from "../../../ports/runtime.ts";
import { StoreUnusable, storeInUse } from "../../../ports/store-errors.ts";
import { type ConnectionsOptions, clientConfig, primaryAt } from "../connection/connections.ts";
import { storeError } from "../connection/errors.ts";
import { lockKey } from "../schema/locks.ts";

/**
 * Number of the advisory lock that a server holds on its store. Any number works that nothing else in the database
 * uses.
 */
export const CLAIM_LOCK = 7_303_014_002;
/**
 * Time to wait for the lock of a killed predecessor, in milliseconds. PostgreSQL releases the lock when it sees the
 * connection closed, usually at once.
 */
const PATIENCE_MS = 5_000;
const RETRY_MS = 100;
const RETAKE_MS = 1_000;

const HOLDER = `
  SELECT a.application_name, l.mode FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
  WHERE l.locktype = 'advisory' AND l.granted AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND (l.classid::bigint << 32 | l.objid::bigint)`;

export interface ClaimOptions {
  /** Whether other servers that set this option too may use the store; default: this server alone. */
  isShared?: boolean;
  /** Whether the store was made by programs that hold one lock for a whole database; default: no. */
  isFormer?: boolean;
  /** Whether such programs find the store although they did not make it; default: no. */
  isVisible?: boolean;
  /** Advice in the error if another server holds the claim; default: the advice for a server. */
  advice?: string;
}

/**
 * Claim of one server, or of the servers of one cluster, to a store. A session of PostgreSQL holds the claim, so it
 * ends with the process, and the server takes it again after a broken connection. The fence alone keeps the data right;
 * the claim keeps two servers that were started by mistake from taking each other's shards for ever.
 */
export class Claim {
  readonly #options: ConnectionsOptions & ClaimOptions;
  readonly #Client: typeof pg.Client;
  #client: pg.Client | null = null;
  #taking: Promise<void> | null = null;
  #retake: Timer | null = null;
  #released = false;
  readonly #listeners = new Map<string, (payload: string | null) => void>();

  constructor(options: ConnectionsOptions & ClaimOptions) {
    this.#options = options;
    this.#Client = primaryAt(options).Client;
  }

  /**
   * Waits until this server holds the claim.
   * @throws {StoreUnusable} another server holds it
   * @throws {StoreUnavailable}
   */
  take(): Promise<void> {
    if (this.#client !== null) return Promise.resolve();
    this.#taking ??= this.#acquire().finally(() => {
      this.#taking = null;
    });
    return this.#taking;
  }

  /**
   * Listens to a channel on the connection of the claim, so that listening needs no connection of its own.
   * @param tell called with the payload of each notice; with null when the connection was made anew, because notices may be lost
   */
  listen(channel: string, tell: (payload: string | null) => void): void {
    this.#listeners.set(channel, tell);
    const client = this.#client;
    if (client !== null) void listenTo(client, channel).then(() => tell(null), ignore);
  }

  async release(): Promise<void> {
    this.#released = true;
    this.#retake?.cancel();
    await this.#taking?.catch(ignore);
    await this.#client?.end().catch(ignore);
  }

  async #acquire(): Promise<void> {
    const { runtime } = this.#options;
    const client = new this.#Client(clientConfig(this.#options, "claim"));
    client.on("error", ignore);
    try {
      await client.connect();
      const deadlineMs = runtime.monotonicMs() + PATIENCE_MS;
      for (;;) {
        const refused = await refusedKey(client, this.#options);
        if (refused === null) break;
        if (runtime.monotonicMs() >= deadlineMs) throw await inUse(client, refused, this.#options);
        await new Promise<void>((resolve) => runtime.setTimer(RETRY_MS, resolve));
      }
    } catch (error) {
      await client.end().catch(ignore);
      throw error instanceof StoreUnusable ? error : storeError(error);
    }
    this.#client = client;
    client.once("end", () => this.#lost());
    client.on("notification", ({ channel, payload = "" }) => this.#listeners.get(channel)?.(payload));
    for (const [channel, tell] of this.#listeners) void listenTo(client, channel).then(() => tell(null), ignore);
  }

  #lost(): void {
    this.#client = null;
    if (this.#released) return;
    const { log, runtime } = this.#options;
    log.warn("the connection that holds the claim to the database broke; taking it again");
    const again = () => {
      if (this.#released) return;
      this.take().catch((error: unknown) => {
        log.error({ err: error }, "the store could not take its claim to the database again");
        this.#retake = runtime.setTimer(RETAKE_MS, again);
      });
    };
    again();
  }
}

async function listenTo(client: pg.Client, channel: string): Promise<void> {
  await client.query(`LISTEN ${channel}`);
}

/**
 * SQL for the keys of the locks that form the claim. The last lock is shared by all stores that such programs can find.
 */
function locksOf({ isShared = false, isFormer = false, isVisible = false }: ClaimOptions) {
  const locks = [{ key: lockKey(CLAIM_LOCK), isShared }];
  if (isFormer || isVisible) locks.push({ key: `${CLAIM_LOCK}`, isShared: isShared || !isFormer });
  return locks;
}

/** @returns key of a lock that another session holds; null: this session holds all locks now */
async function refusedKey(client: pg.Client, options: ClaimOptions): Promise<string | null> {
  for (const { key, isShared } of locksOf(options)) {
    const lock = `pg_try_advisory_lock${isShared ? "_shared" : ""}`;
    const { rows } = await client.query<{ held: boolean }>(`SELECT ${lock}(${key}) AS held`);
    if (rows[0]?.held !== true) return key;
  }
  return null;
}

async function inUse(
  client: pg.Client,
  key: string,
  { isShared = false, advice }: ClaimOptions,
): Promise<StoreUnusable> {
  const { rows } = await client.query<{ application_name: string; mode: string }>(`${HOLDER} = ${key}`);
  const { application_name: holder = "unknown", mode = "" } = rows[0] ?? {};
  if (advice !== undefined) return new StoreUnusable(`A Mainspring server (${holder}) uses this database: ${advice}`);
  const settings = "MAINSPRING_STORE, MAINSPRING_STORE_SCHEMA";
  return storeInUse({ holder, isCluster: mode === "ShareLock", isNode: isShared, store: "database", settings });
}

function ignore(): void {}
