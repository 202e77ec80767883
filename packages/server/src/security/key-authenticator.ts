import { keyKind } from "../domain/api-key.ts";
import type { TenantState } from "../domain/tenant.ts";
import type { Authenticator, HeldUse, Principal, Refusal } from "../ports/authenticator.ts";
import { isRefusal } from "../ports/authenticator.ts";
import type { Runtime } from "../ports/runtime.ts";
import type { KeyRing, RingKey } from "./key-ring.ts";
import { type ApiKeys, bearerOf, digestOf, LOOPBACK, SettingsKeys } from "./settings-keys.ts";
import { isOfOperators, tenantOf } from "./tenant.ts";
import type { TenantRing } from "./tenant-ring.ts";
import type { TokenJudge } from "./tokens/token-judge.ts";
import { UnknownKeys } from "./unknown-keys.ts";
import type { UsedKeys } from "./used-keys.ts";
import { WRONG_TRIES_PER_SEC, WrongTries } from "./wrong-tries.ts";

/** Age of the keys in memory, in milliseconds, from which on an unknown key may be a new one. */
const UNKNOWN_AGE_MS = 5_000;

const ADVICE = "send Authorization: Bearer <key>, with a key of this server";

export interface KeyAuthenticatorParts {
  settings: SettingsKeys;
  /** null: there are no other keys than those of the settings. */
  ring: KeyRing | null;
  /** null: there is no tenant but `default`. */
  tenants: Pick<TenantRing, "get"> | null;
  used: Pick<UsedKeys, "note"> | null;
  /** Judge of tokens beside the keys; left out or null: there is no issuer. */
  tokens?: TokenJudge | null;
  /** Its `now` is the store's clock, by which keys expire. */
  runtime: Runtime;
  /** Time for which keys in memory are good while the store cannot be asked, in milliseconds. */
  staleMs: number;
}

/** Reasons of refusals, as figures have them. KEY: an API key that is wrong, expired or revoked. */
type RefusedCaller = "MISSING" | "KEY" | "TOKEN" | "TOO_MANY_TRIES" | "UNAVAILABLE";

/** An authenticator that knows the keys of the settings alone. */
export function settingsAuthenticator(keys: ApiKeys, runtime: Runtime): KeyAuthenticator {
  return new KeyAuthenticator({
    settings: new SettingsKeys(keys),
    ring: null,
    tenants: null,
    used: null,
    runtime,
    staleMs: 0,
  });
}

/** Judges callers by API keys, those of the settings and those of the store, and by tokens of an issuer. */
export class KeyAuthenticator implements Authenticator {
  readonly #parts: KeyAuthenticatorParts;
  readonly #tries: WrongTries;
  /** null: the store has no keys. */
  readonly #unknown: UnknownKeys | null;
  /** Judgements of keys that are looked up in the store, by hash. Several requests with one key share one. */
  readonly #lookedUp = new Map<string, Promise<Principal | Refusal>>();
  readonly #held = new Set<HeldUse>();
  readonly #refused = new Map<RefusedCaller, number>(
    (["MISSING", "KEY", "TOKEN", "TOO_MANY_TRIES", "UNAVAILABLE"] as const).map((reason) => [reason, 0]),
  );

  constructor(parts: KeyAuthenticatorParts) {
    this.#parts = parts;
    this.#tries = new WrongTries(parts.runtime);
    this.#unknown = parts.ring === null ? null : new UnknownKeys(parts.ring, parts.runtime);
    parts.ring?.onLook(() => this.#judgeHeld());
    parts.tokens?.onLook(() => this.#judgeHeld());
  }

  get isOpen(): boolean {
    const { settings, ring, tokens = null } = this.#parts;
    return tokens === null && settings.isEmpty && ring?.hasKeys !== true;
  }

  judge(authorization: string | undefined, address: string): Principal | Refusal | Promise<Principal | Refusal> {
    if (this.isOpen) return LOOPBACK;
    const credential = bearerOf(authorization);
    if (credential === null) return this.#counted(refused(`no API key: ${ADVICE}`), "MISSING");
    if (!this.#tries.allows(address, credential)) return this.#counted(tooMany(), "TOO_MANY_TRIES");
    const judged = this.#find(credential, address);
    const noted = (one: Principal | Refusal) => {
      if (!isRefusal(one)) {
        this.#tries.right(credential);
        return one;
      }
      if (one.code === "UNAVAILABLE") return this.#counted(one, "UNAVAILABLE");
      this.#tries.wrong(address, credential);
      return this.#counted(one, one.isToken === true ? "TOKEN" : "KEY");
    };
    return judged instanceof Promise ? judged.then(noted) : noted(judged);
  }

  actingFor(principal: Principal, tenant: string): Principal | null {
    const acting = { ...principal, tenant: tenantOf(tenant) };
    return this.stateOf(acting) === null ? null : acting;
  }

  stateOf({ tenant }: Principal): TenantState | null {
    const known = this.#parts.tenants?.get(tenant);
    return known?.state ?? (isOfOperators(tenant) ? "ACTIVE" : null);
  }

  judgeAgain(principal: Principal): Refusal | null {
    if (principal.source === "OPEN") return this.isOpen ? null : refused(`the server has API keys now: ${ADVICE}`);
    // Keys of the settings are good as long as the process lives.
    if (principal.source === "SETTINGS") return null;
    if (principal.source === "TOKEN") return this.#parts.tokens?.judgeAgain(principal) ?? null;
    const key = this.#parts.ring?.byId(principal.keyId);
    return key === undefined ? refused("the API key was revoked") : this.#faultOf(key);
  }

  hold(use: HeldUse): () => void {
    this.#held.add(use);
    return () => this.#held.delete(use);
  }

  /** Numbers of refused requests and connections since the start, by reason. */
  get refused(): ReadonlyMap<string, number> {
    return this.#refused;
  }

  #counted(refusal: Refusal, reason: RefusedCaller): Refusal {
    this.#refused.set(reason, (this.#refused.get(reason) ?? 0) + 1);
    return refusal;
  }

  #find(credential: string, address: string): Principal | Refusal | Promise<Principal | Refusal> {
    const { settings, ring, tokens = null } = this.#parts;
    const digest = digestOf(credential);
    const own = settings.find(digest);
    if (own !== null) return own;
    if (tokens?.isToken(credential) === true) return tokens.judge(credential, address);
    const hash = digest.toString("base64");
    const key = ring?.byHash(hash);
    if (key !== undefined) return this.#judged(key);
    if (ring !== null && ring.ageMs > UNKNOWN_AGE_MS) return unknownNow();
    // Another node may have created the key since. A typing error is found without a question.
    if (this.#unknown === null || keyKind(credential) === null || !this.#unknown.mayExist(hash)) return wrongKey();
    const open = this.#lookedUp.get(hash) ?? this.#lookUp(this.#unknown, hash, address);
    this.#lookedUp.set(hash, open);
    return open;
  }

  async #lookUp(unknown: UnknownKeys, hash: string, address: string): Promise<Principal | Refusal> {
    // The try counts while it is open, so an address has no more of them at once than wrong ones in a second.
    this.#tries.open(address);
    const key = await unknown.find(hash);
    this.#tries.close(address);
    this.#lookedUp.delete(hash);
    if (key === null) return unknownNow();
    return key === undefined ? wrongKey() : this.#judged(key);
  }

  #judged(key: RingKey): Principal | Refusal {
    const fault = this.#faultOf(key);
    if (fault !== null) return fault;
    this.#parts.used?.note(key.principal.keyId);
    return key.principal;
  }

  #faultOf({ principal, expiresAt }: RingKey): Refusal | null {
    const { ring, runtime, staleMs } = this.#parts;
    if (this.stateOf(principal) === null) return refused("the tenant of the API key was deleted");
    if (expiresAt !== null && expiresAt <= runtime.now()) return refused("the API key has expired");
    if (ring !== null && ring.ageMs > staleMs) {
      return unavailable("the store could not be asked for too long whether the key is still good");
    }
    return null;
  }

  #judgeHeld(): void {
    for (const use of this.#held) {
      const refusal = this.judgeAgain(use.principal);
      if (refusal === null) continue;
      this.#held.delete(use);
      use.end(refusal);
    }
  }
}

function wrongKey(): Refusal {
  return refused(`the API key is wrong, or it was revoked: ${ADVICE}`);
}

function unknownNow(): Refusal {
  return unavailable("the key is unknown, and the store cannot be asked for new ones now");
}

function refused(detail: string): Refusal {
  return { code: "UNAUTHENTICATED", detail };
}

function unavailable(detail: string): Refusal {
  return { code: "UNAVAILABLE", detail };
}

function tooMany(): Refusal {
  return {
    code: "TOO_MANY_TRIES",
    detail: `more than ${WRONG_TRIES_PER_SEC} wrong keys came from this address within a second`,
  };
}
