import { execFile, execFileSync } from "node:child_process";
import { chmod, chown, mkdir, statfs } from "node:fs/promises";
import { promisify } from "node:util";
import type { User } from "./programs.ts";

const run = promisify(execFile);
/** Only what is written takes memory. */
const SIZE = "4g";
const LEFT_BYTES = 64 * 1024;

/** A small disk of its own for a PostgreSQL, which can be made full. */
export class Disk {
  readonly folder: string;
  /** Why it cannot be made full on this machine; null: it can. */
  readonly unavailable: string | null;
  readonly #unmount = (): void => unmount(this.folder);

  private constructor(folder: string, unavailable: string | null) {
    this.folder = folder;
    this.unavailable = unavailable;
    if (unavailable === null) process.once("exit", this.#unmount);
  }

  /** A folder in memory, or where this process may not mount anything an ordinary one. */
  static async open(folder: string, user: User | null): Promise<Disk> {
    await mkdir(folder, { recursive: true });
    const mounted = await run("mount", ["-t", "tmpfs", "-o", `size=${SIZE}`, "mainspring-chaos", folder]).then(
      () => null,
      (error: Error) => error.message.trim().replaceAll("\n", " "),
    );
    await chmod(folder, 0o700);
    if (user !== null) await chown(folder, user.uid, user.gid);
    return new Disk(folder, mounted);
  }

  /** From now on there is no space left but for a few pages. */
  async fill(): Promise<void> {
    for (;;) {
      const { bsize, blocks, bfree } = await statfs(this.folder);
      const size = (blocks - bfree) * bsize + LEFT_BYTES;
      // More may have been written meanwhile: then it does not fit, and is tried again.
      if (await this.#resize(String(size))) return;
    }
  }

  async free(): Promise<void> {
    await this.#resize(SIZE);
  }

  close(): void {
    if (this.unavailable !== null) return;
    process.off("exit", this.#unmount);
    this.#unmount();
  }

  #resize(size: string): Promise<boolean> {
    return run("mount", ["-o", `remount,size=${size}`, this.folder]).then(
      () => true,
      () => false,
    );
  }
}

function unmount(folder: string): void {
  try {
    // Lazily: who still has files open there keeps them until it ends.
    execFileSync("umount", ["--lazy", folder], { stdio: "ignore" });
  } catch {
    // It was unmounted before.
  }
}
