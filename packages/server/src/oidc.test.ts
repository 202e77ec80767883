import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Client, MainspringError, task, Worker } from "@mainspring/sdk";
import { SignJWT } from "jose";
import { systemRuntime } from "./adapters/system/system-runtime.ts";
import { TestIssuer } from "./issuer.fixture.ts";
import { startTestNode, type TestNode } from "./node.fixture.ts";

const KEY = "the-api-key-beside-tokens";
/** Time after which something never happens, in milliseconds. */
const NEVER_MS = 60_000;
const { monotonicMs, setTimer } = systemRuntime();

describe("tokens of an OpenID provider", () => {
  let issuer: TestIssuer;
  let node: TestNode;
  before(async () => {
    issuer = await TestIssuer.start();
    node = await startTestNode({
      ...{ MAINSPRING_OIDC_ISSUER: issuer.url, MAINSPRING_OIDC_AUDIENCE: "mainspring", MAINSPRING_API_KEY: KEY },
      ...{ MAINSPRING_OIDC_SKEW_SEC: "0", MAINSPRING_OIDC_REFRESH_SEC: "1", MAINSPRING_BUILTIN_WORKER: "off" },
    });
    await within(async () => await clientOf(await issuer.token()).me());
  });
  after(async () => {
    await node.stop();
    await issuer.stop();
  });

  const clientOf = (apiKey: string | (() => Promise<string>)) =>
    new Client({ url: node.httpUrl, apiKey, retryForMs: 0 });
  const answerTo = (token: string) => fetch(`${node.httpUrl}/v1/me`, { headers: { authorization: `Bearer ${token}` } });
  /** Status of a request with a token, and the header that tells its client what to do. */
  const refusalOf = async (token: string) => {
    const answer = await answerTo(token);
    const { detail = null } = (await answer.json()) as { detail?: string };
    return [answer.status, answer.headers.get("www-authenticate"), detail];
  };
  const REFUSED = [401, 'Bearer error="invalid_token"', "the token was refused"];

  it("let a client do what their scope says, beside an API key", async () => {
    const client = clientOf(await issuer.token());
    const me = await client.me();
    assert.deepEqual([me.keyId, me.kind, me.tenant], ["oidc:shop", "CLIENT", "default"]);
    const { executionId } = await client.submit({ target: { handler: "echo" }, payload: 1 });
    assert.equal((await clientOf(KEY).getExecution(executionId)).executionId, executionId);
    await assert.rejects(client.keys.list().next(), { code: "FORBIDDEN", message: /tenant:admin/ });
    const reader = clientOf(await issuer.token({ scope: "mainspring:reader" }));
    await assert.rejects(reader.submit({ target: { handler: "echo" } }), { code: "FORBIDDEN" });
    await reader.stats();
    const operator = clientOf(await issuer.token({ scope: "mainspring:operator" }));
    const key = await operator.keys.create({ kind: "READER", name: "made by a token" });
    assert.equal(key.createdBy, "oidc:shop");
    assert.equal((await answerTo(key.key)).status, 200);
    assert.deepEqual(await refusalOf("no-token"), [401, "Bearer", (await refusalOf("no-token"))[2]]);
  });

  it("let a worker serve the pools of their claim", async () => {
    const apiKey = await issuer.token({ scope: "mainspring:worker", claims: { mainspring_pools: ["gpu-*"] } });
    const workerOf = (pool: string) =>
      new Worker({
        ...{ url: node.grpcAddress, pool, apiKey, warn: () => undefined },
        tasks: [task({ name: "double", run: (n: number) => 2 * n })],
      });
    await assert.rejects(workerOf("mail").start(), {
      code: "WORKER_REFUSED",
      message: /may serve gpu-\*, and not mail/,
    });
    const worker = workerOf("gpu-1");
    await worker.start();
    const client = clientOf(KEY);
    const { executionId } = await client.submit({ target: { handler: "double", pool: "gpu-1" }, payload: 21 });
    assert.equal((await client.getExecution(executionId, { waitSec: 30 })).result, 42);
    await worker.stop();
  });

  it("are refused without a reason when they are for another service, live too long or lack a claim", async () => {
    for (const order of [
      { audience: "billing" },
      { lifeSec: 3_601 },
      { scope: "openid-of-others" },
      { claims: { cnf: { jkt: "x" } } },
    ]) {
      assert.deepEqual(await refusalOf(await issuer.token(order)), REFUSED, JSON.stringify(order));
    }
  });

  it("are refused when somebody else made them, in whichever way", async () => {
    const [header = "", payload = "", signature = ""] = (await issuer.token({ scope: "mainspring:operator" })).split(
      ".",
    );
    const [jwk] = await issuer.published();
    const claims = JSON.parse(Buffer.from(payload, "base64url").toString());
    const unsigned = Buffer.from(JSON.stringify({ alg: "none", typ: "at+jwt" })).toString("base64url");
    const secrets = [JSON.stringify(jwk), String(jwk?.x)];
    const hmacs = secrets.map((secret) =>
      new SignJWT(claims)
        .setProtectedHeader({ alg: "HS256", kid: "key-1", typ: "at+jwt" })
        .sign(new TextEncoder().encode(secret)),
    );
    const other = await TestIssuer.start();
    const tokens = [
      `${unsigned}.${payload}.`,
      `${unsigned}.${payload}.${signature}`,
      ...(await Promise.all(hmacs)),
      `${header}.${Buffer.from(JSON.stringify({ ...claims, sub: "root" })).toString("base64url")}.${signature}`,
      await other.token(),
    ];
    await other.stop();
    for (const token of tokens) assert.deepEqual(await refusalOf(token), REFUSED);
  });

  it("go on when the issuer changes its key, and end when it withdraws the key", async () => {
    const former = await issuer.token();
    await issuer.rotate("key-2");
    await within(async () => assert.equal((await answerTo(await issuer.token())).status, 200));
    assert.equal((await answerTo(former)).status, 200);
    await issuer.rotate("key-3", 0);
    await within(async () => assert.equal((await answerTo(await issuer.token())).status, 200));
    assert.deepEqual(await refusalOf(former), REFUSED);
  });

  it("end with what they have open, and their clients go on with new ones", async () => {
    const { executionId } = await clientOf(KEY).submit({ target: { handler: "double", pool: "nobody" }, payload: 1 });
    // On a slow machine, a token may end before the stream begins.
    const followed = async (): Promise<string> => {
      const client = clientOf(await issuer.token({ lifeSec: 4 }));
      const events = client.follow(executionId, { giveUpAfterSec: 60 })[Symbol.asyncIterator]();
      const first = await events.next().catch(() => null);
      return first === null ? await followed() : await codeOf(async () => void (await events.next()));
    };
    assert.equal(await followed(), "UNAUTHENTICATED");
    let tokens = 0;
    const client = clientOf(async () => {
      tokens++;
      return await issuer.token({ lifeSec: tokens === 1 ? 1 : 300 });
    });
    await within(async () => {
      await client.me();
      assert.ok(tokens > 1);
    });
  });

  it("end the connection of a worker, which goes on with the next one", async () => {
    let tokens = 0;
    const worker = new Worker({
      ...{ url: node.grpcAddress, pool: "renewed", warn: () => undefined },
      apiKey: async () => {
        tokens++;
        return await issuer.token({ scope: "mainspring:worker", lifeSec: tokens === 1 ? 4 : 300 });
      },
      tasks: [task({ name: "double", run: (n: number) => 2 * n })],
    });
    await worker.start();
    await within(async () => assert.ok(tokens > 1));
    const client = clientOf(KEY);
    const { executionId } = await client.submit({ target: { handler: "double", pool: "renewed" }, payload: 4 });
    assert.equal((await client.getExecution(executionId, { waitSec: 30 })).result, 8);
    await worker.stop();
  });

  it("stay good while the issuer is away, and new keys get 503 that names it", async () => {
    const known = await issuer.token();
    assert.equal((await answerTo(known)).status, 200);
    await issuer.rotate("key-4");
    const unknown = await issuer.token();
    issuer.isAway = true;
    await within(async () => {
      const answer = await answerTo(unknown);
      assert.equal(answer.status, 503);
      assert.match(await answer.text(), new RegExp(`the issuer ${issuer.url} cannot be asked`));
    });
    assert.deepEqual([(await answerTo(known)).status, (await answerTo(KEY)).status], [200, 200]);
    issuer.isAway = false;
    await within(async () => assert.equal((await answerTo(unknown)).status, 200));
  });
});

/** Runs `check` until it does not throw. */
async function within(check: () => Promise<unknown>): Promise<void> {
  const untilMs = monotonicMs() + NEVER_MS;
  for (;;) {
    try {
      return void (await check());
    } catch (error) {
      if (monotonicMs() >= untilMs) throw error;
      await new Promise<void>((resolve) => setTimer(100, resolve));
    }
  }
}

async function codeOf(run: () => Promise<unknown>): Promise<string> {
  try {
    await run();
  } catch (error) {
    if (error instanceof MainspringError) return error.code;
    throw error;
  }
  throw new Error("nothing ended it");
}
