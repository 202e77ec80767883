import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";

const PROGRAM = fileURLToPath(new URL("../profile.ts", import.meta.url));

describe("npm run profile", () => {
  for (const [name, way, settings] of [
    ["b", "into the store", []],
    ["b", "through Kafka", ["--set", "MAINSPRING_INGEST=kafka"]],
    ["a", "through Kafka", []],
  ] as const) {
    it(`runs end-to-end tests on all servers of ${name}, with jobs ${way}, and leaves nothing behind`, async (t) => {
      const { folder, ended } = await started(t, [name, "--check", "--only", "steps", ...settings]);
      const { code, output } = await ended;
      assert.match(output, new RegExp(`\nprofile ${name}: the end-to-end tests passed\\.\n$`), output);
      assert.deepEqual([code, await readdir(folder), await processesOf(folder)], [0, [], []]);
    });
  }

  it("stops what has started when Ctrl-C comes before everything runs", async (t) => {
    const { child, folder, says, ended } = await started(t, ["b"]);
    await says(/etcd .*answers/);
    child.kill("SIGINT");
    const { code } = await ended;
    assert.deepEqual([code, await readdir(folder)], [130, []]);
    // Killed processes may take a moment to go.
    while ((await processesOf(folder)).length > 0);
  });
});

interface Started {
  child: ChildProcess;
  /** Folder of all temporary files. */
  folder: string;
  /** Waits for text of the output. @throws the process ends before that */
  says(pattern: RegExp): Promise<void>;
  readonly ended: Promise<{ code: number | null; output: string }>;
}

async function started(t: TestContext, args: readonly string[]): Promise<Started> {
  const folder = await mkdtemp(join(tmpdir(), "test-profile-"));
  // PostgreSQL runs as another user.
  await chmod(folder, 0o711);
  const { NODE_TEST_CONTEXT: _, ...inherited } = process.env;
  const child = spawn(process.execPath, [PROGRAM, ...args], { env: { ...inherited, TMPDIR: folder } });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => (output += String(data)));
  const ended = once(child, "close").then(([code]) => ({ code: code as number | null, output }));
  t.after(async () => {
    child.kill("SIGINT");
    await ended;
    await rm(folder, { recursive: true, force: true });
  });
  const says = async (pattern: RegExp) => {
    while (!pattern.test(output)) {
      const end = await Promise.race([once(child.stdout, "data").then(() => null), ended]);
      if (end !== null) throw new Error(`it ended without ${pattern}:\n${output}`);
    }
  };
  return { child, folder, says, ended };
}

/** Processes of this machine that name a folder in their arguments or their environment. */
async function processesOf(folder: string): Promise<string[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  const found = await Promise.all(
    pids.map(async (pid) => {
      const files = ["cmdline", "environ"].map((name) => readFile(`/proc/${pid}/${name}`, "utf8").catch(() => ""));
      return (await Promise.all(files)).some((text) => text.includes(folder)) ? pid : null;
    }),
  );
  return found.filter((pid) => pid !== null);
}
