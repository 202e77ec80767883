import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { EndedAttempt } from "../../domain/execution.ts";
import type { Epoch } from "../../domain/ids.ts";
import { ALL_SHARDS, firstChange, shardCommit, takeShards } from "../../ports/conformance/store-scene.conformance.ts";
import type { LogPart } from "../../ports/store-logs.ts";
import { tenantOf } from "../../security/tenant.ts";
import { playOwner, startTestApi, type TestApi } from "../api.fixture.ts";
import { readLogs } from "./attempt-logs.ts";

const NOBODY = "01890a5d-ac96-774b-bcce-b302099a8057";
const AT = 1_800_000_000_000;

describe("reading what handlers have logged over HTTP", () => {
  let api: TestApi;
  let epochs: Epoch[];
  before(async () => {
    api = await startTestApi();
    epochs = await takeShards(api.store, ALL_SHARDS, api.bus.node);
  });
  after(() => api.stop());

  const get = (url: string) => api.inject({ method: "GET", url: `/v1/executions/${url}` });
  const submit = async (): Promise<string> => {
    const payload = { target: { handler: "echo" } };
    return (await api.inject({ method: "POST", url: "/v1/jobs", payload })).json().executionId;
  };
  /** Writes that the execution has had these attempts, as its owner does. */
  const had = async (executionId: string, ...ended: EndedAttempt[]) => {
    const [row] = await api.store.load([executionId]);
    assert.ok(row);
    const changes = [firstChange(row, { attempt: ended.length, ended })];
    await api.store.commit([shardCommit(row.shard, epochs[row.shard] as Epoch, { changes })]);
  };
  const ended = (attempt: number, startedAt: number | null = AT): EndedAttempt => {
    return { attempt, workerId: "w", state: "FAILED", startedAt, finishedAt: AT + 1_500, error: null };
  };
  const part = (executionId: string, sample: Partial<LogPart>): LogPart => {
    const lines = [{ at: AT, level: "info", line: "one" }];
    return { executionId, attempt: 1, part: 1, lines, received: 1, ...sample };
  };
  const linesOf = (...lines: string[]) => lines.map((line, n) => ({ at: AT + n, level: "info", line }));
  /** Plays a gateway that has these lines in its memory. */
  const playGateway = (parts: readonly LogPart[]) =>
    api.bus.listen("gateway", (envelopes) => {
      for (const { from, message } of envelopes) {
        if (message.kind !== "ASK_LOGS") continue;
        const { request, executionId, attempt } = message;
        const own = parts.find((one) => one.executionId === executionId && one.attempt === attempt) ?? null;
        api.bus.send({ node: from, role: "api" }, { kind: "LOGS", request, part: own });
      }
    });

  it("answers with the lines of the newest attempt, or of one that is named", async () => {
    const id = await submit();
    await had(id, ended(1), ended(2));
    await api.store.logs.keep([
      part(id, { received: 7 }),
      part(id, { attempt: 2, lines: linesOf("two\u0007", ""), received: 2 }),
    ]);
    const first = { executionId: id, attempt: 1, url: null, droppedLines: 6 };
    const line = { at: new Date(AT).toISOString(), level: "info", line: "one" };
    assert.deepEqual((await get(`${id}/attempts/1/logs`)).json(), { ...first, lines: [line] });
    const second = (await get(`${id}/attempts/2/logs`)).json();
    assert.deepEqual(
      [second.droppedLines, second.lines.map((one: { line: string }) => one.line)],
      [0, ["two\u0007", ""]],
    );
    assert.deepEqual((await get(`${id.toUpperCase()}/logs`)).json(), second);
  });

  it("adds the lines that gateways have not written yet, once each", async () => {
    const id = await submit();
    await had(id, ended(1));
    const written = part(id, { part: 2, lines: linesOf("c"), received: 1 });
    await api.store.logs.keep([part(id, { lines: linesOf("a", "b"), received: 3 }), written]);
    const leave = playGateway([{ ...written, lines: linesOf("c", "d"), received: 2 }]);
    const { lines, droppedLines } = (await get(`${id}/logs`)).json();
    leave();
    assert.deepEqual([lines.map((one: { line: string }) => one.line), droppedLines], [["a", "b", "c", "d"], 1]);
  });

  it("shows a running attempt whose owner answers later than questions for executions wait", async () => {
    const id = await submit();
    await api.store.logs.keep([part(id, {})]);
    let questions = 0;
    const answerLate = async (request: string, node: string) => {
      // This question begins later and gets no answer, so its time is over after that of the first one would be.
      assert.equal((await get(id)).json().state, "PENDING");
      const since = { startedAt: AT, cancelRequested: false };
      const executions = [{ executionId: id, state: "RUNNING" as const, attempt: 1, workerId: NOBODY, ...since }];
      api.bus.send({ node, role: "api" }, { kind: "LIVE", request, executions });
    };
    const end = playOwner(api.bus, (message, node) => {
      if (message.kind === "ASK" && ++questions === 1) void answerLate(message.request, node);
    });
    const { attempt, lines } = (await get(`${id}/logs`)).json();
    end();
    assert.deepEqual([attempt, lines.length, questions], [1, 1, 2]);
  });

  it("asks no gateway while a node of the cluster does not know the question", async () => {
    const deps = { store: api.store, bus: api.bus, runtime: { uuid: () => "r" } as never };
    const inbox = { collect: () => assert.fail("a gateway was asked") } as never;
    const older = { address: "a", version: "0", level: 2 };
    const lacking = (feature: string) => (feature === "LOG_LINES" ? older : null);
    assert.deepEqual(await readLogs({ ...deps, inbox, lacking }, tenantOf(null), NOBODY, 1), {
      lines: [],
      droppedLines: 0,
    });
  });

  it("has no more than the last 64 KiB of the parts of all gateways together", async () => {
    const id = await submit();
    await had(id, ended(1));
    const full = linesOf(...Array.from({ length: 8 }, () => "x".repeat(8_192)));
    await api.store.logs.keep([1, 2].map((number) => part(id, { part: number, lines: full, received: 8 })));
    const { lines, droppedLines } = (await get(`${id}/logs`)).json();
    assert.deepEqual([lines.length, droppedLines], [8, 8]);
  });

  it("says which execution or attempt there is not", async () => {
    const id = await submit();
    const detail = async (url: string, status = 404) => {
      const answer = await get(url);
      assert.equal(answer.statusCode, status, url);
      return answer.json().detail;
    };
    assert.match(await detail(`${NOBODY}/logs`), /no such execution/);
    assert.match(await detail(`${NOBODY}/attempts/1/logs`), /no such execution/);
    assert.match(await detail(`${id}/logs`), /has had no attempt yet/);
    await had(id, ended(1), ended(2));
    assert.match(await detail(`${id}/attempts/3/logs`), /no attempt 3: its newest is 2/);
    for (const wrong of ["0", "-1", "1.5", "x", "2147483648"]) await detail(`${id}/attempts/${wrong}/logs`, 400);
    assert.deepEqual((await get(`${id}/attempts/2/logs`)).json().lines, []);
  });

  it("answers with the address in another system, where one keeps the lines", async () => {
    const id = await submit();
    await had(id, ended(1), ended(2, null));
    await api.store.logs.keep([part(id, {})]);
    const logUrl = "https://logs.example/{jobId}?q={executionId}%20{attempt}&from={startedAt}&to={finishedAt}";
    const app = await api.another({ apiKey: null, logUrl });
    const read = async (attempt: number) =>
      (await app.inject({ method: "GET", url: `/v1/executions/${id}/attempts/${attempt}/logs` })).json();
    const { jobId, createdAt } = (await get(id)).json();
    const to = encodeURIComponent(new Date(AT + 1_500).toISOString());
    const head = { executionId: id, lines: [], droppedLines: 0 };
    const from = (at: string) => `from=${encodeURIComponent(at)}&to=${to}`;
    assert.deepEqual(await read(1), {
      ...{ ...head, attempt: 1 },
      url: `https://logs.example/${jobId}?q=${id}%201&${from(new Date(AT).toISOString())}`,
    });
    assert.equal((await read(2)).url, `https://logs.example/${jobId}?q=${id}%202&${from(createdAt)}`);
    await app.close();
  });
});
