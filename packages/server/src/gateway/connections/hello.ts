import { WORD_CHARS_MAX } from "@mainspring/contract/limits";
import { Feature, type Hello, isSecretWorkerId, PROTOCOL_VERSION } from "@mainspring/proto";
import { servesPool } from "../../domain/api-key.ts";
import { nameWarning } from "../../domain/name-warning.ts";
import { ownerOfPool } from "../../domain/pool.ts";
import type { Principal } from "../../ports/authenticator.ts";
import type { PolicyKeeper } from "../../ports/handler-policies.ts";
import type { WorkerProfile } from "../../ports/messages.ts";
import { isOfOperators } from "../../security/tenant.ts";
import type { TenantPools } from "../../security/tenant-ring.ts";
import { CAPABILITIES_MAX, HANDLERS_MAX, PREFETCH_MAX, SLOTS_MAX } from "../limits.ts";
import { impostureOf } from "../sessions/session-secret.ts";
import { type ReportedHold, reportedHoldOf } from "../translate.ts";
import type { ConnectionRefusal } from "./connection.ts";
import { holdsFault } from "./hello-holds.ts";
import { type Declarations, readDeclarations } from "./hello-policies.ts";

/** Checked content of a worker's hello. */
export interface Greeting {
  profile: WorkerProfile;
  holds: ReportedHold[];
  /** Number of the worker's connection, counted over all gateways; 0: not reported. */
  connection: number;
  /**
   * Whether the worker answers questions about its attempts, reports the end of handlers that outlive their attempts,
   * and returns Assigns that it does not take.
   */
  isAuthority: boolean;
  /** Whether the worker understands records of earlier attempts. */
  takesSteps: boolean;
  /** Policies of its handlers; null: the worker does not say. */
  declared: Declarations | null;
  /** Warning about the first name that the next release refuses; null: there is none. */
  warning: string | null;
}

export interface Refusal {
  code: ConnectionRefusal;
  /** The fault, and how to correct it. */
  detail: string;
}

/** Sender of a hello. */
export interface Greeter {
  /** Whether the worker runs in this process. */
  isInner: boolean;
  /** Caller whose key the worker has shown; null: it needs none. */
  principal: Principal | null;
}

/** @param keeper null: this gateway keeps no policies */
export function readHello(
  hello: Hello | undefined,
  { isInner, principal }: Greeter,
  keeper: PolicyKeeper | null = null,
  pools: Pick<TenantPools, "poolOf"> = { poolOf: (_tenant, pool) => pool },
): Greeting | Refusal {
  if (hello === undefined) return invalid("the first message of a connection must carry hello");
  if (hello.protocolVersion !== PROTOCOL_VERSION) {
    const isNewer = hello.protocolVersion > PROTOCOL_VERSION;
    const advice = isNewer ? "upgrade the servers first, or use an older SDK" : "use a newer SDK in the worker";
    const detail = `protocol version ${hello.protocolVersion} is not known here; this server speaks ${PROTOCOL_VERSION}: ${advice}`;
    return { code: "FAILED_PRECONDITION", detail };
  }
  const fault = identityFault(hello) ?? capacityFault(hello);
  if (fault !== null) return invalid(fault);
  const stored = poolServed(hello, principal, pools);
  const refusal = impostureOf(hello, isInner) ?? keyFault(hello, principal, stored) ?? holdsFault(hello);
  if (refusal !== null) return refusal;
  const holds: ReportedHold[] = [];
  for (const held of hello.holds) {
    const hold = reportedHoldOf(held);
    if (hold === null)
      return invalid("holds: each needs a token with a UUID, an attempt from 1 and a shard from 0 to 63");
    holds.push(hold);
  }
  const declared = readDeclarations(hello, keeper);
  if (typeof declared === "string") return invalid(declared);
  const { workerId, name, slots, prefetch, connection } = hello;
  const isAuthority = (hello.features & Feature.AUTHORITY) !== 0;
  const handlers = [...new Set(hello.handlers)];
  const capabilities = [...new Set(hello.capabilities)];
  const identity = { workerId, name, pool: stored ?? hello.pool, handlers, capabilities, slots };
  const isAuto = isAuthority && (hello.features & Feature.AUTO_PREFETCH) !== 0;
  const profile = isAuto ? { ...identity, prefetch: 0, autoPrefetch: true } : { ...identity, prefetch };
  const takesSteps = (hello.features & Feature.STEPS) !== 0;
  return { profile, holds, connection, isAuthority, takesSteps, declared, warning: namesWarning(hello) };
}

/**
 * Refuses a pool that the key does not allow, and an id that another key could take over: one that is derived from no secret.
 * A key of the settings may have it, because workers of older SDKs do, and because there is no more powerful one.
 */
function keyFault({ workerId, pool }: Hello, principal: Principal | null, stored: string | null): Refusal | null {
  if (principal === null || principal.source === "SETTINGS" || principal.source === "OPEN") return null;
  if (!isSecretWorkerId(workerId)) {
    const detail =
      "worker_id: a worker with a token or an API key of the store needs an id that is derived from a secret: use a newer SDK";
    return { code: "PERMISSION_DENIED", detail };
  }
  if (stored === null) {
    const detail = `pool: the tenant of the key owns no pool ${pool}: a tenant's workers serve its own pools alone`;
    return { code: "PERMISSION_DENIED", detail };
  }
  if (servesPool(principal.pools, pool)) return null;
  const detail = `pool: the key may serve ${principal.pools.join(", ")}, and not ${pool}`;
  return { code: "PERMISSION_DENIED", detail };
}

/**
 * Stored name of the pool that a worker serves: workers of operators serve shared pools, and those of another tenant its own ones.
 * @returns null: the tenant owns no such pool
 */
function poolServed({ pool }: Hello, principal: Principal | null, pools: Pick<TenantPools, "poolOf">): string | null {
  if (principal === null || isOfOperators(principal.tenant)) return pool;
  const stored = pools.poolOf(principal.tenant, pool);
  return ownerOfPool(stored) === principal.tenant ? stored : null;
}

function invalid(detail: string): Refusal {
  return { code: "INVALID_ARGUMENT", detail };
}

function identityFault(hello: Hello): string | null {
  return (
    nameFault("worker_id", hello.workerId) ??
    nameFault("name", hello.name) ??
    nameFault("pool", hello.pool) ??
    listFault("handlers", hello.handlers, 1, HANDLERS_MAX) ??
    listFault("capabilities", hello.capabilities, 0, CAPABILITIES_MAX)
  );
}

function capacityFault({ slots, prefetch }: Hello): string | null {
  if (slots < 1 || slots > SLOTS_MAX) return `slots: 1 to ${SLOTS_MAX} are allowed, not ${slots}`;
  return prefetch > PREFETCH_MAX ? `prefetch: 0 to ${PREFETCH_MAX} are allowed, not ${prefetch}` : null;
}

function listFault(field: string, items: readonly string[], min: number, max: number): string | null {
  if (items.length < min || items.length > max) return `${field}: ${min} to ${max} are allowed, not ${items.length}`;
  for (const item of items) {
    const fault = nameFault(field, item);
    if (fault !== null) return fault;
  }
  return null;
}

function namesWarning({ workerId, name, pool, handlers, capabilities }: Hello): string | null {
  return (
    nameWarning("worker_id", workerId) ??
    nameWarning("name", name) ??
    nameWarning("pool", pool) ??
    listWarning("handlers", handlers) ??
    listWarning("capabilities", capabilities)
  );
}

function listWarning(field: string, items: readonly string[]): string | null {
  for (const item of items) {
    const warning = nameWarning(field, item);
    if (warning !== null) return warning;
  }
  return null;
}

function nameFault(field: string, value: string): string | null {
  if (value.length < 1 || value.length > WORD_CHARS_MAX) {
    return `${field}: 1 to ${WORD_CHARS_MAX} characters are allowed, not ${value.length}`;
  }
  // Names are stored and displayed: no store accepts a NUL, and no terminal should get an escape sequence.
  return /\p{Cc}/u.test(value) ? `${field}: control characters are not allowed` : null;
}
