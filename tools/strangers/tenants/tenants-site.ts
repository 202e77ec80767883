import { type ClusterNode, TestCluster } from "../../../packages/cli/test/testing/cluster.ts";
import { mainspring } from "../../../packages/cli/test/testing/command.ts";
import type { CheckOf } from "../site.ts";

/** Key of the settings of all nodes, which is an operator's. */
const ROOT = "the-key-of-the-strangers-operator";

export type TenantsCheck = CheckOf<TenantsSite>;

/** Answer of the API. */
export interface Answer<T> {
  status: number;
  text: string;
  body: T;
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

  async ask<T>(method: string, path: string, body?: unknown): Promise<Answer<T>> {
    const headers = {
      authorization: `Bearer ${this.key}`,
      ...(body !== undefined && { "content-type": "application/json" }),
    };
    const url = this.#site.nodeAt(this.#node).httpUrl + path;
    const answer = await fetch(url, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
    const text = await answer.text();
    return { status: answer.status, text, body: (text === "" ? null : JSON.parse(text)) as T };
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
    const env = { MAINSPRING_API_KEY: ROOT, MAINSPRING_LOG_LEVEL: "info" };
    this.#nodes = await Promise.all([this.cluster.node(env), this.cluster.node(env)]);
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

  /** Creates a tenant and a client's key of it. */
  async tenant(name: string, node = 0): Promise<Caller> {
    await this.command("tenants", "create", name);
    const { stdout } = await this.command(
      "keys",
      "create",
      "--kind",
      "client",
      "--tenant",
      name,
      "--name",
      name,
      "--json",
    );
    return new Caller(this, (JSON.parse(stdout) as { key: string }).key, node);
  }

  /** Runs `mainspring` as the operator. */
  command(...args: string[]) {
    const { httpUrl, grpcAddress } = this.nodeAt(0);
    const env = { MAINSPRING_URL: httpUrl, MAINSPRING_GRPC_URL: grpcAddress, MAINSPRING_API_KEY: ROOT };
    return mainspring(args, { env });
  }
}
