import { spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import { delimiter, resolve } from "node:path";

/** Runs every check of the code that does not execute it: `npm run check [name]…`. */

interface Check {
  name: string;
  command: string[];
}

interface Outcome {
  check: Check;
  passed: boolean;
  output: string;
  tookMs: number;
}

// The longest check comes first, because all run side by side.
const CHECKS: Check[] = [
  { name: "types", command: ["tsc", "-p", "."] },
  { name: "unused", command: ["knip", "--no-progress", "--no-config-hints"] },
  { name: "types of the pure part", command: ["tsc", "-p", "packages/server/tsconfig.pure.json"] },
  { name: "types on Node 20", command: ["tsc", "-p", "packages/sdk/tsconfig.node20.json"] },
  { name: "types of the console", command: ["tsc", "--noEmit", "-p", "packages/console"] },
  { name: "imports", command: ["depcruise", "--config", ".dependency-cruiser.mjs", "packages", "tools"] },
  { name: "generated code", command: ["npm", "run", "--silent", "check", "--workspace", "@mainspring/proto"] },
  { name: "tidy", command: ["node", "tools/tidy.ts"] },
  { name: "lockfile", command: ["node", "tools/lockfile.ts"] },
  { name: "format", command: ["biome", "check", "--error-on-warnings", "."] },
  { name: "lint", command: ["oxlint"] },
];

const asked = process.argv.slice(2);
const queue = CHECKS.filter(({ name }) => asked.length === 0 || asked.includes(name));
const startedMs = performance.now();
const passed = await Promise.all(Array.from({ length: availableParallelism() }, runQueue));
const tookSec = ((performance.now() - startedMs) / 1_000).toFixed(1);
const good = passed.every(Boolean);
console.log(`check: ${good ? "all is well" : "something is wrong"} (${tookSec} s)`);
process.exitCode = good ? 0 : 1;

async function runQueue(): Promise<boolean> {
  let good = true;
  for (let check = queue.shift(); check !== undefined; check = queue.shift()) {
    const outcome = await runCheck(check);
    report(outcome);
    good &&= outcome.passed;
  }
  return good;
}

function runCheck(check: Check): Promise<Outcome> {
  const begunMs = performance.now();
  const [program = "", ...args] = check.command;
  const PATH = `${resolve("node_modules/.bin")}${delimiter}${process.env["PATH"]}`;
  const windows = process.platform === "win32";
  const child = spawn(program, args, {
    env: { ...process.env, PATH },
    shell: windows,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
  return new Promise((settle) => {
    const end = (good: boolean) => settle({ check, passed: good, output, tookMs: performance.now() - begunMs });
    child.on("error", (error) => {
      output += `${program}: ${error.message}\n`;
      end(false);
    });
    child.on("close", (code) => end(code === 0));
  });
}

function report({ check, passed: good, output, tookMs }: Outcome): void {
  console.log(`${good ? "ok    " : "FAILED"} ${check.name} (${(tookMs / 1_000).toFixed(1)} s)`);
  if (!good) console.log(output.replace(/^/gm, "  ").trimEnd());
}
