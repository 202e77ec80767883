import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { placesOf } from "./completion/places.ts";
import { program } from "./program.ts";
import { mainspring } from "./testing/command.ts";

/** What bash would offer for each of these command lines, of which the last word is being typed. */
async function offered(...commandLines: string[][]): Promise<string[]> {
  const { stdout: script } = await mainspring(["completion", "bash"]);
  const asks = commandLines.map(
    (words) =>
      `COMP_WORDS=(mainspring ${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length}; COMPREPLY=(); ` +
      `_mainspring; echo "\${COMPREPLY[*]}"`,
  );
  const { stdout } = await promisify(execFile)("bash", ["-uc", [script, ...asks].join("\n")]);
  return stdout.split("\n").slice(0, -1);
}

describe("completion", () => {
  it("offers in bash what may follow", async () => {
    assert.deepEqual(
      await offered(
        ["dead"],
        ["executions", "c"],
        ["executions", "list", "--state", "S"],
        ["executions", "--json", "list", "--s"],
        ["completion", ""],
        // A value that may be anything.
        ["jobs", "list", "--pool", ""],
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
