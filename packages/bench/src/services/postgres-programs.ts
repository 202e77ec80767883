import { join } from "node:path";
import { copyOfBinaries, packagedBinaries, readyBinaries } from "@mainspring/server/testing";
import { postgresBinaries } from "../../../../tools/services/postgres-binaries.ts";

/** Major version of a PostgreSQL from npm, all built alike; `system`: the one of this machine's system. */
export const POSTGRES_RELEASES = ["15", "16", "17", "18", "system"] as const;
export type PostgresRelease = (typeof POSTGRES_RELEASES)[number];

interface Programs {
  /** Folder of `postgres` and `initdb`. */
  programs: string;
  /** Environment variables that they need. */
  env: Record<string, string>;
}

/** @param folder place for links to libraries, which npm packages cannot contain */
export async function programsOf(release: PostgresRelease, folder: string): Promise<Programs> {
  if (release === "system") return { programs: join(await postgresBinaries("system"), "bin"), env: {} };
  const binaries = await readyBinaries(await packageOf(release), join(folder, "lib"));
  // Root runs PostgreSQL as another user, who may have no access to the folder of the repository.
  const reachable = process.getuid?.() === 0 ? await copyOfBinaries(binaries) : binaries;
  return { programs: join(reachable.root, "bin"), env: reachable.env };
}

/** PostgreSQL 18 is the one that comes with the server. */
async function packageOf(release: Exclude<PostgresRelease, "system">): Promise<string> {
  return release === "18" ? packagedBinaries() : await postgresBinaries(Number(release) as 15 | 16 | 17);
}
