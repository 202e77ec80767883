import { Feature, type Hello, PROTOCOL_VERSION } from "@mainspring/proto";
import type { WorkerProfile } from "../../ports/messages.ts";
import { CAPABILITIES_MAX, HANDLERS_MAX, NAME_MAX_CHARS, PREFETCH_MAX, SLOTS_MAX } from "../limits.ts";
import { impostureOf } from "../sessions/session-secret.ts";
import { type ReportedHold, reportedHoldOf } from "../translate.ts";
import type { ConnectionRefusal } from "./connection.ts";
import { holdsFault } from "./hello-holds.ts";

/** Checked content of a worker's hello. */
export interface Greeting {
  profile: WorkerProfile;
  holds: ReportedHold[];
  /** The how-manieth connection of the worker it is, at any gateway; 0: it did not say. */
  connection: number;
  /** Whether it answers for what it holds: questions, slots that outlive their attempts, Assigns that it does not take. */
  isAuthority: boolean;
}

export interface Refusal {
  code: ConnectionRefusal;
  /** The fault, and what would be right. */
  detail: string;
}

/** @param isInner the worker lives in this process */
export function readHello(hello: Hello | undefined, isInner: boolean): Greeting | Refusal {
  if (hello === undefined) return invalid("the first message of a connection must carry hello");
  if (hello.protocolVersion !== PROTOCOL_VERSION) {
    const isNewer = hello.protocolVersion > PROTOCOL_VERSION;
    const advice = isNewer ? "upgrade the servers first, or use an older SDK" : "use a newer SDK in the worker";
    const detail = `protocol version ${hello.protocolVersion} is not known here; this server speaks ${PROTOCOL_VERSION}: ${advice}`;
    return { code: "FAILED_PRECONDITION", detail };
  }
  const fault = identityFault(hello) ?? capacityFault(hello);
  if (fault !== null) return invalid(fault);
  const refusal = impostureOf(hello, isInner) ?? holdsFault(hello);
  if (refusal !== null) return refusal;
  const holds: ReportedHold[] = [];
  for (const held of hello.holds) {
    const hold = reportedHoldOf(held);
    if (hold === null)
      return invalid("holds: each needs a token with a UUID, an attempt from 1 and a shard from 0 to 63");
    holds.push(hold);
  }
  const { workerId, name, pool, slots, prefetch, connection } = hello;
  const isAuthority = (hello.features & Feature.AUTHORITY) !== 0;
  const handlers = [...new Set(hello.handlers)];
  const capabilities = [...new Set(hello.capabilities)];
  return { profile: { workerId, name, pool, handlers, capabilities, slots, prefetch }, holds, connection, isAuthority };
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

function nameFault(field: string, value: string): string | null {
  if (value.length < 1 || value.length > NAME_MAX_CHARS) {
    return `${field}: 1 to ${NAME_MAX_CHARS} characters are allowed, not ${value.length}`;
  }
  // Names are stored and shown: no store takes a NUL, no terminal should get an escape.
  return /\p{Cc}/u.test(value) ? `${field}: control characters are not allowed` : null;
}
