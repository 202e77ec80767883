import { type ClusterNode, TestCluster } from "../../../packages/cli/test/testing/cluster.ts";
import { mainspring } from "../../../packages/cli/test/testing/command.ts";
import { type CheckOf, eventually, type Finding } from "../site.ts";

/** Key of the settings of all nodes, which is an operator's. */
const ROOT = "the-key-of-the-strangers-operator";
const CLUSTER_SECRET = "the-secret-of-the-strangers-cluster";
/** Number of nodes. */
const NODES = 2;

export type TenantsCheck = CheckOf<TenantsSite>;

/** Answer of the API. */
export interface Answer<T> {
  status: number;
  headers: Headers;
  text: string;
  body: T;
}

export interface Key {
  keyId: string;
  key: string;
}

/** One caller: an operator, or the holder of a tenant's key. */
export class Caller {
  readonly key: string;
  readonly #site: TenantsSite;
  readonly #node: number;

  /** @param node number of the node that the caller asks */
  constructor(site: TenantsSite, key: string, node: number) {
    this.#site = site;
    this.key = key;
    this.#node = node;
  }

  /** The same caller, who asks another node or has another key. */
  but({ node = this.#node, key = this.key }: { node?: number; key?: string }): Caller {
    return new Caller(this.#site, key, node);
  }

  async ask<T>(method: string, path: string, body?: unknown, more: Record<string, string> = {}): Promise<Answer<T>> {
    const headers = {
      authorization: `Bearer ${this.key}`,
      ...(body !== undefined && { "content-type": "application/json" }),
      ...more,
    };
    const url = this.#site.nodeAt(this.#node).httpUrl + path;
    const answer = await fetch(url, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
    const text = await answer.text();
    return {
      status: answer.status,
      headers: answer.headers,
      text,
      body: (text === "" ? null : JSON.parse(text)) as T,
    };
  }

  /** Submits jobs in batches of a thousand. @returns ids of their executions */
  async submit(count: number, jobOf: (n: number) => object): Promise<string[]> {
    const ids: string[] = [];
    for (let from = 0; from < count; from += 1_000) {
      const jobs = Array.from({ length: Math.min(1_000, count - from) }, (_, n) => jobOf(from + n));
      const { status, text, body } = await this.ask<{ items: { executionId?: string }[] }>("POST", "/v1/jobs/batch", {
        jobs,
      });
      if (status !== 200) throw new Error(`a batch was answered with ${status}: ${text}`);
      ids.push(...body.items.map(({ executionId = "" }) => executionId));
    }
    return ids;
  }

  async execution(id: string): Promise<Execution> {
    return (await this.ask<Execution>("GET", `/v1/executions/${id}?waitSec=60`)).body;
  }
}

export interface Execution {
  executionId: string;
  state: string;
  scheduledAt: string;
  startedAt: string | null;
}

/** Finding that something took no longer than a time, which is judged only where times are. */
export function timed({ judgesTimes }: TenantsSite, what: string, tookMs: number, boundMs: number): Finding {
  const saw = `${tookMs} ms`;
  return { what, saw: judgesTimes ? saw : `${saw}, not judged`, isRight: !judgesTimes || tookMs <= boundMs };
}

/** Two nodes on one PostgreSQL, which ask for keys. */
export class TenantsSite {
  readonly cluster: TestCluster;
  /** Folder for the files of checks. */
  readonly folder: string;
  /** Number of jobs of the noisy tenant. */
  readonly jobs: number;
  /** Whether times are judged, and not only counts and the order. */
  readonly judgesTimes: boolean;
  #nodes: ClusterNode[] = [];

  private constructor(cluster: TestCluster, folder: string, jobs: number, judgesTimes: boolean) {
    this.cluster = cluster;
    this.folder = folder;
    this.jobs = jobs;
    this.judgesTimes = judgesTimes;
  }

  static async open(folder: string, jobs: number, judgesTimes: boolean): Promise<TenantsSite> {
    const site = new TenantsSite(await TestCluster.open(), folder, jobs, judgesTimes);
    await site.startNodes();
    return site;
  }

  async startNodes(): Promise<void> {
    const env = { MAINSPRING_API_KEY: ROOT, MAINSPRING_CLUSTER_SECRET: CLUSTER_SECRET, MAINSPRING_LOG_LEVEL: "info" };
    this.#nodes = await Promise.all(Array.from({ length: NODES }, () => this.cluster.node(env)));
  }

  /** Stops all nodes. @returns what they have logged */
  async stopNodes(): Promise<string> {
    await this.cluster.stopNodes();
    const ended = await Promise.all(this.#nodes.map(({ command }) => command.done));
    return ended.map(({ stdout, stderr }) => stdout + stderr).join("\n");
  }

  nodeAt(number: number): ClusterNode {
    return this.#nodes[number % this.#nodes.length] as ClusterNode;
  }

  operator(node = 0): Caller {
    return new Caller(this, ROOT, node);
  }

  /** Creates a tenant and a key of it, and waits until every node knows the key. */
  async tenant(name: string, kind: "CLIENT" | "TENANT_ADMIN" = "CLIENT", settings: object = {}): Promise<Caller> {
    await this.#created("/v1/tenants", { name, ...settings });
    const { key } = await this.#created("/v1/api-keys", { kind, tenant: name, name });
    await this.isKnown(key);
    return new Caller(this, key, 0);
  }

  async #created(path: string, body: object): Promise<Key> {
    const { status, text, body: created } = await this.operator().ask<Key>("POST", path, body);
    if (status !== 201) throw new Error(`POST ${path} was answered with ${status}: ${text}`);
    return created;
  }

  /** Waits until every node knows a key: one that has not made it learns of it a moment later. */
  async isKnown(key: string): Promise<void> {
    for (const node of this.#nodes.keys()) {
      const me = () => new Caller(this, key, node).ask("GET", "/v1/me");
      await eventually(me, ({ status }) => status === 200);
    }
  }

  /** Runs `mainspring` as the operator. */
  command(...args: string[]) {
    const { httpUrl, grpcAddress } = this.nodeAt(0);
    const env = { MAINSPRING_URL: httpUrl, MAINSPRING_GRPC_URL: grpcAddress, MAINSPRING_API_KEY: ROOT };
    return mainspring(args, { env });
  }
}
