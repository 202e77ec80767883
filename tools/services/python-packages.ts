import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { installDebianPackage } from "./debian.ts";
import { DOWNLOADS, installOnce } from "./install-once.ts";

const run = promisify(execFile);

/** Packages of Python that a test needs. */
export interface PythonPackages {
  /** Package that is installed. */
  name: string;
  /** Absolute path of a file with the version of the package and of all packages that it needs. */
  constraints: string;
  /** Whether the package is installed without those that it declares as needed. Default: false. */
  isAlone?: boolean;
}

/**
 * Path of a Python with a package, in a folder that is named after its versions and gets that name when it is
 * complete. Missing parts are installed, which takes a network and some seconds; root also gets Python if there is
 * none.
 */
export async function pythonWith({ name, constraints: path, isAlone = false }: PythonPackages): Promise<string> {
  const constraints = await readFile(path, "utf8");
  const wanted = constraints.split("\n").find((line) => line.startsWith(`${name}==`));
  if (wanted === undefined) throw new Error(`${path} has no version of ${name}`);
  const hash = createHash("sha256").update(constraints).digest("hex").slice(0, 16);
  const installed = join(DOWNLOADS, `${name}-${hash}`);
  const alone = isAlone ? ["--no-deps"] : [];
  await installOnce(installed, (fresh) => install(fresh, name, ["--constraint", path, ...alone, wanted]));
  return pythonOf(installed);
}

async function install(fresh: string, name: string, args: readonly string[]): Promise<void> {
  await createVenv(fresh, name);
  await run(pythonOf(fresh), ["-m", "pip", "install", "--quiet", "--no-compile", ...args]);
}

/** Debian's python3 alone has neither pip nor venv. */
async function createVenv(folder: string, name: string): Promise<void> {
  const create = () => run("python3", ["-m", "venv", "--clear", folder]);
  try {
    await create();
  } catch {
    await installDebianPackage("python3-venv", `${name} needs python3 with venv`);
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
