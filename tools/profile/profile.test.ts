import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { DIFFERENCES } from "./differences.ts";
import { endToEndTests, FOLDER } from "./end-to-end.ts";
import { readOptions } from "./options.ts";
import { PROFILES, usableServers } from "./profiles.ts";
import { startServers } from "./running.ts";
import { SERVERS, type ServerEntry, settingsIn } from "./servers.ts";

const REPOSITORY = join(import.meta.dirname, "..", "..");
const PROGRAM = fileURLToPath(new URL("../profile.ts", import.meta.url));

/** A server of a test. `stopped` gets its title when it is stopped. */
function fake(title: string, start: Promise<void>, stopped: string[]): ServerEntry {
  const running = {
    address: `${title}:1`,
    stop: async () => void stopped.push(title),
  };
  const settings = (address: string) => ({ [title]: `{space}-${address}` });
  return { title, setting: title, start: () => start.then(() => running), settings };
}

describe("the servers of a profile", () => {
  it("start side by side, and give the nodes their settings", async () => {
    const stopped: string[] = [];
    const slow = Promise.withResolvers<void>();
    const said: string[] = [];
    const starting = startServers(
      [fake("Slow", slow.promise, stopped), fake("Fast", Promise.resolve(), stopped)],
      (text) => {
        said.push(text);
        slow.resolve();
      },
    );
    const { settings, addresses, stop } = await starting;
    assert.deepEqual(said, ["Fast answers", "Slow answers"]);
    assert.deepEqual(settingsIn("one", settings), { Slow: "one-Slow:1", Fast: "one-Fast:1" });
    assert.equal(addresses.length, 2);
    await stop();
    assert.deepEqual(stopped.sort(), ["Fast", "Slow"]);
  });

  it("are all stopped when one of them does not start, also those that answer later, with one sentence", async () => {
    const stopped: string[] = [];
    const late = Promise.withResolvers<void>();
    const broken = Promise.reject(new Error("Java ended with exit code 1:\nat Main\nat Other"));
    broken.catch(() => late.resolve());
    const entries = [
      fake("Early", Promise.resolve(), stopped),
      fake("Broken", broken, stopped),
      fake("Late", late.promise, stopped),
    ];
    await assert.rejects(
      startServers(entries, () => undefined),
      (error: Error) => error.message === "Broken did not start: Java ended with exit code 1",
    );
    assert.deepEqual(stopped.sort(), ["Early", "Late"]);
  });
});

describe("npm run profile", () => {
  it("says what is wrong with its options", () => {
    for (const [args, problem] of [
      [[], /there is no profile ""/],
      [["z"], /there is no profile "z"/],
      [["b", "--nodes", "0"], /--nodes must be 1 to 9/],
      [["b", "--only", "cli"], /--only belongs to --check/],
      [["b", "--check", "--only", "nothing"], /--only: no file of api-key, .* has this name/],
      [
        ["b", "--check", "--only", "stuck", "--set", "MAINSPRING_INGEST=kafka"],
        /--only: all tests of these files are left out with these settings/,
      ],
      [["a", "--check", "--only", "stuck"], /--only: all tests of these files are left out with these settings/],
      [["b", "--set", "MAINSPRING_NOPE=1"], /--set must be a setting of this version and its value, not "MAINSPRING_/],
    ] as const)
      assert.throws(() => readOptions(args), problem);
    const { settings, only } = readOptions(["b", "--set", "MAINSPRING_EVENTS=api", "--check", "--only", "cli,steps"]);
    assert.deepEqual([settings, only], [{ MAINSPRING_EVENTS: "api" }, ["cli", "steps"]]);
  });

  it("starts nothing if its options are wrong", () => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [PROGRAM, "z"], { encoding: "utf8" });
    assert.match(stderr, /^profile: there is no profile "z"\nUsage: /);
    assert.deepEqual([status, stdout], [2, ""]);
  });

  it("has settings for each server that this version can use", () => {
    for (const profile of Object.values(PROFILES)) {
      const { usable, unusable } = usableServers(profile);
      assert.deepEqual([...usable, ...unusable].sort(), [...profile.servers].sort());
      assert.equal(usable.filter((name) => SERVERS[name].setting === "MAINSPRING_STORE").length, 1);
    }
  });

  it("leaves out only tests that the files have, each with another one in its place", () => {
    for (const { file, test, instead } of DIFFERENCES) {
      const text = readFileSync(join(FOLDER, `${file}.test.ts`), "utf8");
      if (test !== null) assert.ok(text.includes(`it("${test}"`), test);
      const [path = "", name = ""] = instead.split(": ");
      assert.ok(readFileSync(join(REPOSITORY, path), "utf8").includes(`it("${name}"`), instead);
    }
    const { a, b } = PROFILES;
    assert.ok(a && b);
    const { files, args, differences } = endToEndTests([], { nodes: 3, ...a });
    assert.deepEqual(differences, DIFFERENCES);
    assert.deepEqual(args.slice(-files.length), files);
    const whole = differences.flatMap(({ file, test }) => (test === null ? [file] : []));
    assert.equal(
      args.filter((arg) => arg.startsWith("--test-skip-pattern=")).length,
      differences.length - whole.length,
    );
    for (const file of whole) assert.ok(!files.includes(join(FOLDER, `${file}.test.ts`)));
    const direct = endToEndTests([], { nodes: 3, ...b });
    assert.deepEqual(
      direct.differences.map(({ file }) => file),
      ["operate"],
    );
    assert.deepEqual(endToEndTests([], { nodes: 1, ...b }).differences, []);
  });
});
