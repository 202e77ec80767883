// Lints the schemas and fails unless src/gen is exactly what they generate.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const buf = createRequire(import.meta.url).resolve("@bufbuild/buf/bin/buf");
const scratch = mkdtempSync(join(tmpdir(), "mainspring-proto-"));
try {
  runBuf("lint");
  runBuf("generate", "--output", scratch);
  const stale = differences(join(root, "src/gen"), join(scratch, "src/gen"));
  if (stale.length > 0) {
    console.error(`Generated code is stale: ${stale.join(", ")}\nRun: npm run generate -w @mainspring/proto`);
    process.exitCode = 1;
  }
} finally {
  rmSync(scratch, { recursive: true });
}

function runBuf(...args) {
  const { status, error } = spawnSync(process.execPath, [buf, ...args], { cwd: root, stdio: "inherit" });
  if (status !== 0) throw new Error(`buf ${args[0]} failed`, { cause: error });
}

/** Files that only one side has, or that differ. */
function differences(committedDir, generatedDir) {
  const committed = readTree(committedDir);
  const generated = readTree(generatedDir);
  const names = new Set([...committed.keys(), ...generated.keys()]);
  return [...names].filter((name) => committed.get(name) !== generated.get(name)).sort();
}

function readTree(dir) {
  const files = readdirSync(dir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = files.map((entry) => join(entry.parentPath, entry.name));
  return new Map(paths.map((path) => [path.slice(dir.length + 1), readFileSync(path, "utf8")]));
}
