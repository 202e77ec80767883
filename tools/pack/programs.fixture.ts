/** Programs of users, for projects that have the published packages alone. */

const RUN_JOBS = `
const pool = process.version.replaceAll(".", "-") + "-" + process.pid;
const double = task({ name: "double", run: async ({ n }, ctx) => ({ doubled: 2 * n, attempt: ctx.attempt }) });
const echo = new URL("data:text/javascript,export default (payload) => payload");
const [here, there] = ["process", "thread"].map((where) => task({ name: where, isolate: { in: where, module: echo } }));

async function main() {
  const worker = new Worker({ pool, tasks: [double, here, there] });
  await worker.start();
  const client = new Client();
  const handle = await double.submit(client, { n: 21 }, { pool });
  const apart = [];
  for (const isolated of [here, there]) {
    const job = await isolated.submit(client, isolated.name, { pool });
    apart.push(await job.result());
  }
  const refused = await client
    .submit({ target: { handler: "no spaces allowed" } })
    .catch((error) => error instanceof MainspringError && error.code);
  console.log(JSON.stringify({ node: process.version, ...(await handle.result()), apart, refused }));
  await worker.stop();
}
`;

/** A worker with a client: a handler here, one in a process and one in a thread, and an error of the SDK. */
export const JOBS_MODULE = `
import { createRequire } from "node:module";
import { Client, MainspringError, task, Worker } from "@mainspring/sdk";
${RUN_JOBS}
// A program that imports and requires the SDK has each class once.
if (createRequire(import.meta.url)("@mainspring/sdk").MainspringError !== MainspringError) throw new Error("two classes");
await main();
`;

export const JOBS_COMMONJS = `
const { Client, MainspringError, task, Worker } = require("@mainspring/sdk");
${RUN_JOBS}
void main();
`;

const SIMULATE = `
const double = task({ name: "double", run: async ({ n }) => 2 * n });

async function main() {
  const sim = await simulate({ tasks: [double] });
  const job = await double.submit(sim.client, { n: 21 }, { delayMs: 3_600_000 });
  await sim.clock.advance("1h 1s");
  console.log(JSON.stringify({ node: process.version, result: await job.result() }));
  await sim.stop();
}
`;

export const SIMULATE_MODULE = `
import { task } from "@mainspring/sdk";
import { simulate } from "@mainspring/testkit";
${SIMULATE}
await main();
`;

export const SIMULATE_COMMONJS = `
const { task } = require("@mainspring/sdk");
const { simulate } = require("@mainspring/testkit");
${SIMULATE}
void main();
`;

/** A module in TypeScript; as \`.cts\` it is CommonJS. */
export const TYPED = `
import { Client, type JobHandle, MainspringError, type Task, task, Worker, type WorkerOptions } from "@mainspring/sdk";
import { createWorkerCore } from "@mainspring/sdk/worker-core";

const double = task({ name: "double", run: async (payload: { n: number }, ctx) => 2 * payload.n + ctx.attempt });
const known: Task<{ n: number }, number> = double;
export const apart = task<{ n: number }, number>({ name: "apart", isolate: { in: "process", module: new URL("file:///x") } });
const options: WorkerOptions = { pool: "typed", slots: 3, tasks: [double] };
export const worker: Worker = new Worker(options);
export async function submitted(): Promise<number> {
  const handle: JobHandle<number> = await known.submit(new Client({ url: "http://127.0.0.1:1" }), { n: 21 });
  const result: number = await handle.result();
  return result;
}
export const core: (...all: Parameters<typeof createWorkerCore>) => { stop(): Promise<void> } = createWorkerCore;
export const isOurs = (error: unknown): boolean => error instanceof MainspringError && error.code === "UNAVAILABLE";
// @ts-expect-error: a payload of another type
void double.submit(new Client(), { n: "21" });
// @ts-expect-error: there is no such option
void new Worker({ tasks: [double], slot: 3 });
`;

/** A module that uses the types which a generator made of \`/openapi.json\`. */
export const GENERATED_TYPES_USED = `
import type { components, operations, paths } from "./api.js";

type Schemas = components["schemas"];
export const stateOf = (execution: Schemas["Execution"]): Schemas["ExecutionSummary"]["state"] => execution.state;
export const submission: Schemas["JobSubmission"] = { target: { handler: "echo" }, payload: { hello: "world" } };
export type Submitted = paths["/v1/jobs"]["post"]["responses"][201]["content"]["application/json"];
export type Names = keyof operations;
// @ts-expect-error: a priority that there is not
export const wrong: Schemas["JobSubmission"] = { target: { handler: "echo" }, priority: "SOMETIMES" };
`;

export const SIMULATED_WITHOUT_TESTKIT = `
import { simulate } from "@mainspring/sdk/testing";

await simulate();
`;

/** Options of a strict project. */
export const strictConfig = (options: object, files: readonly string[]): string =>
  JSON.stringify({
    compilerOptions: {
      target: "es2022",
      module: "nodenext",
      strict: true,
      exactOptionalPropertyTypes: true,
      skipLibCheck: false,
      types: ["node"],
      noEmit: true,
      ...options,
    },
    files,
  });
