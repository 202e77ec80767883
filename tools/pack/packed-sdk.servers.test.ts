import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { globSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { startServer, type TestServer } from "../../packages/cli/src/testing/server.ts";
import { EmptyProject } from "./empty-project.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const TSC = join(ROOT, "node_modules/typescript/bin/tsc");
/** The package that holds the program `node` for this machine, which the package `node` takes it from. */
const NODE_PACKAGE = `node-${process.platform === "win32" ? "win" : process.platform}-${process.arch}`;

const PROGRAM = `
import { Client, task, Worker } from "@mainspring/sdk";

const pool = "doubling";
const double = task({
  name: "double",
  run: async ({ n }, ctx) => ({ doubled: 2 * n, attempt: ctx.attempt, node: process.version }),
});
const module = new URL("data:text/javascript,export default (payload) => payload");
const [here, there] = ["process", "thread"].map((where) => task({ name: where, isolate: { in: where, module } }));
const worker = new Worker({ pool, tasks: [double, here, there] });
await worker.start();
const client = new Client();
const handle = await double.submit(client, { n: 21 }, { pool });
const apart = [];
for (const isolated of [here, there]) apart.push(await (await isolated.submit(client, isolated.name, { pool })).result());
console.log(JSON.stringify({ ...(await handle.result()), apart }));
await worker.stop();
`;

const TYPED_PROGRAM = `
import { Client, type JobHandle, MainspringError, type Task, task, Worker, type WorkerOptions } from "@mainspring/sdk";
import { createWorkerCore } from "@mainspring/sdk/worker-core";

const double = task({ name: "double", run: async (payload: { n: number }, ctx) => 2 * payload.n + ctx.attempt });
const known: Task<{ n: number }, number> = double;
export const apart = task<{ n: number }, number>({ name: "apart", isolate: { in: "process", module: new URL("file:///x") } });
const options: WorkerOptions = { pool: "typed", slots: 3, tasks: [double] };
export const worker: Worker = new Worker(options);
export const handle: JobHandle<number> = await known.submit(new Client({ url: "http://127.0.0.1:1" }), { n: 21 });
export const result: number = await handle.result();
export const core: (...all: Parameters<typeof createWorkerCore>) => { stop(): Promise<void> } = createWorkerCore;
export const isOurs = (error: unknown): boolean => error instanceof MainspringError && error.code === "UNAVAILABLE";
// @ts-expect-error: a payload of another type
void double.submit(new Client(), { n: "21" });
// @ts-expect-error: there is no such option
void new Worker({ tasks: [double], slot: 3 });
`;

const SIMULATED = `
import { simulate } from "@mainspring/sdk/testing";

await simulate();
`;

const STRICT = {
  compilerOptions: {
    target: "es2024",
    module: "nodenext",
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: false,
    types: ["node"],
    noEmit: true,
  },
  files: ["typed.ts"],
};

describe("the packed SDK in an empty project", () => {
  let project: EmptyProject;
  let server: TestServer | undefined;

  before(async () => {
    project = await EmptyProject.make();
    await project.install(...(await pack(project.folder)), await packageInUse("@types/node"));
    server = await startServer({ MAINSPRING_BUILTIN_WORKER: "off" });
  });

  // This runs after a failed start too.
  after(async () => {
    await server?.stop();
    await project.remove();
  });

  it("brings compiled code, the schemas of the protocol, and nothing that is for tests", () => {
    const files = globSync("node_modules/@mainspring/**/*.*", { cwd: project.folder });
    assert.ok(files.some((path) => path.endsWith("worker.proto")));
    const others = files.filter((path) => !/([.]js|[.]d[.]ts|[.]proto|package[.]json|README[.]md)$/.test(path));
    assert.deepEqual(others, []);
    assert.deepEqual(
      files.filter((path) => /[.](test|fixture)[.]|testing[/]/.test(path)),
      [],
    );
  });

  it("type-checks what a strict TypeScript project does with it", async () => {
    await project.write("typed.ts", TYPED_PROGRAM);
    await project.write("tsconfig.json", JSON.stringify(STRICT));
    assert.deepEqual(await project.run(process.execPath, [TSC, "-p", "."]), { code: 0, stdout: "", stderr: "" });
  });

  it("says what a simulated test needs beside it", async () => {
    await project.write("simulated.js", SIMULATED);
    const { code, stderr } = await project.run(process.execPath, ["simulated.js"]);
    assert.equal(code, 1);
    assert.match(stderr, /npm install --save-dev @mainspring[/]sim/);
  });

  it("runs a job on Node 24 and ends by itself", () => runJob(process.execPath, /^v24[.]/));

  it("runs a job on Node 22 and ends by itself", async () => {
    const home = await EmptyProject.make();
    try {
      await home.install(`${NODE_PACKAGE}@22.23.3`);
      await runJob(join(home.folder, "node_modules", NODE_PACKAGE, "bin/node"), /^v22[.]/);
    } finally {
      await home.remove();
    }
  });

  async function runJob(node: string, version: RegExp): Promise<void> {
    await project.write("program.js", PROGRAM);
    const { code, stdout, stderr } = await project.run(node, ["program.js"], server?.clientEnv);
    assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
    const { node: ranOn, ...result } = JSON.parse(stdout);
    assert.deepEqual(result, { doubled: 42, attempt: 1, apart: ["process", "thread"] });
    assert.match(ranOn, version);
  }
});

/** Packs by the tool, as a publisher does. @returns the tarballs */
async function pack(folder: string): Promise<string[]> {
  const tool = join(ROOT, "tools/pack.ts");
  const { stdout } = await promisify(execFile)(process.execPath, [tool, "proto", "sdk", "--to", folder]);
  return stdout.trim().split("\n");
}

/** Name and version of a development dependency of ours. */
async function packageInUse(name: string): Promise<string> {
  const { devDependencies } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8"));
  return `${name}@${devDependencies[name]}`;
}
