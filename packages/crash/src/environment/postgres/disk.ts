import { execFile, execFileSync } from "node:child_process";
import { chmod, chown, mkdir, statfs } from "node:fs/promises";
import { promisify } from "node:util";
import type { User } from "./programs.ts";

const run = promisify(execFile);
/** Size of the file system; only used pages take memory. */
const SIZE = "4g";
const LEFT_BYTES = 64 * 1024;

/** A small disk of its own for a PostgreSQL, which can be filled. */
export class Disk {
  readonly folder: string;
  /** Reason why it cannot be filled on this machine; null: it can. */
  readonly unavailable: string | null;
  readonly #unmount = (): void => unmount(this.folder);

  private constructor(folder: string, unavailable: string | null) {
    this.folder = folder;
    this.unavailable = unavailable;
    if (unavailable === null) process.once("exit", this.#unmount);
  }

  /** Creates a folder in memory, or an ordinary one if this process may not mount. */
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

  /** Shrinks the disk so that only a few pages are free. */
  async fill(): Promise<void> {
    for (;;) {
      const { bsize, blocks, bfree } = await statfs(this.folder);
      const size = (blocks - bfree) * bsize + LEFT_BYTES;
      // If more was written meanwhile, the size does not fit, and the loop tries again.
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
    // A lazy unmount leaves open files usable until their processes end.
    execFileSync("umount", ["--lazy", folder], { stdio: "ignore" });
  } catch {
    // The disk was unmounted before.
  }
}
