import assert from "node:assert/strict";
import { createServer, type IncomingMessage } from "node:http";
import { type AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { after, before, it } from "node:test";
import { task, Worker } from "@mainspring/sdk";
import { Commands } from "./testing/command.ts";
import { OBEYED } from "./testing/obeyed.ts";
import { startServer, type TestServer } from "./testing/server.ts";

/** Text that clears the screen, sets the window's title, reverses the direction of writing, and starts a new line. */
const HOSTILE = "\u001b[2J\u001b]0;x\u0007\u009b2J\u202e\r\nmainspring: all is well";
/** Values that the command sends back or on which it depends, so that the proxy leaves them unchanged. */
const KEPT = new Set(["nextCursor", "kind"]);

let server: TestServer;
let proxy: { url: string; close(): void };
let executionId: string;
let loggedId: string;
let workflowId: string;
before(async () => {
  server = await startServer();
  const own = new Commands(() => server.clientEnv);
  const { executionId: id } = await own.json<{ executionId: string }>(
    "submit",
    "nobody-runs-this",
    "--label",
    "team=a",
  );
  executionId = id;
  const graph = { nodes: [{ name: "a", target: { handler: "nobody-runs-this" } }] };
  const submitted = await own.run(["workflow", "submit", "-", "--json"], JSON.stringify(graph));
  workflowId = JSON.parse(submitted.stdout).workflowId;
  await own.done("submit", "echo", "--payload", '{"a":"b"}', "--wait");
  await own.done("submit", "echo", "--name", "nightly", "--schedule", "0 3 * * *");
  const says = task({
    name: "says",
    run: async (_: null, ctx) => {
      ctx.log("a line");
      await ctx.step.run("a step", () => "a value");
      await ctx.checkpoint("a checkpoint");
    },
  });
  const worker = new Worker({ url: server.grpcAddress, tasks: [says] });
  await worker.start();
  const { executionId: ran } = await own.json<{ executionId: string }>("submit", "says", "--wait");
  loggedId = ran;
  await worker.stop();
  proxy = await hostileProxy(server.httpUrl);
});
after(async () => {
  proxy.close();
  await server.stop();
});

/** Proxy that adds hostile text to every string of the server's answers. */
async function hostileProxy(target: string) {
  const front = createServer(async (request, response) => {
    const answer = await forwarded(target, request);
    const type = answer.headers.get("content-type") ?? "";
    const body = Buffer.from(await answer.arrayBuffer());
    response.writeHead(answer.status, { "content-type": type });
    response.end(type.includes("json") ? JSON.stringify(soiled(JSON.parse(body.toString()), "")) : body);
  });
  await new Promise<void>((resolve) => front.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(front.address() as AddressInfo).port}`;
  return { url, close: () => front.close() };
}

async function forwarded(target: string, request: IncomingMessage): Promise<Response> {
  const { method = "GET", url = "/", headers } = request;
  const body = method === "GET" ? null : await buffer(request);
  const type = headers["content-type"] ?? "application/json";
  return await fetch(`${target}${url}`, { method, body, ...(body?.length && { headers: { "content-type": type } }) });
}

function soiled(value: unknown, key: string): unknown {
  if (typeof value === "string") return KEPT.has(key) ? value : value + HOSTILE;
  if (Array.isArray(value)) return value.map((item) => soiled(item, key));
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, soiled(inner, name)]));
}

/** Commands that show text of the server; ID stands for an execution, RAN for one whose handler has logged a line, RUN for a workflow. */
const COMMANDS: readonly (readonly string[])[] = [
  ["jobs", "list"],
  ["jobs", "get", "nightly"],
  ["jobs", "next", "nightly"],
  ["jobs", "ledger", "nightly"],
  ["jobs", "calendar", "nightly"],
  ["jobs", "overdue"],
  ["jobs", "missed"],
  ["jobs", "trigger", "nightly"],
  ["executions", "list"],
  ["executions", "get", "ID"],
  ["executions", "explain", "ID"],
  ["executions", "logs", "RAN"],
  ["executions", "logs", "RAN", "--json"],
  ["executions", "logs", "RAN", "--follow"],
  ["executions", "logs", "ID"],
  ["executions", "steps", "RAN"],
  ["executions", "steps", "RAN", "--json"],
  ["executions", "signal", "ID", "go"],
  ["executions", "cancel", "ID"],
  ["workflow", "list"],
  ["workflow", "show", "RUN"],
  ["workflow", "nodes", "RUN"],
  ["workflow", "explain", "RUN"],
  ["workflow", "explain", "RUN", "a"],
  ["workflow", "explain", "RUN", "b"],
  ["workflow", "graph", "RUN"],
  ["workflow", "graph", "RUN", "--format", "mermaid"],
  ["workflow", "cancel", "RUN"],
  ["workflow", "show", "ID"],
  ["dead-letters", "list"],
  ["dead-letters", "replay", "ID"],
  ["pools", "list"],
  ["pools", "get", "default"],
  ["pools", "set", "default", "--max-running", "5"],
  ["workers", "list"],
  ["names", "pools"],
  ["names", "jobs"],
  ["schedules", "preview", "0 3 * * *"],
  ["schedules", "preview", "61 * * * *"],
  ["stats"],
  ["cluster", "status"],
  ["tzdata", "status"],
  ["submit", "echo"],
  ["submit", "echo", "--schedule", "0 3 30 2 *"],
  ["jobs", "get", "none"],
];

it("prints nothing of any answer that a terminal would obey, for people and for programs", async () => {
  const commands = new Commands(() => ({ ...server.clientEnv, MAINSPRING_URL: proxy.url }));
  const faults: string[] = [];
  let shown = 0;
  for (const command of COMMANDS) {
    const args = command.map((word) => ({ ID: executionId, RAN: loggedId, RUN: workflowId })[word] ?? word);
    for (const form of command[1] === "list" ? [[], ["--json"]] : [[]]) {
      const { stdout, stderr } = await commands.run([...args, ...form]);
      const said = `${stdout}\n${stderr}`;
      if (OBEYED.test(said) || /^mainspring: all is well/m.test(said)) faults.push([...args, ...form].join(" "));
      if (said.includes("\\u001b")) shown++;
    }
  }
  assert.deepEqual(faults, []);
  assert.ok(shown > COMMANDS.length / 2, `${shown} outputs have text of the server`);
});
