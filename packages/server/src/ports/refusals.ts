import type { AuditActor } from "./store-audit.ts";

/** A request, or a connection of a worker, that a server has refused. */
export interface Refused {
  /** `logIn`: a request without a good credential; `connectWorker`: a worker; else the operation. */
  action: string;
  /** Code of the problem. */
  reason: string;
  address: string;
  /** Tenant of the caller; null: nobody knows the caller, so the record is one of the operators. */
  tenant: string | null;
  actor: AuditActor;
}

/** Counts refusals for the audit log. */
export interface Refusals {
  note(refused: Refused): void;
}
