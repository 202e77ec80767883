import { hash } from "node:crypto";
import type { Logger } from "pino";
import type { EpochMs } from "../../domain/ids.ts";
import type { Principal, Refusal } from "../../ports/authenticator.ts";
import type { TokenRules } from "../../ports/issuer.ts";
import type { Runtime } from "../../ports/runtime.ts";
import { type ClaimRules, principalOf } from "./claims.ts";
import { type IssuerKeys, IssuerSilent } from "./issuer-keys.ts";
import { verifiedToken } from "./verify.ts";

/** Largest number of verified tokens in memory. */
const TOKENS_MAX = 10_000;
/** Three parts of base64url; the third one is empty in a token without a signature. */
const JWT = /^[\w-]+\.[\w-]+\.[\w-]*$/;

const REFUSED: Refusal = { code: "UNAUTHENTICATED", detail: "the token was refused", isToken: true };

export interface TokenJudgeParts {
  issuer: string;
  rules: TokenRules;
  keys: IssuerKeys;
  isTenant: ClaimRules["isTenant"];
  /** Its `now` is the store's clock, by which tokens end. */
  runtime: Pick<Runtime, "now">;
  log: Pick<Logger, "warn">;
}

/** Evidence behind a principal. */
interface Evidence {
  endsAt: EpochMs;
  kid: string | undefined;
  /** Contents of the keys that could have signed the token. */
  mark: string;
}

/**
 * Judges callers by tokens of an issuer. A token that was verified once is known until its end, or until the issuer withdraws
 * its key. The reason of a refusal goes to the log, and not to the caller.
 */
export class TokenJudge {
  readonly #parts: TokenJudgeParts;
  /** Callers by the SHA-256 of their tokens, the oldest first. */
  readonly #known = new Map<string, Principal>();
  readonly #evidence = new WeakMap<Principal, Evidence>();

  constructor(parts: TokenJudgeParts) {
    this.#parts = parts;
  }

  /** Whether a credential is a token rather than an API key. */
  isToken(credential: string): boolean {
    return JWT.test(credential);
  }

  /** Whether the issuer has answered the last question for its keys. */
  get isReached(): boolean {
    return this.#parts.keys.isReached;
  }

  /** Sets the listener that is called each second, since tokens may have ended. */
  onLook(tell: () => void): void {
    this.#parts.keys.onLook(tell);
  }

  /** @param address of the caller, for the log */
  judge(token: string, address: string): Principal | Refusal | Promise<Principal | Refusal> {
    const digest = hash("sha256", token, "base64");
    const known = this.#known.get(digest);
    if (known === undefined) return this.#verify(token, digest, address);
    const refusal = this.judgeAgain(known);
    if (refusal === null) return known;
    this.#known.delete(digest);
    // A new key may have the id of a former one.
    return this.#verify(token, digest, address);
  }

  judgeAgain(principal: Principal): Refusal | null {
    const { keys, runtime } = this.#parts;
    const evidence = this.#evidence.get(principal);
    if (evidence === undefined || runtime.now() >= evidence.endsAt) return REFUSED;
    if (keys.isStale) return this.#unavailable("could not be asked for too long whether its keys are still good");
    return keys.markOf(evidence.kid) === evidence.mark ? null : REFUSED;
  }

  async #verify(token: string, digest: string, address: string): Promise<Principal | Refusal> {
    const { issuer, rules, keys, isTenant, runtime, log } = this.#parts;
    const refused = (reason: string, fields: object): Refusal => {
      log.warn({ address, ...fields }, `the server refused a token: ${reason}`);
      return REFUSED;
    };
    const { generation } = keys;
    let verified: Awaited<ReturnType<typeof verifiedToken>>;
    try {
      verified = await verifiedToken(token, runtime.now(), { issuer, rules, keys });
    } catch (error) {
      if (error instanceof IssuerSilent) return { code: "UNAVAILABLE", detail: error.message };
      throw error;
    }
    if (typeof verified === "string") return refused(verified, {});
    const { claims, endsAt, kid } = verified;
    const principal = principalOf(claims, { ...rules, isTenant });
    if (typeof principal === "string") return refused(principal, { subject: String(claims.sub).slice(0, 200) });
    // The keys may have changed while the signature was verified.
    if (keys.generation !== generation) return await this.#verify(token, digest, address);
    this.#evidence.set(principal, { endsAt, kid, mark: keys.markOf(kid) });
    this.#remember(digest, principal);
    return principal;
  }

  #remember(digest: string, principal: Principal): void {
    const [oldest] = this.#known.size >= TOKENS_MAX ? this.#known.keys() : [];
    if (oldest !== undefined) this.#known.delete(oldest);
    this.#known.set(digest, principal);
  }

  #unavailable(fault: string): Refusal {
    return { code: "UNAVAILABLE", detail: `the issuer ${this.#parts.issuer} ${fault}` };
  }
}
