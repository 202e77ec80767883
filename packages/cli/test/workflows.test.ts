import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import {
  Client,
  type NodeExplanation,
  type RetriedWorkflow,
  type SubmittedWorkflow,
  TerminalError,
  task,
  Worker,
  type Workflow,
  type WorkflowGraph,
  type WorkflowNode,
} from "@mainspring/sdk";
import { Commands, LongCommand, linesOf } from "./testing/command.ts";
import { serveOn, startServer, type TestServer } from "./testing/server.ts";

const echo = { handler: "echo" };
/** A run of this workflow waits for a worker that no test starts. */
const waiting = {
  name: "waiting",
  labels: { team: "a" },
  nodes: [
    { name: "first", target: echo },
    { name: "stuck", target: { handler: "nobody" }, dependsOn: ["first"] },
    { name: "alarm", target: echo, dependsOn: [{ node: "first", when: "FAILED" }] },
    { name: "last", target: echo, dependsOn: ["stuck", "alarm"], join: "ANY" },
  ],
};

describe("workflows by the command line", () => {
  let server: TestServer;
  let folder: string;
  let client: Client;
  before(async () => {
    server = await startServer();
    client = new Client({ url: server.httpUrl });
    folder = await mkdtemp(join(tmpdir(), "mainspring-workflows-"));
  });
  after(async () => {
    await server.stop();
    await rm(folder, { recursive: true });
  });

  const { run, done, json, jsonLines } = new Commands(() => server.clientEnv);
  const workflow = (...args: string[]) => done("workflow", ...args);

  async function fileOf(name: string, value: unknown): Promise<string> {
    const path = join(folder, name);
    await writeFile(path, typeof value === "string" ? value : JSON.stringify(value));
    return path;
  }

  /** Submits the waiting workflow, and reads it until all nodes before the stuck one have ended. */
  async function stuck(): Promise<string> {
    const { workflowId } = await json<SubmittedWorkflow>("workflow", "submit", await fileOf("waiting.json", waiting));
    for (;;) {
      const { counts } = await client.workflows.get(workflowId);
      if (counts.SUCCEEDED === 1 && counts.PENDING === 1) return workflowId;
    }
  }

  it("take an input in place of that of the file, and show their result", async () => {
    const output = { $from: "a", path: ["day", 0] };
    const nodes = [{ name: "a", target: echo, payload: { $from: "$input" } }];
    const file = await fileOf("input.json", { input: { day: [1] }, output, nodes });
    const ended = await json<Workflow>("workflow", "submit", file, "--input", '{"day": ["tuesday"]}', "--wait");
    assert.deepEqual([ended.input, ended.result], [{ day: ["tuesday"] }, "tuesday"]);
    assert.match(await workflow("show", ended.workflowId), /^result +"tuesday"$/m);
    const both = await run(["workflow", "submit", "-", "--input", "-"]);
    assert.equal(both.code, 2);
    assert.match(both.stderr, /cannot both come from standard input/);
  });

  it("are submitted from a file with options, or from standard input, and waited for", async () => {
    const nodes = [
      { name: "a", target: echo },
      { name: "b", target: echo, dependsOn: ["a"] },
    ];
    const file = await fileOf("chain.json", { name: "of the file", labels: { team: "a" }, nodes });
    const options = ["--name", "chain", "--label", "day=1", "--priority", "HIGH", "--on-failure", "CONTINUE"];
    const ended = await json<Workflow>("workflow", "submit", file, ...options, "--timeout", "1h", "--wait");
    const { name, labels, priority, onFailure, state, counts, createdAt, deadline } = ended;
    assert.deepEqual([name, labels, priority], ["chain", { team: "a", day: "1" }, 7]);
    assert.deepEqual([onFailure, state, counts.SUCCEEDED], ["CONTINUE", "SUCCEEDED", 2]);
    assert.equal(Date.parse(deadline ?? "") - Date.parse(createdAt), 3_600_000);

    const [first] = await jsonLines<WorkflowNode>("workflow", "nodes", ended.workflowId);
    assert.equal((await client.getExecution(first?.executionId ?? "")).priority, 7);

    const piped = await run(["workflow", "submit", "-"], JSON.stringify({ nodes }));
    assert.match(piped.stdout, /^accepted: workflow \S+ of 2 nodes\n$/);
    const unique = ["workflow", "submit", await fileOf("waiting.json", waiting), "--unique-key", "k"];
    assert.match(await done(...unique), /^accepted: workflow \S+ of 4 nodes\n$/);
    assert.match(await done(...unique), /^is there already: workflow \S+\n$/);
    const again = ["submit", file, "--idempotency-key", "once"];
    assert.equal(await workflow(...again), await workflow(...again));
  });

  it("are submitted from YAML, and followed to their end", async () => {
    const yaml =
      "name: of YAML\ninput: { day: monday }\noutput: { $from: a }\nnodes:\n  - name: a\n    target: { handler: echo }\n";
    const file = await fileOf("chain.yaml", `${yaml}    payload: { $from: $input, path: [day] }\n`);
    const text = await workflow("submit", file, "--watch");
    assert.match(text, /^accepted: workflow \S+ of 1 nodes\n/);
    assert.match(text, /\nstate +SUCCEEDED\n[^]*\nresult +"monday"\n/);
    const failing = await fileOf("failing.yml", `nodes: [{ name: a, target: { handler: sleep }, payload: no number }]`);
    assert.equal((await run(["workflow", "submit", failing, "--watch"])).code, 4);
    const bad = await run(["workflow", "submit", await fileOf("bad.yaml", "nodes: [a")]);
    assert.equal(bad.code, 2);
    assert.match(bad.stderr, /bad[.]yaml is not YAML: .* at line 1/);
    const recurring = ["workflow", "submit", file, "--every", "1h", "--watch"];
    assert.match((await run(recurring)).stderr, /--watch is for a workflow that runs once/);
  });

  it("are shown with their parents and sub-workflows, which only a list of the parent has", async () => {
    const inner = { name: "inner", workflow: { nodes: [{ name: "stuck", target: { handler: "nobody" } }] } };
    const file = await fileOf("nested.json", {
      nodes: [
        { name: "first", target: echo },
        { ...inner, dependsOn: ["first"] },
      ],
    });
    const { workflowId } = await json<SubmittedWorkflow>("workflow", "submit", file);
    for (;;) if ((await client.workflows.get(workflowId)).counts.RUNNING === 1) break;
    const shown = await workflow("show", workflowId);
    const child = /^inner +RUNNING +- +\$workflow +(\S+) +its sub-workflow runs$/m.exec(shown)?.[1] ?? "";
    assert.match(await workflow("show", child), new RegExp(`^parent +inner of ${workflowId}$`, "m"));
    assert.match(await workflow("explain", workflowId, "inner"), /its sub-workflow runs/);
    const listed = await jsonLines<{ workflowId: string }>("workflow", "list", "--parent", workflowId);
    assert.deepEqual(
      listed.map(({ workflowId: id }) => id),
      [child],
    );
    const all = await jsonLines<{ workflowId: string }>("workflow", "list");
    assert.ok(all.every(({ workflowId: id }) => id !== child));
    await workflow("cancel", workflowId);
  });

  it("are shown with the nodes for which blocked ones wait", async () => {
    const workflowId = await stuck();
    const text = await workflow("show", workflowId.slice(0, 30));
    assert.match(text, /^state +RUNNING$/m);
    assert.match(text, /^nodes +4: 1 BLOCKED, 1 PENDING, 1 SUCCEEDED, 1 SKIPPED$/m);
    assert.match(text, /^labels +team=a$/m);
    assert.match(text, /^first +SUCCEEDED +1 +echo +\S+$/m);
    assert.match(text, /^alarm +SKIPPED +- +echo +- +first is SUCCEEDED, not FAILED$/m);
    assert.match(text, /^last +BLOCKED +- +echo +- +waits for stuck$/m);
    assert.match(await workflow("show", workflowId, "--limit", "1"), /^… and 3 more nodes: see `workflow nodes \S+`$/m);
    assert.deepEqual(await json("workflow", "get", workflowId), await client.workflows.get(workflowId));
    const nodes = await jsonLines<WorkflowNode>("workflow", "nodes", workflowId, "--state", "blocked");
    assert.deepEqual(
      nodes.map(({ name, blockedBy }) => [name, blockedBy]),
      [["last", { open: 1, first: ["stuck"] }]],
    );
  });

  it("are listed by name and state", async () => {
    const [first, second] = [await stuck(), await stuck()];
    const args = ["workflows", "list", "--name", "waiting", "--state", "running"];
    const newest = await jsonLines<Workflow>(...args, "--limit", "2");
    assert.deepEqual(new Set(newest.map(({ workflowId }) => workflowId)), new Set([first, second]));
    assert.match(await done(...args), new RegExp(`^${second} +RUNNING +RUNNING +waiting +4 `, "m"));
    assert.equal(await workflow("list", "--name", "nothing has this name"), "no workflows\n");
  });

  it("are explained: one node, or all that run or could run", async () => {
    const workflowId = await stuck();
    assert.match(await workflow("explain", workflowId), /^stuck +PENDING +NO_WORKER_FOR_HANDLER /m);
    const explained = await jsonLines<NodeExplanation>("workflow", "explain", workflowId);
    assert.deepEqual([...new Set(explained.map(({ node }) => node))], ["stuck"]);
    const last = await workflow("explain", workflowId, "last");
    assert.match(last, new RegExp(`^node last of workflow ${workflowId} is BLOCKED\n`));
    assert.match(last, /^PARENTS_OPEN +it waits for other nodes of its workflow +open 1, first \["stuck"\]$/m);
  });

  it("are drawn for people and for other programs", async () => {
    const workflowId = await stuck();
    assert.deepEqual((await workflow("graph", workflowId)).split("\n"), [
      "4 nodes in 3 layers, FAIL_FAST",
      "",
      "1  first  SUCCEEDED",
      "   │",
      "2  stuck  PENDING    after first",
      "   alarm  SKIPPED    after first (FAILED)",
      "   │",
      "3  last   BLOCKED    after any of stuck, alarm",
      "",
    ]);
    assert.match(await workflow("graph", workflowId, "--format", "mermaid"), /^flowchart LR\n {2}n0\["first<br\/>/);
    assert.match(await workflow("graph", workflowId, "--format", "dot"), /^digraph workflow \{\n/);
    const graph = JSON.parse(await workflow("graph", workflowId, "--format", "json")) as WorkflowGraph;
    assert.deepEqual(graph, await json("workflow", "graph", workflowId));
    assert.deepEqual(graph.nodes[2]?.dependsOn, [{ node: "first", when: "FAILED" }]);
  });

  it("are cancelled", async () => {
    const workflowId = await stuck();
    assert.match(await workflow("cancel", workflowId), /^cancel/);
    await client.workflows.waitFor(workflowId);
    assert.equal(await workflow("cancel", workflowId), "cancelled\n");
    assert.match(await workflow("explain", workflowId), / is CANCELLED since \S+, and waits for nothing any more\n$/);
    assert.equal((await run(["workflow", "show", workflowId, "--wait"])).code, 4);
  });

  it("are followed until they are final", async () => {
    const gate = Promise.withResolvers<void>();
    const gated = task({ name: "gated", run: () => gate.promise });
    const broken = task({ name: "broken", run: () => Promise.reject(new TerminalError("no disk")) });
    const worker = new Worker({ url: server.grpcAddress, tasks: [gated, broken], warn: () => undefined });
    await worker.start();
    const file = await fileOf("gated.json", {
      nodes: [
        { name: "gate", target: { handler: "gated" } },
        { name: "after", target: { handler: "broken" }, dependsOn: ["gate"] },
      ],
    });
    const { workflowId } = await json<SubmittedWorkflow>("workflow", "submit", file);
    const watch = new LongCommand(["workflow", "watch", workflowId], server.clientEnv);
    await watch.says(/Z {2}workflow \S+ is RUNNING in mode RUNNING, nodes 2: 1 BLOCKED, 1 \w+\n/);
    gate.resolve();
    const { code, stdout, stderr } = await watch.done;
    assert.deepEqual([code, stderr], [4, ""]);
    assert.match(stdout, /Z {2}node gate is SUCCEEDED, was \w+\n/);
    assert.match(stdout, /Z {2}node after is DEAD, was \w+: TerminalError: no disk\n/);
    assert.match(stdout, /Z {2}workflow \S+ is DEAD, nodes 2: 1 SUCCEEDED, 1 DEAD: \S+: [^\n]*\n$/);
    const forPrograms = await run(["workflow", "watch", workflowId, "--json"]);
    assert.equal(forPrograms.code, 4);
    assert.deepEqual(
      linesOf<{ state: string; changed: unknown }>(forPrograms.stdout).map(({ state, changed }) => [state, changed]),
      [
        [
          "DEAD",
          [
            { node: "gate", state: "SUCCEEDED" },
            { node: "after", state: "DEAD" },
          ],
        ],
      ],
    );
    assert.match(await workflow("show", workflowId), /^after +DEAD +1 +broken +\S+ +TerminalError: no disk$/m);
    await areRetried(workflowId);
    await worker.stop();
  });

  it("are paused, resumed, and get signals by the names of their nodes", async () => {
    const approve = task({ name: "approve", run: (_: null, { step }) => step.waitForSignal("approved") });
    const worker = new Worker({ url: server.grpcAddress, tasks: [approve], warn: () => undefined });
    await worker.start();
    const nodes = [
      { name: "first", target: echo },
      { name: "approval", target: { handler: "approve" }, dependsOn: ["first"] },
    ];
    const { workflowId } = await json<SubmittedWorkflow>(
      "workflow",
      "submit",
      await fileOf("approved.json", { nodes }),
    );
    assert.equal(await workflow("pause", workflowId), "paused\n");
    assert.deepEqual(await json("workflow", "pause", workflowId), { workflowId, outcome: "PAUSED" });
    assert.match(await workflow("show", workflowId), /^mode +RUNNING, paused$/m);
    assert.match(await workflow("list"), new RegExp(`^${workflowId} +RUNNING +RUNNING, paused `, "m"));
    assert.match(await workflow("explain", workflowId), / is RUNNING in mode RUNNING, paused, until /);
    assert.match(await workflow("explain", workflowId, "approval"), /WORKFLOW_PAUSED +its workflow is paused/);
    const signal = ["workflow", "signal", workflowId, "approval", "approved", "--id", "s1"] as const;
    assert.equal(await done(...signal, "--data", "true"), "accepted: signal s1\n");
    assert.equal(await done(...signal, "--data", "true"), "the node had the signal already: signal s1\n");
    assert.equal(await workflow("resume", workflowId), "resumed\n");
    const { state } = await client.workflows.waitFor(workflowId);
    assert.equal(state, "SUCCEEDED");
    await worker.stop();
  });

  it("are followed across a restart of the server", async () => {
    const workflowId = await stuck();
    const watch = new LongCommand(["workflow", "watch", workflowId], server.clientEnv);
    await watch.says(/is RUNNING in mode RUNNING/);
    server.command.signal("SIGKILL");
    await server.command.done;
    const again = serveOn(server.dataDir, { MAINSPRING_HTTP: new URL(server.httpUrl).host });
    const [, grpcAddress = ""] = await again.says(/workers +(\d\S+)[^]*curl/);
    const stopFirst = server.stop;
    const stop = async () => {
      again.signal("SIGTERM");
      await again.done;
      await stopFirst();
    };
    server = { ...server, grpcAddress, command: again, stop };
    await client.workflows.cancel(workflowId);
    const { code, stdout, stderr } = await watch.done;
    assert.deepEqual([code, stderr], [4, ""]);
    assert.match(stdout, /workflow \S+ is CANCELLED, nodes 4: [^\n]*\n$/);
  });

  /** @param dead a run whose node `gate` has SUCCEEDED and whose node `after` is always DEAD */
  async function areRetried(dead: string): Promise<void> {
    const retried = await run(["workflow", "retry", dead, "--wait"]);
    assert.deepEqual([retried.code, retried.stderr], [4, ""]);
    assert.match(retried.stdout, new RegExp(`^retry of +${dead}$`, "m"));
    assert.match(retried.stdout, /^gate +SUCCEEDED +- +gated +- +kept from execution \S+$/m);
    const retry = /^retried by +(\S+)$/m.exec(await workflow("show", dead))?.[1] ?? "";
    const { workflowId, retryOf } = await json<RetriedWorkflow>("workflow", "retry", retry, "--from", "gate", "after");
    assert.equal(retryOf, retry);
    const { counts } = await client.workflows.waitFor(workflowId);
    assert.deepEqual([counts.SUCCEEDED, counts.DEAD], [1, 1]);
    const unknown = await run(["workflow", "retry", workflowId, "--from", "gate", "--from", "none"]);
    assert.match(unknown.stderr, /from\[1\]: the workflow has no node "none"/);
    const accepted = await workflow("retry", workflowId, "--idempotency-key", "again");
    assert.match(accepted, new RegExp(`^accepted: workflow \\S+ of 2 nodes, which retries ${workflowId}\n`));
  }

  it("are refused with the fault, and with what would be right", async () => {
    const one = JSON.stringify({ nodes: [{ name: "a", target: echo }] });
    const submitted = await run(["workflow", "submit", "-", "--json"], one);
    const { workflowId, executionIds } = JSON.parse(submitted.stdout) as SubmittedWorkflow;
    const { executionId } = await client.submit({ target: echo });
    const nobody = "01890a5d-ac96-774b-bcce-b302099a8057";
    const looped = { nodes: [{ name: "a", target: echo, dependsOn: ["a"] }] };
    const faults: [args: string[], code: number, message: RegExp][] = [
      [["submit", join(folder, "none.json")], 2, /no such file.*none\.json.*; give a file with the JSON of a workflow/],
      [["submit", await fileOf("bad.json", "{nope")], 2, /bad\.json is not JSON: .*; give a file with the JSON/],
      [["submit", await fileOf("list.json", [])], 2, /list\.json holds no object with a list of `nodes`: give a wor/],
      [["submit", await fileOf("loop.json", looped)], 1, /nodes\[0\]\.dependsOn\[0\].*node "a" depends on itself/],
      [["submit"], 2, /missing required argument 'file'/],
      [["show", "nonsense"], 2, /Give an id as `list` shows it, or its beginning/],
      [["show", "ffffffff"], 1, /no workflow has an id that begins with ffffffff: see `workflow list`/],
      [["show", nobody], 1, new RegExp(`no workflow has the id ${nobody}.*: see \`workflow list\``)],
      [["cancel", executionId], 1, new RegExp(`is an execution of a job.*see \`executions get ${executionId}\``)],
      [
        ["watch", executionIds["a"] ?? ""],
        1,
        new RegExp(`give the id of its workflow, ${workflowId}, whose node is a`),
      ],
      [["pause", nobody], 1, new RegExp(`no workflow has the id ${nobody}.*: see \`workflow list\``)],
      [["signal", workflowId, "b", "go"], 1, /the workflow has no node "b"\. Its nodes are a$/m],
      [["explain", workflowId, "b"], 1, /the workflow has no node "b"\. Its nodes are a$/m],
      [["graph", workflowId, "--format", "svg"], 2, /Allowed choices are text, mermaid, dot, json/],
      [["graph", workflowId, "--json", "--format", "dot"], 2, /leave it out for --format dot/],
      [["list", "--state", "blocked"], 2, /Allowed choices are PENDING, /],
      [["nodes", workflowId, "--state", "nope"], 2, /Allowed choices are BLOCKED, PENDING, /],
    ];
    for (const [args, code, message] of faults) {
      const ended = await run(["workflow", ...args]);
      assert.match(ended.stderr, message, args.join(" "));
      assert.deepEqual([ended.code, ended.stdout], [code, ""], args.join(" "));
    }
  });
});
