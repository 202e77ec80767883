import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const SOURCES = join(import.meta.dirname, "..", "..", "..", "peers", "river");
/** Folder of built programs, which no commit contains. */
const BUILT = join(SOURCES, "..", "node_modules", ".river");

/**
 * Path of the program that runs River, built with the versions of its `go.sum` when the sources have changed.
 * @throws Go is missing, or the build fails
 */
export async function riverProgram(): Promise<string> {
  const names = (await readdir(SOURCES)).sort();
  const texts = await Promise.all(names.map((name) => readFile(join(SOURCES, name), "utf8")));
  const hash = createHash("sha256")
    .update(JSON.stringify([names, texts]))
    .digest("hex")
    .slice(0, 16);
  const program = join(BUILT, `river-peer-${hash}`);
  if (existsSync(program)) return program;
  console.log("building River");
  await mkdir(BUILT, { recursive: true });
  await run("go", ["build", "-trimpath", "-mod=readonly", "-o", `${program}.new`, "."], { cwd: SOURCES }).catch(
    (cause: NodeJS.ErrnoException) => {
      throw cause.code === "ENOENT" ? new Error("River needs Go (https://go.dev) on the PATH", { cause }) : cause;
    },
  );
  await rename(`${program}.new`, program);
  return program;
}

/** Version of River, such as `0.51.1`. */
export async function riverVersion(): Promise<string> {
  const text = await readFile(join(SOURCES, "go.mod"), "utf8");
  return /riverqueue\/river v(\S+)/.exec(text)?.[1] ?? "";
}
