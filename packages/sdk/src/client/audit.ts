import type { Runtime } from "../runtime.ts";
import type { ApiKeyKind } from "./api-keys.ts";
import type { ReadOptions, Requests } from "./requests.ts";

/** Kind of the actor's key. SYSTEM: a server, or a program that works on the store. UNKNOWN: nobody who is known. */
export type AuditActorKind = ApiKeyKind | "SYSTEM" | "UNKNOWN";

/** A record of the audit log. */
export interface AuditRecord {
  /** Chain of the record: each life of a server has one. */
  chain: string;
  /** Place in the chain, from 1 on, without gaps. */
  seq: number;
  at: string;
  tenant: string;
  actor: { kind: AuditActorKind; keyId: string | null; for: string | null };
  /** Operation of the API's document, such as `putPool`, or an action of the server. */
  action: string;
  /** Id or name of the object; null: none. */
  target: string | null;
  /** VOID: the transaction of the record in this place failed. */
  outcome: "DONE" | "REFUSED" | "VOID";
  requestId: string | null;
  /** Address of the caller; null: none, or only operators see it. */
  address: string | null;
  /** Further facts: names of changed fields, counts and ids. */
  detail: Record<string, unknown>;
  /** Hash of the record before. */
  prev: string;
  hash: string;
}

/** Last record of a chain. */
export interface AuditChainHead {
  chain: string;
  seq: number;
  hash: string;
}

/** A seal of the audit log. */
export interface AuditAnchor {
  number: number;
  at: string;
  /** Heads of the chains that moved since the anchor before. */
  heads: AuditChainHead[];
  /** Last records that retention removed with the anchor. */
  floors: AuditChainHead[];
  prev: string;
  hash: string;
  /** Ed25519 signature of `hash`, in base64; null: the server has no key. */
  signature: string | null;
}

export interface AuditFilter {
  /** `keyId` of an API key. */
  actor?: string;
  action?: string;
  target?: string;
  /** ISO 8601 time. */
  since?: string;
}

/** The audit log. Every method throws `MainspringError`: FORBIDDEN, if the key of the client lacks the scope. */
export class Audit {
  readonly #requests: Requests;
  readonly #runtime: Runtime;

  constructor(requests: Requests, runtime: Runtime) {
    this.#requests = requests;
    this.#runtime = runtime;
  }

  /** Lists records, newest first: those of the tenant, and all for operators. Needs the scope `tenant:admin`. */
  list(filter: AuditFilter = {}): AsyncGenerator<AuditRecord, void, undefined> {
    return this.#requests.pages<AuditRecord>("/v1/audit", filter);
  }

  /** Reads the whole log, oldest record first. Needs the scope `system:admin`. @param since ISO 8601 time */
  records(since?: string, options: ReadOptions = {}): AsyncGenerator<AuditRecord, void, undefined> {
    return this.#requests.pages<AuditRecord>("/v1/audit/records", { since, limit: PAGE }, options);
  }

  /**
   * Reads the whole log, and goes on with new records until the caller ends the loop. A record may come after a later one of another
   * server. Needs the scope `system:admin`. @param since ISO 8601 time
   */
  async *follow(since?: string): AsyncGenerator<AuditRecord, void, undefined> {
    const seen = new SeenRecords();
    for (let from = since; ; from = seen.overlap() ?? from) {
      for await (const record of this.records(from)) if (seen.isNew(record)) yield record;
      await new Promise<void>((resolve) => void this.#runtime.setTimer(FOLLOW_EVERY_MS, resolve));
    }
  }

  /** Lists the anchors, oldest first. Needs the scope `system:admin`. */
  anchors(options: ReadOptions = {}): AsyncGenerator<AuditAnchor, void, undefined> {
    return this.#requests.pages<AuditAnchor>("/v1/audit/anchors", { limit: PAGE }, options);
  }
}

/** Items of a page of an export. */
const PAGE = 500;
/** Interval at which `follow` asks for new records, in milliseconds. */
const FOLLOW_EVERY_MS = 2_000;
/** Time that `follow` reads again, in milliseconds: the transaction of a record may end after that of a later one of another server. */
const OVERLAP_MS = 60_000;
/** Number of records between two looks for those that cannot come again. */
const PRUNE_EVERY = 10_000;

/** Records that a caller has, as long as they can come again. */
class SeenRecords {
  #newestMs = 0;
  readonly #atMs = new Map<string, number>();

  isNew({ chain, seq, at }: AuditRecord): boolean {
    const place = `${chain} ${seq}`;
    if (this.#atMs.has(place)) return false;
    const atMs = Date.parse(at);
    this.#newestMs = Math.max(this.#newestMs, atMs);
    this.#atMs.set(place, atMs);
    if (this.#atMs.size % PRUNE_EVERY === 0) this.overlap();
    return true;
  }

  /** Time from which to read on, with older records forgotten; undefined: nothing was read. */
  overlap(): string | undefined {
    if (this.#newestMs === 0) return undefined;
    const fromMs = this.#newestMs - OVERLAP_MS;
    for (const [place, atMs] of this.#atMs) if (atMs < fromMs) this.#atMs.delete(place);
    return new Date(fromMs).toISOString();
  }
}
