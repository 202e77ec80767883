import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, it } from "node:test";
import { commandFault, commandLines } from "./command-line.ts";

const faultsOf = (markdown: string) => commandLines(markdown).map(commandFault);

const ROOT = resolve(import.meta.dirname, "../..");

describe("the command lines of a page", () => {
  it("are those of blocks for a shell, and those of code within text", () => {
    const page = [
      "Run `mainspring stats`, or `mainspring jobs` to see what there is.",
      "```sh\nID=$(mainspring submit echo --payload '{\"a\": 1}' --json | node -p 1) # mainspring of ours",
      'mainspring executions cancel "$(mainspring executions list --limit 1)" \\\n  --json > out.txt\n```',
      "```ts\nmainspring nothing\n```",
      "The package is `@mainspring/cli`, the schema `mainspring`.",
    ].join("\n");
    assert.deepEqual(
      commandLines(page).map(({ line, words }) => [line, ...words]),
      [
        [1, "stats"],
        [1, "jobs"],
        [3, "submit", "echo", "--payload", '{"a": 1}', "--json"],
        [4, "executions", "cancel", "$(mainspring executions list --limit 1)", "--json"],
        [4, "executions", "list", "--limit", "1"],
      ],
    );
    assert.deepEqual(faultsOf(page), [null, null, null, null, null]);
  });

  it("are wrong with an unknown command, an unknown option, or too many or too few arguments", () => {
    const block = (line: string) => `\`\`\`sh\n${line}\n\`\`\``;
    assert.deepEqual(faultsOf(block("mainspring jobs explode")), ["there is no command `explode`"]);
    assert.deepEqual(faultsOf(block("mainspring stats --loud")), ["there is no option `--loud`"]);
    assert.deepEqual(faultsOf(block("mainspring stats now")), ["`stats` takes fewer arguments"]);
    assert.deepEqual(faultsOf(block("mainspring jobs get")), ["`get` needs 1 arguments"]);
    assert.deepEqual(faultsOf(block("mainspring jobs list --limit")), ["`--limit` has no value"]);
    assert.deepEqual(faultsOf("`mainspring jobs get` and `mainspring jobs list --limit`"), [null, null]);
    assert.deepEqual(faultsOf("`mainspring NOUN VERB`"), []);
  });

  it("exist on every page of the documentation", () => {
    const pages = globSync(["*.md", "docs/**/*.md", "packages/*/README.md"], { cwd: ROOT, exclude: ["CHANGELOG.md"] });
    const faults = pages.flatMap((page) => {
      const lines = commandLines(readFileSync(join(ROOT, page), "utf8"));
      return lines.flatMap((line) => {
        const fault = commandFault(line);
        return fault === null ? [] : [`${page}:${line.line}  mainspring ${line.words.join(" ")}: ${fault}`];
      });
    });
    assert.deepEqual(faults, []);
  });
});
