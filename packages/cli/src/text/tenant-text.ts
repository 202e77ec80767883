import type { Tenant, TenantUsage } from "@mainspring/sdk";
import { facts, table } from "./output.ts";

/** Tenants for people, one a line. */
export function tenantsText(tenants: readonly Tenant[]): string {
  const rows = tenants.map(({ name, state, weight, pools }) => [name, state, String(weight), pools?.join(", ") ?? "-"]);
  return table(["TENANT", "STATE", "WEIGHT", "POOLS"], rows);
}

/** A tenant for people. Limits that it does not have are left out. */
export function tenantText(tenant: Tenant): string {
  const limit = (title: string, value: number | null): [string, string | null] => [title, value?.toString() ?? null];
  return facts([
    ["tenant", tenant.name],
    ["state", tenant.state],
    ["weight", String(tenant.weight)],
    ["pools", tenant.pools?.join(", ") ?? null],
    limit("running at most", tenant.maxRunning),
    limit("waiting at most", tenant.maxWaiting),
    limit("recurring at most", tenant.maxRecurring),
    limit("submits a second", tenant.submitsPerSec),
    limit("requests a second", tenant.requestsPerSec),
    limit("bytes of a payload", tenant.maxPayloadBytes),
    limit("bytes of a batch", tenant.maxBatchBytes),
    ["sources", tenant.sources.map(({ kind, name }) => `${kind.toLowerCase()} ${name}`).join(", ") || null],
    ["created", tenant.createdAt],
    ["changed", tenant.updatedAt],
  ]);
}

/** Counts of a tenant for people. */
export function usageText({ name, waiting, ready, running, deadLetters, openRuns, countedUpTo }: TenantUsage): string {
  const count = (value: number) => (value >= countedUpTo ? `${value} or more` : String(value));
  return facts([
    ["tenant", name],
    ["waiting", count(waiting)],
    ["ready", count(ready)],
    ["running", count(running)],
    ["dead letters", count(deadLetters)],
    ["open workflows", openRuns === null ? null : count(openRuns)],
  ]);
}
