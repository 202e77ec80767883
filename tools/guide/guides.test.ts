import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, it } from "node:test";
import { readPage } from "./blocks.ts";
import { runPage } from "./run-page.ts";
import { typeCheck } from "./type-check.ts";

const ROOT = resolve(import.meta.dirname, "../..");

const PATHS = globSync(["docs/tutorial.md", "docs/guides/*.md", "docs/coming-from/*.md", "docs/deploy/capacity.md"], {
  cwd: ROOT,
}).sort();
const pageAt = (path: string) => readPage(readFileSync(join(ROOT, path), "utf8"));

// The commands of the guides mostly wait.
describe("the guides", { concurrency: 2 }, () => {
  for (const path of PATHS) {
    it(`${path} says what works`, async () => {
      await assert.doesNotReject(runPage(pageAt(path)));
    });
  }

  it("show code that compiles, as strictly as ours", async () => {
    assert.deepEqual(await typeCheck(PATHS.map(pageAt)), { code: 0, stdout: "", stderr: "" });
  });
});

describe("a page", () => {
  it("has blocks to run, each with its line", () => {
    const page = readPage(
      "# A\n\n```sh\necho 1\n```\n```text output\n1\n```\n```ts a.ts\nexport {};\n```\n```json\n{}\n```\n",
    );
    assert.deepEqual(page, {
      needsServer: false,
      needsPostgres: false,
      blocks: [
        { kind: "sh", file: null, inBackground: false, needsPeers: false, text: "echo 1", line: 4 },
        { kind: "output", file: null, inBackground: false, needsPeers: false, text: "1", line: 7 },
        { kind: "ts", file: "a.ts", inBackground: false, needsPeers: false, text: "export {};", line: 10 },
      ],
    });
    assert.deepEqual(readPage("<!-- needs a server -->\n```sh no-run\nnpm ci\n```").blocks, []);
    assert.throws(() => readPage("```sh\necho"), /line 1: this fence is not closed/);
    assert.throws(() => readPage("```ts a.js\n```"), /line 1: behind `ts` stands nothing, `no-run`, for/);
  });

  it("runs from top to bottom: files for those after them, tests, programs, commands", async () => {
    const markdown = [
      "```ts greet.ts\nexport const greet = (name: string) => `Hello ${name}`;\n```",
      '```ts greet.test.ts\nimport assert from "node:assert/strict";\nimport { test } from "node:test";',
      'import { greet } from "./greet.ts";\ntest("greets", () => assert.equal(greet("Ada"), "Hello Ada"));\n```',
      '```ts\nimport { greet } from "./greet.ts";\nconsole.log(greet("Bob"));\n```\n```text output\nHello Bob\n```',
      "```sh\nls greet.ts\n```\n```text output\ngreet.ts\n```",
    ].join("\n");
    await assert.doesNotReject(runPage(readPage(markdown)));
  });

  it("leaves out the programs of other systems with what they print, unless their packages are there", async () => {
    const markdown = [
      '```ts peer old.ts\nimport "bullmq";\n```\n```sh peer\nnode old.ts; exit 3\n```\n```text output\nold\n```',
      "```sh\nls\n```\n```text output\nnode_modules\npackage.json\n```",
    ].join("\n");
    const page = readPage(markdown);
    assert.deepEqual(
      page.blocks.map(({ kind, file, needsPeers }) => [kind, file, needsPeers]),
      [
        ["ts", "old.ts", true],
        ["sh", null, true],
        ["output", null, true],
        ["sh", null, false],
        ["output", null, false],
      ],
    );
    await assert.doesNotReject(runPage(page));
    assert.equal((await typeCheck([page])).code, 2, "no file is left to compile");
  });

  it("fails by the line of the block that fails, and by another output", async () => {
    await assert.rejects(
      runPage(readPage("\n```sh\necho no >&2; false | cat\n```")),
      /line 3: this block failed \(1\)\nno/,
    );
    await assert.rejects(runPage(readPage("```sh\necho 1\n```\n```text output\n2\n```")), /line 5: the output differs/);
  });

  it("keeps what its commands set for those that follow, as a terminal does", async () => {
    const markdown =
      "```sh\nNAME=$(echo Ada)\nexport PATH=$PWD/bin:$PATH\n```\n```sh\necho $NAME; [[ $PATH == $PWD/bin:* ]]\n```\n```text output\nAda\n```";
    await assert.doesNotReject(runPage(readPage(markdown)));
  });

  it("runs in another terminal what does not end by itself, and fails where that did", async () => {
    const waits = "```sh\nuntil [ -s said ]; do sleep 0.02; done; cat said\n```\n```text output\nhello\n```";
    const lasting = "```sh background\nmkfifo never\necho hello > said; cat never\n```\n";
    await assert.doesNotReject(runPage(readPage(lasting + waits)));
    const failing = "```sh background\necho no >&2; echo hello > said; exit 3\n```\n";
    await assert.rejects(runPage(readPage(failing + waits)), /line 2: this block failed \(3\)\nno/);
  });

  it("finds a database for servers of its own where it needs one, and free addresses for those that it names", async () => {
    const serve =
      "MAINSPRING_STORE='postgres://me@db.example:5432/mine' MAINSPRING_HTTP=127.0.0.1:8080 MAINSPRING_GRPC=127.0.0.1:8081 mainspring serve";
    const ask = "curl -sS --retry 100 --retry-delay 1 --retry-all-errors -f http://127.0.0.1:8080/healthz";
    const markdown = `<!-- needs a PostgreSQL -->\n\`\`\`sh background\n${serve}\n\`\`\`\n\`\`\`sh\n${ask}\n\`\`\`\n`;
    await assert.doesNotReject(runPage(readPage(markdown)));
  });

  it("finds a server where it needs one, also by the address that it names", async () => {
    const markdown =
      "<!-- needs a server -->\n```sh\ncurl -sS http://127.0.0.1:8080/healthz\nnpm run -s mainspring -- executions list\n```";
    await assert.doesNotReject(runPage(readPage(markdown)));
  });
});
