import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { lockedPackages } from "../services/locked-packages.ts";

/** An npm registry on a free port of loopback, which anybody may publish to and which has no other packages. */
export interface TestRegistry {
  /**
   * Text of an `.npmrc`: packages of the scope come from this registry, all others from the registry that the
   * environment names.
   */
  readonly npmrc: string;
  publish(tarball: string): Promise<void>;
  /** Stops it and removes its packages. */
  stop(): Promise<void>;
}

/** The `node_modules` with programs for tests of packages: verdaccio, pnpm, publint, and several versions of Node. */
export function registryPrograms(): Promise<string> {
  return lockedPackages(import.meta.dirname);
}

/** @param scope as `@mainspring` */
export async function startRegistry(scope: string): Promise<TestRegistry> {
  const folder = await mkdtemp(join(tmpdir(), "npm-registry-"));
  const server = await verdaccio(folder, scope);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  // npm publishes with a token only; this registry accepts any.
  const npmrc = `${scope}:registry=http://${host}/\n//${host}/:_authToken=anybody\n`;
  await writeFile(join(folder, ".npmrc"), npmrc);
  return {
    npmrc,
    async publish(tarball) {
      await promisify(execFile)("npm", ["publish", "--ignore-scripts", "--access", "public", tarball], { cwd: folder });
    },
    async stop() {
      await close(server);
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

async function verdaccio(folder: string, scope: string): Promise<Server> {
  const entry = pathToFileURL(join(await registryPrograms(), "verdaccio/build/index.js"));
  const { runServer } = await import(entry.href);
  return runServer({
    storage: folder,
    self_path: folder,
    auth: { htpasswd: { file: join(folder, "htpasswd") } },
    uplinks: {},
    packages: { [`${scope}/*`]: { access: "$all", publish: "$all" } },
    web: { enable: false },
    log: { type: "stdout", format: "pretty", level: "fatal" },
  });
}

async function close(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeAllConnections();
  await closed;
}
