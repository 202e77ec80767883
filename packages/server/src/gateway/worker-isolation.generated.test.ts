import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { DescMessage, MessageInitShape } from "@bufbuild/protobuf";
import {
  ErrorSchema,
  type ServerMessage,
  StepKind,
  type Token,
  TokenSchema,
  WorkerMessageSchema,
  workerIdOf,
} from "@mainspring/proto";
import { until } from "../adapters/system/until.fixture.ts";
import { startTestNode, type TestNode } from "../node.fixture.ts";
import { Peer } from "./connections/grpc-peer.fixture.ts";

/** Part of every text that tenant B chooses. Nothing that a worker of tenant A receives may contain it. */
const CANARY = "B7f3c0ffee";
/** Part of every text that a worker of tenant A forges. Nothing of tenant B may contain it. */
const FORGED = "A-forged";
const OPERATOR_KEY = "the-key-of-the-operators";
const POOL = "gpu";
const SECRET_OF_B = `${CANARY}-secret-of-b`;
const RANDOM_ID = "019a1111-2222-7333-8444-555566667777";

type Message = Exclude<MessageInitShape<typeof WorkerMessageSchema>, { $typeName: string }>;
type Hello = Exclude<NonNullable<Message["hello"]>, { $typeName: string }>;
type Reference = Pick<Token, "executionId" | "attempt" | "shard">;

/** Names of objects, either of tenant B or of nobody. */
interface Names {
  token: Reference;
  workerId: string;
  pool: string;
  signalId: string;
}

/** A worker of tenant A with an attempt of its own. */
interface Scene {
  own: Reference;
  names: Names;
}

interface Greeting {
  hello: Hello;
  /** Further fields of the same message. */
  rest?: Message;
}

const text = (value: string) => Buffer.from(JSON.stringify(value));

/** Messages that name objects, by the field that names them: over a connection whose hello was taken. */
const PROBES: Readonly<Record<string, (scene: Scene) => Message[]>> = {
  "started.token": ({ names }) => [{ started: [{ token: names.token, startedAtMs: 7n }] }],
  "finished.token": ({ names: { token } }) =>
    [1, 2, 3, 4, 5, 6].map((outcome) => ({
      finished: [
        {
          ...{ token, outcome, startedAtMs: 7n, finishedAtMs: 8n },
          ...(outcome === 1 && { result: text(FORGED), branch: FORGED }),
          ...(outcome === 2 && { error: { name: FORGED, message: FORGED } }),
          ...(outcome === 6 && { waits: [{ name: FORGED, delayMs: 5n }] }),
        },
      ],
    })),
  "finished.spawned.definition": ({ own, names }) => [
    { finished: [{ token: own, outcome: 1, spawned: [{ name: "n", definition: spawned(names.pool) }] }] },
  ],
  "progress.token": ({ names: { token } }) => [{ progress: [{ token, fraction: 0.99, message: FORGED }] }],
  "logs.token": ({ names: { token } }) => [{ logs: [{ token, level: "info", line: FORGED }] }],
  ended: ({ names }) => [{ ended: [names.token] }],
  "holds.holds.token": ({ names }) => [
    ...[1n, 2n].map((nonce) => ({ holds: { nonce, holds: [{ token: names.token, startedAtMs: 7n }] } })),
    { logs: [{ token: names.token, level: "info", line: FORGED }] },
  ],
  "steps.token": ({ names: { token, signalId } }) => [
    { steps: [{ token, number: 1, name: FORGED, kind: StepKind.RESULT, data: text(FORGED), signalId }] },
    { steps: [{ token, number: 2, kind: StepKind.CHECKPOINT, data: text(FORGED) }] },
  ],
  "steps.signalId": ({ own, names: { signalId } }) => [
    { steps: [{ token: own, number: 1, name: FORGED, kind: StepKind.RESULT, data: text(FORGED), signalId }] },
  ],
};

/** Hellos that name objects, by the field that names them. */
const HELLOS: Readonly<Record<string, (names: Names) => Greeting[]>> = {
  "hello.workerId": ({ workerId }) => [{ hello: { workerId } }, { hello: { workerId, connection: 99 } }],
  "hello.secret": ({ workerId }) => [{ hello: { workerId, secret: "" } }],
  "hello.pool": ({ pool }) => [{ hello: { pool } }, { hello: { pool: `b\u001f${pool}` } }],
  "hello.handlers": ({ pool }) => [{ hello: { handlers: [pool] } }],
  "hello.policies.policies": ({ pool }) => [
    { hello: { features: 2, policies: [{ handler: "own", policies: Buffer.from(JSON.stringify({ pool })) }] } },
  ],
  "hello.holds.token": ({ token }) => {
    const held = [{}, { startedAtMs: 7n }, { startedAtMs: 7n, finished: true }, { over: true }];
    const rest: Message = {
      logs: [{ token, level: "info", line: FORGED }],
      progress: [{ token, fraction: 0.98, message: FORGED }],
      finished: [{ token, outcome: 1, result: text(FORGED) }],
      ended: [token],
    };
    return held.map((hold) => ({ hello: { holds: [{ token, ...hold }] }, rest }));
  },
};

/** Fields that name nothing of others: numbers, flags, and texts of the worker and its attempts. */
const NAMELESS = new Set([
  ...["hello.protocolVersion", "hello.name", "hello.capabilities", "hello.slots", "hello.prefetch"],
  ...["hello.holds.startedAtMs", "hello.holds.finished", "hello.holds.over", "hello.connection", "hello.features"],
  ...["hello.policies.handler", "hello.returning", "started.startedAtMs", "finished.outcome", "finished.startedAtMs"],
  ...["finished.finishedAtMs", "finished.result", "finished.error", "finished.advice", "finished.retryAtMs"],
  ...["finished.stillRunning", "finished.branch", "finished.waits.name", "finished.waits.delayMs"],
  ...["finished.waits.signals", "finished.waits.recorded", "finished.spawned.name", "finished.spawned.payload"],
  ...["heartbeat.running", "heartbeat.loopLagMs", "progress.fraction", "progress.message", "logs.atMs", "logs.level"],
  ...["logs.line", "draining", "holds.nonce", "holds.holds.startedAtMs", "holds.holds.finished", "holds.holds.over"],
  ...["steps.number", "steps.name", "steps.kind", "steps.data"],
]);

const HELLO = { protocolVersion: 1, name: "a worker", pool: POOL, slots: 2, prefetch: 0, features: 1 | 8 };

describe("a worker of a tenant", () => {
  let node: TestNode;
  let keys: Record<"a" | "b", { admin: string; worker: string }>;
  let ofB: { peer: Peer; running: Reference; waiting: Reference; events: string[]; stop: () => void };
  let stateBefore: unknown;
  const peers: Peer[] = [];
  let count = 0;

  const call = async <T>(key: string, path: string, body?: object, method = "POST"): Promise<T> => {
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const sent = body === undefined ? { headers } : { headers, method, body: JSON.stringify(body) };
    const answer = await fetch(`${node.httpUrl}${path}`, sent);
    const json = (await answer.json()) as T;
    assert.ok(answer.ok, `${path}: ${JSON.stringify(json)}`);
    return json;
  };
  const submit = async (of: "a" | "b", job: object): Promise<string> =>
    (await call<{ executionId: string }>(keys[of].admin, "/v1/jobs", job)).executionId;

  before(async () => {
    node = await startTestNode({ MAINSPRING_API_KEY: OPERATOR_KEY, MAINSPRING_BUILTIN_WORKER: "off" });
    await call(OPERATOR_KEY, "/v1/api-keys", { kind: "OPERATOR", name: "first" });
    keys = { a: await tenant("a"), b: await tenant("b") };
    ofB = await workOfB();
    stateBefore = await stateOfB();
  });
  after(async () => {
    ofB?.stop();
    for (const peer of peers) peer.close();
    await node.stop();
  });

  async function tenant(name: "a" | "b"): Promise<{ admin: string; worker: string }> {
    await call(OPERATOR_KEY, "/v1/tenants", { name });
    const make = async (key: string, kind: string, more: object = {}) =>
      (await call<{ key: string }>(key, "/v1/api-keys", { kind, name: kind, ...more })).key;
    const admin = await make(OPERATOR_KEY, "TENANT_ADMIN", { tenant: name });
    for (const pool of name === "b" ? [POOL, CANARY] : [POOL]) await call(admin, `/v1/pools/${pool}`, {}, "PUT");
    return { admin, worker: await make(admin, "WORKER") };
  }

  function connect(of: "a" | "b"): Peer {
    const peer = new Peer(node.grpcAddress, keys[of].worker);
    peers.push(peer);
    return peer;
  }

  /** One attempt of tenant B that runs, and work that waits for its worker. */
  async function workOfB(): Promise<typeof ofB> {
    const peer = connect("b");
    const identity = { workerId: workerIdOf(SECRET_OF_B) ?? "", secret: SECRET_OF_B, name: CANARY };
    peer.say({ hello: { ...HELLO, ...identity, slots: 1, handlers: ["work", CANARY], capabilities: [CANARY] } });
    assert.ok((await peer.next()).welcome);
    const target = { handler: CANARY, pool: POOL };
    const job = { target, payload: { text: CANARY }, labels: { text: CANARY }, concurrencyKey: CANARY };
    const id = await submit("b", job);
    const running = (await peer.next()).assigns[0]?.token as Reference;
    assert.equal(running.executionId, id);
    peer.say({ started: [{ token: running, startedAtMs: 5n }] });
    peer.say({ progress: [{ token: running, fraction: 0.5, message: CANARY }] });
    peer.say({ logs: [{ token: running, level: "info", line: CANARY }] });
    peer.say({ steps: [{ token: running, number: 1, name: CANARY, kind: StepKind.RESULT, data: text(CANARY) }] });
    assert.equal((await peer.next()).stepAcks.length, 1);
    await call(keys.b.admin, `/v1/executions/${id}/signals`, { id: CANARY, name: CANARY, data: CANARY });
    const waiting = { ...running, executionId: await submit("b", { target }) };
    await submit("b", { target: { handler: "work", pool: POOL } });
    return { peer, running, waiting, ...follow(id) };
  }

  /** Follows an execution of tenant B. */
  function follow(id: string): { events: string[]; stop: () => void } {
    const abort = new AbortController();
    const events: string[] = [];
    const headers = { authorization: `Bearer ${keys.b.admin}` };
    const read = async () => {
      const answer = await fetch(`${node.httpUrl}/v1/executions/${id}/events`, { headers, signal: abort.signal });
      for await (const bytes of answer.body ?? []) events.push(Buffer.from(bytes).toString());
    };
    void read().catch(() => undefined);
    return { events, stop: () => abort.abort() };
  }

  /** All that tenant B sees of its running and waiting work. */
  async function stateOfB(): Promise<unknown> {
    const seen: unknown[] = [await until(linesOfB)];
    for (const { executionId } of [ofB.running, ofB.waiting]) {
      for (const part of ["", "/steps"]) seen.push(await call(keys.b.admin, `/v1/executions/${executionId}${part}`));
    }
    for (const list of ["executions", "pools", "handlers", "workers"])
      seen.push(await call(keys.b.admin, `/v1/${list}`));
    // These times pass by themselves.
    return JSON.parse(JSON.stringify(seen, (key, value) => (/heartbeat|loopLag/i.test(key) ? null : value)));
  }

  async function linesOfB(): Promise<unknown[] | null> {
    const path = `/v1/executions/${ofB.running.executionId}/logs`;
    const { lines } = await call<{ lines: unknown[] }>(keys.b.admin, path);
    return lines.length === 0 ? null : lines;
  }

  /** Connects a worker of tenant A, under an id that no other one has. @returns the worker and the handler that it alone serves */
  function greet({ hello, rest = {} }: Greeting): { peer: Peer; handler: string } {
    // The worker of tenant B must not count as silent.
    ofB.peer.say({ heartbeat: { running: 1, loopLagMs: 0 } });
    const peer = connect("a");
    const handler = `own-${++count}`;
    const secret = `the-secret-of-worker-${count}`;
    const identity = { workerId: workerIdOf(secret) ?? "", secret };
    const handlers = [handler, `held-${handler}`, ...(hello.handlers ?? ["own"])];
    peer.say({ hello: { ...HELLO, ...identity, ...hello, handlers }, ...rest });
    return { peer, handler };
  }

  /** Messages that a worker of tenant A receives after its hello, until it has run one job, or the end of its connection. */
  async function heard(greeting: Greeting): Promise<string> {
    const { peer, handler } = greet(greeting);
    const end = peer.status.then(({ code, details }) => `${code}: ${details}`);
    const messages = await Promise.race([end, work(peer, handler)]);
    peer.close();
    return messages;
  }

  /** Has the worker run one job. @returns everything else that it has received by then, as JSON */
  async function work(peer: Peer, handler: string): Promise<string> {
    const id = await submit("a", { target: { handler, pool: POOL } });
    const messages: ServerMessage[] = [];
    for (;;) {
      const message = await peer.next();
      const own = message.assigns.find(({ token }) => token?.executionId === id)?.token;
      if (own !== undefined) peer.say({ finished: [{ token: own, outcome: 1 }] });
      messages.push(message);
      if (message.acks.some(({ executionId }) => executionId === id)) return jsonOf(messages, id);
    }
  }

  /** Messages that a worker of tenant A receives after it has named objects, and the errors of its own attempt. */
  async function answered(messages: (scene: Scene) => Message[], names: Names): Promise<string> {
    const { peer, handler } = greet({ hello: {} });
    assert.ok((await peer.next()).welcome);
    await submit("a", { target: { handler: `held-${handler}`, pool: POOL } });
    const own = (await peer.next()).assigns[0]?.token as Reference;
    for (const message of messages({ own, names })) peer.say(message);
    const replies = await work(peer, handler);
    const path = `/v1/executions/${own.executionId}`;
    const { attempts } = await call<{ attempts: { error: unknown }[] }>(keys.a.admin, path);
    peer.close();
    return anonymous(`${replies}\n${JSON.stringify(attempts.map(({ error }) => error))}`, names, own.executionId);
  }

  /** Executions of tenant B that a field is tried with. Where it names no execution, one is enough. */
  const executionsFor = (field: string) =>
    /token|ended/.test(field) ? (["running", "waiting"] as const) : (["running"] as const);

  /** Names of an object of tenant B, and of nobody. */
  const namesOf = (whose: "running" | "waiting"): [Names, Names] => {
    const token = ofB[whose];
    const nobody = { token: { ...token, executionId: RANDOM_ID }, workerId: workerIdOf("the secret of nobody") ?? "" };
    return [
      { token, workerId: workerIdOf(SECRET_OF_B) ?? "", pool: CANARY, signalId: CANARY },
      { ...nobody, pool: "unknown", signalId: "unknown" },
    ];
  };

  async function nothingChanged(): Promise<void> {
    assert.deepEqual(await stateOfB(), stateBefore);
    assert.ok(!ofB.events.join("").includes(FORGED), "the stream of the execution shows forged output");
  }

  it("has a probe for each field of the protocol that names something", () => {
    const known = new Set([...Object.keys(PROBES), ...Object.keys(HELLOS), ...NAMELESS]);
    const fields = leavesOf(WorkerMessageSchema);
    const missing = fields.filter((field) => !known.has(field));
    assert.deepEqual(missing, [], "add the field to PROBES, HELLOS or NAMELESS");
    assert.deepEqual(
      [...known].filter((field) => !fields.includes(field)),
      [],
    );
  });

  for (const [field, messages] of Object.entries(PROBES)) {
    it(`hears of objects of another tenant in ${field} as of ones that never were, and changes nothing of them`, async () => {
      for (const whose of executionsFor(field)) {
        const [theirs, nobodys] = namesOf(whose);
        const answer = await answered(messages, theirs);
        assert.equal(answer, await answered(messages, nobodys));
        assert.ok(!answer.includes(CANARY), answer);
      }
      await nothingChanged();
    });
  }

  for (const [field, greetings] of Object.entries(HELLOS)) {
    it(`hears of objects of another tenant in ${field} as of ones that never were, and changes nothing of them`, async () => {
      for (const whose of executionsFor(field)) {
        const [theirs, nobodys] = namesOf(whose);
        for (const [index, greeting] of greetings(theirs).entries()) {
          const answer = anonymous(await heard(greeting), theirs);
          const same = greetings(nobodys)[index] as Greeting;
          assert.equal(answer, anonymous(await heard(same), nobodys));
          assert.ok(!answer.includes(CANARY), answer);
        }
      }
      await nothingChanged();
    });
  }

  it("leaves the worker of another tenant its work, its records and its signal", async () => {
    const { peer, running } = ofB;
    const record = { token: running, number: 2, name: "signal", kind: StepKind.RESULT, data: text(CANARY) };
    peer.say({ steps: [{ ...record, signalId: CANARY }] });
    assert.equal((await peer.next()).stepAcks[0]?.number, 2);
    peer.say({ finished: [{ token: running, outcome: 1, result: text(CANARY) }] });
    const path = `/v1/executions/${running.executionId}?waitSec=30`;
    const { state, result } = await call<{ state: string; result: string }>(keys.b.admin, path);
    assert.deepEqual([state, result], ["SUCCEEDED", CANARY]);
  });
});

function spawned(pool: string): Buffer {
  return Buffer.from(JSON.stringify({ target: { handler: "own", pool } }));
}

/** Fields of a message that have no fields themselves. Tokens and errors count as such. */
function leavesOf(schema: DescMessage, prefix = ""): string[] {
  return schema.fields.flatMap(({ localName, message }) => {
    const path = `${prefix}${localName}`;
    const isLeaf = message === undefined || message === TokenSchema || message === ErrorSchema;
    return isLeaf ? [path] : leavesOf(message, `${path}.`);
  });
}

/**
 * Lists of all messages together, because messages of one turn leave as one. Times and numbers of the connection are left out.
 * @param own execution of the worker, which is left out
 */
function jsonOf(messages: readonly ServerMessage[], own: string): string {
  const lists = new Map<string, unknown[]>();
  for (const { $typeName: _, ask, welcome: _welcome, ...message } of messages) {
    for (const [name, value] of Object.entries({ ...message, asked: ask?.tokens ?? [] })) {
      const items = (Array.isArray(value) ? value : value === true ? [true] : []).filter((item) => !isOf(own, item));
      if (items.length > 0) lists.set(name, [...(lists.get(name) ?? []), ...items]);
    }
  }
  return JSON.stringify([...lists].sort(), asText);
}

function isOf(execution: string, item: unknown): boolean {
  return JSON.stringify(item, asText).includes(execution);
}

function asText(name: string, value: unknown): unknown {
  if (name === "$typeName") return undefined;
  return typeof value === "bigint" ? value.toString() : value;
}

/** An answer in which the names that the worker has used are the same for everybody. */
function anonymous(answer: string, { token, workerId, pool, signalId }: Names, own = token.executionId): string {
  const named = { EXECUTION: token.executionId, OWN: own, WORKER: workerId, POOL: pool, SIGNAL: signalId };
  return Object.entries(named).reduce((text, [kind, name]) => text.replaceAll(name, kind), answer);
}
