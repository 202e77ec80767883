import type { ReadOptions, Requests } from "./requests.ts";

/** Settings of a tenant. */
export interface TenantSettings {
  /** Share beside other tenants that have work in the same pool; 1 to 1000, default 100. */
  weight?: number;
  /** Pools that its jobs may name, in which `*` stands for any characters; null: every pool. */
  pools?: readonly string[] | null;
  /** Attempts that may be at workers at once. null: no limit, as in the fields below. */
  maxRunning?: number | null;
  /** Executions that may wait before a submit is refused. */
  maxWaiting?: number | null;
  /** Recurring jobs that may exist before another one is refused. */
  maxRecurring?: number | null;
  /** Jobs that it may submit in a second, on average. */
  submitsPerSec?: number | null;
  /** Requests that it may send in a second, on average. */
  requestsPerSec?: number | null;
  /** Bytes of the payload of a job. */
  maxPayloadBytes?: number | null;
  /** Bytes of the body of a request that submits a batch or a workflow. */
  maxBatchBytes?: number | null;
}

/** A tenant. */
export interface Tenant extends Required<TenantSettings> {
  name: string;
  /** DELETING: its work is being cancelled, and its keys are revoked. */
  state: "ACTIVE" | "SUSPENDED" | "DELETING";
  /** Grows with each change. */
  version: number;
  createdAt: string;
  updatedAt: string;
  /** Origins of requests without a key that belong to it. */
  sources: TenantSource[];
}

/** Origin of requests without a key. ROLE: a database role that submits in SQL; TOPIC: a topic of requests in Kafka. */
export interface TenantSource {
  kind: "ROLE" | "TOPIC";
  name: string;
}

/** Executions of a tenant by state. */
export interface TenantUsage {
  name: string;
  waiting: number;
  ready: number;
  running: number;
  deadLetters: number;
  /** null: not known yet. */
  openRuns: number | null;
  /** Largest count; it means as many or more. */
  countedUpTo: number;
}

type ChangeOptions = ReadOptions & {
  /** Version that the tenant must have; default: any. */
  ifVersion?: number;
};

/** Tenants. Every method throws `MainspringError`: FORBIDDEN, if the key of the client lacks the scope `system:admin`. */
export class Tenants {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /** Lists tenants by name. The client fetches each page when the caller gets to it. */
  list(): AsyncGenerator<Tenant, void, undefined> {
    return this.#requests.pages<Tenant>("/v1/tenants", {});
  }

  get(name: string, options: ReadOptions = {}): Promise<Tenant> {
    return this.#requests.get(pathOf(name), options);
  }

  /** @throws {MainspringError} CONFLICT: there is one of this name, or a node of the cluster is too old */
  create(tenant: TenantSettings & { name: string }, options: ReadOptions = {}): Promise<Tenant> {
    return this.#requests.send("POST", "/v1/tenants", tenant, false, options);
  }

  /** Changes settings or the state. Fields that are left out stay as they are. */
  change(
    name: string,
    change: TenantSettings & { state?: "ACTIVE" | "SUSPENDED" },
    { ifVersion, ...options }: ChangeOptions = {},
  ): Promise<Tenant> {
    const sent = ifVersion === undefined ? options : { ...options, headers: { "if-match": `"${ifVersion}"` } };
    return this.#requests.send("PATCH", pathOf(name), change, true, sent);
  }

  /** Refuses submits of the tenant, and starts nothing of it, until its state is ACTIVE again. */
  suspend(name: string, options: ReadOptions = {}): Promise<Tenant> {
    return this.change(name, { state: "SUSPENDED" }, options);
  }

  /** Revokes its keys, deletes its jobs and cancels its executions, in the background. */
  delete(name: string, options: ReadOptions = {}): Promise<Tenant> {
    return this.#requests.send("DELETE", pathOf(name), undefined, true, options);
  }

  usage(name: string, options: ReadOptions = {}): Promise<TenantUsage> {
    return this.#requests.get(`${pathOf(name)}/usage`, options);
  }

  /** Gives a database role or a topic to the tenant: requests without a key that come by it are the tenant's from then on. */
  bind(name: string, source: TenantSource, options: ReadOptions = {}): Promise<Tenant> {
    return this.#requests.send("PUT", sourceOf(name, source), undefined, true, options);
  }

  /** Takes a database role or a topic from the tenant: its requests belong to the tenant `default` again. */
  unbind(name: string, source: TenantSource, options: ReadOptions = {}): Promise<Tenant> {
    return this.#requests.send("DELETE", sourceOf(name, source), undefined, true, options);
  }
}

function pathOf(name: string): string {
  return `/v1/tenants/${encodeURIComponent(name)}`;
}

function sourceOf(tenant: string, { kind, name }: TenantSource): string {
  return `${pathOf(tenant)}/sources/${kind}/${encodeURIComponent(name)}`;
}
