import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

const run = promisify(execFile);
const BOOT = join(import.meta.dirname, "boot.sh");
/** Folder in memory: an overlay cannot have its changes on another overlay. */
const MEMORY = "/dev/shm";
/** Time that the boot may take, and a command, in milliseconds. */
const BOOT_MS = 60_000;
const COMMAND_MS = 3_600_000;
/** Variable with the network namespace of this machine, for a process that runs in another one. */
export const NETWORK_OF_HOST = "MAINSPRING_DEPLOY_NETWORK";
const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

const SYSTEMD = [
  "/lib/systemd/systemd",
  "--system",
  "--unit=machine.target",
  "--log-target=console",
  "--show-status=no",
];
const NOTHING = ["sleep", "infinity"];

export interface RunOptions {
  /** Folder in which the commands run; default: `/`. */
  cwd?: string;
  /** Whether the commands reach this machine's networks; default: only a loopback of the machine in the namespaces. */
  onNetworkOfHost?: boolean;
  /** Environment beside PATH and HOME. */
  env?: Readonly<Record<string, string>>;
}

/**
 * A machine in namespaces: an overlay of this machine's files, its own processes and its own loopback. Nothing that happens in it changes
 * this machine. Needs root.
 */
export class Machine {
  readonly #folder: string;
  readonly #unshare: ChildProcess;
  readonly #pid: number;
  readonly #registry: string;

  private constructor(folder: string, unshare: ChildProcess, pid: number, registry: string) {
    this.#folder = folder;
    this.#unshare = unshare;
    this.#pid = pid;
    this.#registry = registry;
  }

  /** Process whose namespaces are those of the machine. */
  get pid(): number {
    return this.#pid;
  }

  /** Boots a machine without services. */
  static bare(): Promise<Machine> {
    return Machine.#boot(NOTHING, "sleep", "true");
  }

  /** Boots a machine whose first process is systemd. */
  static withSystemd(): Promise<Machine> {
    return Machine.#boot(SYSTEMD, "systemd", "systemctl is-system-running");
  }

  /** @param isUp command that succeeds when the machine is up */
  static async #boot(program: readonly string[], name: string, isUp: string): Promise<Machine> {
    if (process.getuid?.() !== 0) throw new Error("only root can boot a machine in namespaces");
    const registry = await registryOfHost();
    const folder = await mkdtemp(join(MEMORY, "mainspring-machine-"));
    const namespaces = ["--pid", "--mount", "--fork", "--uts", "--ipc", "--net", "--cgroup", "--kill-child"];
    const args = [...namespaces, "bash", BOOT, folder, ...program];
    const unshare = spawn("unshare", args, { stdio: ["ignore", "ignore", "inherit"] });
    const deadlineMs = performance.now() + BOOT_MS;
    for (;;) {
      const pid = await childOf(unshare);
      if (pid !== null && (await nameOf(pid)) === name) {
        const machine = new Machine(folder, unshare, pid, registry);
        if (await machine.run(isUp).then(Boolean, () => false)) return machine;
      }
      if (unshare.exitCode !== null) throw new Error(`the boot ended with ${unshare.exitCode}`);
      if (performance.now() > deadlineMs) throw new Error("the machine did not boot in a minute");
      await sleep(200);
    }
  }

  /** Runs commands of bash as root, and stops at the first that fails. @returns what they print @throws one failed */
  async run(commands: string, { cwd = "/", onNetworkOfHost = false, env = {} }: RunOptions = {}): Promise<string> {
    const network = process.env[NETWORK_OF_HOST];
    const shared = ["--mount", "--pid", ...(network === undefined ? [] : [`--net=${network}`])];
    const namespaces = onNetworkOfHost ? shared : ["--all"];
    const enter = ["--target", `${this.#pid}`, ...namespaces, "--root", "--wd=/"];
    const variables = { HOME: "/root", PATH, npm_config_registry: this.#registry, ...env };
    const settings = Object.entries(variables).map(([name, value]) => `${name}=${value}`);
    const script = `cd ${cwd}; set -euo pipefail; ${commands}`;
    const args = [...enter, "env", "--ignore-environment", ...settings, "bash", "-c", script];
    try {
      const { stdout } = await run("nsenter", args, { cwd: "/", timeout: COMMAND_MS, maxBuffer: 16 * 1024 * 1024 });
      return stdout || "\n";
    } catch (error) {
      const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
      throw new Error(`these commands failed:\n${commands}\n${stdout}${stderr}`, { cause: error });
    }
  }

  /** Writes a file as root, with its folder. @param mode in the form of chmod, as "440"; owner in that of chown, as "root:10001" */
  async write(path: string, text: string, { mode = "644", owner = "root:root" } = {}): Promise<void> {
    const encoded = Buffer.from(text).toString("base64");
    await this.run(
      `mkdir -p $(dirname ${path}); base64 --decode <<<${encoded} >${path}; chown ${owner} ${path}; chmod ${mode} ${path}`,
    );
  }

  async stop(): Promise<void> {
    const ended = once(this.#unshare, "exit");
    // The death of its first process ends the namespace and everything in it.
    process.kill(this.#pid, "SIGKILL");
    await ended;
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 5 });
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

async function nameOf(pid: number): Promise<string | null> {
  return await readFile(`/proc/${pid}/comm`, "utf8").then(
    (name) => name.trim(),
    () => null,
  );
}

/** The registry of npm that this machine uses, which may be a mirror. */
async function registryOfHost(): Promise<string> {
  return (await run("npm", ["config", "get", "registry"])).stdout.trim();
}
