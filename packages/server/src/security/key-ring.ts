import type { Logger } from "pino";
import type { EpochMs } from "../domain/ids.ts";
import type { Principal } from "../ports/authenticator.ts";
import type { Runtime, Timer } from "../ports/runtime.ts";
import type { ChangedKey, StoreKeys } from "../ports/store-keys.ts";
import { tenantOf } from "./tenant.ts";
import type { TenantRing } from "./tenant-ring.ts";

/** Interval at which a node asks for the version of the keys, in milliseconds. */
const ASK_EVERY_MS = 1_000;
/**
 * Interval at which a node reads all keys again, in milliseconds. A store that was set back may have lost keys, and have had other
 * changes since.
 */
const READ_ALL_EVERY_MS = 600_000;
const PAGE = 5_000;

/** A key in memory. */
export interface RingKey {
  principal: Principal;
  /** On the store's clock; null: never. */
  expiresAt: EpochMs | null;
}

export interface KeyRingParts {
  store: Pick<StoreKeys, "version" | "changedSince">;
  /** Tenants, which are read with the keys; left out: only `default`. */
  tenants?: Pick<TenantRing, "read">;
  runtime: Runtime;
  log: Logger;
}

/**
 * The keys of the store in the memory of a node, without revoked ones. A change takes effect when the node hears of it over the
 * bus (`refresh`), and after a second at the latest.
 */
export class KeyRing {
  readonly #parts: KeyRingParts;
  #byHash = new Map<string, RingKey>();
  #byId = new Map<string, RingKey & { hash: string }>();
  /** Key that each key replaces, also of keys that are no longer good. */
  readonly #replaced = new Map<string, string>();
  #version = 0;
  /** Time at which the last successful question was asked, on the monotonic clock. */
  #askedAtMs = Number.NEGATIVE_INFINITY;
  #readAllAtMs = Number.NEGATIVE_INFINITY;
  #isSound = false;
  #running: Promise<void> | null = null;
  #isAskedAgain = false;
  #timer: Timer | null = null;
  #tell: () => void = () => undefined;

  constructor(parts: KeyRingParts) {
    this.#parts = parts;
  }

  /**
   * Reads the keys for the first time, and then each second.
   * @throws {StoreUnavailable}
   */
  async start(): Promise<void> {
    await this.#read();
    this.#askLater();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = null;
    this.#tell = () => undefined;
  }

  /** Sets the listener that is called after every question, since keys may have changed or expired. */
  onLook(tell: () => void): void {
    this.#tell = tell;
  }

  /** Whether the store has, or has ever had, a key. */
  get hasKeys(): boolean {
    return this.#version > 0;
  }

  /** Milliseconds since the keys in memory were those of the store. */
  get ageMs(): number {
    return this.#parts.runtime.monotonicMs() - this.#askedAtMs;
  }

  /** Whether the store has answered the last question. */
  get isSound(): boolean {
    return this.#isSound;
  }

  /** @param hash SHA-256 of the key, in base64 */
  byHash(hash: string): RingKey | undefined {
    return this.#byHash.get(hash);
  }

  byId(id: string): RingKey | undefined {
    return this.#byId.get(id);
  }

  /** Asks the store for changes now. Never throws: after an outage, the next question follows in a second. */
  refresh(): Promise<void> {
    if (this.#running !== null) this.#isAskedAgain = true;
    this.#running ??= this.#refresh().finally(() => (this.#running = null));
    return this.#running;
  }

  async #refresh(): Promise<void> {
    do {
      this.#isAskedAgain = false;
      try {
        await this.#read();
      } catch (error) {
        if (this.#isSound)
          this.#parts.log.warn(
            { err: error },
            "the node could not ask the store for changes of API keys, retrying in 1 s",
          );
        // The store may come back as one that was set back.
        this.#isSound = false;
      }
      // A further question may take long, and uses of keys that this one found to be revoked have to end now.
      this.#tell();
    } while (this.#isAskedAgain);
  }

  #askLater(): void {
    this.#timer = this.#parts.runtime.setTimer(ASK_EVERY_MS, () => {
      void this.refresh();
      if (this.#timer !== null) this.#askLater();
    });
  }

  async #read(): Promise<void> {
    const { store, runtime } = this.#parts;
    const askedAtMs = runtime.monotonicMs();
    const version = await store.version();
    const isWhole = !this.#isSound || version < this.#version || askedAtMs - this.#readAllAtMs >= READ_ALL_EVERY_MS;
    const changes = isWhole || version > this.#version ? await this.#changes(isWhole ? 0 : this.#version) : [];
    // A tenant is older than its keys, so tenants that are read after keys include theirs.
    await this.#parts.tenants?.read(isWhole);
    if (isWhole) this.#forgetAll(version, askedAtMs);
    for (const key of changes) this.#take(key);
    this.#version = Math.max(version, this.#version);
    this.#askedAtMs = askedAtMs;
    this.#isSound = true;
  }

  #forgetAll(version: number, askedAtMs: number): void {
    this.#byHash = new Map();
    this.#byId = new Map();
    this.#version = version;
    this.#readAllAtMs = askedAtMs;
  }

  /** The first key of a row of rotations. */
  #lineOf(id: string): string {
    let first = id;
    for (let next = this.#replaced.get(first); next !== undefined; next = this.#replaced.get(first)) first = next;
    return first;
  }

  async #changes(since: number): Promise<ChangedKey[]> {
    const changes: ChangedKey[] = [];
    for (let version = since; ; ) {
      const page = await this.#parts.store.changedSince(version, PAGE);
      changes.push(...page);
      version = page.at(-1)?.version ?? version;
      if (page.length < PAGE) return changes;
    }
  }

  #take({
    id,
    tenant,
    kind,
    scopes,
    pools,
    hash,
    expiresAt,
    revokedAt,
    version,
    replaces,
    certificateId,
  }: ChangedKey): void {
    this.#version = Math.max(this.#version, version);
    this.#byHash.delete(this.#byId.get(id)?.hash ?? hash);
    this.#byId.delete(id);
    if (replaces !== null) this.#replaced.set(id, replaces);
    if (revokedAt !== null) return;
    const rights = { kind, tenant: tenantOf(tenant), scopes: new Set(scopes), pools, certificateId };
    const lineOf = (own: string): string => this.#lineOf(own);
    const principal = {
      ...{ keyId: id, source: "STORE" as const, ...rights },
      // The store tells keys in the order of their changes, so a replaced key may come later.
      get line() {
        return lineOf(id);
      },
    };
    const key = { principal, expiresAt };
    this.#byHash.set(hash, key);
    this.#byId.set(id, { ...key, hash });
  }
}
