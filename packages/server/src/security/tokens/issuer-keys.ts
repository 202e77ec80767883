import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from "jose";
import type { Logger } from "pino";
import { type Issuer, type IssuerKey, IssuerUnavailable, type TokenRules } from "../../ports/issuer.ts";
import type { Runtime, Timer } from "../../ports/runtime.ts";

/** Interval at which a node asks for the keys if nothing else makes it ask, in milliseconds. */
const ASK_EVERY_MS = 300_000;
/** Interval of the looks at the time, in milliseconds. Tokens end within this time after their end. */
const LOOK_EVERY_MS = 1_000;

/** The keys of the issuer are too old, or do not contain a key and the issuer cannot be asked. */
export class IssuerSilent extends Error {
  override readonly name = "IssuerSilent";
}

export interface IssuerKeysParts {
  issuer: Issuer;
  rules: Pick<TokenRules, "refreshSec" | "staleSec">;
  runtime: Pick<Runtime, "monotonicMs" | "setTimer">;
  log: Pick<Logger, "warn" | "info">;
}

/** Keys in memory. */
interface KeySet {
  /** Finds the key of a token. Throws if none fits. */
  find: JWTVerifyGetKey;
  keys: readonly IssuerKey[];
}

/**
 * The keys of an issuer in the memory of a node. The node asks for them at its start, every five minutes, and when a token names
 * an unknown key, for which it asks no more often than once in `refreshSec`. Concurrent tokens share one question.
 */
export class IssuerKeys {
  readonly #parts: IssuerKeysParts;
  #known: KeySet | null = null;
  #generation = 0;
  /** Times of the last question, and of the last one that was answered, on the monotonic clock. */
  #askedAtMs = Number.NEGATIVE_INFINITY;
  #answeredAtMs = Number.NEGATIVE_INFINITY;
  #isSound = true;
  #running: Promise<void> | null = null;
  #timer: Timer | null = null;
  #tell: () => void = () => undefined;

  constructor(parts: IssuerKeysParts) {
    this.#parts = parts;
  }

  /** Begins to ask. A node starts without the answer, because callers with API keys do not depend on it. */
  start(): void {
    void this.#refresh();
    this.#lookLater();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = null;
    this.#tell = () => undefined;
  }

  /** Sets the listener that is called each second, since tokens may have ended, or keys may be gone or too old. */
  onLook(tell: () => void): void {
    this.#tell = tell;
  }

  /** Whether the keys are so old that no token can be judged by them. */
  get isStale(): boolean {
    return this.#now() - this.#answeredAtMs > this.#parts.rules.staleSec * 1_000;
  }

  /** Whether the issuer has answered the last question. */
  get isReached(): boolean {
    return this.#isSound && this.#known !== null;
  }

  /** Number of answers of the issuer. */
  get generation(): number {
    return this.#generation;
  }

  /** Contents of the keys with an id, to tell whether they have changed. @param kid undefined: all keys */
  markOf(kid: string | undefined): string {
    return JSON.stringify(this.#known?.keys.filter((key) => kid === undefined || key.kid === kid) ?? []);
  }

  /**
   * Finds the key of a token by its header.
   * @throws {IssuerSilent}
   * @throws {errors.JOSEError} no key fits, or more than one does
   */
  readonly find: JWTVerifyGetKey = async (header, token) => {
    if (this.#known === null || this.isStale) await this.#askIfDue();
    if (this.#known === null || this.isStale) throw this.#silence("cannot be asked for its keys");
    try {
      return await this.#known.find(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      await this.#askIfDue();
      if (!this.#isSound) throw this.#silence("cannot be asked for a new key");
      return await this.#known.find(header, token);
    }
  };

  #silence(fault: string): IssuerSilent {
    return new IssuerSilent(`the issuer ${this.#parts.issuer.url} ${fault} now`);
  }

  async #askIfDue(): Promise<void> {
    const isDue = this.#now() - this.#askedAtMs >= this.#parts.rules.refreshSec * 1_000;
    if (this.#running !== null || isDue) await this.#refresh();
  }

  #refresh(): Promise<void> {
    this.#running ??= this.#ask().finally(() => (this.#running = null));
    return this.#running;
  }

  async #ask(): Promise<void> {
    const { issuer, log } = this.#parts;
    const askedAtMs = this.#now();
    this.#askedAtMs = askedAtMs;
    try {
      const keys = await issuer.keys();
      this.#known = { keys, find: createLocalJWKSet({ keys } as unknown as JSONWebKeySet) };
      this.#generation++;
      this.#answeredAtMs = askedAtMs;
      if (!this.#isSound) log.info({ issuer: issuer.url }, "the issuer of tokens answers again");
      this.#isSound = true;
    } catch (error) {
      if (!(error instanceof IssuerUnavailable || error instanceof errors.JOSEError)) throw error;
      if (this.#isSound) {
        log.warn(
          { issuer: issuer.url, fault: error.message, againInSec: this.#parts.rules.refreshSec },
          "the node could not ask the issuer of tokens for its keys, and the ones before stay good for a while",
        );
      }
      this.#isSound = false;
    }
    this.#tell();
  }

  #lookLater(): void {
    this.#timer = this.#parts.runtime.setTimer(LOOK_EVERY_MS, () => {
      const everyMs = this.#isSound ? ASK_EVERY_MS : this.#parts.rules.refreshSec * 1_000;
      if (this.#now() - this.#askedAtMs >= everyMs) void this.#refresh();
      this.#tell();
      if (this.#timer !== null) this.#lookLater();
    });
  }

  #now(): number {
    return this.#parts.runtime.monotonicMs();
  }
}
