import { statfs } from "node:fs/promises";

/** Space that a start after a crash may need, in bytes: a new WAL file, while the old one has to stay. */
const NEEDED_BYTES = 32 * 1024 * 1024;

/** Whether the disk of a folder has the space that PostgreSQL needs to start; true if the space is unknown. */
export async function hasRoom(folder: string): Promise<boolean> {
  const disk = await statfs(folder).catch(() => null);
  return disk === null || disk.bavail * disk.bsize >= NEEDED_BYTES;
}

export function noRoom(folder: string): string {
  return `There is no room for PostgreSQL on the disk of ${folder}: it needs ${NEEDED_BYTES / 1024 / 1024} MiB to start. Make room there; nothing is lost.`;
}
