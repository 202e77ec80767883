import { EPOCH_MS } from "../../sim-process.ts";
import { type Checker, Violation } from "../checker.ts";
import { addedRows, assignedIn } from "../recurring/ledger.ts";

/** Time in ms after which a lowered or new limit holds: every owner has heard of it by then, or has lost its shards. */
const HEARD_AFTER_MS = 60_000;

interface Limited {
  maxRunning: number;
  /** Former limit, and the time until which it counts too. */
  before: { maxRunning: number; untilMs: number };
  readonly current: Set<string>;
  /** Time at which the number of current attempts was last at the limit. */
  fullAtMs: number;
}

/** A tenant never has more current attempts than its limit, whichever pools they are in and whichever nodes own their shards. */
export class TenantLimitsHold implements Checker {
  readonly name = "tenant limits hold";
  readonly #limits: (() => ReadonlyMap<string, number>) | null;
  readonly #tenants = new Map<string, Limited>();
  readonly #tenantOf = new Map<string, string>();

  /** @param limits present limits of all tenants; null: none has a limit */
  constructor(limits: (() => ReadonlyMap<string, number>) | null) {
    this.#limits = limits;
  }

  get(tenant: string): Pick<Limited, "fullAtMs"> | undefined {
    return this.#tenants.get(tenant);
  }

  saw(event: Parameters<NonNullable<Checker["saw"]>>[0]): void {
    if (this.#limits === null) return;
    const atMs = event.at - EPOCH_MS;
    for (const [tenant, maxRunning] of this.#limits()) this.#set(tenant, maxRunning, atMs);
    for (const { id, job } of addedRows(event)) this.#tenantOf.set(id, job.tenant);
    if (event.kind !== "COMMITTED" || event.outcome.status !== "APPLIED") return;
    const missed = new Set(event.outcome.missed);
    // A commit may write both an assignment and its end.
    const endedBy = new Map<string, number>();
    for (const { after } of event.applied) {
      if (after.state === "RUNNING") continue;
      this.#of(after.id)?.current.delete(after.id);
      endedBy.set(after.id, after.attempt);
    }
    for (const { id, attempt } of assignedIn(event)) {
      const tenant = this.#of(id);
      if (tenant !== undefined && !missed.has(id) && (endedBy.get(id) ?? 0) < attempt) this.#assigned(tenant, id, atMs);
    }
  }

  looked(nowMs: number): void {
    for (const tenant of this.#tenants.values()) if (tenant.current.size >= tenant.maxRunning) tenant.fullAtMs = nowMs;
  }

  #of(id: string): Limited | undefined {
    return this.#tenants.get(this.#tenantOf.get(id) ?? "");
  }

  #set(name: string, maxRunning: number, atMs: number): void {
    const tenant = this.#tenants.get(name);
    if (tenant === undefined) {
      const before = { maxRunning: Number.POSITIVE_INFINITY, untilMs: atMs + HEARD_AFTER_MS };
      this.#tenants.set(name, { maxRunning, before, current: new Set(), fullAtMs: Number.NEGATIVE_INFINITY });
    } else if (tenant.maxRunning !== maxRunning) {
      const most = Math.max(tenant.maxRunning, tenant.before.untilMs > atMs ? tenant.before.maxRunning : 0);
      tenant.before = { maxRunning: most, untilMs: atMs + HEARD_AFTER_MS };
      tenant.maxRunning = maxRunning;
    }
  }

  #assigned(tenant: Limited, id: string, atMs: number): void {
    const { current, maxRunning, before } = tenant;
    current.add(id);
    if (current.size >= maxRunning) tenant.fullAtMs = atMs;
    const allowed = Math.max(maxRunning, before.untilMs > atMs ? before.maxRunning : 0);
    if (current.size <= allowed) return;
    throw new Violation(`${current.size} of a tenant that may have ${allowed} are current: ${[...current].join(", ")}`);
  }
}
