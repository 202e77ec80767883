import { text } from "node:stream/consumers";
import { monotonicMs, sleep, until } from "../clock.ts";
import { play, type Report, type RunContext, type Telling } from "../play.ts";
import { type Answer, KeyCluster, NODES, type Node, OPERATOR_KEY } from "./key-cluster.ts";

export interface KeyRunOptions extends Telling {
  /** Duration of the changes, in milliseconds. */
  forMs: number;
  /** Whether keys are rotated and revoked. */
  revocations: boolean;
  /** Whether the certificates of nodes are replaced. */
  certificates: boolean;
}

/** Time in which a revoked key is dead on every node, in milliseconds. */
const DEAD_WITHIN_MS = 2_000;
const USED_AFTER_MS = 4_000;
/** Interval of the uses, in milliseconds: wrong keys of one address are slowed beyond 20 a second. */
const USE_EVERY_MS = 200;
const ROTATE_EVERY_MS = 5_000;
const OVERLAP_SEC = 60;
/** Time in which a node uses new files of certificates, in milliseconds: it looks every 10 s. */
const RENEWED_WITHIN_MS = 15_000;

/** Revocation of keys. */
interface Death {
  isAsked: boolean;
  /** Time of the answer to the last one, on the monotonic clock; null: there is none. */
  atMs: number | null;
}

/**
 * Rotates and revokes API keys of a cluster, and replaces the certificates of its nodes, while clients work. A client that rotates
 * its key must see no refusal, a revoked key must be dead on every node within two seconds, and no request may fail.
 * @throws {Error} something did not start in time; the message names the folder with the logs
 */
export function keyRun({ forMs, revocations, certificates, ...telling }: KeyRunOptions): Promise<Report> {
  return play("keys", telling, async (context) => {
    const cluster = await KeyCluster.open(context);
    const run = new KeyRun(cluster, context);
    try {
      const untilMs = monotonicMs() + forMs;
      const work = [run.work(untilMs), run.work(untilMs)];
      if (revocations) work.push(run.rotate(untilMs), run.rotate(untilMs), run.revoke(untilMs), run.revoke(untilMs));
      if (certificates) work.push(run.renew(untilMs));
      await Promise.all(work);
      await run.checkLinks();
      return { violations: run.violations, figures: run.figures };
    } finally {
      await cluster.close();
    }
  });
}

/** The work and the changes of one run, with what they have seen. */
class KeyRun {
  readonly violations: Report["violations"] = [];
  readonly figures: Record<string, number> = {
    ...{ requests: 0, "jobs run": 0, rotations: 0, revocations: 0, "certificates replaced": 0, "failed handshakes": 0 },
    ...{ "longest life of a revoked key in ms": 0, "longest life of its streams in ms": 0 },
    "longest time until a new certificate in ms": 0,
  };
  readonly #cluster: KeyCluster;
  readonly #random: RunContext["random"];
  readonly #say: RunContext["say"];

  constructor(cluster: KeyCluster, { random, say }: RunContext) {
    this.#cluster = cluster;
    this.#random = random;
    this.#say = say;
  }

  /** Submits jobs at one node and waits for them at another one, so that every part of the cluster takes part. */
  async work(untilMs: number): Promise<void> {
    while (monotonicMs() < untilMs) {
      const [at, from] = [this.#node(), this.#node()];
      const job = { target: { handler: "echo" }, payload: { n: this.figures["jobs run"] } };
      const isNew = this.#random.chance(0.5);
      const submitted = await this.#asked(at, OPERATOR_KEY, "/v1/jobs", job, isNew);
      if (submitted?.status !== 201) continue;
      const { executionId } = JSON.parse(submitted.body) as { executionId: string };
      const path = `/v1/executions/${executionId}?waitSec=30`;
      const ended = await this.#asked(from, OPERATOR_KEY, path, undefined, isNew);
      const { state } = JSON.parse(ended?.body ?? "{}") as { state?: string };
      if (state === "SUCCEEDED") this.#count("jobs run");
      else this.#violated("every job runs", `${executionId} is ${state} after 30 s`);
    }
  }

  /** A client that rotates its key again and again, and uses the newest one at once, at every node. */
  async rotate(untilMs: number): Promise<void> {
    let key = await this.#created("CLIENT");
    let rotateAtMs = monotonicMs() + this.#random.between(0, ROTATE_EVERY_MS);
    while (monotonicMs() < untilMs) {
      if (monotonicMs() >= rotateAtMs) {
        const path = `/v1/api-keys/${key.keyId}/rotate`;
        const answer = await this.#asked(this.#node(), OPERATOR_KEY, path, { overlapSec: OVERLAP_SEC }, true);
        key = JSON.parse(answer?.body ?? "{}") as typeof key;
        this.#count("rotations");
        rotateAtMs = monotonicMs() + ROTATE_EVERY_MS;
      }
      const answers = await Promise.all(
        this.#cluster.nodes.map((node) => this.#asked(node, key.key, "/v1/me", undefined, this.#random.chance(0.5))),
      );
      for (const answer of answers) {
        if (answer !== null && answer.status !== 200)
          this.#violated("a client that rotates its key is not refused", `${answer.status} ${answer.body}`);
      }
      await sleep(20);
    }
  }

  /** Creates keys, uses them for a while, revokes them, and goes on using them, at every node. */
  async revoke(untilMs: number): Promise<void> {
    while (monotonicMs() < untilMs) {
      const [key, ofWorker] = [await this.#created("CLIENT"), await this.#created("WORKER")];
      const dead: Death = { isAsked: false, atMs: null };
      const uses = this.#cluster.nodes.map((node) => this.#use(node, key.key, dead));
      const streams = [
        this.#stream("an event stream", dead, async () => {
          // The server resets the connection of a stream whose key is revoked.
          const events = await this.#cluster.open(this.#node(), key.key, "/v1/events").catch(() => null);
          if (events !== null && events.statusCode !== 200)
            this.#violated("events are streamed", `status ${events.statusCode}`);
          if (events !== null) await text(events).catch(() => "");
        }),
        this.#stream("the connection of a worker", dead, async () => {
          const status = await this.#cluster.worker(this.#node(), ofWorker.key);
          if (status !== "16") this.#violated("revoked workers are told so", `the stream ended with status ${status}`);
        }),
      ];
      await sleep(this.#random.between(500, 2_000));
      dead.isAsked = true;
      for (const { keyId } of [key, ofWorker]) await this.#revoked(keyId);
      dead.atMs = monotonicMs();
      this.#count("revocations");
      await Promise.all([...uses, ...streams]);
    }
  }

  async #use(node: Node, key: string, dead: Death): Promise<void> {
    while (dead.atMs === null || monotonicMs() < dead.atMs + USED_AFTER_MS) {
      const askedAtMs = monotonicMs();
      const answer = await this.#asked(node, key, "/v1/me", undefined, true);
      if (answer?.status === 200 && dead.atMs !== null) {
        const livedMs = askedAtMs - dead.atMs;
        this.#longest("longest life of a revoked key in ms", livedMs);
        if (livedMs > DEAD_WITHIN_MS)
          this.#violated("a revoked key is dead within 2 s", `${node.name} took it ${Math.round(livedMs)} ms later`);
      } else if (answer?.status === 401 && !dead.isAsked)
        this.#violated("a new key is taken at once", `${node.name}: ${answer.body}`);
      await sleep(USE_EVERY_MS);
    }
  }

  /** Watches a use that lasts, which must end soon after its key is revoked. */
  async #stream(what: string, dead: Death, hold: () => Promise<void>): Promise<void> {
    await hold();
    const livedMs = dead.atMs === null ? 0 : monotonicMs() - dead.atMs;
    this.#longest("longest life of its streams in ms", livedMs);
    if (livedMs > DEAD_WITHIN_MS)
      this.#violated("uses of a revoked key end within 2 s", `${what} ended ${Math.round(livedMs)} ms later`);
  }

  /** Replaces the certificate of one node after the other. */
  async renew(untilMs: number): Promise<void> {
    for (let turn = 0; monotonicMs() < untilMs; turn++) {
      const node = this.#cluster.nodes[turn % NODES] as Node;
      const before = await this.#shown(node);
      await this.#cluster.issue(node.certFile, node.keyFile);
      const renewedAtMs = monotonicMs();
      // Every second time the node finds the files by itself.
      if (turn % 2 === 0) node.child.signal("SIGHUP");
      await until(`${node.name} uses its new certificate`, RENEWED_WITHIN_MS, async () =>
        (await this.#shown(node)) === before ? null : true,
      );
      this.#longest("longest time until a new certificate in ms", monotonicMs() - renewedAtMs);
      this.#count("certificates replaced");
      this.#say(`${node.name} uses its new certificate`);
      await sleep(2_000);
    }
  }

  /** Certificate that a node shows. A handshake that fails is counted, and repeated. */
  async #shown(node: Node): Promise<string> {
    for (;;) {
      try {
        return await this.#cluster.shown(node);
      } catch {
        this.#count("failed handshakes");
      }
    }
  }

  /** Checks at the end that all nodes reach each other. */
  async checkLinks(): Promise<void> {
    interface Seen {
      nodes: { state: string; unreached: string[] | null }[];
    }
    for (const node of this.#cluster.nodes) {
      await until("all nodes reach each other", 30_000, async () => {
        const answer = await this.#cluster.ask(node, OPERATOR_KEY, "/v1/cluster");
        const living = (JSON.parse(answer.body) as Seen).nodes.filter(({ state }) => state === "LIVING");
        return living.length === NODES && living.every(({ unreached }) => unreached?.length === 0) ? true : null;
      });
      if (node.child.endedBy() !== null)
        this.#violated("no node ends by itself", `${node.name}: ${node.child.endedBy()}`);
    }
  }

  async #created(kind: "CLIENT" | "WORKER"): Promise<{ key: string; keyId: string }> {
    for (;;) {
      const asked = { kind, name: "chaos" };
      const answer = await this.#asked(this.#node(), OPERATOR_KEY, "/v1/api-keys", asked, true);
      if (answer?.status === 201) return JSON.parse(answer.body) as { key: string; keyId: string };
      // The first key of a store must be an operator's.
      if (answer?.status === 409 || answer?.status === 400)
        await this.#asked(this.#node(), OPERATOR_KEY, "/v1/api-keys", { kind: "OPERATOR", name: "first" }, true);
      await sleep(200);
    }
  }

  /** @returns null: the request failed, which is a violation */
  async #asked(
    node: Node,
    key: string,
    path: string,
    body: object | "DELETE" | undefined,
    isNew: boolean,
  ): Promise<Answer | null> {
    this.#count("requests");
    try {
      return await this.#cluster.ask(node, key, path, body, isNew);
    } catch (error) {
      // A kept connection may end at any time, and its client asks again.
      if (!isNew) return await this.#asked(node, key, path, body, true);
      this.#violated("no request fails", `${node.name} ${path}: ${(error as Error).message}`);
      return null;
    }
  }

  async #revoked(keyId: string): Promise<void> {
    for (;;) {
      const answer = await this.#asked(this.#node(), OPERATOR_KEY, `/v1/api-keys/${keyId}`, "DELETE", true);
      if (answer?.status === 200) return;
    }
  }

  #node(): Node {
    return this.#random.pick(this.#cluster.nodes);
  }

  #count(figure: string): void {
    this.figures[figure] = (this.figures[figure] ?? 0) + 1;
  }

  #longest(figure: string, ms: number): void {
    this.figures[figure] = Math.max(this.figures[figure] ?? 0, Math.round(ms));
  }

  #violated(rule: string, what: string): void {
    this.violations.push({ rule, what });
  }
}
