import { randomBytes } from "node:crypto";
import { chmod, chown, lstat, mkdir, mkdtemp, readFile, readlink, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Installation } from "./installation.ts";

/** Address on which PostgreSQL listens, and its access rules. */
export interface Endpoint {
  /** Folder of the socket, or an IP address. */
  readonly host: string;
  readonly port: number;
  readonly password?: string;
  readonly passwordFile?: string;
  readonly settings: Readonly<Record<string, string>>;
  /** Content of pg_hba.conf. */
  readonly accessRules: string;
  /** Files that keep a second PostgreSQL from listening here too; a killed PostgreSQL leaves them behind. */
  readonly lockFiles: readonly string[];
  /** Removes everything outside the data folder. */
  close(): Promise<void>;
}

const SOCKET_PORT = 5432;
const SOCKET_FILE = `.s.PGSQL.${SOCKET_PORT}`;

/** Largest length of a socket's path, in bytes; the kernel accepts 107 on Linux, 103 on macOS. */
const SOCKET_PATH_BYTES = 100;

export function openEndpoint(installation: Pick<Installation, "home" | "identity">): Promise<Endpoint> {
  return process.platform === "win32" ? loopbackEndpoint(installation.home) : socketEndpoint(installation);
}

/**
 * Endpoint on a socket, whose folder is open only to its owner. If the owner is the server's own user, every program
 * that can open the socket may log in. If PostgreSQL runs as another user, whose other programs may be foreign,
 * PostgreSQL requires the server's password.
 */
async function socketEndpoint({ home, identity }: Pick<Installation, "home" | "identity">): Promise<Endpoint> {
  const uid = identity.owner?.uid ?? process.getuid?.() ?? 0;
  const near = join(home, "socket");
  const tooLong = Buffer.byteLength(join(near, SOCKET_FILE)) > SOCKET_PATH_BYTES;
  const far = tooLong ? await farFolder(join(home, "socket-folder"), uid) : null;
  const host = far ?? near;
  await mkdir(host, { recursive: true, mode: 0o700 });
  await chmod(host, 0o700);
  if (identity.owner !== null) await chown(host, identity.owner.uid, identity.owner.gid);
  return {
    host,
    port: SOCKET_PORT,
    settings: {
      listen_addresses: "",
      // The setting is a list, so quotes keep a comma in the path from splitting it.
      unix_socket_directories: `"${host.replaceAll('"', '""')}"`,
      unix_socket_permissions: "0700",
    },
    ...(identity.owner === null ? { accessRules: "local all all trust\n" } : await passwordAccess(home)),
    lockFiles: [join(host, `${SOCKET_FILE}.lock`)],
    close: async () => {
      if (far !== null) await rm(far, { recursive: true, force: true });
    },
  };
}

/**
 * A private folder with a short name. `link` points to it, so that the next start uses the folder of a killed server
 * again. It lies where any user may write, so the link is trusted only while it leads to a folder that this user owns
 * and no other user can enter.
 */
async function farFolder(link: string, uid: number): Promise<string> {
  const old = await readlink(link).catch(() => null);
  const found = old === null ? null : await lstat(old).catch(() => null);
  if (old !== null && found?.isDirectory() && found.uid === uid && (found.mode & 0o077) === 0) return old;
  const base = Buffer.byteLength(tmpdir()) > SOCKET_PATH_BYTES / 2 + 10 ? "/tmp" : tmpdir();
  const fresh = await mkdtemp(join(base, "mainspring-"));
  await rm(link, { force: true });
  await symlink(fresh, link);
  return fresh;
}

/**
 * Endpoint on Windows, which has no socket files that PostgreSQL's clients agree on: the loopback address, and a
 * password that only `home` contains.
 */
async function loopbackEndpoint(home: string): Promise<Endpoint> {
  return {
    host: "127.0.0.1",
    port: await freePort(),
    ...(await passwordOf(home)),
    settings: { listen_addresses: "127.0.0.1", unix_socket_directories: "" },
    accessRules: "host all all 127.0.0.1/32 scram-sha-256\n",
    lockFiles: [],
    close: async () => {},
  };
}

async function passwordAccess(home: string) {
  return { ...(await passwordOf(home)), accessRules: "local all all scram-sha-256\n" };
}

/** Password, created once and kept in a file that only the server's user can read. */
async function passwordOf(home: string): Promise<{ password: string; passwordFile: string }> {
  const passwordFile = join(home, "password");
  const kept = await readFile(passwordFile, "utf8").catch(() => null);
  const password = kept ?? randomBytes(24).toString("hex");
  if (kept === null) await writeFile(passwordFile, password, { mode: 0o600, flush: true });
  return { password, passwordFile };
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      const port = typeof address === "object" && address !== null ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}
