import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { linksLead } from "./link-rule.ts";
import { noDrawers } from "./name-rules.ts";
import { plainWords } from "./plain-words.ts";
import { functionLength } from "./size-rules.ts";
import type { Rule } from "./source.ts";
import { importsNameFiles, noBareDate } from "./syntax-rules.ts";
import { tenantsFromCredentials } from "./tenant-rule.ts";
import { noTestLeftOut, testsAssert } from "./test-rules.ts";
import { words } from "./word-rules.ts";

const messages = (rule: Rule, path: string, text: string) => rule({ path, text }).map(({ message }) => message);
const lines = (count: number) => "x();\n".repeat(count);

describe("tidy", () => {
  it("wants functions that can be read in one go", () => {
    assert.deepEqual(messages(functionLength, "a.ts", `function f() {\n${lines(68)}}`), []);
    assert.match(messages(functionLength, "a.ts", `const f = () => {\n${lines(69)}};`)[0] ?? "", /71 lines/);
    assert.deepEqual(messages(functionLength, "a.test.ts", `describe("f", () => {\n${lines(99)}});`), []);
    const suite = `export function suite() {\nit("a", () => {});\n${lines(99)}}`;
    assert.deepEqual(messages(functionLength, "store.conformance.ts", suite), []);
  });

  it("wants tenants of the api from credentials", () => {
    const api = "packages/server/src/api/jobs/job-routes.ts";
    const found = (path: string, text: string) => messages(tenantsFromCredentials, path, text).length;
    for (const text of ["DEFAULT_TENANT", 'tenantOf("a")', "queries: StoreQueries", "name as Tenant"])
      assert.equal(found(api, text), 1, text);
    assert.equal(found("packages/server/src/engine/a.ts", `name ${"as"} Tenant`), 1);
    assert.equal(found("packages/server/src/security/tenant.ts", `name ${"as"} Tenant`), 0);
    assert.equal(found("packages/server/src/adapters/sql/a.ts", "DEFAULT_TENANT"), 0);
  });

  it("wants names that say something", () => {
    assert.equal(messages(noDrawers, "src/utils/time.ts", "").length, 1);
    assert.equal(messages(noDrawers, "src/helpers.ts", "").length, 1);
    assert.deepEqual(messages(noDrawers, "src/useful.ts", ""), []);
  });

  it("finds what was left lying about", () => {
    const todo = ["TO", "DO"].join("");
    assert.deepEqual(
      words({ path: "a.ts", text: `fine\n// ${todo}: later` }).map(({ line }) => line),
      [2],
    );
    assert.equal(messages(words, "a.md", `see issue ${"#"}12`).length, 1);
    for (const command of ["npx", "npx -y", "npm install --save-dev", "pnpm add"])
      assert.equal(messages(words, "a.md", `${command} ${"main"}spring serve`).length, 1, command);
    assert.deepEqual(messages(words, "a.md", "npx @mainspring/cli serve; npm run mainspring -- --help"), []);
    assert.deepEqual(messages(words, "a.md", "the methods of doing that"), []);
  });

  it("wants sentences that name their subject", () => {
    const said = (comment: string) => messages(plainWords, "a.ts", `${comment}\nconst a = 1;\n`);
    assert.deepEqual(said("/** Size of the answer, in bytes. What is it for? */"), []);
    assert.match(said("/** What it weighs. */")[0] ?? "", /not with "What"/);
    assert.match(said("/** Fine. Those that wait. */")[0] ?? "", /not with "Those"/);
    assert.match(said("/**\n * A size.\n * @returns what it weighs.\n * @param a Of the node.\n */")[0] ?? "", /"Of"/);
    assert.match(said("// The node waits until he is asked.")[0] ?? "", /"he" is for persons/);
    assert.deepEqual(said("// The size is that\n// Of course is no sentence here."), []);
    assert.equal(messages(plainWords, "a.ts", 'const a = "What is in a string";').length, 0);
    const described = (text: string) => messages(plainWords, "packages/contract/src/a.ts", `const a = "${text}";`);
    assert.match(described("Fine. What is in a description.")[0] ?? "", /not with "What"/);
    assert.deepEqual(described("What it is"), []);
    assert.equal(
      messages(plainWords, "a.md", "- Fine.\n- Whoever asks.\n\n| What | cells |\n```\nWhat code.\n```\n").length,
      1,
    );
  });

  it("lets only the Runtime read the clock", () => {
    assert.equal(messages(noBareDate, "packages/sdk/src/a.ts", "f(new Date())").length, 1);
    assert.deepEqual(messages(noBareDate, "packages/sdk/src/a.ts", "f(new Date(nowMs))"), []);
    assert.deepEqual(messages(noBareDate, "packages/server/src/adapters/system/a.ts", "new Date()"), []);
  });

  it("wants imports to name the file that is there", () => {
    const rule = importsNameFiles((path) => path === "src/domain/job.ts");
    assert.deepEqual(messages(rule, "src/engine/a.ts", 'import { f } from "../domain/job.ts";'), []);
    assert.equal(messages(rule, "src/engine/a.ts", 'export * from "../domain/job.js";').length, 1);
    assert.equal(messages(rule, "src/engine/a.ts", 'await import("../domain/jobs.ts");').length, 1);
  });

  it("wants every test to run and to assert", () => {
    assert.equal(messages(noTestLeftOut, "a.test.ts", 'it.skip("f", () => {});').length, 1);
    assert.equal(messages(noTestLeftOut, "a.test.ts", 'it("f", { todo: true }, () => {});').length, 1);
    const unixOnly = 'it("f", { skip: process.platform === "win32" }, () => {});';
    assert.deepEqual(messages(noTestLeftOut, "a.test.ts", unixOnly), []);
    assert.equal(messages(noTestLeftOut, "a.test.ts", unixOnly.replace(/process.*"win32"/, "true")).length, 1);
    assert.equal(messages(testsAssert, "a.test.ts", 'it("f", () => { f(); });').length, 1);
    const indirect = 'const same = (x) => assert.equal(x, 1); it("f", () => { same(f()); });';
    assert.deepEqual(messages(testsAssert, "a.test.ts", indirect), []);
    assert.deepEqual(messages(testsAssert, "a.test.ts", 'it("f", () => { assert.ok(f()); });'), []);
  });

  it("wants links of pages to lead somewhere", () => {
    const rule = linksLead((path) => (path === "docs/a.md" ? "# A\n## Part `one`\n```sh\n# none\n```" : false));
    const good = "# Here\n[a](docs/a.md#part-one) [b](https://example.com) [c](#here) `[d](code.md)`";
    assert.deepEqual(messages(rule, "README.md", good), []);
    assert.deepEqual(messages(rule, "docs/b.md", "[a](b/a.md)"), ["leads nowhere: b/a.md"]);
    const headings = messages(rule, "docs/b.md", "[a](a.md#none)\n[b](#nowhere)");
    assert.deepEqual(headings, ["there is no such heading: a.md#none", "there is no such heading: #nowhere"]);
  });
});
