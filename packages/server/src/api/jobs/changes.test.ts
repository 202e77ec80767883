import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { CommandOutcome } from "../../ports/messages.ts";
import type { Command } from "../../ports/store-commands.ts";
import { commandsFor, playOwner, startTestApi, type TestApi } from "../api.fixture.ts";

const HOUR_MS = 3_600_000;
const later = { target: { handler: "echo" }, delayMs: HOUR_MS };

describe("changing jobs over HTTP", () => {
  let api: TestApi;
  before(async () => {
    api = await startTestApi();
  });
  after(() => api.stop());

  const submit = async (job: object = {}): Promise<{ jobId: string; executionId: string }> =>
    (await api.inject({ method: "POST", url: "/v1/jobs", payload: { ...later, ...job } })).json();
  const put = (path: string, payload: object, headers: Record<string, string> = {}) =>
    api.inject({ method: "PUT", url: `/v1/jobs/${path}`, payload, headers });
  const remove = (path: string) => api.inject({ method: "DELETE", url: `/v1/jobs/${path}` });

  /** An owner that answers every command with this outcome. */
  const owner = (outcome: CommandOutcome) => {
    const heard: Command[] = [];
    const end = playOwner(api.bus, (message, node) => {
      if (message.kind !== "COMMAND") return;
      heard.push(message.command);
      api.bus.send({ node, role: "api" }, { kind: "COMMAND_DONE", commandId: message.command.id, outcome });
    });
    return { heard, end };
  };

  it("says what the execution runs by, and tells the version in the ETag", async () => {
    const { jobId, executionId } = await submit();
    for (const outcome of ["REPLACED", "KEPT"] as const) {
      const { heard, end } = owner(outcome);
      const answer = await put(jobId, { ...later, payload: outcome });
      end();
      const { nextFireAt, ...body } = answer.json();
      const version = outcome === "REPLACED" ? 2 : 3;
      assert.deepEqual(body, {
        ...{ jobId, state: "ACTIVE", version, changed: true, executionId, execution: outcome },
      });
      assert.equal(nextFireAt === null, outcome === "KEPT");
      assert.equal(answer.headers.etag, `"${version}"`);
      // The command is durable before it is sent.
      assert.deepEqual((await commandsFor(api.store, { jobId, executionId })).at(-1), heard[0]);
    }
    const read = await api.inject({ method: "GET", url: `/v1/jobs/${jobId}` });
    assert.deepEqual([read.headers.etag, read.json().payload], ['"3"', "KEPT"]);
  });

  it("says that it was asked for while nobody owns the shard, and keeps the command", async () => {
    const { jobId, executionId } = await submit();
    const answer = await put(jobId, { ...later, payload: 1 });
    assert.deepEqual([answer.statusCode, answer.json().execution], [202, "REQUESTED"]);
    const gone = await remove(jobId);
    assert.deepEqual([gone.statusCode, gone.json()], [202, { jobId, state: "DELETED" }]);
    const kept = await commandsFor(api.store, { jobId, executionId });
    assert.deepEqual(
      kept.map(({ kind }) => kind),
      ["REPLACE", "DELETE"],
    );
  });

  it("answers without a body when nothing waits any more", async () => {
    const { jobId } = await submit();
    const { end } = owner("DELETED");
    assert.equal((await remove(`${jobId.toUpperCase()}?cancelRunning=true`)).statusCode, 204);
    end();
  });

  it("replaces where the version is as If-Match says", async () => {
    const { jobId } = await submit();
    const { end } = owner("REPLACED");
    const wrong = await put(jobId, { ...later, payload: 1 }, { "if-match": '"2"' });
    assert.deepEqual([wrong.statusCode, wrong.json().type], [412, "/problems/precondition-failed"]);
    assert.equal((await put(jobId, { ...later, payload: 1 }, { "if-match": '"1"' })).statusCode, 200);
    assert.equal((await put(jobId, { ...later, payload: 2 }, { "if-match": "2" })).statusCode, 200);
    assert.equal((await put(jobId, { ...later, payload: 3 }, { "if-match": "*" })).json().version, 4);
    const bad = await put(jobId, later, { "if-match": 'W/"x"' });
    assert.deepEqual([bad.statusCode, bad.json().errors[0].field], [400, "if-match"]);
    end();
  });

  it("refuses what cannot change, and what is no job", async () => {
    const { jobId } = await submit({ concurrencyKey: "k" });
    const key = await put(jobId, { ...later, concurrencyKey: "other" });
    assert.deepEqual([key.statusCode, key.json().errors[0].field], [400, "concurrencyKey"]);
    assert.match(key.json().detail, /"k"/);
    const both = await put(jobId, { ...later, concurrencyKey: "k", runAt: "2030-01-01T00:00:00Z" });
    assert.deepEqual([both.statusCode, both.json().errors[0].field], [400, "delayMs"]);
    const nobody = "019a0000-0000-7000-8000-000000000000";
    assert.equal((await put(nobody, later)).statusCode, 404);
    assert.equal((await put("nonsense", later)).statusCode, 400);
    assert.equal((await remove(nobody)).statusCode, 404);
    const retry = await api.inject({ method: "POST", url: `/v1/executions/${nobody}/retry` });
    assert.equal(retry.statusCode, 404);
    assert.equal((await api.inject({ method: "GET", url: `/v1/jobs/${jobId}` })).json().version, 1);
  });

  it("puts by name, and refuses another name in the body, several jobs of the name, and a key that is held", async () => {
    const first = await put("by-name/nightly", later);
    assert.deepEqual([first.statusCode, first.json().execution], [201, "CREATED"]);
    const other = await put("by-name/nightly", { ...later, name: "daily" });
    assert.deepEqual([other.statusCode, other.json().errors[0].field], [400, "name"]);
    await submit({ name: "nightly" });
    const several = await put("by-name/nightly", later);
    assert.deepEqual([several.statusCode, several.json().type], [409, "/problems/wrong-state"]);
    assert.match(several.json().detail, new RegExp(first.json().jobId));
    await submit({ uniqueKey: "u" });
    const held = await put("by-name/another", { ...later, uniqueKey: "u" });
    assert.deepEqual([held.statusCode, held.json().type], [409, "/problems/key-in-use"]);
  });

  it("refuses to run again what is not final", async () => {
    const { executionId } = await submit();
    const answer = await api.inject({ method: "POST", url: `/v1/executions/${executionId}/retry` });
    assert.equal(answer.statusCode, 409);
    assert.match(answer.json().detail, new RegExp(executionId));
  });

  it("takes labels one by one", async () => {
    const { jobId } = await submit({ labels: { team: "x" } });
    const found = async (query: string) => (await api.inject({ method: "GET", url: `/v1/jobs?${query}` })).json();
    assert.equal((await found("label=team%3Dx")).items[0].jobId, jobId);
    assert.equal((await found("label=team&label=team%3Dx")).items.length, 1);
    assert.equal((await found("label=team%3Dy")).items.length, 0);
    assert.equal((await found("label=")).errors[0].field, "label[0]");
  });
});
