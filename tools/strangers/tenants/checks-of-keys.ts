import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { LongCommand } from "../../../packages/cli/test/testing/command.ts";
import { RawStream } from "../../../packages/server/src/testing.ts";
import { equal, eventually, type Finding, has } from "../site.ts";
import { type Caller, type Key, type TenantsCheck, type TenantsSite, timed } from "./tenants-site.ts";

/** Name of a pool that each tenant of these checks owns. */
const POOL = "machines";
/** Number of jobs before, during and after an exchange of keys. */
const JOBS = 20;
/** Time in ms in which a revoked key is refused everywhere. */
const REVOKED_WITHIN_MS = 2_000;

/** A worker of a tenant's own pool, with a key of the tenant in a file. */
class OwnWorker {
  readonly tenant: Caller;
  readonly file: string;
  readonly key: Key;
  readonly #command: LongCommand;

  private constructor(tenant: Caller, file: string, key: Key, command: LongCommand) {
    this.tenant = tenant;
    this.file = file;
    this.key = key;
    this.#command = command;
  }

  /** Starts the worker at the first node, and waits until it is listed. */
  static async start(site: TenantsSite, name: string): Promise<OwnWorker> {
    const tenant = await site.tenant(name, "TENANT_ADMIN");
    await tenant.ask("PUT", `/v1/pools/${POOL}`, {});
    const { body: key } = await tenant.ask<Key>("POST", "/v1/api-keys", { kind: "WORKER", name });
    await site.isKnown(key.key);
    const file = join(site.folder, `${name}.key`);
    await writeFile(file, key.key);
    const env = { MAINSPRING_GRPC_URL: site.nodeAt(0).grpcAddress, MAINSPRING_API_KEY_FILE: file };
    const worker = new OwnWorker(tenant, file, key, new LongCommand(["worker", "--pool", POOL], env));
    await worker.isListed(1);
    return worker;
  }

  /** Waits until so many workers of the tenant are listed. @returns their number at the last look */
  isListed(count: number): Promise<number> {
    const listed = async () => {
      const { items } = (await this.tenant.ask<{ items: { state: string }[] }>("GET", "/v1/workers")).body;
      return items.filter(({ state }) => state === "ALIVE").length;
    };
    return eventually(listed, (found) => found === count);
  }

  async stop(): Promise<void> {
    this.#command.signal("SIGTERM");
    await this.#command.done;
  }
}

/** Calls of a tenant that go on while its keys are exchanged. */
class Load {
  readonly ids: string[] = [];
  readonly statuses = new Set<number>();
  #caller: Caller;
  #isOver = false;
  readonly #done: Promise<void>;

  constructor(caller: Caller) {
    this.#caller = caller;
    this.#done = this.#run();
  }

  async #run(): Promise<void> {
    while (!this.#isOver) {
      const job = { target: { handler: "echo", pool: POOL } };
      const { status, body } = await this.#caller.ask<{ executionId: string }>("POST", "/v1/jobs", job);
      this.statuses.add(status);
      this.ids.push(body.executionId);
    }
  }

  /** Waits for further calls, with another key from now on if one is given. */
  async goesOn(key = this.#caller.key): Promise<void> {
    this.#caller = this.#caller.but({ key });
    const enough = this.ids.length + JOBS;
    await eventually(
      async () => this.ids.length,
      (count) => count >= enough,
    );
  }

  /** Ends the calls. @returns states of their executions once these have ended */
  async end(): Promise<string[]> {
    this.#isOver = true;
    await this.#done;
    const states = new Set<string>();
    for (const id of this.ids) states.add((await this.#caller.execution(id)).state);
    return [...states];
  }
}

/** Keys of a tenant are exchanged while its calls and its worker go on, and the worker of a revoked key leaves. */
async function exchangesKeys(site: TenantsSite): Promise<Finding[]> {
  const worker = await OwnWorker.start(site, "rotating");
  try {
    return [...(await rotates(site, worker)), ...(await revokesAWorker(site, worker))];
  } finally {
    await worker.stop();
  }
}

async function rotates(site: TenantsSite, worker: OwnWorker): Promise<Finding[]> {
  const { tenant, key, file } = worker;
  const elsewhere = tenant.but({ node: 1 });
  const load = new Load(tenant);
  await load.goesOn();
  const { body: me } = await tenant.ask<{ keyId: string }>("GET", "/v1/me");
  const rotate = (keyId: string) => elsewhere.ask<Key>("POST", `/v1/api-keys/${keyId}/rotate`, { overlapSec: 60 });
  const [next, nextOfWorker] = [await rotate(me.keyId), await rotate(key.keyId)];
  await writeFile(file, nextOfWorker.body.key);
  await load.goesOn();
  await site.isKnown(next.body.key);
  await load.goesOn(next.body.key);
  const withdrawn = await elsewhere.but({ key: next.body.key }).ask("DELETE", `/v1/api-keys/${key.keyId}`);
  await load.goesOn();
  const states = await load.end();
  return [
    equal("the tenant's keys are exchanged on the other node", [next.status, nextOfWorker.status], [201, 201]),
    equal("and the worker's earlier one is revoked", withdrawn.status < 300, true),
    equal(
      `all ${load.ids.length} submits before, meanwhile and after are answered with 201`,
      [...load.statuses],
      [201],
    ),
    equal("and the tenant's worker, which reads its key from a file, runs all of their jobs", states, ["SUCCEEDED"]),
  ];
}

/** @param other worker of another tenant, whose pool has the same name */
async function revokesAWorker(site: TenantsSite, other: OwnWorker): Promise<Finding[]> {
  const worker = await OwnWorker.start(site, "revoked");
  try {
    const { tenant, key } = worker;
    const beganMs = performance.now();
    const revoked = await tenant.but({ node: 1 }).ask("DELETE", `/v1/api-keys/${key.keyId}`);
    const left = await worker.isListed(0);
    const tookMs = Math.round(performance.now() - beganMs);
    const [id = ""] = await tenant.submit(1, () => ({ target: { handler: "echo", pool: POOL } }));
    const others = await other.isListed(1);
    const [own = ""] = await other.tenant.submit(1, () => ({ target: { handler: "echo", pool: POOL } }));
    const ran = await other.tenant.execution(own);
    const waits = await tenant.ask<{ state: string }>("GET", `/v1/executions/${id}`);
    return [
      equal("the key of another tenant's worker is revoked on the other node", revoked.status < 300, true),
      equal("and its connection ends", left, 0),
      timed(site, "within two seconds", tookMs, REVOKED_WITHIN_MS),
      equal("the first tenant's worker stays", others, 1),
      equal("and runs a job of its pool", ran.state, "SUCCEEDED"),
      // An owner may still believe in the worker that has left, for as long as that may come back.
      equal("and none of the pool of the same name", ["PENDING", "SCHEDULED"].includes(waits.body.state), true),
    ];
  } finally {
    await worker.stop();
  }
}

/** Nothing but a node of the cluster opens the links between nodes. */
async function opensNoLink(site: TenantsSite): Promise<Finding[]> {
  const client = await site.tenant("on-the-mesh");
  const { nodes } = (await site.operator().ask<{ nodes: ClusterMember[] }>("GET", "/v1/cluster")).body;
  const isAt = (node: number) => (one: ClusterMember) =>
    one.state === "LIVING" && one.address === site.nodeAt(node).grpcAddress;
  const [to, living] = [0, 1].map((node) => nodes.find(isAt(node))?.nodeId ?? "") as [string, string];
  const operator = site.operator().key;
  const tries = [
    { what: "a client key as a living node is refused", key: client.key, from: living },
    { what: "an operator's key as a node that does not live is refused", key: operator, from: "nobody" },
    { what: "an operator's key as a living node is refused", key: operator, from: living },
  ];
  const findings = [equal("both nodes are known", ![to, living].includes(""), true)];
  for (const { what, key, from } of tries) {
    findings.push(has(what, await answerTo(site.nodeAt(0).grpcAddress, key, from, to), /^refused: .+/));
  }
  const [id = ""] = await client.submit(1, () => ({ target: { handler: "echo" } }));
  findings.push(equal("and the nodes go on", (await client.execution(id)).state, "SUCCEEDED"));
  return findings;
}

interface ClusterMember {
  nodeId: string;
  address: string;
  state: string;
}

/** Says hello as another node. @returns how the node answers */
async function answerTo(address: string, key: string, from: string, to: string): Promise<string> {
  const stream = new RawStream(address, key);
  try {
    stream.hello(from, to, "a-nonce");
    const ended = stream.status.then(({ code, details }) => `refused: ${code} ${details}`);
    const first = await Promise.race([stream.reply(), ended]);
    if (typeof first === "string") return first;
    if (first.challenge === undefined) return "admitted";
    // The node asks for a proof of the cluster secret, which the caller does not have.
    stream.say({ part: new Uint8Array(1) });
    return await ended;
  } finally {
    stream.close();
  }
}

export const CHECKS_OF_KEYS: readonly TenantsCheck[] = [
  { name: "6. Keys of tenants are exchanged under load, and the worker of a revoked one leaves", run: exchangesKeys },
  { name: "9. No key opens the links between nodes", run: opensNoLink },
];
