import { globSync, statfsSync } from "node:fs";
import { getCompileCacheDir } from "node:module";
import { availableParallelism } from "node:os";
import { dirname } from "node:path";
import { run } from "node:test";
import { spec } from "node:test/reporters";

/**
 * Runs one kind of tests: `run-tests.ts unit|servers|crash|hostile [part of a path]…`.
 * With CI set, a test that was skipped or left for later fails the run: green has to mean that everything ran.
 */

interface Kind {
  belongs(path: string): boolean;
  /** How many files at once. Crash tests measure nothing, but load the machine by themselves. */
  concurrency: number;
  /** A test, or a group of them, that takes longer hangs, and fails under its own name. */
  testLimitMs: number;
  /**
   * A file that takes longer hangs, and ends the run. The limit of tests does not hold for a file that goes on after
   * them.
   */
  fileLimitMs: number;
  /** Its folders lie in memory where there is room: stores are synced all the same, but no disk is waited for. */
  inMemory: boolean;
}

const isServers = (path: string) => path.endsWith(".servers.test.ts");
const isCrash = (path: string) => path.endsWith(".crash.test.ts");
const isHostile = (path: string) => path.endsWith(".hostile.test.ts");
const MINUTE_MS = 60_000;
const MEMORY = "/dev/shm";
/** Several times the size of the stores of two files. */
const MEMORY_MIN_BYTES = 6 * 1024 ** 3;

const KINDS: Record<string, Kind> = {
  unit: {
    belongs: (path) => !isServers(path) && !isCrash(path) && !isHostile(path),
    concurrency: availableParallelism(),
    testLimitMs: 4 * MINUTE_MS,
    fileLimitMs: 5 * MINUTE_MS,
    inMemory: true,
  },
  servers: {
    belongs: isServers,
    concurrency: 1,
    testLimitMs: 5 * MINUTE_MS,
    fileLimitMs: 15 * MINUTE_MS,
    inMemory: false,
  },
  crash: {
    belongs: isCrash,
    concurrency: 1,
    testLimitMs: 10 * MINUTE_MS,
    fileLimitMs: 30 * MINUTE_MS,
    inMemory: false,
  },
  // One file at a time, because they measure how long the event loop is held.
  hostile: {
    belongs: isHostile,
    concurrency: 1,
    testLimitMs: 2 * MINUTE_MS,
    fileLimitMs: 5 * MINUTE_MS,
    inMemory: true,
  },
};

const [kindName = "unit", ...parts] = process.argv.slice(2);
const kind = KINDS[kindName];
if (kind === undefined) fail(`no such kind of tests: ${kindName}; there are ${Object.keys(KINDS).join(", ")}`);
const files = testFiles(kind, parts);
if (files.length === 0) fail(`no ${kindName} tests${parts.length > 0 ? ` in ${parts.join(", ")}` : ""}`);

// Each file is a process, and most of its time goes into reading the program: what one has compiled, the others use.
const compiled = getCompileCacheDir();
if (compiled !== undefined) process.env["NODE_COMPILE_CACHE"] = dirname(compiled);
if (kind.inMemory && hasMemoryFolder()) process.env["TMPDIR"] ??= MEMORY;
const execArgv = [`--test-timeout=${kind.testLimitMs}`];
const stream = run({ files, concurrency: kind.concurrency, execArgv });
endHangingFiles(stream, kind.fileLimitMs);
stream.on("test:summary", ({ file, counts, success }) => {
  // One comes for each file, and one for all.
  if (file !== undefined) return;
  if (!success) process.exitCode = 1;
  const leftOut = counts.skipped + counts.todo;
  if (process.env["CI"] && leftOut > 0) fail(`${leftOut} tests were left out, which CI does not accept`);
});
stream.compose(spec).pipe(process.stdout);

function testFiles(wanted: Kind, within: string[]): string[] {
  const all = globSync(["packages/**/*.test.ts", "tools/**/*.test.ts", "examples/**/*.test.ts"], {
    exclude: ["**/node_modules/**"],
  });
  const asked = (path: string) => within.length === 0 || within.some((part) => path.includes(part));
  return all.filter((path) => wanted.belongs(path) && asked(path)).sort();
}

function hasMemoryFolder(): boolean {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize >= MEMORY_MIN_BYTES;
  } catch {
    // There is none on this system.
    return false;
  }
}

function endHangingFiles(events: ReturnType<typeof run>, limitMs: number): void {
  const timers = new Map<string, NodeJS.Timeout>();
  const failed: string[] = [];
  const hangs = (file: string) =>
    fail(
      [`${file} has not ended after ${limitMs / MINUTE_MS} minutes; what has failed until then:`, ...failed].join(
        "\n  ",
      ),
    );
  // A file is told of like a test, under its path.
  events.on("test:dequeue", ({ name }) => {
    if (files.includes(name)) timers.set(name, setTimeout(hangs, limitMs, name));
  });
  events.on("test:complete", ({ name, details }) => {
    if (details.passed === false) failed.push(`${name}: ${details.error?.cause ?? details.error}`);
    clearTimeout(timers.get(name));
  });
}

function fail(message: string): never {
  console.error(`run-tests: ${message}`);
  process.exit(1);
}
