import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { mainspring } from "../test/testing/command.ts";
import { startServer, type TestServer } from "../test/testing/server.ts";
import { placesOf } from "./completion/places.ts";
import { program } from "./program.ts";

/** Candidates that bash offers for each of these command lines, where the user is typing the last word. */
function offered(...commandLines: string[][]): Promise<string[]> {
  return offeredBy({}, ...commandLines);
}

/** @param env environment of the shell */
async function offeredBy(env: Record<string, string>, ...commandLines: string[][]): Promise<string[]> {
  const { stdout: script } = await mainspring(["completion", "bash"]);
  const asks = commandLines.map(
    (words) =>
      `COMP_WORDS=(mainspring ${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length}; COMPREPLY=(); ` +
      `_mainspring; echo "\${COMPREPLY[*]}"`,
  );
  const PATH = `${fileURLToPath(new URL("../../../node_modules/.bin", import.meta.url))}:${process.env.PATH}`;
  const options = { env: { ...process.env, PATH, ...env } };
  const { stdout } = await promisify(execFile)("bash", ["-uc", [script, ...asks].join("\n")], options);
  return stdout.split("\n").slice(0, -1);
}

describe("completion of names", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer();
  });
  after(() => server.stop());

  it("offers pools and jobs that the server knows, and runs nothing of a name", async () => {
    const env = server.clientEnv;
    const folder = await mkdtemp(join(tmpdir(), "mainspring-names-"));
    const evil = `$(touch ${folder}/evil)`;
    for (const name of ["nightly", evil, "two words"])
      assert.equal((await mainspring(["submit", "echo", "--delay", "1h", "--name", name], { env })).code, 0);
    assert.equal((await mainspring(["names", "jobs"], { env })).stdout, "nightly\n");
    const asked = [
      ["pools", "get", "d"],
      ["executions", "list", "--pool", "d"],
      ["jobs", "get", "n"],
      ["executions", "list", "--job", "n"],
      ["jobs", "get", "$"],
      ["pools", "pause", "--f"],
    ];
    assert.deepEqual(await offeredBy(env, ...asked), ["default", "default", "nightly", "nightly", "", "--force"]);
    assert.deepEqual(await readdir(folder), []);
    await rm(folder, { recursive: true });
  });

  it("offers nothing, and says nothing, where no server answers", async () => {
    const away = { MAINSPRING_URL: "http://127.0.0.1:1" };
    assert.deepEqual(await mainspring(["names", "pools"], { env: away }), { code: 0, stdout: "", stderr: "" });
  });
});

describe("completion", () => {
  it("offers in bash what may follow", async () => {
    assert.deepEqual(
      await offered(
        ["dead"],
        ["executions", "ca"],
        ["executions", "list", "--state", "S"],
        ["executions", "--json", "list", "--s"],
        ["completion", ""],
        // The value may be anything.
        ["jobs", "list", "--label", ""],
        ["nonsense"],
      ),
      ["dead-letters", "cancel", "SCHEDULED SUCCEEDED SKIPPED", "--state --since", "bash zsh fish --help", "", ""],
    );
  });

  it("knows every command and option in every shell", async () => {
    for (const shell of ["bash", "zsh", "fish"]) {
      const { code, stdout } = await mainspring(["completion", shell]);
      assert.equal(code, 0);
      for (const { at, words, flags } of placesOf(program())) {
        assert.ok(stdout.includes(at), `${shell}: ${at}`);
        for (const { word } of [...words, ...flags])
          assert.ok(stdout.includes(word.replace(/^--/, "")), `${shell}: ${word}`);
      }
    }
  });

  it("is not all that tells of the commands: each has its line in the reference", async () => {
    const page = await readFile(new URL("../../../docs/reference/command.md", import.meta.url), "utf8");
    for (const { at } of placesOf(program()).slice(1)) {
      if (placesOf(program()).every((place) => !place.at.startsWith(`${at} `)))
        assert.ok(page.includes(`\`${at.replace("mainspring ", "")}`), at);
    }
  });
});
