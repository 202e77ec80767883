import { globSync, statfsSync } from "node:fs";
import { getCompileCacheDir } from "node:module";
import { availableParallelism } from "node:os";
import { dirname, relative } from "node:path";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { endHangingFiles } from "./tests/hanging-files.ts";

/**
 * Runs one kind of tests: `run-tests.ts unit|servers|crash|hostile [part of a path]…`. With CI set, a skipped or todo
 * test fails the run, so that green means that everything ran.
 */

interface Kind {
  belongs(path: string): boolean;
  /** Number of files that run at once. Crash tests measure no times, but load the machine by themselves. */
  concurrency: number;
  /**
   * Time limit of a test, or a group of tests, in milliseconds; it then fails under its own name. Limits only find what
   * hangs: a busy machine runs at a third of the speed of a quiet one.
   */
  testLimitMs: number;
  /**
   * Time limit of a file, in milliseconds, which ends the file. The limit of tests does not cover a file that runs on
   * after its tests.
   */
  fileLimitMs: number;
  /** Whether temporary folders are in memory if there is space: stores still sync, but no disk delays them. */
  inMemory: boolean;
}

const isServers = (path: string) => path.endsWith(".servers.test.ts");
const isCrash = (path: string) => path.endsWith(".crash.test.ts");
const isHostile = (path: string) => path.endsWith(".hostile.test.ts");
const MINUTE_MS = 60_000;
/**
 * Files that take longest, as the runs name them. They start first, so that none of them is left over at the end, where
 * it would run alone.
 */
const FIRST = [
  "tools/guide/guides.test.ts",
  "packages/sim/src/simulate.test.ts",
  "packages/server/src/adapters/sql/sql-store.test.ts",
  "packages/bench/src/bench.test.ts",
  "packages/server/src/cluster-secrets.test.ts",
  "packages/sim/src/shrinking/shrinking.test.ts",
];
/** Number of files that the run names with their durations. */
const SLOWEST = 12;
/** Time without a report after which a file ends whose hook has failed, in milliseconds. */
const QUIET_MS = Number(process.env["MAINSPRING_TEST_QUIET_SEC"] ?? 60) * 1_000;
const MEMORY = "/dev/shm";
/** Required memory in bytes: several times the size of the stores of two files. */
const MEMORY_MIN_BYTES = 6 * 1024 ** 3;

const KINDS: Record<string, Kind> = {
  unit: {
    belongs: (path) => !isServers(path) && !isCrash(path) && !isHostile(path),
    // Many of these files wait for timers and disks: with one file for each core a quarter of the CPU time is unused.
    concurrency: availableParallelism() + 1,
    testLimitMs: 12 * MINUTE_MS,
    fileLimitMs: 25 * MINUTE_MS,
    inMemory: true,
  },
  servers: {
    belongs: isServers,
    // These files wait for servers most of the time.
    concurrency: availableParallelism(),
    testLimitMs: 10 * MINUTE_MS,
    fileLimitMs: 15 * MINUTE_MS,
    inMemory: true,
  },
  crash: {
    belongs: isCrash,
    concurrency: 1,
    testLimitMs: 20 * MINUTE_MS,
    fileLimitMs: 40 * MINUTE_MS,
    inMemory: false,
  },
  // One file at a time, because these tests measure how long the event loop is blocked.
  hostile: {
    belongs: isHostile,
    concurrency: 1,
    testLimitMs: 6 * MINUTE_MS,
    fileLimitMs: 10 * MINUTE_MS,
    inMemory: true,
  },
};

const [kindName = "unit", ...parts] = process.argv.slice(2);
const kind = KINDS[kindName];
if (kind === undefined) fail(`no such kind of tests: ${kindName}; there are ${Object.keys(KINDS).join(", ")}`);
const files = testFiles(kind, parts);
if (files.length === 0) fail(`no ${kindName} tests${parts.length > 0 ? ` in ${parts.join(", ")}` : ""}`);

// Each file is a process that mostly spends its time loading the program, so files share their compiled code.
const compiled = getCompileCacheDir();
if (compiled !== undefined) process.env["NODE_COMPILE_CACHE"] = dirname(compiled);
if (kind.inMemory && hasMemoryFolder()) process.env["TMPDIR"] ??= MEMORY;
const execArgv = [`--test-timeout=${kind.testLimitMs}`];
const stream = run({ files, concurrency: kind.concurrency, execArgv });
endHangingFiles(stream, files, { fileMs: kind.fileLimitMs, quietMs: QUIET_MS }, (sentence) => {
  process.exitCode = 1;
  console.error(`run-tests: ${sentence}`);
});
const durations: { file: string; durationMs: number }[] = [];
stream.on("test:summary", ({ file, counts, success, duration_ms: durationMs }) => {
  // A summary arrives for each file, and one for all files.
  if (file !== undefined) return void durations.push({ file, durationMs });
  if (!success) process.exitCode = 1;
  const leftOut = counts.skipped + counts.todo;
  if (process.env["CI"] && leftOut > 0) fail(`${leftOut} tests were left out, which CI does not accept`);
});
const report = stream.compose(spec);
report.pipe(process.stdout);
report.on("end", sayWhichAreSlow);

function testFiles(wanted: Kind, within: string[]): string[] {
  const all = globSync(["packages/**/*.test.ts", "tools/**/*.test.ts", "examples/**/*.test.ts"], {
    exclude: ["**/node_modules/**"],
  });
  const asked = (path: string) => within.length === 0 || within.some((part) => path.includes(part));
  const found = all.filter((path) => wanted.belongs(path) && asked(path)).sort();
  return [...FIRST.filter((path) => found.includes(path)), ...found.filter((path) => !FIRST.includes(path))];
}

/** Names the files that take longest, because they decide how long the run takes. */
function sayWhichAreSlow(): void {
  const slowest = durations.sort((a, b) => b.durationMs - a.durationMs).slice(0, SLOWEST);
  const lines = slowest.map(({ file, durationMs }) => `${(durationMs / 1_000).toFixed(1)} s  ${relative(".", file)}`);
  process.stdout.write(["slowest files:", ...lines, ""].join("\n  "));
}

function hasMemoryFolder(): boolean {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize >= MEMORY_MIN_BYTES;
  } catch {
    // This system has no memory-backed folder.
    return false;
  }
}

function fail(message: string): never {
  console.error(`run-tests: ${message}`);
  process.exit(1);
}
