import type { Logger } from "pino";
import type { Incarnation } from "../../domain/ids.ts";
import type { Runtime, Timer } from "../../ports/runtime.ts";
import { type StoreUnusable, storeInUse } from "../../ports/store-errors.ts";
import type { RedisConnection } from "./redis-connection.ts";

/** Time in ms for which a claim lasts without its server, and interval of its renewals. */
const LASTS_MS = 3_000;
const RENEW_MS = 1_000;
/** Longest wait for the claim of a killed predecessor in ms, and interval of the attempts. */
const PATIENCE_MS = 5_000;
const RETRY_MS = 100;

export interface ClaimOptions {
  node: Incarnation;
  runtime: Runtime;
  /** Whether the server is a node of a cluster, which shares the store with the others. */
  isShared: boolean;
  log: Pick<Logger, "error">;
}

/**
 * Claim of one server, or of the servers of one cluster, to a store. It lasts for a time that the server renews. The fence alone keeps the
 * data right; the claim keeps two servers that were started by mistake from taking each other's shards for ever.
 */
export class Claim {
  readonly #db: RedisConnection;
  readonly #options: ClaimOptions;
  #timer: Timer | null = null;
  #isReleased = false;

  constructor(db: RedisConnection, options: ClaimOptions) {
    this.#db = db;
    this.#options = options;
  }

  /**
   * Waits until this server holds the claim, and keeps it from then on.
   * @throws {StoreUnusable} another server holds it
   * @throws {StoreUnavailable}
   */
  async take(): Promise<void> {
    const { runtime } = this.#options;
    const untilMs = runtime.monotonicMs() + PATIENCE_MS;
    for (;;) {
      const other = await this.#claim();
      if (other === "") break;
      if (runtime.monotonicMs() >= untilMs) throw inUse(other, this.#options.isShared);
      await new Promise<void>((resolve) => runtime.setTimer(RETRY_MS, resolve));
    }
    this.#renewLater();
  }

  async release(): Promise<void> {
    this.#isReleased = true;
    this.#timer?.cancel();
    if (this.#timer !== null) await this.#db.call([["HDEL", this.#db.key("cl"), this.#options.node]]).catch(ignore);
  }

  async #claim(): Promise<string> {
    const { node, isShared } = this.#options;
    return String(await this.#db.fcall("ms_claim", [node, isShared ? "S" : "A", `${LASTS_MS}`]));
  }

  #renewLater(): void {
    if (!this.#isReleased) this.#timer = this.#options.runtime.setTimer(RENEW_MS, () => void this.#renew());
  }

  async #renew(): Promise<void> {
    const { log, isShared } = this.#options;
    // While Redis does not answer, nobody else gets the claim either.
    const other = await this.#claim().catch(() => "");
    if (other !== "")
      log.error({ err: inUse(other, isShared) }, "the store lost its claim to the Redis, and tries to take it again");
    this.#renewLater();
  }
}

function inUse(other: string, isShared: boolean): StoreUnusable {
  const settings = "MAINSPRING_STORE, with ?prefix=NAME";
  return storeInUse({
    holder: other.slice(1),
    isCluster: other[0] === "S",
    isNode: isShared,
    store: "Redis",
    settings,
  });
}

function ignore(): void {}
