import { EPOCH_MS } from "../../sim-process.ts";
import type { Checker } from "../checker.ts";
import { addedRows, turnsIn } from "../recurring/ledger.ts";
import { HEARD_AFTER_MS, LimitedAttempts } from "./limited-attempts.ts";

/** A tenant never has more current attempts than its limit, whichever pools they are in and whichever nodes own their shards. */
export class TenantLimitsHold implements Checker {
  readonly name = "tenant limits hold";
  readonly #limits: (() => ReadonlyMap<string, number>) | null;
  readonly #tenants = new Map<string, LimitedAttempts>();
  readonly #tenantOf = new Map<string, string>();

  /** @param limits present limits of all tenants; null: none has a limit */
  constructor(limits: (() => ReadonlyMap<string, number>) | null) {
    this.#limits = limits;
  }

  get(tenant: string): Pick<LimitedAttempts, "fullAtMs"> | undefined {
    return this.#tenants.get(tenant);
  }

  saw(event: Parameters<NonNullable<Checker["saw"]>>[0]): void {
    if (this.#limits === null) return;
    const atMs = event.at - EPOCH_MS;
    for (const [tenant, maxRunning] of this.#limits()) this.#set(tenant, maxRunning, atMs);
    for (const { id, job } of addedRows(event)) this.#tenantOf.set(id, job.tenant);
    if (event.kind !== "COMMITTED" || event.outcome.status !== "APPLIED") return;
    const { ended, begun } = turnsIn(event, event.outcome);
    for (const { id } of ended) this.#of(id)?.ended(id);
    for (const { id } of begun) this.#of(id)?.begun(id, atMs, "a tenant that may have");
  }

  looked(nowMs: number): void {
    for (const tenant of this.#tenants.values()) tenant.looked(nowMs);
  }

  #of(id: string): LimitedAttempts | undefined {
    return this.#tenants.get(this.#tenantOf.get(id) ?? "");
  }

  #set(name: string, maxRunning: number, atMs: number): void {
    const tenant = this.#tenants.get(name);
    if (tenant === undefined) this.#tenants.set(name, new LimitedAttempts(maxRunning, atMs + HEARD_AFTER_MS));
    else tenant.limit(maxRunning, atMs);
  }
}
