import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { userInfo } from "node:os";
import type { Owner } from "./cluster.ts";

/**
 * User as which PostgreSQL runs. PostgreSQL refuses to run as root and as a user without a name. In these cases it runs
 * in a user namespace (it sees another uid; the files stay ours), or, if the kernel or the container forbids that, as
 * another user.
 */
export interface Identity {
  /** Required owner of PostgreSQL's files; null: the user of this process. */
  readonly owner: Owner | null;
  readonly command: (program: string, args: readonly string[]) => { file: string; args: readonly string[] };
}

export const SELF: Identity = { owner: null, command: (file, args) => ({ file, args }) };

/**
 * Identity in a user namespace where our own uid is called `inside`. Its programs have the rights of our uid, and no
 * more.
 */
function namespaceIdentity(inside: Owner): Identity {
  const wrapper = ["--user", `--map-user=${inside.uid}`, `--map-group=${inside.gid}`, "--"];
  return { owner: null, command: (program, args) => ({ file: "unshare", args: [...wrapper, program, ...args] }) };
}

function userIdentity(owner: Owner): Identity {
  return { owner, command: (file, args) => ({ file, args }) };
}

/** Starts `program` as `identity`. The caller's `options` take precedence, except for the user. */
export function spawnAs(
  identity: Identity,
  program: string,
  args: readonly string[],
  options: SpawnOptions,
): ChildProcess {
  const command = identity.command(program, args);
  return spawn(command.file, [...command.args], { ...options, ...identity.owner, windowsHide: true });
}

/**
 * Identities that work on this machine, best first: one for a normal user, up to two for root.
 * @param existing owner of the existing files, which restricts the identities; null: no files yet
 */
export async function possibleIdentities(existing: Owner | null): Promise<Identity[]> {
  if (!needsAnother()) return [SELF];
  const other = await unprivilegedUser();
  const asRoot = process.getuid?.() === 0;
  if (asRoot && existing !== null && existing.uid !== 0) return [userIdentity(existing)];
  if (other === null) return [];
  const namespace = process.platform === "linux" ? [namespaceIdentity(other)] : [];
  return asRoot && existing === null ? [...namespace, userIdentity(other)] : namespace;
}

function needsAnother(): boolean {
  if (process.platform === "win32") return false;
  if (process.getuid?.() === 0) return true;
  try {
    userInfo();
    return false;
  } catch {
    // The uid has no entry in the user database, as in some containers; initdb asks for the name.
    return true;
  }
}

async function unprivilegedUser(): Promise<Owner | null> {
  const lines = (await readFile("/etc/passwd", "utf8").catch(() => "")).split("\n");
  for (const name of ["postgres", "_postgres", "nobody", "daemon"]) {
    const fields = lines.find((line) => line.startsWith(`${name}:`))?.split(":");
    const [uid, gid] = [Number(fields?.[2]), Number(fields?.[3])];
    if (uid !== 0 && Number.isInteger(uid) && Number.isInteger(gid)) return { uid, gid };
  }
  return null;
}
