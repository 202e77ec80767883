import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { postgresBinaries } from "../../../../../tools/services/postgres-binaries.ts";

export interface User {
  uid: number;
  gid: number;
}

/** Programs of this machine's PostgreSQL, and the user as which they run. */
export interface Programs {
  path(name: string): string;
  /** User for PostgreSQL, which refuses to run as root; null: the user of this process. */
  user: User | null;
  /** Runs a program to its end. @returns its output @throws {Error} it failed; the message has its output */
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
