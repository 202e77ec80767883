import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Epoch, ShardId } from "../../domain/ids.ts";
import { ALL_SHARDS, firstChange, shardCommit, takeShards } from "../../ports/conformance/store-scene.conformance.ts";
import type { LiveExecution } from "../../ports/messages.ts";
import type { ShardCommit, StepWrite } from "../../ports/store.ts";
import type { Command } from "../../ports/store-commands.ts";
import { commandsFor, playOwner, startTestApi, type TestApi } from "../api.fixture.ts";

const WORKER = "worker-1";

describe("reading and cancelling executions over HTTP", () => {
  let api: TestApi;
  let epochs: Epoch[];
  before(async () => {
    api = await startTestApi();
    epochs = await takeShards(api.store, ALL_SHARDS, api.bus.node);
  });
  after(() => api.stop());

  const submit = async (job: object = {}): Promise<{ jobId: string; executionId: string }> => {
    const payload = { target: { handler: "echo" }, ...job };
    return (await api.inject({ method: "POST", url: "/v1/jobs", payload })).json();
  };
  const get = (url: string) => api.inject({ method: "GET", url });
  const cancel = (id: string) => api.inject({ method: "POST", url: `/v1/executions/${id}/cancel` });

  /** Commits the end of an execution, as its owner does. */
  const finish = async (executionId: string, state: "SUCCEEDED" | "CANCELLED" | "DEAD") => {
    const [row] = await api.store.load([executionId]);
    assert.ok(row);
    const at = row.scheduledAt + 40;
    const ran = state !== "CANCELLED";
    const times = { startedAt: at, finishedAt: at + 2 };
    const ended = [{ attempt: 1, workerId: WORKER, state: "SUCCEEDED" as const, ...times, error: null }];
    const change = firstChange(row, {
      ...{ state, queue: "NONE", finishedAt: at + 2 },
      ...(ran && { attempt: 1, startedAt: at, ended }),
      result: state === "SUCCEEDED" ? Buffer.from('{"big":1e400}') : null,
    });
    await commit(row.shard, { changes: [change] });
  };
  /** Writes an assignment into its row, as the owner does for an attempt that waits at its worker for long. */
  const hold = async (executionId: string, steps: readonly StepWrite[] = []) => {
    const [row] = await api.store.load([executionId]);
    assert.ok(row);
    const change = firstChange(row, {
      ...{ state: "RUNNING", attempt: 1, queue: "HELD", workerId: WORKER, gateway: "gateway" },
      ...(steps.length > 0 && { steps: "RECORDED" }),
    });
    await commit(row.shard, { changes: [change], steps });
  };
  const commit = async (shard: ShardId, parts: Partial<ShardCommit>) => {
    const [outcome] = await api.store.commit([shardCommit(shard, epochs[shard] as Epoch, parts)]);
    assert.equal(outcome?.status, "APPLIED");
  };

  it("shows what an execution that ended has left behind", async () => {
    const { executionId } = await submit({ payload: [1, 2] });
    await finish(executionId, "SUCCEEDED");
    const { body } = await api.app.inject({ method: "GET", url: `/v1/executions/${executionId}` });
    assert.match(body, /"payload":\[1,2\],"result":\{"big":1e400\}/);
    const execution = (await get(`/v1/executions/${executionId}`)).json();
    assert.deepEqual([execution.state, execution.latenessMs, execution.attempt], ["SUCCEEDED", 40, 1]);
    assert.equal(execution.attempts[0].workerId, WORKER);
    assert.equal((await get(`/v1/jobs/${execution.jobId}`)).json().state, "FINISHED");
  });

  it("tells what the owner knows of work in progress, in one question for a page", async () => {
    const ids = [await submit({ target: { handler: "live" } }), await submit({ target: { handler: "live" } })];
    let questions = 0;
    const end = playOwner(api.bus, (message, node) => {
      if (message.kind !== "ASK") return;
      questions++;
      const executions = message.executionIds.map((executionId): LiveExecution => {
        return {
          executionId,
          state: "RUNNING",
          attempt: 1,
          workerId: WORKER,
          startedAt: 1_700_000_000_000,
          cancelRequested: false,
        };
      });
      api.bus.send({ node, role: "api" }, { kind: "LIVE", request: message.request, executions });
    });
    const single = (await get(`/v1/executions/${ids[0]?.executionId}`)).json();
    const page = (await get("/v1/executions?limit=2")).json();
    const running = (await get("/v1/executions?state=RUNNING&limit=2")).json();
    const pending = (await get("/v1/executions?state=PENDING&limit=2")).json();
    end();
    assert.deepEqual([single.state, single.attempt, single.assignedWorker], ["RUNNING", 1, WORKER]);
    assert.equal(single.startedAt, "2023-11-14T22:13:20.000Z");
    assert.deepEqual(
      page.items.map(({ state }: { state: string }) => state),
      ["RUNNING", "RUNNING"],
    );
    assert.deepEqual(running.items, page.items);
    assert.deepEqual(pending.items, []);
    assert.equal(questions, 4);
  });

  it("lists as SCHEDULED what was assigned a moment ago and what waits at its worker for longer, page by page", async () => {
    const target = { pool: "scheduled", handler: "live" };
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) ids.unshift((await submit({ target })).executionId);
    // The row of an attempt that has waited at its worker for 30 seconds says RUNNING.
    for (const id of [ids[0], ids[3]]) await hold(id as string);
    const endOwner = playOwner(api.bus, (message, node) => {
      if (message.kind !== "ASK") return;
      const executions = message.executionIds.map(
        (executionId): LiveExecution => ({
          ...{ executionId, state: "SCHEDULED", attempt: 1, workerId: WORKER, startedAt: null, cancelRequested: false },
        }),
      );
      api.bus.send({ node, role: "api" }, { kind: "LIVE", request: message.request, executions });
    });
    const listed: string[] = [];
    for (let cursor = ""; ; ) {
      const { items, nextCursor } = (
        await get(`/v1/executions?state=SCHEDULED&pool=scheduled&limit=2${cursor}`)
      ).json();
      listed.push(...items.map(({ executionId }: { executionId: string }) => executionId));
      if (nextCursor === null) break;
      cursor = `&cursor=${nextCursor}`;
    }
    endOwner();
    assert.deepEqual(listed, ids);
  });

  it("falls back on the row while nobody answers", async () => {
    const { executionId } = await submit();
    const end = playOwner(api.bus, () => {});
    const { state } = (await get(`/v1/executions/${executionId}`)).json();
    end();
    assert.equal(state, "PENDING");
  });

  it("answers who waits as soon as the owner says that it is final", async () => {
    const { executionId } = await submit();
    const heard: string[] = [];
    const end = playOwner(api.bus, (message, node) => {
      if (message.kind !== "WATCH") return;
      heard.push(message.executionId);
      void finish(executionId, "SUCCEEDED").then(() => {
        api.bus.send({ node, role: "api" }, { kind: "FINAL", executionId, state: "SUCCEEDED" });
      });
    });
    const answer = await get(`/v1/executions/${executionId}?waitSec=30`);
    end();
    assert.equal(answer.json().state, "SUCCEEDED");
    assert.deepEqual(heard, [executionId]);
  });

  it("finds the end by itself where the owner's word is lost", async () => {
    const { executionId } = await submit();
    const waiting = get(`/v1/executions/${executionId}?waitSec=30`);
    await finish(executionId, "DEAD");
    assert.equal((await waiting).json().state, "DEAD");
  });

  it("answers with what there is when the time is up", async () => {
    const { executionId } = await submit();
    assert.equal((await get(`/v1/executions/${executionId}?waitSec=0.05`)).json().state, "PENDING");
  });

  it("pages through lists, newest first, without losing or repeating anything", async () => {
    const pool = "paging";
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) ids.unshift((await submit({ target: { handler: "echo", pool } })).executionId);
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const query: string = cursor === null ? "" : `&cursor=${cursor}`;
      const page = (await get(`/v1/executions?pool=${pool}&limit=2${query}`)).json();
      seen.push(...page.items.map(({ executionId }: { executionId: string }) => executionId));
      cursor = page.nextCursor;
    } while (cursor !== null);
    assert.deepEqual(seen, ids);
    const jobs = (await get(`/v1/jobs?pool=${pool}&state=ACTIVE&type=ONCE&limit=3`)).json();
    assert.equal(jobs.items.length, 3);
    const other = await get(`/v1/executions?cursor=${jobs.nextCursor}`);
    assert.equal(other.statusCode, 400);
    assert.equal(other.json().type, "/problems/invalid-cursor");
  });

  it("lists the executions of a job, and knows when there is no such job", async () => {
    const { jobId, executionId } = await submit();
    const page = (await get(`/v1/jobs/${jobId.toUpperCase()}/executions`)).json();
    assert.deepEqual(
      page.items.map((item: { executionId: string }) => item.executionId),
      [executionId],
    );
    assert.equal((await get("/v1/jobs/019a0000-0000-7000-8000-000000000000/executions")).statusCode, 404);
  });

  it("refuses ids, limits and filters that are none", async () => {
    const cases: [string, number, string][] = [
      ["/v1/executions/42", 400, "executionId"],
      ["/v1/jobs/nonsense", 400, "jobId"],
      ["/v1/executions?limit=0", 400, "limit"],
      ["/v1/executions?limit=1001", 400, "limit"],
      ["/v1/executions?limit=ten", 400, "limit"],
      ["/v1/executions?limit=1&limit=2", 400, "limit"],
      ["/v1/executions?state=DONE", 400, "state"],
      ["/v1/executions?since=2030-01-01", 400, "since"],
      ["/v1/executions?tenant=acme", 400, "tenant"],
      ["/v1/executions/019a0000-0000-7000-8000-000000000000?waitSec=61", 400, "waitSec"],
    ];
    for (const [url, status, field] of cases) {
      const answer = await get(url);
      assert.equal(answer.statusCode, status, url);
      assert.deepEqual(
        answer.json().errors.map((error: { field: string }) => error.field),
        [field],
        answer.body,
      );
    }
    assert.equal((await get("/v1/executions/019a0000-0000-7000-8000-000000000000")).statusCode, 404);
    assert.equal((await get("/v1/executions?cursor=AAAA")).json().type, "/problems/invalid-cursor");
  });

  it("cancels what has not started, and says so again when asked again", async () => {
    const { jobId, executionId } = await submit();
    const end = playOwner(api.bus, (message, node) => {
      if (message.kind !== "COMMAND") return;
      void obey(message.command).then(() => {
        api.bus.send(
          { node, role: "api" },
          { kind: "COMMAND_DONE", commandId: message.command.id, outcome: "CANCELLED" },
        );
      });
    });
    const obey = async (command: Command) => {
      // The command is durable before it is sent, so the owner finds it in the store too.
      assert.deepEqual(await commandsFor(api.store, { jobId, executionId }), [command]);
      await finish(executionId, "CANCELLED");
      await commit(command.shard, { commandsDone: [command.id] });
    };
    const answer = await cancel(executionId);
    assert.equal(answer.statusCode, 200, answer.body);
    assert.deepEqual(answer.json(), { executionId, state: "CANCELLED", cancelRequested: false });
    assert.equal((await cancel(executionId)).statusCode, 200);
    end();
  });

  it("says that a running one was told, and that the command is kept while nobody owns the shard", async () => {
    const { jobId, executionId } = await submit();
    assert.equal((await cancel(executionId)).statusCode, 202);
    const end = playOwner(api.bus, (message, node) => {
      if (message.kind !== "COMMAND") return;
      api.bus.send(
        { node, role: "api" },
        { kind: "COMMAND_DONE", commandId: message.command.id, outcome: "REQUESTED" },
      );
    });
    const answer = await cancel(executionId);
    end();
    assert.equal(answer.statusCode, 202);
    assert.equal(answer.json().cancelRequested, true);
    assert.equal((await commandsFor(api.store, { jobId, executionId })).length, 2);
  });

  it("refuses to cancel what ended otherwise", async () => {
    const { executionId } = await submit();
    await finish(executionId, "SUCCEEDED");
    const answer = await cancel(executionId);
    assert.equal(answer.statusCode, 409);
    assert.match(answer.json().detail, /SUCCEEDED/);
    assert.equal((await cancel("019a0000-0000-7000-8000-000000000000")).statusCode, 404);
  });

  it("shows durable steps and the checkpoint, and the values of steps in an answer of their own", async () => {
    const { executionId } = await submit({});
    const [row] = await api.store.load([executionId]);
    assert.ok(row);
    const recorded = { executionId, attempt: 1, at: Date.UTC(2026, 0, 1) };
    const steps = [
      { ...recorded, name: "charge", kind: "RESULT" as const, number: 1, data: Buffer.from('{"big":1e400}') },
      { ...recorded, name: "mail", kind: "RESULT" as const, number: 2, data: null },
      { ...recorded, name: "", kind: "CHECKPOINT" as const, number: 3, data: Buffer.from("[7]") },
    ];
    await hold(executionId, steps);
    const at = { attempt: 1, recordedAt: "2026-01-01T00:00:00.000Z" };
    const checkpoint = { data: [7], ...at };
    const shown = (await get(`/v1/executions/${executionId}`)).json();
    assert.deepEqual(shown.steps, [
      { name: "charge", ...at, bytes: 13 },
      { name: "mail", ...at, bytes: 0 },
    ]);
    assert.deepEqual(shown.checkpoint, checkpoint);
    const { body } = await get(`/v1/executions/${executionId}/steps`);
    assert.match(body, /"value":\{"big":1e400\}/);
    const values = JSON.parse(body);
    assert.deepEqual([values.steps[1], values.checkpoint], [{ name: "mail", ...at, value: null }, checkpoint]);
    const other = await submit({});
    const none = (await get(`/v1/executions/${other.executionId}/steps`)).json();
    assert.deepEqual(none, { executionId: other.executionId, steps: [], waits: [], signals: [], checkpoint: null });
    assert.equal((await get("/v1/executions/01890000-0000-7000-8000-000000000000/steps")).statusCode, 404);
  });
});
