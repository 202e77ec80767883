import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Client } from "@mainspring/sdk";
import { until } from "@mainspring/server/testing";
import { LoopProbe } from "../../../../tools/loop-probe.ts";
import { holdsBriefly } from "./holds-briefly.ts";
import { startTarget, type Target } from "./target.ts";

const KEY = "the-key-of-the-operator";
/** Part of every text of the victim. */
const CANARY = "canary-7f3";
const NEVER_WAS = "01976e5f-5c00-7000-8000-00000000dead";
/** Number of jobs of the victim. */
const JOBS = 40;
/** Number of requests of an attack, and of those that are under way at once. */
const REQUESTS = 600;
const AT_ONCE = 8;

/** Key of a job of the victim, of every kind. */
const keyAt = (n: number) => `${CANARY}-${n}`;
const jobOf = (n: number) => ({
  ...{ target: { handler: CANARY, pool: "gpu" }, payload: CANARY, name: keyAt(n), labels: { [CANARY]: CANARY } },
  ...{ uniqueKey: keyAt(n), concurrencyKey: CANARY },
});

interface Answer {
  status: number;
  text: string;
}

describe("a tenant that attacks another one", () => {
  let target: Target;
  let probe: LoopProbe;
  let victim: Client;
  let attackerKey: string;
  let victimKey: string;
  const ids: string[] = [];
  const cursors: string[] = [];
  before(async () => {
    target = await startTarget({ MAINSPRING_API_KEY: KEY, MAINSPRING_BUILTIN_WORKER: "off" });
    const operator = new Client({ url: target.node.httpUrl, apiKey: KEY });
    const keyOf = async (name: string) => {
      await operator.tenants.create({ name });
      return (await operator.keys.create({ kind: "TENANT_ADMIN", name, tenant: name })).key;
    };
    [victimKey, attackerKey] = [await keyOf("victim"), await keyOf("attacker")];
    victim = new Client({ url: target.node.httpUrl, apiKey: victimKey });
    await victim.pools.set("gpu", {});
    await until(async () => (await victim.pools.get("gpu")).owner === "victim");
    for (let n = 0; n < JOBS; n++) {
      const { jobId, executionId } = await victim.submit(jobOf(n), { idempotencyKey: keyAt(n) });
      ids.push(jobId, executionId);
    }
    for (const path of ["jobs", "executions"]) {
      const { text } = await ask(victimKey, "GET", `/v1/${path}?limit=5`);
      cursors.push((JSON.parse(text) as { nextCursor: string }).nextCursor);
    }
    probe = new LoopProbe();
  });
  after(async () => {
    probe?.stop();
    await target?.stop();
  });

  const ask = async (key: string, method: string, path: string, body?: unknown, more = {}): Promise<Answer> => {
    const type = body === undefined ? {} : { "content-type": "application/json" };
    const headers = { authorization: `Bearer ${key}`, ...type, ...more };
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await fetch(new URL(path, target.node.httpUrl), { method, headers, ...sent });
    return { status: answer.status, text: await answer.text() };
  };
  const attack = async (method: string, path: string, body?: unknown, more = {}) => {
    const answer = await ask(attackerKey, method, path, body, more);
    assert.ok(answer.status < 500, `${method} ${path} was answered with ${answer.status}: ${answer.text}`);
    return answer;
  };
  /** Sends many requests, some at once. */
  const flood = async (send: (n: number) => Promise<unknown>) => {
    let next = 0;
    const one = async () => {
      while (next < REQUESTS) await send(next++);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, one));
  };
  const tellsNothing = ({ text }: Answer) => {
    assert.doesNotMatch(text, new RegExp(CANARY));
    assert.ok(!ids.some((id) => text.includes(id)), text);
  };
  const victimHasAll = async () => {
    let count = 0;
    for await (const { state, pool } of victim.listExecutions()) {
      assert.deepEqual([state, pool], ["PENDING", "gpu"]);
      count++;
    }
    assert.equal(count, JOBS);
  };

  it("by its ids hears that they never were, and changes nothing", async (t) => {
    const paths: ((id: string) => [method: string, path: string, body?: unknown])[] = [
      (id) => ["GET", `/v1/jobs/${id}`],
      (id) => ["DELETE", `/v1/jobs/${id}`],
      (id) => ["POST", `/v1/jobs/${id}/pause`],
      (id) => ["GET", `/v1/executions/${id}`],
      (id) => ["GET", `/v1/executions/${id}/explain`],
      (id) => ["POST", `/v1/executions/${id}/cancel`],
      (id) => ["POST", `/v1/executions/${id}/retry`],
      (id) => ["POST", `/v1/executions/${id}/signals/go`, null],
      (id) => ["GET", `/v1/workflows/${id}`],
      (id) => ["POST", `/v1/workflows/${id}/cancel`],
    ];
    const same = ({ text }: Answer, id: string) =>
      text.replaceAll(id, "ID").replace(/"requestId":"[^"]*"/, '"requestId":""');
    const unknown = await Promise.all(paths.map(async (of) => same(await attack(...of(NEVER_WAS)), NEVER_WAS)));
    await holdsBriefly(t, probe, () =>
      flood(async (n) => {
        const [of, id] = [paths[n % paths.length], ids[n % ids.length] ?? ""];
        const answer = await attack(...(of?.(id) ?? ["GET", "/v1/me"]));
        assert.equal(same(answer, id), unknown[n % paths.length]);
      }),
    );
    await victimHasAll();
  });

  it("by its cursors and filters finds nothing of it", async (t) => {
    const queries = [
      ...cursors.flatMap((cursor) => [`/v1/jobs?cursor=${cursor}`, `/v1/executions?cursor=${cursor}`]),
      ...["handler", "label", "pool", "uniqueKey", "concurrencyKey"].map((name) => `/v1/jobs?${name}=${CANARY}`),
      ...[`/v1/executions?label=${CANARY}%3D${CANARY}`, `/v1/executions?pool=gpu`, "/v1/pools", "/v1/workers"],
      ...["/v1/stats", "/v1/dead-letters", "/v1/audit", "/v1/api-keys", "/v1/webhooks", "/v1/pools/gpu"],
    ];
    await holdsBriefly(t, probe, () =>
      flood(async (n) => {
        const query = queries[n % queries.length] ?? "";
        const answer = await attack("GET", query);
        // A refusal of an unknown filter names what was sent.
        if (answer.status === 200) tellsNothing(answer);
      }),
    );
  });

  it("by its keys and names gets jobs of its own, and the victim keeps its own", async (t) => {
    const own = new Set<string>();
    await holdsBriefly(t, probe, () =>
      flood(async (n) => {
        const index = n % JOBS;
        const keys = { uniqueKey: keyAt(index), concurrencyKey: CANARY };
        const job = { target: { handler: "echo", pool: "unserved" }, payload: index, ...keys };
        const { status, text } = await attack("POST", "/v1/jobs", job, { "idempotency-key": keyAt(index) });
        assert.ok(status === 201 || status === 200, text);
        own.add((JSON.parse(text) as { jobId: string }).jobId);
      }),
    );
    assert.equal(own.size, JOBS);
    assert.ok(!ids.some((id) => own.has(id)));
    const again = await victim.submit(jobOf(0), { idempotencyKey: keyAt(0) });
    assert.equal(again.jobId, ids[0]);
    await victimHasAll();
  });

  it("by its pool, its tenant's name and its header reaches nothing of it", async () => {
    for (const pool of ["victim\u001fgpu", "victim%1Fgpu", "gpu\u0000", "victim~gpu", "victim/gpu", "gpu"]) {
      const answer = await attack("POST", "/v1/jobs", { target: { handler: CANARY, pool } });
      assert.ok([201, 400, 403].includes(answer.status), answer.text);
      const path = `/v1/pools/${encodeURIComponent(pool)}`;
      const set = await attack("PUT", path, { paused: true, owner: "victim" });
      assert.ok([400, 403].includes(set.status), set.text);
    }
    const { status, text } = await attack("GET", "/v1/jobs", undefined, { "mainspring-tenant": "victim" });
    assert.equal(status, 403, text);
    for (const [method, path] of [
      ["GET", "/v1/tenants/victim"],
      ["PATCH", "/v1/tenants/victim"],
      ["DELETE", "/v1/tenants/victim"],
      ["GET", "/v1/tenants/victim/usage"],
    ] as const) {
      assert.equal((await attack(method, path, method === "PATCH" ? { weight: 1 } : undefined)).status, 403);
    }
    const key = await attack("POST", "/v1/api-keys", { kind: "WORKER", name: "theirs", tenant: "victim" });
    assert.equal(key.status, 403, key.text);
    assert.equal((await victim.pools.get("gpu")).paused, false);
    await victimHasAll();
  });
});
