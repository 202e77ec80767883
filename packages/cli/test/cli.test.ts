import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import type { Execution, ExecutionSummary, PreviewedFire, SubmittedJob } from "@mainspring/sdk";
import { LongCommand, mainspring, runFile } from "./testing/command.ts";
import { startServer, type TestServer } from "./testing/server.ts";

const repository = new URL("../../..", import.meta.url);

describe("the command line", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer();
  });
  after(() => server.stop());

  const run = (args: readonly string[], input = "") => mainspring(args, { env: server.clientEnv, input });
  const runJson = async <T>(...args: string[]) => JSON.parse((await run([...args, "--json"])).stdout) as T;

  it("submits a job, waits for it and prints its result", async () => {
    const { code, stdout } = await run(["submit", "echo", "--payload", '{"hello":"world"}', "--wait"]);
    assert.match(stdout, /state +SUCCEEDED/);
    assert.match(stdout, /result +\{"hello":"world"\}/);
    assert.equal(code, 0);
  });

  it("takes the payload from standard input, and prints JSON for programs", async () => {
    const { stdout } = await run(["submit", "echo", "--payload", "-", "--wait", "--json"], "[1, 2]");
    const execution = JSON.parse(stdout) as Execution;
    assert.equal(execution.state, "SUCCEEDED");
    assert.deepEqual(execution.result, [1, 2]);
  });

  it("ends with 4 when the execution that it waits for does not succeed", async () => {
    const { code, stdout } = await run(["submit", "sleep", "--payload", '{"ms":-1}', "--wait"]);
    assert.match(stdout, /state +DEAD/);
    assert.match(stdout, /whole number from 0/);
    assert.equal(code, 4);
  });

  it("lists executions, shows one and cancels it, but not once it is final", async () => {
    const { executionId } = await runJson<SubmittedJob>("submit", "echo", "--delay", "1h", "--label", "a=b");
    const [listed] = (await run(["executions", "list", "--state", "PENDING", "--json"])).stdout.split("\n");
    assert.equal((JSON.parse(listed ?? "") as ExecutionSummary).executionId, executionId);
    assert.match((await run(["executions", "list"])).stdout, new RegExp(`^EXECUTION .*\n[^]*${executionId} +PENDING`));

    assert.equal((await run(["executions", "cancel", executionId])).stdout, "cancelled\n");
    assert.match((await run(["executions", "get", executionId])).stdout, /state +CANCELLED/);

    const done = await runJson<Execution>("submit", "echo", "--wait");
    const late = await run(["executions", "cancel", done.executionId]);
    assert.match(late.stderr, /^mainspring: .*SUCCEEDED/);
    assert.equal(late.code, 1);
  });

  it("shows when a schedule would fire, and what clock changes do to it", async () => {
    const zone = ["--timezone", "America/New_York", "--after", "2025-03-08T12:00:00Z"];
    const { code, stdout } = await run(["schedules", "preview", "30 2 * * *", ...zone, "--count", "2"]);
    assert.equal(code, 0);
    const [words, , , first, second, ...rest] = stdout.split("\n");
    assert.equal(words, "at 02:30 every day in America/New_York");
    assert.match(
      first ?? "",
      /^2025-03-09T03:00:00-04:00 +2025-03-09T07:00:00Z +moved: 2025-03-09T02:30 does not exist/,
    );
    assert.equal(second, "2025-03-10T02:30:00-04:00  2025-03-10T06:30:00Z");
    assert.deepEqual(rest, [""]);

    const { fires } = await runJson<{ fires: PreviewedFire[] }>("schedules", "preview", "@daily", "--gap", "SKIP");
    assert.equal(fires.length, 10);
    const bad = await run(["schedules", "preview", "0 24 * * *"]);
    assert.match(bad.stderr, /^mainspring: .*hour, character 3: "24" must be 0 to 23/);
    assert.equal(bad.code, 1);
  });

  it("says what is wrong with the command line, and does nothing", async () => {
    for (const [args, problem] of [
      [["submit"], /missing required argument 'handler'/],
      [["submit", "echo", "--payload", "{hello}"], /--payload is not JSON/],
      [["submit", "echo", "--payload", "@nowhere.json"], /nowhere\.json/],
      [["submit", "echo", "--delay", "10"], /number and its unit/],
      [["submit", "echo", "--run-at", "2030-01-01T00:00:00"], /time with its zone/],
      [["submit", "echo", "--url", "localhost"], /is not a plain http\(s\) URL/],
      [["frobnicate"], /unknown command 'frobnicate'/],
      [["worker", "--slots", "0"], /from 1 to 10000/],
    ] as const) {
      const { code, stdout, stderr } = await run(args);
      assert.match(stderr, problem);
      assert.deepEqual({ code, stdout }, { code: 2, stdout: "" }, args.join(" "));
    }
  });

  it("passes on what the server refuses, naming the field", async () => {
    const { code, stderr } = await run(["submit", "echo", "--pool", "no spaces allowed"]);
    assert.match(stderr, /^mainspring: .*target[./]pool/);
    assert.equal(code, 1);
  });

  it("ends with 3 when no server answers", async () => {
    const url = await unusedUrl();
    for (const args of [["list"], ["watch", "01890a5d-ac96-774b-bcce-b302099a8057"]]) {
      const { code, stderr } = await run(["executions", ...args, "--url", url, "--retry-for", "100ms"]);
      const why = `connection refused at ${url}: is MAINSPRING_URL (or the option url) right, and is the server running?`;
      assert.equal(stderr, `mainspring: ${why} \`npx @mainspring/cli serve\` starts one.\n`);
      assert.doesNotMatch(stderr, /^ +at /m);
      assert.equal(code, 3);
    }
  });

  it("says so where its address is the port of workers", async () => {
    const { code, stderr } = await run(["stats", "--url", `http://${server.grpcAddress}`]);
    assert.match(
      stderr,
      /does not speak HTTP: is MAINSPRING_URL \(or the option url\) right\? Workers have another port/,
    );
    assert.equal(code, 1);
  });

  it("goes on for as long as it is told while no server answers, and submits once", async () => {
    const { port } = new URL(await unusedUrl());
    const MAINSPRING_HTTP = `127.0.0.1:${port}`;
    const submitting = mainspring(["submit", "echo", "--wait", "--retry-for", "5m"], {
      env: { MAINSPRING_URL: `http://${MAINSPRING_HTTP}` },
    });
    const late = await startServer({ MAINSPRING_HTTP });
    assert.equal((await submitting).code, 0);
    const { stdout } = await mainspring(["executions", "list", "--json"], { env: late.clientEnv });
    await late.stop();
    assert.equal(stdout.trim().split("\n").length, 1);
  });

  it("runs a worker until it is told to stop", async (t) => {
    const worker = new LongCommand(["worker", "--pool", "extra", "--capability", "gpu"], server.clientEnv);
    t.after(() => worker.signal("SIGKILL"));
    await worker.says(/connected to .*pool extra, 20 slots, handlers echo, sleep/);
    const done = await run(["submit", "echo", "--pool", "extra", "--requires", "gpu", "--wait"]);
    assert.equal(done.code, 0);
    worker.signal("SIGTERM");
    assert.equal((await worker.done).code, 0);
  });

  it("lets a worker finish at the first signal, and ends it at once at the second", async (t) => {
    const worker = new LongCommand(["worker", "--pool", "slow"], server.clientEnv);
    t.after(() => worker.signal("SIGKILL"));
    const { executionId } = await runJson<SubmittedJob>(
      "submit",
      "sleep",
      "--pool",
      "slow",
      "--payload",
      '{"ms":600000}',
    );
    const stateOf = async () => (await runJson<Execution>("executions", "get", executionId)).state;
    while ((await stateOf()) !== "RUNNING");

    worker.signal("SIGTERM");
    await worker.says(/SIGTERM: finishing what runs/);
    // A second signal counts only if it is too late to be an echo of the first; starting a process takes longer.
    while (!worker.hasEnded) {
      await run(["--version"]);
      worker.signal("SIGTERM");
    }
    assert.equal((await worker.done).code, 143);
    await run(["executions", "cancel", executionId]);
  });

  it("runs the example that README shows", async () => {
    const example = await readFile(new URL("examples/greet.ts", repository), "utf8");
    assert.ok((await readFile(new URL("README.md", repository), "utf8")).includes(example));
    const ran = await runFile(fileURLToPath(new URL("examples/greet.ts", repository)), server.clientEnv);
    assert.deepEqual(ran, { code: 0, stdout: "Hello Ada, this is attempt 1\n", stderr: "" });
  });

  it("runs the example of a handler that has to be killed", async () => {
    const ran = await runFile(fileURLToPath(new URL("examples/isolated.ts", repository)), server.clientEnv);
    const stdout = "fibonacci(20) is 6765\nfibonacci(1000) is DEAD, because its attempt TIMED_OUT\n";
    assert.deepEqual([ran.code, ran.stdout], [0, stdout]);
    // The worker's log of failed attempts.
    assert.match(
      ran.stderr,
      /^mainspring worker \S+: attempt 1 of execution \S+ \(handler "fibonacci".*\) timed out after .*\n$/,
    );
  });

  it("tells its version", async () => {
    assert.match((await run(["--version"])).stdout, /^\d+\.\d+\.\d+\n$/);
  });
});

/** A URL at which no server listens. */
async function unusedUrl(): Promise<string> {
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  const { port } = taken.address() as AddressInfo;
  taken.close();
  await once(taken, "close");
  return `http://127.0.0.1:${port}`;
}
