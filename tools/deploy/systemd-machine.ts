import assert from "node:assert/strict";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

const run = promisify(execFile);
const BOOT = join(import.meta.dirname, "boot-systemd.sh");
/** Folder in memory: an overlay cannot have its changes on another overlay. */
const MEMORY = "/dev/shm";
/** Time that the boot may take, and a command, in milliseconds. */
const BOOT_MS = 60_000;
const COMMAND_MS = 600_000;
const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** A systemd in namespaces of its own, on an overlay of this machine's files, with a loopback of its own. Needs root. */
export class SystemdMachine {
  readonly #folder: string;
  readonly #unshare: ChildProcess;
  readonly #pid: number;

  private constructor(folder: string, unshare: ChildProcess, pid: number) {
    this.#folder = folder;
    this.#unshare = unshare;
    this.#pid = pid;
  }

  static async boot(): Promise<SystemdMachine> {
    if (process.getuid?.() !== 0) throw new Error("only root can boot a systemd in namespaces");
    const folder = await mkdtemp(join(MEMORY, "mainspring-systemd-"));
    const namespaces = ["--pid", "--mount", "--fork", "--uts", "--ipc", "--net", "--cgroup", "--kill-child"];
    const unshare = spawn("unshare", [...namespaces, "bash", BOOT, folder], { stdio: ["ignore", "ignore", "inherit"] });
    const deadlineMs = performance.now() + BOOT_MS;
    for (;;) {
      const pid = await childOf(unshare);
      if (pid !== null) {
        const machine = new SystemdMachine(folder, unshare, pid);
        if (await machine.#isRunning()) return machine;
      }
      if (unshare.exitCode !== null) throw new Error(`the boot ended with ${unshare.exitCode}`);
      if (performance.now() > deadlineMs) throw new Error("systemd did not boot in a minute");
      await sleep(200);
    }
  }

  /** Runs commands of bash as root, and stops at the first that fails. @returns its output @throws one failed */
  async run(commands: string, { cwd = "/", onNetworkOfHost = false } = {}): Promise<string> {
    const namespaces = onNetworkOfHost ? ["--mount", "--pid"] : ["--all"];
    const enter = ["--target", `${this.#pid}`, ...namespaces, "--root", "--wd=/"];
    const script = `cd ${cwd}; set -euo pipefail; ${commands}`;
    const env = ["env", "--ignore-environment", "HOME=/root", `PATH=${PATH}`, ...(await registryOf())];
    const { stdout } = await run("nsenter", [...enter, ...env, "bash", "-c", script], {
      timeout: COMMAND_MS,
      maxBuffer: 16 * 1024 * 1024,
    });
    return stdout;
  }

  async stop(): Promise<void> {
    const ended = once(this.#unshare, "exit");
    // The death of its first process ends the namespace and everything in it.
    process.kill(this.#pid, "SIGKILL");
    await ended;
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }

  async #isRunning(): Promise<boolean> {
    try {
      assert.equal((await readFile(`/proc/${this.#pid}/comm`, "utf8")).trim(), "systemd");
      return (await this.run("systemctl is-system-running || true")).trim() === "running";
    } catch {
      return false;
    }
  }
}

async function childOf({ pid }: ChildProcess): Promise<number | null> {
  try {
    const children = (await readFile(`/proc/${pid}/task/${pid}/children`, "utf8")).trim();
    return children === "" ? null : Number(children.split(" ")[0]);
  } catch {
    return null;
  }
}

/** The registry of npm that this machine uses, which may be a mirror. */
async function registryOf(): Promise<string[]> {
  const { stdout } = await run("npm", ["config", "get", "registry"]);
  return [`npm_config_registry=${stdout.trim()}`];
}
