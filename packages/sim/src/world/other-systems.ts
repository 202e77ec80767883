import { Quotas, StoreUnavailable } from "@mainspring/server/testing";
import type { SeededRandom, VirtualClock } from "@mainspring/testkit/time";
import type { History } from "../history.ts";
import { AuditedPools, isAudited } from "./audited-pools.ts";
import { isMetered } from "./metered.ts";
import { beginLog } from "./producers.ts";
import { hasRevocations, RevokedKeys } from "./revoked-keys.ts";
import { hasIndex, IndexSystem, type IndexTargets } from "./sim-index.ts";
import { hasLog, type LogSystem } from "./sim-log.ts";
import { beginWebhooks, hasWebhooks, type ReceiverSystem } from "./sim-receiver.ts";
import { hasSink, SinkSystem } from "./sim-sink.ts";
import { followedTenants, hasTenants } from "./tenants.ts";

/** Systems beside the store that the seed gives to the servers of a simulation; null: they have none. */
export class OtherSystems {
  /** System that gets the events. */
  readonly sink: SinkSystem | null;
  /** Receivers of webhooks. */
  readonly receiver: ReceiverSystem | null;
  readonly index: IndexSystem | null;
  /** Changes that the audit log records. */
  readonly audited: AuditedPools | null;
  /** API keys of programs, which operators revoke and rotate. */
  readonly revoked: RevokedKeys | null;
  /** Log of requests. */
  readonly log: LogSystem | null;
  readonly #seed: number;

  /**
   * @param clients clients whose jobs name receivers of webhooks, where there are any
   * @param production records of producers, where there is a log of requests
   */
  constructor(
    seed: number,
    { clock, random, history }: { clock: VirtualClock; random: SeededRandom; history: History },
    clients: Parameters<typeof beginWebhooks>[3],
    targets: IndexTargets,
    production: Omit<Parameters<typeof beginLog>[4], "data">,
  ) {
    this.#seed = seed;
    this.sink = hasSink(seed) ? new SinkSystem(clock, random.fork("sink"), history) : null;
    this.receiver = hasWebhooks(seed) ? beginWebhooks(clock, random, history, clients) : null;
    this.index = hasIndex(seed) ? new IndexSystem(clock, random.fork("index"), history, targets) : null;
    this.audited = isAudited(seed) ? new AuditedPools(clock, random.fork("audited"), targets.server) : null;
    this.revoked = hasRevocations(seed) ? new RevokedKeys({ clock, random, history }, targets) : null;
    const produced = { ...production, data: targets.data };
    this.log = hasLog(seed) ? beginLog(clock, random, history, targets.server, produced) : null;
  }

  /** Tenants as a server knows them; undefined: there is only the default one. */
  tenants(deps: Parameters<typeof followedTenants>[0]): ReturnType<typeof followedTenants> | undefined {
    return hasTenants(this.#seed) ? followedTenants(deps) : undefined;
  }

  /** Quotas as a server checks them; undefined: there is only the default tenant. */
  quotas(deps: Parameters<typeof followedTenants>[0] & { bus: { node: string } }): Quotas | undefined {
    if (!hasTenants(this.#seed)) return undefined;
    const { store, runtime, bus } = deps;
    return new Quotas({ store: store.quotas, node: bus.node, runtime, tenants: metered(followedTenants(deps)) });
  }

  /** Ends all faults. */
  calm(): void {
    this.sink?.calm();
    this.receiver?.calm();
    this.index?.calm();
    this.log?.calm();
    this.audited?.calm();
  }
}

/** As a server knows no key of a tenant before it knows the tenant, it takes nothing of one with quotas before its first look. */
function metered(tenants: ReturnType<typeof followedTenants>): Pick<typeof tenants, "get"> {
  return {
    get(name) {
      const known = tenants.get(name);
      if (known === undefined && isMetered(name)) throw new StoreUnavailable("no key of the tenant is known yet");
      return known;
    },
  };
}
