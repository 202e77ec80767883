import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { installDebianPackage } from "../services/debian.ts";

const CONSTRAINTS = join(import.meta.dirname, "constraints.txt");
/** Folder beside the PostgreSQLs for tests; not part of the repository. */
const FOLDER = join(import.meta.dirname, "../services/node_modules");
const run = promisify(execFile);

/**
 * Path of a Python with schemathesis, in a folder that is named after its versions and gets that name when it is
 * complete. Missing parts are installed, which takes a network and some seconds; root also gets Python if there is
 * none.
 */
export async function schemathesisPython(): Promise<string> {
  const constraints = await readFile(CONSTRAINTS, "utf8");
  const name = createHash("sha256").update(constraints).digest("hex").slice(0, 16);
  const installed = join(FOLDER, `schemathesis-${name}`);
  if (!existsSync(installed)) await install(installed, constraints);
  return pythonOf(installed);
}

async function install(target: string, constraints: string): Promise<void> {
  const wanted = /^schemathesis==.*$/m.exec(constraints)?.[0];
  if (wanted === undefined) throw new Error(`${CONSTRAINTS} has no version of schemathesis`);
  await mkdir(FOLDER, { recursive: true });
  const fresh = await mkdtemp(`${target}.new-`);
  try {
    await createVenv(fresh);
    await run(pythonOf(fresh), ["-m", "pip", "install", "--quiet", "--constraint", CONSTRAINTS, wanted]);
    await rename(fresh, target);
  } catch (cause) {
    await rm(fresh, { recursive: true, force: true });
    if (!existsSync(target)) throw cause;
  }
}

/** Debian's python3 alone has neither pip nor venv. */
async function createVenv(folder: string): Promise<void> {
  const create = () => run("python3", ["-m", "venv", "--clear", folder]);
  try {
    await create();
  } catch {
    await installDebianPackage("python3-venv", "schemathesis needs python3 with venv");
    await create();
  }
}

/**
 * The path names Python, because the other programs in the folder contain its name during the installation, which has
 * changed.
 */
function pythonOf(folder: string): string {
  return join(folder, "bin", "python");
}
