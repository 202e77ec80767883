import {
  jobDefinition,
  newJob,
  putPool,
  type SchedulerDependencies,
  type Store,
  type StoreData,
  TENANT_DEFAULTS,
  TenantRing,
  tenantOf,
} from "@mainspring/server/testing";
import { type SeededRandom, simUuid, type VirtualClock } from "@mainspring/testkit/time";
import { hasRated, METERED, Metered, RATED } from "./metered.ts";
import { NowAndThen } from "./now-and-then.ts";
import type { SimServer } from "./sim-server.ts";
import type { Work } from "./sim-worker.ts";

const TENANTS_EVERY = 20;
const TENANTS = 9;
const TENANTS_FROM = 309;
const LIMITED = 11;
const LIMITED_FROM = 311;
const ROOMY = 2;
const ROOMY_FROM = 302;
/** Part of the slots that the pool of a seed with headroom keeps free, in percent. */
const HEADROOM = 50;
/** Mean interval of herds, of changes of weights, and of the jobs of the quiet tenant, in simulated milliseconds. */
const HERD_EVERY_MS = 600_000;
const WEIGH_EVERY_MS = 700_000;
const QUIET_EVERY_MS = 30_000;
/** Mean interval of changes of a tenant's limit, in simulated milliseconds. */
const LIMIT_EVERY_MS = 400_000;
/** Time after the faults of the last herd, in simulated milliseconds: the checkers of durations judge by then. */
const AFTER_FAULTS_MS = 80_000;
/** Time after the faults of the last herd of a pool with headroom, in simulated milliseconds: no fault lasts until then. */
const LONG_AFTER_FAULTS_MS = 200_000;
const HERD = 500;
/** Jobs of a herd with long runs, and how long one runs, in simulated milliseconds. */
const LONG_HERD = 50;
const LONG_RUN_MS = [20_000, 40_000] as const;
const SHORT_RUN_MS = [200, 1_500] as const;
/** Jobs of the quiet tenant after the faults, one a second. */
const LAST_QUIET = 20;
/** Jobs in one submit. */
const BATCH = 100;
const NOISY = ["acme", "bolt"] as const;
/** Tenant that has a job now and then. */
export const QUIET = "calm";
const DEFAULT = "default";
const POOL = "default";

/** Whether the store of a seed has tenants beside the default one. */
export function hasTenants(seed: number): boolean {
  return (seed % TENANTS_EVERY === TENANTS && seed >= TENANTS_FROM) || limitsTenants(seed) || hasHeadroom(seed);
}

/** Whether the pool of a seed keeps slots free for tenants with few attempts. */
export function hasHeadroom(seed: number): boolean {
  return seed % TENANTS_EVERY === ROOMY && seed >= ROOMY_FROM;
}

/** Whether the tenants of a seed have limits of their current attempts. */
export function limitsTenants(seed: number): boolean {
  return seed % TENANTS_EVERY === LIMITED && seed >= LIMITED_FROM;
}

/** Interval in ms in which a server asks the store for changes of tenants, as it does with those of keys. */
const LOOK_EVERY_MS = 1_000;

/** Tenants as a server knows them. */
export function followedTenants({
  store,
  runtime,
}: { store: Store } & Pick<SchedulerDependencies, "runtime">): TenantRing {
  const ring = new TenantRing(store.tenants);
  const look = async (): Promise<void> => {
    await ring.read(false).catch(() => undefined);
    runtime.setTimer(LOOK_EVERY_MS, () => void look());
  };
  void look();
  return ring;
}

/** Tenants of the simulation beside the default one; null: the seed has none. Other seeds stay unchanged. */
export function tenantsOf(
  seed: number,
  { clock, random }: { clock: VirtualClock; random: SeededRandom },
  data: StoreData,
  server: () => SimServer | null,
): Tenants | null {
  if (!hasTenants(seed)) return null;
  return new Tenants(clock, random.fork("tenants"), data, server, seed);
}

/** Text of a definition that names its tenant. */
function textOf(tenant: string, number: number): string {
  return `of ${tenant} ${number}`;
}

/** Tenants beside the default one: two with herds of jobs at one instant, and one with a job now and then. */
export class Tenants {
  readonly #clock: VirtualClock;
  readonly #random: SeededRandom;
  readonly #server: () => SimServer | null;
  readonly #times: NowAndThen;
  readonly #data: StoreData;
  readonly #isLimited: boolean;
  readonly #isRated: boolean;
  readonly #isRoomy: boolean;
  #count = 0;
  /** Number of jobs so far, as their ids count them. */
  #made = 0;

  constructor(
    clock: VirtualClock,
    random: SeededRandom,
    data: StoreData,
    server: () => SimServer | null,
    seed: number,
  ) {
    this.#isLimited = limitsTenants(seed);
    this.#isRated = hasRated(seed);
    this.#isRoomy = hasHeadroom(seed);
    this.#clock = clock;
    this.#random = random;
    this.#data = data;
    this.#server = server;
    this.#times = new NowAndThen(clock, random.fork("weights"));
  }

  /** Plans submits within the time, and changes of weights. */
  plan(withinMs: number): void {
    for (const name of this.#isRated ? ([METERED, RATED] as const) : ([METERED] as const))
      new Metered(this.#clock, this.#random.fork(name), this.#data, this.#server, name).plan(withinMs);
    for (const name of [...NOISY, QUIET])
      this.#data.createTenant({ ...TENANT_DEFAULTS, name, createdAt: this.#data.now() });
    if (this.#isRoomy) putPool(this.#data, { name: POOL, headroom: HEADROOM });
    this.#weigh();
    this.#times.start(WEIGH_EVERY_MS, () => this.#weigh());
    if (this.#isLimited) {
      for (const name of [...NOISY, DEFAULT]) this.#limit(name);
      this.#times.start(LIMIT_EVERY_MS, () => this.#limit(this.#random.pick([...NOISY, QUIET, DEFAULT])));
    }
    for (let atMs = 0; ; ) {
      atMs += this.#random.next() * 2 * HERD_EVERY_MS;
      if (atMs >= withinMs) break;
      this.#herd(atMs);
    }
    for (let atMs = 0; atMs < withinMs; atMs += this.#random.next() * 2 * QUIET_EVERY_MS)
      this.#submit(QUIET, 1, atMs, [50, 200]);
  }

  /**
   * Plans a last herd, when no fault hinders any process. The weights stay what they are. In a pool with headroom, the last herd has long
   * runs, so that a slot is free only if it was kept free.
   */
  planLast(): void {
    this.#times.stop();
    if (this.#isRoomy) putPool(this.#data, { name: POOL, maxRunning: null });
    const atMs = this.#isRoomy ? LONG_AFTER_FAULTS_MS : AFTER_FAULTS_MS;
    if (this.#isRoomy) this.#herd(atMs, LONG_HERD, LONG_RUN_MS);
    else this.#herd(atMs);
    for (let n = 0; n < LAST_QUIET; n++) this.#submit(QUIET, 1, atMs + n * 1_000, [50, 200]);
  }

  /** Time of the last submit after the faults, in simulated milliseconds. */
  get lastMs(): number {
    return (this.#isRoomy ? LONG_AFTER_FAULTS_MS : AFTER_FAULTS_MS) + LAST_QUIET * 1_000;
  }

  #weigh(): void {
    for (const tenant of NOISY) {
      const weight = this.#random.pick([100, 200, 400]);
      this.#data.tenants.change(tenant, { weight }, null, this.#data.now());
    }
  }

  /** Sets, lowers, raises or removes the limit of a tenant, whatever work it has. */
  #limit(tenant: string): void {
    const maxRunning = this.#random.chance(0.2) ? null : this.#random.between(1, 8);
    this.#data.tenants.change(tenant, { maxRunning }, null, this.#data.now());
  }

  #herd(atMs: number, size: number = HERD, runMs: readonly [number, number] = SHORT_RUN_MS): void {
    for (const tenant of NOISY) {
      for (let n = 0; n < size; n += BATCH) this.#submit(tenant, Math.min(BATCH, size - n), atMs, runMs);
    }
  }

  #submit(tenant: string, count: number, atMs: number, runMs: readonly [number, number]): void {
    const works = Array.from({ length: count }, (): Work => {
      const text = textOf(tenant, ++this.#count);
      return {
        ...{ runMs: this.#random.between(...runMs), failTimes: 0, blockMs: 0 },
        ...{ stubborn: false, hangs: false, isPoison: false, steps: 0, waits: [] },
        definition: { text, handler: "plain", maxAttempts: 5 },
      };
    });
    const ids = this.#random.fork(`ids ${this.#count}`);
    this.#clock.plan(atMs, () => {
      const jobs = works.map((work) => this.#jobOf(tenant, work, ids));
      this.#server()
        ?.store?.submit([{ idempotency: null, jobs }])
        .catch(() => undefined);
    });
  }

  #jobOf(tenant: string, work: Work, ids: SeededRandom) {
    const at = this.#data.now();
    const target = { handler: "plain" };
    const definition = jobDefinition(
      { target, priority: this.#random.between(0, 9), retryPolicy: { maxAttempts: 5 } },
      at,
    );
    const payload = Buffer.from(JSON.stringify(work));
    const ordering = { order: "PRIORITY", priorityStepMs: 3_600_000 } as const;
    return newJob(tenantOf(tenant), definition, payload, ordering, at, simUuid(at, this.#made++, ids));
  }
}
