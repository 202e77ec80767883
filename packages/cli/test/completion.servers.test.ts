import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { installDebianPackage } from "../../../tools/services/debian.ts";
import { mainspring } from "./testing/command.ts";

const run = promisify(execFile);
const ZSH = fileURLToPath(new URL("testing/offered.zsh", import.meta.url));
const LIMIT_MS = 60_000;

/** Command lines whose last word the user is typing, and the expected candidates. */
const LINES: readonly [line: string, ...offers: string[]][] = [
  ["mainspring dead", "dead-letters"],
  ["mainspring executions ca", "cancel"],
  ["mainspring jobs p", "pause"],
  ["mainspring executions list --state S", "SCHEDULED", "SKIPPED", "SUCCEEDED"],
  ["mainspring executions --json list --s", "--since", "--state"],
  ["mainspring jobs trigger --js", "--json"],
  ["mainspring completion z", "zsh"],
  // The value may be anything, so shells offer files.
  ["mainspring jobs list --label only-f", "only-file"],
  ["mainspring nonsens"],
];

describe("completion, by the shells themselves", () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "mainspring-shells-"));
    await writeFile(join(folder, "only-file"), "");
  });
  after(() => rm(folder, { recursive: true, force: true }));

  /** @returns file with the completion script for the shell */
  const scriptFor = async (shell: "zsh" | "fish"): Promise<string> => {
    const isThere = await run(shell, ["--version"]).catch(() => null);
    if (isThere === null) await installDebianPackage(shell, `its completion is tested by ${shell} itself`);
    const { stdout, code } = await mainspring(["completion", shell]);
    assert.equal(code, 0);
    const script = join(folder, `mainspring.${shell}`);
    await writeFile(script, stdout);
    return script;
  };
  const expected = LINES.map(([line, ...offers]) => [line, ...offers]);

  it("is offered by zsh when Tab is pressed", async () => {
    const args = ["-f", ZSH, await scriptFor("zsh"), ...LINES.map(([line]) => line)];
    const { stdout } = await run("zsh", args, { cwd: folder, timeout: LIMIT_MS });
    const offers = stdout.split("--\n").slice(0, -1);
    assert.deepEqual(
      offers.map((text, i) => [LINES[i]?.[0], ...sorted(text)]),
      expected,
    );
  });

  it("is offered by fish", async () => {
    const script = await scriptFor("fish");
    const ask = async ([line]: (typeof LINES)[number]) => {
      const args = ["--no-config", "-c", "source $argv[1]; complete -C $argv[2]", script, line];
      const { stdout } = await run("fish", args, {
        cwd: folder,
        env: { ...process.env, HOME: folder },
        timeout: LIMIT_MS,
      });
      // The description follows each candidate.
      return [line, ...sorted(stdout.replace(/\t.*$/gm, ""))];
    };
    assert.deepEqual(await Promise.all(LINES.map(ask)), expected);
  });
});

function sorted(lines: string): string[] {
  return [...new Set(lines.split("\n").filter((line) => line !== ""))].sort();
}
