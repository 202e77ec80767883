import {
  type ApiKey,
  digestOf,
  KEY_RANDOM_CHARS,
  KeyAuthenticator,
  KeyRing,
  keyHint,
  keyText,
  type NewApiKey,
  SCOPES_OF,
  type SchedulerDependencies,
  SettingsKeys,
  type Store,
  type StoreData,
  tellKeysChanged,
} from "@mainspring/server/testing";
import type { SeededRandom, VirtualClock } from "@mainspring/testkit/time";
import type { History } from "../history.ts";
import { NowAndThen } from "./now-and-then.ts";
import type { SimServer } from "./sim-server.ts";

const REVOKED_EVERY = 20;
const REVOKED = 15;
const REVOKED_FROM = 315;
/** Mean intervals of changes of keys and of requests, in simulated milliseconds. */
const CHANGE_EVERY_MS = 8_000;
const REQUEST_EVERY_MS = 150;
/** Largest number of keys in use. */
const KEYS_MAX = 8;
/** Time for which a key that is no longer good is still used, in simulated milliseconds. */
const USED_AFTER_MS = 60_000;
/** Longest time of a use that lasts, in simulated milliseconds. */
const HELD_MAX_MS = 90_000;
const STALE_MS = 900_000;
/** Time in which the store answers a question for keys where it can be reached, in milliseconds. */
const ANSWERED_WITHIN_MS = 500;
/** Time after a failed question in which a server learns of changes by the next one, in milliseconds. */
const KNOWN_AFTER_MS = 3_000;
/** Time before the expiry of a key in which a refusal may come from the error of a server's clock, in simulated milliseconds. */
const CLOCK_ERROR_MS = 2_000;
const OPERATORS = { tenant: "default", isOperator: true };
const ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz";

/** Whether the servers of a seed judge callers by keys that are created, revoked and rotated. */
export function hasRevocations(seed: number): boolean {
  return seed % REVOKED_EVERY === REVOKED && seed >= REVOKED_FROM;
}

/** Judgement of callers at a server, with the parts that a node has. */
export interface ServerKeys {
  authenticator: KeyAuthenticator;
  store: Store["keys"];
  /** Reads changes of keys now. */
  refresh(): Promise<void>;
  /** Tells all servers of a change. */
  tell(): Promise<void>;
  /** Whether the server waits in vain for what the store says of keys, or did so a moment ago, so that it cannot know of changes. */
  isCutOff(): boolean;
}

type Deps = Pick<SchedulerDependencies, "store" | "bus" | "runtime" | "log">;

/** Reads the keys as a server does when it starts. @throws {StoreUnavailable} */
export async function serverKeys({ store, bus, runtime, log }: Deps): Promise<ServerKeys> {
  const questions = new Questions(store.keys, runtime);
  const ring = new KeyRing({ store: questions.store, runtime, log });
  await ring.start();
  const settings = new SettingsKeys({ apiKey: null });
  const parts = { settings, ring, tenants: null, used: null, runtime, staleMs: STALE_MS };
  const refresh = () => ring.refresh();
  return {
    authenticator: new KeyAuthenticator(parts),
    store: store.keys,
    refresh,
    tell: () => tellKeysChanged({ bus, refreshKeys: refresh }),
    isCutOff: () => questions.areInVain,
  };
}

/** Questions of a server for changes of keys. Most faults of the store are seen only when the caller has given up. */
class Questions {
  readonly store: Store["keys"];
  readonly #runtime: Deps["runtime"];
  #openSinceMs: number | null = null;
  #failedAtMs = Number.NEGATIVE_INFINITY;

  constructor(keys: Store["keys"], runtime: Deps["runtime"]) {
    this.#runtime = runtime;
    this.store = {
      ...keys,
      version: () => this.#asked(keys.version()),
      changedSince: (...page) => this.#asked(keys.changedSince(...page)),
    };
  }

  get areInVain(): boolean {
    const nowMs = this.#runtime.monotonicMs();
    const isLate = this.#openSinceMs !== null && nowMs - this.#openSinceMs > ANSWERED_WITHIN_MS;
    return isLate || nowMs - this.#failedAtMs < KNOWN_AFTER_MS;
  }

  async #asked<T>(answer: Promise<T>): Promise<T> {
    this.#openSinceMs = this.#runtime.monotonicMs();
    try {
      return await answer;
    } catch (error) {
      this.#failedAtMs = this.#runtime.monotonicMs();
      throw error;
    } finally {
      this.#openSinceMs = null;
    }
  }
}

interface HeldKey {
  id: string;
  text: string;
  /** Time from which the key is not used any more, in simulated milliseconds; null: it is good. */
  untilMs: number | null;
}

interface HeldUse {
  key: string;
  server: SimServer;
}

/**
 * Operators who create, revoke and rotate keys, each time by another server, and programs that send requests and hold streams
 * with them. One in two changes is told to nobody, as if all messages were lost.
 */
export class RevokedKeys {
  readonly #clock: VirtualClock;
  readonly #random: SeededRandom;
  readonly #history: History;
  readonly #data: StoreData;
  readonly #server: () => SimServer | null;
  readonly #keys = new Map<string, HeldKey>();
  readonly #held = new Set<HeldUse>();
  #made = 0;

  constructor(
    { clock, random, history }: { clock: VirtualClock; random: SeededRandom; history: History },
    { data, server }: { data: StoreData; server: () => SimServer | null },
  ) {
    this.#clock = clock;
    this.#random = random.fork("revoked keys");
    this.#history = history;
    this.#data = data;
    this.#server = server;
    const first = this.#newKey(null);
    data.keys.create(first.key);
    this.#keys.set(first.key.id, { id: first.key.id, text: first.text, untilMs: null });
    new NowAndThen(clock, this.#random.fork("changes")).start(CHANGE_EVERY_MS, () => this.#change());
    new NowAndThen(clock, this.#random.fork("requests")).start(REQUEST_EVERY_MS, () => this.#request());
  }

  /** Whether the store says that the key is no longer good. */
  isDead(id: string): boolean {
    return this.#endOf(id) <= this.#data.now();
  }

  /** Whether the key is good by the store, and not only for a moment. */
  isGood(id: string): boolean {
    return this.#endOf(id) > this.#data.now() + CLOCK_ERROR_MS;
  }

  /** Uses that last, at servers that live, are not paused, and are not cut off from the store. */
  held(): { key: string; server: string }[] {
    const open = [...this.#held].filter(
      ({ server: { process, keys } }) => process.isAlive && !process.isPaused && keys?.isCutOff() !== true,
    );
    return open.map(({ key, server }) => ({ key, server: server.process.name }));
  }

  /** Time of the store at which the key ends; infinite: it does not end. */
  #endOf(id: string): number {
    const key = this.#data.keys.get(OPERATORS, id);
    if (key === null || key.revokedAt !== null) return 0;
    return key.expiresAt ?? Number.POSITIVE_INFINITY;
  }

  #change(): void {
    for (const [id, { untilMs }] of this.#keys)
      if (untilMs !== null && untilMs < this.#clock.nowMs) this.#keys.delete(id);
    const good = [...this.#keys.values()].filter(({ untilMs }) => untilMs === null);
    const keys = this.#server()?.keys ?? null;
    if (keys === null) return;
    if (good.length < KEYS_MAX && (good.length < 2 || this.#random.chance(0.4))) return this.#create(keys);
    const key = this.#random.pick(good);
    if (this.#random.chance(0.4)) this.#rotate(keys, key);
    else this.#revoke(keys, key);
  }

  #create(keys: ServerKeys): void {
    const expiresAt = this.#random.chance(0.3) ? this.#data.now() + this.#random.between(10_000, 60_000) : null;
    const { key, text } = this.#newKey(null, expiresAt);
    this.#tell(keys, keys.store.create(key), () => this.#use(key.id, text, expiresAt));
  }

  #rotate(keys: ServerKeys, former: HeldKey): void {
    const { key, text } = this.#newKey(former.id);
    const now = this.#data.now();
    const expiresAt = now + this.#random.between(0, 20_000);
    this.#tell(keys, keys.store.rotate(key, expiresAt, now), () => {
      this.#use(key.id, text, null);
      this.#abandon(former, expiresAt - now);
    });
  }

  #revoke(keys: ServerKeys, key: HeldKey): void {
    this.#tell(keys, keys.store.revoke(OPERATORS, key.id, this.#data.now()), () => this.#abandon(key, 0));
  }

  /** Notes a change once the store has answered, and tells the other servers of it, or nobody. */
  #tell(keys: ServerKeys, changing: Promise<boolean | ApiKey | null>, note: () => void): void {
    const isTold = this.#random.chance(0.5);
    changing
      .then(async (isChanged) => {
        if (isChanged === false || isChanged === null) return;
        note();
        if (isTold) await keys.tell();
      })
      .catch(() => undefined);
  }

  #use(id: string, text: string, expiresAt: number | null): void {
    const key: HeldKey = { id, text, untilMs: null };
    this.#keys.set(id, key);
    if (expiresAt !== null) this.#abandon(key, expiresAt - this.#data.now());
  }

  #abandon(key: HeldKey, afterMs: number): void {
    key.untilMs ??= this.#clock.nowMs + afterMs + USED_AFTER_MS;
  }

  #request(): void {
    const server = this.#server();
    const all = [...this.#keys.values()];
    if (server === null || all.length === 0) return;
    const key = this.#random.pick(all);
    const holdMs = this.#random.chance(0.1) ? this.#random.between(1_000, HELD_MAX_MS) : null;
    server.process.plan(0, () => {
      const { keys } = server;
      if (keys === null) return;
      const judge = keys.authenticator;
      const [askedAtMs, wasGood] = [this.#clock.nowMs, this.isGood(key.id)];
      void Promise.resolve(judge.judge(`Bearer ${key.text}`, key.id)).then((judged) => {
        const said = "code" in judged ? judged.code : "GOOD";
        const isGood = wasGood && this.isGood(key.id);
        const at = { server: server.process.name, isCutOff: keys.isCutOff() };
        this.#history.add({ kind: "KEY_JUDGED", ...at, key: key.id, said, isGood, askedAtMs });
        if (holdMs === null || "code" in judged) return;
        const use: HeldUse = { key: key.id, server };
        this.#held.add(use);
        const release = judge.hold({ principal: judged, end: () => void this.#held.delete(use) });
        server.process.plan(holdMs, () => {
          release();
          this.#held.delete(use);
        });
      });
    });
  }

  #newKey(replaces: string | null, expiresAt: number | null = null): { key: NewApiKey; text: string } {
    const random = this.#random.fork(`key ${++this.#made}`);
    const chars = Array.from({ length: KEY_RANDOM_CHARS }, () => ALPHABET.charAt(Math.floor(random.next() * 36)));
    const text = keyText("CLIENT", chars.join(""));
    const id = `019a0000-0000-7000-8000-${String(this.#made).padStart(12, "0")}`;
    const key: NewApiKey = {
      ...{ id, tenant: "default", kind: "CLIENT", scopes: SCOPES_OF.CLIENT, pools: [], name: `key ${this.#made}` },
      ...{
        hint: keyHint(text),
        createdAt: this.#data.now(),
        createdBy: "operator",
        expiresAt,
        replaces,
        certificateId: null,
      },
      hash: digestOf(text).toString("base64"),
    };
    return { key, text };
  }
}
