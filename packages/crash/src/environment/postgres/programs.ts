import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { postgresBinaries } from "../../../../../tools/services/postgres-binaries.ts";

export interface User {
  uid: number;
  gid: number;
}

/** The programs of this machine's PostgreSQL, and as whom they run. */
export interface Programs {
  path(name: string): string;
  /** PostgreSQL refuses to run as root; null: as this process. */
  user: User | null;
  /** Runs one to its end. @returns what it said @throws {Error} it failed, with what it said */
  run(name: string, args: readonly string[]): Promise<string>;
}

const TAKES_MAX_MS = 120_000;
const SAYS_MAX_BYTES = 1024 ** 3;

export async function findPrograms(): Promise<Programs> {
  const root = await postgresBinaries("system");
  const user = process.getuid?.() === 0 ? await unprivilegedUser() : null;
  const path = (name: string) => join(root, "bin", name);
  return {
    path,
    user,
    async run(name, args) {
      const options = {
        cwd: "/",
        timeout: TAKES_MAX_MS,
        maxBuffer: SAYS_MAX_BYTES,
        env: { ...process.env, LC_ALL: "C" },
        ...user,
      };
      const { stdout } = await promisify(execFile)(path(name), [...args], options);
      return stdout.trim();
    },
  };
}

async function unprivilegedUser(): Promise<User> {
  const lines = (await readFile("/etc/passwd", "utf8")).split("\n");
  for (const name of ["postgres", "nobody"]) {
    const [, , uid, gid] = lines.find((line) => line.startsWith(`${name}:`))?.split(":") ?? [];
    if (uid !== undefined && gid !== undefined) return { uid: Number(uid), gid: Number(gid) };
  }
  throw new Error("this machine has no user postgres or nobody as whom PostgreSQL could run instead of root");
}
