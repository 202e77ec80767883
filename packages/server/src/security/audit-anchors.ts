import type { Logger } from "pino";
import { type AuditAnchor, anchorHash, type ChainHead, FIRST_PREV } from "../domain/audit/audit-record.ts";
import { type ShardId, shardOf } from "../domain/ids.ts";
import { sha256 } from "../ports/audit-chain.ts";
import type { Runtime, Timer } from "../ports/runtime.ts";
import type { StoreAudit } from "../ports/store-audit.ts";

const EVERY_MS = 60_000;
/** Number of rounds between two looks for months that retention removes. */
const ROUNDS_BETWEEN_REMOVALS = 60;
const DAY_MS = 86_400_000;
/** Shard whose owner writes the anchors. */
const SHARD: ShardId = shardOf("audit");

export interface AnchorParts {
  audit: Pick<StoreAudit, "unsealed" | "addAnchor" | "removable" | "remove">;
  /** Its `now` is the store's clock. */
  runtime: Runtime;
  log: Logger;
  /** Shards that the node owns. */
  owned: () => { has(shard: ShardId): boolean };
  /** Signs the digits of a hash, in base64; null: there is no key. */
  sign: ((hash: string) => string) | null;
  /** Days for which records are kept. */
  days: number;
}

/**
 * Seals the audit log: each minute, and at the end of the node. An anchor that is due is written by the owner of one shard, so there
 * is one writer; of two that both believe to own it, the store takes one anchor of each number.
 */
export class AuditAnchors {
  readonly #parts: AnchorParts;
  #timer: Timer | null = null;
  #rounds = 0;
  #running: Promise<void> = Promise.resolve();

  constructor(parts: AnchorParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#timer = this.#parts.runtime.setTimer(EVERY_MS, () => {
      this.#running = this.#round().finally(() => {
        if (this.#timer !== null) this.start();
      });
    });
  }

  /** Writes the last anchor. */
  async stop(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = null;
    await this.#running;
    await this.#sealed();
  }

  /** Never throws. */
  async #round(): Promise<void> {
    await this.#sealed();
    if (this.#rounds++ % ROUNDS_BETWEEN_REMOVALS !== 0) return;
    await this.#attempt("the node could not remove old months of the audit log, retrying in an hour", () =>
      this.#remove(),
    );
  }

  async #sealed(): Promise<void> {
    await this.#attempt("the node could not seal the audit log, retrying in a minute", () => this.seal([]));
  }

  async #attempt(failed: string, work: () => Promise<unknown>): Promise<void> {
    if (!this.#parts.owned().has(SHARD)) return;
    try {
      await work();
    } catch (error) {
      this.#parts.log.warn({ err: error }, failed);
    }
  }

  /**
   * Writes an anchor, unless there is nothing to seal.
   * @param floors last records that are removed next
   * @returns whether the anchor is written
   */
  async seal(floors: readonly ChainHead[]): Promise<boolean> {
    const { audit, runtime, log, sign } = this.#parts;
    const { last, heads } = await audit.unsealed();
    if (heads.length === 0 && floors.length === 0) return false;
    const at = Math.max(Math.floor(runtime.now()), last?.at ?? 0);
    const content = { number: (last?.number ?? 0) + 1, at, heads, floors, prev: last?.hash ?? FIRST_PREV };
    const hash = anchorHash(content, sha256);
    const anchor: AuditAnchor = { ...content, hash, signature: sign?.(hash) ?? null };
    if (!(await audit.addAnchor(anchor))) return false;
    log.info({ auditAnchor: anchor }, "the node sealed the audit log: keep this line where nobody can change it");
    return true;
  }

  async #remove(): Promise<void> {
    const { audit, runtime, days } = this.#parts;
    const before = runtime.now() - days * DAY_MS;
    const floors = await audit.removable(before);
    // Records are removed only if an anchor says up to where.
    if (floors.length === 0 || !(await this.seal(floors))) return;
    await audit.remove(before);
  }
}
