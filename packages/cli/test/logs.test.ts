import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, it, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { type AttemptLogs, Client, TerminalError, task, Worker } from "@mainspring/sdk";
import { until } from "@mainspring/server/testing";
import { type ClusterNode, TestCluster } from "./testing/cluster.ts";
import { Commands, LongCommand, mainspring } from "./testing/command.ts";
import { TestLink } from "./testing/link.ts";
import { serveOn, startServer, type TestServer } from "./testing/server.ts";

const WORKER = fileURLToPath(new URL("testing/worker-process.ts", import.meta.url));
const NOBODY = "01890a5d-ac96-774b-bcce-b302099a8057";

describe("what handlers have logged", () => {
  let server: TestServer;
  let client: Client;
  before(async () => {
    server = await startServer();
    client = new Client({ url: server.httpUrl });
  });
  after(() => server.stop());

  const { run, done, json, jsonLines } = new Commands(() => server.clientEnv);
  /** Ends the server, and starts another one on its data. */
  const restart = async (signal: "SIGTERM" | "SIGKILL") => {
    const { command, dataDir, stop } = server;
    command.signal(signal);
    await command.done;
    const again = serveOn(dataDir, {});
    const [, httpUrl = "", grpcAddress = ""] = await again.says(/api +(http:\S+)[^]*workers +(\d\S+)[^]*curl/);
    const stopBoth = async () => {
      again.signal("SIGTERM");
      await again.done;
      await stop();
    };
    const clientEnv = { MAINSPRING_URL: httpUrl, MAINSPRING_GRPC_URL: grpcAddress };
    server = { ...server, httpUrl, grpcAddress, command: again, clientEnv, stop: stopBoth };
    client = new Client({ url: httpUrl });
  };
  const textsOf = ({ lines }: AttemptLogs) => lines.map(({ line }) => line);
  /** Starts a proxy of the server. @param passed path that the server gets for the path of a request @returns its URL */
  const front = async (t: TestContext, passed: (path: string) => string | Promise<string>) => {
    const proxy = createServer(async ({ url = "" }, response) => {
      const answer = await fetch(server.httpUrl + (await passed(url)));
      response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "" });
      response.end(await answer.text());
    }).listen(0, "127.0.0.1");
    t.after(() => proxy.close());
    await once(proxy, "listening");
    return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  };
  const at = "\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z";

  it("is shown of a running attempt, and of every attempt when it is over, also after a restart of the server", async (t) => {
    const ends = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const talks = task({
      name: "talks",
      run: async (_: null, ctx) => {
        ctx.log(`attempt ${ctx.attempt} begins\u001b[2J`);
        ctx.log("a second line\nof two");
        await ends[ctx.attempt - 1]?.promise;
        if (ctx.attempt === 1) throw new Error("once more");
      },
    });
    const worker = new Worker({ url: server.grpcAddress, tasks: [talks], warn: () => undefined });
    t.after(() => worker.stop());
    await worker.start();
    const retryPolicy = { initialDelayMs: 1 };
    const { executionId } = await client.submit({ target: { handler: "talks" }, retryPolicy });
    await until(async () => (await client.getExecution(executionId)).attempt > 0);
    await until(async () => (await client.getLogs(executionId)).lines.length >= 2);
    const running = await done("executions", "logs", executionId);
    const line = `^${at}  info  attempt 1 begins\\\\u001b\\[2J\n${at}  info  a second line\\\\nof two\n$`;
    assert.match(running, new RegExp(line));
    const follow = new LongCommand(["executions", "logs", executionId, "--follow", "--json"], server.clientEnv);
    t.after(() => follow.signal("SIGKILL"));
    const first = new LongCommand(["executions", "logs", executionId, "--follow", "--attempt", "1"], server.clientEnv);
    t.after(() => first.signal("SIGKILL"));
    await Promise.all([follow.says(/of two/), first.says(/of two/)]);
    for (const end of ends) end.resolve();
    await client.waitForExecution(executionId);
    const followed = (await follow.done).stdout
      .trim()
      .split("\n")
      .map((text) => JSON.parse(text));
    assert.deepEqual(
      followed.map(({ attempt, line }) => `${attempt} ${line.slice(0, 9)}`),
      ["1 attempt 1", "1 a second ", "2 attempt 2", "2 a second "].map((text) => text.slice(0, 11)),
    );
    assert.match((await first.done).stdout, new RegExp(line), "ends with its attempt, and shows each line once");
    const both = async () => {
      const [one, two] = [await client.getLogs(executionId, { attempt: 1 }), await client.getLogs(executionId)];
      return [one.attempt, ...textsOf(one), two.attempt, ...textsOf(two)];
    };
    const said = (n: number) => [n, `attempt ${n} begins\u001b[2J`, "a second line\nof two"];
    assert.deepEqual(await both(), [...said(1), ...said(2)]);
    await worker.stop();
    await restart("SIGTERM");
    assert.deepEqual(await both(), [...said(1), ...said(2)]);
    const document = await json<AttemptLogs>("executions", "logs", executionId, "--attempt", "1");
    assert.deepEqual([document.attempt, document.url, document.droppedLines], [1, null, 0]);
  });

  it("is kept of an attempt whose worker was killed, also when the server is killed after it", async (t) => {
    const options = { pool: "killed", url: server.grpcAddress };
    const worker = new LongCommand([], { TEST_WORKER: JSON.stringify(options) }, WORKER);
    t.after(() => worker.signal("SIGKILL"));
    await worker.says(/ready/);
    const { executionId } = await client.submit({ target: { handler: "hold", pool: "killed" }, payload: 600_000 });
    await worker.says(/start/);
    await until(async () => (await client.getLogs(executionId).catch(() => null))?.lines.length === 1);
    worker.signal("SIGKILL");
    const isLost = async () => (await client.getExecution(executionId)).attempts[0]?.state === "WORKER_LOST";
    await until(isLost);
    assert.deepEqual(textsOf(await client.getLogs(executionId, { attempt: 1 })), ["holds for 600000 ms"]);
    await restart("SIGKILL");
    assert.deepEqual(textsOf(await client.getLogs(executionId, { attempt: 1 })), ["holds for 600000 ms"]);
  });

  it("is followed from before the first attempt, until the execution is final", async (t) => {
    const later = task({
      name: "later",
      run: (_: null, ctx) => {
        ctx.log("only line");
        throw new TerminalError("not today");
      },
    });
    const { executionId } = await client.submit({ target: { handler: "later", pool: "later" } });
    const follow = new LongCommand(["executions", "logs", executionId, "--follow"], server.clientEnv);
    t.after(() => follow.signal("SIGKILL"));
    const worker = new Worker({ url: server.grpcAddress, pool: "later", tasks: [later], warn: () => undefined });
    t.after(() => worker.stop());
    await worker.start();
    const { stdout, stderr, code } = await follow.done;
    assert.deepEqual([code, stderr], [0, ""]);
    assert.match(stdout, new RegExp(`^${at}  info  only line\n$`));
  });

  it("is followed, although the only attempt begins and ends before the stream of events is open", async (t) => {
    const early = task({ name: "early", run: (_: null, ctx) => ctx.log("only line") });
    const { executionId } = await client.submit({ target: { handler: "early", pool: "early" } });
    const worker = new Worker({ url: server.grpcAddress, pool: "early", tasks: [early], warn: () => undefined });
    t.after(() => worker.stop());
    // The command asks for the events when it knows that there is no attempt yet.
    const url = await front(t, async (path) => {
      if (path.endsWith("/events")) {
        await worker.start();
        await client.waitForExecution(executionId);
      }
      return path;
    });
    const { stdout, stderr } = await mainspring(["executions", "logs", executionId, "--follow", "--url", url]);
    assert.deepEqual([stdout.replace(new RegExp(at), "AT"), stderr], ["AT  info  only line\n", ""]);
  });

  it("is followed, although the server that answers does not know of the attempt at first", async (t) => {
    const { executionId } = await json<{ executionId: string }>("submit", "echo", "--wait");
    const missing = ["/attempts/1/logs"];
    const url = await front(t, (path) => {
      const isMissing = path.endsWith(missing[0] ?? "none") && missing.pop() !== undefined;
      return isMissing ? path.replace("/1/", "/9/") : path;
    });
    const { code, stderr } = await mainspring(["executions", "logs", executionId, "--follow", "--url", url]);
    assert.deepEqual([code, stderr, missing], [0, "", []]);
  });

  it("says so where there is nothing, and where there is no such execution or attempt", async () => {
    const { executionId } = await json<{ executionId: string }>("submit", "echo", "--wait");
    assert.equal(await done("executions", "logs", executionId), "attempt 1 has logged nothing\n");
    assert.deepEqual((await jsonLines<AttemptLogs>("executions", "logs", executionId, "--json"))[0]?.lines, []);
    const refused = async (...args: string[]) => (await run(["executions", "logs", ...args])).stderr;
    assert.match(await refused(executionId, "--attempt", "2"), /^mainspring: .*no attempt 2: its newest is 1/);
    assert.match(await refused(NOBODY), /^mainspring: .*no such execution/);
    assert.match(await refused(executionId, "--attempt", "0"), /whole number|1 to/);
  });
});

it("joins what the nodes of a cluster hear of an attempt whose worker changes its node", async (t) => {
  const cluster = await TestCluster.open();
  t.after(() => cluster.close());
  const env = { MAINSPRING_BUILTIN_WORKER: "off", MAINSPRING_STOP_DELAY_SEC: "0" };
  const [one, other] = await Promise.all([cluster.node(env), cluster.node(env)]);
  const client = new Client({ url: other.httpUrl });
  await until(async () => (await client.cluster.status()).nodes.length >= 2);
  const moved = Promise.withResolvers<void>();
  const talks = task({
    name: "talks",
    run: async (_: null, ctx) => {
      ctx.log("漢字 and \u0007");
      await moved.promise;
      ctx.log("after the move");
    },
  });
  const link = new TestLink();
  t.after(() => link.close());
  const portOf = ({ grpcAddress }: ClusterNode) => Number(grpcAddress.split(":").at(-1));
  const worker = new Worker({ url: await link.listen(portOf(one)), tasks: [talks], warn: () => undefined });
  t.after(() => worker.stop());
  await worker.start();
  const { executionId } = await talks.submit(client, null);
  const texts = async () => (await client.getLogs(executionId).catch(() => null))?.lines.map(({ line }) => line) ?? [];
  // The answer to a second question may lack the attempt, if its owner answers late.
  let heard: string[] = [];
  await until(async () => {
    heard = await texts();
    return heard.length > 0;
  });
  assert.deepEqual(heard, ["漢字 and \u0007"], "asked of the node that has the worker");
  link.leadTo(portOf(other));
  // The node that the worker leaves hears nothing, which it bears for 30 s. It would bear a broken connection for 5 s only.
  const breakLeft = link.leave();
  const isAtOther = async () =>
    (await client.cluster.status()).nodes.some(
      ({ address, workers }) => address === other.grpcAddress && workers === 1,
    );
  await until(isAtOther);
  breakLeft();
  moved.resolve();
  assert.equal((await client.waitForExecution(executionId)).attempt, 1);
  const all = ["漢字 and \u0007", "after the move"];
  assert.deepEqual(await texts(), all);
  await worker.stop();
  one.command.signal("SIGTERM");
  await one.command.done;
  assert.deepEqual(await texts(), all, "the node that has gone wrote its lines before");
});
