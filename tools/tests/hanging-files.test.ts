import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { it } from "node:test";
import { EmptyProject } from "../pack/empty-project.ts";

const RUNNER = resolve(import.meta.dirname, "../run-tests.ts");
const FAILS_TO_OPEN = `
  import { createServer } from "node:net";
  import { after, before, describe, it } from "node:test";
  describe("a server beside one that does not start", () => {
    let other;
    before(() => {
      createServer().listen(0, "127.0.0.1");
      throw new Error("the other one does not start");
    });
    after(() => other.close());
    it("is asked", () => {});
  });`;
const WORKS = 'import { it } from "node:test";\nit("works", () => {});';

it("a file whose hook has failed is ended by its name, and the others report as ever", async (t) => {
  const project = await EmptyProject.make();
  t.after(() => project.remove());
  await mkdir(join(project.folder, "tools"));
  await project.write("tools/fails.test.ts", FAILS_TO_OPEN);
  await project.write("tools/works.test.ts", WORKS);
  const env = { MAINSPRING_TEST_QUIET_SEC: "0.5" };
  const { code, stdout, stderr } = await project.run(process.execPath, [RUNNER, "unit"], env);
  assert.match(stderr, /^run-tests: tools\/fails.test.ts has reported nothing for 0.5 s after a hook of it failed/m);
  assert.match(stdout, /Error: the other one does not start/);
  assert.match(stdout, /^✔ works/m);
  assert.equal(code, 1);
});
