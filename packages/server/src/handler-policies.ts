import type { Logger } from "pino";
import { readPolicies } from "./api/handlers/read-policies.ts";
import { clusterLevel, isOn } from "./domain/cluster/feature-level.ts";
import type { Lifecycle } from "./ops/lifecycle.ts";
import { CountedWarnings } from "./ports/counted-warnings.ts";
import type { PolicyFault, PolicyKeeper, ReadPolicies } from "./ports/handler-policies.ts";
import type { Leases } from "./ports/leases.ts";
import type { Runtime, Timer } from "./ports/runtime.ts";
import type { DeclaredHandler, StoreHandlers } from "./ports/store-handlers.ts";

/** Least time between two looks at the store, however many workers connect. */
const KEEP_EVERY_MS = 1_000;
/** Time until another try where the store did not answer, or a node of the cluster is older. */
const RETRY_MS = 5_000;
/** Handlers that wait for the store. */
const WAITING_MAX = 10_000;

interface KeeperParts {
  store: { readonly handlers: StoreHandlers };
  leases: Pick<Leases, "list">;
  runtime: Runtime;
  log: Logger;
  /** Feature level of this node. */
  level: number;
}

interface NodeParts extends Pick<KeeperParts, "runtime" | "log"> {
  life: Pick<Lifecycle, "started">;
  program: { level: number };
}

/** The keeper of a node, for its gateway; it stops with the node. */
export function policiesOf(
  { life, runtime, log, program: { level } }: NodeParts,
  store: { readonly handlers: StoreHandlers; readonly leases: Leases },
): { policies: HandlerPolicies } {
  const policies = new HandlerPolicies({ store, leases: store.leases, runtime, log, level });
  life.started("policies of handlers", () => policies.stop());
  return { policies };
}

/** Brings what the tasks of this node's workers declare to the store: at most one look a second, and a write only for news. */
export class HandlerPolicies implements PolicyKeeper {
  readonly #parts: KeeperParts;
  readonly #warnings: CountedWarnings;
  /** Declarations by pool and handler. */
  #waiting = new Map<string, DeclaredHandler>();
  #timer: Timer | null = null;
  #keeping: Promise<void> | null = null;
  #isStopped = false;

  constructor(parts: KeeperParts) {
    this.#parts = parts;
    this.#warnings = new CountedWarnings(parts.log, parts.runtime);
  }

  read(pool: string, handler: string, text: Uint8Array): ReadPolicies | PolicyFault {
    const read = readPolicies(pool, handler, text);
    if ("unknown" in read && read.unknown.length > 0) {
      const fields = read.unknown.slice(0, 8).map((name) => name.slice(0, 64));
      this.#warnings.warn({ pool, handler, fields }, "the gateway leaves out policies of a task that it does not know");
    }
    return read;
  }

  keep(declared: readonly DeclaredHandler[]): void {
    for (const one of declared) this.#add(one);
    if (this.#timer === null && this.#keeping === null) this.#keepSoon();
  }

  /** Brings what waits to the store now. */
  async flush(): Promise<void> {
    await this.#keeping;
    this.#timer?.cancel();
    this.#timer = null;
    this.#keepSoon();
    await this.#keeping;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    await this.#keeping;
  }

  /** The word of a worker that comes back does not replace that of one that starts. */
  #add(one: DeclaredHandler): void {
    const key = `${one.pool}\u0000${one.handler}`;
    const waiting = this.#waiting.get(key);
    if (waiting !== undefined && waiting.isNews && !one.isNews) return;
    if (waiting === undefined && this.#waiting.size >= WAITING_MAX) {
      const { pool, handler } = one;
      this.#warnings.warn({ pool, handler }, "the gateway drops policies of a task: too many wait for the store");
    } else this.#waiting.set(key, one);
  }

  #keepSoon(): void {
    if (this.#isStopped || this.#waiting.size === 0) return;
    this.#keeping = this.#keep().then((waitMs) => {
      this.#keeping = null;
      if (this.#isStopped) return;
      this.#timer = this.#parts.runtime.setTimer(waitMs, () => {
        this.#timer = null;
        this.#keepSoon();
      });
    });
  }

  /** @returns the time until the next look at the store */
  async #keep(): Promise<number> {
    const { store, runtime, log } = this.#parts;
    const declared = this.#waiting;
    try {
      if (!(await this.#isOn())) return RETRY_MS;
      this.#waiting = new Map();
      const isChanged = await store.handlers.keep([...declared.values()], runtime.now());
      if (isChanged) log.info({ handlers: declared.size }, "the node keeps new policies of its workers' tasks");
      return KEEP_EVERY_MS;
    } catch (error) {
      const later = this.#waiting;
      this.#waiting = declared;
      if (later !== declared) for (const one of later.values()) this.#add(one);
      log.warn({ err: error }, "the node could not keep policies of its workers' tasks, and tries again");
      return RETRY_MS;
    }
  }

  async #isOn(): Promise<boolean> {
    const living = (await this.#parts.leases.list()).filter(({ isLiving }) => isLiving);
    return isOn("HANDLER_POLICIES", clusterLevel(living, this.#parts.level));
  }
}
