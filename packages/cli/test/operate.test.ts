import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import {
  type ChangedJob,
  type ChangedPool,
  Client,
  type ClusterStatus,
  type DeadLetter,
  type DeadLetterRun,
  type Execution,
  type ExecutionEvent,
  type ExecutionRun,
  type ExecutionSummary,
  type Explanation,
  type Job,
  type JobSummary,
  type Pool,
  type SettledDeadLetter,
  type Stats,
  type SubmittedJob,
  TerminalError,
  task,
  Worker,
  type WorkerDetail,
  type WorkerInfo,
} from "@mainspring/sdk";
import { until } from "@mainspring/server/testing";
import { Commands, LongCommand, linesOf } from "./testing/command.ts";
import { startServer, type TestServer } from "./testing/server.ts";

const NOBODY = "01890a5d-ac96-774b-bcce-b302099a8057";

describe("operating by the command line", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer();
  });
  after(() => server.stop());

  const { run, done, json, jsonLines } = new Commands(() => server.clientEnv);
  const submit = (...args: string[]) => json<SubmittedJob>("submit", ...args);

  it("lists jobs by their labels, shows one, replaces what waits, and deletes it", async () => {
    const { jobId, executionId } = await submit("echo", "--delay", "1h", "--name", "nightly", "--label", "team=a");
    const listed = await jsonLines<JobSummary>("jobs", "list", "--label", "team=a", "--state", "ACTIVE");
    assert.deepEqual(
      listed.map((job) => job.jobId),
      [jobId],
    );
    assert.match(await done("jobs", "list"), new RegExp(`^JOB .*\n[^]*${jobId}  ONCE +ACTIVE +nightly .*team=a`));
    assert.match(await done("jobs", "get", jobId), /state +ACTIVE, version 1\n[^]*handler +echo in pool default/);

    const definition = JSON.stringify({ target: { handler: "sleep" }, payload: { ms: 1 }, delayMs: 7_200_000 });
    const changed = await json<ChangedJob>("jobs", "replace", jobId, definition, "--if-version", "1");
    assert.deepEqual([changed.version, changed.changed], [2, true]);
    const late = await run(["jobs", "replace", jobId, "-", "--if-version", "1"], definition);
    assert.equal(late.code, 1);
    assert.match(late.stderr, /^mainspring: .*version/);
    assert.equal((await json<Job>("jobs", "get", jobId)).target.handler, "sleep");

    assert.equal(await done("jobs", "delete", jobId), "deleted\n");
    const after = await json<Execution>("executions", "get", executionId, "--wait").catch(() => null);
    assert.equal(after, null, "a wait for what did not succeed ends with 4");
    assert.equal((await json<Execution>("executions", "get", executionId)).state, "CANCELLED");
  });

  it("does not empty a server that is alone", async () => {
    const { nodes } = await json<ClusterStatus>("cluster", "status");
    assert.deepEqual([nodes.length, nodes[0]?.shards, nodes[0]?.state], [1, 64, "LIVING"]);
    const { code, stderr } = await run(["cluster", "drain", nodes[0]?.nodeId ?? ""]);
    assert.equal(code, 1);
    assert.match(stderr, /^mainspring: this server is alone, and nobody could take its work: to end it, stop it/);
  });

  it("says why an execution waits", async () => {
    const { executionId } = await submit("nobody-offers-this");
    const { reasons } = await json<Explanation>("executions", "explain", executionId);
    assert.equal(reasons[0]?.reason, "NO_WORKER_FOR_HANDLER");
    const text = await done("executions", "explain", executionId);
    assert.match(
      text,
      /is PENDING\n\nREASON +WHY +FIGURES\nNO_WORKER_FOR_HANDLER +no worker .*handler nobody-offers-this/,
    );
  });

  it("runs the job of a final execution again", async () => {
    const { executionId } = await submit("echo", "--payload", "7", "--wait");
    const again = await json<Execution>("executions", "retry", executionId, "--wait");
    assert.deepEqual([again.trigger, again.retryOf, again.result], ["RETRY", executionId, 7]);
    const { executionId: waiting } = await submit("echo", "--delay", "1h");
    const refused = await run(["executions", "retry", waiting]);
    assert.match(refused.stderr, /^mainspring: .*PENDING|final/);
    assert.equal(refused.code, 1);
  });

  it("follows an execution: its states, its progress, its log, and how it ended", async (t) => {
    const read = Promise.withResolvers<void>();
    const steps = task({
      name: "steps",
      run: async (payload: { fails: boolean }, ctx) => {
        ctx.log("the first line\u001b[2J");
        ctx.progress(0.5, "half of it");
        await read.promise;
        if (payload.fails) throw new TerminalError("not today");
      },
    });
    const well = await submit("steps", "--pool", "steps", "--payload", '{"fails":false}');
    const ill = await submit("steps", "--pool", "steps", "--payload", '{"fails":true}');
    const watch = new LongCommand(["executions", "watch", well.executionId], server.clientEnv);
    const both = [well.executionId, ill.executionId];
    const watchBoth = new LongCommand(["executions", "watch", ...both, "--json"], server.clientEnv);
    t.after(() => [watch, watchBoth].map((command) => command.signal("SIGKILL")));
    await Promise.all([watch.says(/PENDING/), watchBoth.says(/PENDING[^]*PENDING/)]);

    const worker = new Worker({ url: server.grpcAddress, pool: "steps", tasks: [steps] });
    t.after(() => {
      read.resolve();
      return worker.stop();
    });
    await worker.start();
    await Promise.all([watch.says(/half of it/), watchBoth.says(/half of it[^]*half of it/)]);
    read.resolve();

    const { code, stdout, stderr } = await watch.done;
    assert.deepEqual([code, stderr], [0, ""]);
    assert.match(stdout, / {2}info {2}the first line\\u001b\[2J\n/);
    assert.match(stdout, /\[#{12}\.{12}\] {2}50 % {2}half of it\n/);
    assert.match(stdout, /SUCCEEDED {2}attempt 1\n$/);
    assert.ok(!stdout.includes("\u001b"), "no terminal, no bars that move");

    const ended = await watchBoth.done;
    assert.equal(ended.code, 4);
    const events = linesOf<ExecutionEvent & { executionId: string }>(ended.stdout);
    const states = events.flatMap(({ executionId, ...event }) =>
      event.type === "state" ? [`${executionId} ${event.execution.state}`] : [],
    );
    assert.ok(states.includes(`${well.executionId} SUCCEEDED`));
    assert.ok(states.includes(`${ill.executionId} DEAD`));
    const failed = events.flatMap((event) => (event.type === "attempt" ? [event] : []));
    assert.deepEqual(
      failed.map(({ executionId, record }) => [executionId, record.state, record.error?.message]),
      [[ill.executionId, "FAILED", "not today"]],
    );
    for (const event of events) {
      if (event.type === "state" && event.execution.finishedAt !== null)
        assert.equal(event.at, event.execution.finishedAt);
    }
  });

  it("counts executions, and cancels and retries all that match when it is told to", async () => {
    for (let n = 0; n < 2; n++) await submit("echo", "--delay", "1h", "--label", "bulk=a");
    const which = ["--label", "bulk=a"];
    assert.equal(await done("executions", "count", ...which), "2\n");
    assert.equal(await done("executions", "cancel", "--all", "--preview", ...which), "2 match\n");
    const unsure = await run(["executions", "cancel", "--all", ...which]);
    assert.equal(unsure.code, 2);
    assert.match(unsure.stderr, /2 executions match: repeat the command with --yes to cancel them/);
    const over = async ({ runId }: ExecutionRun) => {
      for (;;) {
        const now = await json<ExecutionRun>("executions", "runs", "get", runId);
        if (now.state !== "RUNNING") return now;
      }
    };
    const cancelled = await over(await json<ExecutionRun>("executions", "cancel", "--all", "--yes", ...which));
    assert.deepEqual([cancelled.state, cancelled.done, cancelled.refused], ["FINISHED", 2, 0]);
    const final = ["--state", "CANCELLED", ...which];
    await until(async () => (await done("executions", "count", ...final)) === "2\n");
    const retried = await over(await json<ExecutionRun>("executions", "retry", "--all", "--yes", ...final));
    assert.equal(retried.done, 2);
    assert.match(await done("executions", "runs", "list"), /^RUN .*REFUSED.*\n.*RETRY +FINISHED +2 +0/);
    assert.match(await done("executions", "runs", "stop", retried.runId), /done +2\n/);
  });

  it("lists dead letters, replays and discards them, by id and by filter", async () => {
    const dead = async () => {
      const ended = await run(["submit", "sleep", "--payload", '{"ms":-1}', "--wait", "--json"]);
      return JSON.parse(ended.stdout) as Execution;
    };
    const [first, second] = [await dead(), await dead()];
    const letters = await jsonLines<DeadLetter>("dead-letters", "list", "--handler", "sleep");
    assert.deepEqual(
      letters.map((letter) => letter.executionId),
      [second.executionId, first.executionId],
    );
    assert.match(await done("dead-letters", "list"), /^EXECUTION .*ERROR\n.*whole number from 0/);

    const [replayed] = await jsonLines<SettledDeadLetter>("dead-letters", "replay", first.executionId);
    assert.equal(replayed?.outcome, "REPLAYED");
    const again = await run(["dead-letters", "replay", first.executionId]);
    assert.match(again.stdout, /NOT_A_DEAD_LETTER/);
    assert.equal(again.code, 1);
    const executionId = replayed?.newExecutionId ?? "";
    assert.equal((await run(["executions", "get", executionId, "--wait"])).code, 4);

    const discarding = await json<DeadLetterRun>("dead-letters", "discard", "--all", "--handler", "sleep");
    assert.equal(discarding.action, "DISCARD");
    for (let state = discarding.state; state !== "FINISHED"; )
      ({ state } = await json<DeadLetterRun>("dead-letters", "run", discarding.runId));
    assert.match(await done("dead-letters", "run", discarding.runId), /settled +2\n/);
    assert.equal(await done("dead-letters", "list", "--handler", "sleep"), "no dead letters\n");
  });

  it("shows all that a job was submitted with, by the SDK's own type", async () => {
    const client = new Client({ url: server.httpUrl });
    const runAt = "2031-01-01T00:00:00.000Z";
    const startBefore = "2031-01-02T00:00:00.000Z";
    const rules = { timeoutSec: 7, maxLifetimeSec: 8, cancelGraceSec: 3, maxLost: 4, onWorkerLost: "DEAD" } as const;
    const keys = { concurrencyKey: "c", concurrencyLimit: 6, uniqueKey: "u" };
    const target = { handler: "echo", pool: "shown", requires: ["gpu"] };
    const { jobId } = await client.submit({ target, runAt, startBefore, ...rules, ...keys });
    const job: Job = await client.getJob(jobId);
    assert.deepEqual([job.runAt, job.startBefore, job.target], [runAt, startBefore, target]);
    const { timeoutSec, maxLifetimeSec, cancelGraceSec, maxLost, onWorkerLost } = job;
    assert.deepEqual({ timeoutSec, maxLifetimeSec, cancelGraceSec, maxLost, onWorkerLost }, rules);
    assert.match(await done("jobs", "get", jobId), /\ntimeout +7 s\nlifetime +8 s\n/);
    const submitted = await submit("echo", "--delay", "1d", "--max-lifetime", "30d");
    assert.equal((await client.getJob(submitted.jobId)).maxLifetimeSec, 30 * 86_400);
    const { concurrencyKey, concurrencyLimit, uniqueKey } = job;
    assert.deepEqual({ concurrencyKey, concurrencyLimit, uniqueKey }, keys);
  });

  it("takes the beginning of an id, where it means one, and states in any case", async () => {
    const { jobId, executionId } = await submit("echo", "--delay", "1h");
    const other = await submit("echo", "--delay", "1h");
    const short = executionId.slice(0, 30);
    assert.match(
      await done("executions", "get", short.replaceAll("-", "").toUpperCase()),
      new RegExp(`execution +${executionId}`),
    );
    assert.match(await done("jobs", "get", jobId.slice(0, 30)), new RegExp(jobId));
    assert.match(
      await done("executions", "list", "--state", "pending", "--job", jobId.slice(0, 30)),
      new RegExp(executionId),
    );
    const shared = executionId.slice(0, 6);
    const several = await run(["executions", "cancel", shared]);
    assert.match(
      several.stderr,
      new RegExp(
        `several executions have an id that begins with ${shared}: give more of it\\. They are .*${other.executionId}`,
      ),
    );
    const none = await run(["executions", "get", "ffff-0000"]);
    assert.match(none.stderr, /no execution has an id that begins with ffff-0000: see `executions list`/);
    assert.deepEqual([several.code, none.code], [1, 1]);
    assert.match((await run(["executions", "list", "--state", "done"])).stderr, /Allowed choices are PENDING, /);
    assert.equal(await done("executions", "cancel", short), "cancelled\n");
  });

  it("pauses a pool, sets it up, and resumes it", async () => {
    const unknown = await run(["pools", "pause", "mail"]);
    assert.match(unknown.stderr, /^mainspring: no pool is called "mail": .*there are default.*--force/);
    assert.equal(unknown.code, 1);
    const made = await json<ChangedPool>("pools", "pause", "mail", "--force");
    assert.equal(made.paused, true);
    assert.match(made.warnings?.[0] ?? "", /^the pool "mail" was not known before: .*Is its name right\?$/);
    // The pool is known from now on.
    assert.equal((await json<ChangedPool>("pools", "pause", "mail")).warnings, undefined);
    await submit("echo", "--pool", "waits-for-workers");
    assert.equal((await json<ChangedPool>("pools", "pause", "waits-for-workers")).warnings, undefined);
    const set = ["--strategy", "PRIORITY", "--priority-step", "10m", "--placement", "ROUND_ROBIN"];
    assert.match(await done("pools", "set", "mail", ...set), /state +PAUSED\n[^]*priority step +600 s a level/);
    const pool = await json<Pool>("pools", "get", "mail");
    assert.deepEqual([pool.paused, pool.priorityStepSec, pool.placement], [true, 600, "ROUND_ROBIN"]);
    assert.match(await done("pools", "list"), /^POOL .*\n[^]*mail +PAUSED +0 +0 of 0 +PRIORITY +ROUND_ROBIN/);
    assert.match(await done("pools", "resume", "mail"), /state +OPEN/);
    const limited = await done("pools", "set", "mail", "--max-running", "3", "--rate-per-sec", "0.5");
    assert.match(limited, /max running +[0?] of 3\nrate +0.5 a second/);
    const free = await json<Pool>("pools", "set", "mail", "--max-running", "none", "--rate-per-sec", "none");
    assert.deepEqual([free.maxRunning, free.ratePerSec], [null, null]);
    assert.match(await done("pools", "set", "mail", "--headroom", "10"), /headroom +10 % of the slots/);
    assert.equal((await run(["pools", "set", "mail", "--headroom", "60"])).code, 2);
    assert.equal((await run(["pools", "set", "mail", "--max-running", "0"])).code, 2);
  });

  it("lists workers and has one leave", async (t) => {
    const worker = new Worker({
      url: server.grpcAddress,
      pool: "leaving",
      tasks: [task({ name: "noop", run: () => 1 })],
    });
    t.after(() => worker.stop());
    await worker.start();
    const workers = await jsonLines<WorkerInfo>("workers", "list");
    const leaving = workers.find(({ pool }) => pool === "leaving");
    assert.deepEqual([leaving?.free, leaving?.stuck], [20, 0]);
    const workerId = leaving?.workerId ?? "";
    assert.deepEqual((await json<WorkerDetail>("workers", "get", workerId)).executions, []);
    assert.match(
      await done("workers", "get", workerId),
      /^worker .*\n[^]*free +20\nstuck +0\n[^]*\n\nno executions\n$/,
    );
    assert.match(
      await done("workers", "drain", leaving?.workerId ?? ""),
      /^WORKER .*\n.* leaving +0 of 20 +20 +0 +noop/,
    );
    await worker.closed;
    assert.match(await done("workers", "list"), /^WORKER .*HANDLERS[^]*echo/);
  });

  it("tells what the server has to do", async () => {
    const stats = await json<Stats>("stats");
    assert.equal(stats.addresses.http, server.httpUrl);
    assert.match(await done("stats"), /^version +\d[^]*ready +\d+\n/);
  });

  it("prints lists for programs as one document a line, as many as are asked for", async () => {
    const lines = await jsonLines<ExecutionSummary>("executions", "list", "--limit", "2");
    assert.equal(lines.length, 2);
    assert.equal(await done("executions", "list", "--pool", "empty", "--json"), "");
  });

  it("says what is wrong with the command line, and what would be right", async () => {
    for (const [args, problem] of [
      [["executions", "get", "7"], /Give an id as `list` shows it, or its beginning: 0189/],
      [["jobs", "list", "--state", "DONE"], /Allowed choices are ACTIVE, PAUSED, FINISHED, DELETED/],
      [["jobs", "replace", NOBODY, "[]"], /must be an object such as/],
      [["jobs", "replace", NOBODY, "@nowhere.json"], /^mainspring: the definition: .*nowhere\.json/],
      [["executions", "watch"], /missing required argument 'executionIds'/],
      [["executions", "watch", NOBODY, "me"], /Give an id/],
      [["dead-letters", "replay"], /give either execution ids, or --all/],
      [["executions", "cancel"], /give either the id of one execution, or --all/],
      [["executions", "cancel", NOBODY, "--pool", "mail"], /give either the id of one execution, or --all/],
      [["executions", "retry", NOBODY, "--all"], /give either the id of one execution, or --all/],
      [["executions", "retry", "--all", "--wait"], /are for one execution, not for --all/],
      [["dead-letters", "replay", NOBODY, "--pool", "mail"], /give either execution ids, or --all/],
      [["dead-letters", "discard", "--pool", "mail"], /give either execution ids, or --all/],
      [["pools", "set", "mail"], /at least one of --strategy/],
      [["pools", "set", "mail", "--priority-step", "10"], /number and its unit/],
      [["completion", "tcsh"], /Allowed choices are bash, zsh, fish/],
      [["jobs", "shred"], /unknown command 'shred'/],
    ] as const) {
      const { code, stdout, stderr } = await run(args);
      assert.match(stderr, problem);
      assert.deepEqual({ code, stdout }, { code: 2, stdout: "" }, args.join(" "));
    }
  });

  it("passes on that there is no such thing", async () => {
    for (const args of [
      ["jobs", "get", NOBODY],
      ["jobs", "delete", NOBODY],
      ["executions", "explain", NOBODY],
      ["executions", "watch", NOBODY],
      ["workers", "get", NOBODY],
      ["workers", "drain", NOBODY],
      ["dead-letters", "run", NOBODY],
    ]) {
      const { code, stdout, stderr } = await run(args);
      assert.deepEqual([code, stdout], [1, ""], args.join(" "));
      assert.match(stderr, /^mainspring: /);
    }
  });
});
