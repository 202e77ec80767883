import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { globSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { registryPrograms, startRegistry, type TestRegistry } from "../registry/start-registry.ts";
import { EmptyProject, type Ended } from "./empty-project.ts";
import { type GuidePage, guidePage } from "./guide-page.fixture.ts";
import { Newcomer } from "./newcomer.fixture.ts";
import {
  GENERATED_TYPES_USED,
  JOBS_COMMONJS,
  JOBS_MODULE,
  SIMULATE_COMMONJS,
  SIMULATE_MODULE,
  SIMULATED_WITHOUT_TESTKIT,
  strictConfig,
  TYPED,
} from "./programs.fixture.ts";
import { PUBLISHED } from "./published.ts";

const ROOT = resolve(import.meta.dirname, "../..");
/** Versions of Node that the SDK and the test kit run on. */
const NODES = [20, 22, 24, 26];
const DONE = { doubled: 42, attempt: 1, apart: ["process", "thread"], refused: "BAD_REQUEST" };
const MODULES = JSON.stringify({ private: true, type: "module" });
/** As `npm init -y` writes it. */
const COMMONJS = JSON.stringify({ name: "project", type: "commonjs" });

describe("the published packages", () => {
  let folder: string;
  /** Printed by the dry run of a release, which makes the packages. */
  let announced: string;
  let programs: string;
  let registry: TestRegistry | undefined;
  let page: GuidePage;
  let newcomer: Newcomer | undefined;
  const projects: EmptyProject[] = [];

  before(async () => {
    page = guidePage();
    folder = await mkdtemp(join(tmpdir(), "mainspring-packed-"));
    const release = [join(ROOT, "tools/release.ts"), "--dry-run", "--to", folder];
    const released = promisify(execFile)(process.execPath, release, { cwd: ROOT });
    [programs, { stdout: announced }] = await Promise.all([registryPrograms(), released]);
    registry = await startRegistry("@mainspring");
    await Promise.all(globSync(join(folder, "*.tgz")).map(registry.publish));
  });

  // This runs after a failed start too.
  after(async () => {
    await newcomer?.leave();
    for (const project of projects) await project.remove();
    await registry?.stop();
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  });

  const node = (version: number) => join(programs, `node-${version}/bin/node`);
  /** The newest Node that is under support serves npm and `npx`, as on a user's machine. */
  const environment = () => ({ PATH: [join(programs, "node-24/bin"), process.env["PATH"]].join(delimiter) });
  const clientEnv = () => newcomer?.clientEnv ?? assert.fail("there is no server");

  async function newProject(files: Record<string, string>): Promise<EmptyProject> {
    const project = await EmptyProject.make({ ".npmrc": registry?.npmrc ?? "", ...files });
    projects.push(project);
    return project;
  }

  async function printed(project: EmptyProject, program: string, ...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await project.run(program, args, { ...environment(), ...clientEnv() });
    assert.deepEqual({ code, stderr }, { code: 0, stderr: "" }, stdout);
    return stdout;
  }

  async function runOn(project: EmptyProject, versions: readonly number[], file: string): Promise<unknown[]> {
    const results = [];
    for (const version of versions) {
      const { node: ranOn, ...result } = JSON.parse(await printed(project, node(version), file));
      assert.ok(ranOn.startsWith(`v${version}.`));
      results.push(result);
    }
    return results;
  }

  it("take a newcomer from npm init to a finished job of a task of their own, as the guide says", async (t) => {
    newcomer = new Newcomer(await newProject({}), environment());
    const { printed: output, seconds } = await newcomer.follow(page);
    assert.equal(output, page.output);
    t.diagnostic(`from npm init to a finished job: ${seconds.toFixed(1)} s`);
  });

  describe("in a project", { concurrency: 2 }, () => {
    it("with ES modules: the SDK runs a worker and a client on each Node", async () => {
      const project = await newProject({ "package.json": MODULES, "jobs.js": JOBS_MODULE });
      await project.install("@mainspring/sdk");
      const all = await runOn(project, NODES, "jobs.js");
      assert.deepEqual(
        all,
        NODES.map(() => DONE),
      );
    });

    it("with CommonJS: the SDK runs a worker and a client on each Node", async () => {
      const project = await newProject({ "package.json": COMMONJS, "jobs.js": JOBS_COMMONJS });
      await project.install("@mainspring/sdk");
      const all = await runOn(project, NODES, "jobs.js");
      assert.deepEqual(
        all,
        NODES.map(() => DONE),
      );
    });

    it("without the test kit: the SDK says what a simulated test needs", async () => {
      const project = await newProject({ "package.json": MODULES, "simulated.js": SIMULATED_WITHOUT_TESTKIT });
      await project.install("@mainspring/sdk");
      const { code, stderr } = await project.run(node(24), ["simulated.js"]);
      assert.equal(code, 1);
      assert.match(stderr, /npm install --save-dev @mainspring[/]testkit/);
    });

    it("with strict TypeScript 5 and 6: types of the SDK and of the API compile, in both forms of modules", async () => {
      const project = await newProject({ "package.json": MODULES, "typed.mts": TYPED, "typed.cts": TYPED });
      const types = ["@types/node@24.19.2", "openapi-typescript@7.13.0"];
      await project.install("@mainspring/sdk", "typescript@5.9.3", "typescript-6@npm:typescript@6.0.3", ...types);
      const [generator, api] = [
        "node_modules/openapi-typescript/bin/cli.js",
        `${clientEnv()["MAINSPRING_URL"]}/openapi.json`,
      ];
      await printed(project, node(24), generator, api, "--output", "api.ts");
      await project.write("generated.ts", GENERATED_TYPES_USED);
      await project.write("tsconfig.json", strictConfig({}, ["typed.mts", "typed.cts", "generated.ts"]));
      for (const compiler of ["typescript", "typescript-6"])
        assert.equal(await printed(project, node(24), `node_modules/${compiler}/bin/tsc`, "-p", "."), "");
    });

    it("with pnpm: the SDK runs jobs, and the test kit simulates them on each Node", async () => {
      const files = { "jobs.js": JOBS_MODULE, "simulate.js": SIMULATE_MODULE, "simulate.cjs": SIMULATE_COMMONJS };
      const workspace = { "package.json": MODULES, "pnpm-workspace.yaml": page.pnpmWorkspace };
      const project = await newProject({ ...workspace, ...files });
      const pnpm = join(programs, "pnpm/bin/pnpm.mjs");
      const store = ["--store-dir", join(folder, "pnpm-store")];
      const { code, stdout, stderr } = await project.run(
        node(24),
        [pnpm, "add", ...store, "@mainspring/sdk", "@mainspring/testkit"],
        environment(),
      );
      assert.equal(code, 0, stdout + stderr);
      assert.deepEqual(await runOn(project, [24], "jobs.js"), [DONE]);
      for (const file of ["simulate.js", "simulate.cjs"]) {
        const all = await runOn(project, NODES, file);
        assert.deepEqual(
          all,
          NODES.map(() => ({ result: 42 })),
        );
      }
    });
  });

  it("are announced by the dry run of a release, which brings their bill of materials", () => {
    const names = globSync("*.tgz", { cwd: folder });
    assert.deepEqual(
      names.filter((name) => !announced.includes(`  ${name}, `)),
      [],
    );
    assert.equal(names.length, PUBLISHED.length);
    assert.equal(globSync("mainspring-*.cdx.json", { cwd: folder }).length, 1);
  });

  it("have no fault that publint or Are The Types Wrong knows", async () => {
    for (const tarball of globSync(join(folder, "*.tgz"))) {
      await judgedBy("publint/src/cli.js", "--strict", tarball);
      // Resolution without `exports`, that of TypeScript before 4.7, finds the main door alone.
      const profile = /-(proto|sdk)-/.test(tarball) ? "node16" : "esm-only";
      if (!tarball.includes("tzdata"))
        await judgedBy("@arethetypeswrong/cli/dist/index.js", "--profile", profile, tarball);
    }
  });

  async function judgedBy(program: string, ...args: string[]): Promise<void> {
    const { code, stdout, stderr }: Ended = await (projects[0] as EmptyProject).run(node(24), [
      join(programs, program),
      ...args,
    ]);
    assert.equal(code, 0, `${program}: ${stdout}${stderr}`);
  }

  it("bring compiled code with maps, and no file that is for tests or names a folder of the builder", async () => {
    const project = newcomer?.project ?? assert.fail("there is no project");
    const files = globSync("node_modules/@mainspring/**/*.*", { cwd: project.folder });
    const known =
      /([.]js|[.]js[.]map|[.]d[.]ts|[.]proto|[.]mjs|tzdata[.]json|server[/]openapi[.]json|capacity[/]measured-costs[.]json|clickhouse[/]\d{4}-[\w-]+[.]sql|redis-store[/]lua[/]\d+-[\w-]+[.]lua|console[/](index[.]html|licenses[.]md|assets[/][\w-]+[.](css|svg))|package[.]json|README[.]md|docs[/]runbooks[/]\w+[.]md|deploy[/]prometheus[/]alerts[.]yml)$/;
    assert.deepEqual(
      files.filter((path) => !known.test(path)),
      [],
    );
    assert.deepEqual(
      files.filter((path) => /[.](test|fixture|conformance)[.]|testing[/]/.test(path)),
      [],
    );
    const scripts = files.filter((path) => /dist[/].*[.]js$/.test(path) && !/[/]esm[/]/.test(path));
    assert.deepEqual(
      scripts.filter((path) => !files.includes(`${path}.map`) && !path.includes("/gen/")),
      [],
    );
    const { stdout } = await project.run("grep", ["-rlF", ROOT, "node_modules/@mainspring"]);
    assert.equal(stdout, "");
  });
});
